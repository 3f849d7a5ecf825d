// SPDX-License-Identifier: Apache-2.0
// What follows what: operations of a stream, and streams that wait for an event. Set-up path.

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "stream/call.h"
#include "stream/device.h"

void tern__stream_point_let_go(struct tern__stream_point *point)
{
    if (point != NULL && --point->users == 0) {
        free(point->sentence);
        free(point);
    }
}

void tern__event_mean(struct tern_event *event, struct tern__stream_point *point)
{
    point->users = 1;
    point->only_orders = event->only_orders;
    tern__stream_point_let_go(event->latest);
    event->latest = point;
}

// The first one has ended.
static void pop(struct tern_stream *stream)
{
    struct tern__stream_op *op = stream->first;
    stream->first = op->next;
    stream->ended++;
    stream->ended_ns = tern__now_ns();
    tern__stream_point_let_go(op->point);
    free(op);
    tern__device_wake();
}

// Streams that wait for it go on; returns them, one behind the other.
static struct tern_stream *happen(struct tern__stream_point *point,
                                  const struct tern_stream *stream)
{
    struct tern_stream *waiting = point->waiting;
    if (stream->status != TERN_OK && !point->only_orders) {
        point->status = stream->status;
        point->sentence = strdup(stream->sentence);
    }
    point->happened = true;
    point->happened_ns = tern__now_ns();
    point->waiting = NULL;
    point->stream = NULL;
    return waiting;
}

static void append_list(struct tern_stream **list, struct tern_stream *more)
{
    while (*list != NULL) {
        list = &(*list)->next;
    }
    *list = more;
}

static void happen_if_any(const struct tern__stream_op *op, struct tern_stream **others)
{
    if (op->point != NULL) {
        append_list(others, happen(op->point, op->stream));
    }
}

// The first one cannot end yet, or there is none.
static bool advance_one(struct tern_stream *stream, struct tern_stream **others)
{
    struct tern__stream_op *op = stream->first;
    if (op == NULL || op->started) {
        return false;
    }
    switch (op->kind) {
    case TERN__OP_RECORD:
        happen_if_any(op, others);
        break;
    case TERN__OP_WAIT:
        if (op->point != NULL && !op->point->happened) {
            op->started = true;
            stream->next = op->point->waiting;
            op->point->waiting = stream;
            return false;
        }
        if (op->point != NULL && op->point->status != TERN_OK) { // what follows would be of no use
            tern__stream_fail(stream, op->point->status, "of the stream of an event: %s",
                              tern__stream_point_sentence(op->point));
        }
        break;
    case TERN__OP_KERNEL:
        if (!tern__stream_drops(stream)) {
            int status = tern__device_start(op);
            if (status == TERN_OK) {
                return false;
            }
            tern__stream_fail(stream, status, "kernel '%s' cannot start: %s", op->name,
                              tern_last_error());
        }
        break;
    case TERN__OP_CALL:
        if (tern__stream_drops(stream) && op->dropped == NULL) {
            happen_if_any(op, others);
            break;
        }
        op->started = true;
        tern__call_ready(stream);
        return false;
    }
    pop(stream);
    return true;
}

static void advance(struct tern_stream *stream, struct tern_stream *others)
{
    while (stream != NULL) {
        while (advance_one(stream, &others)) {
        }
        stream = others;
        if (stream != NULL) {
            others = stream->next;
            stream->next = NULL;
            stream->first->started = false; // it waited for an event, and looks again
        }
    }
}

// The first of its stream.
static void end(struct tern__stream_op *op)
{
    struct tern_stream *stream = op->stream, *others = NULL;
    happen_if_any(op, &others);
    pop(stream);
    advance(stream, others);
}

struct tern__stream_op *tern__stream_op_make(enum tern__stream_op_kind kind, const char *name,
                                             const void *args, size_t args_bytes)
{
    size_t name_bytes = strlen(name) + 1;
    size_t more = args_bytes + name_bytes;
    size_t bytes = 0; // a multiple of the alignment, as sizeof *op is
    struct tern__stream_op *op = NULL;
    if (more >= args_bytes && more <= PTRDIFF_MAX - sizeof *op - TERN_STREAM_ARGS_ALIGN) {
        bytes = sizeof *op + (more + TERN_STREAM_ARGS_ALIGN - 1) / TERN_STREAM_ARGS_ALIGN *
                                 TERN_STREAM_ARGS_ALIGN;
        op = aligned_alloc(TERN_STREAM_ARGS_ALIGN, bytes);
    }
    if (op == NULL) {
        tern__set_error("no memory for %zu bytes of arguments", args_bytes);
        return NULL;
    }
    memset(op, 0, bytes);
    op->kind = kind;
    op->ended = end;
    if (args_bytes > 0) {
        memcpy(op->args, args, args_bytes);
    }
    op->name = memcpy(op->args + args_bytes, name, name_bytes);
    return op;
}

void tern__stream_append(struct tern_stream *stream, struct tern__stream_op *op)
{
    op->stream = stream;
    bool empty = stream->first == NULL;
    *(empty ? &stream->first : &stream->last->next) = op;
    stream->last = op;
    stream->appended++;
    if (empty) {
        stream->ended_ns = tern__now_ns();
        advance(stream, NULL);
    }
}
