// SPDX-License-Identifier: Apache-2.0
// ctest-timeout: 120, ctest-machines: 2, ctest-threads: none
// Calls with a root that a rank ends before the others have entered them: who may leave, how far it
// may run ahead, what others find in its slots, and what becomes of disagreements, of a rank that
// leaves the communicator at once, and of TERN_AGREE=strict.
#include "support/cmocka.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "coll/call/call.h"
#include "coll/call/test/ended.h"
#include "comm/comm.h"
#include "support/look.h"
#include "support/random.h"
#include "support/ranks.h"
#include "tern/coll.h"

enum { MOST = 3000 };

static int32_t value_of(int call, int rank, int i)
{
    return (int32_t)((uint32_t)call * 1000003 + (uint32_t)(rank * 1009 + i));
}

// Makes a call of so many elements (a rank's share, where there are shares); the buffers have room
// for all ranks' shares. Returns its status; *wrong: of a call that has ended.
static int make(tern_comm *comm, tern_coll_kind kind, int number, int root, int count, bool *wrong)
{
    static int32_t in[64 * MOST];
    static int32_t out[64 * MOST];
    int rank = tern_comm_rank(comm);
    int n = tern_comm_size(comm);
    size_t counts[TERN_RANKS_MAX];
    for (int i = 0; i < n; i++) {
        counts[i] = (size_t)count;
    }
    for (int i = 0; i < n * count; i++) {
        in[i] = value_of(number, rank, i);
        out[i] = -1;
    }
    tern_coll call = {.kind = kind, .in = in, .out = out, .count = (size_t)count, .root = root};
    call.dtype = TERN_I32;
    call.op = TERN_MAX;
    call.in_counts = kind == TERN_COLL_SCATTER_V ? counts : NULL;
    call.out_counts = kind == TERN_COLL_GATHER_V ? counts : NULL;
    int status = tern_coll_run(comm, &call);
    bool all = kind == TERN_COLL_GATHER || kind == TERN_COLL_GATHER_V;
    bool scatters = kind == TERN_COLL_SCATTER || kind == TERN_COLL_SCATTER_V;
    bool to_root = all || kind == TERN_COLL_REDUCE;
    int filled = status != TERN_OK || (to_root && rank != root) ? 0 : all ? n * count : count;
    *wrong = false;
    for (int i = 0; i < n * count; i++) {
        int32_t wanted = i >= filled                   ? -1
                         : all                         ? value_of(number, i / count, i % count)
                         : scatters                    ? value_of(number, root, rank * count + i)
                         : kind == TERN_COLL_BROADCAST ? value_of(number, root, i)
                                                       : value_of(number, n - 1, i);
        *wrong = *wrong || out[i] != wanted;
    }
    return status;
}

static const struct {
    tern_coll_kind kind;
    bool root_leaves;
} leavers[] = {
    {TERN_COLL_BROADCAST, true}, {TERN_COLL_SCATTER, true}, {TERN_COLL_SCATTER_V, true},
    {TERN_COLL_GATHER, false},   {TERN_COLL_REDUCE, false}, {TERN_COLL_GATHER_V, false},
};

// On several machines givers of gather_v wait for the root.
static int kinds_of_leavers(void)
{
    return (int)(sizeof leavers / sizeof leavers[0]) - (getenv("TERN_TEST_MACHINES") != NULL);
}

// Who need not wait ends the call before those enter it that have to.
static int leave_first(tern_comm *world, void *arg)
{
    static const int counts[] = {1, 12, 500};
    int rank = tern_comm_rank(world);
    int n = tern_comm_size(world);
    int done = 0;
    bool wrong;
    int kinds = kinds_of_leavers();
    for (int i = 0; i < 3 * kinds * 2; i++) { // the second time on the short path
        int kind = i % kinds;
        int root = (i + i / kinds) % n;
        bool leaves = (rank == root) == leavers[kind].root_leaves;
        if (!leaves) {
            await_ended(done + (leavers[kind].root_leaves ? 1 : n - 1));
        }
        CHECK(make(world, leavers[kind].kind, i, root, counts[i / kinds % 3], &wrong) == TERN_OK);
        CHECK(!wrong);
        board->ended++;
        done += n;
        await_ended(done);
    }
    return 0;
}

