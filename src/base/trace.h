// SPDX-License-Identifier: Apache-2.0
// The trace recorder of a process: events into a buffer per thread, read by one thread when the
// others are quiet. When recording is off, an event site costs the test of one flag.
#ifndef TERN_BASE_TRACE_H
#define TERN_BASE_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/clock.h"
#include "base/order.h"

enum tern__trace_kind {
    TERN__TRACE_TASK,
    TERN__TRACE_WAIT,
    TERN__TRACE_TRANSFER,
    TERN__TRACE_BARRIER,
    TERN__TRACE_LOST, // written by the gathering only: `bytes` events did not fit
};

#define TERN__TRACE_NAME_BYTES 36
#define TERN__TRACE_TRACK_BYTES 16

// Copied between processes as it is.
struct tern__trace_event {
    int64_t begin_ns;
    int64_t duration_ns;
    uint64_t bytes; // of a transfer
    uint32_t kind;  // enum tern__trace_kind
    char name[TERN__TRACE_NAME_BYTES];
};
_Static_assert(sizeof(struct tern__trace_event) == 64, "one cache line");

extern _Atomic uint32_t tern__trace_on;

// Begin time for tern__trace_add, or 0 when recording is off.
static inline int64_t tern__trace_start(void)
{
    return tern__peek(&tern__trace_on) != 0 ? tern__now_ns() : 0;
}

// Records an event of the calling thread from begin_ns (of tern__trace_start) until now. Nothing
// when begin_ns is 0. `name` is cut to fit.
void tern__trace_add(enum tern__trace_kind kind, const char *name, int64_t begin_ns,
                     uint64_t bytes);

// Names the calling thread's track ("AIC 0"); threads without one are "host".
void tern__trace_name_thread(const char *track);

// Starts and stops recording; start fails (false) when it is on already.
bool tern__trace_begin(size_t events_max);
bool tern__trace_stop(void);

// After stop: visits every recorded event, then forgets them.
typedef void (*tern__trace_visitor)(void *arg, const char *track,
                                    const struct tern__trace_event *event);
void tern__trace_drain(tern__trace_visitor visit, void *arg);

#endif
