// SPDX-License-Identifier: Apache-2.0
// Writing a plan down. An algorithm names operands, then the op that uses them; where the ops go, a
// plan or only a count of bytes per link, is not its business. The first failure is kept and makes
// the calls after it do nothing, so that an algorithm reads as the schedule it is.
#ifndef TERN_COLL_EMIT_H
#define TERN_COLL_EMIT_H

#include "plan/tally.h"
#include "tern/algo.h"

struct tern__emit {
    tern_plan *plan;           // NULL: nothing is stored
    struct tern__tally *tally; // NULL: nothing is counted
    const tern_topo *topo;
    tern_plan_kind kind;
    int nranks;
    uint64_t bytes;
    uint32_t unit;
    int root;
    int status; // of the first call that failed
    // Of the first op that needs the memory of another machine: its rank and the other; looked for
    // where `machines` says so.
    bool machines, reaches;
    int reaching, reached;
    int sources_count, destinations_count;
    tern_plan_range sources[TERN_PLAN_OPERANDS_MAX];
    tern_plan_range destinations[TERN_PLAN_OPERANDS_MAX];
};

// Where an op stands.
struct tern__at {
    int rank, lane, round;
};

// Operands of the next tern__emit_move.
void tern__emit_from(struct tern__emit *e, int rank, tern_plan_buffer buffer, uint64_t offset);
void tern__emit_to(struct tern__emit *e, int rank, tern_plan_buffer buffer, uint64_t offset);

// A copy of one source or a reduce of more; nothing at all when there are no bytes.
void tern__emit_move(struct tern__emit *e, struct tern__at at, uint64_t length);

void tern__emit_post(struct tern__emit *e, struct tern__at at, int peer, uint32_t signal);
void tern__emit_wait(struct tern__emit *e, struct tern__at at, uint32_t signal, int count);
void tern__emit_scratch(struct tern__emit *e, uint64_t bytes);

// The inputs of all ranks at an offset, in rank order, as sources: what makes a sum of rank order.
void tern__emit_from_all_inputs(struct tern__emit *e, uint64_t offset);

// The outputs of all ranks at an offset as destinations, beginning with that of `first`.
void tern__emit_to_all_outputs(struct tern__emit *e, int first, uint64_t offset);

// A post to every other rank.
void tern__emit_tell_all(struct tern__emit *e, struct tern__at at, uint32_t signal);

// Tells every other rank on signal 0 that this one has finished with it, and waits to hear the same
// from all: the end of a rank whose buffers everybody may touch.
void tern__emit_finish(struct tern__emit *e, struct tern__at at);

// Where slice `index` of `parts` of the plan's bytes begins (plan/slices.h); index == parts: their
// end.
uint64_t tern__slice(const struct tern__emit *e, int parts, int index);
// The length of the slices from..to-1, and of the longest one.
uint64_t tern__slice_length(const struct tern__emit *e, int parts, int from, int to);
uint64_t tern__slice_longest(const struct tern__emit *e, int parts);

#endif