// A rank that gives more to gather_v, or to a root that might not read what lies in no slot, ends
// the call when the root has entered it, not all others; of two ranks, before that.
static int gather_before_the_last(tern_comm *world, void *arg)
{
    const int *counts = arg;
    int rank = tern_comm_rank(world);
    int n = tern_comm_size(world);
    bool wrong;
    for (int i = 0; i < 12; i++) {
        int root = i % n;
        int last = n == 2 ? root : (root + 1) % n;
        if (rank == last) {
            await_ended(i * n + (n == 2 ? 1 : n - 2));
        }
        CHECK(make(world, TERN_COLL_GATHER_V, i, root, counts[i / 2 % 3], &wrong) == TERN_OK);
        CHECK(!wrong);
        board->ended++;
        await_ended(i * n + n);
    }
    return 0;
}

static void who_gathers_with_counts_waits_for_the_root_alone(void **state)
{
    int small[] = {1, 12, 500};
    int larger[] = {MOST - 500, MOST - 7, MOST};
    for (int n = 2; n <= 5; n++) {
        memset(board, 0, sizeof *board);
        setenv("TERN_DIRECT", n % 2 == 0 ? "off" : "on", 1);
        bool right = ranks_run_comm(n, gather_before_the_last, n % 2 == 0 ? small : larger, 60);
        unsetenv("TERN_DIRECT");
        assert_true(right);
    }
}

static void who_need_not_wait_does_not(void **state)
{
    for (int n = 2; n <= 5; n += n == 2 ? 1 : 2) {
        memset(board, 0, sizeof *board);
        assert_true(ranks_run_comm(n, leave_first, NULL, 60));
    }
}

// Elements (of a share) of calls in turn, and how many of these the others end without the last
// rank.
static const struct ahead {
    tern_coll_kind kind;
    int ranks;
    int counts[2];
    int most;
} aheads[] = {
    {TERN_COLL_BROADCAST, 2, {10, 10}, TERN__SMALL_AHEAD},
    {TERN_COLL_BROADCAST, 3, {10, 1}, TERN__SMALL_AHEAD},
    {TERN_COLL_BROADCAST, 4, {200, 256}, TERN__SMALL_AHEAD},
    {TERN_COLL_BROADCAST, 2, {257, 1500}, TERN__AHEAD},
    {TERN_COLL_BROADCAST, 3, {10, 1500}, TERN__AHEAD + 1},
    {TERN_COLL_BROADCAST, 4, {1500, 200}, TERN__AHEAD},
    {TERN_COLL_SCATTER, 3, {4, 85}, TERN__SMALL_AHEAD},
    {TERN_COLL_SCATTER, 3, {86, 4}, TERN__AHEAD},
    {TERN_COLL_SCATTER_V, 2, {4, 128}, TERN__SMALL_AHEAD},
    {TERN_COLL_SCATTER_V, 2, {129, 4}, TERN__AHEAD},
    {TERN_COLL_SCATTER_V, 3, {4, 85}, TERN__SMALL_AHEAD},
    {TERN_COLL_SCATTER_V, 5, {51, 1}, TERN__SMALL_AHEAD},
    {TERN_COLL_SCATTER_V, 3, {86, 4}, TERN__AHEAD},
    {TERN_COLL_SCATTER_V, 4, {30, 300}, TERN__AHEAD + 1},
};

// The root gives as fast as it can, the last rank does not come for a while.
static int run_ahead(tern_comm *world, void *arg)
{
    enum { CALLS = 3 * TERN__LINES };
    const struct ahead *ahead = arg;
    int rank = tern_comm_rank(world);
    int n = tern_comm_size(world);
    bool wrong;
    if (rank == n - 1) {
        await_ended(ahead->most * (n - 1)); // the others get so far without it
        usleep(100000);
        CHECK(board->ended == ahead->most * (n - 1)); // and no further
    }
    for (int i = 0; i < CALLS; i++) {
        CHECK(make(world, ahead->kind, i, 0, ahead->counts[i % 2], &wrong) == TERN_OK);
        CHECK(!wrong);
        board->ended++;
    }
    return 0;
}

static void nobody_runs_further_ahead_than_slots_allow(void **state)
{
    for (size_t i = 0; i < sizeof aheads / sizeof aheads[0]; i++) {
        struct ahead ahead = aheads[i];
        memset(board, 0, sizeof *board);
        assert_true(ranks_run_comm(ahead.ranks, run_ahead, &ahead, 60));
    }
}

