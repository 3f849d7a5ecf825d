// SPDX-License-Identifier: Apache-2.0
// Which use of a bit is the how-manieth. An executor may append the tasks of its streams in any
// order, so that of the source says nothing: all tasks are executed once, with bits that count, and
// the uses of a bit are numbered as they come. When another order is possible, too, uses are not in
// turn, which order.c finds whatever the numbers are.

#include <stdlib.h>

#include "plan/record/record.h"

static uint32_t number_use(struct record_task *task)
{
    struct record_bit *bit = task->bit;
    return task->kind == RECORD_POST ? bit->posted++ : bit->waited++;
}

static bool is_use(const struct record_task *task)
{
    return task->kind == RECORD_POST || task->kind == RECORD_WAIT;
}

// Runs a stream until it has to wait or has ended; who waits for what it posts is ready again.
static void run(struct record_stream *stream, struct record_stream **ready)
{
    for (; stream->done < stream->count; stream->done++) {
        struct record_task *task = &stream->tasks[stream->done];
        if (!is_use(task)) {
            continue;
        }
        struct record_bit *bit = task->bit;
        if (task->kind == RECORD_WAIT && bit->waited >= bit->posted) {
            stream->next = bit->sleepers;
            bit->sleepers = stream;
            return;
        }
        task->use = number_use(task);
        while (task->kind == RECORD_POST && bit->sleepers != NULL) {
            struct record_stream *woken = bit->sleepers;
            bit->sleepers = woken->next;
            woken->next = *ready;
            *ready = woken;
        }
    }
}

// What has never been executed comes last.
static void place(struct record_stream *stream)
{
    for (size_t i = 0; i < stream->count; i++) {
        struct record_task *task = &stream->tasks[i];
        if (!is_use(task)) {
            continue;
        }
        if (i >= stream->done) {
            task->use = number_use(task);
        }
        struct record_uses *uses =
            task->kind == RECORD_POST ? &task->bit->posts : &task->bit->waits;
        uses->items[task->use] =
            (struct record_use){.lane = (uint32_t)stream->number, .index = (uint32_t)i};
    }
}

void tern__record_turns(struct recording *recording)
{
    struct record_stream *ready = NULL;
    for (int r = recording->nranks - 1; r >= 0; r--) {
        struct record_rank *rank = &recording->ranks[r];
        for (size_t i = rank->streams_count; i > 0; i--) {
            rank->streams[i - 1]->next = ready;
            ready = rank->streams[i - 1];
        }
    }
    while (ready != NULL) {
        struct record_stream *stream = ready;
        ready = stream->next;
        run(stream, &ready);
    }
    for (int r = 0; r < recording->nranks; r++) {
        for (size_t i = 0; i < recording->ranks[r].streams_count; i++) {
            place(recording->ranks[r].streams[i]);
        }
    }
}
