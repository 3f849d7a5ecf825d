// SPDX-License-Identifier: Apache-2.0
// dispatch, then the experts of this rank beside each other on matrix cores, then combine.
// Arguments: x, choices, gates, weights, y, places, received, computed, counts, signals, ranks,
// context.
#include "runtime.h"

#include "../shape.hpp"

enum { DISPATCH, EXPERT, COMBINE };
enum { X, CHOSEN, GATES, WEIGHTS, Y, PLACES, RECEIVED, COMPUTED, COUNTS, SIGNALS, RANKS, CONTEXT };

extern "C" int build_graph(Runtime *runtime)
{
    const AicpuBuildApi &api = runtime->aicpu_build_api;
    const uint64_t *a = runtime->orch_args;
    uint64_t dispatch[] = {a[X],      a[CHOSEN],  a[PLACES], a[RECEIVED],
                           a[COUNTS], a[SIGNALS], a[RANKS],  a[CONTEXT]};
    uint64_t combine[] = {a[CHOSEN], a[PLACES],  a[GATES], a[COMPUTED],
                          a[Y],      a[SIGNALS], a[RANKS], a[CONTEXT]};
    int sent = api.add_task(runtime, dispatch, 8, DISPATCH, CoreType::AIV, 0);
    api.publish_task(runtime, sent);
    int combined = api.add_task(runtime, combine, 8, COMBINE, CoreType::AIV, 0);
    for (uint64_t expert = 0; expert < EXPERTS; expert++) {
        uint64_t rows = expert * ROWS * WIDTH * sizeof(float);
        uint64_t weights = a[WEIGHTS] + expert * WIDTH * WIDTH * sizeof(float);
        uint64_t matmul[] = {a[RECEIVED] + rows, weights, a[COMPUTED] + rows};
        int computed = api.add_task(runtime, matmul, 3, EXPERT, CoreType::AIC, 0);
        api.add_successor_conditional(runtime, sent, computed);
        api.add_successor_conditional(runtime, computed, combined);
        api.publish_task(runtime, computed);
    }
    api.publish_task(runtime, combined); // when it knows all that it waits for
    return combined < 0 ? -1 : 0;
}
