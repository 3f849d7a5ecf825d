// SPDX-License-Identifier: Apache-2.0
// From a plan to what a run walks through: this rank's script, the windows it is bound to, and who
// waits for it to begin. Set-up path.

#include <stdlib.h>

#include "base/error.h"
#include "plan/exec/exec.h"
#include "plan/ir.h"

// Whether any op of a rank must wait until another has begun.
static bool watches(const tern_plan *plan, int rank, int other)
{
    for (int lane = 0; lane < plan->ranks[rank].lanes_count; lane++) {
        const struct tern__lane *row = &plan->ranks[rank].lanes[lane];
        for (size_t i = 0; i < row->count; i++) {
            const struct tern__op *op = &row->ops[i];
            const tern_plan_range *ranges = tern__op_operands(plan, op);
            bool found = op->kind == TERN_PLAN_POST && op->peer == other;
            for (int k = 0; op->length > 0 && k < op->sources_count + op->destinations_count; k++) {
                found = found || ranges[k].rank == other;
            }
            if (found) {
                return true;
            }
        }
    }
    return false;
}

static void find_watchers(struct tern_exec *exec)
{
    int self = exec->comm->group.rank;
    for (int rank = 0; rank < exec->plan->spec.nranks; rank++) {
        bool elsewhere = (exec->binding.elsewhere >> rank & 1) != 0;
        bool watched = rank != self && watches(exec->plan, rank, self);
        if (watched && !elsewhere) {
            exec->watchers[exec->watchers_count++] = tern__window_bell(exec->window, rank);
        } else if (elsewhere && (watched || watches(exec->plan, self, rank))) {
            exec->tells |= UINT64_C(1) << rank;
        }
    }
}

// Within the posts of a run, differences of the wrapping words mean what they should.
static int check_wait(const struct tern_exec *exec, int lane, const struct tern__step *step)
{
    uint32_t posts = exec->script.posts[step->signal];
    if (step->count <= posts) {
        return TERN_OK;
    }
    return tern__fail(
        TERN_ERR_ARG,
        "tern_exec_create: rank %d, lane %d, op %u waits until signal %u has been posted %u "
        "times; in a run it is posted %u times",
        exec->comm->group.rank, lane, step->index, step->signal, step->count, posts);
}

// What a transfer puts on this rank's links in a run.
static void count_links(struct tern_exec *exec, const struct tern__step *step)
{
    for (int i = 0; i < step->sources_count + step->destinations_count; i++) {
        int rank = step->operands[i].rank;
        uint64_t *bytes = i < step->sources_count ? exec->read_bytes : exec->written_bytes;
        bytes[rank] += rank != exec->comm->group.rank ? step->length : 0;
    }
}

static int survey(struct tern_exec *exec)
{
    for (uint32_t i = 0; i < exec->script.lanes_count; i++) {
        const struct tern__steps *lane = &exec->script.lanes[i];
        for (const struct tern__step *step = lane->begin; step != lane->end; step++) {
            if (step->kind == TERN__STEP_WAIT) {
                TERN_TRY(check_wait(exec, lane->lane, step));
            } else if (step->kind != TERN__STEP_POST) {
                count_links(exec, step);
            }
        }
    }
    return TERN_OK;
}

static char *part_of(const tern_window *window, int rank, size_t offset)
{
    return window != NULL ? tern__window_at(window, rank, offset) : NULL;
}

// The ranks (bit r) of other machines.
static uint64_t find_elsewhere(const struct tern_exec *exec)
{
    const struct tern__group *group = &exec->comm->group;
    uint64_t elsewhere = 0;
    for (int rank = 0; group->away != 0 && rank < group->size; rank++) {
        bool here = tern__job_is_here(group->job, group->members[rank]);
        elsewhere |= here ? 0 : UINT64_C(1) << rank;
    }
    return elsewhere;
}

static void bind(struct tern_exec *exec)
{
    const tern_exec_options *options = &exec->options;
    struct tern__binding *binding = &exec->binding;
    *binding = (struct tern__binding){
        .rank = exec->comm->group.rank,
        .in_map = TERN__MAP_BYTES,
        .out_map = TERN__MAP_BYTES,
        .elsewhere = find_elsewhere(exec),
        .locks = tern__window_at(exec->window, 0, exec->locks_offset),
        .locks_stride = exec->window->size_bytes,
        .nranks = (uint32_t)exec->plan->spec.nranks,
        .element_bytes = tern_dtype_size(options->dtype),
        .reduce = tern__reduce_find(options->dtype, options->op),
    };
    for (int rank = 0; rank < exec->plan->spec.nranks; rank++) {
        binding->in[rank] = part_of(options->in, rank, exec->in_offsets[rank]);
        binding->out[rank] = part_of(options->out, rank, exec->out_offsets[rank]);
        binding->scratch[rank] = part_of(exec->window, rank, exec->scratch_offset);
    }
}

int tern__exec_compile(struct tern_exec *exec)
{
    struct tern__lanes *lanes = &exec->lanes;
    struct tern__lowering how = {.plan = exec->plan,
                                 .rank = exec->comm->group.rank,
                                 .lines_max = TERN__EXEC_LINES_MAX};
    TERN_TRY(tern__script_create(&how, &exec->script));
    TERN_TRY(tern__lanes_create(lanes, exec->script.lanes_count));
    size_t words = tern__script_word(&exec->script, tern__plan_signals(exec->plan)) + (size_t)1;
    lanes->counted = calloc(words, sizeof *lanes->counted);
    if (lanes->counted == NULL) {
        return tern__fail(TERN_ERR_MEMORY, "tern_exec_create: no memory for the signals");
    }
    lanes->script = &exec->script;
    lanes->binding = &exec->binding;
    lanes->window = exec->window;
    lanes->heads = exec->window->base;
    lanes->told = tern__exec_told(exec, how.rank)->begun;
    lanes->signals = tern__window_at(exec->window, 0, TERN__EXEC_SIGNALS);
    lanes->trace = tern__exec_trace_step;
    bind(exec);
    find_watchers(exec);
    return survey(exec);
}

void tern__exec_free(struct tern_exec *exec)
{
    if (exec != NULL) {
        tern_window_destroy(exec->window);
        tern__script_free(&exec->script);
        free(exec->lanes.counted);
        tern__lanes_free(&exec->lanes);
        tern__handle_free(exec, sizeof *exec);
    }
}
