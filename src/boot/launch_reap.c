// SPDX-License-Identifier: Apache-2.0
// Ranks that have ended: how, and which of them the others failed because of.

#include <poll.h>
#include <sys/wait.h>

#include "boot/branch.h"
#include "boot/hub.h"
#include "boot/launch_job.h"
#include "boot/launch_procs.h"

#define HUB_ROUNDS_MAX 8

// Handles what the ranks have sent up to now.
static void listen_to_ranks(struct tern__launch *job)
{
    struct pollfd fds[TERN__HUB_POLL_MAX];
    for (int round = 0; round < HUB_ROUNDS_MAX; round++) {
        int count = tern__hub_pollfds(job->hub, fds, TERN__HUB_POLL_MAX);
        if (count <= 0 || poll(fds, (nfds_t)count, 0) <= 0) {
            return;
        }
        for (int i = 0; i < count; i++) {
            if (fds[i].revents != 0) {
                tern__hub_handle(job->hub, &fds[i]);
            }
        }
    }
}

// Tells the hub that a rank has ended and remembers how.
static void tell_end(struct tern__launch *job, int rank)
{
    int status = job->procs.status[rank];
    if (WIFSIGNALED(status) &&
        !tern__hub_rank_is_in(job->hub, rank, job->in_call[rank], sizeof job->in_call[rank])) {
        job->in_call[rank][0] = '\0';
    }
    bool deserted = tern__hub_rank_ended(job->hub, rank, status);
    // Whoever gives in to a signal of ours has not failed on its own.
    bool obeyed = WIFSIGNALED(status) && (job->sent >> WTERMSIG(status) & 1) != 0;
    job->fell[rank] = !obeyed && (status != 0 || deserted);
    job->deserted[rank] = deserted;
}

// Of the ranks that were found ended together: the one that the others blame, else one that a
// signal killed (the others' errors follow from it), else the lowest.
static int find_culprit(const struct tern__launch *job, const int *ended, int nended, int suspect)
{
    int culprit = TERN_RANKS_MAX;
    bool killed = false;
    for (int i = 0; i < nended; i++) {
        int rank = ended[i];
        if (!job->fell[rank]) {
            continue;
        }
        if (rank == suspect) {
            return rank;
        }
        bool rank_killed = WIFSIGNALED(job->procs.status[rank]);
        if (rank_killed == killed ? rank < culprit : rank_killed) {
            culprit = rank;
            killed = rank_killed;
        }
    }
    return culprit < TERN_RANKS_MAX ? culprit : -1;
}

bool tern__launch_reap(struct tern__launch *job)
{
    int ended[TERN_RANKS_MAX];
    int nended = tern__procs_reap(&job->procs, ended);
    if (job->procs.orphaned) {
        tern__launch_end(job, CAUSE_GUARDIAN, 0, 0);
    }
    if (nended == 0) {
        return false;
    }
    // What they said before they ended comes first, and so does whom they blame: our own news would
    // change it. For the same reason those that a signal killed are announced first.
    listen_to_ranks(job);
    int suspect = tern__hub_blamed(job->hub);
    for (int signalled = 1; signalled >= 0; signalled--) {
        for (int i = 0; i < nended; i++) {
            if ((WIFSIGNALED(job->procs.status[ended[i]]) ? 1 : 0) == signalled) {
                tell_end(job, ended[i]);
                if (job->branch != NULL) {
                    tern__branch_tell_end(job, ended[i], suspect);
                }
            }
        }
    }
    int culprit = find_culprit(job, ended, nended, suspect);
    if (culprit < 0 || job->culprit >= 0) {
        return false;
    }
    job->culprit = culprit;
    // A large process can be seen dead by its peers before it can be reaped.
    job->suspect = suspect >= 0 && job->procs.pids[suspect] > 0 ? suspect : -1;
    return true;
}
