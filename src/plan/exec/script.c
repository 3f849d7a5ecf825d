// SPDX-License-Identifier: Apache-2.0
// From a sealed plan to what one rank does of it. Set-up path.

#include "plan/exec/script.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "plan/ir.h"

// A transfer of nothing does nothing; lanes keep their order without it.
static bool is_kept(const struct tern__op *op)
{
    return !tern__op_is_transfer(op) || tern__op_moves(op);
}

struct lowering {
    const struct tern__lowering *how;
    struct tern__script *script;
    uint32_t signals;          // of the rank that has most
    tern_plan_range *operands; // where those of the next op go
};

// Whether a lane posts this signal once to every other rank, and right after waits for as many.
static bool lane_meets(const tern_plan *plan, const struct tern__lane *lane, uint32_t signal)
{
    int n = plan->spec.nranks;
    int posts = 0;
    int waits = 0;
    uint64_t peers = 0;
    for (size_t i = 0; i < lane->count; i++) {
        const struct tern__op *op = &lane->ops[i];
        if (op->kind == TERN_PLAN_POST && op->signal == signal && waits == 0) {
            peers |= UINT64_C(1) << op->peer;
            posts++;
        } else if (op->kind == TERN_PLAN_WAIT && op->signal == signal) {
            waits += op->length == (uint64_t)(n - 1) ? 1 : 2;
        } else if ((posts > 0 && waits == 0) ||
                   (!tern__op_is_transfer(op) && op->signal == signal)) {
            return false; // something between, or a post after
        }
    }
    return posts == n - 1 && __builtin_popcountll(peers) == n - 1 && waits == 1;
}

// The signals at which all ranks meet. With two ranks a post is as good.
static uint32_t find_meets(const struct lowering *l)
{
    const tern_plan *plan = l->how->plan;
    uint32_t meets = 0;
    for (uint32_t signal = 0; signal < l->how->meets_max && plan->spec.nranks > 2; signal++) {
        bool all = true;
        for (int rank = 0; rank < plan->spec.nranks && all; rank++) {
            const struct tern__plan_rank *row = &plan->ranks[rank];
            all = row->lanes_count == 1 && lane_meets(plan, &row->lanes[0], signal);
        }
        meets |= all ? 1u << signal : 0;
    }
    return meets;
}

static void count_posts(const struct lowering *l)
{
    const tern_plan *plan = l->how->plan;
    for (int rank = 0; rank < plan->spec.nranks; rank++) {
        for (int lane = 0; lane < plan->ranks[rank].lanes_count; lane++) {
            const struct tern__lane *row = &plan->ranks[rank].lanes[lane];
            for (size_t i = 0; i < row->count; i++) {
                const struct tern__op *op = &row->ops[i];
                bool met = op->signal < 32 && (l->script->meets >> op->signal & 1) != 0;
                if (op->kind == TERN_PLAN_POST && op->peer == l->how->rank && !met) {
                    l->script->posts[op->signal]++;
                    l->script->posters[op->signal] |= UINT64_C(1) << rank;
                    l->script->posts_count = op->signal + 1 > l->script->posts_count
                                                 ? op->signal + 1
                                                 : l->script->posts_count;
                }
            }
        }
    }
}

// Those of other ranks.
static uint64_t gates_of(const struct lowering *l, const struct tern__op *op)
{
    const tern_plan_range *ranges = tern__op_operands(l->how->plan, op);
    uint64_t ranks = op->kind == TERN_PLAN_POST ? UINT64_C(1) << op->peer : 0;
    for (int i = 0; i < op->sources_count + op->destinations_count; i++) {
        ranks |= UINT64_C(1) << ranges[i].rank;
    }
    return ranks & ~(UINT64_C(1) << l->how->rank);
}

