// SPDX-License-Identifier: Apache-2.0
// The collective calls. Every rank of the communicator makes the same calls in the same order; each
// runs a plan (tern/plan.h). Results are the same bits for every size, algorithm and placement of
// the buffers: sums run in rank order, f16 and bf16 in f32, rounded once.
//
//     float in[1000], out[1000];
//     if (tern_all_reduce(comm, in, out, 1000, TERN_F32, TERN_SUM) != TERN_OK)
//         fprintf(stderr, "%s\n", tern_last_error());
//
// Buffers may be any memory. Those of tern_alloc (tern/memory.h), and those inside a window
// (tern/window.h) of the communicator or of one that has all of its ranks, are used where they lie
// when every rank's are; others go through a ring of staging memory. `count` is elements; with n
// ranks, and (v) for the forms with a count for each rank (tern/kind.h has this table for
// programs):
//
//     kind             in                  out                 in place
//     all_reduce       count               count               in == out
//     reduce_scatter   n * count           count               out == in + rank * count
//     all_gather       count               n * count           in == out + rank * count
//     broadcast        count, root only    count               in == out on the root
//     reduce           count               count, root only    in == out on the root
//     gather           count               n * count, root     root: in == out + rank * count
//     scatter          n * count, root     count               root: out == in + rank * count
//     all_to_all       n * count           n * count           in == out
//
// Buffers that a rank does not use, or with 0 elements, may be NULL. Each rank decides for
// itself whether it is in place. The (v) forms cannot be done in place. Other overlaps of in and
// out are refused. In windows, ranks may use the same memory as input; out of a rank must not
// overlap a buffer of another rank, which is not checked.
//
// Agreement. kind, count, dtype, op, root, order and algorithm, and the sequence of calls, are
// compared on every call: TERN_ERR_MISMATCH, naming who said what. In the (v) forms the counts of
// each pair are compared. There are two promises:
//
//     all_reduce, reduce_scatter, all_gather, all_to_all, their (v) forms, barrier; and with
//     TERN_AGREE=strict, of all ranks, every call:
//         Nobody's out is written before all ranks have entered and agree. All get the error in the
//         call that they disagree on. So every call is also a barrier.
//
//     broadcast, scatter, scatter_v, reduce, gather, gather_v (TERN_AGREE=early, the default):
//         A rank waits only for those whose bytes it takes: nobody has to wait for a rank that does
//         not read its bytes. (In gather_v with three ranks or more, who gives more than 8 KiB
//         waits for the root, which alone knows the counts; and so do all where ranks cannot read
//         each other's memory.) Before its out is written, it has compared with them this call and
//         all calls before. Who does not meet the disagreement ends the call, with the right out,
//         and gets the error in its next call that waits for all; such a call writes nobody's out.
//         A rank is at most 32 such calls ahead of the slowest, and at most four when it makes one
//         of more than 1 KiB (that the root has, or each rank gives); then it waits and compares.
//         Of two ranks, in scatter_v and gather_v, it is four at most.
//         Large calls, whose bytes do not fit shared memory at once, may wait for all.
//
// So a rank that ends with calls of the second sort and makes no other may not learn that others
// disagreed with it. tern_comm_destroy does not wait: it compares what the others have published by
// then, and what differs fails the communicator for those that are still in it. tern_barrier before
// it finds everything.
//
// Errors. TERN_ERR_ARG for what a rank can see alone: NULL, overlap, sizes beyond SIZE_MAX, a root
// that does not exist, an op that does not fit the dtype. Such a call has not been made, and the
// rank may make the right one. TERN_ERR_MISMATCH, TERN_ERR_PEER (within 1 s of the death),
// TERN_ERR_LEFT, TERN_ERR_TIMEOUT (the call's deadline, or else the communicator's),
// TERN_ERR_ABORTED (tern_comm_abort): the sentence names rank, number of the call, kind, bytes,
// algorithm and the op it stood at; a time-out says how long was waited, and of each rank that did
// not come that far what it does: "rank 3 is stopped". The communicator has then failed. out is
// undefined after all errors but TERN_ERR_ARG and TERN_ERR_MISMATCH, which leave it as it was.
//
// A rank that leaves (tern_comm_destroy). All calls that it took part in end as they would have.
// Messages between ranks that are still there go on, until somebody makes a call that needs the
// rank that left: that call is TERN_ERR_LEFT, and with it the communicator has failed. From then on
// calls and messages between any of its ranks are TERN_ERR_LEFT too, also those that are under way.
//
// Threads. Any thread may make any call; different communicators are independent. Blocking and
// starting calls of one communicator from several threads are made in turn: in the order in which
// the threads enter, which is the program's matter and must be the same on all ranks, else
// agreement finds that they differ. A thread that waits for a call holds up no other thread: that
// one's call is made behind it. A request may be started, tested, waited for and freed by any
// thread, by one at a time. While several threads wait, one of them moves a communicator's calls,
// and the others sleep until theirs have ended or that one leaves. tern_comm_barrier, and what
// makes windows and communicators, is for one thread of a rank at a time. A reduce function must
// not call tern on its communicator.
#ifndef TERN_COLL_H
#define TERN_COLL_H

