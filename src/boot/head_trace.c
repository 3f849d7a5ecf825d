// SPDX-License-Identifier: Apache-2.0
// The trace of a job on several machines, as the branches say it when their ranks have ended. What
// has come is whole, so it is written also when the rest does not come.

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "boot/head.h"
#include "boot/launch_trace.h"
#include "tern/file.h"

// The tracks of a rank, one after the other.
struct heard_rank {
    struct tern__trace_event *units; // a track's head is as large as an event
    size_t count, room;              // units
    size_t track;                    // where the head of the last track is
    uint32_t tracks;
    uint32_t lost_threads;
    bool all; // that there is
};

struct tern__head_trace {
    struct heard_rank ranks[TERN_RANKS_MAX];
    struct tern__clock_line clocks[TERN_RANKS_MAX]; // by host
    uint32_t capacity;
    bool out_of_memory;
};

int tern__head_trace_create(struct tern__job_head *head)
{
    TERN_TRY(tern_file_probe(head->options->trace));
    head->trace = calloc(1, sizeof *head->trace);
    return head->trace != NULL ? TERN_OK
                               : tern__fail(TERN_ERR_MEMORY, "tern_launch: no memory for a trace");
}

void tern__head_trace_destroy(struct tern__job_head *head)
{
    for (int rank = 0; head->trace != NULL && rank < TERN_RANKS_MAX; rank++) {
        free(head->trace->ranks[rank].units);
    }
    free(head->trace);
    head->trace = NULL;
}

static bool append(struct tern__head_trace *trace, struct heard_rank *rank, const void *units,
                   size_t count)
{
    if (trace->out_of_memory) { // what is behind a gap belongs to nothing
        return false;
    }
    if (rank->count + count > rank->room) {
        size_t room = 2 * rank->room + count;
        struct tern__trace_event *grown = realloc(rank->units, room * sizeof *grown);
        if (grown == NULL) {
            trace->out_of_memory = true;
            return false;
        }
        rank->units = grown;
        rank->room = room;
    }
    memcpy(rank->units + rank->count, units, count * sizeof *rank->units);
    rank->count += count;
    return true;
}

static struct tern__trace_track *last_track(const struct heard_rank *rank)
{
    return (struct tern__trace_track *)(void *)(rank->units + rank->track);
}

static void begin_track(struct tern__head_trace *trace, struct heard_rank *rank,
                        const void *payload)
{
    size_t at = rank->count;
    if (append(trace, rank, payload, 1)) {
        rank->track = at;
        rank->tracks++;
        tern__poke(&last_track(rank)->count, 0); // until events come
    }
}

static void add_events(struct tern__head_trace *trace, struct heard_rank *rank, const void *payload,
                       size_t count)
{
    if (rank->tracks > 0 && append(trace, rank, payload, count)) {
        struct tern__trace_track *track = last_track(rank);
        tern__poke(&track->count, tern__peek(&track->count) + (uint32_t)count);
    }
}

void tern__head_trace_hear(struct tern__job_head *head, int entry,
                           const struct tern__link_word *word, const void *payload)
{
    struct tern__head_trace *trace = head->trace;
    const size_t unit = sizeof(struct tern__trace_event);
    if (trace == NULL) {
        return;
    }
    if (word->kind == TERN__WORD_CLOCKS && word->bytes == sizeof trace->clocks[entry]) {
        memcpy(&trace->clocks[entry], payload, sizeof trace->clocks[entry]);
        return;
    }
    if (word->rank < 0 || word->rank >= head->hosts.nranks ||
        (tern__host_mask(&head->hosts.list[entry]) >> word->rank & 1) == 0) {
        return;
    }
    struct heard_rank *rank = &trace->ranks[word->rank];
    if (word->kind == TERN__WORD_TRACK && word->bytes == unit) {
        begin_track(trace, rank, payload);
    } else if (word->kind == TERN__WORD_EVENTS && word->bytes % unit == 0) {
        add_events(trace, rank, payload, word->bytes / unit);
    } else if (word->kind == TERN__WORD_TRACED) {
        rank->lost_threads = (uint32_t)word->value;
        trace->capacity = (uint32_t)word->number;
        rank->all = true;
    }
}

// Of a host whose ranks have run, or were to.
static bool say_of_host(const struct tern__job_head *head, int at)
{
    const struct tern__host *host = &head->hosts.list[at];
    const struct tern__head_trace *trace = head->trace;
    bool all = true;
    bool some = false;
    for (int rank = host->first; rank < host->first + host->count; rank++) {
        all = all && trace->ranks[rank].all;
        some = some || trace->ranks[rank].count > 0;
    }
    if (tern__clock_line_known(&trace->clocks[at])) {
        char text[160];
        tern__clock_line_text(&trace->clocks[at], "the head's", text, sizeof text);
        tern__launch_say("the clock of host %s is %s\n", host->name, text);
    } else if (some) {
        tern__launch_say("the clock of host %s is not known: its times are as it has said them\n",
                         host->name);
    }
    if (!all) {
        tern__launch_say("the trace lacks %s of %s, which %s\n", some ? "a part" : "all",
                         tern__head_host(head, at).text,
                         head->entries[at].joined ? "has not handed it over" : "was not there");
    }
    return all;
}

int tern__head_trace_save(struct tern__job_head *head)
{
    struct tern__head_trace *trace = head->trace;
    struct tern__trace_machine list[TERN_RANKS_MAX];
    struct tern__trace_machines machines = {.count = head->hosts.count,
                                            .clock_of = "the head",
                                            .list = list};
    struct tern__trace_job *job = calloc(1, sizeof *job);
    if (job == NULL) {
        tern__launch_say("--trace: no memory\n");
        return 1;
    }
    job->nranks = head->hosts.nranks;
    job->capacity = trace->capacity;
    job->machines = &machines;
    for (int rank = 0; rank < job->nranks; rank++) {
        const struct heard_rank *heard = &trace->ranks[rank];
        job->lost_threads[rank] = heard->lost_threads;
        job->ranks[rank] = (struct tern__trace_rank){
            .tracks = (const struct tern__trace_track *)(const void *)heard->units,
            .count = heard->tracks};
    }
    for (int i = 0; i < head->hosts.count; i++) {
        const struct tern__host *host = &head->hosts.list[i];
        list[i] = (struct tern__trace_machine){.name = host->name,
                                               .ranks = tern__host_mask(host),
                                               .clock = trace->clocks[i]};
        job->incomplete = !say_of_host(head, i) || job->incomplete;
    }
    if (trace->out_of_memory) {
        tern__launch_say("the trace lacks a part: the head has no memory for it\n");
    }
    int status = tern__trace_save(job, head->options->trace, head->job.procs.status);
    free(job);
    return status;
}
