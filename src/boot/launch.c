// SPDX-License-Identifier: Apache-2.0
// tern_launch: one poll loop from the first rank's start to the last one's end.
//
// How a job ends: the first failure, signal or timeout decides the cause and sets two points in
// time, for SIGTERM and for SIGKILL; later ones change nothing but a second signal, which means
// SIGKILL at once. When no rank is left, whatever the ranks left behind has a moment to finish
// writing, and is killed. The loop sleeps in ppoll until something happens or the next of these
// points is reached.

#include "tern/launch.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/options.h"
#include "base/process.h"
#include "boot/branch.h"
#include "boot/env.h"
#include "boot/head.h"
#include "boot/hub.h"
#include "boot/launch_job.h"
#include "boot/launch_label.h"
#include "boot/launch_trace.h"
#include "tern/file.h"
#include "boot/launch_procs.h"
#include "boot/launch_signals.h"
#include "boot/words.h"

// What `exec > >(tee log)` in a rank leaves behind is given this long to see its end of file;
// longer, but not for ever, while some of it runs or waits for a processor.
#define LINGER_NS (100 * TERN_NS_PER_MS)
#define LINGER_MOST_NS (5 * TERN_NS_PER_SECOND)
// A reader of labelled output that does not read cannot keep an interrupted job for longer.
#define INTERRUPTED_DRAIN_NS (100 * TERN_NS_PER_MS)

#define POLL_MAX (4 + TERN__LABEL_POLL_MAX + TERN__HUB_POLL_MAX)

static void reap(struct tern__launch *job)
{
    if (tern__launch_reap(job)) {
        tern__launch_end(job, CAUSE_RANK, TERN__TERM_AFTER_NS, TERN__KILL_AFTER_NS);
    }
}

static void take_signals(struct tern__launch *job)
{
    int number;
    bool from_terminal;
    while ((number = tern__signals_next(&job->signals, &from_terminal)) != 0) {
        if (number != SIGCHLD) { // which wakes the loop, which reaps
            tern__launch_obey(job, number, from_terminal);
        }
    }
}

static void look_at_exec(struct tern__launch *job)
{
    int error = tern__procs_exec_failure(&job->procs);
    if (error != 0) {
        if (job->cause == CAUSE_NONE) {
            job->error = error;
        }
        tern__launch_end(job, CAUSE_EXEC, INT64_MAX, 0);
    }
}

static void look_at_output(struct tern__launch *job)
{
    int error = job->labels != NULL ? tern__labels_error(job->labels) : 0;
    if (error != 0 && job->error == 0) {
        job->error = error;
        // Of a branch the agent has ended, perhaps since the head hears this host no more: its
        // ranks may say that in their files.
        int64_t term_ms = job->branch != NULL ? TERN__SILENT_TERM_MS : 0;
        tern__launch_end(job, CAUSE_OUTPUT, term_ms * TERN_NS_PER_MS, TERN__KILL_AFTER_NS);
    }
}

// Sleeps until something happens or `until_ns`, and handles it.
static int handle_events(struct tern__launch *job, int64_t until_ns)
{
    struct pollfd fds[POLL_MAX];
    int count = 0;
    fds[count++] = (struct pollfd){.fd = job->signals.fd, .events = POLLIN};
    // poll passes over a negative descriptor.
    fds[count++] = (struct pollfd){.fd = job->procs.exec_fd, .events = POLLIN};
    fds[count++] = (struct pollfd){.fd = job->procs.guard_fd, .events = POLLIN};
    fds[count++] =
        job->branch != NULL ? tern__link_pollfd(&job->branch->link) : (struct pollfd){.fd = -1};
    int nlabels = 0;
    if (job->labels != NULL) {
        nlabels = tern__labels_pollfds(job->labels, fds + count, TERN__LABEL_POLL_MAX);
    }
    const struct pollfd *labels = fds + count;
    count += nlabels;
    const struct pollfd *hub = fds + count;
    int nhub = job->hub != NULL ? tern__hub_pollfds(job->hub, fds + count, TERN__HUB_POLL_MAX) : 0;
    count += nhub;

    int64_t left_ns = until_ns - tern__now_ns();
    struct timespec left = tern__timespec(left_ns > 0 ? left_ns : 0);
    if (ppoll(fds, (nfds_t)count, until_ns == INT64_MAX ? NULL : &left, NULL) < 0) {
        return errno == EINTR ? TERN_OK
                              : tern__fail_errno(TERN_ERR_SYSTEM, "tern_launch: cannot poll");
    }
    for (int i = 0; i < nhub; i++) {
        if (hub[i].revents != 0) {
            tern__hub_handle(job->hub, &hub[i]);
        }
    }
    // Before the signals: a failed exec is reported before its process ends.
    if (job->procs.exec_fd >= 0) {
        look_at_exec(job);
    }
    if (job->labels != NULL) {
        tern__labels_handle(job->labels, labels, nlabels);
        look_at_output(job);
    }
    if (fds[0].revents != 0) {
        take_signals(job);
    }
    if (fds[0].revents != 0 || fds[2].revents != 0) {
        reap(job);
    }
    return TERN_OK;
}

