// SPDX-License-Identifier: Apache-2.0
// ctest-timeout: 120, ctest-threads: none
// Direct or through slots, whichever has been faster: the decision alone, with given times; and
// calls of every kind that go both ways, all ranks the same one, with right results.
#include "support/cmocka.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "coll/call/call.h"
#include "comm/comm.h"
#include "support/ranks.h"
#include "sync/record_text.h"
#include "tern/coll.h"
#include "tern/tune.h"

enum {
    BEGIN = 10,
    LEFT = TERN__LEARNED_ROW / 2,
    BOTH = TERN__LEARNED_ROWS * TERN__LEARNED_ROW,
    LONG = 100,
    LONG_LEFT = 80,
};

// Calls of one class.
struct run {
    struct tern__learned l;
    uint32_t time; // of the call before, if it was timed
    bool warm;
    bool is_long; // its rows
};

static struct tern__learned_plan plan_of(const struct run *run, bool guess)
{
    uint32_t row = run->is_long ? LONG : TERN__LEARNED_ROW;
    uint32_t left = run->is_long ? LONG_LEFT : LEFT;
    return (struct tern__learned_plan){.guess = guess,
                                       .begin_at = BEGIN,
                                       .first = TERN__LEARNED_ROW,
                                       .row = {row, row},
                                       .left = {left, left},
                                       .warm = run->warm};
}

// One call; its way.
static bool make(struct run *run, bool guess, const uint32_t times[2], bool counts)
{
    bool timed = counts && run->l.next_timed;
    bool way = tern__learned_decide(&run->l, plan_of(run, guess), counts);
    tern__learned_take(&run->l, way, run->time);
    run->time = timed ? times[way] : 0;
    return way;
}

// How many of so many calls go direct.
static int count_direct(struct run *run, bool guess, const uint32_t times[2], int calls)
{
    int direct = 0;
    for (int call = 0; call < calls; call++) {
        direct += make(run, guess, times, true);
    }
    return direct;
}

static void first_the_guess_then_both_then_the_faster_one(void **state)
{
    for (int guess = 0; guess < 2; guess++) {
        for (int faster = 0; faster < 2; faster++) {
            const uint32_t times[2] = {faster != 0 ? 200 : 100, faster != 0 ? 100 : 200};
            struct run run = {0};
            assert_int_equal(count_direct(&run, guess, times, BEGIN), guess != 0 ? BEGIN : 0);
            assert_int_equal(count_direct(&run, guess, times, BOTH), BOTH / 2);
            assert_int_equal(run.l.preferred, faster);
            int direct = count_direct(&run, guess, times, 3000);
            int slower = faster != 0 ? 3000 - direct : direct;
            assert_in_range(slower, TERN__LEARNED_ROW, 12 * TERN__LEARNED_ROW);
        }
    }
}

// Clearly: by a quarter.
static void two_rows_are_enough_when_one_way_is_clearly_faster(void **state)
{
    enum { LATER = 2 }; // calls until the times of a row are known
    static const uint32_t clear[][2] = {{100, 126}, {126, 100}};
    static const uint32_t close[2] = {100, 120};
    for (int guess = 0; guess < 2; guess++) {
        for (int faster = 0; faster < 2; faster++) {
            struct run run = {.warm = true};
            assert_false(tern__learned_is_known(&run.l));
            count_direct(&run, guess, clear[faster], BEGIN + 2 * TERN__LEARNED_ROW + LATER);
            assert_true(tern__learned_is_known(&run.l));
            assert_int_equal(count_direct(&run, guess, clear[faster], BOTH), faster * BOTH);
        }
    }
    struct run run = {.warm = true};
    assert_int_equal(count_direct(&run, false, close, BEGIN + BOTH), BOTH / 2);
    run = (struct run){.warm = false};
    assert_int_equal(count_direct(&run, false, clear[0], BEGIN + BOTH), BOTH / 2);
}

