// SPDX-License-Identifier: Apache-2.0
// Who is taken for the first that has died: rank 0, when it was letting in the rank that ended
// before it did. And how a rank ended: what the launcher says of it a moment later.
#include "support/cmocka.h"
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sync/job.h"

enum { RANKS = 3, SELF = 2 };

struct party {
    struct tern__job job;
    int inboxes[RANKS];
    pid_t processes[RANKS]; // 0: this one
};

// Ranks 0 and 1 are processes that end after so many milliseconds; rank 1 has entered, or not.
static struct party *begin(int ends_ms, bool entered)
{
    struct party *party = calloc(1, sizeof *party);
    assert_non_null(party);
    struct tern__job *job = &party->job;
    job->ctl = aligned_alloc(4096, (sizeof *job->ctl + 4095) / 4096 * 4096);
    assert_non_null(job->ctl);
    memset(job->ctl, 0, sizeof *job->ctl);
    job->ctl->nranks = RANKS;
    job->nranks = RANKS;
    job->rank = SELF;
    for (int rank = 0; rank < RANKS; rank++) {
        int ends[2];
        assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
        job->outbox[rank] = ends[0];
        party->inboxes[rank] = ends[1];
        job->pidfd[rank] = -1;
        tern__poke(&job->ctl->ranks[rank].threads, rank != 1 || entered);
        tern__publish(&job->ctl->ranks[rank].state, TERN__RANK_ACTIVE);
        if (rank != SELF) {
            party->processes[rank] = fork();
            if (party->processes[rank] == 0) {
                poll(NULL, 0, rank == 0 ? ends_ms : 0);
                _exit(0);
            }
            job->pidfd[rank] = (int)syscall(SYS_pidfd_open, party->processes[rank], 0);
            assert_true(job->pidfd[rank] >= 0);
        }
    }
    struct pollfd end = {.fd = job->pidfd[1], .events = POLLIN};
    assert_int_equal(poll(&end, 1, -1), 1);
    return party;
}

static void finish(struct party *party)
{
    for (int rank = 0; rank < RANKS; rank++) {
        close(party->job.outbox[rank]);
        close(party->inboxes[rank]);
        if (party->job.pidfd[rank] >= 0) {
            close(party->job.pidfd[rank]);
            assert_int_equal(waitpid(party->processes[rank], NULL, 0), party->processes[rank]);
        }
    }
    free(party->job.ctl);
    free(party);
}

static void who_ends_before_it_was_let_in_waits_for_rank_0(void **state)
{
    struct party *party = begin(50, false);
    tern__job_look(&party->job);
    assert_int_equal(tern__ctl_first_dead(party->job.ctl), 0);
    assert_int_equal(tern__peek(&party->job.ctl->ranks[1].state), TERN__RANK_DEAD);
    finish(party);
}

static void while_rank_0_lives_it_is_not_blamed(void **state)
{
    struct party *party = begin(1500, false);
    tern__job_look(&party->job);
    assert_int_equal(tern__ctl_first_dead(party->job.ctl), 1);
    assert_int_equal(tern__peek(&party->job.ctl->ranks[0].state), TERN__RANK_ACTIVE);
    finish(party);
}

static void who_had_entered_is_named_at_once(void **state)
{
    struct party *party = begin(1500, true);
    tern__job_look(&party->job);
    assert_int_equal(tern__ctl_first_dead(party->job.ctl), 1);
    finish(party);
}

static void *launcher(void *arg)
{
    struct tern__ctl *ctl = arg;
    poll(NULL, 0, 20);
    tern__poke(&ctl->ranks[1].wait_status, 9); // killed by signal 9
    tern__publish(&ctl->ranks[1].ended, TERN__END_STATUS);
    tern__ctl_mark_dead(ctl, 1);
    return NULL;
}

static void what_the_launcher_says_is_waited_for(void **state)
{
    struct party *party = begin(1500, true);
    pthread_t thread;
    char text[160];
    party->job.launched = true;
    assert_int_equal(pthread_create(&thread, NULL, launcher, party->job.ctl), 0);
    tern__job_look(&party->job);
    tern__ctl_death_text(party->job.ctl, 1, text, sizeof text);
    assert_string_equal(text, "rank 1 was killed by signal 9 (Killed)");
    pthread_join(thread, NULL);
    finish(party);
}

static void a_launcher_that_says_nothing_is_not_waited_for_for_ever(void **state)
{
    struct party *party = begin(0, true);
    char text[160];
    party->job.launched = true;
    tern__poke(&party->job.ctl->ranks[1].pid, 417);
    tern__job_look(&party->job);
    tern__ctl_death_text(party->job.ctl, 1, text, sizeof text);
    assert_string_equal(text, "rank 1 died (process 417 is gone)");
    finish(party);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_ends_before_it_was_let_in_waits_for_rank_0),
        cmocka_unit_test(while_rank_0_lives_it_is_not_blamed),
        cmocka_unit_test(who_had_entered_is_named_at_once),
        cmocka_unit_test(what_the_launcher_says_is_waited_for),
        cmocka_unit_test(a_launcher_that_says_nothing_is_not_waited_for_for_ever),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
