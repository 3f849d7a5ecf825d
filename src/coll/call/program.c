// SPDX-License-Identifier: Apache-2.0
// From a sealed plan to what one rank does of it. Set-up path.

#include "coll/call/program.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "coll/algo.h"
#include "coll/call/area.h"
#include "plan/ir.h"
#include "plan/steps.h"

static void survey_op(struct tern__program *program, const struct tern__op *op, int rank, int self)
{
    const tern_plan_range *ranges = tern__op_operands(program->plan, op);
    for (int i = 0; rank == self && i < op->sources_count; i++) {
        if (ranges[i].rank == self && ranges[i].buffer == TERN_PLAN_IN) {
            program->own_share &= ranges[i].offset == (uint64_t)self && op->length == 1;
        }
    }
    for (int i = 0; i < op->sources_count + op->destinations_count; i++) {
        if (ranges[i].buffer == TERN_PLAN_SCRATCH) {
            program->own_scratch &= ranges[i].offset == (uint64_t)ranges[i].rank && op->length == 1;
        }
        uint64_t bit = UINT64_C(1) << ranges[i].rank; // a communicator has at most 64
        if (ranges[i].rank == rank) {
            continue;
        }
        program->in_shared |= ranges[i].buffer == TERN_PLAN_IN ? bit : 0;
        program->out_shared |= ranges[i].buffer == TERN_PLAN_OUT ? bit : 0;
    }
}

// What others read of this rank's input. Units of a scaled plan are at most as many as ranks, which
// are at most 64.
static int find_exposed(struct tern__program *program, int self)
{
    struct tern__stretch *stretches;
    size_t count;
    TERN_TRY(tern__plan_exposed(program->plan, &stretches, &count));
    for (size_t i = 0; i < count; i++) {
        for (uint64_t unit = stretches[i].begin;
             stretches[i].rank == self && unit < stretches[i].end; unit++) {
            program->exposed |= UINT64_C(1) << unit;
        }
    }
    free(stretches);
    return TERN_OK;
}

