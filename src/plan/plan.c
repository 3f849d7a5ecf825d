// SPDX-License-Identifier: Apache-2.0
// Building and sealing plans; read.c reads them. Set-up path.

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/public.h"
#include "base/error.h"
#include "plan/ir.h"

const char *tern__buffer_name(tern_plan_buffer buffer)
{
    static const char *const names[] = {"in", "out", "scratch"};
    return (unsigned)buffer <= TERN_PLAN_SCRATCH ? names[buffer] : "?";
}

const char *tern__op_kind_name(tern_plan_op_kind kind)
{
    static const char *const names[] = {"copy", "reduce", "post", "wait"};
    return (unsigned)kind <= TERN_PLAN_WAIT ? names[kind] : "?";
}

static int check_algorithm(const char *name)
{
    size_t length = strlen(name);
    size_t good = strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-");
    if (length == 0 || length > 31 || good != length) {
        return tern__fail(TERN_ERR_ARG,
                          "an algorithm's name is 1 to 31 letters, digits, '_' and "
                          "'-', not '%.40s'",
                          name);
    }
    return TERN_OK;
}

static int check_spec(const tern_plan_spec *spec)
{
    if ((unsigned)spec->kind >= TERN_PLAN_KINDS) {
        return tern__fail(TERN_ERR_ARG, "%d is no kind of collective", (int)spec->kind);
    }
    if (spec->nranks < 1 || spec->nranks > TERN_PLAN_RANKS_MAX) {
        return tern__fail(TERN_ERR_LIMIT, "a plan has 1 to %d ranks, not %d", TERN_PLAN_RANKS_MAX,
                          spec->nranks);
    }
    if (spec->unit != 1 && spec->unit != 2 && spec->unit != 4 && spec->unit != 8) {
        return tern__fail(TERN_ERR_ARG, "the unit is 1, 2, 4 or 8 bytes, not %u", spec->unit);
    }
    if (spec->bytes > TERN_PLAN_BYTES_MAX) {
        return tern__fail(TERN_ERR_LIMIT, "a plan moves at most %llu bytes, not %llu",
                          (unsigned long long)TERN_PLAN_BYTES_MAX, (unsigned long long)spec->bytes);
    }
    uint64_t grain = spec->unit * (tern__kind_has_shares(spec->kind) ? (uint64_t)spec->nranks : 1);
    if (spec->bytes % grain != 0) {
        return tern__fail(TERN_ERR_ARG,
                          "%s of %llu bytes: the size must be a multiple of %llu (%s)",
                          tern_plan_kind_name(spec->kind), (unsigned long long)spec->bytes,
                          (unsigned long long)grain,
                          tern__kind_has_shares(spec->kind) ? "ranks times unit" : "the unit");
    }
    if (spec->kind == TERN_PLAN_BARRIER && spec->bytes != 0) {
        return tern__fail(TERN_ERR_ARG, "a barrier has 0 bytes, not %llu",
                          (unsigned long long)spec->bytes);
    }
    int roots = tern__kind_has_root(spec->kind) ? spec->nranks : 1;
    if (spec->root < 0 || spec->root >= roots) {
        return tern__fail(TERN_ERR_ARG, "%s over %d ranks cannot have the root %d",
                          tern_plan_kind_name(spec->kind), spec->nranks, spec->root);
    }
    if ((spec->slots & ~(TERN_PLAN_IN_SLOTS | TERN_PLAN_SCRATCH_SLOTS)) != 0) {
        return tern__fail(TERN_ERR_ARG, "only in and scratch may lie in slots, not buffers 0x%x",
                          spec->slots);
    }
    return check_algorithm(spec->algorithm != NULL ? spec->algorithm : "custom");
}

