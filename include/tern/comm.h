// SPDX-License-Identifier: Apache-2.0
// The communicator: ranks that know each other, one process each. It is what windows are made on,
// and what fails as a whole: when a rank dies or misses a deadline, every call on every rank
// returns an error that names it, and the communicator stays failed until it is destroyed.
//
// All ranks make the same collective calls in the same order. Where a call makes something (a
// window, a part, an executor, a trace) and a rank is in another one, the communicator fails with
// TERN_ERR_MISMATCH, which says who is in which call. A barrier does not look, to be fast: it may
// end well between ranks that are in other calls, and then the next call on the communicator fails.
// A rank that is in a collective call of tern/coll.h instead is found after half a second, if both
// processes have one thread and are on one machine; else it is named at the deadline.
//
//     tern_comm *world;
//     if (tern_init(NULL, &world) != TERN_OK) {
//         fprintf(stderr, "%s\n", tern_last_error());
//         exit(1);
//     }
//     if (tern_comm_barrier(world) != TERN_OK) { fprintf(stderr, "%s\n", tern_last_error()); }
//     tern_comm_destroy(world);
//
// fork(): the child of a rank is no rank. There every call on a communicator, or on what was made
// from it, is TERN_ERR_STATE; destroying lets go of the child's copies and returns TERN_OK, and the
// rank and its peers see nothing of it. Windows stay mapped, so the child can read results through
// pointers that it has; it must not write through them, since the memory is the job's. It may join
// jobs of its own: tern_init_at, and tern_init where the parent was not started by `tern run`.
// vfork, posix_spawn and system are as ever; a child made by clone() or _Fork() is not recognised
// and must not call tern.
#ifndef TERN_COMM_H
#define TERN_COMM_H

#include <stdint.h>

#include "tern/api.h"
#include "tern/status.h"

TERN_BEGIN_DECLS

#define TERN_RANKS_MAX 64

typedef struct tern_comm tern_comm;

// For a timeout argument: the communicator's own deadline.
#define TERN_TIMEOUT_DEFAULT INT64_C(-1)

// For any timeout argument or option: no deadline. What is waited for may still fail, die or leave.
#define TERN_TIMEOUT_NEVER INT64_MAX

// Zero-initialised means: all defaults.
typedef struct tern_options {
    // Deadline of every wait that is not given its own, and of the start, in nanoseconds.
    // 0: TERN_TIMEOUT (seconds, decimals allowed, or "never") from the environment, else 60 s.
    int64_t timeout_ns;
} tern_options;

// Joins the job that `tern run` started this process in, and waits until all of its ranks have.
// A process that nothing launched becomes a job of one rank. After tern_comm_destroy it may be
// called again, by all ranks. Collective; one thread of the process at a time.
//
// Errors: TERN_ERR_TIMEOUT (names the ranks that have not come), TERN_ERR_PEER (a rank ended before
// it joined), TERN_ERR_STATE (already joined), TERN_ERR_ARG (a damaged environment, such as
// TERN_RANK without the launcher's other variables; or a word that there is not in TERN_TIMEOUT,
// TERN_LOG, TERN_ERRORS, TERN_CORE, TERN_ALGO, TERN_AGREE, TERN_DIRECT, TERN_CHIP or
// TERN_ISA_SEED).
TERN_CALL int tern_init(const tern_options *options, tern_comm **comm);

// The same for processes that anything else started: all call it with the same nranks and
// rendezvous path, and with ranks 0..nranks-1, each once. Rank 0 creates a Unix socket at the path,
// hands over the descriptors through it and removes it again. A socket left by a crashed job is
// replaced; the path of a live job is refused (TERN_ERR_REFUSED), as are a peer of another user, on
// either side, a rank that is taken, and a different nranks. A process may be in several such jobs.
//
// At the deadline every rank that has come gets TERN_ERR_TIMEOUT and the ranks that have not. While
// rank 0's process lives, a symbolic link at the path tells ranks that come later why it gave up;
// rank 0 of a new job replaces it.
// 1 <= nranks <= TERN_RANKS_MAX.
TERN_CALL int tern_init_at(int rank, int nranks, const char *rendezvous_path,
                           const tern_options *options, tern_comm **comm);