// Of calls that are under way, small ones too, a rank publishes only four runs that it has not
// ended: who has seen it publish a run knows by that what it has ended (area.h).
static int start_ahead(tern_comm *world, void *arg)
{
    enum { CALLS = TERN__LINES };
    static int32_t in[CALLS], out[CALLS];
    tern_request requests[CALLS] = {0};
    int rank = tern_comm_rank(world);
    await_ended(rank == 0 ? tern_comm_size(world) - 1 : 0);
    for (int i = 0; i < CALLS; i++) {
        in[i] = i + 1;
        tern_coll call = {.kind = TERN_COLL_BROADCAST, .in = &in[i], .out = &out[i], .count = 1};
        call.dtype = TERN_I32;
        CHECK(tern_coll_start(world, &call, &requests[i]) == TERN_OK);
    }
    const struct tern__calls *calls = world->calls;
    bool few = calls->published == TERN__AHEAD && calls->ended == 0;
    board->ended++; // whatever was found, so that the root comes
    CHECK(rank == 0 || few);
    CHECK(tern_request_wait_all(requests, CALLS) == TERN_OK);
    for (int i = 0; i < CALLS; i++) {
        CHECK(out[i] == i + 1);
    }
    return 0;
}

static void few_runs_are_published_that_have_not_ended(void **state)
{
    memset(board, 0, sizeof *board);
    assert_true(ranks_run_comm(3, start_ahead, NULL, 60));
}

// A root that gives shares with gaps between them, out of more than a small payload has, leaves
// alone what others have yet to read: a long broadcast, in each slot and at all lines in turn.
static int leave_gaps(tern_comm *world, void *arg)
{
    enum { RANKS = 3, COUNT = 10, GAP = 450, LONG = 6000, CALLS = TERN__SMALL_AHEAD - 1 };
    static int32_t in[RANKS * GAP];
    static unsigned char long_in[LONG], long_out[LONG];
    const size_t counts[RANKS] = {COUNT, COUNT, COUNT};
    const size_t offsets[RANKS] = {0, GAP, 2 * GAP};
    int rank = tern_comm_rank(world);
    for (int i = 0; i < RANKS * GAP; i++) {
        in[i] = i;
    }
    for (int round = 1; round <= TERN__LINES; round++) {
        CHECK(tern_barrier(world) == TERN_OK);
        memset(long_in, round, LONG);
        if (rank == RANKS - 1) { // the root is as far as it gets
            await_ended(round * CALLS);
        }
        CHECK(tern_broadcast(world, long_in, long_out, LONG, TERN_U8, 0) == TERN_OK);
        CHECK(memcmp(long_out, long_in, LONG) == 0);
        for (int call = 0; call < CALLS; call++) {
            int32_t out[COUNT];
            CHECK(tern_scatter_v(world, in, counts, offsets, out, COUNT, TERN_I32, 0) == TERN_OK);
            CHECK(memcmp(out, &in[rank * GAP], sizeof out) == 0);
            board->ended += rank == 0;
        }
    }
    return 0;
}

static void gaps_between_shares_are_not_written(void **state)
{
    memset(board, 0, sizeof *board);
    assert_true(ranks_run_comm(3, leave_gaps, NULL, 60));
}

// Roots that change, kinds with a root and without one, ranks that are late now and then.
static int mix(tern_comm *world, void *arg)
{
    static const tern_coll_kind kinds[] = {TERN_COLL_BROADCAST,  TERN_COLL_SCATTER,
                                           TERN_COLL_GATHER,     TERN_COLL_REDUCE,
                                           TERN_COLL_ALL_REDUCE, TERN_COLL_SCATTER_V,
                                           TERN_COLL_GATHER_V,   TERN_COLL_BROADCAST};
    static const uint64_t mosts[] = {20, 20, 20, 20, 20, 300, 300, 1500}; // lines, small, slots
    uint64_t state = *(const uint64_t *)arg;
    uint64_t own = state + (uint64_t)tern_comm_rank(world) + 1;
    int n = tern_comm_size(world);
    int calls = 3000;
    bool wrong;
    tern_comm *part;
    CHECK(tern_comm_split(world, 0, -tern_comm_rank(world), &part) == TERN_OK);
    for (int i = 0; i < calls; i++) {
        tern_coll_kind kind = kinds[random_below(&state, 8)];
        int root = (int)random_below(&state, (uint64_t)n);
        int count = (int)random_below(&state, mosts[random_below(&state, 8)]);
        tern_comm *comm = random_below(&state, 4) == 0 ? part : world;
        if (random_below(&own, 50) == 0) {
            usleep((unsigned)(random_below(&own, 300)));
        }
        CHECK(make(comm, kind, i, root, count, &wrong) == TERN_OK);
        CHECK(!wrong);
    }
    return tern_comm_destroy(part);
}

