// SPDX-License-Identifier: Apache-2.0
// Plans. A collective of one kind, rank count and size, as data: for each rank, lanes of ops over
// named buffers. The same object is printed, proved (tern/check.h), and executed; no second
// description of an algorithm exists. Built with the calls below, then sealed; a sealed plan never
// changes and may be shared between threads.
//
// What a plan means. Each rank has three buffers: `in`, `out` and `scratch`. Lanes of a rank run
// concurrently, the ops of a lane one after the other:
//
//     copy    one source range to one or more destination ranges
//     reduce  the sum (or the caller's operation) of n source ranges, in the order given, to m
//             destination ranges; accumulates wide, rounds once
//     post    adds 1 to a signal of a rank
//     wait    blocks the lane until a signal of its own rank has been posted `count` times in this
//             run; what was done before those posts is visible after it
//
// Signals only count up; nothing is reset between runs. Ranges may lie in the buffers of any rank:
// an op that reads from or writes to another rank uses the link between the two. A range of length
// 0 is legal everywhere.
//
// Between runs. The executor of a plan guarantees that no op touches a rank's buffers or signals
// before that rank has begun the run, so a plan needs no signals for "your input is ready". The
// plan guarantees that when the lanes of a rank have ended, nobody touches its buffers any more:
// all accesses of others happen before waits of that rank. So it may use its buffers, and begin the
// next run, at once.
//
// What a kind means, with n ranks and `bytes` B (a share is B / n):
//
//     all_reduce      in B, out B: out of every rank = sum of all in
//     reduce_scatter  in B, out share: out of rank r = share r of the sum of all in
//     all_gather      in share, out B: share r of every out = in of rank r
//     broadcast       in B (root only), out B: out of every rank = in of the root
//     all_to_all      in B, out B: share q of out of rank r = share r of in of rank q
//     barrier         no bytes: no rank's lanes have all ended before every rank has begun
//     reduce          in B, out B (root only): out of the root = sum of all in
//     gather          in share, out B (root only): share r of the root's out = in of rank r
//     scatter         in B (root only), out share: out of rank r = share r of the root's in
//
// Where it says "root only", the other ranks have no such buffer, and no op may touch it. Programs
// ask tern_coll_kind_facts (tern/kind.h).
//
// Slots. A plan may say that `in`, `scratch` or both lie in slots: memory of the run, which no
// caller has. What lies there stays until all ranks have ended, so no signal needs to say that a
// rank has finished with another one's. `in` is then a copy of the caller's input, and all ranks
// have made theirs before the first op. Collective calls run such plans; tern_exec refuses them.
#ifndef TERN_PLAN_H
#define TERN_PLAN_H

#include <stddef.h>
#include <stdint.h>

#include "tern/api.h"
#include "tern/kind.h"
#include "tern/status.h"

TERN_BEGIN_DECLS

#define TERN_PLAN_RANKS_MAX 1024
#define TERN_PLAN_BYTES_MAX (UINT64_C(1) << 48) // of any buffer
#define TERN_PLAN_LANES_MAX 1024                // of a rank
#define TERN_PLAN_SIGNALS_MAX 1048576           // of a rank
#define TERN_PLAN_OPS_MAX (UINT32_C(1) << 28)   // of all ranks
#define TERN_PLAN_ROUNDS_MAX 65535
#define TERN_PLAN_OPERANDS_MAX 2048 // of an op, sources and destinations together

typedef struct tern_plan tern_plan;

typedef struct tern_plan_spec {
    tern_plan_kind kind;
    int nranks;            // 1..TERN_PLAN_RANKS_MAX
    uint64_t bytes;        // B above; a multiple of unit, and of n * unit where there are shares
    uint32_t unit;         // bytes of an element: 1, 2, 4 or 8
    int root;              // of broadcast, reduce, gather and scatter; else 0
    const char *algorithm; // what made it: letters, digits, '_' and '-', at most 31; NULL: "custom"
    uint32_t slots;        // TERN_PLAN_IN_SLOTS, TERN_PLAN_SCRATCH_SLOTS, both, or 0
} tern_plan_spec;

typedef enum tern_plan_buffer { TERN_PLAN_IN, TERN_PLAN_OUT, TERN_PLAN_SCRATCH } tern_plan_buffer;

// Buffers that lie in slots.
#define TERN_PLAN_IN_SLOTS (1u << TERN_PLAN_IN)
#define TERN_PLAN_SCRATCH_SLOTS (1u << TERN_PLAN_SCRATCH)