// This process's rank in the communicator, 0..size-1, and the number of ranks. TERN_ERR_ARG for
// NULL. Any thread.
TERN_API int tern_comm_rank(const tern_comm *comm);
TERN_API int tern_comm_size(const tern_comm *comm);

// Returns when every rank of the communicator has entered it. What a rank wrote into a window
// before the barrier is visible to every rank after it. One thread per rank at a time.
//
// Errors: TERN_ERR_PEER, TERN_ERR_LEFT, TERN_ERR_TIMEOUT (each names the rank and the number of the
// barrier; a time-out also says what the ranks do that did not come); the communicator has then
// failed.
TERN_CALL int tern_comm_barrier(tern_comm *comm);

// Splits into disjoint communicators: ranks with the same colour end up together, ordered by (key,
// old rank). A negative colour takes no part: *part becomes NULL. Collective. At most 255
// split communicators of one job are alive at a time, over all its ranks (TERN_ERR_LIMIT).
// Sentences about one say its number, and of its ranks both numbers: "communicator 3: rank 1 (5 of
// the job) …".
TERN_CALL int tern_comm_split(tern_comm *comm, int color, int key, tern_comm **part);

// A communicator of some ranks, which only these call (as MPI_Comm_create_group): ranks[0..count-1]
// are ranks of comm, all different, the caller among them; ranks[i] becomes rank i. All pass the
// same ranks and tag. Groups that are being made at the same time and begin with the same rank have
// different tags; afterwards a tag may be used again. Limits as of tern_comm_split.
//
// Errors: TERN_ERR_ARG before anybody is waited for. comm fails with TERN_ERR_MISMATCH when the
// members name different ranks, and as from tern_comm_barrier when one does not come: so, too, when
// they name another one first, whom they wait for.
TERN_CALL int tern_comm_create_group(tern_comm *comm, const int *ranks, int count, uint64_t tag,
                                     tern_comm **part);

// TERN_OK while the communicator works, else why it failed (status; sentence in tern_last_error()).
// Looks whether all ranks still live, so it may take a system call.
TERN_CALL int tern_comm_health(tern_comm *comm);

// Ends the communicator: it has failed, on all of its ranks. Every call on it or on what was made
// from it, under way or made later, by any thread, is TERN_ERR_ABORTED, with "rank 1 ended the
// communicator: <sentence>" (NULL or empty: without one). Waits that sleep are woken. Any thread,
// also while others are in calls of it; not collective; the communicator must live until it
// returns. One that has failed before keeps its reason, and that too is TERN_OK. Buffers of calls
// that it ended may be used as soon as those calls have returned, and requests have ended.
//
// Each communicator fails for itself: neither the one it was split from nor the parts made from it
// have failed. Who wants those to end ends them, too.
TERN_CALL int tern_comm_abort(tern_comm *comm, const char *sentence);

// Leaves the communicator and frees it, and with the first communicator of a job everything made
// from it. Before, requests end (tern_request_wait; persistent ones tern_request_free), and
// windows, executors, chips and split communicators are destroyed; else TERN_ERR_STATE says what is
// left, and an executor counts as its window. Waits for nobody: memory that peers still use lives
// until they let go. NULL is allowed. A rank that ends without this counts as dead.
TERN_API int tern_comm_destroy(tern_comm *comm);

// The same, but blocks of tern_alloc may be left: their memory stays mapped at its addresses, as
// ordinary memory, until the process ends. They cannot be given to tern_free any more.
TERN_API int tern_comm_release(tern_comm *comm);

TERN_END_DECLS

#endif