static void roots_and_kinds_that_change_are_right(void **state)
{
    uint64_t seed = random_seed();
    for (int n = 2; n <= 5; n++) {
        assert_true(ranks_run_comm(n, mix, &seed, 60));
    }
}

// One rank broadcasts to the other, which gathers to it: none waits, both have ended the call.
// Rank 1, the root, finds that ranks 0 and 2 differ: it agrees with rank 0, which speaks for both,
// as it would if rank 0 or 2 had found it.
static int differ_from_rank_2(tern_comm *world, void *arg)
{
    int rank = tern_comm_rank(world);
    bool wrong;
    int status = make(world, TERN_COLL_GATHER, 0, 1, rank == 2 ? 5 : 4, &wrong);
    while (rank != 1 && status == TERN_OK && tern_comm_health(world) == TERN_OK) {
        poll(NULL, 0, 1);
    }
    CHECK(rank != 1 || (status == TERN_ERR_MISMATCH && !wrong));
    CHECK(make(world, TERN_COLL_BARRIER, 1, 0, 0, &wrong) == TERN_ERR_MISMATCH);
    CHECK(look_says(
        "the ranks disagree on call 1: rank 0 makes gather of 16 bytes a share (i32, root 1, "
        "pull), rank 2 gather of 20 bytes a share (i32, root 1, pull)"));
    return 0;
}

static void who_finds_a_disagreement_names_the_same_two_ranks(void **state)
{
    assert_true(ranks_run_comm(3, differ_from_rank_2, NULL, 60));
}

static int pass_each_other(tern_comm *world, int calls)
{
    int rank = tern_comm_rank(world);
    bool wrong;
    for (int i = 0; i < calls; i++) {
        tern_coll_kind kind = rank == 0 ? TERN_COLL_BROADCAST : TERN_COLL_GATHER;
        CHECK(make(world, kind, i, 0, 3, &wrong) == TERN_OK && !wrong);
    }
    return 0;
}

static int learn_later(tern_comm *world, void *arg)
{
    int calls = *(const int *)arg;
    int rank = tern_comm_rank(world);
    bool wrong;
    CHECK(pass_each_other(world, calls) == 0);
    board->ended++;
    await_ended(2);
    tern_coll_kind kind = calls < TERN__SMALL_AHEAD ? TERN_COLL_ALL_REDUCE : TERN_COLL_BROADCAST;
    CHECK(make(world, kind, calls, rank, 3, &wrong) == TERN_ERR_MISMATCH);
    CHECK(!wrong);
    CHECK(
        look_says("the ranks disagree on call 1: rank 0 makes broadcast of 12 bytes (i32, root 0, "
                  "direct), rank 1 gather of 12 bytes a share (i32, root 0, pull)"));
    return 0;
}

static void a_disagreement_that_nobody_met_is_found_in_the_next_call_that_waits(void **state)
{
    for (int calls = 1; calls <= TERN__SMALL_AHEAD; calls += calls == 4 ? 27 : 1) {
        memset(board, 0, sizeof *board);
        assert_true(ranks_run_comm(2, learn_later, &calls, 60));
    }
}

// The ranks that need not wait leave the communicator at once; the others still find their bytes.
static int leave_at_once(int rank, const struct ranks *ranks, void *arg)
{
    int kind = *(const int *)arg;
    int root = ranks->count - 1;
    bool leaves = (rank == root) == leavers[kind].root_leaves;
    tern_comm *world;
    bool wrong;
    CHECK(ranks_join(rank, ranks, 20 * INT64_C(1000000000), &world) == TERN_OK);
    if (!leaves) {
        await_ended(leavers[kind].root_leaves ? 1 : ranks->count - 1);
    }
    CHECK(make(world, leavers[kind].kind, 1, root, 400, &wrong) == TERN_OK);
    CHECK(!wrong);
    CHECK(tern_comm_destroy(world) == TERN_OK);
    board->ended++;
    return 0;
}

