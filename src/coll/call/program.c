// SPDX-License-Identifier: Apache-2.0
// From a sealed plan to what one rank does of it. Set-up path.

#include "coll/call/program.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "coll/call/area.h"
#include "coll/tune.h"
#include "plan/ir.h"

// Their operands are whole slices or shares; src/coll/test/scaled.c holds them to it.
bool tern__program_scales(const char *algorithm)
{
    static const char *const names[] = {"fused", "one_shot", "two_shot", "staged",
                                        "pull",  "direct",   "push"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (strcmp(names[i], algorithm) == 0) {
            return true;
        }
    }
    return false;
}

static bool is_transfer(const struct tern__op *op)
{
    return op->kind == TERN_PLAN_COPY || op->kind == TERN_PLAN_REDUCE;
}

// A transfer of nothing does nothing; lanes keep their order without it.
static bool is_kept(const struct tern__op *op)
{
    return !is_transfer(op) || op->length > 0;
}

// Units of a scaled plan are at most as many as ranks, which are at most 64.
static uint64_t units_of(const tern_plan_range *range, uint64_t length)
{
    uint64_t bits = length < 64 ? (UINT64_C(1) << length) - 1 : UINT64_MAX;
    return bits << range->offset;
}

static void survey_op(struct tern__program *program, const struct tern__op *op, int rank, int self)
{
    const tern_plan_range *ranges = tern__op_operands(program->plan, op);
    for (int i = 0; i < op->sources_count + op->destinations_count; i++) {
        bool writes = i >= op->sources_count;
        uint64_t bit = UINT64_C(1) << ranges[i].rank; // a communicator has at most 64
        if (ranges[i].rank == rank) {
            continue;
        }
        if (program->scaled && ranges[i].buffer == TERN_PLAN_IN && ranges[i].rank == self) {
            program->exposed |= units_of(&ranges[i], op->length);
        }
        program->in_shared |= ranges[i].buffer == TERN_PLAN_IN ? bit : 0;
        program->out_shared |= ranges[i].buffer == TERN_PLAN_OUT ? bit : 0;
        program->pull = program->pull && !writes && ranges[i].buffer != TERN_PLAN_OUT;
    }
    program->pull = program->pull && (op->flags & TERN_PLAN_ATOMIC) == 0;
}

// What the plan as a whole asks for.
static int survey(struct tern__program *program, int self)
{
    const tern_plan *plan = program->plan;
    program->pull = true;
    program->scratch_bytes = plan->scratch_bytes;
    uint32_t signals = 0;
    for (int rank = 0; rank < plan->spec.nranks; rank++) {
        const struct tern__plan_rank *row = &plan->ranks[rank];
        signals = row->signals > signals ? row->signals : signals;
        for (int lane = 0; lane < row->lanes_count; lane++) {
            for (size_t i = 0; i < row->lanes[lane].count; i++) {
                const struct tern__op *op = &row->lanes[lane].ops[i];
                if (is_transfer(op) && op->length > 0) {
                    survey_op(program, op, rank, self);
                }
            }
        }
    }
    if (signals > TERN__SIGNALS_PACKED) {
        return tern__fail(TERN_ERR_LIMIT,
                          "the plan '%s' for %s on %d ranks has %u signals a rank; a call can use "
                          "%d",
                          plan->algorithm, tern_plan_kind_name(plan->spec.kind), plan->spec.nranks,
                          signals, (int)TERN__SIGNALS_PACKED);
    }
    return TERN_OK;
}

// Signals, by rank and number, that a transfer of their rank comes after: those that are not only
// about the end.
static void mark_needed(const tern_plan *plan, bool *needed, uint32_t signals)
{
    for (int rank = 0; rank < plan->spec.nranks; rank++) {
        const struct tern__plan_rank *row = &plan->ranks[rank];
        for (int lane = 0; lane < row->lanes_count; lane++) {
            bool later = false; // a transfer, or a post that somebody may need
            for (size_t i = row->lanes[lane].count; i-- > 0;) {
                const struct tern__op *op = &row->lanes[lane].ops[i];
                if (op->kind == TERN_PLAN_WAIT && later) {
                    needed[(size_t)rank * signals + op->signal] = true;
                } else if (op->kind == TERN_PLAN_POST) {
                    later = later || needed[(size_t)op->peer * signals + op->signal];
                } else if (is_transfer(op) && op->length > 0) {
                    later = true;
                }
            }
        }
    }
}