// What the plan as a whole asks for.
static int survey(struct tern__program *program, int self)
{
    const tern_plan *plan = program->plan;
    program->pull = tern__plan_pulls(plan);
    program->own_share = true;
    program->own_scratch = true;
    program->scratch_bytes = plan->scratch_bytes;
    uint32_t signals = tern__plan_signals(plan);
    for (int rank = 0; rank < plan->spec.nranks; rank++) {
        const struct tern__plan_rank *row = &plan->ranks[rank];
        for (int lane = 0; lane < row->lanes_count; lane++) {
            for (size_t i = 0; i < row->lanes[lane].count; i++) {
                const struct tern__op *op = &row->lanes[lane].ops[i];
                if (tern__op_moves(op)) {
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
    return program->scaled ? find_exposed(program, self) : TERN_OK;
}

// Whether a step moves whole inputs, or single shares, into this rank's out.
static bool is_plain(const struct tern__step *step, uint64_t nranks)
{
    bool plain = (step->kind == TERN__STEP_COPY || step->kind == TERN__STEP_REDUCE) &&
                 step->destinations_count == 1 &&
                 step->operands[step->sources_count].buffer == TERN_PLAN_OUT &&
                 (step->length == 1 || (step->length == nranks && step->operands[0].offset == 0));
    for (int i = 0; plain && i < step->sources_count; i++) {
        plain = step->operands[i].buffer == TERN_PLAN_IN;
    }
    return plain;
}

static bool all_plain(const struct tern__program *program, int rank)
{
    const tern_plan *plan = program->trimmed;
    const struct tern__script *script = &program->staged;
    bool plain = plan->ranks[rank].lanes_count <= 1;
    for (uint32_t lane = 0; plain && lane < script->lanes_count; lane++) {
        const struct tern__step *step = script->lanes[lane].begin;
        for (; plain && step != script->lanes[lane].end; step++) {
            plain = is_plain(step, (uint64_t)plan->spec.nranks);
        }
    }
    return plain;
}

// Whom this rank has to wait for before it runs the steps.
static uint64_t gates_of(const struct tern__script *script, int rank, int nranks)
{
    uint64_t all = nranks < 64 ? (UINT64_C(1) << nranks) - 1 : UINT64_MAX;
    uint64_t gates = 0;
    bool signals = script->meets != 0 || script->posts_count > 0;
    for (uint32_t lane = 0; lane < script->lanes_count; lane++) {
        const struct tern__step *step = script->lanes[lane].begin;
        for (; step != script->lanes[lane].end; step++) {
            bool moves = step->kind == TERN__STEP_COPY || step->kind == TERN__STEP_REDUCE;
            for (int i = 0; moves && i < step->sources_count + step->destinations_count; i++) {
                gates |= UINT64_C(1) << step->operands[i].rank;
            }
            signals = signals || !moves;
        }
    }
    return (signals ? all : gates) & ~(UINT64_C(1) << rank);
}

static int lower_both(struct tern__program *program, int rank, bool far)
{
    struct tern__lowering how = {.plan = program->plan,
                                 .rank = rank,
                                 .meets_max = far ? 0 : TERN__SLOT_ARRIVALS - 1,
                                 .lines_max = TERN__SLOT_SIGNALS};
    TERN_TRY(tern__script_create(&how, &program->whole));
    if (program->pull) {
        TERN_TRY(tern__plan_trim(program->plan, &program->trimmed));
        how.plan = program->trimmed;
        TERN_TRY(tern__script_create(&how, &program->staged));
        program->plain = all_plain(program, rank);
    }
    program->gates = gates_of(program->pull ? &program->staged : &program->whole, rank,
                              program->plan->spec.nranks);
    return TERN_OK;
}

// Ranks of one machine make the same plan, each for itself. Elsewhere the solver may be another,
// and its plan with it.
static int refuse_search(const struct tern__program_key *key)
{
    return key->far && strcmp(key->algorithm, TERN_ALGO_OPTIMAL) == 0
               ? tern__fail(TERN_ERR_ARG,
                            "calls between machines cannot search for a plan, which might be "
                            "another on each; 'tern plan --algo optimal' makes one for all, "
                            "tern_exec runs it")
               : TERN_OK;
}

static void destroy_plans(struct tern__program *program)
{
    tern_plan_destroy(program->plan);
    tern_plan_destroy(program->trimmed);
    program->plan = NULL;
    program->trimmed = NULL;
}

int tern__program_create(const struct tern__program_key *key, struct tern__program **program)
{
    TERN_TRY(refuse_search(key));
    struct tern__program *made = calloc(1, sizeof *made);
    if (made == NULL) {
        return tern__fail(TERN_ERR_MEMORY, "no memory for a plan");
    }
    uint64_t n = (uint64_t)key->nranks;
    bool bytes = key->kind != TERN_PLAN_BARRIER;
    made->scaled = key->scaled;
    made->index = tern__algo_index(key->kind, key->algorithm);
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
        made->in_place =
            key->nranks == 1 || tern_algo_in_place(key->kind, made->index) || made->plan->in_place;
        snprintf(made->algorithm, sizeof made->algorithm, "%s", key->algorithm);
        status = survey(made, key->rank);
    }
    if (status == TERN_OK) {
        status = lower_both(made, key->rank, key->far);
    }
    if (status != TERN_OK) {
        tern__program_destroy(made);
        return status;
    }
    if (!key->keeps) {
        destroy_plans(made);
    }
    *program = made;
    return TERN_OK;
}

void tern__program_destroy(struct tern__program *program)
{
    if (program != NULL) {
        tern__script_free(&program->whole);
        tern__script_free(&program->staged);
        destroy_plans(program);
        free(program);
    }
}
