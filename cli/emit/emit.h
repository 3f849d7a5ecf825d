// SPDX-License-Identifier: Apache-2.0
// `tern plan … --emit-executor FILE.cc`: a plan as the source of an executor for HCCL's framework.
// express.c says whether its ops are tasks of that framework, bits.c finds a 1-bit notify for each
// signal, source.c writes.
#ifndef TERN_CLI_EMIT_H
#define TERN_CLI_EMIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tern/plan.h"

#define EMIT_OPS_MAX 65535 // tasks of a rank that the framework takes at once

// Which engines the source is for: their inline reduces are warned about.
enum emit_target { EMIT_ANY, EMIT_910B, EMIT_910_93, EMIT_950 };

// Why a plan cannot be written, or what is wrong with an op.
struct emit_refusal {
    char text[320];
};

// The bit of each post and wait. Of another rank's post: 0 Ack, 1 DataSignal; of the own rank's:
// the number of a LocalNotify.
struct emit_bits {
    size_t *lane_first; // by rank: number of its first lane; and behind the last
    size_t *op_first;   // by lane: number of its first op
    uint32_t *bits;     // by op
    size_t *lane_of;    // by op
    size_t *order;      // the ops in an order in which they can happen, those of rank 0 first
    uint16_t *peers;    // by op: of a post its owner, of a wait its poster
    // Transfers with a rank that may not have begun: its last operation may use the buffers still.
    // The executor of tern sees to that, the framework does not.
    size_t early;
    struct emit_refusal first_early; // in words
    uint32_t notifies;               // of the rank that has most
};

// express.c. False with a sentence that names the op.
bool emit_can_express(const tern_plan *plan, struct emit_refusal *refusal);

// bits.c. False with a sentence; the bits are freed in any case by emit_bits_free. What must have
// happened before each post and wait is found by running the plan once with vector clocks: a bit is
// used again only after its last wait has ended, by other ops than these two.
bool emit_bits_make(const tern_plan *plan, struct emit_bits *bits, struct emit_refusal *refusal);
void emit_bits_free(struct emit_bits *bits);

// Words for a refusal: "rank 0, lane 1, op 2 (reduce): …". Always false.
bool emit_refuse(struct emit_refusal *refusal, int rank, int lane, size_t index,
                 const tern_plan_op *op, const char *format, ...) TERN_PRINTF(6, 7);

// simple.c: the same collective with simple ops, in scratch; the caller proves it. 0, or -1.
int emit_simplify(const tern_plan *plan, tern_plan **made, struct emit_refusal *refusal);

// source.c: writes the whole source to a file; 0, or -1 after a sentence on standard error.
int emit_executor(const tern_plan *plan, const char *path, enum emit_target target);

#endif
