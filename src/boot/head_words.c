// SPDX-License-Identifier: Apache-2.0
// What the head hears from the branches, and what follows.

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "boot/head.h"
#include "boot/launch_label.h"

// What an agent said last, and what its branch did, arrives on other ways than its end.
#define AGENT_GRACE_NS (100 * TERN_NS_PER_MS)
#define TERM_MS ((int)(TERN__TERM_AFTER_NS / TERN_NS_PER_MS))
#define KILL_MS ((int)(TERN__KILL_AFTER_NS / TERN_NS_PER_MS))
#define EXIT_NOT_STARTED 125
#define EXIT_LOST 137

static uint64_t ranks_of(const struct tern__job_head *head, int entry)
{
    return tern__host_mask(&head->hosts.list[entry]);
}

void tern__head_end(struct tern__job_head *head, enum tern__cause cause, int term_ms, int kill_ms)
{
    if (head->job.cause == CAUSE_NONE) {
        head->job.cause = cause;
        head->failed_ns = tern__now_ns();
    }
    tern__head_gather(head); // those that wait to be let in learn why
    struct tern__link_word word = {.kind = TERN__WORD_END, .value = term_ms, .rank = kill_ms};
    tern__head_say(head, word, NULL, 0);
    for (int i = 0; i < head->hosts.count; i++) {
        struct tern__entry *entry = &head->entries[i];
        if (!entry->joined && !entry->dismissed) { // so it has started no rank
            entry->dismissed = true;
            tern__head_kill(head, i);
        }
    }
}

void tern__head_fail(struct tern__job_head *head, int exit_status, const char *format, ...)
{
    if (head->job.cause == CAUSE_NONE) {
        va_list arguments;
        va_start(arguments, format);
        vsnprintf(head->job.host_text, sizeof head->job.host_text, format, arguments);
        va_end(arguments);
        head->job.host_status = exit_status;
    }
    tern__head_end(head, CAUSE_HOST, TERM_MS, KILL_MS);
}

int tern__head_room(const struct tern__job_head *head)
{
    int slot = 0;
    while (slot < TERN__STRANGERS_MAX && head->strangers[slot].fd >= 0) {
        slot++;
    }
    return slot < TERN__STRANGERS_MAX ? slot : -1;
}

void tern__head_accept(struct tern__job_head *head)
{
    int slot;
    int fd;
    while ((slot = tern__head_room(head)) >= 0 &&
           (fd = accept4(head->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK)) >= 0) {
        tern__link_open(&head->strangers[slot], fd, head->silence_ns);
    }
}

static void join(struct tern__job_head *head, struct tern__link *stranger,
                 const struct tern__link_word *word, const void *payload)
{
    struct tern__word_join said = {.machine = -1};
    if (word->kind == TERN__WORD_JOIN && word->bytes == sizeof said) {
        memcpy(&said, payload, sizeof said);
    }
    said.address[sizeof said.address - 1] = '\0';
    if (said.machine < 0 || said.machine >= head->hosts.count ||
        memcmp(said.token, head->token, sizeof said.token) != 0 ||
        head->entries[said.machine].joined || head->entries[said.machine].dismissed) {
        tern__link_close(stranger);
        return;
    }
    struct tern__entry *entry = &head->entries[said.machine];
    entry->link = *stranger;
    entry->join = said;
    entry->joined = true;
    *stranger = (struct tern__link){.fd = -1};
    tern__labels_keep(head->labels, said.machine, false);
}

static void rank_ended(struct tern__job_head *head, int at, const struct tern__link_word *word,
                       const char *in_call)
{
    struct tern__launch *job = &head->job;
    int rank = word->rank;
    if (rank < 0 || rank >= head->hosts.nranks || (ranks_of(head, at) >> rank & 1) == 0) {
        return;
    }
    head->gone |= UINT64_C(1) << rank;
    job->procs.status[rank] = word->value;
    job->fell[rank] = (word->number & TERN__WORD_FELL) != 0;
    job->deserted[rank] = (word->number & TERN__WORD_DESERTED) != 0;
    snprintf(job->in_call[rank], sizeof job->in_call[rank], "%.*s", (int)word->bytes, in_call);
    struct tern__link_word news = *word;
    news.kind = TERN__WORD_RANK_ENDED;
    for (int i = 0; i < head->hosts.count; i++) {
        if (i != at) {
            tern__head_say_to(&head->entries[i], news, NULL, 0);
        }
    }
    if (job->fell[rank] && job->culprit < 0) {
        int suspect = (int)(word->number / TERN__WORD_SUSPECT) - 1;
        job->culprit = rank;
        job->suspect =
            suspect >= 0 && suspect < head->hosts.nranks && (head->gone >> suspect & 1) == 0
                ? suspect
                : -1;
        tern__head_end(head, CAUSE_RANK, TERM_MS, KILL_MS);
    } else {
        tern__head_gather(head);
    }
}

