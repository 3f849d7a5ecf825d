// SPDX-License-Identifier: Apache-2.0
// Events. Set-up path.

#include <sched.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/public.h"
#include "stream/call.h"
#include "stream/device.h"
#include "stream/more.h"

static int event_create(tern_event **event)
{
    if (event == NULL) {
        return tern__fail(TERN_ERR_ARG, "tern_event_create: event must not be NULL");
    }
    struct tern_event *made = tern__handle_new(TERN__EVENT, sizeof *made);
    if (made == NULL) {
        return tern__fail(TERN_ERR_MEMORY, "no memory for an event");
    }
    *event = made;
    return TERN_OK;
}

int tern_event_create(tern_event **event)
{
    return TERN__CALL(event_create(event));
}

static int event_destroy(tern_event *event)
{
    if (event == NULL) {
        return TERN_OK;
    }
    if (!tern__handle_is_inherited(event, TERN__EVENT)) {
        TERN_TRY(tern__handle_check("tern_event_destroy", event, TERN__EVENT));
    }
    tern__device_lock();
    tern__stream_point_let_go(event->latest);
    tern__device_unlock();
    tern__handle_free(event, sizeof *event);
    return TERN_OK;
}

int tern_event_destroy(tern_event *event)
{
    return TERN__CALL(event_destroy(event));
}

static int check_event(const char *call, const tern_event *event)
{
    return tern__handle_check(call, event, TERN__EVENT);
}

static int append_event(const char *call, tern_stream *stream, tern_event *event,
                        enum tern__stream_op_kind kind)
{
    TERN_TRY(tern__handle_check(call, stream, TERN__STREAM));
    TERN_TRY(check_event(call, event));
    struct tern__stream_point *point = calloc(1, sizeof *point);
    struct tern__stream_op *op = tern__stream_op_make(kind, "event", NULL, 0);
    if (point == NULL || op == NULL) {
        free(point);
        free(op);
        return tern__fail(TERN_ERR_MEMORY, "%s: no memory", call);
    }
    tern__device_lock();
    if (kind == TERN__OP_RECORD) {
        point->stream = stream;
        tern__event_mean(event, point);
    } else {
        free(point);
    }
    op->point = event->latest;
    if (op->point != NULL) {
        op->point->users++;
    }
    if (kind == TERN__OP_WAIT) {
        static uint64_t numbers;
        event->number = event->number != 0 ? event->number : ++numbers;
        op->event = event->number;
        tern__calls_hurry();
    }
    tern__stream_append(stream, op);
    tern__device_unlock();
    return TERN_OK;
}

int tern_event_record(tern_event *event, tern_stream *stream)
{
    return TERN__CALL(append_event("tern_event_record", stream, event, TERN__OP_RECORD));
}

int tern_stream_wait_event(tern_stream *stream, tern_event *event)
{
    return TERN__CALL(append_event("tern_stream_wait_event", stream, event, TERN__OP_WAIT));
}

static bool has_happened(const struct tern__stream_point *point)
{
    return point == NULL || point->happened;
}

// Of a point that has happened, or NULL.
static int failure_of(const char *call, const struct tern__stream_point *point)
{
    return point == NULL || point->status == TERN_OK
               ? TERN_OK
               : tern__fail(point->status, "%s: the event's stream had failed: %s", call,
                            tern__stream_point_sentence(point));
}

int tern__event_failure(const char *call, tern_event *event)
{
    TERN_TRY(check_event(call, event));
    tern__device_lock();
    int status = failure_of(call, event->latest);
    tern__device_unlock();
    return status;
}

int tern__event_only_orders(tern_event *event)
{
    TERN_TRY(check_event("tern__event_only_orders", event));
    tern__device_lock();
    event->only_orders = true;
    tern__device_unlock();
    return TERN_OK;
}

static int event_sync(tern_event *event, int64_t timeout_ns)
{
    const char *call = "tern_event_sync";
    int status = TERN_OK;
    TERN_TRY(check_event(call, event));
    bool runs = timeout_ns == TERN_TIMEOUT_DEFAULT;
    TERN_TRY(tern__stream_timeout(call, timeout_ns, &timeout_ns));
    int64_t deadline = tern__deadline_after(timeout_ns);
    tern__device_lock();
    struct tern__stream_point *point = event->latest;
    if (point != NULL) {
        point->users++;
    }
    while (status == TERN_OK && !has_happened(point)) {
        if (tern__call_help(point->stream, runs)) {
            continue;
        }
        if (tern__now_ns() >= deadline) {
            status = tern__fail(TERN_ERR_TIMEOUT, "%s: the event has not happened after %.3g s",
                                call, (double)timeout_ns * 1e-9);
        } else {
            tern__device_sleep(deadline);
        }
    }
    if (status == TERN_OK) {
        status = failure_of(call, point);
    }
    tern__stream_point_let_go(point);
    tern__device_unlock();
    return status;
}

int tern_event_sync(tern_event *event, int64_t timeout_ns)
{
    return TERN__CALL_WAIT(event_sync(event, timeout_ns), timeout_ns);
}

static int event_test(tern_event *event)
{
    TERN_TRY(check_event("tern_event_test", event));
    tern__device_lock();
    bool happened = has_happened(event->latest);
    tern__device_unlock();
    if (!happened) {
        sched_yield(); // as in tern_stream_test
    }
    return happened;
}

int tern_event_test(tern_event *event)
{
    return TERN__CALL(event_test(event));
}

int tern__event_is_waited_for(tern_event *event)
{
    TERN_TRY(check_event("tern__event_is_waited_for", event));
    tern__device_lock();
    bool waits = event->number != 0 && tern__streams_wait_for(event->number);
    tern__device_unlock();
    if (waits) {
        sched_yield(); // as in tern_stream_test
    }
    return waits;
}

static int event_elapsed(tern_event *from, tern_event *to, int64_t *elapsed_ns)
{
    const char *call = "tern_event_elapsed";
    TERN_TRY(check_event(call, from));
    TERN_TRY(check_event(call, to));
    if (elapsed_ns == NULL) {
        return tern__fail(TERN_ERR_ARG, "%s: elapsed_ns must not be NULL", call);
    }
    tern__device_lock();
    bool happened = from->latest != NULL && from->latest->happened && to->latest != NULL &&
                    to->latest->happened;
    int64_t elapsed = happened ? to->latest->happened_ns - from->latest->happened_ns : 0;
    tern__device_unlock();
    if (!happened) {
        return tern__fail(TERN_ERR_STATE, "%s: both events must have happened", call);
    }
    *elapsed_ns = elapsed;
    return TERN_OK;
}

int tern_event_elapsed(tern_event *from, tern_event *to, int64_t *elapsed_ns)
{
    return TERN__CALL(event_elapsed(from, to, elapsed_ns));
}