// The other way is tried after as many calls as ever, and taken if it is faster.
static void what_is_trusted_is_not_compared_at_first(void **state)
{
    for (int guess = 0; guess < 2; guess++) {
        static const uint32_t times[2] = {200, 100};
        struct run run = {.warm = true};
        for (int call = 0; call < TERN__LEARNED_AGAIN * TERN__LEARNED_ROW; call++) {
            struct tern__learned_plan plan = plan_of(&run, guess != 0);
            plan.begin_at = 0;
            plan.trusts = true;
            bool timed = run.l.next_timed;
            bool way = tern__learned_decide(&run.l, plan, true);
            tern__learned_take(&run.l, way, run.time);
            run.time = timed ? times[way] : 0;
            assert_int_equal(way, guess);
            assert_true(tern__learned_is_known(&run.l));
        }
        int direct = count_direct(&run, guess != 0, times, 2 * TERN__LEARNED_ROW);
        assert_in_range(direct, TERN__LEARNED_ROW, 2 * TERN__LEARNED_ROW - 1);
        assert_true(run.l.preferred);
    }
}

static void what_becomes_slower_is_left(void **state)
{
    static const uint32_t first[2] = {100, 200};
    static const uint32_t later[2] = {400, 200};
    static const uint32_t last[2] = {400, 2000};
    struct run run = {0};
    count_direct(&run, false, first, 2000);
    assert_false(run.l.preferred);
    count_direct(&run, false, later, 100);
    assert_true(run.l.preferred);
    count_direct(&run, false, last, 100);
    assert_false(run.l.preferred);
}

// What was slow for a while, as slots are when caches have lost them, is taken again soon.
static void what_was_slower_for_a_while_is_tried_again_soon(void **state)
{
    static const uint32_t usual[2] = {100, 150};
    static const uint32_t held[2] = {400, 150};
    struct run run = {.is_long = true};
    count_direct(&run, false, usual, 4000);
    assert_false(run.l.preferred);
    assert_true(run.l.calls + TERN__LEARNED_TIMES * TERN__LEARNED_EVERY * 2 < run.l.again_at);
    count_direct(&run, false, held, TERN__LEARNED_TIMES * TERN__LEARNED_EVERY);
    assert_true(run.l.preferred);
    count_direct(&run, false, usual, 3 * LONG);
    assert_false(run.l.preferred);
    assert_int_equal(count_direct(&run, false, usual, LONG), 0);
}

// At the first row that tries it, whatever its times were long ago.
static void what_becomes_faster_is_taken_when_it_is_tried(void **state)
{
    static const uint32_t first[2] = {200, 100};
    static const uint32_t later[2] = {50, 100};
    enum { LATER = 2 };
    struct run run = {0};
    while (run.l.again < TERN__LEARNED_MOST * TERN__LEARNED_ROW ||
           run.l.calls + 1 < run.l.again_at) {
        make(&run, false, first, true);
    }
    assert_true(run.l.preferred);
    count_direct(&run, false, later, TERN__LEARNED_ROW + 1 + LATER);
    assert_false(run.l.preferred);
    assert_int_equal(count_direct(&run, false, later, TERN__LEARNED_AGAIN / 2 * TERN__LEARNED_ROW),
                     0);
}

// Calls that are held up now and then, and ways that are nearly as fast.
static void single_calls_and_little_do_not_matter(void **state)
{
    static const uint32_t usual[2] = {100, 96};
    static const uint32_t held[2] = {5000, 5000};
    struct run run = {0};
    count_direct(&run, false, usual, 100);
    for (int call = 0; call < 5000; call++) {
        make(&run, false, call % 48 == 7 ? held : usual, true);
        assert_false(run.l.preferred);
    }
}

// The call behind a change of ways is not what the way is compared by.
static void calls_behind_a_change_do_not_count(void **state)
{
    struct run run = {0};
    bool before = false;
    int same = 0;
    for (int call = 0; call < 2000; call++) {
        bool way = run.l.next;
        same = way == before ? same + 1 : 1;
        before = way;
        const uint32_t times[2] = {same <= LEFT ? 9000 : 200, same <= LEFT ? 9000 : 100};
        make(&run, false, times, true);
    }
    assert_true(run.l.preferred);
    for (int i = 0; i < TERN__LEARNED_TIMES; i++) {
        assert_int_equal(run.l.times[0][i], 200);
        assert_int_equal(run.l.times[1][i], 100);
    }
}

