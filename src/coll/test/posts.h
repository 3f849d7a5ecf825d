// SPDX-License-Identifier: Apache-2.0
// That a plan can run again: a post that nobody waits for could be taken for one of the next run.
#ifndef TERN_COLL_TEST_POSTS_H
#define TERN_COLL_TEST_POSTS_H

#include "support/cmocka.h"
#include <stdlib.h>

#include "tern/plan.h"

// Of every signal, the highest count waited for is the number of its posts.
static inline void check_posts_awaited(const tern_plan *plan)
{
    int n = tern_plan_get_spec(plan)->nranks;
    uint32_t **posts = calloc((size_t)n, sizeof *posts);
    uint32_t **waits = calloc((size_t)n, sizeof *waits);
    for (int rank = 0; rank < n; rank++) {
        posts[rank] = calloc(tern_plan_signal_count(plan, rank) + 1, sizeof **posts);
        waits[rank] = calloc(tern_plan_signal_count(plan, rank) + 1, sizeof **waits);
    }
    for (int rank = 0; rank < n; rank++) {
        for (int lane = 0; lane < tern_plan_lane_count(plan, rank); lane++) {
            for (size_t i = 0; i < tern_plan_op_count(plan, rank, lane); i++) {
                tern_plan_op op;
                assert_int_equal(tern_plan_get_op(plan, rank, lane, i, &op), TERN_OK);
                if (op.kind == TERN_PLAN_POST) {
                    posts[op.peer][op.signal]++;
                } else if (op.kind == TERN_PLAN_WAIT && op.count > waits[rank][op.signal]) {
                    waits[rank][op.signal] = op.count;
                }
            }
        }
    }
    for (int rank = 0; rank < n; rank++) {
        assert_memory_equal(posts[rank], waits[rank],
                            tern_plan_signal_count(plan, rank) * sizeof **posts);
        free(posts[rank]);
        free(waits[rank]);
    }
    free(posts);
    free(waits);
}

#endif
