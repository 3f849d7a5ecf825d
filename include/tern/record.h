// SPDX-License-Identifier: Apache-2.0
// Executors as plans. An executor is a program that says, for one rank, which copies, reduces,
// posts and waits go to which streams. It lies in a shared object that registers it by name. Here
// one instance a rank is run, nothing is executed, and what they ask for becomes a plan: `in` and
// `out` are the user's buffers, `scratch` is CCL_In, then CCL_Out (then what a rank allocated), a
// lane is a stream, an op a task, and each use of a notify is a signal of its own.
//
// A notify is one bit: a post sets it, a wait clears it. The recorder proves that no post can come
// before the wait for the last one (such a post is lost), that no wait can take another one's
// post, that slave streams run between the begin and the end of the main one, and that no bit is
// left set. Executors write these through a face: coll_comm_executor.h (docs/executors.md).
#ifndef TERN_RECORD_H
#define TERN_RECORD_H

#include <stdbool.h>
#include <stdint.h>

#include "tern/dtype.h"
#include "tern/op.h"
#include "tern/plan.h"
#include "tern/topo.h"

TERN_BEGIN_DECLS

#define TERN_RECORD_CCL_MIB 200             // of CCL_In, and of CCL_Out
#define TERN_RECORD_TASKS_MAX (1u << 22)    // of all ranks
#define TERN_RECORD_STREAMS_MAX 1024        // of a rank, as lanes of a plan
#define TERN_RECORD_NOTIFIES_MAX (1u << 16) // of a rank, those of links not counted
#define TERN_RECORD_LINK_BITS 64            // of each end of a link

typedef struct tern_record_request {
    const char *library;  // path of the shared object
    const char *source;   // what sentences call it, the file it was made of; NULL: its path
    const char *executor; // the name it registers; NULL: the only one
    tern_plan_kind kind;  // not broadcast, not barrier
    uint64_t bytes;       // as in tern_plan_spec, also unit and root
    uint32_t unit;        // the dtype is i8, f16, f32 or i64
    int root;
    const tern_topo *topo; // its ranks; between ranks without a link the executor has none
    uint64_t ccl_bytes;    // of CCL_In and of CCL_Out; 0: HCCL_BUFFSIZE MiB, else 200
    int64_t timeout_ns;    // the executor may take; 0: TERN_TIMEOUT
} tern_record_request;

// Records in a child process, so an executor that crashes, throws, ends the process or never
// returns is a sentence: TERN_ERR_ARG for what is wrong with the request or with what the executor
// does, TERN_ERR_TIMEOUT, TERN_ERR_LIMIT, TERN_ERR_SYSTEM, TERN_ERR_MEMORY. Sentences about tasks
// name rank, stream, and file and line of the call.
TERN_CALL int tern_record_plan(const tern_record_request *request, tern_plan **plan);

// What follows is for faces, and means something only while an executor is recorded: the child
// has one thread, and one rank at a time. Calls that fail keep their sentence: the first of a
// recording is its result, whatever the executor makes of the status. Places are the file and line
// of the executor's call.

// What a rank is asked to do.
typedef struct tern_record_call {
    int rank, nranks;
    tern_plan_kind kind;
    uint64_t count; // elements of a share where the kind has shares, else of the buffer
    tern_dtype dtype;
    tern_reduce_op op;
    int root;
    void *in, *out; // addresses without memory, NULL where the rank has no such buffer
    uint64_t in_bytes, out_bytes;
    void *ccl_in, *ccl_out;
    uint64_t ccl_bytes;
} tern_record_call;

// Runs the executor of one rank; its result is TERN_OK or less.
typedef int tern_record_drive(const tern_record_call *call);

// Registers an executor. TERN_ERR_STATE: the name is taken.
TERN_CALL int tern_record_register(const char *name, tern_record_drive *drive);

// Of the rank that is recorded. The first stream is the main one.
TERN_API void *tern_record_stream(void);
TERN_CALL int tern_record_stream_number(const void *stream);
TERN_API void *tern_record_notify(void);
TERN_API void *tern_record_alloc(uint64_t bytes);
TERN_API void *tern_record_link(int peer); // NULL: missing, or itself
TERN_CALL int tern_record_link_peer(const void *link, const char *file, int line); // -1: no link
// The peer's CCL_In (output false) or CCL_Out.
TERN_CALL int tern_record_link_memory(const void *link, bool output, void **address,
                                      uint64_t *bytes, const char *file, int line);

// Tasks. `room` is what the destination has, UINT64_MAX where that is not known.
TERN_CALL int tern_record_copy(void *stream, void *to, uint64_t room, const void *from,
                               uint64_t bytes, const char *file, int line);
// Without `atomic` nobody else may reduce into the same bytes at the same time.
typedef struct tern_record_reduce_task {
    void *to;
    const void *from;
    uint64_t count;
    tern_dtype dtype;
    tern_reduce_op op;
    bool atomic;
} tern_record_reduce_task;
TERN_CALL int tern_record_reduce(void *stream, const tern_record_reduce_task *task,
                                 const char *file, int line);
TERN_CALL int tern_record_post(void *stream, void *notify, const char *file, int line);
TERN_CALL int tern_record_wait(void *stream, void *notify, const char *file, int line);
// A post sets a bit of the peer's end, a wait is for one of the own end.
TERN_CALL int tern_record_link_post(void *stream, void *link, int bit, const char *file, int line);
TERN_CALL int tern_record_link_wait(void *stream, void *link, int bit, const char *file, int line);

// What goes wrong outside of tasks. A failure begins with the place; so does what an executor
// logs: errors are kept as its own words for why it has failed.
TERN_CALL int tern_record_fail(const char *file, int line, const char *format, ...)
    TERN_PRINTF(3, 4);
TERN_API void tern_record_returned(const char *file, int line, const char *call, int result);
TERN_API void tern_record_say(bool error, const char *file, int line, const char *format, ...);

TERN_END_DECLS

#endif