static int plan_create(const tern_plan_spec *spec, tern_plan **plan)
{
    if (spec == NULL || plan == NULL) {
        return tern__fail(TERN_ERR_ARG, "tern_plan_create: spec and plan must not be NULL");
    }
    TERN_TRY(check_spec(spec));
    tern_plan *made = tern__handle_new(TERN__PLAN, sizeof *made);
    struct tern__plan_rank *ranks = calloc((size_t)spec->nranks, sizeof *ranks);
    if (made == NULL || ranks == NULL) {
        tern__handle_free(made, sizeof *made);
        free(ranks);
        return tern__fail(TERN_ERR_MEMORY, "no memory for a plan of %d ranks", spec->nranks);
    }
    made->spec = *spec;
    made->ranks = ranks;
    snprintf(made->algorithm, sizeof made->algorithm, "%s",
             spec->algorithm != NULL ? spec->algorithm : "custom");
    made->spec.algorithm = made->algorithm;
    *plan = made;
    return TERN_OK;
}

int tern_plan_create(const tern_plan_spec *spec, tern_plan **plan)
{
    return TERN__CALL(plan_create(spec, plan));
}

static int plan_destroy(tern_plan *plan)
{
    if (plan == NULL) {
        return TERN_OK;
    }
    TERN_TRY(tern__plan_lives("tern_plan_destroy", plan));
    for (int rank = 0; rank < plan->spec.nranks; rank++) {
        for (int lane = 0; lane < plan->ranks[rank].lanes_count; lane++) {
            free(plan->ranks[rank].lanes[lane].ops);
        }
        free(plan->ranks[rank].lanes);
    }
    free(plan->ranks);
    free(plan->operands);
    tern__handle_free(plan, sizeof *plan);
    return TERN_OK;
}

int tern_plan_destroy(tern_plan *plan)
{
    return TERN__CALL(plan_destroy(plan));
}

static int check_open(const char *call, const tern_plan *plan)
{
    TERN_TRY(tern__plan_lives(call, plan));
    if (plan->sealed) {
        return tern__fail(TERN_ERR_STATE, "%s: the plan is sealed and cannot be changed", call);
    }
    return TERN_OK;
}

static int plan_need_scratch(tern_plan *plan, uint64_t bytes)
{
    TERN_TRY(check_open("tern_plan_need_scratch", plan));
    if (bytes > TERN_PLAN_BYTES_MAX) {
        return tern__fail(TERN_ERR_LIMIT, "scratch is at most %llu bytes, not %llu",
                          (unsigned long long)TERN_PLAN_BYTES_MAX, (unsigned long long)bytes);
    }
    plan->scratch_bytes = bytes > plan->scratch_bytes ? bytes : plan->scratch_bytes;
    return TERN_OK;
}

int tern_plan_need_scratch(tern_plan *plan, uint64_t bytes)
{
    return TERN__CALL(plan_need_scratch(plan, bytes));
}

int tern__plan_reserve(void **items, size_t *room, size_t count, size_t item_bytes)
{
    if (count <= *room) {
        return TERN_OK;
    }
    size_t wanted = *room < 4 ? 4 : *room * 2;
    wanted = wanted < count ? count : wanted;
    void *grown = realloc(*items, wanted * item_bytes);
    if (grown == NULL) {
        return tern__fail(TERN_ERR_MEMORY, "no memory for a plan of %zu items", wanted);
    }
    *items = grown;
    *room = wanted;
    return TERN_OK;
}

static int add_lanes(struct tern__plan_rank *rank, int count)
{
    size_t room = (size_t)rank->lanes_room;
    TERN_TRY(tern__plan_reserve((void **)&rank->lanes, &room, (size_t)count, sizeof *rank->lanes));
    rank->lanes_room = (int)room;
    for (; rank->lanes_count < count; rank->lanes_count++) {
        rank->lanes[rank->lanes_count] = (struct tern__lane){0};
    }
    return TERN_OK;
}

