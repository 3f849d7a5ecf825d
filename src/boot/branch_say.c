// SPDX-License-Identifier: Apache-2.0
// What a branch says to the head.

#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/options.h"
#include "boot/branch.h"
#include "boot/dial.h"
#include "boot/hub.h"
#include "boot/launch_job.h"
#include "boot/words.h"

// Of a head that is there, but cannot be reached.
#define DIAL_NS (10 * TERN_NS_PER_SECOND)
#define LEAVE_NS TERN_NS_PER_SECOND

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

void tern__branch_tell_present(struct tern__launch *job)
{
    struct tern__hub_present present;
    struct tern__link_word word = {.kind = TERN__WORD_PRESENT, .value = job->branch->generation};
    tern__hub_present(job->hub, &present);
    say(job->branch, word, &present, sizeof present);
    job->branch->changed = false;
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
