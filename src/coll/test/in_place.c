// SPDX-License-Identifier: Apache-2.0
// ctest-timeout: 240
// The column of tern_algo_in_place is what the checker says: of each algorithm all plans are right
// in place, or some are not. Every kind, rank counts, roots, sizes from nothing to several cache
// lines a slice; around every single cut link what is for that. And the checker is neither too kind
// nor too strict: an interpreter finds every plan right that it has proved, under random schedules
// with random ranks in place, and finds those wrong that it has not.
#include "support/cmocka.h"
#include <stdio.h>
#include <string.h>

#include "mesh.h"
#include "support/interp.h"
#include "support/kinds.h"
#include "tern/algo.h"
#include "tern/check.h"
#include "tern/status.h"

#define NAMES_MAX 16

enum { RUNS = 24, INTERPRETED_MAX = 4096 };

static size_t right[TERN_PLAN_KINDS][NAMES_MAX], wrong[TERN_PLAN_KINDS][NAMES_MAX];
static size_t seen_wrong[TERN_PLAN_KINDS][NAMES_MAX]; // by the interpreter
static char example[TERN_PLAN_KINDS][NAMES_MAX][600]; // the first finding

// Whether the interpreter sees a wrong result; some ranks are in place, or all.
static bool goes_wrong(const tern_plan *plan, const tern_topo *topo, char *why, size_t size)
{
    static uint64_t seed;
    for (int run = 0; run < RUNS; run++) {
        seed++;
        uint64_t ranks = run % 4 == 0 ? UINT64_MAX : seed * UINT64_C(0x9e3779b97f4a7c15) >> 20;
        if (!interp_run_in_place(plan, topo, ranks, seed, why, size)) {
            return true;
        }
    }
    return false;
}

static void ask(const tern_algo_request *request, int index)
{
    tern_plan *plan;
    tern_check *check;
    int status = tern_algo_plan(request, &plan);
    if (status == TERN_ERR_ARG) { // it cannot do this
        return;
    }
    assert_int_equal(status, TERN_OK);
    assert_int_equal(tern_check_plan_in_place(plan, request->topo, &check), TERN_OK);
    for (int rule = 0; rule < TERN_CHECK_IN_PLACE; rule++) {
        assert_int_equal(tern_check_count(check, (tern_check_rule)rule), 0);
    }
    bool in_place = tern_check_proved(check);
    assert_int_equal(in_place, tern_check_count(check, TERN_CHECK_IN_PLACE) == 0);
    if (!in_place && wrong[request->kind][index] == 0) {
        snprintf(example[request->kind][index], sizeof example[0][0], "%s, %llu bytes: %s",
                 tern_topo_text(request->topo), (unsigned long long)request->bytes,
                 tern_check_finding(check, TERN_CHECK_IN_PLACE, 0));
    }
    if (request->bytes <= INTERPRETED_MAX) {
        char why[256] = "";
        bool wrong_once = goes_wrong(plan, request->topo, why, sizeof why);
        if (in_place && wrong_once) {
            fail_msg("%s %s over %s, %llu bytes, is proved in place, but: %s",
                     tern_plan_kind_name(request->kind), request->algorithm,
                     tern_topo_text(request->topo), (unsigned long long)request->bytes, why);
        }
        seen_wrong[request->kind][index] += wrong_once;
    }
    right[request->kind][index] += in_place;
    wrong[request->kind][index] += !in_place;
    tern_check_destroy(check);
    tern_plan_destroy(plan);
}

static void ask_all(tern_plan_kind kind, const tern_topo *topo, uint64_t units, int root)
{
    uint64_t shares = kind_has_shares(kind) ? (uint64_t)tern_topo_size(topo) : 1;
    tern_algo_request request = {.kind = kind,
                                 .topo = topo,
                                 .bytes = kind == TERN_PLAN_BARRIER ? 0 : 4 * units * shares,
                                 .unit = 4,
                                 .root = root,
                                 .order = TERN_ORDER_ANY};
    for (int i = 0; (request.algorithm = tern_algo_name(kind, i)) != NULL; i++) {
        assert_true(i < NAMES_MAX);
        ask(&request, i);
    }
}

static void ask_on_meshes(void)
{
    static const int counts[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 16};
    static const uint64_t sizes[] = {0, 1, 3, 64, 1000, 20001};
    for (size_t c = 0; c < sizeof counts / sizeof counts[0]; c++) {
        tern_topo *topo = mesh(counts[c], NULL);
        for (int kind = 0; kind < TERN_PLAN_KINDS; kind++) {
            int roots = kind_has_root((tern_plan_kind)kind) ? counts[c] : 1;
            for (int root = 0; root < roots; root++) {
                for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
                    ask_all((tern_plan_kind)kind, topo, sizes[s], root);
                }
            }
        }
        tern_topo_destroy(topo);
    }
}

static void ask_around_cuts(void)
{
    static const int counts[] = {4, 5, 6, 8};
    static const uint64_t sizes[] = {1, 5, 1000, 40961};
    for (size_t c = 0; c < sizeof counts / sizeof counts[0]; c++) {
        int n = counts[c];
        for (int pair = 0; pair < n * n; pair++) {
            char cut[16];
            if (pair / n >= pair % n) {
                continue;
            }
            snprintf(cut, sizeof cut, "%d-%d", pair / n, pair % n);
            tern_topo *topo = mesh(n, cut);
            ask_all(TERN_PLAN_ALL_REDUCE, topo, sizes[pair % 4], 0);
            tern_topo_destroy(topo);
        }
    }
}

static void ask_on_machines(void)
{
    static const char *const words[] = {"machines:2x2", "machines:3x1", "machines:1+2+3"};
    static const uint64_t sizes[] = {1, 7, 1000};
    for (size_t w = 0; w < sizeof words / sizeof words[0]; w++) {
        tern_topo *topo;
        assert_int_equal(tern_topo_create(words[w], &topo), TERN_OK);
        for (int kind = 0; kind < TERN_PLAN_KINDS; kind++) {
            bool rooted = kind_has_root((tern_plan_kind)kind);
            for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
                ask_all((tern_plan_kind)kind, topo, sizes[s], rooted ? (int)s % 3 : 0);
            }
        }
        tern_topo_destroy(topo);
    }
}

static void the_table_says_what_the_checker_says(void **state)
{
    int differ = 0;
    ask_on_meshes();
    ask_around_cuts();
    ask_on_machines();
    for (int kind = 0; kind < TERN_PLAN_KINDS; kind++) {
        for (int i = 0; tern_algo_name((tern_plan_kind)kind, i) != NULL; i++) {
            bool proved = wrong[kind][i] == 0;
            bool said = tern_algo_in_place((tern_plan_kind)kind, i);
            differ += proved != said;
            printf("%-14s %-17s %s in place; %zu plans right, %zu not (%zu of them seen)%s%s%s\n",
                   tern_plan_kind_name((tern_plan_kind)kind),
                   tern_algo_name((tern_plan_kind)kind, i), proved ? "right" : "wrong",
                   right[kind][i], wrong[kind][i], seen_wrong[kind][i],
                   proved ? "" : ", so: ", example[kind][i],
                   proved == said ? "" : "; THE TABLE SAYS OTHERWISE");
            assert_true(right[kind][i] > 0);
            assert_true(seen_wrong[kind][i] * 4 >= wrong[kind][i]);
        }
    }
    assert_int_equal(differ, 0);
    assert_false(tern_algo_in_place(TERN_PLAN_ALL_REDUCE, -1));
    assert_false(tern_algo_in_place(TERN_PLAN_ALL_REDUCE, 99));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_table_says_what_the_checker_says),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
