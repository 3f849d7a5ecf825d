// SPDX-License-Identifier: Apache-2.0
// What a branch hears from the head and says to it.

#include "boot/branch.h"

#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/options.h"
#include "boot/dial.h"
#include "boot/hub.h"
#include "boot/launch_job.h"
#include "boot/words.h"

// Of a head that is there, but cannot be reached.
#define DIAL_NS (10 * TERN_NS_PER_SECOND)
#define EXIT_LOST 137
#define LEAVE_NS TERN_NS_PER_SECOND
// Ranks that can still learn from one another what has happened have this long to say it.
#define SILENT_TERM_NS (300 * TERN_NS_PER_MS)
#define SILENT_KILL_NS (500 * TERN_NS_PER_MS)

static void say(struct tern__branch *branch, struct tern__link_word word, const void *payload,
                size_t bytes)
{
    word.bytes = (uint32_t)bytes;
    tern__link_say(&branch->link, &word, payload);
}

int tern__branch_join(struct tern__branch *branch, const struct tern__assignment *assignment)
{
    char addresses[TERN__DIAL_TEXT_BYTES + 64];
    int64_t silence_ns;
    int fd;
    *branch = (struct tern__branch){.assignment = assignment, .link = {.fd = -1}};
    TERN_TRY(tern__net_timeout_option(&silence_ns));
    // ssh knows from where it was called, which is the likeliest of all.
    const char *caller = assignment->told == 0 ? getenv("SSH_CONNECTION") : NULL;
    int length = caller != NULL ? (int)strcspn(caller, " ") : 0;
    length = length < 60 ? length : 0;
    snprintf(addresses, sizeof addresses, "%.*s%s%s", length, caller != NULL ? caller : "",
             length > 0 ? "," : "", assignment->addresses);
    TERN_TRY(tern__dial(addresses, assignment->port, tern__deadline_after(DIAL_NS), &fd));
    TERN_TRY(tern__link_open(&branch->link, fd, silence_ns));
    struct tern__word_join join = {.machine = assignment->machine};
    memcpy(join.token, assignment->token, sizeof join.token);
    const char *address = getenv("TERN_NET_ADDRESS");
    snprintf(join.address, sizeof join.address, "%s", address != NULL ? address : "");
    say(branch, (struct tern__link_word){.kind = TERN__WORD_JOIN}, &join, sizeof join);
    return TERN_OK;
}

void tern__branch_changed(void *branch)
{
    ((struct tern__branch *)branch)->changed = true;
}

bool tern__branch_is_lost(const struct tern__branch *branch)
{
    return branch->link.state != TERN__LINK_OPEN;
}

void tern__branch_fail(struct tern__branch *branch, int exit_status, const char *format, ...)
{
    char text[640];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    struct tern__link_word word = {.kind = TERN__WORD_FAIL, .value = exit_status};
    say(branch, word, text, strlen(text) + 1);
}

void tern__branch_tell_cause(struct tern__launch *job)
{
    char text[640];
    int status = tern__launch_cause(job, text, sizeof text);
    if (job->cause == CAUSE_SIGNAL && !job->branch->obeys) {
        status = 128 + job->signal;
        snprintf(text, sizeof text, "its launcher was ended by signal %d (%s)", job->signal,
                 strsignal(job->signal));
    }
    if (status >= 0) {
        tern__branch_fail(job->branch, status, "%s", text);
    }
}

void tern__branch_tell_end(struct tern__launch *job, int rank, int suspect)
{
    const char *in_call = job->in_call[rank];
    struct tern__link_word word = {.kind = TERN__WORD_ENDED,
                                   .rank = rank,
                                   .value = job->procs.status[rank]};
    word.number = (uint64_t)(job->fell[rank] ? TERN__WORD_FELL : 0) |
                  (uint64_t)(job->deserted[rank] ? TERN__WORD_DESERTED : 0) |
                  (uint64_t)(suspect + 1) * TERN__WORD_SUSPECT;
    say(job->branch, word, in_call, strlen(in_call) + 1);
}

static void go(struct tern__launch *job, const struct tern__link_word *word, const void *payload)
{
    struct tern__machines machines;
    if (word->bytes == sizeof machines) {
        memcpy(&machines, payload, sizeof machines);
        machines.mine = job->branch->assignment->machine;
        job->branch->generation++;
        tern__hub_release(job->hub, &machines);
    }
}

