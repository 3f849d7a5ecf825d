// SPDX-License-Identifier: Apache-2.0
// The trace of a machine on its way to the head. The branch asks for the head's clock when its
// ranks start and when they have ended, and moves all times to that clock before it says them.

#include <poll.h>
#include <string.h>

#include "base/clock.h"
#include "base/trace_write.h"
#include "boot/branch.h"
#include "boot/launch_job.h"
#include "boot/launch_signals.h"
#include "boot/launch_trace.h"
#include "boot/words.h"

#define LOOK_MS 10                  // after which signs of life may be due
#define CLOCK_NS TERN_NS_PER_SECOND // for the questions at the end
#define EVENTS_OF_WORD (TERN__LINK_PAYLOAD_MAX / sizeof(struct tern__trace_event))

void tern__branch_ask_clock(struct tern__branch *branch)
{
    struct tern__link_word word = {.kind = TERN__WORD_ASK_CLOCK, .value = ++branch->questions};
    branch->asked_ns = tern__now_ns();
    tern__link_say(&branch->link, &word, NULL);
}

void tern__branch_hear_clock(struct tern__branch *branch, const struct tern__link_word *word)
{
    struct tern__clock_point *point = &branch->clock[branch->at_end];
    if (word->value != branch->questions) {
        return; // of the start, and it was not waited for
    }
    tern__clock_answer(point, branch->asked_ns, (int64_t)word->number, tern__now_ns());
    if (point->answers < TERN__CLOCK_QUESTIONS) {
        tern__branch_ask_clock(branch);
    }
}

// Waits for something to happen, and hears it. False when the telling is to end.
static bool turn(struct tern__launch *job, int64_t until_ns)
{
    struct tern__link *link = &job->branch->link;
    struct tern__link_word word;
    const void *payload;
    bool from_terminal;
    bool goes_on = true;
    struct pollfd fds[2] = {tern__link_pollfd(link), {.fd = job->signals.fd, .events = POLLIN}};
    poll(fds, 2, tern__deadline_ms(until_ns, LOOK_MS));
    tern__link_turn(link);
    while (tern__link_hear(link, &word, &payload)) {
        if (word.kind == TERN__WORD_CLOCK) {
            tern__branch_hear_clock(job->branch, &word);
        }
        goes_on = goes_on && !(word.kind == TERN__WORD_SIGNAL && tern__signal_ends_job(word.value));
    }
    for (int number; (number = tern__signals_next(&job->signals, &from_terminal)) != 0;) {
        goes_on = goes_on && !tern__signal_ends_job(number);
    }
    return goes_on && link->state == TERN__LINK_OPEN;
}

// Says a word when there is room for it.
static bool tell(struct tern__launch *job, struct tern__link_word word, const void *payload,
                 size_t bytes)
{
    struct tern__link *link = &job->branch->link;
    while (link->out + sizeof word + bytes > TERN__LINK_BUFFER_BYTES / 2) {
        if (!turn(job, INT64_MAX)) {
            return false;
        }
    }
    word.bytes = (uint32_t)bytes;
    tern__link_say(link, &word, bytes > 0 ? payload : NULL);
    return link->state == TERN__LINK_OPEN;
}

static bool tell_track(struct tern__launch *job, int rank, const struct tern__clock_line *clock,
                       const struct tern__trace_track *track, uint32_t count)
{
    struct tern__trace_event events[EVENTS_OF_WORD];
    const struct tern__trace_event *recorded = tern__trace_events(track);
    struct tern__link_word word = {.kind = TERN__WORD_TRACK, .rank = rank};
    bool told = tell(job, word, track, sizeof *track);
    word.kind = TERN__WORD_EVENTS;
    for (uint32_t done = 0; told && done < count;) {
        uint32_t left = count - done;
        uint32_t some = left < EVENTS_OF_WORD ? left : (uint32_t)EVENTS_OF_WORD;
        memcpy(events, recorded + done, some * sizeof events[0]);
        for (uint32_t i = 0; i < some; i++) {
            tern__trace_move(&events[i], clock);
        }
        told = tell(job, word, events, some * sizeof events[0]);
        done += some;
    }
    return told;
}

static bool tell_rank(struct tern__launch *job, int rank, const struct tern__clock_line *clock)
{
    uint32_t lost_threads;
    struct tern__trace_rank recorded = tern__traces_rank(job->traces, rank, &lost_threads);
    const struct tern__trace_track *track = recorded.tracks;
    bool told = true;
    for (uint32_t i = 0; told && i < recorded.count; i++) {
        told = tell_track(job, rank, clock, track, tern__trace_rank_events(&recorded, track));
        track = tern__trace_rank_next(&recorded, track);
    }
    struct tern__link_word word = {.kind = TERN__WORD_TRACED,
                                   .rank = rank,
                                   .value = (int32_t)lost_threads,
                                   .number = recorded.capacity};
    return told && tell(job, word, NULL, 0);
}

void tern__branch_tell_trace(struct tern__launch *job)
{
    struct tern__branch *branch = job->branch;
    int64_t until_ns = tern__deadline_after(CLOCK_NS);
    branch->at_end = 1;
    tern__branch_ask_clock(branch);
    bool goes_on = branch->link.state == TERN__LINK_OPEN;
    while (goes_on && branch->clock[1].answers < TERN__CLOCK_QUESTIONS &&
           tern__now_ns() < until_ns) {
        goes_on = turn(job, until_ns);
    }
    struct tern__clock_line clock = tern__clock_line(branch->clock[0], branch->clock[1]);
    goes_on = goes_on &&
              tell(job, (struct tern__link_word){.kind = TERN__WORD_CLOCKS}, &clock, sizeof clock);
    for (int i = 0; goes_on && i < job->procs.count; i++) {
        goes_on = tell_rank(job, job->procs.first + i, &clock);
    }
    while (goes_on && branch->link.out > 0) {
        goes_on = turn(job, INT64_MAX);
    }
}