// True when no rank runs and what they left behind has ended or had its moment.
static bool is_over(struct tern__launch *job)
{
    if (job->procs.running > 0) {
        return false;
    }
    if (job->linger_until_ns == 0) {
        bool interrupted = (job->cause != CAUSE_NONE && job->cause != CAUSE_RANK) ||
                           (job->sent >> SIGKILL & 1) != 0;
        job->linger_until_ns = tern__deadline_after(interrupted ? 0 : LINGER_NS);
        job->linger_end_ns = tern__deadline_after(interrupted ? 0 : LINGER_MOST_NS);
    }
    if (!tern__procs_left_behind(&job->procs)) {
        return true;
    }
    int64_t now_ns = tern__now_ns();
    if (now_ns < job->linger_until_ns) {
        return false;
    }
    bool goes_on = now_ns < job->linger_end_ns && job->signal == 0 && job->procs.guardian > 0 &&
                   tern__descendants_run(job->procs.guardian);
    job->linger_until_ns = goes_on ? now_ns + LINGER_NS : job->linger_until_ns;
    return !goes_on;
}

static int64_t turn_branch(struct tern__launch *job)
{
    return job->branch != NULL ? tern__branch_turn(job) : INT64_MAX;
}

static int run_job(struct tern__launch *job)
{
    while (!is_over(job)) {
        int64_t turn_ns = turn_branch(job); // first: what it hears sets points in time
        int64_t next_ns = tern__launch_look_at_clock(job);
        TERN_TRY(handle_events(job, turn_ns < next_ns ? turn_ns : next_ns));
    }
    return TERN_OK;
}

// Nothing of the job lives any more: writes what is left of its output, until that is done, or a
// signal or the timeout says otherwise.
static void drain_output(struct tern__launch *job)
{
    int64_t until_ns = job->timeout_at_ns;
    if (job->signal != 0 || job->cause == CAUSE_TIMEOUT) {
        until_ns = tern__deadline_after(INTERRUPTED_DRAIN_NS);
    }
    int signal_before = job->signal;
    while (!tern__labels_finish(job->labels)) {
        int64_t turn_ns = turn_branch(job);
        bool lost = job->branch != NULL && tern__branch_is_lost(job->branch);
        if (tern__now_ns() >= until_ns || job->signal != signal_before || lost ||
            handle_events(job, turn_ns < until_ns ? turn_ns : until_ns) < 0) {
            job->output_cut = true;
            break;
        }
    }
    look_at_output(job);
    if (job->output_cut && job->signal == 0 && job->cause == CAUSE_NONE) {
        job->cause = CAUSE_TIMEOUT;
    }
}

