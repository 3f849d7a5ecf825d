// SPDX-License-Identifier: Apache-2.0
// ctest-timeout: 240
// Over several machines: every algorithm that fits is proved, also that no rank reads the memory of
// another machine; it is right in place if the table says so, sums in the order that it promises,
// and is right under random interleavings. Machines of one rank and of several, of different sizes,
// and with ranks that do not follow one another.
#include "support/cmocka.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/interp.h"
#include "support/kinds.h"
#include "support/sanitized.h"
#include "tern/algo.h"
#include "tern/check.h"
#include "tern/status.h"
#include "tern/summary.h"
#include "topo/topo.h"

enum { SCHEDULES = SANITIZED ? 2 : 4, INTERPRETED_MAX = 1 << 16, NAMES_MAX = 20 };

static const char *const words[] = {"machines:2x1",   "machines:2x2", "machines:2x3",
                                    "machines:3x1",   "machines:4x2", "machines:1+2+3",
                                    "machines:2+3+1", "machines:5x1", "apart"};
enum { WORDS = sizeof words / sizeof words[0] };

// Ranks 0, 2 and 5 on one machine, 1 and 3 on another, 4 on a third.
static const char apart[] =
    "{\"ranks\":6,\"links\":["
    "{\"from\":0,\"to\":2,\"bandwidth_GBps\":10,\"latency_us\":1,\"both\":true},"
    "{\"from\":0,\"to\":5,\"bandwidth_GBps\":10,\"latency_us\":1,\"both\":true},"
    "{\"from\":2,\"to\":5,\"bandwidth_GBps\":10,\"latency_us\":1,\"both\":true},"
    "{\"from\":1,\"to\":3,\"bandwidth_GBps\":10,\"latency_us\":1,\"both\":true}],"
    "\"machines\":[{\"ranks\":[4],\"port_gbytes_per_s\":0.125,\"latency_us\":100},"
    "{\"ranks\":[3,1],\"port_gbytes_per_s\":0.125,\"latency_us\":100},"
    "{\"ranks\":[0,2,5],\"port_gbytes_per_s\":0.125,\"latency_us\":100}]}";

static tern_topo *topology(const char *word)
{
    tern_topo *topo = NULL;
    int status = strcmp(word, "apart") == 0
                     ? tern__topo_from_json("apart.json", apart, sizeof apart - 1, &topo)
                     : tern_topo_create(word, &topo);
    if (status != TERN_OK) {
        fail_msg("%s", tern_last_error());
    }
    return topo;
}

static size_t proved_count[TERN_PLAN_KINDS][NAMES_MAX];
static size_t not_in_place[TERN_PLAN_KINDS][NAMES_MAX];

static void fail_request(const tern_algo_request *request, const char *why)
{
    fail_msg("%s %s over %s, %llu bytes of unit %u, root %d: %s",
             tern_plan_kind_name(request->kind), request->algorithm, tern_topo_text(request->topo),
             (unsigned long long)request->bytes, request->unit, request->root, why);
}

static void check_order(const tern_algo_request *request, const tern_check *check)
{
    tern_check_order order = tern_check_sum_order(check);
    if (!tern_coll_kind_facts(request->kind)->sums || request->order != TERN_ORDER_RANK) {
        return;
    }
    bool chain = strcmp(request->algorithm, "chain") == 0 && order == TERN_CHECK_ORDER_CHAIN;
    if (order != TERN_CHECK_ORDER_RANK && !chain) {
        fail_request(request, "sums in another order than promised");
    }
}

static void run(const tern_algo_request *request, const tern_plan *plan, bool in_place)
{
    char why[256];
    for (uint64_t seed = 0; seed < SCHEDULES; seed++) {
        uint64_t ranks = seed == 0 ? UINT64_MAX : seed * UINT64_C(0x9e3779b97f4a7c15) >> 20;
        if (!interp_run(plan, request->topo, seed, why, sizeof why) ||
            (in_place && request->kind != TERN_PLAN_BARRIER &&
             !interp_run_in_place(plan, request->topo, ranks, seed, why, sizeof why))) {
            fail_request(request, why);
        }
    }
}

// Of another machine than the rank.
static bool is_away(const tern_topo *topo, int rank, int other)
{
    return tern_topo_machine_of(topo, rank) != tern_topo_machine_of(topo, other);
}

