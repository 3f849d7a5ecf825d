// SPDX-License-Identifier: Apache-2.0
// Watching and ending the processes of a launch. Nothing here trusts a process id that is not an
// unreaped child's, because any other may have become somebody else's.

#include "boot/launch_procs.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "boot/launch_guard.h"

// The guardian gives up before that; one that is stopped does not.
#define GUARDIAN_DEADLINE_NS (3 * TERN_NS_PER_SECOND)

// An id that is reaped may come back as that of another process.
static void forget_earlier(struct tern__procs *procs, pid_t pid)
{
    for (int i = 0; i < procs->nearlier; i++) {
        if (procs->earlier[i] == pid) {
            procs->earlier[i] = procs->earlier[--procs->nearlier];
            return;
        }
    }
}

static void rank_ended(struct tern__procs *procs, int rank, int status, int ended[], int *nended)
{
    procs->pids[rank] = 0;
    procs->status[rank] = status;
    procs->running--;
    ended[(*nended)++] = rank;
}

// What the guardian says.
static void listen_to_guardian(struct tern__procs *procs, int ended[], int *nended)
{
    struct tern__guard_word word;
    int heard = 0;
    while (procs->guard_fd >= 0 && (heard = tern__guard_hear(procs->guard_fd, false, &word)) == 1) {
        if (word.kind == TERN__GUARD_ENDED) {
            rank_ended(procs, word.rank, word.value, ended, nended);
        }
        procs->quiet = procs->quiet || word.kind == TERN__GUARD_QUIET;
    }
    if (heard < 0) {
        procs->orphaned = !procs->ending && procs->running > 0;
        close(procs->guard_fd);
        procs->guard_fd = -1;
    }
}

int tern__procs_reap(struct tern__procs *procs, int ended[TERN_RANKS_MAX])
{
    int nended = 0;
    int status;
    pid_t pid;
    listen_to_guardian(procs, ended, &nended);
    // Ranks are children of this process only when the guardian has been killed, which can be seen
    // here before its end of the socket closes: a thread of its own (ThreadSanitizer's) keeps that.
    while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
        procs->guardian = pid == procs->guardian ? 0 : procs->guardian;
        for (int rank = 0; rank < procs->nranks; rank++) {
            if (procs->pids[rank] == pid) {
                procs->orphaned = procs->orphaned || !procs->ending;
                rank_ended(procs, rank, status, ended, &nended);
            }
        }
        forget_earlier(procs, pid);
    }
    return nended;
}

bool tern__procs_left_behind(const struct tern__procs *procs)
{
    return procs->guard_fd >= 0
               ? !procs->quiet
               : tern__children_signal(procs->earlier, procs->nearlier, 0) > procs->running;
}

void tern__procs_signal_rank(struct tern__procs *procs, int rank, int number)
{
    if (procs->guard_fd >= 0) { // if it has just been killed, so are the ranks
        tern__guard_tell(procs->guard_fd, TERN__GUARD_SIGNAL_RANK, rank, number);
    } else if (procs->pids[rank] > 0) {
        kill(procs->pids[rank], number);
    }
}

void tern__procs_signal_ranks(struct tern__procs *procs, int number)
{
    for (int rank = 0; rank < procs->nranks; rank++) {
        tern__procs_signal_rank(procs, rank, number);
    }
}

void tern__procs_signal_group(struct tern__procs *procs, int number)
{
    if (procs->guard_fd >= 0) {
        tern__guard_tell(procs->guard_fd, TERN__GUARD_SIGNAL_GROUP, -1, number);
    } else { // without the guardian the group's id may be another's by now
        tern__procs_signal_ranks(procs, number);
    }
}

int tern__procs_exec_failure(struct tern__procs *procs)
{
    int error = 0;
    ssize_t got = read(procs->exec_fd, &error, sizeof error);
    if (got == 0) {
        close(procs->exec_fd);
        procs->exec_fd = -1;
    }
    return got == (ssize_t)sizeof error ? error : 0;
}

static void reap_all(void *arg)
{
    int ended[TERN_RANKS_MAX];
    tern__procs_reap(arg, ended);
}

static void end_guardian(struct tern__procs *procs)
{
    int64_t deadline_ns = tern__deadline_after(GUARDIAN_DEADLINE_NS);
    procs->ending = true;
    if (procs->guard_fd >= 0) {
        tern__guard_tell(procs->guard_fd, TERN__GUARD_END, -1, 0);
    }
    reap_all(procs);
    while (procs->guardian > 0 && tern__now_ns() < deadline_ns) {
        tern__children_await(deadline_ns);
        reap_all(procs);
    }
    if (procs->guardian > 0) {
        kill(procs->guardian, SIGKILL);
        waitpid(procs->guardian, NULL, 0);
        procs->guardian = 0;
    }
}

void tern__procs_end(struct tern__procs *procs)
{
    // Without a guardian nothing was started, and every child is an earlier one.
    if (procs->group != 0) {
        end_guardian(procs);
        tern__children_end(procs->earlier, procs->nearlier, procs->mark, reap_all, procs);
    }
    int *const fds[] = {&procs->guard_fd, &procs->exec_fd, &procs->port_fd};
    for (size_t i = 0; i < sizeof fds / sizeof fds[0]; i++) {
        if (*fds[i] >= 0) {
            close(*fds[i]);
            *fds[i] = -1;
        }
    }
}
