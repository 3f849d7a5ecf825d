// SPDX-License-Identifier: Apache-2.0
// A plan that was made for one byte a slice is the plan for every size: of the algorithms that a
// call runs at any size, tern__plan_slice makes the very plan that the algorithm emits for it. So
// every operand covers whole slices or shares.
#include "support/cmocka.h"
#include <stdio.h>
#include <string.h>

#include "coll/algo.h"
#include "mesh.h"
#include "plan/steps.h"
#include "plan/test/same.h"
#include "support/kinds.h"
#include "tern/algo.h"

static tern_plan *make(const tern_algo_request *request, uint64_t bytes, uint32_t unit)
{
    tern_plan *plan;
    tern_algo_request sized = *request;
    sized.bytes = bytes;
    sized.unit = unit;
    if (tern_algo_plan(&sized, &plan) < 0) {
        fail_msg("%s", tern_last_error());
    }
    return plan;
}

// Compares what the steps make of the plan of one byte a slice with the plan that the algorithm
// emits; returns how many sizes.
static int compare_sizes(const tern_algo_request *request)
{
    // The last ones: slices begin at cache lines.
    static const uint64_t units[] = {0, 1, 3, 7, 64, 1000, 12289, 64 * 1024, 100003};
    enum { SIZES = sizeof units / sizeof units[0] };
    uint64_t n = (uint64_t)tern_topo_size(request->topo);
    tern_plan *small = make(request, n, 1);
    for (int i = 0; i < SIZES; i++) {
        uint32_t unit = 1u << i % 4;
        uint64_t bytes = units[i] * unit * (kind_has_shares(request->kind) ? n : 1);
        tern_plan *wanted = make(request, bytes, unit);
        tern_plan *sliced;
        if (tern__plan_slice(small, bytes, unit, &sliced) != TERN_OK) {
            fail_msg("%s", tern_last_error());
        }
        if (!same_plans(sliced, wanted)) {
            fail_msg("%s %s, %d ranks, root %d: another plan at %llu bytes of unit %u",
                     tern_plan_kind_name(request->kind), request->algorithm, (int)n, request->root,
                     (unsigned long long)bytes, unit);
        }
        tern_plan_destroy(sliced);
        tern_plan_destroy(wanted);
    }
    tern_plan_destroy(small);
    return SIZES;
}

static int compare_kind(tern_plan_kind kind, const tern_topo *topo)
{
    tern_algo_request request = {.kind = kind, .topo = topo};
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
    // 2 Scatters; 2 roots, 9 sizes, 6 rank counts.
    assert_int_equal(compared, 18 * 2 * 9 * 6);
}

// What is no plan of one byte a slice, or has operands of different slices.
static void other_plans_are_refused(void **state)
{
    static const char two[] =
        "tern-plan 1\nkind all_reduce\nranks 2\nbytes 2\nunit 1\nalgorithm x\n"
        "rank 0 lane 0\nreduce @0 1 : 0.in+0 1.in+1 -> 0.out+0\nend\n";
    tern_topo *topo = mesh(2, NULL);
    tern_plan *sized =
        make(&(tern_algo_request){.kind = TERN_PLAN_BROADCAST, .topo = topo, .algorithm = "fused"},
             8, 4);
    tern_plan *uneven;
    tern_plan *made = NULL;
    assert_int_equal(tern__plan_slice(sized, 16, 4, &made), TERN_ERR_ARG);
    assert_non_null(strstr(tern_last_error(), "has not one byte for each of them"));
    assert_int_equal(tern_plan_parse(two, sizeof two - 1, "two", &uneven), TERN_OK);
    assert_int_equal(tern__plan_slice(uneven, 12, 4, &made), TERN_ERR_ARG);
    assert_non_null(strstr(tern_last_error(), "the operands are different slices"));
    assert_null(made);
    assert_int_equal(tern__plan_slice(uneven, 16, 4, &made), TERN_OK); // slices of one length
    tern_plan_destroy(made);
    assert_int_equal(tern__plan_slice(uneven, 6, 4, &made), TERN_ERR_ARG);
    assert_non_null(strstr(tern_last_error(), "a multiple of 4 (the unit)"));
    tern_plan_destroy(uneven);
    tern_plan_destroy(sized);
    tern_topo_destroy(topo);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_plan_of_one_byte_a_slice_is_the_plan_of_any_size),
        cmocka_unit_test(other_plans_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