static void obey(struct tern__launch *job, const struct tern__link_word *word, const void *payload)
{
    char text[640];
    switch ((enum tern__word)word->kind) {
    case TERN__WORD_GO:
        go(job, word, payload);
        break;
    case TERN__WORD_GIVE_UP:
        snprintf(text, sizeof text, "%.*s", (int)word->bytes, (const char *)payload);
        job->branch->generation++;
        tern__hub_give_up(job->hub, word->value, text);
        break;
    case TERN__WORD_END:
        tern__launch_end(job, CAUSE_HEAD, word->value * TERN_NS_PER_MS,
                         word->rank * TERN_NS_PER_MS);
        break;
    case TERN__WORD_SIGNAL:
        if (word->value > 0 && word->value < 64) {
            tern__launch_obey(job, word->value, false);
        }
        break;
    case TERN__WORD_RANK_ENDED:
        if (word->rank >= 0 && word->rank < job->procs.nranks) {
            tern__hub_remote_ended(job->hub, word->rank, word->value,
                                   (word->number & TERN__WORD_DESERTED) != 0);
        }
        break;
    case TERN__WORD_CLOCK:
        tern__branch_hear_clock(job->branch, word);
        break;
    case TERN__WORD_GONE:
        tern__hub_remote_gone(job->hub, word->number, word->value);
        break;
    case TERN__WORD_LIFE:
    case TERN__WORD_JOIN:
    case TERN__WORD_PRESENT:
    case TERN__WORD_ENDED:
    case TERN__WORD_FAIL:
    case TERN__WORD_FAILURE:
    case TERN__WORD_ASK_CLOCK:
    case TERN__WORD_CLOCKS:
    case TERN__WORD_TRACK:
    case TERN__WORD_EVENTS:
    case TERN__WORD_TRACED:
    case TERN__WORD_OVER:
        break; // a branch is not told these
    }
}

static void lose_head(struct tern__launch *job)
{
    struct tern__link *link = &job->branch->link;
    if (link->fd < 0) {
        return; // said already
    }
    if (link->state == TERN__LINK_SILENT) {
        double silence_s = (double)link->silence_ns * 1e-9;
        link->state = TERN__LINK_OPEN; // the way to the head may still be good
        tern__branch_fail(job->branch, EXIT_LOST, "has heard nothing from the head for %.3g s",
                          silence_s);
        tern__launch_say("on %s: the head of the job has been silent for %.3g s\n",
                         job->branch->assignment->host, silence_s);
        if (job->hub != NULL) { // through the head came all news of the other machines
            tern__hub_remote_gone(job->hub, (UINT64_MAX >> (64 - job->procs.nranks)),
                                  (int32_t)(link->silence_ns / TERN_NS_PER_MS));
        }
        tern__launch_end(job, CAUSE_HEAD, SILENT_TERM_NS, SILENT_KILL_NS);
    } else {
        tern__launch_say("on %s: the head of the job is gone\n", job->branch->assignment->host);
        tern__launch_end(job, CAUSE_HEAD, 0, 0);
    }
    tern__link_close(link);
}

static void tell_present(struct tern__launch *job)
{
    struct tern__hub_present present;
    struct tern__link_word word = {.kind = TERN__WORD_PRESENT, .value = job->branch->generation};
    tern__hub_present(job->hub, &present);
    say(job->branch, word, &present, sizeof present);
    job->branch->changed = false;
}

int64_t tern__branch_turn(struct tern__launch *job)
{
    struct tern__branch *branch = job->branch;
    struct tern__link_word word;
    const void *payload;
    int64_t next_ns = tern__link_turn(&branch->link);
    branch->obeys = true;
    while (job->hub != NULL && tern__link_hear(&branch->link, &word, &payload)) {
        obey(job, &word, payload);
    }
    branch->obeys = false;
    if (branch->changed && job->hub != NULL) {
        tell_present(job);
    }
    if (job->traces != NULL && branch->asked_ns == 0) {
        tern__branch_ask_clock(branch);
    }
    if (branch->link.state != TERN__LINK_OPEN) {
        lose_head(job);
        return INT64_MAX;
    }
    return next_ns;
}

void tern__branch_leave(struct tern__branch *branch, const char *failure)
{
    struct tern__link *link = &branch->link;
    int64_t until_ns = tern__deadline_after(LEAVE_NS);
    bool shut = false;
    if (failure[0] != '\0') {
        struct tern__link_word word = {.kind = TERN__WORD_FAILURE};
        say(branch, word, failure, strlen(failure) + 1);
    }
    say(branch, (struct tern__link_word){.kind = TERN__WORD_OVER}, NULL, 0);
    // Closed at once, with words of the head unread, the connection would be reset, and what was
    // said last could be lost. So the head closes it.
    while (link->state == TERN__LINK_OPEN && tern__now_ns() < until_ns) {
        struct tern__link_word word;
        const void *payload;
        if (link->out == 0 && !shut) {
            shutdown(link->fd, SHUT_WR);
            link->said_ns = until_ns; // says nothing more
            shut = true;
        }
        struct pollfd fd = tern__link_pollfd(link);
        poll(&fd, 1, tern__deadline_ms(until_ns, 100));
        tern__link_turn(link);
        while (tern__link_hear(link, &word, &payload)) {
        }
    }
    tern__link_close(link);
}