// A post that is needed makes the waits before it needed, so until nothing changes.
static bool *find_needed(const tern_plan *plan, uint32_t signals)
{
    size_t count = (size_t)plan->spec.nranks * signals;
    bool *needed = calloc(count + 1, sizeof *needed);
    bool *before = calloc(count + 1, sizeof *before);
    if (needed == NULL || before == NULL) {
        free(needed);
        free(before);
        return NULL;
    }
    do {
        memcpy(before, needed, count);
        mark_needed(plan, needed, signals);
    } while (memcmp(before, needed, count) != 0);
    free(before);
    return needed;
}

struct lowering {
    struct tern__program *program;
    struct tern__script *script;
    const bool *needed; // NULL: every signal
    uint32_t signals;
    int rank;
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
        } else if ((posts > 0 && waits == 0) || (!is_transfer(op) && op->signal == signal)) {
            return false; // something between, or a post after
        }
    }
    return posts == n - 1 && __builtin_popcountll(peers) == n - 1 && waits == 1;
}

// The signals at which all ranks meet. With two ranks a post is as good.
static uint32_t find_meets(const struct lowering *l)
{
    const tern_plan *plan = l->program->plan;
    uint32_t meets = 0;
    for (uint32_t signal = 0; signal + 1 < TERN__SLOT_ARRIVALS && plan->spec.nranks > 2; signal++) {
        bool all = true;
        for (int rank = 0; rank < plan->spec.nranks && all; rank++) {
            const struct tern__plan_rank *row = &plan->ranks[rank];
            all = row->lanes_count == 1 && lane_meets(plan, &row->lanes[0], signal) &&
                  (l->needed == NULL || l->needed[(size_t)rank * l->signals + signal]);
        }
        meets |= all ? 1u << signal : 0;
    }
    return meets;
}

static bool keeps(const struct lowering *l, const struct tern__op *op, int rank)
{
    if (is_transfer(op) || l->needed == NULL) {
        return is_kept(op);
    }
    int owner = op->kind == TERN_PLAN_POST ? op->peer : rank;
    return l->needed[(size_t)owner * l->signals + op->signal];
}

static void count_posts(const struct lowering *l)
{
    const tern_plan *plan = l->program->plan;
    for (int rank = 0; rank < plan->spec.nranks; rank++) {
        for (int lane = 0; lane < plan->ranks[rank].lanes_count; lane++) {
            const struct tern__lane *row = &plan->ranks[rank].lanes[lane];
            for (size_t i = 0; i < row->count; i++) {
                const struct tern__op *op = &row->ops[i];
                bool met = op->signal < 32 && (l->script->meets >> op->signal & 1) != 0;
                if (op->kind == TERN_PLAN_POST && op->peer == l->rank && !met &&
                    keeps(l, op, rank)) {
                    l->script->posts[op->signal]++;
                    l->script->posts_count = op->signal + 1 > l->script->posts_count
                                                 ? op->signal + 1
                                                 : l->script->posts_count;
                }
            }
        }
    }
}

static struct tern__step lower_op(const struct lowering *l, const struct tern__op *op, size_t index)
{
    struct tern__step step = {.index = (uint32_t)index};
    if (is_transfer(op)) {
        step.kind = op->kind == TERN_PLAN_COPY            ? TERN__STEP_COPY
                    : (op->flags & TERN_PLAN_ATOMIC) != 0 ? TERN__STEP_ADD
                                                          : TERN__STEP_REDUCE;
        step.sources_count = op->sources_count;
        step.destinations_count = op->destinations_count;
        step.operands = tern__op_operands(l->program->plan, op);
        step.length = op->length;
        return step;
    }
    step.kind = op->kind == TERN_PLAN_POST ? TERN__STEP_POST : TERN__STEP_WAIT;
    step.signal = op->signal;
    step.word = op->signal * (l->script->packed ? 1 : TERN_CACHE_LINE / 4);
    step.peer = op->peer;
    step.count = (uint32_t)op->length;
    if (op->signal < 32 && (l->script->meets >> op->signal & 1) != 0) {
        step.kind = op->kind == TERN_PLAN_POST ? TERN__STEP_ARRIVE : TERN__STEP_MEET;
    }
    return step;
}

// Whether an op moves whole inputs, or single shares, into this rank's out.
static bool is_plain(const struct lowering *l, const struct tern__op *op)
{
    const tern_plan_range *ranges = tern__op_operands(l->program->plan, op);
    bool whole = op->length == (uint64_t)l->program->plan->spec.nranks && ranges[0].offset == 0;
    bool plain = is_transfer(op) && op->destinations_count == 1 &&
                 (op->flags & TERN_PLAN_ATOMIC) == 0 && (whole || op->length == 1) &&
                 ranges[op->sources_count].buffer == TERN_PLAN_OUT;
    for (int i = 0; plain && i < op->sources_count; i++) {
        plain = ranges[i].buffer == TERN_PLAN_IN;
    }
    return plain;
}