static void note_present(struct tern__job_head *head, struct tern__entry *entry,
                         const struct tern__link_word *word, const void *payload)
{
    if (word->bytes != sizeof entry->present || word->value != head->generation) {
        return; // of a gathering that has ended meanwhile
    }
    memcpy(&entry->present, payload, sizeof entry->present);
    entry->present.refusal[sizeof entry->present.refusal - 1] = '\0';
    entry->gather_until_ns =
        entry->present.ranks == 0 ? INT64_MAX : tern__deadline_after(entry->present.left_ns);
    tern__head_gather(head);
}

static void hear_word(struct tern__job_head *head, int at, const struct tern__link_word *word,
                      const void *payload)
{
    struct tern__entry *entry = &head->entries[at];
    const char *text = word->bytes > 0 ? payload : "";
    switch ((enum tern__word)word->kind) {
    case TERN__WORD_PRESENT:
        note_present(head, entry, word, payload);
        break;
    case TERN__WORD_ENDED:
        rank_ended(head, at, word, text);
        break;
    case TERN__WORD_FAIL:
        tern__head_fail(head, word->value, "%s: %.*s", tern__head_host(head, at).text,
                        (int)word->bytes, text);
        break;
    case TERN__WORD_FAILURE:
        if (head->job.failure[0] == '\0') {
            snprintf(head->job.failure, sizeof head->job.failure, "%.*s", (int)word->bytes, text);
        }
        break;
    case TERN__WORD_ASK_CLOCK:
        tern__head_say_to(entry,
                          (struct tern__link_word){.kind = TERN__WORD_CLOCK,
                                                   .value = word->value,
                                                   .number = (uint64_t)tern__now_ns()},
                          NULL, 0);
        break;
    case TERN__WORD_CLOCKS:
    case TERN__WORD_TRACK:
    case TERN__WORD_EVENTS:
    case TERN__WORD_TRACED:
        tern__head_trace_hear(head, at, word, payload);
        break;
    case TERN__WORD_OVER:
        entry->over = true;
        break;
    case TERN__WORD_LIFE:
    case TERN__WORD_JOIN:
    case TERN__WORD_GO:
    case TERN__WORD_GIVE_UP:
    case TERN__WORD_END:
    case TERN__WORD_SIGNAL:
    case TERN__WORD_RANK_ENDED:
    case TERN__WORD_CLOCK:
    case TERN__WORD_GONE:
        break; // the head is not told these
    }
}

// A host that is silent may still hear, where a cable is cut in one direction: its ranks are to say
// why they end, too.
static void tell_silent(struct tern__job_head *head, int at)
{
    struct tern__link *link = &head->entries[at].link;
    uint64_t others = (UINT64_MAX >> (64 - head->hosts.nranks)) & ~ranks_of(head, at);
    struct tern__link_word gone = {.kind = TERN__WORD_GONE,
                                   .value = (int32_t)(head->silence_ns / TERN_NS_PER_MS),
                                   .number = others};
    struct tern__link_word end = {.kind = TERN__WORD_END,
                                  .value = TERN__SILENT_TERM_MS,
                                  .rank = TERN__SILENT_KILL_MS};
    link->state = TERN__LINK_OPEN; // else nothing can be said
    tern__link_say(link, &gone, NULL);
    tern__link_say(link, &end, NULL);
    link->state = TERN__LINK_SILENT;
}

// The connection to a branch has gone before it was over.
static void lose(struct tern__job_head *head, int at)
{
    struct tern__entry *entry = &head->entries[at];
    uint64_t ranks = ranks_of(head, at) & ~head->gone;
    enum tern__link_state state = entry->link.state;
    struct tern__launch *job = &head->job;
    // A host that could hear nothing any more may have known it first, and told other ranks, which
    // ended: not they have failed.
    if (state == TERN__LINK_SILENT && job->cause == CAUSE_RANK &&
        !WIFSIGNALED(job->procs.status[job->culprit]) &&
        entry->link.heard_ns + head->silence_ns / 4 < head->failed_ns) {
        job->cause = CAUSE_NONE;
    }
    if (state == TERN__LINK_SILENT) {
        tell_silent(head, at);
    }
    entry->dismissed = true;
    tern__link_close(&entry->link);
    head->gone |= ranks;
    struct tern__link_word news = {.kind = TERN__WORD_GONE, .number = ranks};
    news.value = state == TERN__LINK_SILENT ? (int32_t)(head->silence_ns / TERN_NS_PER_MS) : 0;
    tern__head_say(head, news, NULL, 0);
    if (job->cause == CAUSE_NONE) {
        head->lost = at;
    }
    if (state == TERN__LINK_SILENT) {
        tern__head_kill(head, at); // it would not end soon by itself
        tern__head_fail(head, EXIT_LOST, "%s has been silent for %.3g s",
                        tern__head_host(head, at).text, (double)head->silence_ns * 1e-9);
    } else {
        tern__head_fail(head, EXIT_LOST, "%s is gone: its launcher has closed the connection",
                        tern__head_host(head, at).text);
    }
}

