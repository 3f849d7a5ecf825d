// SPDX-License-Identifier: Apache-2.0
// ctest-timeout: 240, ctest-threads: none
// Two ranks, one of which takes what the other one has in ordinary memory: that one copies, too
// (sync/help.h). Every byte is right whoever copies it, in every kind and every way to make a call;
// it is done where each rank has a processor; and either of the two may die in the middle. And more
// ranks, of which a root gathers, wherever they run.
#include "coll/call/test/calls.h"

#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include "base/process.h"
#include "coll/call/call.h"
#include "coll/call/mail.h"
#include "comm/comm.h"

enum { SHARE_MAX = (2 << 20) + 4096, LARGE = 4 << 20 };

static const tern_coll_kind kinds[] = {
    TERN_COLL_BROADCAST, TERN_COLL_GATHER,    TERN_COLL_SCATTER,
    TERN_COLL_GATHER_V,  TERN_COLL_SCATTER_V, TERN_COLL_SEND,
};

// How often this rank has helped with the last copies out of its slots; and taken help with
// messages, of two ranks. Forgets it.
static int count_helped(const tern_comm *comm)
{
    int count = 0;
    for (uint32_t run = 0; run < TERN__SLOTS; run++) {
        struct tern__help *help = tern__area_help(comm->area, comm->group.rank, run);
        count += tern__peek(&help->given) == TERN__GIVEN_ALL;
        tern__poke(&help->given, TERN__GIVEN_NOT_YET);
    }
    if (comm->group.size > 2) {
        return count;
    }
    struct tern__help *help =
        tern__area_mail_help(comm->area, comm->group.rank, 1 - comm->group.rank);
    count += tern__peek(&help->given) == TERN__GIVEN_ALL;
    tern__poke(&help->given, TERN__GIVEN_NOT_YET);
    return count;
}

static int run_matrix(tern_comm *world, void *arg)
{
    static const size_t bytes[] = {TERN__HELP_LEAST - 8, TERN__HELP_LEAST, TERN__HELP_FROM, 1300008,
                                   SHARE_MAX};
    struct kit_bench bench;
    int helped = 0;
    CHECK(kit_open(world, (size_t)SHARE_MAX * 4, 1, &bench) == 0);
    for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; k++) {
        for (size_t turn = 0; turn < 5 * KIT_MODES * 2; turn++) {
            bool odd = (turn + k) % 3 == 0;
            struct ref_case c = {.kind = kinds[k], .dtype = odd ? TERN_U8 : TERN_F32};
            c.count = bytes[turn % 5] / tern_dtype_size(c.dtype) - odd;
            c.root = (int)(turn / 3);
            c.seed = 100 * turn + k;
            struct kit_work work;
            kit_make(&bench, turn % 4 == 3 ? KIT_BACKWARDS : KIT_WORLD, &c, turn % 2 != 0,
                     odd ? KIT_BYTE : KIT_HEAP, KIT_HEAP, 0, &work);
            CHECK(kit_run(&work, (enum kit_mode)(turn / 5 % KIT_MODES)) == 0);
            helped += count_helped(bench.comms[work.comm]);
        }
    }
    CHECK(tern__job_ladder(world->group.job).alone || helped == 0);
    return kit_close(&bench);
}

static void every_kind_is_right_in_every_way(void **state)
{
    const char *const agree[] = {"early", "strict"};
    for (int i = 0; i < 2; i++) {
        setenv("TERN_AGREE", agree[i], 1);
        assert_true(ranks_run_comm(2, run_matrix, NULL, 100));
    }
    unsetenv("TERN_AGREE");
}

