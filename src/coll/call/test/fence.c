// SPDX-License-Identifier: Apache-2.0
// Between machines, which the ranks take this one for: what was put before a barrier is there after
// it, in whichever way the barrier is called, also where the way to the rank that was put to is not
// the one to its machine's leader. And what was not put costs the barrier nothing.
#include "coll/call/test/kit.h"
#include "comm/comm.h"
#include "net/state.h"
#include "support/machines.h"
#include "tern/put.h"
#include "tern/signal.h"
#include "tern/window.h"

static int meet(tern_comm *world, int way, tern_request *kept)
{
    static const tern_coll barrier = {.kind = TERN_COLL_BARRIER, .dtype = TERN_U8};
    tern_request request;
    switch (way) {
    case 0:
        return tern_comm_barrier(world);
    case 1:
        return tern_barrier(world);
    case 2:
        return tern_coll_run(world, &barrier);
    case 3:
        CHECK(tern_coll_start(world, &barrier, &request) == TERN_OK);
        return tern_request_wait(&request);
    default:
        CHECK(tern_request_start(*kept) == TERN_OK);
        return tern_request_wait(kept);
    }
}

// Each puts its part for each of the others, larger than what a socket holds.
static int put_and_meet(tern_comm *world, void *arg)
{
    enum { ROUNDS = 25, BYTES = 300000 };
    static char bytes[BYTES];
    static const tern_coll barrier = {.kind = TERN_COLL_BARRIER, .dtype = TERN_U8};
    int n = tern_comm_size(world);
    int rank = tern_comm_rank(world);
    tern_window *window;
    tern_request kept;
    CHECK(tern_window_create(world, (size_t)n * BYTES, NULL, &window) == TERN_OK);
    CHECK(tern_coll_prepare(world, &barrier, &kept) == TERN_OK);
    const char *own = tern_window_address(window, rank);
    for (int round = 1; round <= ROUNDS; round++) {
        memset(bytes, round, BYTES);
        for (int to = 0; to < n; to++) {
            CHECK(tern_put(window, to, (uint64_t)rank * BYTES, bytes, BYTES) == TERN_OK);
        }
        CHECK(meet(world, round % 5, &kept) == TERN_OK);
        for (int from = 0; from < n; from++) {
            CHECK(own[(size_t)from * BYTES] == round &&
                  own[(size_t)(from + 1) * BYTES - 1] == round);
        }
        CHECK(meet(world, round / 5 % 5, &kept) == TERN_OK);
    }
    CHECK(tern_request_free(&kept) == TERN_OK);
    CHECK(tern_window_destroy(window) == TERN_OK);
    return 0;
}

// The ranks of one machine but the last put to a rank of another; they meet among themselves, and
// the last one tells it.
static int put_meet_and_tell(tern_comm *world, void *arg)
{
    enum { ROUNDS = 25, BYTES = 300000, AT = 64 };
    static char bytes[BYTES];
    static const tern_coll barrier = {.kind = TERN_COLL_BARRIER, .dtype = TERN_U8};
    int rank = tern_comm_rank(world);
    int far = tern_comm_size(world) - 1;
    int teller = far - 1;
    tern_window *window;
    tern_comm *part;
    tern_request kept;
    CHECK(tern_window_create(world, AT + (size_t)teller * BYTES, NULL, &window) == TERN_OK);
    CHECK(tern_comm_split(world, rank == far, rank, &part) == TERN_OK);
    CHECK(tern_coll_prepare(part, &barrier, &kept) == TERN_OK);
    for (int round = 1; round <= ROUNDS; round++) {
        memset(bytes, round, BYTES);
        CHECK(rank >= teller ||
              tern_put(window, far, AT + (uint64_t)rank * BYTES, bytes, BYTES) == TERN_OK);
        CHECK(meet(part, round % 5, &kept) == TERN_OK);
        // Whether it has come by luck or not: the answers are here.
        CHECK(atomic_load(&world->group.job->net->unfenced) == 0);
        CHECK(rank != teller ||
              tern_signal_notify(window, far, 0, round, TERN_NOTIFY_SET) == TERN_OK);
        if (rank == far) {
            const char *own = (const char *)tern_window_address(window, rank) + AT;
            CHECK(tern_signal_wait(window, 0, TERN_CMP_GE, round, TERN_TIMEOUT_DEFAULT) == TERN_OK);
            for (int from = 1; from <= teller; from++) {
                CHECK(own[(size_t)from * BYTES - 1] == round);
            }
        }
        CHECK(tern_barrier(world) == TERN_OK);
    }
    CHECK(tern_request_free(&kept) == TERN_OK);
    CHECK(tern_comm_destroy(part) == TERN_OK);
    CHECK(tern_window_destroy(window) == TERN_OK);
    return 0;
}

static uint64_t flushes_asked(const tern_comm *world)
{
    uint64_t asked = 0;
    for (int rank = 0; rank < tern_comm_size(world); rank++) {
        asked += world->group.job->net->peers[rank].flushes;
    }
    return asked;
}

// What calls have said is waited for by those who read it: a barrier behind them asks nobody
// whether it has come. Who leaves does.
static int call_and_meet(tern_comm *world, void *arg)
{
    static const tern_coll barrier = {.kind = TERN_COLL_BARRIER, .dtype = TERN_U8};
    int n = tern_comm_size(world);
    int32_t sum;
    tern_comm *part;
    tern_request kept;
    CHECK(tern_comm_split(world, 0, tern_comm_rank(world), &part) == TERN_OK);
    CHECK(tern_coll_prepare(part, &barrier, &kept) == TERN_OK);
    uint64_t asked = flushes_asked(world);
    for (int round = 0; round < 20; round++) {
        CHECK(tern_all_reduce(part, &round, &sum, 1, TERN_I32, TERN_SUM) == TERN_OK);
        CHECK(sum == n * round);
        CHECK(meet(part, round % 5, &kept) == TERN_OK);
    }
    CHECK(flushes_asked(world) == asked);
    CHECK(atomic_load(&world->group.job->net->unconfirmed) != 0);
    CHECK(tern_request_free(&kept) == TERN_OK);
    CHECK(tern_comm_destroy(part) == TERN_OK);
    CHECK(atomic_load(&world->group.job->net->unconfirmed) == 0);
    return 0;
}

static void a_barrier_costs_no_round_trip_for_what_calls_have_said(void **state)
{
    assert_true(machines_run_comm("ab", call_and_meet, NULL, 60));
    assert_true(machines_run_comm("aabb", call_and_meet, NULL, 60));
}

static void ranks_of_one_machine_may_tell_another_what_they_have_put(void **state)
{
    assert_true(machines_run_comm("aab", put_meet_and_tell, NULL, 60));
    assert_true(machines_run_comm("aaab", put_meet_and_tell, NULL, 60));
}

static void what_was_put_before_a_barrier_is_there_after_it(void **state)
{
    static const char *const layouts[] = {"ab", "aab", "abb", "aabb", "abcab"};
    for (size_t i = 0; i < sizeof layouts / sizeof layouts[0]; i++) {
        assert_true(machines_run_comm(layouts[i], put_and_meet, NULL, 60));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_put_before_a_barrier_is_there_after_it),
        cmocka_unit_test(a_barrier_costs_no_round_trip_for_what_calls_have_said),
        cmocka_unit_test(ranks_of_one_machine_may_tell_another_what_they_have_put),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
