// SPDX-License-Identifier: Apache-2.0
// What serves AscendC::Hccl. A communicator with resources has a server: the tasks that a kernel
// has prepared, and a thread that runs their turns.
//
//   device.c   what an object asks: init, prepare, commit, wait, query, finalize
//   follow.c   the same of blocks that repeat the calls of the one that works
//   task.c     whether a task can be done: element types, bounds
//   write.c    AlltoAllvWrite
//   batch.c    BatchWrite
//   buffer.c   whether a buffer has as many bytes
//   turn.c     a turn by tern's collective calls, behind an agreement of all ranks on the task
//   server.c   which turn is next, who runs it, when the thread wakes, and InterHcclGroupSync
//
// Who runs a turn holds `busy`: the thread, or the kernel's block itself when it waits for a turn
// that the thread has not begun. So a call that is waited for at once costs no switch between
// threads.
//
// Ranks of other machines have no line here: only the call itself waits for them, and their threads
// are woken by each Commit.
//
// The order of turns is the same on all ranks however threads are scheduled: turns run in the order
// of the Prepare calls (the prefix); only when a block waits for a turn behind one that it has not
// committed, and so nothing of the prefix can run, that turn is brought forward. What is committed
// at that point follows from the program alone, so ranks with the same program have the same order.
#ifndef TERN_FACES_HCCL_DEVICE_H
#define TERN_FACES_HCCL_DEVICE_H

#include <pthread.h>
#include <stdbool.h>

#include "base/error.h"
#include "base/order.h"
#include "faces/hccl/state.h"
#include "lib/hccl/hccl_client.h"
#include "sync/bell.h"
#include "tern/coll.h"
#include "tern/context.h"

enum { WHY_BYTES = 512 };

enum object_state { OBJECT_NEW, OBJECT_LIVE, OBJECT_ENDED, OBJECT_REFUSED };

// A rank's line in the server's window, which all ranks see.
struct server_line {
    _Alignas(TERN_CACHE_LINE) _Atomic uint32_t committed; // turns of collective tasks, all lives
    _Atomic uint32_t entered;                             // of which so many have begun
    _Atomic uint32_t impatient; // the turn that it has waited long for others to begin
    _Alignas(TERN_CACHE_LINE) _Atomic uint32_t doorbell; // counts up: there is work for the thread
    struct tern__bell bell;
};

struct device_task {
    struct tern_hccl_task call;
    tern_hccl_site site;
    tern_dtype dtype;
    size_t element;  // bytes
    uint32_t number; // among the collective tasks of this life
    bool collective; // else of this rank alone
    bool prepare;    // not of a control message
    bool agreed;
    bool iterated;
    uint32_t released, waited, sliced;    // turns; the owner's
    _Atomic uint32_t committed, finished; // turns
    // < 0: refused or failed, and why. Written before the last turn has finished, so only whoever
    // runs the task reads them earlier (tern__hccl_task_status).
    int status;
    uint64_t past_bytes; // of a refusal: by how much it is past the end
    char why[WHY_BYTES];
    size_t lists[4][TERN_RANKS_MAX]; // as in the call
};

struct hccl_server {
    struct hccl *hccl;
    tern_comm *comm; // of its own: calls of the host go on meanwhile
    tern_window *lines;
    struct server_line *line[TERN_RANKS_MAX]; // NULL: of a rank on another machine
    const tern_context *context;
    int rank, ranks;
    bool across; // some of them are on other machines
    uint32_t group;
    bool crowded; // fewer processors than ranks
    bool spare;   // a processor for the thread

    pthread_t thread;
    _Atomic uint32_t stop;
    uint32_t users; // objects that own it or are about to; under the lock of groups

    _Atomic uint32_t busy;
    struct tern__bell done; // rung when busy ends

    // Of the owner's life. Tasks below `prepared` are there; the owner alone adds.
    tern_hccl *owner; // under `lock`
    pthread_mutex_t lock;
    uint32_t life;
    _Atomic uint32_t begun, ended; // lives, for objects that follow
    _Atomic uint32_t last;         // tasks of the life that ended last
    _Atomic uint32_t prepared;
    uint32_t collective;
    uint32_t prepares;
    bool refused; // a Prepare returned -1 in this life
    struct device_task tasks[TERN_HCCL_SLOTS];