// One way: the sender has nothing else to do, and need not be inside a call.
static int send_one_way(tern_comm *comm, void *arg)
{
    static char in[LARGE];
    static char out[LARGE];
    int rank = tern_comm_rank(comm);
    for (int turn = 0; turn < 60; turn++) {
        size_t bytes = (size_t)LARGE >> turn % 7;
        bool sends = rank == turn % 2;
        bytes -= (size_t)turn % 3;
        for (size_t i = 0; i < bytes; i++) {
            in[i] = (char)(i * 7 + (i >> 12) + (size_t)turn);
        }
        memset(out, turn, sizeof out);
        tern_received received;
        tern_coll call = {.kind = sends ? TERN_COLL_SEND : TERN_COLL_RECV,
                          .in = in,
                          .out = out,
                          .count = sends ? bytes : LARGE,
                          .dtype = TERN_U8,
                          .root = 1 - rank,
                          .received = &received};
        if (turn % 5 == 4) {
            tern_request request;
            CHECK(tern_coll_start(comm, &call, &request) == TERN_OK);
            usleep(sends ? 500 : 0);
            CHECK(tern_request_wait(&request) == TERN_OK);
        } else {
            CHECK(tern_coll_run(comm, &call) == TERN_OK);
        }
        if (sends) { // who comes back may write
            memset(in, -1, sizeof in);
        } else {
            CHECK(received.count == bytes && memcmp(in, out, bytes) == 0);
            CHECK(bytes == LARGE || out[bytes] == (char)turn);
        }
    }
    return 0;
}

static void messages_of_every_length_arrive(void **state)
{
    assert_true(ranks_run_comm(2, send_one_way, NULL, 60));
}

// On a busy machine the owner may come late, so it has many chances. It has no share of its own to
// copy first, which takes it longer under ThreadSanitizer than the kernel takes for the other one.
static int see_help(tern_comm *comm, void *arg)
{
    static char in[2 * LARGE];
    static char out[2 * LARGE];
    int rank = tern_comm_rank(comm);
    CHECK(tern_barrier(comm) == TERN_OK); // all have said which processors they may use
    char alone = tern__job_ladder(comm->group.job).alone;
    CHECK(tern_broadcast(comm, &alone, &alone, 1, TERN_U8, 0) == TERN_OK); // before one leaves
    for (size_t k = 0; alone != 0 && k < sizeof kinds / sizeof kinds[0]; k++) {
        int taker = kinds[k] == TERN_COLL_GATHER || kinds[k] == TERN_COLL_GATHER_V ? 0 : 1;
        int watches = kinds[k] == TERN_COLL_SEND ? taker : 1 - taker;
        char seen = 0;
        for (int call = 0; call < 5000 && seen == 0; call++) {
            bool in_place =
                rank == 0 && (kinds[k] == TERN_COLL_SCATTER || kinds[k] == TERN_COLL_BROADCAST);
            size_t own = kinds[k] == TERN_COLL_SCATTER_V && rank == 0 ? 0 : LARGE;
            const size_t counts[] = {kinds[k] == TERN_COLL_SCATTER_V ? 0 : LARGE, LARGE};
            tern_coll c = {.kind =
                               kinds[k] == TERN_COLL_SEND && rank == 1 ? TERN_COLL_RECV : kinds[k],
                           .in = in,
                           .out = in_place ? in : out,
                           .count = own,
                           .dtype = TERN_U8,
                           .in_counts = counts,
                           .out_counts = counts};
            c.root = kinds[k] == TERN_COLL_SEND ? 1 - rank : 0;
            usleep(k % 2 == 0 && rank == taker ? 3000 : 0); // the owner sleeps by then
            CHECK(tern_coll_run(comm, &c) == TERN_OK);
            seen = count_helped(comm) > 0;
            CHECK(tern_broadcast(comm, &seen, &seen, 1, TERN_U8, watches) == TERN_OK);
        }
        CHECK(seen != 0);
    }
    return 0;
}

static void who_gives_in_any_kind_helps(void **state)
{
    assert_true(ranks_run_comm(2, see_help, NULL, 100));
}

// A root that gathers from more than one; in communicators of 2, 3 and 5 ranks and more.
static int run_gathers(tern_comm *world, void *arg)
{
    static const size_t bytes[] = {(128 << 10) - 8, 128 << 10, 300008, 1300008};
    static const int ins[] = {KIT_HEAP, KIT_BYTE, KIT_ODD}; // no help out of windows
    static const int outs[] = {KIT_HEAP, KIT_WINDOW, KIT_ALLOC, KIT_ODD, KIT_BYTE};
    struct kit_bench bench;
    CHECK(kit_open(world, (size_t)1300008 * 8, 1, &bench) == 0);
    for (size_t turn = 0; turn < kit_number("TERN_TEST_TURNS", 4 * KIT_MODES * 4); turn++) {
        bool odd = turn % 3 == 0;
        struct ref_case c = {.kind = turn % 2 == 0 ? TERN_COLL_GATHER : TERN_COLL_GATHER_V,
                             .dtype = odd ? TERN_U8 : TERN_F32};
        c.count = bytes[turn % 4] / tern_dtype_size(c.dtype) - odd;
        c.root = (int)(turn / 3);
        c.seed = turn;
        struct kit_work work;
        kit_make(&bench, (enum kit_comm)(turn / 2 % KIT_COMMS), &c, turn / 4 % 2 != 0,
                 ins[turn % 3], outs[turn % 5], 0, &work);
        CHECK(kit_run(&work, (enum kit_mode)(turn / 4 % KIT_MODES)) == 0);
    }
    return kit_close(&bench);
}

