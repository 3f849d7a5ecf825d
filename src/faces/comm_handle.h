// SPDX-License-Identifier: Apache-2.0
// What stands behind a CommHandle, one thread at a time; and the table of backends: what carries
// the comm_* platform API. The functions of comm.h check what they are given and keep the handle; a
// backend makes the ranks meet, the windows and the barrier.
#ifndef TERN_FACES_COMM_HANDLE_H
#define TERN_FACES_COMM_HANDLE_H

#include <stdbool.h>

#include "base/handle.h"
#include "faces/comm.h"
#include "tern/comm.h"
#include "tern/context.h"
#include "tern/window.h"

// A context that was derived, or a domain with windows of its own.
struct tern__comm_domain {
    struct tern__comm_domain *next;
    tern_context context;
    bool allocated; // else derived
    uint64_t allocation_id;
    size_t rank_count;
    uint32_t domain_rank;
    // Of the backend:
    tern_comm *part;
    tern_window *window;
    void *hccl;   // the communicator of a domain
    void *device; // the context as kernels see it
};

// Functions return 0, or -1 with a sentence that begins as the backend likes.
struct tern__comm_backend {
    const char *name;
    const char *where; // for sentences: who it is for
    int (*join)(CommHandle h, int rank, int nranks, const char *rootinfo_path);
    // Sets h->context and h->address.
    int (*make_windows)(CommHandle h, size_t window_size);
    int (*barrier)(CommHandle h);
    // Where kernels read the context of a domain.
    int (*publish)(CommHandle h, struct tern__comm_domain *domain, uint64_t *address);
    // Windows for ranks of the handle; sets domain->context.windowsIn and windowsOut.
    int (*make_domain)(CommHandle h, struct tern__comm_domain *domain, const uint32_t *rank_ids,
                       size_t window_size);
    int (*domain_barrier)(CommHandle h, struct tern__comm_domain *domain);
    // Lets go of the memory of a domain; waits for nobody. So does `leave` of the handle's; a child
    // of a fork() may call both.
    int (*end_domain)(CommHandle h, struct tern__comm_domain *domain);
    int (*leave)(CommHandle h);
};

struct CommHandle_ {
    struct tern__handle handle;
    const struct tern__comm_backend *backend;
    uint32_t rank;
    uint32_t size;
    const tern_context *context;       // of the base windows, to be read here; NULL before they are
    uint64_t address;                  // of that context, for kernels
    struct tern__comm_domain *domains; // the newest first
    // Of the backend:
    tern_comm *comm;
    tern_window *window;
    struct tern__comm_hccl *hccl;
};

extern const struct tern__comm_backend tern__comm_sim;
extern const struct tern__comm_backend tern__comm_tcp;
extern const struct tern__comm_backend tern__comm_mpi;
extern const struct tern__comm_backend tern__comm_ucx;
extern const struct tern__comm_backend tern__comm_hccl;

// The backend by TERN_COMM_BACKEND, or by where this process runs. NULL, with a sentence, for a
// word that is none.
const struct tern__comm_backend *tern__comm_backend_find(void);

// Frees what is left of the domains, without waiting for anybody. The first error.
int tern__comm_domains_end(CommHandle h);

// Where a member of a domain has its window.
static inline void tern__comm_place(struct tern__comm_domain *domain, size_t rank, uint64_t base)
{
    domain->context.windowsIn[rank] = base;
    domain->context.windowsOut[rank] = base;
}

#endif
