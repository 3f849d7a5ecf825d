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
#include "plan/test/same.h"
#include "support/interp.h"
#include "support/kinds.h"
#include "support/sanitized.h"
#include "tern/algo.h"
#include "tern/check.h"
#include "tern/tune.h"

enum { RANKS = 16, EXECUTED = 8, SEEDS = 3 };

static size_t trimmed_count, refused_count, staged_count;

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

// in_place: it is right so, too.
static void prove(const tern_plan *plan, bool in_place, const char *what)
{
    char why[512] = "";
    if (!is_proved(plan, in_place, why, sizeof why)) {
        fail_plan(plan, what, why);
    }
    const tern_plan_spec *spec = tern_plan_get_spec(plan);
    bool small = spec->nranks <= EXECUTED && spec->bytes < 1 << 20;
    for (uint64_t seed = 0; small && seed < SEEDS; seed++) {
        if (!interp_run(plan, NULL, seed, why, sizeof why)) {
            fail_plan(plan, what, why);
        }
        if (in_place && tern_plan_get_spec(plan)->kind != TERN_PLAN_BARRIER &&
            (spec->slots & TERN_PLAN_IN_SLOTS) == 0 &&
            !interp_run_in_place(plan, NULL, UINT64_MAX, seed, why, sizeof why)) {
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

// Refuted if it says nothing of slots, which some op relies on.
static void refute_without_slots(const tern_plan *plan, const char *what)
{
    char why[512];
    tern_plan *bare = without_slots(plan);
    if (is_proved(bare, false, why, sizeof why)) {
        fail_plan(plan, what, "proved without slots, too");
    }
    tern_plan_destroy(bare);
}

static void check_staged(const tern_plan *plan, struct tern__staging how, bool relies)
{
    tern_plan *staged;
    if (tern__plan_stage(plan, &how, &staged) != TERN_OK) {
        fail_msg("%s", tern_last_error());
    }
    prove(staged, !how.own_in, "staged");
    if (relies && tern_plan_get_spec(plan)->kind != TERN_PLAN_BARRIER) {
        refute_without_slots(staged, "staged");
    }
    tern_plan_destroy(staged);
    staged_count++;
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
    prove(trimmed, true, "trimmed");
    bool relies = tern_plan_total_ops(trimmed) < tern_plan_total_ops(plan);
    if (relies) {
        refute_without_slots(trimmed, "trimmed");
    }
    check_staged(trimmed, (struct tern__staging){0}, relies);
    check_staged(trimmed, (struct tern__staging){.own_in = true}, relies);
    tern_plan_destroy(trimmed);
}

// Of so many units of 4 bytes, or of so many a share.
static tern_algo_request request_of(tern_plan_kind kind, const tern_topo *topo, uint64_t units,
                                    int root)
{
    int n = tern_topo_size(topo);
    uint64_t shares = kind_has_shares(kind) ? (uint64_t)n : 1;
    return (tern_algo_request){.kind = kind,
                               .topo = topo,
                               .bytes = kind == TERN_PLAN_BARRIER ? 0 : 4 * units * shares,
                               .unit = 4,
                               .root = kind_has_root(kind) ? (root + 1) % n : 0};
}

static void check_kind(tern_plan_kind kind, const tern_topo *topo)
{
    static const uint64_t sizes[] = {1, 7, 333};
    for (int i = 0; tern_algo_name(kind, i) != NULL; i++) {
        for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
            tern_plan *plan;
            tern_algo_request request = request_of(kind, topo, sizes[s], (int)s);
            request.order = TERN_ORDER_ANY;
            request.algorithm = tern_algo_name(kind, i);
            if (tern_algo_plan(&request, &plan) == TERN_OK) { // some need more ranks
                check_trimmed(plan);
                check_staged(plan, (struct tern__staging){.out = true}, false);
                tern_plan_destroy(plan);
            }
        }
    }
}

static void what_calls_run_is_proved(void **state)
{
    for (int n = 1; n <= RANKS; n += SANITIZED && n > 4 ? 3 : 1) {
        tern_topo *topo = mesh(n, NULL);
        for (int kind = 0; kind < TERN_PLAN_KINDS; kind++) {
            check_kind((tern_plan_kind)kind, topo);
        }
        tern_topo_destroy(topo);
    }
    printf("%zu plans trimmed, %zu refused, %zu staged\n", trimmed_count, refused_count,
           staged_count);
    assert_true(trimmed_count > (SANITIZED ? 200 : 500));
}

// How many requests go each way; the others get a sentence.
struct ways {
    size_t window, slot, direct, staged, refused;
};

// Whether it only reads inputs of other ranks and writes its own outputs.
static bool only_reads(const tern_plan *plan)
{
    char *text;
    size_t length;
    bool reads = tern__plan_pulls(plan);
    assert_int_equal(tern_plan_print(plan, &text, &length), TERN_OK);
    reads = reads && strstr(text, "scratch+") == NULL && strstr(text, "\nreduce ") == NULL;
    free(text);
    return reads;
}

static void check_direct(const tern_algo_request *request, struct ways *ways)
{
    tern_plan *plan = NULL;
    tern_coll_choice choice;
    int n = tern_topo_size(request->topo);
    uint64_t shares = kind_has_shares(request->kind) ? (uint64_t)n : 1;
    bool sums = request->kind == TERN_PLAN_ALL_REDUCE ||
                request->kind == TERN_PLAN_REDUCE_TO_ROOT ||
                request->kind == TERN_PLAN_REDUCE_SCATTER;
    tern_coll call = {.kind = (tern_coll_kind)request->kind,
                      .count = request->bytes / 4 / shares,
                      .dtype = TERN_F32,
                      .root = request->root,
                      .order = request->order,
                      .algorithm = request->algorithm};
    bool goes =
        tern_coll_select(&call, n, false, &choice) == TERN_OK && strstr(choice.way, "direct");
    int status = tern_coll_plan(request, "direct", &plan);
    if (status == TERN_OK) {
        assert_true(n == 1 || goes);
        assert_true(sums || only_reads(plan));
        assert_true(tern_plan_get_spec(plan)->bytes == request->bytes ||
                    (sums && tern_plan_get_spec(plan)->bytes < request->bytes));
        assert_true(strcmp(choice.way, "direct") != 0 ||
                    strcmp(tern_plan_get_spec(plan)->algorithm, choice.algorithm) == 0);
        ways->direct++;
        prove(plan, false, "direct");
        tern_plan_destroy(plan);
    } else {
        assert_int_equal(status, TERN_ERR_ARG);
        assert_true(!goes && strlen(tern_last_error()) > 20);
    }
}

static void check_request(const tern_algo_request *request, struct ways *ways)
{
    check_direct(request, ways);
    tern_plan *window = NULL;
    tern_plan *slot = NULL;
    tern_plan *staged = NULL;
    tern_plan *emitted;
    int in_windows = tern_coll_plan(request, "window", &window);
    int on_slots = tern_coll_plan(request, "slot", &slot);
    int in_pieces = tern_coll_plan(request, "staged", &staged);
    if (in_pieces == TERN_OK) {
        assert_true(on_slots != TERN_OK); // small, or large
        assert_true(tern_plan_get_spec(staged)->bytes <= request->bytes);
        ways->staged++;
        prove(staged, false, "in pieces");
        tern_plan_destroy(staged);
    }
    if (in_windows != TERN_OK && on_slots != TERN_OK) {
        assert_int_equal(on_slots, TERN_ERR_ARG);
        assert_true(strlen(tern_last_error()) > 20);
        ways->refused++;
        return;
    }
    assert_true(in_windows != TERN_OK || on_slots != TERN_OK); // small, or large
    tern_plan *plan = window != NULL ? window : slot;
    tern_algo_request same = *request;
    same.algorithm = tern_plan_get_spec(plan)->algorithm;
    same.order = TERN_ORDER_ANY;
    assert_int_equal(tern_algo_plan(&same, &emitted), TERN_OK);
    if (slot != NULL) {
        ways->slot++;
        prove(slot, true, "slot");
    } else {
        ways->window++;
        assert_true(request->kind == TERN_PLAN_BARRIER || same_plans(window, emitted));
    }
    tern_plan_destroy(emitted);
    tern_plan_destroy(plan);
}

static void a_call_says_what_it_runs(void **state)
{
    static const uint64_t sizes[] = {1, 50, 333, 250007};
    struct ways ways = {0};
    setenv("TERN_TUNE", "", 1); // what is built in
    unsetenv("TERN_ALGO");
    for (int n = 1; n <= RANKS; n += SANITIZED && n > 4 ? 3 : 1) {
        tern_topo *topo = mesh(n, NULL);
        for (int kind = 0; kind < TERN_PLAN_KINDS; kind++) {
            for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
                tern_algo_request request =
                    request_of((tern_plan_kind)kind, topo, sizes[s], (int)s);
                check_request(&request, &ways);
                for (int i = 0; tern_algo_name(request.kind, i) != NULL; i++) {
                    request.algorithm = tern_algo_name(request.kind, i);
                    request.order = TERN_ORDER_ANY;
                    check_request(&request, &ways);
                }
            }
        }
        tern_topo_destroy(topo);
    }
    printf("%zu in windows, %zu on slots, %zu direct, %zu in pieces, %zu neither in windows nor on "
           "slots\n",
           ways.window, ways.slot, ways.direct, ways.staged, ways.refused);
    assert_true(ways.window > 300 && ways.slot > 300 && ways.direct > 30 && ways.staged > 300);
}

static void expect(const tern_algo_request *request, const char *way, const char *words)
{
    tern_plan *plan = NULL;
    assert_int_equal(tern_coll_plan(request, way, &plan), TERN_ERR_ARG);
    if (strstr(tern_last_error(), words) == NULL) {
        fail_msg("no '%s' in: %s", words, tern_last_error());
    }
    assert_null(plan);
}

static void what_no_call_runs_is_refused(void **state)
{
    tern_topo *topo = mesh(4, NULL);
    tern_topo *cut = mesh(4, "0-1");
    tern_topo *large = mesh(65, NULL);
    tern_algo_request request = request_of(TERN_PLAN_ALL_REDUCE, topo, 16, 0);
    setenv("TERN_TUNE", "", 1);
    expect(&request, "slots", "there is no way 'slots'; there are window, slot, direct and staged");
    expect(&request, "window", "all_reduce of 64 bytes on 4 ranks goes through a slot, as all");
    expect(&request, "staged", "all_reduce of 64 bytes on 4 ranks goes through a slot, as all");
    request.algorithm = "fused";
    expect(&request, "slot", "'fused' for all_reduce does not run on slots");
    request.algorithm = NULL;
    request.bytes = 1 << 24;
    expect(&request, "slot", "all_reduce of 16777216 bytes on 4 ranks goes through no slot: up to");
    request.algorithm = "staged";
    expect(&request, "window", "'staged' for all_reduce does not run in windows: it needs scratch");
    expect(&request, "direct", "all_reduce on 4 ranks reads no memory of other ranks: slots are");
    tern_tune_row rows[2]; // what is built in is a guess until a row says it
    assert_int_equal(tern_tune_get_built_in(TERN_PLAN_GATHER, 4, &rows[0]), TERN_OK);
    assert_int_equal(tern_tune_get_built_in(TERN_PLAN_SCATTER, 4, &rows[1]), TERN_OK);
    assert_int_equal(tern_tune_use(rows, 2), TERN_OK);
    request = request_of(TERN_PLAN_GATHER, topo, 1 << 20, 0);
    expect(&request, "direct", "gather on 4 ranks reads no memory of other ranks: slots are quick");
    request.kind = TERN_PLAN_SCATTER;
    request.bytes = 1 << 17;
    expect(&request, "direct", "scatter on 4 ranks reads shares of at least 65536 bytes out of");
    request.bytes = 1 << 18;
    setenv("TERN_DIRECT", "100000", 1);
    expect(&request, "direct", "of other ranks, not of 65536; TERN_DIRECT");
    unsetenv("TERN_DIRECT");
    request.bytes = 1 << 22;
    request.kind = TERN_PLAN_ALL_GATHER;
    request.root = 0;
    request.algorithm = "ring";
    expect(&request, "direct", "'ring' and 'ring' for all_gather do more than to read the inputs");
    request.algorithm = NULL;
    request.kind = TERN_PLAN_SCATTER;
    setenv("TERN_DIRECT", "off", 1);
    expect(&request, "direct", "TERN_DIRECT is off, or the kernel refuses it");
    unsetenv("TERN_DIRECT");
    assert_int_equal(tern_tune_use(NULL, 0), TERN_OK);
    request.kind = TERN_PLAN_ALL_REDUCE;
    request.bytes = 6;
    expect(&request, "slot", "must be a multiple of 4");
    request = request_of(TERN_PLAN_ALL_REDUCE, cut, 16, 0);
    expect(&request, "slot", "has none from 0 to 1: mesh:4 has");
    request.topo = large;
    expect(&request, "slot", "65 ranks; there are 1 to 64");
    expect(NULL, "slot", "must not be NULL");
    tern_topo *machines;
    assert_int_equal(tern_topo_create("machines:2x2", &machines), TERN_OK);
    request.topo = machines;
    expect(&request, "slot", "are ways of ranks on one machine, and machines:2x2 has 2 machines");
    tern_topo_destroy(machines);
    tern_topo_destroy(topo);
    tern_topo_destroy(cut);
    tern_topo_destroy(large);
}

// Sums that are read where they lie: in pieces of 128 KiB a rank, through scratch.
static void sums_go_direct_where_the_environment_says_so(void **state)
{
    static const tern_plan_kind kinds[] = {TERN_PLAN_ALL_REDUCE, TERN_PLAN_REDUCE_TO_ROOT,
                                           TERN_PLAN_REDUCE_SCATTER};
    tern_topo *topo = mesh(4, NULL);
    setenv("TERN_TUNE", "", 1);
    setenv("TERN_DIRECT", "100000", 1);
    for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; k++) {
        for (uint64_t share = UINT64_C(1) << 17; share <= UINT64_C(1) << 24; share *= 2) {
            tern_plan *plan;
            tern_algo_request request = request_of(kinds[k], topo, share / 4, 0);
            bool whole = kind_has_shares(kinds[k]) || share < 4 << 17;
            assert_int_equal(tern_coll_plan(&request, "direct", &plan), TERN_OK);
            assert_true(tern_plan_get_spec(plan)->bytes == (whole ? request.bytes : 4 << 17));
            prove(plan, false, "direct");
            tern_plan_destroy(plan);
        }
    }
    unsetenv("TERN_DIRECT");
    tern_topo_destroy(topo);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_calls_run_is_proved),
        cmocka_unit_test(a_call_says_what_it_runs),
        cmocka_unit_test(what_no_call_runs_is_refused),
        cmocka_unit_test(sums_go_direct_where_the_environment_says_so),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