// A copy to another machine has one destination, and behind it in its lane stands a post to that
// rank, or the next copy to it: an engine makes one message of a copy and its post.
static void check_messages(const tern_algo_request *request, const tern_plan *plan)
{
    for (int rank = 0; rank < tern_plan_get_spec(plan)->nranks; rank++) {
        for (int lane = 0; lane < tern_plan_lane_count(plan, rank); lane++) {
            int to = -1; // to whom the copy before this op went, if it went away
            size_t count = tern_plan_op_count(plan, rank, lane);
            for (size_t i = 0; i <= count; i++) {
                tern_plan_op op = {.kind = TERN_PLAN_WAIT};
                if (i < count) {
                    assert_int_equal(tern_plan_get_op(plan, rank, lane, i, &op), TERN_OK);
                }
                int next = -1;
                for (int d = 0; d < op.destinations_count; d++) {
                    bool away = is_away(request->topo, rank, op.destinations[d].rank);
                    next = away ? op.destinations[d].rank : next;
                    assert_true(!away || op.destinations_count == 1);
                }
                if (to >= 0 && next != to && !(op.kind == TERN_PLAN_POST && op.peer == to)) {
                    fail_request(request, "a copy to another machine without a post behind it");
                }
                to = next;
            }
        }
    }
}

// A plan of one name, if it fits; false if it does not.
static bool try_name(const tern_algo_request *request, int index)
{
    tern_plan *plan;
    tern_check *check;
    int status = tern_algo_plan(request, &plan);
    if (status == TERN_ERR_ARG) {
        return false;
    }
    assert_int_equal(status, TERN_OK);
    assert_int_equal(tern_check_plan_in_place(plan, request->topo, &check), TERN_OK);
    for (int rule = 0; rule < TERN_CHECK_IN_PLACE; rule++) {
        if (tern_check_count(check, (tern_check_rule)rule) > 0) {
            fail_request(request, tern_check_finding(check, (tern_check_rule)rule, 0));
        }
    }
    bool in_place = tern_check_proved(check);
    if (!in_place && tern_algo_in_place(request->kind, index)) {
        fail_request(request, tern_check_finding(check, TERN_CHECK_IN_PLACE, 0));
    }
    check_order(request, check);
    if (tern_algo_across_machines(request->kind, index)) {
        check_messages(request, plan);
    }
    tern_summary summary;
    assert_int_equal(tern_summary_make(plan, request->topo, &summary), TERN_OK);
    if (!(summary.reached <= 1 + 1e-9) || summary.missing > 0) {
        fail_request(request, summary.bound_text);
    }
    if (request->bytes <= INTERPRETED_MAX) {
        run(request, plan, in_place);
    }
    proved_count[request->kind][index]++;
    not_in_place[request->kind][index] += !in_place;
    tern_check_destroy(check);
    tern_plan_destroy(plan);
    return true;
}

static void try_kind(tern_plan_kind kind, const tern_topo *topo, uint64_t units, uint32_t unit,
                     int root)
{
    uint64_t shares = kind_has_shares(kind) ? (uint64_t)tern_topo_size(topo) : 1;
    tern_algo_request request = {.kind = kind,
                                 .topo = topo,
                                 .bytes = kind == TERN_PLAN_BARRIER ? 0 : unit * units * shares,
                                 .unit = unit,
                                 .root = kind_has_root(kind) ? root : 0};
    for (int i = 0; (request.algorithm = tern_algo_name(kind, i)) != NULL; i++) {
        assert_true(i < NAMES_MAX);
        request.order = TERN_ORDER_RANK;
        bool ordered = try_name(&request, i);
        request.order = TERN_ORDER_ANY;
        bool any = ordered || try_name(&request, i);
        bool apart_chain = strcmp(request.algorithm, "chain") == 0 &&
                           strcmp(tern_topo_text(topo), "apart.json") == 0;
        if (tern_algo_across_machines(kind, i) && !any && !apart_chain) {
            fail_request(&request, tern_last_error());
        }
    }
}

