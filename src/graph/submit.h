// SPDX-License-Identifier: Apache-2.0
// What all calls of an orchestration with rings begin and end with.
#ifndef TERN_GRAPH_SUBMIT_H
#define TERN_GRAPH_SUBMIT_H

#include "base/error.h"
#include "graph/chip.h"
#include "graph/orchestrate.h"
#include "graph/rings.h"

// The rings of a graph whose orchestration calls, while its run goes well.
int tern__submit_rings(const char *call, const tern_graph *graph, struct tern__rings **rings);

// Whether it may be called so. tern__submit_rings says why not.
static inline bool tern__submit_is_usual(const tern_graph *graph)
{
    return tern__handle_lives(graph, TERN__GRAPH) && graph->rings != NULL &&
           tern__orchestrates(graph) &&
           tern__flag_load(&graph->chip->run.failed) == TERN__RUN_WELL &&
           tern__flag_load(&graph->chip->run.cancelled) == 0;
}

// A status that is an error ends the run, with the call's sentence and a code of graph_code.def.
// Returns it.
int tern__submit_fail(tern_graph *graph, int code, int status);

static inline int tern__submit_refuse(tern_graph *graph, int code, int status)
{
    if (__builtin_expect(status != TERN_OK, 0)) {
        tern__submit_fail(graph, code, status);
    }
    return status;
}

static inline int tern__submit_check_id(const struct tern__rings *rings, const char *call,
                                        tern_task_id id)
{
    return id >> 32 >= TERN_RINGS || (int32_t)((uint32_t)id - rings->ring[id >> 32].next) >= 0
               ? tern__fail(TERN_ERR_ARG, "%s: there is no task %#llx", call,
                            (unsigned long long)id)
               : TERN_OK;
}

// The memory of an output may be another's as soon as its scope has ended. Whether it is already is
// a matter of time, so it is never taken.
static inline int tern__submit_check_owner(const struct tern__rings *rings, const char *call,
                                           const tern_region *region)
{
    const tern_task_id owner = region->owner;
    return owner >> 32 < TERN_RINGS && (rings->flags & TERN_RINGS_UPSTREAM) == 0 &&
                   (int32_t)((uint32_t)owner - tern__peek(&rings->ring[owner >> 32].released)) < 0
               ? tern__fail(TERN_ERR_ARG,
                            "%s: the region's memory is that of an output whose scope has ended",
                            call)
               : TERN_OK;
}

#endif
