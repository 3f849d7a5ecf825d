// SPDX-License-Identifier: Apache-2.0
// tern_launch for several hosts: one poll loop from the first agent's start to the last one's end.

#include "boot/head.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/options.h"
#include "boot/env.h"
#include "boot/launch_label.h"
#include "boot/launch_signals.h"
#include "boot/listen.h"

// An agent whose branch is over, or is lost, has this long to end by itself.
#define FINISH_NS TERN_NS_PER_SECOND
#define SAME_SIGNAL_NS (20 * TERN_NS_PER_MS)
// A reader of the output that does not read cannot keep an interrupted job for longer.
#define INTERRUPTED_DRAIN_NS (100 * TERN_NS_PER_MS)
#define TERM_MS ((int)(TERN__TERM_AFTER_NS / TERN_NS_PER_MS))
#define KILL_MS ((int)(TERN__KILL_AFTER_NS / TERN_NS_PER_MS))

#define POLL_MAX (3 + 2 * TERN_RANKS_MAX + TERN__STRANGERS_MAX + TERN__LABEL_POLL_MAX)

static int64_t earlier(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static void take_signals(struct tern__job_head *head)
{
    struct tern__launch *job = &head->job;
    int number;
    bool from_terminal;
    while ((number = tern__signals_next(&job->signals, &from_terminal)) != 0) {
        if (number == SIGCHLD) {
            continue; // wakes the loop, which reaps
        }
        int64_t now_ns = tern__now_ns();
        bool again = job->signal != 0 && now_ns - job->signal_at_ns > SAME_SIGNAL_NS;
        tern__head_say(head, (struct tern__link_word){.kind = TERN__WORD_SIGNAL, .value = number},
                       NULL, 0);
        if (tern__signal_ends_job(number)) {
            job->signal = job->signal != 0 ? job->signal : number;
            job->signal_at_ns = now_ns;
            tern__head_end(head, CAUSE_SIGNAL, TERM_MS, again ? 0 : KILL_MS);
        }
    }
}

static void look_at_output(struct tern__job_head *head)
{
    int error = tern__labels_error(head->labels);
    if (error != 0 && head->job.error == 0) {
        head->job.error = error;
        tern__head_end(head, CAUSE_OUTPUT, 0, KILL_MS);
    }
}

// Whether reading standard input cannot stop this process: of a terminal, only the foreground may.
static bool may_read(const struct tern__job_head *head)
{
    pid_t foreground = tcgetpgrp(STDIN_FILENO);
    return head->reads && head->entries[0].input >= 0 && head->stdin_done == head->stdin_size &&
           head->entries[0].written == head->entries[0].size &&
           (foreground < 0 || foreground == getpgrp());
}

// Whether something waits to be written to the standard input of an agent.
static bool has_input(const struct tern__job_head *head, int at)
{
    const struct tern__entry *entry = &head->entries[at];
    return entry->written < entry->size || (at == 0 && head->stdin_done < head->stdin_size);
}

// Sleeps until something happens or `until_ns`, and does what that needs first.
static int await_events(struct tern__job_head *head, int64_t until_ns)
{
    struct pollfd fds[POLL_MAX];
    int count = 0;
    fds[count++] = (struct pollfd){.fd = head->job.signals.fd, .events = POLLIN};
    fds[count++] = (struct pollfd){.fd = may_read(head) ? STDIN_FILENO : -1, .events = POLLIN};
    // Others wait in the queue of the listener.
    bool room = tern__head_room(head) >= 0;
    fds[count++] = (struct pollfd){.fd = room ? head->listener : -1, .events = POLLIN};
    for (int i = 0; i < head->hosts.count; i++) {
        const struct tern__entry *entry = &head->entries[i];
        fds[count++] =
            (struct pollfd){.fd = has_input(head, i) ? entry->input : -1, .events = POLLOUT};
        fds[count++] = tern__link_pollfd(&entry->link);
    }
    for (int i = 0; i < TERN__STRANGERS_MAX; i++) {
        fds[count++] = tern__link_pollfd(&head->strangers[i]);
    }
    struct pollfd *labels = fds + count;
    int nlabels = tern__labels_pollfds(head->labels, labels, TERN__LABEL_POLL_MAX);
    count += nlabels;

    int64_t left_ns = until_ns - tern__now_ns();
    struct timespec left = tern__timespec(left_ns > 0 ? left_ns : 0);
    if (ppoll(fds, (nfds_t)count, until_ns == INT64_MAX ? NULL : &left, NULL) < 0) {
        return errno == EINTR ? TERN_OK
                              : tern__fail_errno(TERN_ERR_SYSTEM, "tern_launch: cannot poll");
    }
    tern__labels_handle(head->labels, labels, nlabels);
    look_at_output(head);
    tern__head_accept(head);
    tern__head_reap(head);
    tern__head_feed(head, fds[1].revents != 0);
    if (fds[0].revents != 0) {
        take_signals(head);
    }
    return TERN_OK;
}

static bool is_over(struct tern__job_head *head)
{
    bool ended = true;
    bool done = true;
    for (int i = 0; i < head->hosts.count; i++) {
        const struct tern__entry *entry = &head->entries[i];
        ended = ended && (entry->over || entry->dismissed);
        done = done && entry->agent == 0;
    }
    if (ended && head->finish_ns == INT64_MAX) {
        head->finish_ns = tern__deadline_after(FINISH_NS);
    }
    if (ended && !done && tern__now_ns() >= head->finish_ns) {
        for (int i = 0; i < head->hosts.count; i++) {
            tern__head_kill(head, i);
        }
        head->finish_ns = tern__deadline_after(FINISH_NS);
    }
    return ended && done;
}

static int run(struct tern__job_head *head)
{
    for (;;) {
        int64_t next_ns = tern__head_turn(head);
        if (tern__now_ns() >= head->job.timeout_at_ns) {
            head->job.timeout_at_ns = INT64_MAX;
            tern__head_end(head, CAUSE_TIMEOUT, 0, KILL_MS);
        }
        if (is_over(head)) { // which the turn may have made it: nothing else would end the sleep
            return TERN_OK;
        }
        next_ns = earlier(next_ns, earlier(head->job.timeout_at_ns, head->finish_ns));
        TERN_TRY(await_events(head, next_ns));
    }
}

// Nothing runs any more: writes what is left of the output.
static void drain_output(struct tern__job_head *head)
{
    struct tern__launch *job = &head->job;
    int64_t until_ns = job->timeout_at_ns;
    if (job->signal != 0 || job->cause == CAUSE_TIMEOUT) {
        until_ns = tern__deadline_after(INTERRUPTED_DRAIN_NS);
    }
    int signal_before = job->signal;
    while (!tern__labels_finish(head->labels)) {
        if (tern__now_ns() >= until_ns || job->signal != signal_before ||
            await_events(head, until_ns) < 0) {
            job->output_cut = true;
            break;
        }
    }
    look_at_output(head);
    if (job->output_cut && job->signal == 0 && job->cause == CAUSE_NONE) {
        job->cause = CAUSE_TIMEOUT;
    }
}

static int start(struct tern__job_head *head)
{
    struct tern__labels_plan labels = {.nranks = head->hosts.count};
    if (!tern__procs_list_earlier(&head->procs)) {
        return tern__fail(TERN_ERR_STATE, "tern_launch: this process has too many children");
    }
    uint8_t mark[16];
    char text[33];
    TERN_TRY(tern__token_random(mark));
    tern__token_write(mark, text);
    snprintf(head->mark, sizeof head->mark, "TERN_AGENT=%s", text);
    TERN_TRY(tern__token_random(head->token));
    TERN_TRY(tern__listen(&head->listener, &head->port));
    fcntl(head->listener, F_SETFL, O_NONBLOCK);
    TERN_TRY(tern__labels_create(&labels, &head->labels));
    if (head->options->trace != NULL) {
        TERN_TRY(tern__head_trace_create(head));
    }
    TERN_TRY(tern__head_start(head));
    head->start_until_ns = tern__deadline_after(head->start_ns);
    return TERN_OK;
}

// An agent that ended with its branch says better why that is gone.
static void refine_cause(struct tern__job_head *head)
{
    const struct tern__entry *entry = &head->entries[head->lost >= 0 ? head->lost : 0];
    if (head->lost < 0 || entry->agent_ended_ns == 0 || entry->agent_status == 0 ||
        entry->link.state == TERN__LINK_SILENT) {
        return;
    }
    head->job.host_status = tern__head_agent_exit(entry);
    snprintf(head->job.host_text, sizeof head->job.host_text, "%s is lost: %s",
             tern__head_host(head, head->lost).text, tern__head_agent(entry).text);
}

static int launch(struct tern__job_head *head, int *exit_status)
{
    int status = start(head);
    if (status == TERN_OK) {
        status = run(head);
    }
    refine_cause(head);
    tern__head_cleanup(head);
    if (status == TERN_OK) {
        for (int i = 0; i < head->hosts.count; i++) {
            tern__labels_keep(head->labels, i, false);
        }
        drain_output(head);
        *exit_status = tern__launch_report(&head->job);
        int saved = head->trace != NULL ? tern__head_trace_save(head) : 0;
        *exit_status = *exit_status != 0 ? *exit_status : saved;
    }
    tern__head_trace_destroy(head);
    tern__labels_destroy(head->labels);
    return status;
}

static int check(const tern_launch_options *options, struct tern__job_head *head)
{
    TERN_TRY(tern__hosts_read(options->hosts, &head->hosts));
    TERN_TRY(tern__net_timeout_option(&head->silence_ns));
    TERN_TRY(tern__timeout_option(0, &head->start_ns));
    if (options->nranks != 0 && options->nranks != head->hosts.nranks) {
        return tern__fail(TERN_ERR_ARG,
                          "tern_launch: %d ranks are asked for, but the hosts have %d",
                          options->nranks, head->hosts.nranks);
    }
    if (options->agent != NULL && (options->agent[0] == '\0' || strlen(options->agent) > 4000)) {
        return tern__fail(TERN_ERR_ARG, "tern_launch: the agent is no command");
    }
    return TERN_OK;
}

int tern__head_launch(const tern_launch_options *options, int *exit_status)
{
    struct tern__job_head *head = calloc(1, sizeof *head);
    if (head == NULL) {
        return tern__fail(TERN_ERR_MEMORY, "tern_launch: no memory for the hosts");
    }
    head->options = options;
    head->job = tern__launch_new(options);
    head->job.hosts = &head->hosts;
    head->lost = -1;
    head->listener = -1;
    head->reads = true;
    head->start_until_ns = INT64_MAX;
    head->finish_ns = INT64_MAX;
    for (int i = 0; i < TERN_RANKS_MAX; i++) {
        head->entries[i].input = -1;
        head->entries[i].link.fd = -1;
        head->entries[i].gather_until_ns = INT64_MAX;
    }
    for (int i = 0; i < TERN__STRANGERS_MAX; i++) {
        head->strangers[i].fd = -1;
    }
    int status = check(options, head);
    if (status == TERN_OK) {
        int opened[3];
        int nopened = tern__launch_open_standard(opened);
        head->job.procs.nranks = head->hosts.nranks;
        status = tern__signals_take(&head->job.signals);
        if (status == TERN_OK) {
            status = launch(head, exit_status);
            tern__signals_give_back(&head->job.signals);
        }
        while (nopened > 0) {
            close(opened[--nopened]);
        }
    }
    free(head);
    return status;
}