static int check_transfer(const tern_plan *plan, const char *where, const tern_plan_op *op)
{
    const char *name = tern__op_kind_name(op->kind);
    bool copy = op->kind == TERN_PLAN_COPY;
    if (op->sources_count < 1 || op->destinations_count < 1 || (copy && op->sources_count != 1) ||
        op->sources_count > TERN_PLAN_OPERANDS_MAX ||
        op->destinations_count > TERN_PLAN_OPERANDS_MAX - op->sources_count) {
        return tern__fail(TERN_ERR_ARG,
                          "%s: a %s has %s and at least one destination, together at "
                          "most %d; not %d and %d",
                          where, name, copy ? "one source" : "at least one source",
                          TERN_PLAN_OPERANDS_MAX, op->sources_count, op->destinations_count);
    }
    if (op->sources == NULL || op->destinations == NULL) {
        return tern__fail(TERN_ERR_ARG, "%s: the operands of a %s are NULL", where, name);
    }
    if (op->length > TERN_PLAN_BYTES_MAX) {
        return tern__fail(TERN_ERR_LIMIT, "%s: a length is at most %llu bytes, not %llu", where,
                          (unsigned long long)TERN_PLAN_BYTES_MAX, (unsigned long long)op->length);
    }
    for (int i = 0; i < op->sources_count + op->destinations_count; i++) {
        const tern_plan_range *range =
            i < op->sources_count ? &op->sources[i] : &op->destinations[i - op->sources_count];
        if (range->rank >= plan->spec.nranks || range->buffer > TERN_PLAN_SCRATCH ||
            range->offset > TERN_PLAN_BYTES_MAX) {
            return tern__fail(TERN_ERR_ARG,
                              "%s: operand %d is at byte %llu of buffer %u of rank %u; "
                              "there are ranks 0..%d, buffers in, out and scratch",
                              where, i, (unsigned long long)range->offset, range->buffer,
                              range->rank, plan->spec.nranks - 1);
        }
    }
    return TERN_OK;
}

static int check_signal(const tern_plan *plan, const char *where, const tern_plan_op *op)
{
    if (op->signal >= TERN_PLAN_SIGNALS_MAX) {
        return tern__fail(TERN_ERR_LIMIT, "%s: signals are 0..%d, not %u", where,
                          TERN_PLAN_SIGNALS_MAX - 1, op->signal);
    }
    if (op->kind == TERN_PLAN_POST && (op->peer < 0 || op->peer >= plan->spec.nranks)) {
        return tern__fail(TERN_ERR_ARG, "%s: a post to rank %d; there are ranks 0..%d", where,
                          op->peer, plan->spec.nranks - 1);
    }
    if (op->kind == TERN_PLAN_WAIT && (op->count < 1 || op->count > INT32_MAX)) {
        return tern__fail(TERN_ERR_ARG, "%s: a wait counts to 1 or more, not to %u", where,
                          op->count);
    }
    return TERN_OK;
}

static int check_op(const tern_plan *plan, const char *where, const tern_plan_op *op)
{
    if (op->round < 0 || op->round > TERN_PLAN_ROUNDS_MAX) {
        return tern__fail(TERN_ERR_LIMIT, "%s: rounds are 0..%d, not %d", where,
                          TERN_PLAN_ROUNDS_MAX, op->round);
    }
    if (op->flags != 0 && (op->kind != TERN_PLAN_REDUCE || op->flags != TERN_PLAN_ATOMIC)) {
        return tern__fail(TERN_ERR_ARG, "%s: flags 0x%x; only a reduce may be atomic", where,
                          op->flags);
    }
    if (plan->ops_count >= TERN_PLAN_OPS_MAX || plan->operands_count > UINT32_MAX - 4096) {
        return tern__fail(TERN_ERR_LIMIT, "%s: a plan has at most %u ops", where,
                          TERN_PLAN_OPS_MAX);
    }
    switch (op->kind) {
    case TERN_PLAN_COPY:
    case TERN_PLAN_REDUCE:
        return check_transfer(plan, where, op);
    case TERN_PLAN_POST:
    case TERN_PLAN_WAIT:
        return check_signal(plan, where, op);
    }
    return tern__fail(TERN_ERR_ARG, "%s: %d is no kind of op", where, (int)op->kind);
}

