// SPDX-License-Identifier: Apache-2.0
// Streams: what is appended, and what follows what. Set-up path.

#include <inttypes.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/options.h"
#include "base/public.h"
#include "stream/call.h"
#include "stream/device.h"

// The process's, linked; under the lock.
static struct tern_stream *newest;
static uint64_t launches;

// The child of a fork has none.
static void forget_streams(void)
{
    newest = NULL;
}

static void watch_forks(void)
{
    pthread_atfork(NULL, NULL, forget_streams);
}

void tern__stream_point_let_go(struct tern__stream_point *point)
{
    if (point != NULL && --point->users == 0) {
        free(point);
    }
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
static struct tern_stream *happen(struct tern__stream_point *point)
{
    struct tern_stream *waiting = point->waiting;
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

static void happen_if_any(struct tern__stream_point *point, struct tern_stream **others)
{
    if (point != NULL) {
        append_list(others, happen(point));
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
        happen_if_any(op->point, others);
        break;
    case TERN__OP_WAIT:
        if (op->point != NULL && !op->point->happened) {
            op->started = true;
            stream->next = op->point->waiting;
            op->point->waiting = stream;
            return false;
        }
        break;
    case TERN__OP_KERNEL:
        if (stream->status == TERN_OK) {
            int status = tern__device_start(op);
            if (status == TERN_OK) {
                return false;
            }
            stream->status = status;
            snprintf(stream->sentence, sizeof stream->sentence, "kernel '%s' cannot start: %s",
                     op->name, tern_last_error());
        }
        break;
    case TERN__OP_CALL:
        if (stream->status != TERN_OK && op->dropped == NULL) {
            happen_if_any(op->point, others);
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

void tern__stream_advance(struct tern_stream *stream)
{
    advance(stream, NULL);
}

void tern__stream_op_ended(struct tern__stream_op *op)
{
    struct tern_stream *stream = op->stream, *others = NULL;
    happen_if_any(op->point, &others);
    pop(stream);
    advance(stream, others);
}

void tern__stream_block_failed(struct tern__stream_op *op, int block, int status)
{
    struct tern_stream *stream = op->stream;
    if (stream->status == TERN_OK) {
        stream->status = status;
        snprintf(stream->sentence, sizeof stream->sentence, "kernel '%s', block %d of %d: %s",
                 op->name, block, op->blocks, tern_last_error());
    }
}

static int stream_create(tern_stream **stream)
{
    if (stream == NULL) {
        return tern__fail(TERN_ERR_ARG, "tern_stream_create: stream must not be NULL");
    }
    struct tern_stream *made = tern__handle_new(TERN__STREAM, sizeof *made);
    if (made == NULL) {
        return tern__fail(TERN_ERR_MEMORY, "no memory for a stream");
    }
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, watch_forks);
    tern__device_lock();
    made->older = newest;
    if (newest != NULL) {
        newest->newer = made;
    }
    newest = made;
    tern__device_unlock();
    *stream = made;
    return TERN_OK;
}

int tern_stream_create(tern_stream **stream)
{
    return TERN__CALL(stream_create(stream));
}

struct tern__stream_op *tern__stream_op_make(enum tern__stream_op_kind kind, const char *name,
                                             const void *args, size_t args_bytes)
{
    size_t name_bytes = strlen(name) + 1;
    size_t more = args_bytes + name_bytes;
    struct tern__stream_op *op =
        more < args_bytes || more > PTRDIFF_MAX - sizeof *op ? NULL : calloc(1, sizeof *op + more);
    if (op == NULL) {
        tern__set_error("no memory for %zu bytes of arguments", args_bytes);
        return NULL;
    }
    op->kind = kind;
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
        tern__stream_advance(stream);
    }
}

static int stream_launch(tern_stream *stream, const tern_stream_kernel *launch)
{
    const char *call = "tern_stream_launch";
    TERN_TRY(tern__handle_check(call, stream, TERN__STREAM));
    if (launch == NULL || launch->kernel == NULL) {
        return tern__fail(TERN_ERR_ARG, "%s: there is no kernel", call);
    }
    if (launch->blocks < 1 || launch->blocks > TERN_BLOCKS_MAX) {
        return tern__fail(TERN_ERR_ARG, "%s: %d blocks; there are 1 to %d", call, launch->blocks,
                          TERN_BLOCKS_MAX);
    }
    if (launch->args_bytes > TERN_STREAM_ARGS_BYTES_MAX ||
        (launch->args_bytes > 0 && launch->args == NULL)) {
        return tern__fail(TERN_ERR_ARG, "%s: %zu bytes of arguments at %p; there are at most %d",
                          call, launch->args_bytes, launch->args, TERN_STREAM_ARGS_BYTES_MAX);
    }
    struct tern__stream_op *op =
        tern__stream_op_make(TERN__OP_KERNEL, launch->name != NULL ? launch->name : "kernel",
                             launch->args, launch->args_bytes);
    if (op == NULL) {
        return tern__fail(TERN_ERR_MEMORY, "%s: %s", call, tern_last_error());
    }
    op->function = launch->kernel;
    op->blocks = launch->blocks;
    tern__device_lock();
    op->launch = ++launches;
    tern__stream_append(stream, op);
    tern__device_unlock();
    return TERN_OK;
}

int tern_stream_launch(tern_stream *stream, const tern_stream_kernel *launch)
{
    return TERN__CALL(stream_launch(stream, launch));
}

int tern__stream_timeout(const char *call, int64_t timeout_ns, int64_t *result_ns)
{
    if (timeout_ns == TERN_TIMEOUT_DEFAULT) { // twice: a wait of a kernel says first why
        TERN_TRY(tern__timeout_option(0, result_ns));
        *result_ns = *result_ns > INT64_MAX / 2 ? INT64_MAX : 2 * *result_ns;
        return TERN_OK;
    }
    if (timeout_ns < 0) {
        return tern__fail(TERN_ERR_ARG,
                          "%s: timeout_ns is %" PRId64
                          "; it must be TERN_TIMEOUT_DEFAULT, or 0 or more",
                          call, timeout_ns);
    }
    *result_ns = timeout_ns;
    return TERN_OK;
}

// Nothing has ended for so long. Under the lock.
static int say_stuck(const char *call, const struct tern_stream *stream, int64_t timeout_ns)
{
    const struct tern__stream_op *op = stream->first;
    double seconds = (double)timeout_ns * 1e-9;
    if (op->kind == TERN__OP_WAIT) {
        return tern__fail(TERN_ERR_TIMEOUT,
                          "%s: the stream has waited %.3g s for an event that has not happened",
                          call, seconds);
    }
    if (op->kind == TERN__OP_CALL) {
        return tern__fail(TERN_ERR_TIMEOUT, "%s: '%s' has not returned after %.3g s", call,
                          op->name, seconds);
    }
    return tern__fail(TERN_ERR_TIMEOUT,
                      "%s: %d of the %d blocks of kernel '%s' have not returned after %.3g s", call,
                      op->left, op->blocks, op->name, seconds);
}

// Sleeps until so many have ended; runs calls of the stream that nobody has begun.
static int wait_ended(const char *call, struct tern_stream *stream, uint64_t wanted,
                      int64_t timeout_ns, bool runs)
{
    int64_t begin_ns = tern__now_ns();
    while (stream->ended < wanted) {
        if (tern__call_help(stream, runs)) {
            continue;
        }
        int64_t since = stream->ended_ns > begin_ns ? stream->ended_ns : begin_ns;
        int64_t deadline = timeout_ns > INT64_MAX - since ? INT64_MAX : since + timeout_ns;
        if (tern__now_ns() >= deadline) {
            return say_stuck(call, stream, timeout_ns);
        }
        tern__device_sleep(deadline);
    }
    return TERN_OK;
}

static int sync_locked(const char *call, struct tern_stream *stream, int64_t timeout_ns, bool runs)
{
    stream->sleepers++;
    int waited = wait_ended(call, stream, stream->appended, timeout_ns, runs);
    if (--stream->sleepers == 0 && stream->leaves) {
        tern__device_wake();
    }
    TERN_TRY(waited);
    int status = stream->status;
    stream->status = TERN_OK;
    return status == TERN_OK ? TERN_OK : tern__fail(status, "%s", stream->sentence);
}

static int stream_sync(const char *call, tern_stream *stream, int64_t timeout_ns)
{
    bool runs = timeout_ns == TERN_TIMEOUT_DEFAULT;
    TERN_TRY(tern__handle_check(call, stream, TERN__STREAM));
    TERN_TRY(tern__stream_timeout(call, timeout_ns, &timeout_ns));
    tern__device_lock();
    int status = sync_locked(call, stream, timeout_ns, runs);
    tern__device_unlock();
    return status;
}

int tern_stream_sync(tern_stream *stream, int64_t timeout_ns)
{
    return TERN__CALL_WAIT(stream_sync("tern_stream_sync", stream, timeout_ns), timeout_ns);
}

static int stream_sync_all(int64_t timeout_ns)
{
    const char *call = "tern_stream_sync_all";
    int status = TERN_OK;
    bool runs = timeout_ns == TERN_TIMEOUT_DEFAULT;
    TERN_TRY(tern__stream_timeout(call, timeout_ns, &timeout_ns));
    tern__device_lock();
    tern__calls_hurry(); // they may need each other
    struct tern_stream *stream = newest;
    while (stream != NULL && status == TERN_OK) {
        status = sync_locked(call, stream, timeout_ns, runs);
        stream = stream->older;
    }
    tern__device_unlock();
    return status;
}

int tern_stream_sync_all(int64_t timeout_ns)
{
    return TERN__CALL_WAIT(stream_sync_all(timeout_ns), timeout_ns);
}

static int stream_destroy(tern_stream *stream)
{
    if (stream == NULL) {
        return TERN_OK;
    }
    if (tern__handle_is_inherited(stream, TERN__STREAM)) { // in a child: its work is the parent's
        tern__handle_free(stream, sizeof *stream);
        return TERN_OK;
    }
    int status = stream_sync("tern_stream_destroy", stream, TERN_TIMEOUT_DEFAULT);
    tern__device_lock();
    bool ended = tern__handle_lives(stream, TERN__STREAM) && stream->first == NULL;
    if (ended) { // else it may be no stream at all
        stream->leaves = true;
    }
    while (ended && stream->sleepers > 0) { // tern_stream_sync_all of another thread
        tern__device_sleep(INT64_MAX);
    }
    if (ended) {
        *(stream->newer != NULL ? &stream->newer->older : &newest) = stream->older;
        if (stream->older != NULL) {
            stream->older->newer = stream->newer;
        }
    }
    tern__device_unlock();
    if (ended) {
        tern__handle_free(stream, sizeof *stream);
    }
    return status;
}

int tern_stream_destroy(tern_stream *stream)
{
    return TERN__CALL(stream_destroy(stream));
}

static int stream_test(tern_stream *stream)
{
    TERN_TRY(tern__handle_check("tern_stream_test", stream, TERN__STREAM));
    tern__device_lock();
    bool ended = stream->first == NULL;
    tern__device_unlock();
    if (!ended) {
        sched_yield(); // a program that tests in a loop lets the stream go on
    }
    return ended;
}

int tern_stream_test(tern_stream *stream)
{
    return TERN__CALL(stream_test(stream));
}
