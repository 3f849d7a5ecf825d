// SPDX-License-Identifier: Apache-2.0
// Calls. Set-up path, as all of streams; a call that a waiting thread runs costs a few hundred
// nanoseconds and no system call.

#include "stream/call.h"

#include <stdio.h>

#include "base/clock.h"
#include "base/trace.h"
#include "isa/block.h"
#include "base/thread.h"

#define TICK_NS INT64_C(200000)

// Under the lock of the device.
static struct {
    struct tern_stream *ready; // oldest first
    pthread_cond_t wake;
    bool runs;   // there is a ticker
    bool sleeps; // until somebody wakes it
    bool used;   // something was left to it in this tick
} calls;

void tern__calls_forget(void)
{
    calls.ready = NULL;
    calls.runs = false;
}

// Takes it out of the list; false: it is not there.
static bool take(const struct tern_stream *stream)
{
    struct tern_stream **at = &calls.ready;
    while (*at != NULL && *at != stream) {
        at = &(*at)->next_ready;
    }
    if (*at == NULL) {
        return false;
    }
    *at = stream->next_ready;
    return true;
}

static void run(struct tern_stream *stream)
{
    struct tern__stream_op *op = stream->first;
    bool drop = tern__stream_drops(stream);
    int status = TERN_OK;
    if (drop) {
        tern__set_error("%s", stream->sentence);
    }
    tern__device_unlock();
    int64_t begin_ns = tern__trace_start();
    if (drop) {
        op->dropped(op->args);
    } else {
        status = op->function(op->args);
    }
    tern_fence(); // wakes who waits for what it stored
    if (begin_ns != 0) {
        struct tern__trace_event event = {.begin_ns = begin_ns, .kind = TERN__TRACE_TASK};
        tern__trace_name(&event, op->name);
        tern__trace_put(&event);
    }
    tern__device_lock();
    if (status < 0) {
        tern__stream_fail(stream, status, "%s: %s", op->name, tern_last_error());
    }
    op->ended(op);
}

// What a summoned thread does.
static void run_summoned(void)
{
    struct tern_stream *stream = calls.ready;
    while (stream != NULL) {
        if (stream->summoned) {
            take(stream);
            stream->waited_for = false;
            run(stream);
            stream = calls.ready;
        } else {
            stream = stream->next_ready;
        }
    }
}

static void *ticker_main(void *arg)
{
    (void)arg;
    tern__trace_name_thread("ticker");
    tern__device_lock();
    for (;;) {
        calls.sleeps = calls.ready == NULL && !calls.used;
        if (calls.sleeps) {
            tern__device_sleep_on(&calls.wake, INT64_MAX);
            continue;
        }
        calls.used = false;
        tern__device_sleep_on(&calls.wake, tern__now_ns() + TICK_NS);
        tern__calls_hurry();
    }
    return NULL;
}

// The ticker will look; false: there can be none.
static bool leave_to_ticker(void)
{
    calls.used = true;
    if (!calls.runs) {
        pthread_t thread;
        tern__device_init_cond(&calls.wake);
        calls.sleeps = false;
        calls.runs = tern__thread_start(&thread, ticker_main, NULL) == TERN_OK;
        if (calls.runs) {
            pthread_detach(thread);
        }
    } else if (calls.sleeps) {
        calls.sleeps = false;
        pthread_cond_signal(&calls.wake);
    }
    return calls.runs;
}

void tern__call_ready(struct tern_stream *stream)
{
    struct tern_stream **last = &calls.ready;
    while (*last != NULL) {
        last = &(*last)->next_ready;
    }
    *last = stream;
    stream->next_ready = NULL;
    stream->summoned = false;
    if (!stream->waited_for || !leave_to_ticker()) {
        stream->summoned = tern__device_summon(run_summoned) == TERN_OK;
    }
}

bool tern__call_help(struct tern_stream *stream, bool runs)
{
    if (stream != NULL && runs && take(stream)) {
        stream->waited_for = true;
        run(stream);
        return true;
    }
    if (calls.ready != NULL) {
        tern__calls_hurry();
    }
    return false;
}

void tern__calls_hurry(void)
{
    for (struct tern_stream *stream = calls.ready; stream != NULL; stream = stream->next_ready) {
        stream->summoned = stream->summoned || tern__device_summon(run_summoned) == TERN_OK;
    }
}
