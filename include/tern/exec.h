// SPDX-License-Identifier: Apache-2.0
// The executor: runs a sealed plan on the windows of a communicator, as often as wanted. While
// bytes move it allocates nothing, waits for no lock, and makes no system call, except to sleep
// when nothing is ready. Lanes of a rank are interleaved by readiness. Signals count up from run to
// run. Between machines copies and posts are messages, in the order of the lane that makes them,
// which is what plans proved on a topology with these machines (tern_comm_topo) rely on.
#ifndef TERN_EXEC_H
#define TERN_EXEC_H

#include <stdint.h>

#include "tern/comm.h"
#include "tern/dtype.h"
#include "tern/op.h"
#include "tern/plan.h"
#include "tern/window.h"

TERN_BEGIN_DECLS

typedef struct tern_exec tern_exec;

typedef struct tern_exec_options {
    tern_window *in; // with at least the plan's in bytes from in_offset on; may be NULL if 0 bytes
    size_t in_offset;
    // May be the same window. Not checked: in and out may only overlap in place, with a plan that
    // tern_check_plan_in_place proves.
    tern_window *out;
    size_t out_offset;
    tern_dtype dtype;  // its size is the plan's unit
    tern_reduce_op op; // TERN_SUM, TERN_PROD, TERN_MAX or TERN_MIN
    uint32_t flags;    // TERN_EXEC_COUNT_LINKS
} tern_exec_options;

// Count the bytes that this rank reads from and writes to every other while running.
#define TERN_EXEC_COUNT_LINKS 1u

// Prepares a plan for running: scratch and signals in a window of its own, everything looked up.
// Collective: all ranks of the communicator pass the same plan (compared by a hash of its text:
// TERN_ERR_MISMATCH) and the same options; only addresses may differ. The plan's rank count is the
// communicator's size. The plan must outlive it. Several may be alive and running at a time.
// TERN_ERR_ARG, with the op, for a plan that needs the memory of a rank of another machine.
TERN_CALL int tern_exec_create(tern_comm *comm, const tern_plan *plan,
                               const tern_exec_options *options, tern_exec **exec);

// A run. start begins it and does what is ready; test continues it and says whether it has ended
// (1, 0, negative on error); wait continues until it has. All ranks start the runs of one tern_exec
// in the same order. When it has ended on a rank, that rank's buffers are its own again. The thread
// that starts a run also ends it (else TERN_ERR_STATE); while it waits for one, its other runs on
// the same job go on too, so ranks may wait for several runs in different orders.
//
// Both end with TERN_ERR_TIMEOUT when nothing of the run has moved for the communicator's deadline:
// counted from the beginning of a wait, or from the first of the tests in between which nothing
// moved.
//
// Errors: those of tern_signal_wait; the sentence names rank, lane, op and signal, the value seen
// and the value wanted, and what the peer was doing. The communicator has then failed.
TERN_CALL int tern_exec_start(tern_exec *exec);
TERN_CALL int tern_exec_test(tern_exec *exec);
TERN_CALL int tern_exec_wait(tern_exec *exec);
TERN_CALL int tern_exec_run(tern_exec *exec); // start and wait

// Bytes that this rank has moved over the link from -> to in runs that have ended, `to` or `from`
// being this rank. 0 without TERN_EXEC_COUNT_LINKS.
TERN_API uint64_t tern_exec_link_bytes(const tern_exec *exec, int from, int to);

// Every rank calls it, after its last run has ended. Waits for nobody.
TERN_API int tern_exec_destroy(tern_exec *exec);

TERN_END_DECLS

#endif
