// SPDX-License-Identifier: Apache-2.0
// dispatch, then the experts of this rank beside each other on matrix cores, then combine.
// Arguments: x, choices, gates, weights, y, places, received, computed, counts, signals, ranks,
// context.
#include "runtime.h"

#include "../shape.hpp"

enum { DISPATCH, EXPERT, COMBINE };
enum { X, CHOSEN, GATES, WEIGHTS, Y, PLACES, RECEIVED, COMPUTED, COUNTS, SIGNALS, RANKS, CONTEXT };

extern "C" int build_graph(Runtime *runtime, uint64_t *a, int)
{
    uint64_t dispatch[] = {a[X],      a[CHOSEN],  a[PLACES], a[RECEIVED],
                           a[COUNTS], a[SIGNALS], a[RANKS],  a[CONTEXT]};
    uint64_t combine[] = {a[CHOSEN], a[PLACES],  a[GATES], a[COMPUTED],
                          a[Y],      a[SIGNALS], a[RANKS], a[CONTEXT]};
    int sent = runtime->add_task(dispatch, 8, DISPATCH, CoreType::AIV);
    int combined = runtime->add_task(combine, 8, COMBINE, CoreType::AIV);
    for (uint64_t expert = 0; expert < EXPERTS; expert++) {
        uint64_t rows = expert * ROWS * WIDTH * sizeof(float);
        uint64_t weights = a[WEIGHTS] + expert * WIDTH * WIDTH * sizeof(float);
        uint64_t matmul[] = {a[RECEIVED] + rows, weights, a[COMPUTED] + rows};
        int computed = runtime->add_task(matmul, 3, EXPERT, CoreType::AIC);
        runtime->add_successor(sent, computed);
        runtime->add_successor(computed, combined);
    }
    return combined < 0 ? -1 : 0;
}