static void every_algorithm_that_fits_is_proved(void **state)
{
    static const uint64_t sizes[] = {0, 1, 3, 7, 257, 1500, 20011, 300007};
    for (int w = 0; w < WORDS; w++) {
        tern_topo *topo = topology(words[w]);
        for (int kind = 0; kind < TERN_PLAN_KINDS; kind++) {
            for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
                int n = tern_topo_size(topo);
                bool rooted = kind_has_root((tern_plan_kind)kind);
                for (int root = 0; root < (rooted && s < 6 ? n : 1); root++) {
                    try_kind((tern_plan_kind)kind, topo, sizes[s], 1u << s % 4,
                             s < 6 ? root : n - 1);
                }
            }
        }
        tern_topo_destroy(topo);
    }
    for (int kind = 0; kind < TERN_PLAN_KINDS; kind++) {
        const char *name;
        size_t across = 0;
        for (int i = 0; (name = tern_algo_name((tern_plan_kind)kind, i)) != NULL; i++) {
            printf("%-14s %-17s %5zu plans proved, %zu not in place\n",
                   tern_plan_kind_name((tern_plan_kind)kind), name, proved_count[kind][i],
                   not_in_place[kind][i]);
            bool is_across = tern_algo_across_machines((tern_plan_kind)kind, i);
            assert_true(!is_across || proved_count[kind][i] > 0);
            assert_int_equal(tern_algo_in_place((tern_plan_kind)kind, i) || !is_across,
                             not_in_place[kind][i] == 0 || !is_across);
            across += proved_count[kind][i];
        }
        assert_true(across > 0); // every kind has something
    }
}

// What is selected without a name fits, in both orders and for every type.
static void something_is_selected(void **state)
{
    static const uint64_t sizes[] = {1, 1000, 1 << 18, 1 << 22};
    for (int w = 0; w < WORDS; w++) {
        tern_topo *topo = topology(words[w]);
        for (int i = 0; i < TERN_PLAN_KINDS * 4 * 2; i++) {
            tern_plan_kind kind = (tern_plan_kind)(i / 8);
            uint64_t shares = kind_has_shares(kind) ? (uint64_t)tern_topo_size(topo) : 1;
            uint64_t bytes = 2 * sizes[i / 2 % 4] * shares;
            tern_algo_request request = {.kind = kind,
                                         .topo = topo,
                                         .bytes = kind == TERN_PLAN_BARRIER ? 0 : bytes,
                                         .unit = 2,
                                         .order = i % 2 == 0 ? TERN_ORDER_RANK : TERN_ORDER_ANY};
            tern_plan *plan;
            tern_check *check;
            if (tern_algo_plan(&request, &plan) != TERN_OK) {
                fail_msg("%s", tern_last_error());
            }
            assert_int_equal(tern_check_plan(plan, topo, &check), TERN_OK);
            assert_true(tern_check_proved(check));
            bool sums = tern_coll_kind_facts(kind)->sums && request.order == TERN_ORDER_RANK;
            assert_true(!sums || tern_check_sum_order(check) == TERN_CHECK_ORDER_RANK);
            tern_check_destroy(check);
            tern_plan_destroy(plan);
        }
        tern_topo_destroy(topo);
    }
}

static void expect_refused(const char *word, const char *name, tern_order order, uint32_t unit,
                           const char *sentence)
{
    tern_topo *topo = topology(word);
    tern_plan *plan = NULL;
    tern_algo_request request = {.kind = TERN_PLAN_ALL_REDUCE,
                                 .topo = topo,
                                 .bytes = 1024,
                                 .unit = unit,
                                 .order = order,
                                 .algorithm = name};
    assert_int_equal(tern_algo_plan(&request, &plan), TERN_ERR_ARG);
    assert_string_equal(tern_last_error(), sentence);
    assert_null(plan);
    tern_topo_destroy(topo);
}

static void what_does_not_fit_is_refused(void **state)
{
    expect_refused("mesh:4", "one", TERN_ORDER_ANY, 4,
                   "one cannot do this all_reduce over mesh:4: it needs two machines or more; "
                   "machines:2x4 has some, and a file may state them");
    expect_refused("machines:1x4", "chain", TERN_ORDER_ANY, 4,
                   "chain cannot do this all_reduce over machines:1x4: it needs two machines or "
                   "more; machines:2x4 has some, and a file may state them");
    expect_refused("apart", "chain", TERN_ORDER_ANY, 4,
                   "chain cannot do this all_reduce over apart.json: sums pass from machine to "
                   "machine, so each must hold consecutive ranks, and the machine of rank 0 has "
                   "not rank 1 but rank 2");
    expect_refused("machines:2x2", "chain", TERN_ORDER_RANK, 2,
                   "chain cannot do this all_reduce: its sums are in the order of the ranks but "
                   "rounded once a machine, so f16 and bf16 would have other bits; .order = "
                   "TERN_ORDER_ANY (--order any) allows that");
    expect_refused("machines:2x2", "two", TERN_ORDER_RANK, 4,
                   "two cannot do this all_reduce: its sums are not in the order of the ranks; "
                   ".order = TERN_ORDER_ANY (--order any) allows that");
    expect_refused("machines:2x2", "fused", TERN_ORDER_RANK, 4,
                   "fused cannot do this all_reduce over machines:2x2: rank 0 would need the "
                   "memory of rank 2, which is on another machine");
    assert_false(tern_algo_across_machines(TERN_PLAN_ALL_REDUCE, 0));
    assert_false(tern_algo_across_machines(TERN_PLAN_ALL_REDUCE, -1));
}