static void a_root_gathers_from_many(void **state)
{
    static const int ranks[] = {3, 5, 8};
    for (int i = 0; i < 3; i++) {
        assert_true(ranks_run_comm(ranks[i], run_gathers, NULL, 100));
    }
}

static int see_many_help(tern_comm *comm, void *arg)
{
    static char in[LARGE];
    static char out[3 * LARGE];
    int32_t counts[3] = {0};
    int rank = tern_comm_rank(comm);
    for (int call = 0; call < 5000 && (counts[1] == 0 || counts[2] == 0); call++) {
        usleep(rank == 0 ? 3000 : 0);
        CHECK(tern_gather(comm, in, out, LARGE, TERN_U8, 0) == TERN_OK);
        int32_t own = counts[rank] + count_helped(comm);
        CHECK(tern_all_gather(comm, &own, counts, 1, TERN_I32) == TERN_OK);
    }
    CHECK(counts[0] == 0 && counts[1] > 0 && counts[2] > 0);
    return 0;
}

static void all_who_give_help(void **state)
{
    assert_true(ranks_run_comm(3, see_many_help, NULL, 100));
}

static int with_busy_threads(tern_comm *comm, void *arg)
{
    tern__job_add_threads(comm->group.job, 1000);
    CHECK(tern_barrier(comm) == TERN_OK);
    return run_matrix(comm, arg);
}

static void two_that_share_processors_do_not_help(void **state)
{
    assert_true(ranks_run_comm(2, with_busy_threads, NULL, 100));
}

static void die(int signal_number)
{
    raise(SIGKILL);
}

enum { BROADCAST, GATHER, SCATTER, MESSAGE, GATHER_OF_3, WAYS };

struct death {
    int what, moment_us;
    bool gives; // who dies
};

// Rank 1 is killed by its own timer.
static int move_until_it_dies(int rank, const struct ranks *ranks, void *arg)
{
    const struct death *death = arg;
    static char in[2 * LARGE];
    static char out[3 * LARGE];
    tern_comm *comm;
    int status = TERN_OK;
    int giver = death->gives ? 1 : 0;
    bool gathers = death->what == GATHER || death->what == GATHER_OF_3;
    memset(in, 3 + rank, sizeof in);
    CHECK(ranks_join(rank, ranks, RANKS_SOON_NS, &comm) == TERN_OK);
    CHECK(tern_barrier(comm) == TERN_OK);
    if (rank == 1) {
        signal(SIGALRM, die);
        ualarm((useconds_t)death->moment_us, 0);
    }
    for (int call = 0; status == TERN_OK; call++) {
        memset(out, 0, 64);
        status = death->what == BROADCAST ? tern_broadcast(comm, in, out, LARGE, TERN_U8, giver)
                 : gathers                ? tern_gather(comm, in, out, LARGE, TERN_U8, 1 - giver)
                 : death->what == SCATTER ? tern_scatter(comm, in, out, LARGE, TERN_U8, giver)
                 : rank == giver          ? tern_send(comm, in, LARGE, TERN_U8, 1 - rank)
                                          : tern_recv(comm, out, LARGE, TERN_U8, giver);
        size_t at = gathers ? (size_t)giver * LARGE : 0;
        if (status == TERN_OK && rank == 1 - giver) {
            CHECK(out[at] == 3 + giver && out[at + LARGE - 1] == 3 + giver);
        }
    }
    CHECK(status == TERN_ERR_PEER && kit_mentions("rank 1"));
    return 0;
}

