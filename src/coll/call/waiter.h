// SPDX-License-Identifier: Apache-2.0
// A waiter from inside.
#ifndef TERN_COLL_CALL_WAITER_H
#define TERN_COLL_CALL_WAITER_H

#include <pthread.h>

#include "comm/comm.h"
#include "tern/waiter.h"

struct tern_waiter {
    struct tern__handle handle;
    tern_comm *comm;
    _Atomic uint32_t woken;
    _Atomic uint32_t waits; // a thread does
    // Of the descriptor: -1 before it is asked for.
    pthread_mutex_t making;
    _Atomic int fd;
    pthread_t feeder;
    _Atomic uint32_t stops;
};

// The descriptor is readable no more.
void tern__waiter_drain(const struct tern_waiter *waiter);

#endif