// What the busiest port carries, in parts of the size, by hand; and the least, likewise.
static void ports_carry_what_they_must(void **state)
{
    static const struct {
        tern_plan_kind kind;
        const char *topo, *name;
        double out, in, least;
    } rows[] = {
        {TERN_PLAN_ALL_REDUCE, "machines:2x2", "one", 2, 2, 1},
        {TERN_PLAN_ALL_REDUCE, "machines:2x2", "one_sums", 1, 1, 1},
        {TERN_PLAN_ALL_REDUCE, "machines:2x2", "chain", 1, 1, 1},
        {TERN_PLAN_ALL_REDUCE, "machines:2x2", "two", 1, 1, 1},
        {TERN_PLAN_ALL_REDUCE, "machines:2x2", "two_raw", 1.5, 1.5, 1},
        {TERN_PLAN_ALL_REDUCE, "machines:4x2", "chain", 2, 2, 1.5},
        {TERN_PLAN_ALL_REDUCE, "machines:4x2", "two", 1.5, 1.5, 1.5},
        {TERN_PLAN_ALL_REDUCE, "machines:4x1", "two_raw", 1.5, 1.5, 1.5},
        {TERN_PLAN_ALL_REDUCE, "machines:1+2+3", "two", 4.0 / 3, 4.0 / 3, 4.0 / 3},
        {TERN_PLAN_REDUCE_SCATTER, "machines:4x2", "one", 1.5, 1.5, 0.75},
        {TERN_PLAN_REDUCE_SCATTER, "machines:4x2", "two", 0.75, 0.75, 0.75},
        {TERN_PLAN_REDUCE_SCATTER, "machines:4x2", "chain", 1, 1.25, 0.75},
        {TERN_PLAN_REDUCE_TO_ROOT, "machines:4x2", "one", 2, 6, 1},
        {TERN_PLAN_REDUCE_TO_ROOT, "machines:4x2", "one_sums", 1, 3, 1},
        {TERN_PLAN_REDUCE_TO_ROOT, "machines:4x2", "chain", 1, 1, 1},
        {TERN_PLAN_REDUCE_TO_ROOT, "machines:4x2", "two", 1, 1.5, 1},
        {TERN_PLAN_REDUCE_TO_ROOT, "machines:4x2", "two_raw", 1.75, 2.25, 1},
        {TERN_PLAN_ALL_GATHER, "machines:4x2", "direct", 1.5, 1.5, 0.75},
        {TERN_PLAN_ALL_GATHER, "machines:4x2", "one", 0.75, 0.75, 0.75},
        {TERN_PLAN_BROADCAST, "machines:4x2", "one", 3, 1, 1},
        {TERN_PLAN_BROADCAST, "machines:4x2", "chain", 1, 1, 1},
        {TERN_PLAN_GATHER, "machines:4x2", "one", 0.25, 0.75, 0.75},
        {TERN_PLAN_SCATTER, "machines:4x2", "one", 0.75, 0.25, 0.75},
        {TERN_PLAN_ALL_TO_ALL, "machines:4x2", "one", 1.5, 1.5, 1.5},
    };
    const uint64_t size = 1 << 24;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        tern_topo *topo = topology(rows[i].topo);
        tern_plan *plan;
        tern_summary s;
        tern_algo_request request = {.kind = rows[i].kind,
                                     .topo = topo,
                                     .bytes = size,
                                     .unit = 4,
                                     .order = TERN_ORDER_ANY,
                                     .algorithm = rows[i].name};
        if (tern_algo_plan(&request, &plan) != TERN_OK) {
            fail_msg("%s", tern_last_error());
        }
        assert_int_equal(tern_summary_make(plan, topo, &s), TERN_OK);
        assert_int_equal(s.machines, tern_topo_machine_count(topo));
        double out = 0;
        double in = 0;
        for (int m = 0; m < s.machines; m++) {
            out = fmax(out, (double)s.ports[m].out_bytes / (double)size);
            in = fmax(in, (double)s.ports[m].in_bytes / (double)size);
        }
        double least = s.bound_us * 1e3 * 0.125 / (double)size;
        double off = 1e-4; // slices begin at cache lines
        if (fabs(out - rows[i].out) > off || fabs(in - rows[i].in) > off ||
            fabs(least - rows[i].least) > off) {
            fail_msg("%s %s over %s: out %g, in %g, least %g: %s",
                     tern_plan_kind_name(rows[i].kind), rows[i].name, rows[i].topo, out, in, least,
                     s.bound_text);
        }
        assert_true(fabs(s.busiest_port.us - fmax(out, in) * (double)size / 125) < 1);
        tern_plan_destroy(plan);
        tern_topo_destroy(topo);
    }
}

