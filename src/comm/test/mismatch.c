// SPDX-License-Identifier: Apache-2.0
// Ranks in different calls: each call that makes something says who is in which, on all ranks that
// are in one, and the communicator fails, so that a rank in a barrier learns it too.
#include "support/cmocka.h"
#include <string.h>
#include <unistd.h>

#include "comm/comm.h"
#include "support/look.h"
#include "support/ranks.h"
#include "tern/trace.h"
#include "tern/window.h"

enum call { BARRIER, WINDOW, SPLIT, TRACE };

static int call(enum call which, tern_comm *comm)
{
    tern_window *window;
    tern_comm *part;
    switch (which) {
    case BARRIER:
        return tern_comm_barrier(comm);
    case WINDOW:
        return tern_window_create(comm, 4096, NULL, &window);
    case SPLIT:
        return tern_comm_split(comm, 0, 0, &part);
    case TRACE:
        return tern_trace_end(comm, "/tmp/tern-test-never-written");
    }
    return TERN_OK;
}

struct trial {
    enum call odd, others; // what the odd rank calls, and what the others do
    int rank;              // the odd one, of three
    int before;            // barriers of all ranks before
    bool part;             // on a split communicator
    const char *words;
};

static int in_different_calls(tern_comm *world, void *arg)
{
    const struct trial *trial = arg;
    tern_comm *comm = world;
    CHECK(!trial->part || tern_comm_split(world, 0, -tern_comm_rank(world), &comm) == TERN_OK);
    for (int i = 0; i < trial->before; i++) {
        CHECK(tern_comm_barrier(comm) == TERN_OK);
    }
    enum call mine = tern_comm_rank(comm) == trial->rank ? trial->odd : trial->others;
    int status = call(mine, comm);
    if (mine == BARRIER) { // all came, so it may have ended well; none after it does
        while (status == TERN_OK) {
            status = tern_comm_barrier(comm);
        }
    }
    CHECK(status == TERN_ERR_MISMATCH && look_says(trial->words));
    CHECK(tern_comm_health(comm) == TERN_ERR_MISMATCH && look_says(trial->words));
    // All of it is sent to other machines: behind its end there is nothing of anybody's stack.
    const char *text = comm->group.shared->failed_text;
    for (size_t i = strlen(text); i < TERN__FAILURE_BYTES; i++) {
        CHECK(text[i] == '\0');
    }
    CHECK(comm == world || tern_comm_destroy(comm) == TERN_OK);
    return 0;
}

static void ranks_in_different_calls_are_named_with_them(void **state)
{
    static const struct trial trials[] = {
        {BARRIER, WINDOW, 0, 0, false,
         "rank 0 is in tern_comm_barrier, ranks 1, 2 are in tern_window_create; every rank must "},
        {WINDOW, BARRIER, 0, 1, false,
         "rank 0 is in tern_window_create, ranks 1, 2 are in tern_comm_barrier"},
        {BARRIER, SPLIT, 1, 2, false,
         "ranks 0, 2 are in tern_comm_split, rank 1 is in tern_comm_barrier"},
        {BARRIER, TRACE, 1, 0, false,
         "ranks 0, 2 are in tern_trace_end, rank 1 is in tern_comm_barrier"},
        {SPLIT, WINDOW, 0, 3, false,
         "rank 0 is in tern_comm_split, ranks 1, 2 are in tern_window_create"},
        {TRACE, SPLIT, 2, 1, false,
         "ranks 0, 1 are in tern_comm_split, rank 2 is in tern_trace_end"},
        {BARRIER, WINDOW, 2, 1, true,
         "ranks 0, 1 (2, 1 of the job) are in tern_window_create, rank 2 (0 of the job) is in "
         "tern_comm_barrier"},
    };
    for (size_t i = 0; i < sizeof trials / sizeof trials[0]; i++) {
        struct trial trial = trials[i];
        assert_true(ranks_run_comm(3, in_different_calls, &trial, 60));
    }
}

// The same calls in turn, with barriers between them, are never taken for different ones.
static int calls_and_barriers(tern_comm *comm, void *arg)
{
    for (int round = 0; round < 60; round++) {
        tern_window *window;
        tern_comm *part;
        for (int i = 0; i < round % 4; i++) {
            CHECK(tern_comm_barrier(comm) == TERN_OK);
        }
        CHECK(tern_window_create(comm, 64, NULL, &window) == TERN_OK);
        CHECK(round % 2 == 0 || tern_comm_barrier(comm) == TERN_OK);
        CHECK(tern_comm_split(comm, 0, 0, &part) == TERN_OK);
        CHECK(tern_comm_barrier(part) == TERN_OK);
        CHECK(tern_comm_destroy(part) == TERN_OK);
        CHECK(tern_window_destroy(window) == TERN_OK);
    }
    return 0;
}

static void the_same_calls_in_turn_are_no_mismatch(void **state)
{
    assert_true(ranks_run_counts(1, 8, calls_and_barriers, NULL, 60));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranks_in_different_calls_are_named_with_them),
        cmocka_unit_test(the_same_calls_in_turn_are_no_mismatch),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