    // Under busy.
    int status; // < 0: the communicator has failed
    char why[WHY_BYTES];
    void *scratch;
    size_t scratch_bytes;
};

// What other threads see of a task's end. A turn that has finished is right also when a later one
// fails meanwhile.
static inline int tern__hccl_task_status(const struct device_task *task)
{
    return tern__flag_load(&task->finished) < task->call.repeat ? TERN_OK : task->status;
}

// tell.c: a line on standard error; fails the stream when status < 0.
void tern__hccl_tell(tern_hccl_site site, int status, const char *format, ...) TERN_PRINTF(3, 4);

// follow.c: of objects whose calls become no tasks. Wait and query as in lib/hccl/hccl_client.h.
void tern__hccl_follow_begin(tern_hccl *object, struct hccl_server *server);
int tern__hccl_follow_prepare(tern_hccl *object, uint32_t type, bool prepare, tern_hccl_site site);
int tern__hccl_follow_wait(tern_hccl *object, int handle);
int tern__hccl_follow_query(const tern_hccl *object, int handle);
void tern__hccl_follow_end(const tern_hccl *object);

// server.c. Start and stop are called by comm.c; start is collective.
int tern__hccl_server_start(struct hccl *hccl);
void tern__hccl_server_stop(struct hccl *hccl);
struct hccl_server *tern__hccl_server_of_group(uint32_t group);

// The server of a context, which stays until it is given back; NULL: there is none.
struct hccl_server *tern__hccl_server_take(const void *context);
void tern__hccl_server_give(struct hccl_server *server);

// Waits until no object of a kernel uses the communicator's server; from then on none can.
int tern__hccl_server_close(struct hccl *hccl);

// Turns have been committed; the thread is woken where that pays.
void tern__hccl_server_commit(struct hccl_server *server, struct device_task *task, uint32_t turns);

// Returns when so many turns of the task have finished, and runs what is missing. TERN_OK, or
// TERN_ERR_TIMEOUT with a sentence.
int tern__hccl_server_drive(struct hccl_server *server, struct device_task *task, uint32_t turns);

// Runs or cancels all that is left of this life.
void tern__hccl_server_drain(struct hccl_server *server);

// All tasks have gone: the next life may use their memory.
void tern__hccl_server_rest(struct hccl_server *server);

// task.c: fills in what follows from the call. TERN_OK, or why it is refused.
int tern__hccl_task_check(const struct hccl_server *server, struct device_task *task);

// buffer.c
const char *tern__hccl_task_name(uint32_t type);

// That so many elements of a buffer are there, if it is known where its memory ends, and that it
// is on this machine.
int tern__hccl_task_buffer(const struct hccl_server *server, struct device_task *task,
                           const char *what, const void *buffer, uint64_t elements);

// write.c: stores into the window of a rank, on any machine. One's own window may hold both.
int tern__hccl_store(const struct hccl_server *server, uintptr_t to, const void *from,
                     size_t bytes);

// write.c and batch.c: AlltoAllvWrite and BatchWrite. Where one that runs fails, the communicator
// has failed. Runs return when all ranks have written, and when the batch is stored in the windows.
int tern__hccl_write_check(const struct hccl_server *server, struct device_task *task);
int tern__hccl_write_run(const struct hccl_server *server, const struct device_task *task);
int tern__hccl_batch_check(const struct hccl_server *server, struct device_task *task);
int tern__hccl_batch_run(struct hccl_server *server, const struct device_task *task);

// The task is refused, or has failed: all its turns count as finished. Under busy.
void tern__hccl_task_kill(struct device_task *task, int status, const char *format, ...)
    TERN_PRINTF(3, 4);

// turn.c: the next turn of the task, which is none of InterHcclGroupSync; counts it. Under busy.
void tern__hccl_turn_run(struct hccl_server *server, struct device_task *task);

// A turn has been done: counts it. Under busy.
void tern__hccl_turn_end(struct device_task *task);

// The thread of a rank has work.
void tern__hccl_line_ring(struct hccl_server *server, int rank);

#endif
