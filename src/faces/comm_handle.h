// SPDX-License-Identifier: Apache-2.0
// What stands behind a CommHandle: one thread at a time.
#ifndef TERN_FACES_COMM_HANDLE_H
#define TERN_FACES_COMM_HANDLE_H

#include "base/handle.h"
#include "faces/comm.h"
#include "tern/comm.h"
#include "tern/context.h"
#include "tern/window.h"

// A context that was derived, or a domain with windows of its own.
struct tern__comm_domain {
    struct tern__comm_domain *next;
    tern_context context;
    tern_comm *part;     // of a domain; NULL: derived
    tern_window *window; // likewise
    uint64_t allocation_id;
    size_t rank_count;
    uint32_t domain_rank;
};

struct CommHandle_ {
    struct tern__handle handle;
    tern_comm *comm;
    tern_window *window;               // NULL before comm_alloc_windows
    struct tern__comm_domain *domains; // the newest first
};

// Frees what is left of the domains, without waiting for anybody. The first error.
int tern__comm_domains_end(CommHandle h);

#endif