static int start_job(struct tern__launch *job)
{
    const tern_launch_options *options = job->options;
    const struct tern__assignment *here = job->branch != NULL ? job->branch->assignment : NULL;
    struct tern__procs_plan plan = {.nranks = options->nranks,
                                    .first = here != NULL ? here->first : 0,
                                    .count = here != NULL ? here->count : options->nranks,
                                    .listens = here != NULL && here->machines > 1,
                                    .path = job->path,
                                    .argv = options->argv,
                                    .bind = options->bind,
                                    .signals = &job->signals};
    TERN_TRY(tern__token_random(plan.token));
    TERN_TRY(tern__hub_create(options->nranks, plan.token, &job->hub));
    if (here != NULL) {
        uint64_t ranks = UINT64_MAX >> (64 - here->count) << here->first;
        tern__hub_spread(job->hub, ranks, here->token, tern__branch_changed, job->branch);
    }
    if (options->label || options->output != NULL) {
        struct tern__labels_plan labels = {.nranks = plan.nranks,
                                           .first = plan.first,
                                           .count = plan.count,
                                           .label = options->label,
                                           .host = here != NULL ? here->host : NULL,
                                           .folder = options->output};
        TERN_TRY(tern__labels_create(&labels, &job->labels));
    }
    plan.hub = job->hub;
    plan.labels = job->labels;
    if (options->trace != NULL) {
        TERN_TRY(tern_file_probe(options->trace));
    }
    if (options->trace != NULL || (here != NULL && here->trace != 0)) {
        TERN_TRY(tern__traces_create(plan.first, plan.count, &job->traces));
    }
    plan.traces = job->traces;
    return tern__procs_start(&job->procs, &plan);
}

// From start to end; the signals are ours already.
static int launch(struct tern__launch *job, int *exit_status)
{
    int status = start_job(job);
    if (status == TERN_OK) {
        status = run_job(job);
    }
    tern__procs_end(&job->procs);
    tern__launch_end_stall(job);
    if (job->hub != NULL) {
        snprintf(job->failure, sizeof job->failure, "%s", tern__hub_failure(job->hub));
    }
    tern__hub_destroy(job->hub);
    job->hub = NULL;
    if (status == TERN_OK) {
        if (job->labels != NULL) {
            drain_output(job);
        }
        // A branch has told the head, which reports.
        *exit_status = job->branch != NULL ? 0 : tern__launch_report(job);
        if (job->traces != NULL && job->branch != NULL) {
            tern__branch_tell_trace(job);
        } else if (job->traces != NULL) {
            int saved = tern__traces_save(job->traces, job->options->trace, job->procs.status);
            *exit_status = *exit_status != 0 ? *exit_status : saved;
        }
    }
    tern__labels_destroy(job->labels);
    tern__traces_destroy(job->traces);
    return status;
}

int tern__launch_run(struct tern__launch *job, int *exit_status)
{
    TERN_TRY(tern__stall_option(&job->stall.after_ns));
    int opened[3];
    int nopened = tern__launch_open_standard(opened);
    int status = tern__signals_take(&job->signals);
    if (status == TERN_OK) {
        status = launch(job, exit_status);
        tern__signals_give_back(&job->signals);
    }
    while (nopened > 0) {
        close(opened[--nopened]);
    }
    return status;
}

static int check_options(const tern_launch_options *options, const int *exit_status)
{
    if (options == NULL || exit_status == NULL) {
        return tern__fail(TERN_ERR_ARG, "tern_launch: options or exit_status is NULL");
    }
    if (options->argv == NULL || options->argv[0] == NULL) {
        return tern__fail(TERN_ERR_ARG, "tern_launch: no program to start");
    }
    if (options->timeout_ns < 0) {
        return tern__fail(TERN_ERR_ARG, "tern_launch: a timeout of %" PRId64 " ns",
                          options->timeout_ns);
    }
    if (options->hosts != NULL) {
        return TERN_OK;
    }
    if (options->nranks < 1 || options->nranks > TERN_RANKS_MAX) {
        return tern__fail(TERN_ERR_ARG, "tern_launch: %d ranks; there can be 1 to %d",
                          options->nranks, TERN_RANKS_MAX);
    }
    if (options->agent != NULL || options->head_address != NULL || options->env != NULL) {
        return tern__fail(TERN_ERR_ARG, "tern_launch: an agent, an address of the head and "
                                        "variables are for jobs on several hosts, and none is "
                                        "named");
    }
    return TERN_OK;
}

int tern_launch(const tern_launch_options *options, int *exit_status)
{
    TERN_TRY(check_options(options, exit_status));
    tern__launch_speak_as(options->name);
    if (options->hosts != NULL) {
        return tern__head_launch(options, exit_status);
    }
    struct tern__launch job = tern__launch_new(options);
    int error = tern__program_find(options->argv[0], job.path);
    if (error != 0) {
        *exit_status = tern__launch_report_program(options->argv[0], error);
        return TERN_OK;
    }
    return tern__launch_run(&job, exit_status);
}