// Of the posts at which all ranks meet the first one says it all.
static bool is_repeated(const struct tern__step *begin, const struct tern__step *end,
                        const struct tern__step *step)
{
    return step->kind == TERN__STEP_ARRIVE && end != begin && end[-1].kind == TERN__STEP_ARRIVE &&
           end[-1].signal == step->signal;
}

static int lower(struct lowering *l)
{
    const struct tern__plan_rank *own = &l->program->plan->ranks[l->rank];
    struct tern__script *script = l->script;
    size_t ops = 0;
    for (int lane = 0; lane < own->lanes_count; lane++) {
        ops += own->lanes[lane].count;
    }
    script->steps = calloc(ops + 1, sizeof *script->steps);
    script->lanes = calloc((size_t)own->lanes_count + 1, sizeof *script->lanes);
    script->posts = calloc((size_t)l->signals + 1, sizeof *script->posts);
    if (script->steps == NULL || script->lanes == NULL || script->posts == NULL) {
        return tern__fail(TERN_ERR_MEMORY, "no memory for a plan of %zu ops", ops);
    }
    script->meets = find_meets(l);
    script->packed = l->signals > TERN__SLOT_SIGNALS;
    count_posts(l);
    struct tern__step *step = script->steps;
    script->plain = own->lanes_count <= 1;
    for (int lane = 0; lane < own->lanes_count; lane++) {
        struct tern__steps *steps = &script->lanes[script->lanes_count];
        *steps = (struct tern__steps){.begin = step, .lane = lane};
        for (size_t i = 0; i < own->lanes[lane].count; i++) {
            const struct tern__op *op = &own->lanes[lane].ops[i];
            if (keeps(l, op, l->rank)) {
                struct tern__step lowered = lower_op(l, op, i);
                script->plain = script->plain && is_plain(l, op);
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

static int lower_both(struct tern__program *program, int rank)
{
    uint32_t signals = 0;
    for (int r = 0; r < program->plan->spec.nranks; r++) {
        uint32_t own = program->plan->ranks[r].signals;
        signals = own > signals ? own : signals;
    }
    struct lowering l = {.program = program,
                         .script = &program->whole,
                         .signals = signals,
                         .rank = rank};
    TERN_TRY(lower(&l));
    bool *needed = find_needed(program->plan, signals);
    if (needed == NULL) {
        return tern__fail(TERN_ERR_MEMORY, "no memory for a plan of %u signals", signals);
    }
    l.script = &program->staged;
    l.needed = needed;
    int status = lower(&l);
    free(needed);
    return status;
}

int tern__program_create(const struct tern__program_key *key, struct tern__program **program)
{
    struct tern__program *made = calloc(1, sizeof *made);
    if (made == NULL) {
        return tern__fail(TERN_ERR_MEMORY, "no memory for a plan");
    }
    uint64_t n = (uint64_t)key->nranks;
    bool bytes = key->kind != TERN_PLAN_BARRIER;
    made->scaled = key->bytes == 0;
    made->kind = key->kind;
    made->order = key->order;
    made->index = tern__algo_index(key->kind, key->algorithm);
    made->in_place = key->nranks == 1 || tern_algo_in_place(key->kind, made->index);
    made->root = key->root;
    made->bytes = key->bytes;
    made->unit = key->unit;
    tern_algo_request request = {
        .kind = key->kind,
        .topo = key->topo,
        .bytes = !bytes         ? 0
                 : made->scaled ? n
                                : key->bytes,
        .unit = made->scaled ? 1 : key->unit,
        .root = key->root,
        .order = key->order,
        .algorithm = key->algorithm,
    };
    int status = tern_algo_plan(&request, &made->plan);
    if (status == TERN_OK) {
        snprintf(made->algorithm, sizeof made->algorithm, "%s", key->algorithm);
        status = survey(made, key->rank);
    }
    if (status == TERN_OK) {
        status = lower_both(made, key->rank);
    }
    if (status != TERN_OK) {
        tern__program_destroy(made);
        return status;
    }
    *program = made;
    return TERN_OK;
}

static void free_script(struct tern__script *script)
{
    free(script->lanes);
    free(script->steps);
    free(script->posts);
}

void tern__program_destroy(struct tern__program *program)
{
    if (program != NULL) {
        free_script(&program->whole);
        free_script(&program->staged);
        tern_plan_destroy(program->plan);
        free(program);
    }
}