static int copies_away(const tern_plan *plan, const tern_topo *topo, uint64_t *shortest)
{
    int copies = 0;
    *shortest = UINT64_MAX;
    for (int rank = 0; rank < tern_topo_size(topo); rank++) {
        for (int lane = 0; lane < tern_plan_lane_count(plan, rank); lane++) {
            for (size_t i = 0; i < tern_plan_op_count(plan, rank, lane); i++) {
                tern_plan_op op;
                assert_int_equal(tern_plan_get_op(plan, rank, lane, i, &op), TERN_OK);
                if (op.destinations_count > 0 && is_away(topo, rank, op.destinations[0].rank)) {
                    copies++;
                    *shortest = op.length < *shortest ? op.length : *shortest;
                }
            }
        }
    }
    return copies;
}

// Into how many copies what crosses is divided, and of how many bytes the shortest one is, by hand.
static void messages_are_few_where_machines_send_to_all(void **state)
{
    static const struct {
        tern_plan_kind kind;
        const char *topo, *name;
        uint64_t bytes;
        int copies;
        uint64_t shortest;
    } rows[] = {
        {TERN_PLAN_ALL_REDUCE, "machines:4x2", "two", 32 << 10, 24, 8 << 10},
        {TERN_PLAN_ALL_REDUCE, "machines:4x2", "two", 64 << 10, 24, 16 << 10},
        {TERN_PLAN_ALL_REDUCE, "machines:4x2", "two", 128 << 10, 48, 16 << 10},
        {TERN_PLAN_ALL_REDUCE, "machines:4x2", "two", 256 << 10, 96, 16 << 10},
        {TERN_PLAN_ALL_REDUCE, "machines:2x4", "two", 64 << 10, 8, 16 << 10},
        {TERN_PLAN_ALL_REDUCE, "machines:2x4", "two", 128 << 10, 16, 16 << 10},
        {TERN_PLAN_ALL_REDUCE, "machines:4x2", "two_raw", 32 << 10, 24, 8 << 10},
        {TERN_PLAN_ALL_REDUCE, "machines:4x2", "two_raw", 64 << 10, 48, 8 << 10},
        {TERN_PLAN_ALL_REDUCE, "machines:2x4", "chain", 8 << 10, 2, 8 << 10},
        {TERN_PLAN_ALL_REDUCE, "machines:2x4", "chain", 16 << 10, 4, 8 << 10},
        {TERN_PLAN_REDUCE_SCATTER, "machines:2x2", "two", 128 << 10, 8, 16 << 10},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        tern_topo *topo = topology(rows[i].topo);
        tern_plan *plan;
        tern_algo_request request = {.kind = rows[i].kind,
                                     .topo = topo,
                                     .bytes = rows[i].bytes,
                                     .unit = 4,
                                     .order = TERN_ORDER_ANY,
                                     .algorithm = rows[i].name};
        assert_int_equal(tern_algo_plan(&request, &plan), TERN_OK);
        uint64_t shortest;
        int copies = copies_away(plan, topo, &shortest);
        if (copies != rows[i].copies || shortest != rows[i].shortest) {
            fail_msg("%s over %s, %llu bytes: %d copies, the shortest of %llu bytes", rows[i].name,
                     rows[i].topo, (unsigned long long)rows[i].bytes, copies,
                     (unsigned long long)shortest);
        }
        tern_plan_destroy(plan);
        tern_topo_destroy(topo);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_algorithm_that_fits_is_proved),
        cmocka_unit_test(something_is_selected),
        cmocka_unit_test(what_does_not_fit_is_refused),
        cmocka_unit_test(ports_carry_what_they_must),
        cmocka_unit_test(messages_are_few_where_machines_send_to_all),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
