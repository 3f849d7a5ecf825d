// SPDX-License-Identifier: Apache-2.0
// What all calls of an orchestration with rings begin and end with.
#ifndef TERN_GRAPH_SUBMIT_H
#define TERN_GRAPH_SUBMIT_H

#include "graph/rings.h"

// The rings of a graph whose orchestration calls, while its run goes well.
int tern__submit_rings(const char *call, const tern_graph *graph, struct tern__rings **rings);

// A status that is an error ends the run, with the call's sentence and a code of graph_code.def.
// Returns it.
int tern__submit_refuse(tern_graph *graph, int code, int status);

// The region's memory is not that of an output whose scope has ended.
int tern__submit_check_owner(const struct tern__rings *rings, const char *call,
                             const tern_region *region);

#endif
