// SPDX-License-Identifier: Apache-2.0
// Streams: work of this rank's chip in order, beside the work of other streams and of the caller.
//
//     tern_stream_create(&stream);
//     tern_stream_launch(stream, &(tern_stream_kernel){.kernel = add, .blocks = 24,
//                                                      .args = &args, .args_bytes = sizeof args});
//     tern_stream_sync(stream, TERN_TIMEOUT_DEFAULT);
//
// A kernel runs as `blocks` calls of one function, each on a thread of its own, all at the same
// time, as are the kernels of different streams: blocks may wait for each other through signals and
// through memory, with any number of them on any number of processors. Threads are kept for the
// next launch. What a stream's work wrote is visible to what follows in the stream, to what waits
// for an event that was recorded after it, and to who synchronized with either.
//
// Any thread. In the child of a fork() there are no streams: TERN_ERR_STATE.
#ifndef TERN_STREAM_H
#define TERN_STREAM_H

#include <stddef.h>
#include <stdint.h>

#include "tern/api.h"
#include "tern/block.h"
#include "tern/comm.h"

TERN_BEGIN_DECLS

#define TERN_BLOCKS_MAX 1024             // of a kernel
#define TERN_STREAM_ARGS_BYTES_MAX 65536 // of a launch
#define TERN_STREAM_ARGS_ALIGN 64        // of a copy of arguments, in bytes

typedef struct tern_stream tern_stream;
typedef struct tern_event tern_event;

// An empty stream.
TERN_CALL int tern_stream_create(tern_stream **stream);

// Waits as tern_stream_sync does with TERN_TIMEOUT_DEFAULT, and returns what that does. The stream
// is gone, but after TERN_ERR_TIMEOUT, when a kernel still runs. NULL is allowed.
TERN_API int tern_stream_destroy(tern_stream *stream);

// A block. TERN_OK, or a status below 0 whose sentence is the thread's tern_last_error(). A block
// that fails ends the waits (tern_tensor_wait, tern_signal_wait) of all blocks of this process that
// run at that time, with TERN_ERR_KERNEL.
typedef int (*tern_block_kernel)(void *args);

typedef struct tern_stream_kernel {
    tern_block_kernel kernel;
    const char *name; // for sentences and traces; copied; NULL: "kernel"
    int blocks;       // 1..TERN_BLOCKS_MAX
    const void *args; // args_bytes bytes, copied; every block gets the same, aligned copy
    size_t args_bytes;
} tern_stream_kernel;

// Appends to the stream, and returns at once.
TERN_CALL int tern_stream_launch(tern_stream *stream, const tern_stream_kernel *launch);

// A function of the host in the stream's order: no block, no on-chip memory. It may call tern and
// may block, but must not wait for its own stream. It runs on a thread of tern's or, when nobody
// has begun it, on one that waits in tern_stream_sync or tern_event_sync with TERN_TIMEOUT_DEFAULT:
// so who appends and then waits pays for no change of threads. For a stream whose last function ran
// that way, a function that nobody waits for begins within half a millisecond.
typedef struct tern_stream_host_call {
    // TERN_OK, or a status below 0 whose sentence is the thread's tern_last_error(): then the
    // stream has failed, as by a kernel.
    int (*function)(void *args);
    // Called instead when the stream has failed before, whose sentence is tern_last_error(). NULL:
    // nothing is.
    void (*dropped)(void *args);
    const char *name; // for sentences; copied; NULL: "call"
    const void *args; // args_bytes bytes, copied, aligned
    size_t args_bytes;
    tern_event *ended; // NULL, or an event that is recorded right behind it
} tern_stream_host_call;

// Appends to the stream, and returns at once.
TERN_CALL int tern_stream_call(tern_stream *stream, const tern_stream_host_call *call);

// Returns when all that was appended before has ended: TERN_OK, or the status of the first that
// failed since the last call, with its sentence; kernels behind it were not run. Then the stream
// works again.
//
// timeout_ns: TERN_ERR_TIMEOUT when nothing of the stream has ended for so long;
// TERN_TIMEOUT_DEFAULT for twice TERN_TIMEOUT seconds (60), so that a wait of a kernel says first
// why. The work goes on.
TERN_CALL int tern_stream_sync(tern_stream *stream, int64_t timeout_ns);

// The same for all streams of the process: the first failure that is found.
TERN_CALL int tern_stream_sync_all(int64_t timeout_ns);

// Does not wait: 1 when all has ended, else 0; negative on error. Failures are kept for
// tern_stream_sync.
TERN_CALL int tern_stream_test(tern_stream *stream);

// Events: a point in a stream. Record appends the point; an event that is recorded again means the
// later one. Wait appends to `stream` that it goes on when the event, as recorded by then, has
// happened; at once when it never was. Sync and test as those of streams; what the event's stream
// had failed with by then is told by sync, each time, and fails a stream that waited for it, too.
// Elapsed: nanoseconds from when one happened to when the other did; TERN_ERR_STATE when either has
// not.
TERN_CALL int tern_event_create(tern_event **event);
TERN_API int tern_event_destroy(tern_event *event);
TERN_CALL int tern_event_record(tern_event *event, tern_stream *stream);
TERN_CALL int tern_stream_wait_event(tern_stream *stream, tern_event *event);
TERN_CALL int tern_event_sync(tern_event *event, int64_t timeout_ns);
TERN_CALL int tern_event_test(tern_event *event);
TERN_CALL int tern_event_elapsed(tern_event *from, tern_event *to, int64_t *elapsed_ns);

TERN_END_DECLS

#endif
