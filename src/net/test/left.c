// SPDX-License-Identifier: Apache-2.0
// ctest-first
// A rank that leaves the job while others are in a communicator of a part: whoever waits for it, or
// can no longer hear of the others, is told at once.
#include "support/cmocka.h"
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "comm/comm.h"
#include "support/machines.h"
#include "support/sanitized.h"
#include "tern/coll.h"
#include "tern/window.h"

struct plan {
    const char *layout;
    int who;    // leaves the job
    bool fails; // for a reason that fails the first communicator
    enum { BARRIER, ALL_REDUCE, WINDOW, CALLS } call; // in which the others wait for it
    _Atomic int *told;
};

static void leave_the_job(tern_comm *comm, const struct plan *plan)
{
    comm->group.job->leaves_at_once = !plan->fails;
    if (plan->fails) {
        tern_status_ignore(tern__group_fail(&comm->group, TERN_ERR_PEER, -1, "a reason"));
    }
    atomic_store(&comm->children[TERN__CHILD_PART], 0);
    _exit(tern_comm_destroy(comm) == TERN_OK ? 0 : 1);
}

// The job has failed, or would wait for who is gone: nothing is destroyed. Not before all have been
// told, since the end of this process is a death to them.
static void end_when_all_are_told(const struct plan *plan)
{
    atomic_fetch_add(plan->told, 1);
    while (atomic_load(plan->told) < (int)strlen(plan->layout) - 1) {
        poll(NULL, 0, 1);
    }
    _exit(0);
}

static int call(const struct plan *plan, tern_comm *part)
{
    float in[1000] = {0};
    float out[1000];
    tern_window *window;
    return plan->call == BARRIER      ? tern_comm_barrier(part)
           : plan->call == ALL_REDUCE ? tern_all_reduce(part, in, out, 1000, TERN_F32, TERN_SUM)
                                      : tern_window_create(part, 64, NULL, &window);
}

// The one that leaves does not leave the part, as where making it has failed for that one.
static int wait_for_who_has_left(int rank, const struct ranks *ranks, void *arg)
{
    const struct plan *plan = arg;
    tern_comm *comm;
    tern_comm *part;
    CHECK(machines_join(rank, ranks, plan->layout, &comm) == TERN_OK);
    CHECK(tern_comm_split(comm, 0, 0, &part) == TERN_OK);
    CHECK(tern_comm_barrier(part) == TERN_OK);
    if (rank == plan->who) {
        leave_the_job(comm, plan);
    }
    int64_t since_ns = tern__now_ns();
    int status = call(plan, part);
    CHECK(status == TERN_ERR_PEER || (status == TERN_ERR_LEFT && !plan->fails));
    CHECK(strstr(tern_last_error(), plan->fails ? "a reason" : "has left") != NULL);
    CHECK(tern__now_ns() - since_ns < comm->group.job->timeout_ns / 2);
    end_when_all_are_told(plan);
    return 0;
}

// The one that leaves was never to be in the part. That goes on, unless it has a rank on a machine
// for which the other received. The first one elsewhere does not come before it is told.
static int go_on_without_who_has_left(int rank, const struct ranks *ranks, void *arg)
{
    const struct plan *plan = arg;
    const char *layout = plan->layout;
    char machine = layout[plan->who];
    bool leads = strchr(layout, machine) == layout + plan->who;
    size_t away = strspn(layout, (char[]){machine, '\0'}); // the first rank elsewhere
    bool deaf = leads && layout[away] != '\0' && strchr(layout + plan->who + 1, machine) != NULL;
    tern_comm *comm;
    tern_comm *part;
    CHECK(machines_join(rank, ranks, layout, &comm) == TERN_OK);
    CHECK(tern_comm_split(comm, rank == plan->who ? -1 : 0, 0, &part) == TERN_OK);
    CHECK(tern_comm_barrier(comm) == TERN_OK);
    if (rank == plan->who) {
        leave_the_job(comm, plan);
    }
    int64_t since_ns = tern__now_ns();
    int status = TERN_OK;
    while (deaf && (size_t)rank == away && status == TERN_OK) {
        status = tern__group_check(&part->group, true);
        poll(NULL, 0, 1);
    }
    status = status == TERN_OK ? tern_comm_barrier(part) : status;
    CHECK(status == (deaf ? TERN_ERR_PEER : TERN_OK));
    CHECK(!deaf || strstr(tern_last_error(), plan->fails ? "a reason" : "it received for") != NULL);
    CHECK(tern__now_ns() - since_ns < comm->group.job->timeout_ns / 2);
    end_when_all_are_told(plan);
    return 0;
}

static void one_leaves_the_job(rank_body body, int calls)
{
    static const char *const layouts[] = {"aab", "abb", "aaa", "ab", "abab"};
    for (size_t l = 0; l < (SANITIZED ? 1 : sizeof layouts / sizeof layouts[0]); l++) {
        int count = (int)strlen(layouts[l]);
        for (int i = 0; i < 2 * count * calls; i++) {
            struct plan plan = {.layout = layouts[l],
                                .who = i % count,
                                .fails = i / count % 2 != 0,
                                .call = (unsigned)(i / count / 2),
                                .told = ranks_shared(sizeof(_Atomic int))};
            struct ranks ranks;
            ranks_begin(&ranks, count, body, &plan);
            bool all = ranks_wait(&ranks, 90);
            for (int rank = 0; rank < count; rank++) {
                all = all && ranks.statuses[rank] == 0;
            }
            if (!all) {
                fail_msg("rank %d of %s leaves, %d, call %d", plan.who, plan.layout, plan.fails,
                         (int)plan.call);
            }
            machines_clean(&ranks);
            assert_true(ranks_end(&ranks));
        }
    }
}

static void who_has_left_the_job_is_awaited_in_no_part(void **state)
{
    one_leaves_the_job(wait_for_who_has_left, CALLS);
}

static void a_part_goes_on_if_it_can_hear(void **state)
{
    one_leaves_the_job(go_on_without_who_has_left, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_has_left_the_job_is_awaited_in_no_part),
        cmocka_unit_test(a_part_goes_on_if_it_can_hear),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