// Of a long row the first ones, whatever is called in between that does not count. What looks
// slower at first is found so.
static void the_first_calls_of_a_row_do_not_count(void **state)
{
    struct run run = {.is_long = true};
    uint32_t begin = BEGIN + BOTH + TERN__LEARNED_AGAIN * TERN__LEARNED_ROW;
    for (uint32_t call = 0; call < begin + LONG + 2; call++) {
        bool late = call >= begin + LONG_LEFT;
        const uint32_t times[2] = {200, late ? 100 : 9000};
        assert_int_equal(run.l.preferred && !late, 0);
        make(&run, false, times, true);
        if (call % 7 == 6) {
            make(&run, false, times, false);
        }
    }
    assert_true(run.l.preferred);
    for (uint32_t i = 0; i < run.l.taken[1] && i < TERN__LEARNED_TIMES; i++) {
        assert_int_equal(run.l.times[1][i], 100);
    }
}

// Nor those that go the preferred way again, behind such a row.
static void the_first_calls_behind_a_row_do_not_count(void **state)
{
    struct run run = {.is_long = true};
    uint32_t rows = 0;
    uint32_t same = 0;
    bool before = false;
    for (uint32_t call = 0; call < 10000; call++) {
        bool way = run.l.next;
        same = way == before ? same + 1 : 1;
        rows += way && !before && call >= BEGIN + BOTH;
        before = way;
        const uint32_t times[2] = {rows > 0 && same <= LONG_LEFT ? 9000 : 100, 200};
        make(&run, false, times, true);
        assert_false(run.l.preferred);
    }
    assert_in_range(rows, 2, 10);
}

static void calls_that_are_not_timed_teach_nothing(void **state)
{
    static const uint32_t times[2] = {200, 100};
    struct run run = {0};
    for (int call = 0; call < 500; call++) {
        assert_false(make(&run, false, times, false));
    }
    assert_int_equal(run.l.taken[0] + run.l.taken[1], 0);
    count_direct(&run, false, times, 100);
    for (int call = 0; call < 500; call++) { // but follow what is known
        assert_true(make(&run, false, times, false) || call == 0);
    }
}

// Calls.

enum { SHARE = 70000, RANKS_MOST = 5, CALLS = 130 };

static char in[RANKS_MOST * SHARE];
static char out[RANKS_MOST * SHARE];

static char byte_of(int from, int to, size_t i, int call)
{
    return (char)(from * 31 + to * 7 + call * 3 + (int)(i % 251));
}

// What rank `from` gives to rank `to`: a kind with one input gives the same to all.
static int given_to(const tern_kind_facts *kind, int to)
{
    return kind->in == TERN_KIND_ALL ? to : 0;
}

static bool is_direct(const tern_comm *comm)
{
    struct tern__recorded calls[TERN__RECORDS];
    const struct tern__group *group = &comm->group;
    int count = tern__records_read(group->job->ctl, group->members[group->rank], calls);
    return count > 0 && calls[0].way == TERN__WAY_DIRECT;
}

static int run_one(tern_comm *comm, tern_coll *call, const size_t *counts, int number)
{
    const tern_kind_facts *kind = tern_coll_kind_facts(call->kind);
    int n = tern_comm_size(comm);
    int self = tern_comm_rank(comm);
    bool gives = kind->root != TERN_KIND_ROOT_FROM || self == call->root;
    bool takes = kind->root != TERN_KIND_ROOT_TO || self == call->root;
    for (int to = 0; gives && to < (kind->in == TERN_KIND_ALL ? n : 1); to++) {
        for (size_t i = 0; i < SHARE; i++) {
            in[(size_t)to * SHARE + i] = byte_of(self, to, i, number);
        }
    }
    memset(out, 0, sizeof out);
    call->in = gives ? in : NULL;
    call->out = takes ? out : NULL;
    call->count = SHARE;
    call->dtype = TERN_U8;
    call->in_counts = kind->counts && kind->in == TERN_KIND_ALL ? counts : NULL;
    call->out_counts = kind->counts && kind->out == TERN_KIND_ALL ? counts : NULL;
    if (number % 7 == 6) { // neither timed nor counted
        tern_request request;
        CHECK(tern_coll_start(comm, call, &request) == TERN_OK);
        CHECK(tern_request_wait(&request) == TERN_OK);
    } else {
        CHECK(tern_coll_run(comm, call) == TERN_OK);
    }
    for (int from = 0; takes && from < (kind->out == TERN_KIND_ALL ? n : 1); from++) {
        int giver = kind->root == TERN_KIND_ROOT_FROM ? call->root : from;
        for (size_t i = 0; i < SHARE; i += i % 997 == 0 ? 1 : 13) {
            CHECK(out[(size_t)from * SHARE + i] == byte_of(giver, given_to(kind, self), i, number));
        }
    }
    return 0;
}

