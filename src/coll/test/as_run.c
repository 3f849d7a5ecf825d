// SPDX-License-Identifier: Apache-2.0
// ctest-timeout: 240
// What calls make of the plans of the algorithms, for every kind, algorithm and 1 to 16 ranks, is
// proved under what it says of slots, and right under random interleavings. Without that it is
// refuted, if anything was left out.
#include "support/cmocka.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mesh.h"
#include "plan/steps.h"
#include "support/interp.h"
#include "support/kinds.h"
#include "tern/algo.h"
#include "tern/check.h"

enum { RANKS = 16, EXECUTED = 8, SEEDS = 3 };

static size_t trimmed_count, refused_count;

static void fail_plan(const tern_plan *plan, const char *what, const char *why)
{
    const tern_plan_spec *spec = tern_plan_get_spec(plan);
    fail_msg("%s %s, %d ranks, %llu bytes, root %d: %s: %s", tern_plan_kind_name(spec->kind),
             spec->algorithm, spec->nranks, (unsigned long long)spec->bytes, spec->root, what, why);
}

static bool is_proved(const tern_plan *plan, bool in_place, char *why, size_t size)
{
    tern_check *check;
    if ((in_place ? tern_check_plan_in_place(plan, NULL, &check)
                  : tern_check_plan(plan, NULL, &check)) != TERN_OK) {
        fail_msg("%s", tern_last_error());
    }
    bool proved = tern_check_proved(check);
    for (int rule = 0; !proved && rule < TERN_CHECK_RULES; rule++) {
        if (tern_check_count(check, (tern_check_rule)rule) > 0) {
            snprintf(why, size, "%s", tern_check_finding(check, (tern_check_rule)rule, 0));
        }
    }
    tern_check_destroy(check);
    return proved;
}

static void prove(const tern_plan *plan, const char *what)
{
    char why[512] = "";
    if (!is_proved(plan, true, why, sizeof why)) {
        fail_plan(plan, what, why);
    }
    bool small = tern_plan_get_spec(plan)->nranks <= EXECUTED;
    for (uint64_t seed = 0; small && seed < SEEDS; seed++) {
        if (!interp_run(plan, NULL, seed, why, sizeof why)) {
            fail_plan(plan, what, why);
        }
    }
}

// The same without what it says of slots.
static tern_plan *without_slots(const tern_plan *plan)
{
    char *text;
    size_t length;
    tern_plan *bare;
    assert_int_equal(tern_plan_print(plan, &text, &length), TERN_OK);
    char *line = strstr(text, "\nslots ");
    assert_non_null(line);
    char *rest = strchr(line + 1, '\n');
    memmove(line, rest, strlen(rest) + 1);
    assert_int_equal(tern_plan_parse(text, strlen(text), "bare", &bare), TERN_OK);
    free(text);
    return bare;
}

static void check_trimmed(const tern_plan *plan)
{
    tern_plan *trimmed = NULL;
    int status = tern__plan_trim(plan, &trimmed);
    assert_int_equal(status, tern__plan_pulls(plan) ? TERN_OK : TERN_ERR_ARG);
    if (status != TERN_OK) {
        refused_count++;
        return;
    }
    trimmed_count++;
    prove(trimmed, "trimmed");
    if (tern_plan_total_ops(trimmed) < tern_plan_total_ops(plan)) {
        char why[512];
        tern_plan *bare = without_slots(trimmed);
        if (is_proved(bare, false, why, sizeof why)) {
            fail_plan(plan, "trimmed, without slots", "nothing is wrong with it");
        }
        tern_plan_destroy(bare);
    }
    tern_plan_destroy(trimmed);
}

static void check_kind(tern_plan_kind kind, const tern_topo *topo)
{
    static const uint64_t sizes[] = {1, 7, 333};
    int n = tern_topo_size(topo);
    for (int i = 0; tern_algo_name(kind, i) != NULL; i++) {
        for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
            tern_plan *plan;
            tern_algo_request request = {.kind = kind,
                                         .topo = topo,
                                         .bytes = kind == TERN_PLAN_BARRIER ? 0
                                                  : kind_has_shares(kind)
                                                      ? 4 * sizes[s] * (uint64_t)n
                                                      : 4 * sizes[s],
                                         .unit = 4,
                                         .root = kind_has_root(kind) ? (int)(s + 1) % n : 0,
                                         .order = TERN_ORDER_ANY,
                                         .algorithm = tern_algo_name(kind, i)};
            if (tern_algo_plan(&request, &plan) == TERN_OK) { // some need more ranks
                check_trimmed(plan);
                tern_plan_destroy(plan);
            }
        }
    }
}

static void what_calls_run_is_proved(void **state)
{
    for (int n = 1; n <= RANKS; n++) {
        tern_topo *topo = mesh(n, NULL);
        for (int kind = 0; kind < TERN_PLAN_KINDS; kind++) {
            check_kind((tern_plan_kind)kind, topo);
        }
        tern_topo_destroy(topo);
    }
    printf("%zu plans trimmed, %zu refused\n", trimmed_count, refused_count);
    assert_true(trimmed_count > 500);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_calls_run_is_proved),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
