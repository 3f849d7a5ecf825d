// SPDX-License-Identifier: Apache-2.0
// The device of this process: the threads that run blocks, and the one lock under which streams
// move on. Two designs were there: a worker thread per stream that starts its kernels and waits for
// them, or none, where whoever ends something starts what follows. The second needs no thread that
// only waits, and one switch less between two kernels.
//
// Blocks are threads, not fibers: a kernel may spin on plain memory, call BLAS, or be preempted
// anywhere, and all of that works; fibers would save a switch.
#ifndef TERN_STREAM_DEVICE_H
#define TERN_STREAM_DEVICE_H

#include <pthread.h>
#include <stdbool.h>

#include "base/error.h"
#include "base/handle.h"
#include "isa/block.h"
#include "tern/stream.h"

enum tern__stream_op_kind { TERN__OP_KERNEL, TERN__OP_RECORD, TERN__OP_WAIT, TERN__OP_CALL };

// A record of an event. Each is a point of its own: who waits for one that an event meant once is
// not concerned by what the event means later. Under the lock.
struct tern__stream_point {
    int users; // the event whose latest it is, operations, and calls that sleep
    bool happened;
    int64_t happened_ns;
    bool only_orders;            // failures are nothing to who waits for it
    int status;                  // of what its stream had failed with by then
    char *sentence;              // of malloc; NULL: none, or there was no memory
    struct tern_stream *waiting; // streams that go on when it happens
    struct tern_stream *stream;  // until it has happened: where it was recorded
};

// One thing that was appended to a stream. Freed when it has ended.
struct tern__stream_op {
    struct tern__stream_op *next;
    enum tern__stream_op_kind kind;
    struct tern_stream *stream;

    struct tern__stream_point *point; // of a record or a wait; NULL: of no record

    const char *name;            // behind the arguments
    int (*function)(void *args); // of a call, and a kernel's block
    void (*dropped)(void *args);
    // What its last block does under the lock, or its call: the stream goes on. Of who appended it,
    // so that neither threads nor calls know of what follows them.
    void (*ended)(struct tern__stream_op *op);
    uint64_t launch; // of the process's kernels, from 1
    uint64_t event;  // of a wait: the number of its event
    int blocks;
    int left; // blocks that have not returned
    bool started;
    uint64_t failures; // of the device when it started
    struct tern__block_meeting meeting;
    _Alignas(TERN_STREAM_ARGS_ALIGN) char args[];
};

struct tern_stream {
    struct tern__handle handle;
    struct tern__stream_op *first, *last; // the first one runs, or waits
    struct tern_stream *next;             // of those that wait for the same point
    struct tern_stream *older, *newer;    // of the process's
    uint64_t appended, ended;
    int sleepers;                   // calls that wait for it
    struct tern_stream *next_ready; // of those whose first is a ready call: stream/call.h
    bool summoned;                  // a thread comes for that call
    bool waited_for;                // a waiting thread ran its last call
    bool leaves;                    // is being destroyed
    bool goes_on;                   // what follows a failure is run
    int64_t ended_ns;               // when something last ended, or was appended to an empty stream
    int status;                     // the first failure since the last sync
    char sentence[TERN_ERROR_BYTES];
};

struct tern_event {
    struct tern__handle handle;
    uint64_t number;                   // of the process's events that were waited for; 0: never
    struct tern__stream_point *latest; // NULL: never recorded
    bool only_orders;                  // points of later records do
};

// All of what follows under the lock.
void tern__device_lock(void);
void tern__device_unlock(void);

// Sleeps, without the lock, until something of any stream has ended, which who ended it tells with
// wake, or the deadline has passed: then false.
bool tern__device_sleep(int64_t deadline_ns);
void tern__device_wake(void);

// The same on another condition, made by this: on the clock of deadlines.
void tern__device_init_cond(pthread_cond_t *cond);
bool tern__device_sleep_on(pthread_cond_t *cond, int64_t deadline_ns);

// advance.c: what follows what. Appends what tern__stream_op_make, without the lock, has made;
// NULL: no memory, with its sentence.
struct tern__stream_op *tern__stream_op_make(enum tern__stream_op_kind kind, const char *name,
                                             const void *args, size_t args_bytes);
void tern__stream_append(struct tern_stream *stream, struct tern__stream_op *op);

// The event means this from now on.
void tern__event_mean(struct tern_event *event, struct tern__stream_point *point);

// What its stream had failed with.
const char *tern__stream_point_sentence(const struct tern__stream_point *point);

// One of its users has gone. NULL is allowed.
void tern__stream_point_let_go(struct tern__stream_point *point);

// failure.c. The stream has failed, if it had not.
void tern__stream_fail(struct tern_stream *stream, int status, const char *format, ...)
    TERN_PRINTF(3, 4);

// Whether what follows is left out: the stream has failed, and does not go on.
static inline bool tern__stream_drops(const struct tern_stream *stream)
{
    return stream->status != TERN_OK && !stream->goes_on;
}

// Whether a stream has a wait for the event of this number that it has not passed.
bool tern__streams_wait_for(uint64_t event);

// What timeout_ns of a public call means, without the lock.
int tern__stream_timeout(const char *call, int64_t timeout_ns, int64_t *result_ns);

// Starts the blocks of a kernel, or none: TERN_ERR_SYSTEM.
int tern__device_start(struct tern__stream_op *op);

// A thread comes and runs this under the lock, or there can be none: TERN_ERR_SYSTEM.
int tern__device_summon(void (*duty)(void));

#endif