static int store_op(tern_plan *plan, struct tern__lane *lane, const tern_plan_op *op)
{
    bool transfer = op->kind == TERN_PLAN_COPY || op->kind == TERN_PLAN_REDUCE;
    size_t sources = transfer ? (size_t)op->sources_count : 0;
    size_t destinations = transfer ? (size_t)op->destinations_count : 0;
    TERN_TRY(
        tern__plan_reserve((void **)&lane->ops, &lane->room, lane->count + 1, sizeof *lane->ops));
    TERN_TRY(tern__plan_reserve((void **)&plan->operands, &plan->operands_room,
                                plan->operands_count + sources + destinations,
                                sizeof *plan->operands));
    struct tern__op *stored = &lane->ops[lane->count];
    *stored = (struct tern__op){
        .length = transfer                     ? op->length
                  : op->kind == TERN_PLAN_WAIT ? op->count
                                               : 0,
        .operands_first = (uint32_t)plan->operands_count,
        .sources_count = (uint16_t)sources,
        .destinations_count = (uint16_t)destinations,
        .signal = transfer ? 0 : op->signal,
        .peer = op->kind == TERN_PLAN_POST ? (uint16_t)op->peer : 0,
        .round = (uint16_t)op->round,
        .kind = (uint8_t)op->kind,
        .flags = (uint8_t)op->flags,
    };
    for (size_t i = 0; i < sources; i++) {
        plan->operands[plan->operands_count++] = op->sources[i];
    }
    for (size_t i = 0; i < destinations; i++) {
        plan->operands[plan->operands_count++] = op->destinations[i];
    }
    lane->count++;
    plan->ops_count++;
    return TERN_OK;
}

static int plan_add(tern_plan *plan, int rank, int lane, const tern_plan_op *op)
{
    TERN_TRY(check_open("tern_plan_add", plan));
    if (op == NULL) {
        return tern__fail(TERN_ERR_ARG, "tern_plan_add: op must not be NULL");
    }
    if (rank < 0 || rank >= plan->spec.nranks || lane < 0 || lane >= TERN_PLAN_LANES_MAX) {
        return tern__fail(TERN_ERR_ARG,
                          "tern_plan_add: rank %d, lane %d; there are ranks 0..%d and "
                          "lanes 0..%d",
                          rank, lane, plan->spec.nranks - 1, TERN_PLAN_LANES_MAX - 1);
    }
    struct tern__plan_rank *row = &plan->ranks[rank];
    char where[96];
    snprintf(where, sizeof where, "rank %d, lane %d, op %zu", rank, lane,
             lane < row->lanes_count ? row->lanes[lane].count : 0);
    TERN_TRY(check_op(plan, where, op));
    if (lane >= row->lanes_count) {
        TERN_TRY(add_lanes(row, lane + 1));
    }
    TERN_TRY(store_op(plan, &row->lanes[lane], op));
    if (op->kind == TERN_PLAN_POST || op->kind == TERN_PLAN_WAIT) {
        struct tern__plan_rank *owner = op->kind == TERN_PLAN_POST ? &plan->ranks[op->peer] : row;
        owner->signals = op->signal >= owner->signals ? op->signal + 1 : owner->signals;
    }
    plan->rounds = op->round >= plan->rounds ? op->round + 1 : plan->rounds;
    return TERN_OK;
}

int tern_plan_add(tern_plan *plan, int rank, int lane, const tern_plan_op *op)
{
    return TERN__CALL(plan_add(plan, rank, lane, op));
}

// Gives back what an array has reserved too much; keeps the old one if that fails.
static void shrink(void **items, size_t *room, size_t count, size_t item_bytes)
{
    if (count < *room && count > 0) {
        void *smaller = realloc(*items, count * item_bytes);
        if (smaller != NULL) {
            *items = smaller;
            *room = count;
        }
    }
}

static int plan_seal(tern_plan *plan)
{
    TERN_TRY(check_open("tern_plan_seal", plan));
    for (int rank = 0; rank < plan->spec.nranks; rank++) {
        struct tern__plan_rank *owner = &plan->ranks[rank];
        size_t room = (size_t)owner->lanes_room;
        shrink((void **)&owner->lanes, &room, (size_t)owner->lanes_count, sizeof *owner->lanes);
        owner->lanes_room = (int)room;
        for (int lane = 0; lane < owner->lanes_count; lane++) {
            struct tern__lane *row = &owner->lanes[lane];
            shrink((void **)&row->ops, &row->room, row->count, sizeof *row->ops);
        }
    }
    shrink((void **)&plan->operands, &plan->operands_room, plan->operands_count,
           sizeof *plan->operands);
    plan->sealed = true;
    return TERN_OK;
}

int tern_plan_seal(tern_plan *plan)
{
    return TERN__CALL(plan_seal(plan));
}
