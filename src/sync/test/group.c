// SPDX-License-Identifier: Apache-2.0
// Groups of ranks: the small exchange, failing together with the first reason, leaving; and the
// wait ladder that follows the load of the job.
#include "support/cmocka.h"
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "base/cgroup.h"
#include "comm/comm.h"
#include "support/exchange.h"
#include "support/ranks.h"

enum { EXCHANGES = 200 };

static int exchange(tern_comm *comm, void *arg)
{
    return exchange_all_sizes(comm, TERN__MEETING_BARRIER, EXCHANGES, 0);
}

static void an_exchange_gives_everybody_everything_in_rank_order(void **state)
{
    assert_true(ranks_run_counts(1, 16, exchange, NULL, 60));
}

static int fail_on_the_last_rank(tern_comm *comm, void *arg)
{
    struct tern__group *group = &comm->group;
    int last = group->size - 1;
    CHECK(tern_comm_barrier(comm) == TERN_OK);
    if (group->rank == last) {
        CHECK(tern__group_fail(group, TERN_ERR_MISMATCH, last, "seven of %s", "nine") ==
              TERN_ERR_MISMATCH);
        CHECK(strcmp(tern_last_error(), "seven of nine") == 0);
    }
    // The others sleep in a barrier that cannot complete until they are woken.
    CHECK(tern_comm_barrier(comm) == TERN_ERR_MISMATCH);
    CHECK(strstr(tern_last_error(), "the communicator has failed: seven of nine") != NULL);
    CHECK(tern_comm_barrier(comm) == TERN_ERR_MISMATCH); // and it stays so
    CHECK(tern_comm_health(comm) == TERN_ERR_MISMATCH);
    CHECK(tern__group_check(group, false) == TERN_ERR_MISMATCH);
    CHECK(group->shared->failed_rank == last);
    return 0;
}

static void a_failure_reaches_all_ranks_with_its_sentence(void **state)
{
    assert_true(ranks_run_counts(1, 16, fail_on_the_last_rank, NULL, 60));
}

static int fail_twice(tern_comm *comm, void *arg)
{
    struct tern__group *group = &comm->group;
    CHECK(tern__group_fail(group, TERN_ERR_TIMEOUT, 0, "the first") == TERN_ERR_TIMEOUT);
    CHECK(tern__group_fail(group, TERN_ERR_LEFT, 0, "the second") == TERN_ERR_TIMEOUT);
    CHECK(strstr(tern_last_error(), "the first") != NULL);
    CHECK(tern__group_check(group, true) == TERN_ERR_TIMEOUT);
    return 0;
}

static void of_two_failures_the_first_stays(void **state)
{
    assert_true(ranks_run_comm(1, fail_twice, NULL, 60));
}

static int fail_all_at_once(tern_comm *comm, void *arg)
{
    struct tern__group *group = &comm->group;
    CHECK(tern_comm_barrier(comm) == TERN_OK);
    char own[32];
    char seen[64];
    snprintf(own, sizeof own, "reason of rank %d", group->rank);
    tern__group_fail(group, TERN_ERR_LIMIT, group->rank, "%s", own);
    while (tern__group_check(group, false) == TERN_OK) {
    }
    // Every rank reports the same reason, that of the rank which is named as the culprit.
    snprintf(seen, sizeof seen, "failed: reason of rank %d", group->shared->failed_rank);
    CHECK(tern__group_check(group, false) == TERN_ERR_LIMIT);
    CHECK(strstr(tern_last_error(), seen) != NULL);
    return 0;
}

static void ranks_that_fail_at_once_agree_on_one_reason(void **state)
{
    assert_true(ranks_run_counts(1, 16, fail_all_at_once, NULL, 60));
}

// While another rank writes why, nobody may say that all is well; and one that is killed there
// holds nobody up.
static int fail_and_die_on_rank_0(tern_comm *comm, void *arg)
{
    struct tern__group *group = &comm->group;
    CHECK(tern_comm_barrier(comm) == TERN_OK);
    if (group->rank == 0) {
        group->shared->failed_status = TERN_ERR_LIMIT; // and no more
        tern__flag_store(&group->shared->failed, TERN__FAILING);
        raise(SIGKILL);
    }
    while (tern__flag_load(&group->shared->failed) == TERN__WORKING) {
        sched_yield();
    }
    CHECK(tern_comm_health(comm) == TERN_ERR_PEER);
    CHECK(strstr(tern_last_error(), "rank 0 died") != NULL);
    CHECK(tern_comm_barrier(comm) == TERN_ERR_PEER);
    CHECK(group->shared->failed_rank == 0);
    tern_comm_destroy(comm);
    return 0;
}

static int fail_slowly_on_rank_0(tern_comm *comm, void *arg)
{
    struct tern__group *group = &comm->group;
    CHECK(tern_comm_barrier(comm) == TERN_OK);
    if (group->rank == 0) {
        tern__flag_store(&group->shared->failed, TERN__FAILING);
        poll(NULL, 0, 20);
        group->shared->failed_status = TERN_ERR_LIMIT;
        strcpy(group->shared->failed_text, "slow");
        tern__flag_store(&group->shared->failed, TERN__FAILED);
    }
    while (tern__flag_load(&group->shared->failed) == TERN__WORKING) {
        sched_yield();
    }
    CHECK(tern__group_fail(group, TERN_ERR_TIMEOUT, 0, "another reason") == TERN_ERR_LIMIT);
    CHECK(strstr(tern_last_error(), "failed: slow") != NULL);
    CHECK(tern_comm_health(comm) == TERN_ERR_LIMIT);
    return 0;
}

