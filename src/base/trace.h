// SPDX-License-Identifier: Apache-2.0
// The trace recorder of a process: events into a track per thread. When recording is off, an event
// site costs the test of one flag. Tracks lie in this process's memory and are read by one thread
// when the others are quiet; or, when the launcher records the job, in memory that it reads after
// the rank has ended, however it ended.
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
    TERN__TRACE_CALL,
    TERN__TRACE_NOTIFY,
};

// What else is known of an event.
enum {
    TERN__TRACE_HAS_PEER = 1,
    TERN__TRACE_HAS_SIGNAL = 2,
    TERN__TRACE_OVERLAPS = 4,    // it may overlap others of its thread
    TERN__TRACE_IN_AT_BEGIN = 8, // its arrow ends at its beginning, not at its end
    TERN__TRACE_IN_HERE = 16,    // its arrow comes from this rank; else from another one
};

#define TERN__TRACE_NAME_BYTES 36
#define TERN__TRACE_TRACK_BYTES 16

// Copied between processes as it is.
struct tern__trace_event {
    int64_t begin_ns;
    int64_t duration_ns;
    uint64_t bytes;   // of a transfer, a call, a message
    uint64_t number;  // of a call, shown after its name; 0: none
    uint64_t signal;  // where it is in its window
    uint64_t out, in; // arrows that begin and end here (tern__trace_arrow); 0: none
    uint16_t kind;    // enum tern__trace_kind
    uint16_t nth;     // of the events that `in` may come from, in their order; 0: the last one
    int16_t peer;     // rank of the job
    uint16_t has;
    char name[TERN__TRACE_NAME_BYTES];
    char algorithm[20];
    char way[8]; // how its bytes travel
};
_Static_assert(sizeof(struct tern__trace_event) == 128, "two cache lines");

// The head of a track; `capacity` events lie behind it.
struct tern__trace_track {
    char name[TERN__TRACE_TRACK_BYTES]; // no other thread's of the same time
    _Atomic uint32_t count;
    _Atomic uint32_t lost;
    uint32_t capacity;
    uint32_t unused[25];
};
_Static_assert(sizeof(struct tern__trace_track) == sizeof(struct tern__trace_event),
               "tracks are arrays of one unit");

static inline struct tern__trace_event *tern__trace_events(const struct tern__trace_track *track)
{
    return (struct tern__trace_event *)(uintptr_t)(track + 1);
}

extern _Atomic uint32_t tern__trace_on;

// The clock of events: of a thread, every look is later than the one before, so that what it does
// is properly nested.
int64_t tern__trace_clock(void);

// Begin time for tern__trace_add, or 0 when recording is off.
static inline int64_t tern__trace_start(void)
{
    return __builtin_expect(tern__peek(&tern__trace_on) != 0, 0) ? tern__trace_clock() : 0;
}

// Records an event of the calling thread from begin_ns (of tern__trace_start) until now. Nothing
// when begin_ns is 0. Texts are cut to fit. tern__trace_put: all that is known of it; duration_ns
// is set.
void tern__trace_add(enum tern__trace_kind kind, const char *name, int64_t begin_ns,
                     uint64_t bytes);
void tern__trace_put(struct tern__trace_event *event);
void tern__trace_name(struct tern__trace_event *event, const char *name);

// What an arrow from one event to another is known by at both ends: the thing that is notified, in
// a communicator (its slot), and where in it. Of several events that an arrow could come from, it
// is the nth, or else the last of another rank that began before the arrow ends. Never 0.
enum tern__trace_thing {
    TERN__ARROW_WINDOW = 1,
    TERN__ARROW_PUBLISHED,
    TERN__ARROW_ARRIVED,
    TERN__ARROW_POSTED,
    TERN__ARROW_BARRIER,
    TERN__ARROW_MAIL,
    TERN__ARROW_TAKEN,
    TERN__ARROW_BEGUN,
    TERN__ARROW_TASK, // `comm_slot` is the chip's number
};
uint64_t tern__trace_arrow(enum tern__trace_thing thing, int comm_slot, uint64_t which,
                           uint64_t where);

// Names the calling thread's track ("AIC 0"); threads without one are "host".
void tern__trace_name_thread(const char *track);

// Starts and stops recording; start fails (false) when it is on already.
bool tern__trace_begin(size_t events_max);
bool tern__trace_stop(void);

// After stop: visits every track, then forgets them.
typedef void (*tern__trace_visitor)(void *arg, const struct tern__trace_track *track);
void tern__trace_drain(tern__trace_visitor visit, void *arg);

// Memory that a launcher reads: a unit of which only `lost_threads` is used, then
// TERN__TRACE_TRACKS_MAX tracks of one capacity each. Zero when it is made. What nobody touches
// costs nothing.
#define TERN__TRACE_TRACKS_MAX 32
struct tern__trace_region {
    uint64_t magic;
    uint32_t capacity;             // of every track
    _Atomic uint32_t used;         // tracks
    _Atomic uint32_t lost_threads; // that had no track
    uint32_t unused[27];
};
_Static_assert(sizeof(struct tern__trace_region) == sizeof(struct tern__trace_event), "one unit");
#define TERN__TRACE_MAGIC UINT64_C(0x3165636172746e74)

size_t tern__trace_region_bytes(uint32_t capacity);
struct tern__trace_track *tern__trace_region_track(struct tern__trace_region *region,
                                                   uint32_t capacity, uint32_t index);

// Records into the region of `fd` from now to the end of the process; a child of fork records
// nothing. False when the descriptor is none of these.
bool tern__trace_attach(int fd);

// The same with the descriptor that the launcher has named in the environment, which is closed in
// what this process executes. Without one nothing; again: it goes on.
#define TERN_ENV_TRACE_FD "TERN_TRACE_FD"
void tern__trace_join(void);

#endif
