// SPDX-License-Identifier: Apache-2.0
// Streams: the public calls, and the waits for what was appended. Set-up path.

#include <inttypes.h>
#include <sched.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/options.h"
#include "base/public.h"
#include "stream/call.h"
#include "stream/device.h"
#include "stream/more.h"

// The process's, linked; under the lock.
static struct tern_stream *newest;
static uint64_t launches;
static int64_t event_limit_ns; // 0: none

// The child of a fork has none.
static void forget_streams(void)
{
    newest = NULL;
    tern__calls_forget();
}

static void watch_forks(void)
{
    pthread_atfork(NULL, NULL, forget_streams);
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

static int stream_call(tern_stream *stream, const tern_stream_host_call *what)
{
    const char *call = "tern_stream_call";
    TERN_TRY(tern__handle_check(call, stream, TERN__STREAM));
    if (what == NULL || what->function == NULL) {
        return tern__fail(TERN_ERR_ARG, "%s: there is no function", call);
    }
    if (what->args_bytes > 0 && what->args == NULL) {
        return tern__fail(TERN_ERR_ARG, "%s: %zu bytes of arguments at NULL", call,
                          what->args_bytes);
    }
    struct tern__stream_point *point = NULL;
    if (what->ended != NULL) {
        TERN_TRY(tern__handle_check(call, what->ended, TERN__EVENT));
        point = calloc(1, sizeof *point);
    }
    struct tern__stream_op *op =
        tern__stream_op_make(TERN__OP_CALL, what->name != NULL ? what->name : "call", what->args,
                             what->args_bytes);
    if (op == NULL || (what->ended != NULL && point == NULL)) {
        free(op);
        free(point);
        return tern__fail(TERN_ERR_MEMORY, "%s: no memory", call);
    }
    op->function = what->function;
    op->dropped = what->dropped;
    tern__device_lock();
    if (point != NULL) {
        point->stream = stream;
        tern__event_mean(what->ended, point);
        point->users++;
        op->point = point;
    }
    tern__stream_append(stream, op);
    tern__device_unlock();
    return TERN_OK;
}

int tern_stream_call(tern_stream *stream, const tern_stream_host_call *call)
{
    return TERN__CALL(stream_call(stream, call));
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

int tern__stream_go_on(tern_stream *stream, bool goes_on)
{
    TERN_TRY(tern__handle_check("tern__stream_go_on", stream, TERN__STREAM));
    tern__device_lock();
    stream->goes_on = goes_on;
    tern__device_unlock();
    return TERN_OK;
}

bool tern__streams_wait_for(uint64_t event)
{
    for (const struct tern_stream *stream = newest; stream != NULL; stream = stream->older) {
        for (const struct tern__stream_op *op = stream->first; op != NULL; op = op->next) {
            if (op->kind == TERN__OP_WAIT && op->event == event) {
                return true;
            }
        }
    }
    return false;
}

void tern__stream_limit_events(int64_t limit_ns)
{
    tern__device_lock();
    event_limit_ns = limit_ns;
    tern__device_unlock();
}

int64_t tern__stream_event_limit(void)
{
    tern__device_lock();
    int64_t limit_ns = event_limit_ns;
    tern__device_unlock();
    return limit_ns;
}

// How long nothing may end now: a wait with the default deadline for a stream that waits for an
// event has that of events. Under the lock.
static int64_t patience(const struct tern_stream *stream, int64_t timeout_ns, bool is_default)
{
    bool of_events = is_default && event_limit_ns != 0 && stream->first->kind == TERN__OP_WAIT;
    return of_events ? event_limit_ns : timeout_ns;
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
        int64_t long_ns = patience(stream, timeout_ns, runs);
        int64_t deadline = long_ns > INT64_MAX - since ? INT64_MAX : since + long_ns;
        if (tern__now_ns() >= deadline) {
            return say_stuck(call, stream, long_ns);
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

int tern__stream_failure(tern_stream *stream)
{
    TERN_TRY(tern__handle_check("tern__stream_failure", stream, TERN__STREAM));
    tern__device_lock();
    int status =
        stream->status == TERN_OK ? TERN_OK : tern__fail(stream->status, "%s", stream->sentence);
    tern__device_unlock();
    return status;
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
