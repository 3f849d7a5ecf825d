// SPDX-License-Identifier: Apache-2.0
// The life of a job on several machines apart from its end by death: choices that differ,
// interrupts, health, forked children, ends in any order, and what a rank is told of ranks
// elsewhere.
#include "support/cmocka.h"
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "comm/comm.h"
#include "support/machines.h"
#include "sync/doing.h"
#include "sync/selected.h"
#include "tern/interrupt.h"
#include "tern/window.h"

// The last rank selects otherwise; the ranks of its machine are one or several.
static int select_otherwise(tern_comm *comm, void *arg)
{
    int last = tern_comm_size(comm) - 1;
    int own = tern_comm_rank(comm);
    char words[64];
    CHECK(tern__group_selected(&comm->group, 1, "all_reduce", 77, "a file") == TERN_OK);
    int status = tern_comm_barrier(comm);
    if (status == TERN_OK) { // else others are far ahead, and word of what they did came first
        status = tern__group_selected(&comm->group, 2, "broadcast", own == last ? 5 : 4, "b file");
    }
    CHECK(status == TERN_OK || status == TERN_ERR_MISMATCH);
    while (status == TERN_OK) { // word of it may come after a barrier
        status = tern_comm_barrier(comm);
    }
    snprintf(words, sizeof words, "would select other algorithms or sizes for broadcast than rank");
    CHECK(status == TERN_ERR_MISMATCH);
    CHECK(strstr(tern_last_error(), words) != NULL);
    CHECK(strstr(tern_last_error(), "that of 'b file'") != NULL);
    return 0;
}

static void choices_that_differ_between_machines_are_found_out(void **state)
{
    assert_true(machines_run_all(select_otherwise, NULL, 20));
}

static int asked;

static int end_it(void)
{
    return ++asked > 1;
}

static int interrupt_rank_0(tern_comm *comm, void *arg)
{
    CHECK(tern_comm_health(comm) == TERN_OK);
    CHECK(tern_comm_barrier(comm) == TERN_OK);
    if (tern_comm_rank(comm) == 0) {
        CHECK(tern_interrupt_set(end_it) == NULL);
        CHECK(tern_comm_barrier(comm) == TERN_ERR_INTERRUPTED);
        tern_interrupt_set(NULL);
    } else {
        for (int i = 0; i < 20000 && tern_comm_health(comm) == TERN_OK; i++) {
            poll(NULL, 0, 1);
        }
        CHECK(tern_comm_barrier(comm) == TERN_ERR_INTERRUPTED);
        CHECK(strstr(tern_last_error(), "rank 0 was interrupted") != NULL);
    }
    CHECK(tern_comm_health(comm) == TERN_ERR_INTERRUPTED);
    return 0;
}

static void an_interrupt_is_told_everywhere(void **state)
{
    assert_true(machines_run_all(interrupt_rank_0, NULL, 20));
}

// The last rank is killed, and a child of it lives on, which holds nothing of the job.
static int fork_and_die(tern_comm *comm, void *arg)
{
    int last = tern_comm_size(comm) - 1;
    CHECK(tern_comm_barrier(comm) == TERN_OK);
    if (tern_comm_rank(comm) == last) {
        pid_t parent = getpid();
        pid_t child = fork();
        if (child == 0) {
            poll(NULL, 0, 3000);
            _exit(0);
        }
        poll(NULL, 0, 50);
        kill(parent, SIGKILL);
    }
    CHECK(tern_comm_barrier(comm) == TERN_ERR_PEER);
    return 0;
}

struct forked {
    const char *layout;
};

static int run_fork(int rank, const struct ranks *ranks, void *arg)
{
    const struct forked *forked = arg;
    tern_comm *comm;
    CHECK(machines_join(rank, ranks, forked->layout, &comm) == TERN_OK);
    comm->group.job->timeout_ns = INT64_C(2500000000); // the child lives for longer
    int result = fork_and_die(comm, NULL);
    tern_comm_destroy(comm);
    return result;
}

static void a_child_does_not_hide_its_parents_death(void **state)
{
    struct forked forked = {"aabb"};
    struct ranks ranks;
    ranks_begin(&ranks, 4, run_fork, &forked);
    assert_true(ranks_wait(&ranks, 20));
    for (int rank = 0; rank < 3; rank++) {
        assert_int_equal(ranks.statuses[rank], 0);
    }
    machines_clean(&ranks);
    assert_true(ranks_end(&ranks));
}

// A child may free its copies and end, without anybody seeing anything of it.
static int fork_and_let_go(tern_comm *comm, void *arg)
{
    for (int i = 0; i < 5; i++) {
        pid_t child = fork();
        CHECK(child >= 0);
        if (child == 0) {
            _exit(tern_comm_barrier(comm) == TERN_ERR_STATE && tern_comm_destroy(comm) == TERN_OK
                      ? 0
                      : 1);
        }
        int status = 0;
        CHECK(waitpid(child, &status, 0) == child && status == 0);
        CHECK(tern_comm_barrier(comm) == TERN_OK);
    }
    return 0;
}

static void children_let_go_of_their_copies(void **state)
{
    assert_true(machines_run_comm("aabb", fork_and_let_go, NULL, 20));
}

// Rank 0 waits for nobody, and sees what the last one does.
static int look_at_the_last(tern_comm *comm, void *arg)
{
    int last = tern_comm_size(comm) - 1;
    CHECK(tern_comm_barrier(comm) == TERN_OK);
    if (tern_comm_rank(comm) == 0) {
        struct tern__doing doing = {0};
        char text[512] = "";
        for (int i = 0; i < 20000 && strstr(text, "in tern_comm_barrier") == NULL; i++) {
            tern__doing_ranks(&comm->group, UINT64_C(1) << last, text, sizeof text);
            poll(NULL, 0, 1);
        }
        tern__doing_look(comm->group.job->ctl, last, &doing);
        CHECK(strstr(text, "waits in tern_comm_barrier 2 (process ") != NULL);
        CHECK(strstr(text, " on machine b)") != NULL);
        CHECK(doing.machine != NULL && strcmp(doing.machine, "b") == 0);
        CHECK(doing.life == TERN__LIFE_RUNS);
    }
    CHECK(tern_comm_barrier(comm) == TERN_OK);
    return 0;
}

static void what_a_rank_elsewhere_does_is_known(void **state)
{
    assert_true(machines_run_comm("aabb", look_at_the_last, NULL, 20));
}

// Ranks come to the end at different times, and some leave parts later than others.
static int end_in_turn(tern_comm *comm, void *arg)
{
    int own = tern_comm_rank(comm);
    tern_comm *part;
    CHECK(tern_comm_split(comm, own % 2, 0, &part) == TERN_OK);
    CHECK(tern_comm_barrier(part) == TERN_OK);
    poll(NULL, 0, 30 * ((own * 5) % 3));
    CHECK(tern_comm_destroy(part) == TERN_OK);
    poll(NULL, 0, 30 * ((own * 7) % 4));
    return 0;
}

static void ranks_end_in_any_order(void **state)
{
    assert_true(machines_run_all(end_in_turn, NULL, 20));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(choices_that_differ_between_machines_are_found_out),
        cmocka_unit_test(an_interrupt_is_told_everywhere),
        cmocka_unit_test(a_child_does_not_hide_its_parents_death),
        cmocka_unit_test(children_let_go_of_their_copies),
        cmocka_unit_test(what_a_rank_elsewhere_does_is_known),
        cmocka_unit_test(ranks_end_in_any_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
