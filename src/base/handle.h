// SPDX-License-Identifier: Apache-2.0
// Handles: the objects that programs hold pointers to. Each begins with a word that says what it is
// and whether it lives, so a public call tells a handle that is destroyed, of another kind, or
// inherited through fork() by one comparison.
//
// So that the word of a destroyed handle can still be read, its memory never goes back to the
// allocator: it rests until TERN__HANDLES_RESTING handles of its kind have been destroyed after it,
// and then serves a new handle of the same kind. A pointer to a destroyed handle is refused until
// then; afterwards it is the new handle. A process keeps at most that many of each kind, some 500
// KiB in all.
#ifndef TERN_BASE_HANDLE_H
#define TERN_BASE_HANDLE_H

#include <stddef.h>
#include <stdint.h>

#include "base/order.h"
#include "tern/status.h"

#define TERN__HANDLES_RESTING 64

enum tern__handle_kind {
    // Memory of the process and no more: the child of a fork() has its copy.
    TERN__PLAN,
    TERN__TOPO,
    TERN__CHECK,
    TERN__PROGRAM,
    TERN__SIM,
    TERN__GRAPH,
    // A part in a job, which a child does not have.
    TERN__COMM,
    TERN__WINDOW,
    TERN__CHIP,
    TERN__EXEC,
    TERN__STREAM,
    TERN__EVENT,
    TERN__SESSION,
    TERN__FACE_COMM, // CommHandle of include/faces/comm.h
    TERN__HCCL_COMM, // HcclComm of include/faces/hccl
    TERN__NODE,
    TERN__DOMAIN,
    TERN__WAITER,
    TERN__ACL_CONTEXT, // aclrtContext of include/faces/acl
    TERN__ACL_PROFILE, // its aclprofConfig
    TERN__HANDLE_KINDS,
};

// The first member of every handle.
struct tern__handle {
    _Atomic uint32_t word;     // tern__handle_word(kind) while it lives
    struct tern__handle *next; // while it rests: the one that was destroyed after it
};

// Changes in the child of a fork(), where no part in a job from before lives.
#define TERN__HANDLE_ERA_FIRST 0x7e520000u // with 8 bits free for the kind
extern _Atomic uint32_t tern__handle_era;

static inline uint32_t tern__handle_word(enum tern__handle_kind kind)
{
    return (kind <= TERN__GRAPH ? TERN__HANDLE_ERA_FIRST : tern__peek(&tern__handle_era)) +
           (uint32_t)kind;
}

// A handle of `size` bytes, all zero behind struct tern__handle. NULL, without a sentence, when
// there is no memory. Handles of a kind all have the same size.
void *tern__handle_new(enum tern__handle_kind kind, size_t size);

// The handle lives no more; what it owned has been freed. NULL is allowed.
void tern__handle_free(void *handle, size_t size);

static inline bool tern__handle_lives(const void *handle, enum tern__handle_kind kind)
{
    return handle != NULL &&
           tern__peek(&((const struct tern__handle *)handle)->word) == tern__handle_word(kind);
}

// Whether it lives in the process that this one is a fork of: what it points to is a copy, what it
// has a part in is not this process's. A child may let go of such a handle.
bool tern__handle_is_inherited(const void *handle, enum tern__handle_kind kind);

// TERN_OK for a handle that lives. Else TERN_ERR_ARG, or TERN_ERR_STATE for one from before a
// fork(), with a sentence that begins with the name of the public call.
int tern__handle_refuse(const char *call, const void *handle, enum tern__handle_kind kind);
static inline int tern__handle_check(const char *call, const void *handle,
                                     enum tern__handle_kind kind)
{
    return __builtin_expect(tern__handle_lives(handle, kind), 1)
               ? TERN_OK
               : tern__handle_refuse(call, handle, kind);
}

#endif
