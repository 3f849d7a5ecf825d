// SPDX-License-Identifier: Apache-2.0
// Sentences about split communicators say which communicator, and a rank's number in it and in the
// job; sentences about the first communicator of a job say no more than the rank.
#include "support/cmocka.h"
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "support/look.h"
#include "support/ranks.h"
#include "tern/coll.h"
#include "tern/exec.h"
#include "tern/window.h"

enum { RANKS = 5 };

// Ranks 1, 2 and 4 of the job become ranks 2, 1 and 0; the others get NULL.
static int split(tern_comm *comm, tern_comm **part)
{
    int rank = tern_comm_rank(comm);
    bool in = rank == 1 || rank == 2 || rank == 4;
    return tern_comm_split(comm, in ? 0 : -1, -rank, part);
}

static int disagree(tern_comm *part)
{
    float data[4] = {0};
    size_t count = tern_comm_rank(part) == 2 ? 2 : 1;
    CHECK(tern_all_reduce(part, data, data, count, TERN_F32, TERN_SUM) == TERN_ERR_MISMATCH);
    CHECK(look_says("communicator 1"));
    CHECK(look_says("rank 0 (4 of the job) makes all_reduce"));
    CHECK(look_says("rank 2 (1 of the job) all_reduce"));
    CHECK(tern_comm_health(part) == TERN_ERR_MISMATCH);
    CHECK(look_says("communicator 1 has failed: the ranks disagree"));
    return 0;
}

static int disagree_on_a_message(tern_comm *part)
{
    float data[4] = {0};
    int rank = tern_comm_rank(part);
    int status = rank == 0   ? tern_send(part, data, 2, TERN_F32, 2)
                 : rank == 2 ? tern_recv(part, data, 1, TERN_F32, 0)
                             : TERN_ERR_MISMATCH;
    CHECK(status == TERN_ERR_MISMATCH || rank == 0); // a send may be over before it is received
    if (rank == 2) {
        CHECK(look_says(
            "communicator 1: the ranks disagree on message 1 from rank 0 (4 of the job) to "
            "rank 2 (1 of the job): rank 0 sends"));
    }
    return 0;
}

static int ask_for_different_windows(tern_comm *part)
{
    tern_window *window;
    size_t size = tern_comm_rank(part) == 1 ? 8192 : 4096;
    CHECK(tern_window_create(part, size, NULL, &window) == TERN_ERR_MISMATCH);
    CHECK(look_says("tern_window_create: rank 1 (2 of the job) asks for 8192 bytes with flags 0x0, "
                    "rank 0 (4 of the job) for 4096 bytes"));
    return 0;
}

static int call_barrier(tern_comm *part)
{
    return tern_comm_barrier(part);
}

static int call_reduce(tern_comm *part)
{
    float data[1] = {0};
    return tern_all_reduce(part, data, data, 1, TERN_F32, TERN_SUM);
}

static int call_recv(tern_comm *part)
{
    float data[1];
    return tern_recv(part, data, 1, TERN_F32, 1);
}

// Rank 1 of the part leaves it, and rank 0 makes a call.
static int part_is_left(tern_comm *comm, void *arg)
{
    int (*const *call)(tern_comm *) = arg;
    tern_comm *part;
    CHECK(split(comm, &part) == TERN_OK);
    if (part != NULL && tern_comm_rank(part) == 0) {
        CHECK((*call)(part) == TERN_ERR_LEFT);
        CHECK(look_says("communicator 1"));
        CHECK(look_says("rank 1 (2 of the job) has left the communicator"));
    }
    if (part != NULL && tern_comm_rank(part) != 1) {
        CHECK(tern_comm_barrier(part) == TERN_ERR_LEFT);
    }
    return tern_comm_destroy(part) == TERN_OK ? 0 : 1;
}

static int in_part(tern_comm *comm, void *arg)
{
    int (*const *body)(tern_comm *) = arg;
    tern_comm *part;
    CHECK(split(comm, &part) == TERN_OK);
    CHECK(part == NULL || (*body)(part) == 0);
    CHECK(tern_comm_barrier(comm) == TERN_OK);
    return tern_comm_destroy(part) == TERN_OK ? 0 : 1;
}

