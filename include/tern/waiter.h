// SPDX-License-Identifier: Apache-2.0
// Waiting for requests with a limit of one's own, with a way out for other threads, and together
// with other descriptors. For threads that serve several requests, such as a worker of a framework.
//
//     tern_waiter *waiter; // made with tern_waiter_create(comm, &waiter)
//     int index;
//     int status = tern_request_wait_any_for(requests, count, &index, TERN_TIMEOUT_NEVER, waiter);
//     if (status != TERN_OK)
//         fprintf(stderr, "request %d: %s\n", index, tern_last_error());
//     else if (index == TERN_WAIT_WOKEN) { } // another thread has called tern_waiter_wake(waiter)
#ifndef TERN_WAITER_H
#define TERN_WAITER_H

#include <stdint.h>

#include "tern/api.h"
#include "tern/coll.h"
#include "tern/comm.h"

TERN_BEGIN_DECLS

typedef struct tern_waiter tern_waiter;

// A waiter is for requests of the communicator's job, on any of its communicators. It must be
// destroyed before the communicator, and while nobody waits with it. NULL: destroying does nothing.
TERN_CALL int tern_waiter_create(tern_comm *comm, tern_waiter **waiter);
TERN_API int tern_waiter_destroy(tern_waiter *waiter);

// Ends the wait that a thread makes with it, or else the next one. Several wakes before a wait
// returns are one. Any thread.
TERN_CALL int tern_waiter_wake(tern_waiter *waiter);

// A descriptor for poll, select or epoll, the same at each call, which tern closes. It is readable
// when the waiter was woken, and when something has happened that a request of this process may
// wait for; the latter is a hint: often nothing has ended. It stays readable until a wait with this
// waiter begins. After it was readable call tern_request_wait_any_for with timeout 0 until that
// answers TERN_WAIT_TIMEOUT (or none is left), then poll again: nothing moves while the thread
// polls, unless other threads wait. A rank that died makes it readable within 0.2 s. Deadlines of
// requests do not: they are found by the waits. Do not read from it.
//
// It costs: the first call starts a thread, which sleeps on the rank's doorbell, so from then on
// each message to this rank is a system call for its sender.
TERN_CALL int tern_waiter_fd(tern_waiter *waiter);

// What *index may be instead of the place of a request that has ended.
#define TERN_WAIT_NONE (-1)    // all are 0, or persistent and not started; only without a waiter
#define TERN_WAIT_WOKEN (-2)   // by tern_waiter_wake
#define TERN_WAIT_TIMEOUT (-3) // so much time has passed

// tern_request_wait_any that may end earlier: when timeout_ns have passed (0: only looks and moves
// what can be moved; TERN_TIMEOUT_NEVER and TERN_TIMEOUT_DEFAULT: no limit), or when the waiter was
// woken (NULL: nobody does). Both are TERN_OK, and the requests go on. A request that has ended
// comes first. With a waiter it also waits where no request is running.
//
// Deadlines of requests hold here, too; where this wait has a limit or a waiter they are counted as
// of tests: from the first of the waits between which nothing moved. A status below 0: as of
// tern_request_wait_any. One thread at a time waits with a waiter.
TERN_CALL int tern_request_wait_any_for(tern_request *requests, int count, int *index,
                                        int64_t timeout_ns, tern_waiter *waiter);

TERN_END_DECLS

#endif