// Where an operand begins; its length is the op's.
typedef struct tern_plan_range {
    uint64_t offset; // bytes, a multiple of the unit
    uint16_t rank;
    uint16_t buffer; // tern_plan_buffer
} tern_plan_range;

typedef enum tern_plan_op_kind {
    TERN_PLAN_COPY,
    TERN_PLAN_REDUCE,
    TERN_PLAN_POST,
    TERN_PLAN_WAIT,
} tern_plan_op_kind;

// A reduce that adds its sources to what its destinations hold (or multiplies, takes the maximum or
// minimum), atomically per element: several ops of a run may work on one range at a time. The order
// of the sum is then left to chance, and so are the last bits of sums of floats. No source may be
// one of its destinations.
#define TERN_PLAN_ATOMIC 1u

// An op, as it is read.
typedef struct tern_plan_op {
    tern_plan_op_kind kind;
    uint32_t flags; // TERN_PLAN_ATOMIC on a reduce
    int round;      // for people and simulators; has no meaning for the order
    // copy, reduce
    uint64_t length; // bytes, a multiple of the unit
    const tern_plan_range *sources;
    int sources_count;
    const tern_plan_range *destinations;
    int destinations_count;
    // post, wait
    int peer;        // post: whose signal
    uint32_t signal; // which, from 0
    uint32_t count;  // wait: how often it must have been posted in this run, 1 or more
} tern_plan_op;

// Building. One thread at a time. Errors: TERN_ERR_ARG and TERN_ERR_LIMIT with a sentence that
// names rank, lane and index of the op; TERN_ERR_STATE on a sealed plan; TERN_ERR_MEMORY.
TERN_CALL int tern_plan_create(const tern_plan_spec *spec, tern_plan **plan);

// Scratch bytes of every rank; 0 at first. The largest call counts.
TERN_CALL int tern_plan_need_scratch(tern_plan *plan, uint64_t bytes);

// Appends an op to a lane (lanes are numbered from 0; the lanes below it exist too). The op's own
// sources and destinations are copied. Operands are not checked against the buffers here: that is
// the checker's work, so that wrong plans can be written down and refuted.
TERN_CALL int tern_plan_add(tern_plan *plan, int rank, int lane, const tern_plan_op *op);

// Makes the plan immutable and readable.
TERN_CALL int tern_plan_seal(tern_plan *plan);
TERN_API int tern_plan_destroy(tern_plan *plan);

// Reading a sealed plan. Any thread.
TERN_API const tern_plan_spec *tern_plan_get_spec(const tern_plan *plan);
// The bytes of a buffer, on the ranks that have it.
TERN_API uint64_t tern_plan_buffer_bytes(const tern_plan *plan, tern_plan_buffer buffer);
TERN_API int tern_plan_lane_count(const tern_plan *plan, int rank);
TERN_API size_t tern_plan_op_count(const tern_plan *plan, int rank, int lane);
TERN_CALL int tern_plan_get_op(const tern_plan *plan, int rank, int lane, size_t index,
                               tern_plan_op *op);
// One more than the highest signal of a rank that an op uses; 1 + the highest round; all ops.
TERN_API uint32_t tern_plan_signal_count(const tern_plan *plan, int rank);
TERN_API int tern_plan_round_count(const tern_plan *plan);
TERN_API size_t tern_plan_total_ops(const tern_plan *plan);
// Bytes of memory that the plan takes.
TERN_API size_t tern_plan_memory(const tern_plan *plan);

// A plan of fewer passes over memory, from one that was proved: a copy of an input, the atomic adds
// of other inputs to the same place, and the copies of that sum become one reduce, in rank order,
// to all of these places, where the first copy was. The links carry the same bytes; plans without
// such sums come out as they are. The caller proves the result (tern/check.h) before he uses it.
TERN_CALL int tern_plan_fuse(const tern_plan *plan, tern_plan **made);

// The text form, docs/plan-format.md. Writing a plan and reading it gives the same plan, writing
// that one the same bytes. Errors of reading name file, line, column, and what was expected there.
TERN_CALL int tern_plan_print(const tern_plan *plan, char **text, size_t *length); // free() it
TERN_CALL int tern_plan_parse(const char *text, size_t length, const char *name, tern_plan **plan);
TERN_CALL int tern_plan_save(const tern_plan *plan, const char *path); // "-": standard output
TERN_CALL int tern_plan_load(const char *path, tern_plan **plan);      // "-": standard input

TERN_END_DECLS

#endif
