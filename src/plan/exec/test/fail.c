// SPDX-License-Identifier: Apache-2.0
// ctest-threads: none
// Runs that cannot end: a rank is killed, leaves, or never begins; a wait that is never posted.
// Every other rank gets an error that names the culprit, and soon.
#include <signal.h>

#include "base/clock.h"
#include "plan/exec/test/kit.h"

enum { COUNT = 1000 };

// All ranks run until one is killed in the middle of its runs.
static int die_in_a_run(int rank, const struct ranks *ranks, void *arg)
{
    int n = ranks->count;
    int victim = n / 2;
    tern_comm *comm;
    struct kit_bench bench;
    CHECK(tern_init_at(rank, n, ranks->path, NULL, &comm) == TERN_OK);
    tern_plan *plan = *(const bool *)arg ? kit_ring(n, COUNT, 4) : kit_fused(n, COUNT, 4, 3);
    if (kit_open(comm, plan, (tern_exec_options){.dtype = TERN_F32}, &bench) != 0) {
        return 1;
    }
    int status = TERN_OK;
    for (int run = 0; status == TERN_OK; run++) {
        if (rank == victim && run == 20) {
            CHECK(tern_exec_start(bench.exec) == TERN_OK);
            raise(SIGKILL);
        }
        status = tern_exec_run(bench.exec);
    }
    char words[32];
    snprintf(words, sizeof words, "rank %d ", victim);
    CHECK(status == TERN_ERR_PEER);
    CHECK(strstr(tern_last_error(), words) != NULL);
    CHECK(tern_exec_start(bench.exec) == TERN_ERR_PEER); // and it stays so
    CHECK(tern_exec_wait(bench.exec) < 0);
    CHECK(kit_close(&bench) == 0);
    CHECK(tern_plan_destroy(plan) == TERN_OK);
    CHECK(tern_comm_destroy(comm) == TERN_OK);
    return 0;
}

static void the_death_of_a_rank_is_an_error_on_all_others(void **state)
{
    for (int i = 1; i < 5; i++) {
        for (int ring = 0; ring < 2; ring++) {
            bool is_ring = ring != 0;
            struct ranks ranks;
            ranks_begin(&ranks, ranks_counts[i], die_in_a_run, &is_ring);
            assert_true(ranks_wait(&ranks, 30));
            for (int rank = 0; rank < ranks.count; rank++) {
                assert_int_equal(ranks.statuses[rank], rank == ranks.count / 2 ? SIGKILL : 0);
            }
            assert_true(ranks_end(&ranks));
        }
    }
}

// Polling alone finds out as well.
static int poll_for_death(int rank, const struct ranks *ranks, void *arg)
{
    tern_comm *comm;
    struct kit_bench bench;
    CHECK(tern_init_at(rank, 2, ranks->path, NULL, &comm) == TERN_OK);
    tern_plan *plan = kit_fused(2, COUNT, 4, 1);
    if (kit_open(comm, plan, (tern_exec_options){.dtype = TERN_F32}, &bench) != 0) {
        return 1;
    }
    if (rank == 1) {
        raise(SIGKILL);
    }
    CHECK(tern_exec_start(bench.exec) == TERN_OK);
    int status;
    while ((status = tern_exec_test(bench.exec)) == 0) {
    }
    CHECK(status == TERN_ERR_PEER);
    CHECK(kit_close(&bench) == 0);
    CHECK(tern_plan_destroy(plan) == TERN_OK);
    return tern_comm_destroy(comm);
}

static void a_rank_that_only_polls_learns_of_a_death(void **state)
{
    struct ranks ranks;
    ranks_begin(&ranks, 2, poll_for_death, NULL);
    assert_true(ranks_wait(&ranks, 30));
    assert_int_equal(ranks.statuses[0], 0);
    assert_true(ranks_end(&ranks));
}

// Ranks 0 and 1 wait for each other in lane 1, after one good post; rank 2 runs through.
static tern_plan *make_deadlock(void)
{
    tern_plan *plan = hand_plan(TERN_PLAN_BARRIER, 3, 0, 1);
    for (int rank = 0; rank < 2; rank++) {
        hand_post(plan, rank, 0, rank, 4);
        hand_wait(plan, rank, 0, 4, 1);
        hand_wait(plan, rank, 1, 4, 1);
        hand_wait(plan, rank, 1, 7, 2);
        hand_post(plan, rank, 1, 1 - rank, 7);
        hand_post(plan, 2, 0, rank, 7);
    }
    hand_must(tern_plan_seal(plan));
    return plan;
}

