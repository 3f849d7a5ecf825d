// SPDX-License-Identifier: Apache-2.0
// The orchestration: the tasks of one run of the layer on one chip and what they wait for.
#ifndef TP_FFN_GRAPHS_H
#define TP_FFN_GRAPHS_H

#include <tern/graph.h>

#include "kernels.h"

// The layer; its matrix products alone; its AllReduces alone. The last two show what overlaps.
enum variant { VARIANT_FULL, VARIANT_COMPUTE, VARIANT_COMMUNICATION, VARIANT_COUNT };

// Builds the graph of a variant. Every rank launches the same variants in the same order. To be
// destroyed with tern_graph_destroy.
int graph_build(enum variant variant, struct device *device, tern_graph **graph,
                struct failure *failure);

#endif