static int go_both_ways(tern_comm *comm, void *arg)
{
    static const tern_coll_kind kinds[] = {TERN_COLL_ALL_GATHER,   TERN_COLL_BROADCAST,
                                           TERN_COLL_ALL_TO_ALL,   TERN_COLL_GATHER,
                                           TERN_COLL_SCATTER,      TERN_COLL_ALL_GATHER_V,
                                           TERN_COLL_ALL_TO_ALL_V, TERN_COLL_GATHER_V,
                                           TERN_COLL_SCATTER_V};
    const bool *turns = arg; // the root is another one in each call
    size_t counts[RANKS_MOST];
    int n = tern_comm_size(comm);
    for (int rank = 0; rank < n; rank++) {
        counts[rank] = SHARE;
    }
    for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; k++) {
        const tern_kind_facts *kind = tern_coll_kind_facts(kinds[k]);
        // Who meets nobody may hear too late, every time, of a call that is to be timed: so there
        // are barriers at first.
        bool may_be_late = kind->counts && kind->root != TERN_KIND_ROOT_NONE;
        int most = may_be_late ? 2 * CALLS : CALLS;
        int direct = 0;
        for (int call = 0; call < most; call++) {
            tern_coll asked = {.kind = kinds[k], .root = *turns ? call % n : n - 1};
            CHECK(!may_be_late || call >= CALLS || tern_comm_barrier(comm) == TERN_OK);
            CHECK(run_one(comm, &asked, counts, call) == 0);
            direct += is_direct(comm);
        }
        const struct tern__calls *calls = comm->calls;
        const struct tern__learned *l = &calls->learned[kind->plan][kind->counts][3];
        CHECK(!calls->direct || l->begun);
        CHECK(!calls->direct || *turns || (direct > 0 && direct < most));
        CHECK(*turns || l->calls == 0 || (l->taken[0] > 0 && l->taken[1] > 0));
    }
    return 0;
}

static void calls_go_both_ways_and_are_right(void **state)
{
    bool turns = false;
    assert_true(ranks_run_comm(2, go_both_ways, &turns, 60));
    assert_true(ranks_run_comm(3, go_both_ways, &turns, 60));
    assert_true(ranks_run_comm(5, go_both_ways, &turns, 60));
}

static void roots_may_take_turns(void **state)
{
    bool turns = true;
    assert_true(ranks_run_comm(2, go_both_ways, &turns, 60));
    assert_true(ranks_run_comm(5, go_both_ways, &turns, 60));
}

// With counts, whoever decides by what it takes may come last and end first: while it is read from,
// the others wait for it, and a call took as long as there.
static int decide_late(tern_comm *comm, void *arg)
{
    enum { LATE_US = 10000 }; // longer than inputs take to be written, under a sanitizer too
    static const tern_coll_kind kinds[] = {TERN_COLL_GATHER_V, TERN_COLL_SCATTER_V};
    const size_t counts[] = {SHARE, SHARE, SHARE, SHARE, SHARE};
    _Static_assert(sizeof counts / sizeof counts[0] == RANKS_MOST, "one for each rank");
    for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; k++) {
        int root = kinds[k] == TERN_COLL_GATHER_V ? 0 : tern_comm_size(comm) - 1; // 0 decides
        for (int call = 0; call < CALLS; call++) {
            tern_coll asked = {.kind = kinds[k], .root = root};
            CHECK(tern_comm_barrier(comm) == TERN_OK);
            usleep(tern_comm_rank(comm) == 0 ? LATE_US : 0);
            CHECK(run_one(comm, &asked, counts, call) == 0);
        }
        const struct tern__calls *calls = comm->calls;
        const struct tern__learned *l =
            &calls->learned[tern_coll_kind_facts(kinds[k])->plan][true][3];
        bool seen = false;
        for (uint32_t i = 0; i < l->taken[1] && i < TERN__LEARNED_TIMES; i++) {
            seen = seen || l->times[1][i] >= LATE_US / 4 * 1000 / TERN__FORM_TIME_NS;
        }
        CHECK(!calls->direct || tern_comm_rank(comm) != 0 || (l->taken[1] > 0 && seen));
    }
    return 0;
}