// Rank 0 of the part waits for the others, which do not come.
static int alone(int rank, const struct ranks *ranks, void *arg)
{
    int (*const *call)(tern_comm *) = arg;
    tern_comm *comm;
    tern_comm *part;
    CHECK(ranks_join(rank, ranks, INT64_C(1500000000), &comm) == TERN_OK);
    CHECK(split(comm, &part) == TERN_OK);
    if (part != NULL && tern_comm_rank(part) == 0) {
        CHECK((*call)(part) == TERN_ERR_TIMEOUT);
        CHECK(look_says("communicator 1"));
        CHECK(look_says("rank 0 (4 of the job) waited 1.5 s in "));
        CHECK(look_says("ranks 1, 2 (2, 1 of the job) ") ||
              look_says("from rank 1 (2 of the job)") ||
              (look_says("rank 1 (2 of the job) ") && look_says("rank 2 (1 of the job) ")));
    }
    while (part != NULL && tern_comm_health(part) == TERN_OK) {
        usleep(10000);
    }
    CHECK(tern_comm_destroy(part) == TERN_OK);
    return tern_comm_destroy(comm) == TERN_OK ? 0 : 1;
}

static void time_outs_name_both_numbers(void **state)
{
    int (*calls[])(tern_comm *) = {call_barrier, call_reduce, call_recv};
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++) {
        assert_true(ranks_run(RANKS, alone, &calls[i], 60));
    }
}

static void sentences_of_split_communicators_name_both_numbers(void **state)
{
    int (*bodies[])(tern_comm *) = {disagree, disagree_on_a_message, ask_for_different_windows};
    for (size_t i = 0; i < sizeof bodies / sizeof bodies[0]; i++) {
        assert_true(ranks_run_comm(RANKS, in_part, &bodies[i], 30));
    }
    int (*calls[])(tern_comm *) = {call_barrier, call_reduce, call_recv};
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++) {
        assert_true(ranks_run_comm(RANKS, part_is_left, &calls[i], 30));
    }
}

static int one_dies(int rank, const struct ranks *ranks, void *arg)
{
    tern_comm *comm;
    tern_comm *part;
    CHECK(tern_init_at(rank, ranks->count, ranks->path, NULL, &comm) == TERN_OK);
    CHECK(split(comm, &part) == TERN_OK);
    if (rank == 2) {
        raise(SIGKILL);
    }
    if (part != NULL) {
        CHECK(tern_comm_barrier(part) == TERN_ERR_PEER);
        CHECK(look_says("communicator 1") && look_says("rank 2 "));
        CHECK(look_says("; it is rank 1 of communicator 1"));
    }
    CHECK(tern_comm_destroy(part) == TERN_OK);
    CHECK(tern_comm_barrier(comm) == TERN_ERR_PEER);
    CHECK(look_says("rank 2 ") && !look_says("it is rank") && !look_says("communicator 0"));
    return tern_comm_destroy(comm) == TERN_OK ? 0 : 1;
}

static void a_death_names_both_numbers(void **state)
{
    struct ranks ranks;
    ranks_begin(&ranks, RANKS, one_dies, NULL);
    assert_true(ranks_wait(&ranks, 30));
    for (int rank = 0; rank < RANKS; rank++) {
        assert_int_equal(ranks.statuses[rank], rank == 2 ? SIGKILL : 0);
    }
    assert_true(ranks_end(&ranks));
}

static int disagree_in_the_first(tern_comm *comm, void *arg)
{
    float data[4] = {0};
    size_t count = tern_comm_rank(comm) == 2 ? 2 : 1;
    CHECK(tern_all_reduce(comm, data, data, count, TERN_F32, TERN_SUM) == TERN_ERR_MISMATCH);
    CHECK(look_says("rank 0 makes all_reduce") && look_says("rank 2 all_reduce"));
    CHECK(!look_says("of the job") && !look_says("communicator 0"));
    return 0;
}

static void the_first_communicator_has_one_number(void **state)
{
    assert_true(ranks_run_comm(RANKS, disagree_in_the_first, NULL, 30));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sentences_of_split_communicators_name_both_numbers),
        cmocka_unit_test(time_outs_name_both_numbers),
        cmocka_unit_test(a_death_names_both_numbers),
        cmocka_unit_test(the_first_communicator_has_one_number),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