#include <stddef.h>
#include <stdint.h>

#include "tern/algo.h"
#include "tern/api.h"
#include "tern/comm.h"
#include "tern/dtype.h"
#include "tern/kind.h"
#include "tern/op.h"

TERN_BEGIN_DECLS

// Blocking calls.
TERN_CALL int tern_all_reduce(tern_comm *comm, const void *in, void *out, size_t count,
                              tern_dtype dtype, tern_reduce_op op);
TERN_CALL int tern_reduce_scatter(tern_comm *comm, const void *in, void *out, size_t count,
                                  tern_dtype dtype, tern_reduce_op op);
TERN_CALL int tern_all_gather(tern_comm *comm, const void *in, void *out, size_t count,
                              tern_dtype dtype);
TERN_CALL int tern_broadcast(tern_comm *comm, const void *in, void *out, size_t count,
                             tern_dtype dtype, int root);
TERN_CALL int tern_reduce(tern_comm *comm, const void *in, void *out, size_t count,
                          tern_dtype dtype, tern_reduce_op op, int root);
TERN_CALL int tern_gather(tern_comm *comm, const void *in, void *out, size_t count,
                          tern_dtype dtype, int root);
TERN_CALL int tern_scatter(tern_comm *comm, const void *in, void *out, size_t count,
                           tern_dtype dtype, int root);
TERN_CALL int tern_all_to_all(tern_comm *comm, const void *in, void *out, size_t count,
                              tern_dtype dtype);

// tern_comm_barrier with the checks of this page: it has its place in the sequence of calls. It is
// what orders windows, too (docs/memory-model.md); the other calls order their own buffers alone.
TERN_CALL int tern_barrier(tern_comm *comm);

// To one rank, from one rank. Messages between two ranks arrive in the order sent; each must be
// received with the count and dtype it was sent with (TERN_ERR_MISMATCH). A send may return before
// it is received. tern_coll has a tag, recvs of any rank, and of at most so many elements: a
// message goes to the oldest recv with its tag, from its sender or from any rank, and messages with
// one tag arrive in the order sent. One that comes before its recv waits for it, whatever is
// received meanwhile; a rank that waits for another one of the same sender takes it into memory of
// its own (TERN_ERR_MEMORY fails the communicator). To oneself: one of the two must have been
// started (tern_coll_start) before the other is made, whatever the size; a blocking one that comes
// first would wait for itself: TERN_ERR_ARG.
TERN_CALL int tern_send(tern_comm *comm, const void *in, size_t count, tern_dtype dtype, int to);
TERN_CALL int tern_recv(tern_comm *comm, void *out, size_t count, tern_dtype dtype, int from);

// Both at once, as MPI_Sendrecv: in_count elements of `in` to rank `to`, out_count of rank `from`
// into `out`; returns when both have ended. Neither waits for the other, so ranks may exchange in
// a ring. `from` may be TERN_RANK_ANY; `to` and `from` may both be this rank itself. in and out
// must not overlap. Errors: those of tern_send and tern_recv; after TERN_ERR_ARG nothing was sent.
TERN_CALL int tern_send_recv(tern_comm *comm, const void *in, size_t in_count, int to, void *out,
                             size_t out_count, int from, tern_dtype dtype);

// With a count for each rank. counts and offsets are arrays of n, in elements; offsets NULL: packed
// in rank order. all_gather_v, reduce_scatter_v: the same counts on every rank; this rank's share
// has counts[rank]. gather_v, scatter_v: counts and offsets of the root only. all_to_all_v:
// in_counts[q] here is out_counts[rank] on rank q.
TERN_CALL int tern_all_gather_v(tern_comm *comm, const void *in, void *out, const size_t *counts,
                                const size_t *offsets, tern_dtype dtype);
TERN_CALL int tern_reduce_scatter_v(tern_comm *comm, const void *in, void *out,
                                    const size_t *counts, tern_dtype dtype, tern_reduce_op op);
TERN_CALL int tern_gather_v(tern_comm *comm, const void *in, size_t count, void *out,
                            const size_t *counts, const size_t *offsets, tern_dtype dtype,
                            int root);