static void who_leaves_the_communicator_at_once_leaves_its_bytes(void **state)
{
    if (getenv("TERN_TEST_MACHINES") != NULL) { // then the first communicator's end waits for all
        skip();
    }
    for (int kind = 0; kind < kinds_of_leavers(); kind++) {
        memset(board, 0, sizeof *board);
        assert_true(ranks_run(3, leave_at_once, &kind, 60));
    }
}

// A disagreement that who leaves can see when it leaves is an error on who stays.
static int leave_with_a_look_back(int rank, const struct ranks *ranks, void *arg)
{
    tern_comm *world;
    CHECK(ranks_join(rank, ranks, 20 * INT64_C(1000000000), &world) == TERN_OK);
    await_ended(rank == 0 ? 1 : 0);
    CHECK(pass_each_other(world, 1) == 0);
    board->ended++;
    char byte = 0; // behind what rank 1 has published, which may be on its way from its machine
    CHECK((rank == 1 ? tern_send(world, &byte, 1, TERN_U8, 0)
                     : tern_recv(world, &byte, 1, TERN_U8, 1)) == TERN_OK);
    if (rank == 1) {
        await_ended(3);
        CHECK(tern_barrier(world) == TERN_ERR_MISMATCH);
        CHECK(look_says("the ranks disagree on call 1: rank 0 makes broadcast of 12 bytes"));
    }
    CHECK(tern_comm_destroy(world) == TERN_OK);
    board->ended++;
    return 0;
}

static void who_leaves_looks_back(void **state)
{
    memset(board, 0, sizeof *board);
    assert_true(ranks_run(2, leave_with_a_look_back, NULL, 60));
}

// TERN_AGREE=strict: a rank that nobody waits for waits for all.
static int wait_in_vain(int rank, const struct ranks *ranks, void *arg)
{
    int kind = *(const int *)arg;
    bool wrong;
    tern_comm *world;
    CHECK(ranks_join(rank, ranks, TERN_NS_PER_SECOND, &world) == TERN_OK);
    if ((rank == 0) == leavers[kind].root_leaves) {
        CHECK(make(world, leavers[kind].kind, 1, 0, 3, &wrong) == TERN_ERR_TIMEOUT);
    }
    board->ended++;
    await_ended(ranks->count);
    return tern_comm_destroy(world);
}

static void strict_ranks_wait_for_all(void **state)
{
    setenv("TERN_AGREE", "strict", 1);
    for (int kind = 0; kind < kinds_of_leavers(); kind++) {
        memset(board, 0, sizeof *board);
        int n = leavers[kind].kind == TERN_COLL_GATHER_V ? 3 : 2;
        assert_true(ranks_run(n, wait_in_vain, &kind, 60));
    }
    unsetenv("TERN_AGREE");
}

static int differ_in_words(int rank, const struct ranks *ranks, void *arg)
{
    tern_comm *world;
    CHECK(ranks_join(rank, ranks, 20 * INT64_C(1000000000), &world) == TERN_OK);
    setenv("TERN_AGREE", rank == 0 ? "strict" : "early", 1);
    CHECK(tern_barrier(world) == TERN_ERR_MISMATCH);
    CHECK(look_says("TERN_AGREE"));
    board->ended++;
    await_ended(ranks->count);
    return tern_comm_destroy(world);
}

static void ranks_need_the_same_word(void **state)
{
    memset(board, 0, sizeof *board);
    assert_true(ranks_run(3, differ_in_words, NULL, 60));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_need_not_wait_does_not),
        cmocka_unit_test(who_gathers_with_counts_waits_for_the_root_alone),
        cmocka_unit_test(nobody_runs_further_ahead_than_slots_allow),
        cmocka_unit_test(few_runs_are_published_that_have_not_ended),
        cmocka_unit_test(gaps_between_shares_are_not_written),
        cmocka_unit_test(roots_and_kinds_that_change_are_right),
        cmocka_unit_test(a_disagreement_that_nobody_met_is_found_in_the_next_call_that_waits),
        cmocka_unit_test(who_finds_a_disagreement_names_the_same_two_ranks),
        cmocka_unit_test(who_leaves_the_communicator_at_once_leaves_its_bytes),
        cmocka_unit_test(who_leaves_looks_back),
        cmocka_unit_test(strict_ranks_wait_for_all),
        cmocka_unit_test(ranks_need_the_same_word),
    };
    unsetenv("TERN_AGREE");
    board = ranks_shared(sizeof *board);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
