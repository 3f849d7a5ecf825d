// SPDX-License-Identifier: Apache-2.0
// ctest-timeout: 240
// Every algorithm, at 2 to 17, 31, 32 and 64 ranks and sizes that divide and do not, gives the
// naive result under several random interleavings, and leaves no post without a wait that counts
// it.
#include "support/cmocka.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mesh.h"
#include "posts.h"
#include "support/interp.h"
#include "support/kinds.h"
#include "support/sanitized.h"
#include "tern/algo.h"

enum { SCHEDULES = SANITIZED ? 2 : 5 };

static void check(const tern_algo_request *request)
{
    tern_plan *plan;
    if (tern_algo_plan(request, &plan) < 0) {
        fail_msg("%s %s: %s", tern_plan_kind_name(request->kind), request->algorithm,
                 tern_last_error());
    }
    assert_string_equal(tern_plan_get_spec(plan)->algorithm, request->algorithm);
    check_posts_awaited(plan);
    for (uint64_t seed = 0; seed < SCHEDULES; seed++) {
        char why[256];
        if (!interp_run(plan, request->topo, seed, why, sizeof why)) {
            fail_msg("%s %s, %d ranks, %llu bytes, root %d, seed %llu: %s",
                     tern_plan_kind_name(request->kind), request->algorithm,
                     tern_topo_size(request->topo), (unsigned long long)request->bytes,
                     request->root, (unsigned long long)seed, why);
        }
    }
    tern_plan_destroy(plan);
}

// The algorithms with a row in the table, but for those that cannot do so few ranks.
static void check_kind(tern_plan_kind kind, int n)
{
    static const uint64_t sizes[] = {0, 1, 3, 7, 64, 1000, 333};
    tern_topo *topo = mesh(n, NULL);
    for (int i = 0; tern_algo_name(kind, i) != NULL; i++) {
        const char *name = tern_algo_name(kind, i);
        if ((tern_algo_around_cut(kind, i) && n < 4) ||
            (tern_algo_across_machines(kind, i) && n > 1) || // test/machines.c
            (strcmp(name, "cut_optimal") == 0 && n < 6)) {
            continue;
        }
        for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
            if (kind == TERN_PLAN_BARRIER && s > 0) {
                break;
            }
            // Shares are of odd sizes too; their sum is a multiple of n.
            uint64_t elements = kind_has_shares(kind) ? (sizes[s] + 4) / 5 * (uint64_t)n : sizes[s];
            check(&(tern_algo_request){.kind = kind,
                                       .topo = topo,
                                       .bytes = elements * 4,
                                       .unit = 4,
                                       .root = kind_has_root(kind) ? (int)s % n : 0,
                                       .order = TERN_ORDER_ANY,
                                       .algorithm = name});
        }
    }
    tern_topo_destroy(topo);
}

static void check_kind_everywhere(tern_plan_kind kind)
{
    static const int more[] = {31, 32, 64};
    for (int n = 1; n <= 17; n += SANITIZED && n > 5 ? 4 : 1) {
        check_kind(kind, n);
    }
    for (size_t i = 0; i < sizeof more / sizeof more[0]; i++) {
        check_kind(kind, more[i]);
    }
}

static void all_reduce_is_right(void **state)
{
    check_kind_everywhere(TERN_PLAN_ALL_REDUCE);
}

static void reduce_scatter_is_right(void **state)
{
    check_kind_everywhere(TERN_PLAN_REDUCE_SCATTER);
}

static void all_gather_is_right(void **state)
{
    check_kind_everywhere(TERN_PLAN_ALL_GATHER);
}

static void broadcast_is_right(void **state)
{
    check_kind_everywhere(TERN_PLAN_BROADCAST);
}

static void all_to_all_is_right(void **state)
{
    check_kind_everywhere(TERN_PLAN_ALL_TO_ALL);
}

static void barrier_is_right(void **state)
{
    check_kind_everywhere(TERN_PLAN_BARRIER);
}

static void reduce_is_right(void **state)
{
    check_kind_everywhere(TERN_PLAN_REDUCE_TO_ROOT);
}

static void gather_is_right(void **state)
{
    check_kind_everywhere(TERN_PLAN_GATHER);
}

static void scatter_is_right(void **state)
{
    check_kind_everywhere(TERN_PLAN_SCATTER);
}