TERN_CALL int tern_scatter_v(tern_comm *comm, const void *in, const size_t *counts,
                             const size_t *offsets, void *out, size_t count, tern_dtype dtype,
                             int root);
TERN_CALL int tern_all_to_all_v(tern_comm *comm, const void *in, const size_t *in_counts,
                                const size_t *in_offsets, void *out, const size_t *out_counts,
                                const size_t *out_offsets, tern_dtype dtype);

// From whichever rank sends first. Ranks that have messages ready take turns, so none waits for
// ever while others send. The communicator fails with TERN_ERR_LEFT when all others have left, and
// as ever when one of them dies.
#define TERN_RANK_ANY (-1)

// What a recv has got.
typedef struct tern_received {
    int from;
    size_t count; // elements
    uint64_t tag;
} tern_received;

// A call as data: it can say more than the functions above. A field that is zero is not used, or
// means the default.
typedef struct tern_coll {
    tern_coll_kind kind;
    const void *in;
    void *out;
    size_t count; // elements, as in the table above; of gather_v and scatter_v: this rank's share
    tern_dtype dtype;
    tern_reduce_op op;
    int root; // send, recv: the other rank; of a recv also TERN_RANK_ANY
    const size_t *in_counts, *in_offsets;   // scatter_v, reduce_scatter_v, all_to_all_v
    const size_t *out_counts, *out_offsets; // gather_v, all_gather_v, all_to_all_v
    tern_reduce_function *function;         // of TERN_FUNCTION
    void *function_arg;
    tern_order order; // TERN_ORDER_ANY lets sums run in another order (still always the same)
    // A name of `tern info --algos`, the same on all ranks. NULL: tern selects one.
    const char *algorithm;
    // Lists of n buffers, by rank, instead of `in` and `out` (NULL then) where these have shares of
    // all ranks: count elements each, or those of the (v) forms' counts, whose offsets are then not
    // used. Each rank decides for itself. In place: a share's buffer is the same on both sides.
    const void *const *ins;
    void *const *outs;
    uint64_t tag; // send, recv: a message goes to a recv with the same
    // recv: count is the most that it takes; who sent how much is written here when it has ended
    // well. NULL: exactly count. A longer message is TERN_ERR_MISMATCH, and out stays as it was.
    tern_received *received;

    // The deadline of this call's waits in nanoseconds; it may differ between the ranks. 0 or
    // TERN_TIMEOUT_DEFAULT: the communicator's. TERN_TIMEOUT_NEVER: none.
    int64_t timeout_ns;
} tern_coll;

// The call, blocking.
TERN_CALL int tern_coll_run(tern_comm *comm, const tern_coll *call);

// Non-blocking. A request is a number, 0 for none; the arrays a call points to and its buffers
// belong to tern until it has ended. Calls of one communicator begin in the order they were
// started. They move while any thread of the process is in a waiting or testing call of tern, for
// any request or communicator of the job. Any thread may end one: one thread at a time.
typedef uint64_t tern_request;

// Starts a call. tern_request_test or a waiting function reports its end and frees the request.
TERN_CALL int tern_coll_start(tern_comm *comm, const tern_coll *call, tern_request *request);

// Persistent: everything is looked up now. tern_request_start begins a run, as often as you like,
// one run at a time, on all ranks in the same order as their other calls. The request lives until
// tern_request_free.
TERN_CALL int tern_coll_prepare(tern_comm *comm, const tern_coll *call, tern_request *request);
TERN_CALL int tern_request_start(tern_request request);

// test: 1 when it has ended, 0 when not yet, or a status below 0. wait and test fail with
// TERN_ERR_TIMEOUT when no call of the communicator has moved for the request's deadline: counted
// from the beginning of a wait, or from the first of the tests between which nothing moved. A
// request that ended (or failed) and is not persistent is freed, and *request becomes 0. 0 counts
// as ended. A request that was freed before: TERN_ERR_ARG.
TERN_CALL int tern_request_test(tern_request *request);
TERN_CALL int tern_request_wait(tern_request *request);

// Waits until one has ended; *index says which, -1 when all are 0 or persistent and not started.
TERN_CALL int tern_request_wait_any(tern_request *requests, int count, int *index);

// Waits for all; returns the first error, and then every request of the failed communicators has
// ended.
TERN_CALL int tern_request_wait_all(tern_request *requests, int count);

// Frees a persistent request that is not running (TERN_ERR_STATE else).
TERN_API int tern_request_free(tern_request *request);

TERN_END_DECLS

#endif