static void either_may_die_in_the_middle(void **state)
{
    for (int i = 0; i < (int)kit_number("TERN_TEST_CASES", 40); i++) {
        struct ranks ranks;
        struct death death = {i % WAYS, 1000 + i * 1771 % 20000, i / WAYS % 2 == 0};
        ranks_begin(&ranks, death.what == GATHER_OF_3 ? 3 : 2, move_until_it_dies, &death);
        bool ended = ranks_wait(&ranks, 60);
        bool clean = ranks_end(&ranks);
        assert_int_equal(ranks.statuses[0], 0);
        assert_int_equal(ranks.statuses[1], SIGKILL);
        assert_true(death.what != GATHER_OF_3 || ranks.statuses[2] == 0);
        assert_true(ended && clean);
    }
}

// All but rank 1 are stopped for a while when they would copy: rank 1, whose calls have a limit, is
// held up for a bounded time, and is told what it waited for. Of three it gathers.
static void stop(int signal_number)
{
    raise(SIGSTOP);
}

struct stops {
    int moment_us;
    _Atomic pid_t pids[3]; // a rank does not know those that are forked after it
    atomic_bool over[3];   // it has failed, and will not stop any more
};

// Lets a rank go on that stops. A signal to one that ends would take back the SIGSTOP by which
// LeakSanitizer holds it.
static void let_go_on(struct stops *stops, int rank)
{
    while (!stops->over[rank]) {
        if (tern__process_state(stops->pids[rank]) == 'T') {
            kill(stops->pids[rank], SIGCONT);
            return;
        }
        poll(NULL, 0, 1);
    }
}

static int move_until_it_stops(int rank, const struct ranks *ranks, void *arg)
{
    static char in[LARGE];
    static char out[3 * LARGE];
    bool gathers = ranks->count == 3;
    struct stops *stops = arg;
    tern_comm *comm;
    int status = TERN_OK;
    stops->pids[rank] = getpid();
    CHECK(ranks_join(rank, ranks, RANKS_SOON_NS, &comm) == TERN_OK);
    CHECK(tern_barrier(comm) == TERN_OK);
    if (rank != 1) {
        signal(SIGALRM, stop);
        ualarm((useconds_t)stops->moment_us, 0);
    }
    int64_t begin_ns = tern__now_ns();
    while (status == TERN_OK) {
        tern_coll call = {.kind = gathers ? TERN_COLL_GATHER : TERN_COLL_BROADCAST,
                          .in = in,
                          .out = gathers ? out : in,
                          .count = LARGE,
                          .dtype = TERN_U8,
                          .root = gathers ? 1 : 0,
                          .timeout_ns = 300000000};
        status = tern_coll_run(comm, &call);
    }
    if (rank == 1) {
        for (int other = 0; other < ranks->count; other++) {
            if (other != rank) {
                let_go_on(stops, other);
            }
        }
        CHECK(status == TERN_ERR_TIMEOUT && kit_mentions(gathers ? "gather" : "broadcast"));
        CHECK(tern__now_ns() - begin_ns < INT64_C(10000000000));
    }
    ualarm(0, 0);
    stops->over[rank] = true;
    return 0;
}

static void a_stopped_owner_holds_nobody_up_for_ever(void **state)
{
    struct stops *stops = ranks_shared(sizeof *stops);
    for (int i = 0; i < 8; i++) {
        memset(stops, 0, sizeof *stops);
        stops->moment_us = 1000 + i * 1771 % 20000;
        assert_true(ranks_run(2 + i % 2, move_until_it_stops, stops, 60));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_kind_is_right_in_every_way),
        cmocka_unit_test(messages_of_every_length_arrive),
        cmocka_unit_test(who_gives_in_any_kind_helps),
        cmocka_unit_test(a_root_gathers_from_many),
        cmocka_unit_test(all_who_give_help),
        cmocka_unit_test(two_that_share_processors_do_not_help),
        cmocka_unit_test(either_may_die_in_the_middle),
        cmocka_unit_test(a_stopped_owner_holds_nobody_up_for_ever),
    };
    setenv("TERN_DIRECT", "4096", 1); // wherever it is faster or not
    unsetenv("TERN_ALGO");
    setenv("TERN_TUNE", "", 1);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
