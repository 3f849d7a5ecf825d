// SPDX-License-Identifier: Apache-2.0
// A communicator of HCCL, and what its calls share: statuses of tern as results of HCCL.
#ifndef TERN_FACES_HCCL_STATE_H
#define TERN_FACES_HCCL_STATE_H

#include <pthread.h>
#include <stdbool.h>

#include "base/error.h"
#include "base/handle.h"
#include "hccl/hccl_comm.h"
#include "tern/comm.h"
#include "tern/stream.h"
#include "tern/window.h"

struct tern__calls;
struct tern__root;

struct hccl {
    struct tern__handle handle;
    tern_comm *comm;
    tern_window *window;        // of HcclAllocComResourceByTiling; NULL before
    struct hccl_server *server; // of kernels' calls (device.h); there as long as the window is
    char name[COMM_NAME_MAX_LENGTH];
    uint64_t key;      // of where its ranks met; for the places where parts of it meet
    struct hccl *next; // of this process
    uint32_t rank, size;
    uint32_t part_of;    // 1 + the rank in the communicator that it is a part of; 0: of none
    bool in_one_process; // so are other ranks of it
    size_t buffer_bytes; // 0: HCCL_BUFFSIZE

    struct tern__calls *form; // that calls are checked against
    pthread_mutex_t order;    // of what follows: calls take their places under it
    tern_stream *stream;      // of the last call
    tern_event *ended;        // the last call has
    _Atomic uint32_t suspended;

    // The first failure, under the lock of error.c.
    HcclResult failed;
    char sentence[TERN_ERROR_BYTES];
};

// error.c. The result for a status of tern, whose sentence has been set and told; and one whose
// sentence begins with the call's name, which is told here.
HcclResult tern__hccl_result(int status);
HcclResult tern__hccl_refuse(const char *call, HcclResult result, const char *format, ...)
    TERN_PRINTF(3, 4);

// HCCL_E_PTR, with its sentence.
HcclResult tern__hccl_no_pointer(const char *call, const char *name);

// A call of the communicator has failed, for HcclGetCommAsyncError; the thread has the sentence.
void tern__hccl_failed(struct hccl *comm, int status);

// TERN_OK when it is a communicator that lives. The second gives a result: HCCL_E_PTR for NULL.
int tern__hccl_check(const char *call, const struct hccl *comm);
HcclResult tern__hccl_lives(const char *call, const struct hccl *comm);

// config.c. What a config says, checked. NULL: nothing.
struct tern__hccl_settings {
    char name[COMM_NAME_MAX_LENGTH]; // "": none
    size_t buffer_bytes;             // 0: not set
    int64_t timeout_ns;              // 0: not set
    uint32_t part_of;                // as in struct hccl, and what follows
    bool in_one_process;

    // Instead of the path: a place to meet, or these ranks of a communicator that exists.
    const struct tern__root *root;
    struct hccl *of;
    const uint32_t *ranks;
};
HcclResult tern__hccl_settings(const char *call, const HcclCommConfig *config,
                               struct tern__hccl_settings *settings);

// comm.c. Joins the others at a path, or as the settings, which may be NULL, say, as rank of size;
// the path makes the name.
HcclResult tern__hccl_join(const char *call, uint32_t size, const char *path, uint32_t rank,
                           const struct tern__hccl_settings *settings, HcclComm *comm);

// The same with another key than that of the path.
HcclResult tern__hccl_join_as(const char *call, uint64_t key, uint32_t size, const char *path,
                              uint32_t rank, const struct tern__hccl_settings *settings,
                              HcclComm *comm);

// FNV-1a of a path: struct hccl's key. And the folder of such paths.
uint64_t tern__hccl_key(const char *path);
const char *tern__hccl_folder(void);

// Whether this process has made the part with this key of a communicator, as the same rank of it.
bool tern__hccl_has_part(uint64_t key, const struct hccl *of);

// The communicator of this name in this process: HCCL_E_NOT_FOUND.
HcclResult tern__hccl_find(const char *call, const char *name, struct hccl **comm);

// Whether its ranks are on several machines.
bool tern__hccl_is_across(const struct hccl *comm);

// symmetric.c. Forgets what was announced to a communicator that is being destroyed.
void tern__hccl_symmetric_forget(const struct hccl *comm);

#endif
