// SPDX-License-Identifier: Apache-2.0
// A rank is in a collective call, and others are in a barrier or in what makes something, to which
// it has not come: said long before the deadline, and only where no thread can still come.
#include "support/cmocka.h"

#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

#include "support/look.h"
#include "support/ranks.h"
#include "tern/coll.h"
#include "tern/comm.h"
#include "tern/window.h"

enum meeting { BARRIER, WINDOW, SPLIT, MEETINGS };

static const char *const names[MEETINGS] = {"tern_comm_barrier", "tern_window_create",
                                            "tern_comm_split"};

struct trial {
    enum meeting meeting;
    int rank;   // which is in a call
    int before; // calls of all ranks before
    bool request;
    bool part; // on a split communicator
};

static int meet(enum meeting meeting, tern_comm *comm)
{
    tern_window *window;
    tern_comm *part;
    return meeting == BARRIER  ? tern_comm_barrier(comm)
           : meeting == WINDOW ? tern_window_create(comm, 4096, NULL, &window)
                               : tern_comm_split(comm, 0, 0, &part);
}

static int sum(tern_comm *comm, bool request)
{
    float in = 1, out;
    tern_coll call = {.kind = TERN_COLL_ALL_REDUCE,
                      .in = &in,
                      .out = &out,
                      .count = 1,
                      .dtype = TERN_F32,
                      .op = TERN_SUM};
    tern_request made;
    if (!request) {
        return tern_all_reduce(comm, &in, &out, 1, TERN_F32, TERN_SUM);
    }
    int status = tern_coll_start(comm, &call, &made);
    return status == TERN_OK ? tern_request_wait(&made) : status;
}

static int in_a_call_or_in_a_meeting(tern_comm *world, void *arg)
{
    const struct trial *trial = arg;
    tern_comm *comm = world;
    char words[200];
    CHECK(!trial->part || tern_comm_split(world, 0, 0, &comm) == TERN_OK);
    for (int i = 0; i < trial->before; i++) {
        CHECK(sum(comm, false) == TERN_OK);
    }
    int status = tern_comm_rank(comm) == trial->rank ? sum(comm, trial->request)
                                                     : meet(trial->meeting, comm);
    CHECK(status == TERN_ERR_MISMATCH);
    snprintf(words, sizeof words, " is in %s", names[trial->meeting]);
    CHECK(look_says(words));
    snprintf(words, sizeof words, "rank %d waits in all_reduce %d of 4 bytes (f32 sum)",
             trial->rank, trial->before + 1);
    CHECK(look_says(words) || (trial->part && look_says("waits in all_reduce")));
    CHECK(look_says("every rank must make the same calls in the same order"));
    CHECK(comm == world || tern_comm_destroy(comm) == TERN_OK);
    return 0;
}

static void a_call_in_one_rank_and_a_meeting_in_the_others_is_a_mismatch(void **state)
{
    (void)state;
#if defined(__SANITIZE_THREAD__)
    skip(); // which has a thread of its own in every process
#endif
    for (int i = 0; i < 2 * MEETINGS; i++) {
        struct trial trial = {.meeting = (enum meeting)(i % MEETINGS),
                              .rank = i % 2,
                              .before = i % 4,
                              .request = i >= MEETINGS,
                              .part = i % 3 == 1};
        assert_true(ranks_run_comm(2 + i % 2, in_a_call_or_in_a_meeting, &trial, 30));
    }
}

// Rank 1 waits in the call for rank 2, which is late; rank 0 has given its part and is in the
// barrier already.
static int late_in_a_gather(tern_comm *comm, void *arg)
{
    int32_t in = tern_comm_rank(comm), out[3];
    (void)arg;
    for (int i = 0; i < 3; i++) {
        if (tern_comm_rank(comm) == 2) {
            usleep(1200000);
        }
        CHECK(tern_gather(comm, &in, out, 1, TERN_I32, 1) == TERN_OK);
        CHECK(tern_comm_barrier(comm) == TERN_OK);
    }
    return 0;
}

static void a_rank_that_waits_in_a_call_that_this_one_has_made_comes(void **state)
{
    (void)state;
    assert_true(ranks_run_comm(3, late_in_a_gather, NULL, 60));
}

static void *sum_in_a_thread(void *comm)
{
    return sum(comm, false) == TERN_OK ? comm : NULL;
}

// Rank 1 has a thread in the sum and comes to the barrier with another one, later.
static int with_threads(tern_comm *comm, void *arg)
{
    pthread_t thread = pthread_self();
    void *ended = comm;
    (void)arg;
    if (tern_comm_rank(comm) == 1) {
        CHECK(pthread_create(&thread, NULL, sum_in_a_thread, comm) == 0);
        usleep(1500000);
    }
    CHECK(tern_comm_barrier(comm) == TERN_OK);
    CHECK(tern_comm_rank(comm) == 1 || sum(comm, false) == TERN_OK);
    CHECK(tern_comm_rank(comm) == 0 || pthread_join(thread, &ended) == 0);
    CHECK(ended == comm);
    return 0;
}

static void another_thread_may_come_to_the_barrier(void **state)
{
    (void)state;
    assert_true(ranks_run_comm(2, with_threads, NULL, 60));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_call_in_one_rank_and_a_meeting_in_the_others_is_a_mismatch),
        cmocka_unit_test(a_rank_that_waits_in_a_call_that_this_one_has_made_comes),
        cmocka_unit_test(another_thread_may_come_to_the_barrier),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
