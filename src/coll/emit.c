// SPDX-License-Identifier: Apache-2.0
// Writing a plan down: operands, ops, slices. Set-up path.

#include "base/error.h"
#include "coll/emit.h"
#include "plan/slices.h"

void tern__emit_from(struct tern__emit *e, int rank, tern_plan_buffer buffer, uint64_t offset)
{
    if (e->sources_count < TERN_PLAN_OPERANDS_MAX) {
        e->sources[e->sources_count++] =
            (tern_plan_range){.offset = offset, .rank = (uint16_t)rank, .buffer = (uint16_t)buffer};
    }
}

void tern__emit_to(struct tern__emit *e, int rank, tern_plan_buffer buffer, uint64_t offset)
{
    if (e->destinations_count < TERN_PLAN_OPERANDS_MAX) {
        e->destinations[e->destinations_count++] =
            (tern_plan_range){.offset = offset, .rank = (uint16_t)rank, .buffer = (uint16_t)buffer};
    }
}

// Whether an op needs the memory of another machine at once. What a copy writes there travels.
static void look_at_reach(struct tern__emit *e, int rank, const tern_plan_op *op)
{
    int machine = tern_topo_machine_of(e->topo, rank);
    int writes = op->kind == TERN_PLAN_REDUCE ? op->destinations_count : 0;
    bool moves = op->kind == TERN_PLAN_COPY || op->kind == TERN_PLAN_REDUCE;
    int count = moves ? op->sources_count + writes : 0;
    for (int i = 0; i < count && !e->reaches; i++) {
        int other = i < op->sources_count ? op->sources[i].rank
                                          : op->destinations[i - op->sources_count].rank;
        e->reaches = tern_topo_machine_of(e->topo, other) != machine;
        e->reaching = rank;
        e->reached = other;
    }
}

static void add(struct tern__emit *e, struct tern__at at, const tern_plan_op *op)
{
    if (e->status < 0) {
        return;
    }
    if (e->machines) {
        look_at_reach(e, at.rank, op);
    }
    if (e->tally != NULL) {
        tern__tally_op(e->tally, at.rank, at.lane, op);
    }
    if (e->plan != NULL) {
        e->status = tern_plan_add(e->plan, at.rank, at.lane, op);
    }
}

void tern__emit_move(struct tern__emit *e, struct tern__at at, uint64_t length)
{
    if (length > 0 && e->destinations_count > 0) {
        add(e, at,
            &(tern_plan_op){
                .kind = e->sources_count == 1 ? TERN_PLAN_COPY : TERN_PLAN_REDUCE,
                .round = at.round,
                .length = length,
                .sources = e->sources,
                .sources_count = e->sources_count,
                .destinations = e->destinations,
                .destinations_count = e->destinations_count,
            });
    }
    e->sources_count = 0;
    e->destinations_count = 0;
}

void tern__emit_post(struct tern__emit *e, struct tern__at at, int peer, uint32_t signal)
{
    add(e, at,
        &(tern_plan_op){.kind = TERN_PLAN_POST, .round = at.round, .peer = peer, .signal = signal});
}

void tern__emit_wait(struct tern__emit *e, struct tern__at at, uint32_t signal, int count)
{
    if (count > 0) {
        add(e, at,
            &(tern_plan_op){.kind = TERN_PLAN_WAIT,
                            .round = at.round,
                            .signal = signal,
                            .count = (uint32_t)count});
    }
}

void tern__emit_scratch(struct tern__emit *e, uint64_t bytes)
{
    if (e->plan != NULL && e->status >= 0) {
        e->status = tern_plan_need_scratch(e->plan, bytes);
    }
}

void tern__emit_from_all_inputs(struct tern__emit *e, uint64_t offset)
{
    for (int rank = 0; rank < e->nranks; rank++) {
        tern__emit_from(e, rank, TERN_PLAN_IN, offset);
    }
}

void tern__emit_to_all_outputs(struct tern__emit *e, int first, uint64_t offset)
{
    for (int step = 0; step < e->nranks; step++) {
        tern__emit_to(e, (first + step) % e->nranks, TERN_PLAN_OUT, offset);
    }
}

void tern__emit_tell_all(struct tern__emit *e, struct tern__at at, uint32_t signal)
{
    for (int step = 1; step < e->nranks; step++) {
        tern__emit_post(e, at, (at.rank + step) % e->nranks, signal);
    }
}

void tern__emit_finish(struct tern__emit *e, struct tern__at at)
{
    tern__emit_tell_all(e, at, 0);
    tern__emit_wait(e, at, 0, e->nranks - 1);
}

uint64_t tern__slice(const struct tern__emit *e, int parts, int index)
{
    struct tern__slices slices = tern__slices_of(e->bytes, (uint64_t)parts, e->unit);
    return tern__slice_begin(&slices, (uint64_t)index);
}

uint64_t tern__slice_length(const struct tern__emit *e, int parts, int from, int to)
{
    return tern__slice(e, parts, to) - tern__slice(e, parts, from);
}

uint64_t tern__slice_longest(const struct tern__emit *e, int parts)
{
    // The last one also has what is left of a cache line.
    uint64_t first = tern__slice_length(e, parts, 0, 1);
    uint64_t last = tern__slice_length(e, parts, parts - 1, parts);
    return first > last ? first : last;
}