static int wait_in_vain(int rank, const struct ranks *ranks, void *arg)
{
    tern_comm *comm;
    tern_exec *exec;
    tern_plan *plan = make_deadlock();
    tern_exec_options options = {.dtype = TERN_U8};
    CHECK(ranks_join(rank, ranks, 2 * TERN_NS_PER_SECOND, &comm) == TERN_OK);
    CHECK(tern_exec_create(comm, plan, &options, &exec) == TERN_OK);
    if (rank == 2) {
        CHECK(tern_exec_run(exec) == TERN_OK);
    } else {
        int64_t begin_ns = tern__now_ns();
        CHECK(tern_exec_run(exec) == TERN_ERR_TIMEOUT);
        CHECK(tern__now_ns() - begin_ns < RANKS_SOON_NS);
        char place[160];
        char wanted[160];
        char who[160];
        const char *error = tern_last_error();
        // Whichever of the two came first words it for both.
        int first = strstr(error, "rank 0 waited") != NULL ? 0 : 1;
        snprintf(place, sizeof place,
                 "rank %d waited 2 s in run 1 of the barrier 'custom', at lane 1, op 1 "
                 "(wait)",
                 first);
        snprintf(
            wanted, sizeof wanted,
            "signal 7: seen 1, wanted 2 of the posts of this run (it is posted by ranks %d, 2)",
            1 - first);
        snprintf(who, sizeof who, "; rank %d waits in run 1 of a plan (process ", 1 - first);
        CHECK(strstr(error, place) != NULL);
        CHECK(strstr(error, wanted) != NULL);
        CHECK(strstr(error, who) != NULL);
        snprintf(who, sizeof who, "; rank %d stands at lane 1, op 1", 1 - first);
        CHECK(strstr(error, who) != NULL);
    }
    tern_exec_destroy(exec);
    tern_plan_destroy(plan);
    return tern_comm_destroy(comm);
}

static void a_missed_deadline_says_who_waited_where_for_what_from_whom(void **state)
{
    assert_true(ranks_run(3, wait_in_vain, NULL, 30));
}

// The last rank never begins its third run: the others wait at a gate, not at a signal.
static int stay_away(int rank, const struct ranks *ranks, void *arg)
{
    tern_comm *comm;
    struct kit_bench bench;
    int n = ranks->count;
    tern_plan *plan = kit_fused(n, COUNT, 4, 1);
    CHECK(ranks_join(rank, ranks, 2 * TERN_NS_PER_SECOND, &comm) == TERN_OK);
    if (kit_open(comm, plan, (tern_exec_options){.dtype = TERN_F32}, &bench) != 0) {
        return 1;
    }
    CHECK(tern_exec_run(bench.exec) == TERN_OK);
    CHECK(tern_exec_run(bench.exec) == TERN_OK);
    if (rank == n - 1) {
        int status = TERN_OK;
        while (status == TERN_OK) { // until the others have given up
            usleep(1000);
            status = tern_comm_health(comm);
        }
        CHECK(status == TERN_ERR_TIMEOUT);
    } else {
        char words[200];
        int status = tern_exec_start(bench.exec);
        if (*(const bool *)arg) {
            while (status == 0) {
                status = tern_exec_test(bench.exec);
            }
        } else {
            status = tern_exec_wait(bench.exec);
        }
        CHECK(status == TERN_ERR_TIMEOUT);
        snprintf(
            words, sizeof words,
            "at lane 0, op 0 (reduce), for rank %d to begin the run; rank %d is not waiting in "
            "tern (its process %d ",
            n - 1, n - 1, (int)tern__peek(&comm->group.job->ctl->ranks[n - 1].pid));
        CHECK(strstr(tern_last_error(), words) != NULL);
    }
    CHECK(kit_close(&bench) == 0);
    tern_plan_destroy(plan);
    return tern_comm_destroy(comm);
}

static void a_rank_that_does_not_begin_is_named(void **state)
{
    for (int tests = 0; tests < 2; tests++) { // else it waits
        bool by_testing = tests != 0;
        assert_true(ranks_run(3, stay_away, &by_testing, 30));
    }
}

static int leave_early(int rank, const struct ranks *ranks, void *arg)
{
    tern_comm *comm;
    struct kit_bench bench;
    tern_plan *plan = kit_fused(3, COUNT, 4, 1);
    CHECK(tern_init_at(rank, ranks->count, ranks->path, NULL, &comm) == TERN_OK);
    if (kit_open(comm, plan, (tern_exec_options){.dtype = TERN_F32}, &bench) != 0) {
        return 1;
    }
    CHECK(tern_exec_run(bench.exec) == TERN_OK);
    if (rank != 1) {
        CHECK(tern_exec_run(bench.exec) == TERN_ERR_LEFT);
        CHECK(strstr(tern_last_error(), "rank 1 has left the communicator") != NULL);
        CHECK(strstr(tern_last_error(), "run 2 of the all_reduce") != NULL);
    }
    CHECK(kit_close(&bench) == 0);
    tern_plan_destroy(plan);
    return tern_comm_destroy(comm);
}

static void a_rank_that_has_left_is_named(void **state)
{
    assert_true(ranks_run(3, leave_early, NULL, 30));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_death_of_a_rank_is_an_error_on_all_others),
        cmocka_unit_test(a_rank_that_only_polls_learns_of_a_death),
        cmocka_unit_test(a_missed_deadline_says_who_waited_where_for_what_from_whom),
        cmocka_unit_test(a_rank_that_does_not_begin_is_named),
        cmocka_unit_test(a_rank_that_has_left_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