// Slices that begin at cache lines, with a rest that is not a whole line.
static void large_sizes_are_right(void **state)
{
    static const uint64_t sizes[] = {64 * 64 * 5, 64 * 64 * 80 + 3, 100003};
    static const struct {
        tern_plan_kind kind;
        const char *name;
    } rows[] = {{TERN_PLAN_ALL_REDUCE, "fused"},
                {TERN_PLAN_ALL_REDUCE, "ring"},
                {TERN_PLAN_ALL_REDUCE, "halving_doubling"},
                {TERN_PLAN_ALL_REDUCE, "staged"},
                {TERN_PLAN_ALL_REDUCE, "cut_relay"},
                {TERN_PLAN_ALL_REDUCE, "cut_optimal"},
                {TERN_PLAN_ALL_REDUCE, "cut_owners"},
                {TERN_PLAN_ALL_REDUCE, "cut_small"},
                {TERN_PLAN_REDUCE_TO_ROOT, "fused"},
                {TERN_PLAN_REDUCE_TO_ROOT, "staged"},
                {TERN_PLAN_BROADCAST, "fused"}};
    for (int n = 6; n <= 7; n++) {
        tern_topo *topo = mesh(n, NULL);
        for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
            for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
                check(&(tern_algo_request){.kind = rows[i].kind,
                                           .topo = topo,
                                           .bytes = sizes[s],
                                           .unit = 1,
                                           .root = kind_has_root(rows[i].kind) ? n - 2 : 0,
                                           .order = TERN_ORDER_ANY,
                                           .algorithm = rows[i].name});
            }
        }
        tern_topo_destroy(topo);
    }
}

// Rings and trees over what there is: no rank here has more than its neighbours, and no order by
// number works when one of these is gone.
static void rings_and_trees_follow_the_links(void **state)
{
    tern_topo *topo;
    assert_int_equal(tern_topo_create("ring:7", &topo), TERN_OK);
    static const struct {
        tern_plan_kind kind;
        const char *name;
    } rows[] = {{TERN_PLAN_ALL_REDUCE, "ring"},     {TERN_PLAN_ALL_REDUCE, "tree"},
                {TERN_PLAN_REDUCE_SCATTER, "ring"}, {TERN_PLAN_ALL_GATHER, "ring"},
                {TERN_PLAN_BROADCAST, "tree"},      {TERN_PLAN_BARRIER, "tree"},
                {TERN_PLAN_REDUCE_TO_ROOT, "tree"}};
    for (int cut = 0; cut < 2; cut++) {
        for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
            bool ring = strcmp(rows[i].name, "ring") == 0;
            tern_algo_request request = {.kind = rows[i].kind,
                                         .topo = topo,
                                         .bytes = rows[i].kind == TERN_PLAN_BARRIER ? 0 : 7 * 24,
                                         .unit = 8,
                                         .root = kind_has_root(rows[i].kind) ? 2 : 0,
                                         .order = TERN_ORDER_ANY,
                                         .algorithm = rows[i].name};
            tern_plan *plan;
            if (ring && cut) {
                assert_int_equal(tern_algo_plan(&request, &plan), TERN_ERR_ARG);
            } else {
                check(&request);
            }
        }
        assert_int_equal(tern_topo_cut(topo, cut == 0 ? "3-4" : "0-1"), TERN_OK);
    }
    tern_topo_destroy(topo);

    assert_int_equal(tern_topo_create("mesh:6", &topo), TERN_OK);
    assert_int_equal(tern_topo_cut(topo, "0>1"), TERN_OK);
    assert_int_equal(tern_topo_cut(topo, "5-0"), TERN_OK);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        check(&(tern_algo_request){.kind = rows[i].kind,
                                   .topo = topo,
                                   .bytes = rows[i].kind == TERN_PLAN_BARRIER ? 0 : 6 * 24,
                                   .unit = 8,
                                   .order = TERN_ORDER_ANY,
                                   .algorithm = rows[i].name});
    }
    tern_topo_destroy(topo);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_reduce_is_right),
        cmocka_unit_test(reduce_scatter_is_right),
        cmocka_unit_test(all_gather_is_right),
        cmocka_unit_test(broadcast_is_right),
        cmocka_unit_test(all_to_all_is_right),
        cmocka_unit_test(barrier_is_right),
        cmocka_unit_test(reduce_is_right),
        cmocka_unit_test(gather_is_right),
        cmocka_unit_test(scatter_is_right),
        cmocka_unit_test(large_sizes_are_right),
        cmocka_unit_test(rings_and_trees_follow_the_links),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
