// SPDX-License-Identifier: Apache-2.0
// ctest-timeout: 300
// The checker proves every algorithm: all kinds, many rank counts, odd sizes; and around every
// single cut link those that are for that. Sums come in the order that was asked for. 256 ranks
// too.
#include "support/cmocka.h"
#include <stdio.h>
#include <string.h>

#include "mesh.h"
#include "support/kinds.h"
#include "support/sanitized.h"
#include "tern/algo.h"
#include "tern/check.h"
#include "tern/status.h"

static size_t proved_count;

// Emits and checks one plan; false when the algorithm says that it cannot.
static bool prove(const tern_algo_request *request)
{
    tern_plan *plan;
    tern_check *check;
    int status = tern_algo_plan(request, &plan);
    if (status == TERN_ERR_ARG) {
        return false;
    }
    assert_int_equal(status, TERN_OK);
    assert_int_equal(tern_check_plan(plan, request->topo, &check), TERN_OK);
    if (!tern_check_proved(check)) {
        tern_status_ignore(tern_check_print(check, stderr)); // the test fails anyway
        fail_msg("%s %s over %s, %llu bytes", tern_plan_kind_name(request->kind),
                 tern_plan_get_spec(plan)->algorithm, tern_topo_text(request->topo),
                 (unsigned long long)request->bytes);
    }
    if (tern_coll_kind_facts(request->kind)->sums && request->order == TERN_ORDER_RANK) {
        assert_int_equal(tern_check_sum_order(check), TERN_CHECK_ORDER_RANK);
    }
    proved_count++;
    tern_check_destroy(check);
    tern_plan_destroy(plan);
    return true;
}

// The sizes of a kind that are not whole shares are made whole.
static uint64_t fitting_bytes(tern_plan_kind kind, int nranks, uint64_t units)
{
    if (kind == TERN_PLAN_BARRIER) {
        return 0;
    }
    return units * 4 * (kind_has_shares(kind) ? (uint64_t)nranks : 1);
}

static void every_algorithm_is_proved(void **state)
{
    static const int counts[] = {1,  2,  3,  4,  5,  6,  7,  8,  9,  10,
                                 11, 12, 13, 14, 15, 16, 17, 31, 32, 64};
    static const uint64_t sizes[] = {0, 1, 3, 7, 64, 1000, 12289};
    for (size_t c = 0; c < sizeof counts / sizeof counts[0]; c += 1 + SANITIZED) {
        tern_topo *topo = mesh(counts[c], NULL);
        for (int kind = 0; kind < TERN_PLAN_KINDS; kind++) {
            for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
                tern_algo_request request = {.kind = (tern_plan_kind)kind,
                                             .topo = topo,
                                             .unit = 4,
                                             .order = TERN_ORDER_ANY};
                request.bytes = fitting_bytes(request.kind, counts[c], sizes[s]);
                request.root = kind_has_root(request.kind) ? (int)(s + 1) % counts[c] : 0;
                for (int i = 0; tern_algo_name(request.kind, i) != NULL; i++) {
                    request.algorithm = tern_algo_name(request.kind, i);
                    prove(&request);
                }
                request.algorithm = NULL; // what is selected, in rank order
                request.order = TERN_ORDER_RANK;
                assert_true(prove(&request));
            }
        }
        tern_topo_destroy(topo);
    }
    printf("%zu plans proved\n", proved_count);
    assert_true(proved_count >
                5500 / (1 + SANITIZED)); // few refuse: only what their table row says
}

static void every_single_cut_is_gone_around(void **state)
{
    static const char *const algorithms[] = {"cut_small", "cut_owners", "cut_relay", "cut_optimal"};
    static const uint64_t sizes[] = {0, 1, 5, 1000, 40961};
    static const int counts[] = {4, 5, 6, 7, 8, 9, 16};
    size_t before = proved_count;
    for (size_t c = 0; c < sizeof counts / sizeof counts[0]; c += 1 + SANITIZED) {
        int n = counts[c];
        for (int pair = 0; pair < n * n; pair++) {
            int a = pair / n;
            int b = pair % n;
            char cut[16];
            if (a >= b) {
                continue;
            }
            snprintf(cut, sizeof cut, "%d-%d", a, b);
            tern_topo *topo = mesh(n, cut);
            for (int i = 0; i < 4; i++) {
                tern_algo_request request = {.kind = TERN_PLAN_ALL_REDUCE,
                                             .topo = topo,
                                             .bytes = 4 * sizes[(size_t)(pair + i) % 5],
                                             .unit = 4,
                                             .order = i == 3 ? TERN_ORDER_ANY : TERN_ORDER_RANK,
                                             .algorithm = algorithms[i]};
                assert_int_equal(prove(&request), !(i == 3 && n < 6));
            }
            tern_topo_destroy(topo);
        }
    }
    printf("%zu plans around a cut link proved\n", proved_count - before);
}

static void large_plans_are_proved(void **state)
{
    static const char *const algorithms[] = {"ring", "tree", "two_shot"};
    tern_topo *topo = mesh(256, NULL);
    for (int i = 0; i < 3; i++) {
        tern_algo_request request = {.kind = TERN_PLAN_ALL_REDUCE,
                                     .topo = topo,
                                     .bytes = 1 << 20,
                                     .unit = 4,
                                     .order = TERN_ORDER_ANY,
                                     .algorithm = algorithms[i]};
        assert_true(prove(&request));
    }
    tern_topo_destroy(topo);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_algorithm_is_proved),
        cmocka_unit_test(every_single_cut_is_gone_around),
        cmocka_unit_test(large_plans_are_proved),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