static int join_and_die(int rank, const struct ranks *ranks, void *arg)
{
    tern_comm *comm;
    CHECK(ranks_join(rank, ranks, RANKS_SOON_NS, &comm) == TERN_OK);
    return fail_and_die_on_rank_0(comm, arg);
}

static void a_reason_that_is_being_written_is_waited_for(void **state)
{
    assert_true(ranks_run_comm(3, fail_slowly_on_rank_0, NULL, 60));
    struct ranks ranks;
    ranks_begin(&ranks, 3, join_and_die, NULL);
    assert_true(ranks_wait(&ranks, 60));
    assert_int_equal(ranks.statuses[0], SIGKILL);
    assert_int_equal(ranks.statuses[1], 0);
    assert_int_equal(ranks.statuses[2], 0);
    assert_true(ranks_end(&ranks));
}

static int fail_with_a_long_sentence(tern_comm *comm, void *arg)
{
    char text[2 * TERN__FAILURE_BYTES];
    memset(text, 'x', sizeof text);
    text[sizeof text - 1] = '\0';
    tern__group_fail(&comm->group, TERN_ERR_LIMIT, -1, "%s", text);
    CHECK(strlen(tern_last_error()) == TERN__FAILURE_BYTES - 1);
    CHECK(tern__group_check(&comm->group, false) == TERN_ERR_LIMIT);
    CHECK(strstr(tern_last_error(), "failed: xxx") != NULL);
    return 0;
}

static void a_long_reason_is_cut(void **state)
{
    assert_true(ranks_run_comm(1, fail_with_a_long_sentence, NULL, 60));
}

static int leave_on_rank_1(tern_comm *comm, void *arg)
{
    struct tern__group *group = &comm->group;
    CHECK(tern__group_left(group) == -1);
    CHECK(tern_comm_barrier(comm) == TERN_OK);
    if (group->rank == 1) {
        return 0; // and destroys the communicator
    }
    CHECK(tern_comm_barrier(comm) == TERN_ERR_LEFT);
    CHECK(strstr(tern_last_error(), "rank 1 has left the communicator") != NULL);
    CHECK(strstr(tern_last_error(), "tern_comm_barrier 2") != NULL);
    CHECK(tern__group_left(group) >= 0); // not rank 1 only: who is done leaves too
    return 0;
}

static void a_barrier_without_a_rank_that_left_names_it(void **state)
{
    assert_true(ranks_run_counts(2, 16, leave_on_rank_1, NULL, 60));
}

static int follow_the_load(tern_comm *comm, void *arg)
{
    struct tern__job *job = comm->group.job;
    int cpus = tern__cpus_allowed();
    struct tern__ladder fits = tern__ladder_for(cpus, cpus);
    struct tern__ladder crowded = tern__ladder_for(cpus + 1, cpus);
    CHECK(tern__job_ladder(job).spins == fits.spins);
    tern__job_add_threads(job, cpus - 1); // now one for each processor
    CHECK(tern__job_ladder(job).spins == fits.spins);
    tern__job_add_threads(job, 1);
    CHECK(tern__job_ladder(job).spins == crowded.spins);
    CHECK(tern__job_ladder(job).yields == crowded.yields && !tern__job_ladder(job).alone);
    CHECK(tern__job_core_ladder(job).yields == fits.yields && tern__job_core_ladder(job).alone);
    tern__job_add_threads(job, 1); // now more than one for each, without the main thread
    CHECK(tern__job_core_ladder(job).yields == crowded.yields);
    CHECK(!tern__job_core_ladder(job).alone);
    tern__job_add_threads(job, -cpus - 1);
    CHECK(tern__job_ladder(job).spins == fits.spins);
    CHECK(tern__job_ladder(job).yields == fits.yields && tern__job_ladder(job).alone);
    return 0;
}

static void the_ladder_follows_the_threads_of_a_rank(void **state)
{
    assert_true(ranks_run_comm(1, follow_the_load, NULL, 60));
}

static int expect_crowded(tern_comm *comm, void *arg)
{
    int cpus = tern__cpus_allowed();
    int size = tern_comm_size(comm);
    CHECK(tern_comm_barrier(comm) == TERN_OK);
    CHECK(tern__job_ladder(comm->group.job).spins == tern__ladder_for(size, cpus).spins);
    return tern_comm_barrier(comm); // nobody leaves before all have looked
}

static void the_ladder_follows_the_number_of_ranks(void **state)
{
    assert_true(ranks_run_counts(1, 16, expect_crowded, NULL, 60));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_exchange_gives_everybody_everything_in_rank_order),
        cmocka_unit_test(a_failure_reaches_all_ranks_with_its_sentence),
        cmocka_unit_test(of_two_failures_the_first_stays),
        cmocka_unit_test(ranks_that_fail_at_once_agree_on_one_reason),
        cmocka_unit_test(a_reason_that_is_being_written_is_waited_for),
        cmocka_unit_test(a_long_reason_is_cut),
        cmocka_unit_test(a_barrier_without_a_rank_that_left_names_it),
        cmocka_unit_test(the_ladder_follows_the_threads_of_a_rank),
        cmocka_unit_test(the_ladder_follows_the_number_of_ranks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