static void who_decides_asks_who_waits_for_it(void **state)
{
    assert_true(ranks_run_comm(2, decide_late, NULL, 60));
    assert_true(ranks_run_comm(3, decide_late, NULL, 60));
    assert_true(ranks_run_comm(5, decide_late, NULL, 60));
}

// Sums, in place in every other call, and of so many elements that some take several runs. What is
// expected is summed here, in rank order.

enum { ELEMENTS_MOST = 150001 };

static float terms[RANKS_MOST * ELEMENTS_MOST];
static float sums[RANKS_MOST * ELEMENTS_MOST];

static float term_of(int rank, size_t i, int call)
{
    return (float)((i * 7 + (size_t)rank * 131 + (size_t)call) % 1009) * 0.1F +
           1.0F / (float)(rank + 1);
}

static float sum_of(int ranks, size_t i, int call)
{
    float sum = term_of(0, i, call);
    for (int rank = 1; rank < ranks; rank++) {
        sum += term_of(rank, i, call);
    }
    return sum;
}

static int sum_once(tern_comm *comm, tern_coll *call, size_t share, const size_t *counts,
                    int number)
{
    const tern_kind_facts *kind = tern_coll_kind_facts(call->kind);
    size_t n = (size_t)tern_comm_size(comm);
    size_t self = (size_t)tern_comm_rank(comm);
    bool takes = kind->root == TERN_KIND_ROOT_NONE || (int)self == call->root;
    bool in_place = number % 2 != 0 && call->kind == TERN_COLL_ALL_REDUCE;
    size_t given = kind->in == TERN_KIND_ALL ? n * share : share;
    size_t first = kind->in == TERN_KIND_ALL ? self * share : 0;
    for (size_t i = 0; i < given; i++) {
        terms[i] = term_of((int)self, i, number);
        sums[i] = in_place ? terms[i] : -1;
    }
    call->in = in_place ? sums : terms;
    call->out = takes ? sums : NULL;
    call->count = share;
    call->dtype = TERN_F32;
    call->op = TERN_SUM;
    call->in_counts = kind->counts ? counts : NULL;
    CHECK(tern_coll_run(comm, call) == TERN_OK);
    for (size_t i = 0; takes && i < share; i++) {
        CHECK(sums[i] == sum_of((int)n, first + i, number));
    }
    return 0;
}

static int sum_both_ways(tern_comm *comm, void *arg)
{
    static const struct {
        tern_coll_kind kind;
        size_t share;
        int size; // the class
    } cases[] = {{TERN_COLL_ALL_REDUCE, 17501, 3},     {TERN_COLL_ALL_REDUCE, ELEMENTS_MOST, 6},
                 {TERN_COLL_REDUCE, 17501, 3},         {TERN_COLL_REDUCE, ELEMENTS_MOST, 6},
                 {TERN_COLL_REDUCE_SCATTER, 17501, 3}, {TERN_COLL_REDUCE_SCATTER_V, 17501, 3}};
    int n = tern_comm_size(comm);
    size_t counts[RANKS_MOST];
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        for (int rank = 0; rank < n; rank++) {
            counts[rank] = cases[c].share;
        }
        int direct = 0;
        for (int call = 0; call < CALLS; call++) {
            tern_coll asked = {.kind = cases[c].kind, .root = n - 1};
            CHECK(sum_once(comm, &asked, cases[c].share, counts, call) == 0);
            direct += is_direct(comm);
        }
        const struct tern__calls *calls = comm->calls;
        const tern_kind_facts *kind = tern_coll_kind_facts(cases[c].kind);
        const struct tern__learned *l = &calls->learned[kind->plan][kind->counts][cases[c].size];
        CHECK(!calls->direct || (direct > 0 && direct < CALLS));
        CHECK(l->calls == 0 || (l->taken[0] > 0 && l->taken[1] > 0));
    }
    return 0;
}

