// SPDX-License-Identifier: Apache-2.0
// How a job is ended: the points in time for SIGTERM and SIGKILL, and signals on their way to the
// ranks.

#include "boot/launch_job.h"

#include "base/clock.h"
#include "base/process.h"
#include "boot/branch.h"
#include "boot/hub.h"

#define DUMP_LOOK_NS (50 * TERN_NS_PER_MS)
// timeout(1) signals a process and its group: two deliveries of one intention.
#define SAME_SIGNAL_NS (20 * TERN_NS_PER_MS)

static int64_t earlier(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

void tern__launch_end(struct tern__launch *job, enum tern__cause cause, int64_t term_after_ns,
                      int64_t kill_after_ns)
{
    if (job->cause == CAUSE_NONE) {
        job->cause = cause;
        if (job->branch != NULL) {
            tern__branch_tell_cause(job);
        }
    }
    job->term_at_ns = earlier(job->term_at_ns, tern__deadline_after(term_after_ns));
    job->kill_at_ns = earlier(job->kill_at_ns, tern__deadline_after(kill_after_ns));
}

// To the whole group, as a terminal would.
static void send_end(struct tern__launch *job, int number)
{
    job->sent |= UINT64_C(1) << number;
    tern__procs_signal_group(&job->procs, number);
}

// Kills the ranks alone, for the guardian must live. After a failure that nobody is waiting to get
// over with, a rank that writes its core may finish that: false while there is one.
static bool kill_ranks(struct tern__launch *job)
{
    bool spares = job->cause == CAUSE_RANK && job->signal == 0 && !job->timed_out;
    bool spared = false;
    for (int rank = 0; rank < job->procs.nranks; rank++) {
        if (spares && job->procs.pids[rank] > 0 && tern__process_dumps(job->procs.pids[rank])) {
            spared = true;
        } else {
            tern__procs_signal_rank(&job->procs, rank, SIGKILL);
        }
    }
    job->sent |= UINT64_C(1) << SIGKILL;
    return !spared;
}

// A debugger or a shell that is rank 0 and reads the terminal: it handles what is typed there
// itself, and is not what has joined the job.
static bool is_for_rank_0(const struct tern__launch *job, int number, bool from_terminal)
{
    pid_t pid = job->procs.pids[0];
    return from_terminal && job->procs.terminal && number != SIGHUP && pid > 0 &&
           tern__hub_rank_process(job->hub, 0) != pid && tern__process_catches(pid, number);
}

void tern__launch_obey(struct tern__launch *job, int number, bool from_terminal)
{
    if (!tern__signal_ends_job(number)) {
        tern__procs_signal_ranks(&job->procs, number);
        return;
    }
    if (is_for_rank_0(job, number, from_terminal)) {
        return;
    }
    int64_t now_ns = tern__now_ns();
    bool again = job->signal != 0 && now_ns - job->signal_at_ns > SAME_SIGNAL_NS;
    job->signal_at_ns = now_ns;
    if (job->signal == 0) {
        job->signal = number;
    }
    if (job->procs.running > 0) {
        send_end(job, number);
        if (job->procs.terminal && !from_terminal) { // which has sent it to rank 0 already
            tern__procs_signal_rank(&job->procs, 0, number);
        }
    }
    tern__launch_end(job, CAUSE_SIGNAL, TERN__TERM_AFTER_NS, again ? 0 : TERN__KILL_AFTER_NS);
}

int64_t tern__launch_look_at_clock(struct tern__launch *job)
{
    int64_t now_ns = tern__now_ns();
    if (now_ns >= job->timeout_at_ns) {
        job->timeout_at_ns = INT64_MAX;
        job->timed_out = true;
        tern__launch_end(job, CAUSE_TIMEOUT, 0, TERN__KILL_AFTER_NS);
    }
    if (now_ns >= job->kill_at_ns) {
        job->term_at_ns = INT64_MAX;
        job->kill_at_ns = kill_ranks(job) ? INT64_MAX : tern__deadline_after(DUMP_LOOK_NS);
    }
    if (now_ns >= job->term_at_ns) {
        job->term_at_ns = INT64_MAX;
        send_end(job, SIGTERM);
        if (job->procs.terminal) {
            tern__procs_signal_rank(&job->procs, 0, SIGTERM);
        }
    }
    int64_t next_ns = earlier(job->timeout_at_ns, earlier(job->term_at_ns, job->kill_at_ns));
    if (job->linger_until_ns != 0) {
        next_ns = earlier(next_ns, job->linger_until_ns);
    }
    next_ns = earlier(next_ns, tern__launch_look_at_lag(job, now_ns));
    next_ns = earlier(next_ns, tern__launch_look_at_stall(job, now_ns));
    return earlier(next_ns, tern__hub_expire(job->hub));
}
