// SPDX-License-Identifier: Apache-2.0
// The plan from inside: 32 bytes an op, 16 an operand.
#ifndef TERN_PLAN_IR_H
#define TERN_PLAN_IR_H

#include <stdbool.h>

#include "base/handle.h"
#include "base/kind.h"
#include "tern/plan.h"

struct tern__op {
    uint64_t length;         // copy, reduce; of a wait: its count
    uint32_t operands_first; // in plan->operands: sources, then destinations
    uint16_t sources_count;
    uint16_t destinations_count;
    uint32_t signal;
    uint16_t peer;
    uint16_t round;
    uint8_t kind; // tern_plan_op_kind
    uint8_t flags;
};
_Static_assert(sizeof(struct tern__op) <= 32, "at most 64 bytes an op were promised");
_Static_assert(sizeof(tern_plan_range) == 16, "at most 24 bytes an operand were promised");

struct tern__lane {
    struct tern__op *ops;
    size_t count, room;
};

struct tern__plan_rank {
    struct tern__lane *lanes;
    int lanes_count, lanes_room;
    uint32_t signals; // one more than the highest in use
};

struct tern_plan {
    struct tern__handle handle;
    tern_plan_spec spec; // algorithm points to `algorithm`
    char algorithm[32];
    uint64_t scratch_bytes;
    struct tern__plan_rank *ranks;
    tern_plan_range *operands;
    size_t operands_count, operands_room;
    size_t ops_count;
    int rounds;
    bool sealed;
    bool in_place; // it was proved to be right in place, too; by tern_check_quicken
};

// Whether a rank has the buffer.
static inline bool tern__plan_has_buffer(const tern_plan *plan, int rank, tern_plan_buffer buffer)
{
    tern_plan_kind kind = plan->spec.kind;
    return buffer == TERN_PLAN_IN    ? tern__kind_has_in(kind, rank, plan->spec.root)
           : buffer == TERN_PLAN_OUT ? tern__kind_has_out(kind, rank, plan->spec.root)
                                     : true;
}

// Whether the buffer lies in slots.
static inline bool tern__plan_in_slots(const tern_plan *plan, unsigned buffer)
{
    return (plan->spec.slots >> buffer & 1) != 0;
}

// TERN_OK for a plan that lives; the sentence begins with the name of the public call.
static inline int tern__plan_lives(const char *call, const tern_plan *plan)
{
    return tern__handle_check(call, plan, TERN__PLAN);
}

// A share of the plan's bytes.
static inline uint64_t tern__plan_share(const tern_plan *plan)
{
    return plan->spec.bytes / (uint64_t)plan->spec.nranks;
}

// The stored op, and its operands: sources, then destinations.
static inline const struct tern__op *tern__plan_op(const tern_plan *plan, int rank, int lane,
                                                   size_t index)
{
    return &plan->ranks[rank].lanes[lane].ops[index];
}

static inline const tern_plan_range *tern__op_operands(const tern_plan *plan,
                                                       const struct tern__op *op)
{
    // Posts and waits have none, and a plan of only those has no array.
    return op->operands_first > 0 ? plan->operands + op->operands_first : plan->operands;
}

// A stored op as it is read.
void tern__plan_read_op(const tern_plan *plan, const struct tern__op *stored, tern_plan_op *op);

// Whether it is there to move bytes; and whether it has any to move.
static inline bool tern__op_is_transfer(const struct tern__op *op)
{
    return op->kind == TERN_PLAN_COPY || op->kind == TERN_PLAN_REDUCE;
}

static inline bool tern__op_moves(const struct tern__op *op)
{
    return tern__op_is_transfer(op) && op->length > 0;
}

// One more than the highest signal of any rank.
uint32_t tern__plan_signals(const tern_plan *plan);

// Makes room for `count` items of an array that doubles.
int tern__plan_reserve(void **items, size_t *room, size_t count, size_t item_bytes);

// "in", "out", "scratch"; "copy", "reduce", …
const char *tern__buffer_name(tern_plan_buffer buffer);
const char *tern__op_kind_name(tern_plan_op_kind kind);

#endif