static void sums_go_both_ways_and_are_right(void **state)
{
    assert_true(ranks_run_comm(2, sum_both_ways, NULL, 100));
    assert_true(ranks_run_comm(3, sum_both_ways, NULL, 100));
    assert_true(ranks_run_comm(5, sum_both_ways, NULL, 100));
}

// The first call of a class goes the way that is known of the one beside it.
static int begin_as_beside(tern_comm *comm, void *arg)
{
    enum { SIZE = 3 };
    static const struct {
        int size;
        bool counts;
    } besides[] = {{SIZE, true}, {SIZE - 1, false}, {SIZE + 2, false}};
    tern_coll asked = {.kind = TERN_COLL_ALL_TO_ALL};
    CHECK(run_one(comm, &asked, NULL, 0) == 0); // the state is there
    struct tern__calls *calls = comm->calls;
    for (int i = 0; calls->direct && i < 6; i++) {
        bool way = i % 2 != 0;
        struct tern__learned(*learned)[TERN__LEARNED_SIZES] = calls->learned[TERN_PLAN_ALL_TO_ALL];
        memset(learned, 0, sizeof calls->learned[TERN_PLAN_ALL_TO_ALL]);
        learned[besides[i / 2].counts][besides[i / 2].size] = (struct tern__learned){
            .begun = true, .next = way, .preferred = way, .calls = 1, .taken = {2, 2}};
        CHECK(tern_comm_barrier(comm) == TERN_OK);
        CHECK(run_one(comm, &asked, NULL, 0) == 0);
        CHECK(is_direct(comm) == way);
    }
    return 0;
}

static void a_class_begins_as_the_one_beside_it(void **state)
{
    assert_true(ranks_run_comm(2, begin_as_beside, NULL, 60));
    assert_true(ranks_run_comm(3, begin_as_beside, NULL, 60));
}

// A row says it: nothing is learned.
static int keep_to_the_row(tern_comm *comm, void *arg)
{
    tern_tune_row row;
    CHECK(tern_tune_get_built_in(TERN_PLAN_ALL_GATHER, tern_comm_size(comm), &row) == TERN_OK);
    CHECK(tern_tune_use(&row, 1) == TERN_OK);
    for (int call = 0; call < CALLS; call++) {
        tern_coll asked = {.kind = TERN_COLL_ALL_GATHER};
        CHECK(run_one(comm, &asked, NULL, call) == 0);
        CHECK(!is_direct(comm));
    }
    const struct tern__calls *calls = comm->calls;
    CHECK(!calls->learned[TERN_PLAN_ALL_GATHER][0][3].begun);
    return 0;
}

static void a_row_is_kept_to(void **state)
{
    assert_true(ranks_run_comm(2, keep_to_the_row, NULL, 60));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(first_the_guess_then_both_then_the_faster_one),
        cmocka_unit_test(two_rows_are_enough_when_one_way_is_clearly_faster),
        cmocka_unit_test(what_is_trusted_is_not_compared_at_first),
        cmocka_unit_test(what_becomes_slower_is_left),
        cmocka_unit_test(what_was_slower_for_a_while_is_tried_again_soon),
        cmocka_unit_test(what_becomes_faster_is_taken_when_it_is_tried),
        cmocka_unit_test(single_calls_and_little_do_not_matter),
        cmocka_unit_test(calls_behind_a_change_do_not_count),
        cmocka_unit_test(the_first_calls_of_a_row_do_not_count),
        cmocka_unit_test(the_first_calls_behind_a_row_do_not_count),
        cmocka_unit_test(calls_that_are_not_timed_teach_nothing),
        cmocka_unit_test(calls_go_both_ways_and_are_right),
        cmocka_unit_test(roots_may_take_turns),
        cmocka_unit_test(who_decides_asks_who_waits_for_it),
        cmocka_unit_test(sums_go_both_ways_and_are_right),
        cmocka_unit_test(a_class_begins_as_the_one_beside_it),
        cmocka_unit_test(a_row_is_kept_to),
    };
    setenv("TERN_TUNE", "", 1);
    unsetenv("TERN_ALGO");
    unsetenv("TERN_DIRECT");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