static struct tern__step lower_op(struct lowering *l, const struct tern__op *op, size_t index)
{
    struct tern__step step = {.index = (uint32_t)index, .gates = gates_of(l, op)};
    if (tern__op_is_transfer(op)) {
        step.kind = op->kind == TERN_PLAN_COPY            ? TERN__STEP_COPY
                    : (op->flags & TERN_PLAN_ATOMIC) != 0 ? TERN__STEP_ADD
                                                          : TERN__STEP_REDUCE;
        step.sources_count = op->sources_count;
        step.destinations_count = op->destinations_count;
        size_t operands = (size_t)(op->sources_count + op->destinations_count);
        memcpy(l->operands, tern__op_operands(l->how->plan, op), operands * sizeof *l->operands);
        step.operands = l->operands;
        l->operands += operands;
        step.length = op->length;
        return step;
    }
    step.kind = op->kind == TERN_PLAN_POST ? TERN__STEP_POST : TERN__STEP_WAIT;
    step.signal = op->signal;
    step.word = tern__script_word(l->script, op->signal);
    step.peer = op->peer;
    step.count = (uint32_t)op->length;
    if (op->signal < 32 && (l->script->meets >> op->signal & 1) != 0) {
        step.kind = op->kind == TERN_PLAN_POST ? TERN__STEP_ARRIVE : TERN__STEP_MEET;
    }
    return step;
}

// Of the posts at which all ranks meet the first one says it all.
static bool is_repeated(const struct tern__step *begin, const struct tern__step *end,
                        const struct tern__step *step)
{
    return step->kind == TERN__STEP_ARRIVE && end != begin && end[-1].kind == TERN__STEP_ARRIVE &&
           end[-1].signal == step->signal;
}

static int make_room(struct lowering *l)
{
    const struct tern__plan_rank *own = &l->how->plan->ranks[l->how->rank];
    struct tern__script *script = l->script;
    size_t ops = 0;
    size_t operands = 0;
    for (int lane = 0; lane < own->lanes_count; lane++) {
        ops += own->lanes[lane].count;
        for (size_t i = 0; i < own->lanes[lane].count; i++) {
            const struct tern__op *op = &own->lanes[lane].ops[i];
            operands += (size_t)(op->sources_count + op->destinations_count);
        }
    }
    script->steps = calloc(ops + 1, sizeof *script->steps);
    script->operands = calloc(operands + 1, sizeof *script->operands);
    l->operands = script->operands;
    script->lanes = calloc((size_t)own->lanes_count + 1, sizeof *script->lanes);
    script->posts = calloc((size_t)l->signals + 1, sizeof *script->posts);
    script->posters = calloc((size_t)l->signals + 1, sizeof *script->posters);
    if (script->steps == NULL || script->operands == NULL || script->lanes == NULL ||
        script->posts == NULL || script->posters == NULL) {
        return tern__fail(TERN_ERR_MEMORY, "no memory for a plan of %zu ops", ops);
    }
    return TERN_OK;
}

static int lower(struct lowering *l)
{
    const struct tern__plan_rank *own = &l->how->plan->ranks[l->how->rank];
    struct tern__script *script = l->script;
    TERN_TRY(make_room(l));
    script->meets = find_meets(l);
    script->packed = l->signals > l->how->lines_max;
    count_posts(l);
    struct tern__step *step = script->steps;
    for (int lane = 0; lane < own->lanes_count; lane++) {
        struct tern__steps *steps = &script->lanes[script->lanes_count];
        *steps = (struct tern__steps){.begin = step, .lane = lane};
        for (size_t i = 0; i < own->lanes[lane].count; i++) {
            const struct tern__op *op = &own->lanes[lane].ops[i];
            if (is_kept(op)) {
                struct tern__step lowered = lower_op(l, op, i);
                if (!is_repeated(steps->begin, step, &lowered)) {
                    *step++ = lowered;
                }
            }
        }
        steps->end = step;
        script->lanes_count += steps->end != steps->begin;
    }
    return TERN_OK;
}

int tern__script_create(const struct tern__lowering *how, struct tern__script *script)
{
    *script = (struct tern__script){0};
    struct lowering l = {.how = how, .script = script, .signals = tern__plan_signals(how->plan)};
    return lower(&l);
}

void tern__script_free(struct tern__script *script)
{
    free(script->lanes);
    free(script->steps);
    free(script->operands);
    free(script->posts);
    free(script->posters);
}
