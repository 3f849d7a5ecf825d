// SPDX-License-Identifier: Apache-2.0
// ctest-timeout: 240
// The plans around a cut link, for every pair that can be cut: right, and never over the cut link.
#include "support/cmocka.h"
#include <stdio.h>
#include <string.h>

#include "mesh.h"
#include "support/interp.h"
#include "tern/algo.h"

static const char *const names[] = {"cut_small", "cut_owners", "cut_relay", "cut_optimal"};

static void check(const tern_topo *topo, const char *name, uint64_t bytes, int schedules)
{
    tern_plan *plan;
    if (tern_algo_plan(&(tern_algo_request){.kind = TERN_PLAN_ALL_REDUCE,
                                            .topo = topo,
                                            .bytes = bytes,
                                            .unit = 2,
                                            .order = TERN_ORDER_ANY,
                                            .algorithm = name},
                       &plan) < 0) {
        fail_msg("%s: %s", name, tern_last_error());
    }
    for (int seed = 0; seed < schedules; seed++) {
        char why[256];
        if (!interp_run(plan, topo, (uint64_t)seed, why, sizeof why)) {
            fail_msg("%s, %s, %llu bytes, seed %d: %s", tern_topo_text(topo), name,
                     (unsigned long long)bytes, seed, why);
        }
    }
    tern_plan_destroy(plan);
}

static void check_pair(int n, int a, int b)
{
    static const uint64_t sizes[] = {0, 2, 14, 2 * 64, 2 * 1000, 2 * 333};
    char pair[32];
    snprintf(pair, sizeof pair, "%d-%d", a, b);
    tern_topo *topo = mesh(n, pair);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (strcmp(names[i], "cut_optimal") == 0 && n < 6) {
            continue;
        }
        // At 16 ranks the sizes take turns over the pairs.
        for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
            if (n < 16 || (size_t)(a + b) % 6 == s) {
                check(topo, names[i], sizes[s], 5);
            }
        }
    }
    tern_topo_destroy(topo);
}

static void every_pair_of_4_to_9_ranks(void **state)
{
    for (int n = 4; n <= 9; n++) {
        for (int a = 0; a < n; a++) {
            for (int b = a + 1; b < n; b++) {
                check_pair(n, a, b);
            }
        }
    }
}

static void every_pair_of_16_ranks(void **state)
{
    for (int a = 0; a < 16; a++) {
        for (int b = a + 1; b < 16; b++) {
            check_pair(16, a, b);
        }
    }
}

// The plans use neither direction of the pair.
static void cut_one_direction_only(void **state)
{
    tern_topo *topo;
    assert_int_equal(tern_topo_create("mesh:8", &topo), TERN_OK);
    assert_int_equal(tern_topo_cut(topo, "5>2"), TERN_OK);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        check(topo, names[i], 2 * 501, 5);
    }
    tern_topo_destroy(topo);
}

// Blocks of 16 KiB: whole, short and empty ones.
static void owners_with_empty_blocks(void **state)
{
    tern_topo *topo;
    assert_int_equal(tern_topo_create("mesh:8", &topo), TERN_OK);
    assert_int_equal(tern_topo_cut(topo, "0-1"), TERN_OK);
    check(topo, "cut_owners", 1024, 2);
    check(topo, "cut_owners", 100000, 2);
    check(topo, "cut_owners", 16384 * 6 + 2, 2);
    tern_topo_destroy(topo);
}

static void slowed_link_is_not_used(void **state)
{
    tern_topo *slow;
    tern_topo *cut;
    assert_int_equal(tern_topo_create("mesh:8", &slow), TERN_OK);
    assert_int_equal(tern_topo_slow(slow, "3-6=0.1"), TERN_OK);
    assert_int_equal(tern_topo_create("mesh:8", &cut), TERN_OK);
    assert_int_equal(tern_topo_cut(cut, "3-6"), TERN_OK);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        tern_plan *plan;
        assert_int_equal(tern_algo_plan(&(tern_algo_request){.kind = TERN_PLAN_ALL_REDUCE,
                                                             .topo = slow,
                                                             .bytes = 4000,
                                                             .unit = 4,
                                                             .order = TERN_ORDER_ANY,
                                                             .algorithm = names[i]},
                                        &plan),
                         TERN_OK);
        char why[256];
        if (!interp_run(plan, cut, 1, why, sizeof why)) {
            fail_msg("%s: %s", names[i], why);
        }
        tern_plan_destroy(plan);
    }
    tern_topo_destroy(slow);
    tern_topo_destroy(cut);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_pair_of_4_to_9_ranks), cmocka_unit_test(every_pair_of_16_ranks),
        cmocka_unit_test(cut_one_direction_only),     cmocka_unit_test(owners_with_empty_blocks),
        cmocka_unit_test(slowed_link_is_not_used),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