static int64_t turn_strangers(struct tern__job_head *head)
{
    int64_t next_ns = INT64_MAX;
    for (int i = 0; i < TERN__STRANGERS_MAX; i++) {
        struct tern__link *stranger = &head->strangers[i];
        struct tern__link_word word;
        const void *payload;
        if (stranger->fd < 0) {
            continue;
        }
        int64_t turn_ns = tern__link_turn(stranger);
        next_ns = turn_ns < next_ns ? turn_ns : next_ns;
        if (tern__link_hear(stranger, &word, &payload)) {
            join(head, stranger, &word, payload);
        } else if (stranger->state != TERN__LINK_OPEN) {
            tern__link_close(stranger);
        }
    }
    return next_ns;
}

static int64_t turn_branches(struct tern__job_head *head)
{
    int64_t next_ns = INT64_MAX;
    for (int i = 0; i < head->hosts.count; i++) {
        struct tern__entry *entry = &head->entries[i];
        struct tern__link_word word;
        const void *payload;
        if (!entry->joined || entry->link.fd < 0) {
            continue;
        }
        int64_t turn_ns = tern__link_turn(&entry->link);
        next_ns = turn_ns < next_ns ? turn_ns : next_ns;
        while (!entry->over && tern__link_hear(&entry->link, &word, &payload)) {
            hear_word(head, i, &word, payload);
        }
        if (entry->over) {
            tern__link_close(&entry->link);
        } else if (entry->link.state != TERN__LINK_OPEN) {
            lose(head, i);
        }
    }
    return next_ns;
}

// An agent has ended and its branch is not over.
static void miss_branch(struct tern__job_head *head, int at)
{
    struct tern__entry *entry = &head->entries[at];
    struct tern__head_agent how = tern__head_agent(entry);
    entry->missed = true;
    if (entry->joined) {
        tern__head_fail(head, tern__head_agent_exit(entry), "%s is lost: %s",
                        tern__head_host(head, at).text, how.text);
        return;
    }
    char said[300];
    tern__labels_last(head->labels, at, said, sizeof said);
    entry->dismissed = true;
    tern__head_fail(head, EXIT_NOT_STARTED, "cannot start %s: %s%s%s",
                    tern__head_host(head, at).text, how.text, said[0] != '\0' ? ": " : "", said);
}

static int64_t look_at_agents(struct tern__job_head *head)
{
    int64_t next_ns = INT64_MAX;
    for (int i = 0; i < head->hosts.count; i++) {
        struct tern__entry *entry = &head->entries[i];
        if (entry->agent_ended_ns == 0 || entry->over || entry->dismissed || entry->missed) {
            continue;
        }
        int64_t due_ns = entry->agent_ended_ns + AGENT_GRACE_NS;
        if (tern__now_ns() >= due_ns) {
            miss_branch(head, i);
        } else {
            next_ns = due_ns < next_ns ? due_ns : next_ns;
        }
    }
    return next_ns;
}

static int64_t look_at_start(struct tern__job_head *head)
{
    int missing = -1;
    for (int i = head->hosts.count - 1; i >= 0; i--) {
        missing = head->entries[i].joined || head->entries[i].dismissed ? missing : i;
    }
    if (missing < 0) {
        head->start_until_ns = INT64_MAX;
    } else if (tern__now_ns() >= head->start_until_ns) {
        head->start_until_ns = INT64_MAX;
        tern__head_fail(head, EXIT_NOT_STARTED,
                        "cannot start %s: its launcher has not connected to port %u within %.3g s",
                        tern__head_host(head, missing).text, head->port,
                        (double)head->start_ns * 1e-9);
    }
    return head->start_until_ns;
}

int64_t tern__head_turn(struct tern__job_head *head)
{
    int64_t next_ns = INT64_MAX;
    int64_t (*const looks[])(struct tern__job_head *) = {turn_strangers, turn_branches,
                                                         look_at_agents, look_at_start,
                                                         tern__head_gather_expire};
    for (size_t i = 0; i < sizeof looks / sizeof looks[0]; i++) {
        int64_t due_ns = looks[i](head);
        next_ns = due_ns < next_ns ? due_ns : next_ns;
    }
    return next_ns;
}
