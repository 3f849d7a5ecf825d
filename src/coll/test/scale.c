// SPDX-License-Identifier: Apache-2.0
// A plan that was made for one byte a slice is the plan for every size: the algorithms that a call
// runs at any size give, at n bytes of unit 1, the ops that they give at n * k bytes, with all
// offsets and lengths divided by k. So every operand covers whole slices or shares.
#include "support/cmocka.h"
#include <stdio.h>
#include <string.h>

#include "coll/algo.h"
#include "mesh.h"
#include "support/kinds.h"
#include "tern/algo.h"

static tern_plan *make(const tern_algo_request *request, uint64_t bytes)
{
    tern_plan *plan;
    tern_algo_request sized = *request;
    sized.bytes = bytes;
    if (tern_algo_plan(&sized, &plan) < 0) {
        fail_msg("%s", tern_last_error());
    }
    return plan;
}

// Whether the operands of an op are those of the other, times k.
static bool same_ranges(const tern_plan_range *small, const tern_plan_range *large, int count,
                        uint64_t k)
{
    for (int i = 0; i < count; i++) {
        if (small[i].rank != large[i].rank || small[i].buffer != large[i].buffer ||
            small[i].offset * k != large[i].offset) {
            return false;
        }
    }
    return true;
}

static bool same_op(const tern_plan_op *small, const tern_plan_op *large, uint64_t k)
{
    bool transfer = small->kind == TERN_PLAN_COPY || small->kind == TERN_PLAN_REDUCE;
    return small->kind == large->kind && small->flags == large->flags &&
           small->round == large->round && small->length * k == large->length &&
           (!transfer || small->length > 0) && small->sources_count == large->sources_count &&
           small->destinations_count == large->destinations_count && small->peer == large->peer &&
           small->signal == large->signal && small->count == large->count &&
           same_ranges(small->sources, large->sources, small->sources_count, k) &&
           same_ranges(small->destinations, large->destinations, small->destinations_count, k);
}

static void compare(const tern_plan *small, const tern_plan *large, uint64_t k)
{
    const tern_plan_spec *spec = tern_plan_get_spec(small);
    for (int buffer = 0; buffer < 3; buffer++) {
        assert_true(tern_plan_buffer_bytes(small, (tern_plan_buffer)buffer) * k ==
                    tern_plan_buffer_bytes(large, (tern_plan_buffer)buffer));
    }
    for (int rank = 0; rank < spec->nranks; rank++) {
        assert_int_equal(tern_plan_lane_count(small, rank), tern_plan_lane_count(large, rank));
        for (int lane = 0; lane < tern_plan_lane_count(small, rank); lane++) {
            size_t count = tern_plan_op_count(small, rank, lane);
            assert_int_equal(count, tern_plan_op_count(large, rank, lane));
            for (size_t i = 0; i < count; i++) {
                tern_plan_op a;
                tern_plan_op b;
                assert_int_equal(tern_plan_get_op(small, rank, lane, i, &a), TERN_OK);
                assert_int_equal(tern_plan_get_op(large, rank, lane, i, &b), TERN_OK);
                if (!same_op(&a, &b, k)) {
                    fail_msg("%s %s, %d ranks, root %d: rank %d, lane %d, op %zu is another at "
                             "%llu times the size",
                             tern_plan_kind_name(spec->kind), spec->algorithm, spec->nranks,
                             spec->root, rank, lane, i, (unsigned long long)k);
                }
            }
        }
    }
}

// Compares a plan with larger ones; returns how many.
static int compare_sizes(const tern_algo_request *request)
{
    static const uint64_t factors[] = {2, 8, 4096}; // the last one: slices begin at cache lines
    uint64_t n = (uint64_t)tern_topo_size(request->topo);
    tern_plan *small = make(request, n);
    for (int i = 0; i < 3; i++) {
        tern_plan *large = make(request, n * factors[i]);
        compare(small, large, factors[i]);
        tern_plan_destroy(large);
    }
    tern_plan_destroy(small);
    return 3;
}

static int compare_kind(tern_plan_kind kind, const tern_topo *topo)
{
    tern_algo_request request = {.kind = kind, .topo = topo, .unit = 1};
    int compared = 0;
    for (int i = 0; tern_algo_name(kind, i) != NULL; i++) {
        request.algorithm = tern_algo_name(kind, i);
        if (tern__algo_scales(kind, request.algorithm)) {
            request.root = 0;
            compared += compare_sizes(&request);
            request.root = kind_has_root(kind) ? tern_topo_size(topo) - 1 : 0;
            compared += compare_sizes(&request);
        }
    }
    return compared;
}

static void a_plan_of_one_byte_a_slice_is_the_plan_of_any_size(void **state)
{
    static const int counts[] = {1, 2, 3, 5, 8, 16};
    int compared = 0;
    for (size_t c = 0; c < sizeof counts / sizeof counts[0]; c++) {
        tern_topo *topo = mesh(counts[c], NULL);
        for (int kind = 0; kind < TERN_PLAN_KINDS; kind++) {
            compared += kind != TERN_PLAN_BARRIER ? compare_kind((tern_plan_kind)kind, topo) : 0;
        }
        tern_topo_destroy(topo);
    }
    // 4 AllReduces, 1 ReduceScatter, 2 AllGathers, 2 Broadcasts, 2 AllToAlls, 3 Reduces, 2 Gathers,
    // 2 Scatters; 2 roots, 3 factors, 6 rank counts.
    assert_int_equal(compared, 18 * 2 * 3 * 6);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_plan_of_one_byte_a_slice_is_the_plan_of_any_size),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
