// SPDX-License-Identifier: Apache-2.0
// Why a run does not go on, in words. Runs when a run has failed.

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "plan/exec/add.h"
#include "plan/exec/exec.h"
#include "plan/ir.h"
#include "sync/doing.h"

// "run 7 of the all_reduce 'ring' of 4096 bytes", "run 7 of the barrier 'direct'"
static void name_run(const struct tern_exec *exec, char *text, size_t size)
{
    const tern_plan_spec *spec = &exec->plan->spec;
    char bytes[40] = "";
    if (spec->kind != TERN_PLAN_BARRIER) {
        snprintf(bytes, sizeof bytes, " of %llu bytes", (unsigned long long)spec->bytes);
    }
    snprintf(text, size, "run %u of the %s '%s'%s", exec->lanes.run,
             tern_plan_kind_name(spec->kind), exec->plan->algorithm, bytes);
}

// What the posters of a signal do, who of them has not begun the run, or else where one of them is
// stuck. Returns the one to blame.
static int describe_posters(const struct tern_exec *exec, uint64_t ranks, char *text, size_t size)
{
    char list[112];
    int culprit = tern__doing_ranks(&exec->comm->group, ranks, text, size - sizeof list - 32);
    uint64_t late = 0;
    uint64_t stuck = 0;
    for (uint64_t left = ranks; left != 0; left &= left - 1) {
        int rank = __builtin_ctzll(left);
        bool begun = !tern__exec_hears(exec, rank) || tern__lanes_begun(&exec->lanes, rank);
        late |= begun ? 0 : left & -left;
        bool here = (exec->binding.elsewhere >> rank & 1) == 0; // else its head is out of sight
        stuck |= here && tern__peek(&tern__exec_head(exec, rank)->stuck) != 0 ? left & -left : 0;
    }
    size_t used = strlen(text);
    if (late != 0) {
        bool one = (late & (late - 1)) == 0;
        tern__ranks_text(&exec->comm->group, late, list, sizeof list);
        snprintf(text + used, size - used, "; %s %s not begun the run", list, one ? "has" : "have");
        return (late >> culprit & 1) != 0 ? culprit : __builtin_ctzll(late);
    }
    if (stuck != 0) {
        culprit = (stuck >> culprit & 1) != 0 ? culprit : __builtin_ctzll(stuck);
        const struct tern__exec_head *head = tern__exec_head(exec, culprit);
        snprintf(text + used, size - used, "; %s stands at lane %u, op %u",
                 tern__rank_name(&exec->comm->group, culprit).text, tern__peek(&head->stuck_lane),
                 tern__peek(&head->stuck_op));
    }
    return culprit;
}

// Who holds the stripe that the first open lane adds to next.
static uint64_t describe_lock(const struct tern_exec *exec, const struct tern__step *step,
                              char *text, size_t size)
{
    const struct tern__lanes *lanes = &exec->lanes;
    int holder =
        tern__add_holder(tern__add_next(lanes->binding, step, lanes->added[lanes->open[0]]));
    if (holder < 0) {
        snprintf(text, size, "a destination that is free again");
        return 0;
    }
    snprintf(text, size, "%s to be done with what it adds to one of its destinations",
             tern__rank_name(&exec->comm->group, holder).text);
    return UINT64_C(1) << holder;
}

int tern__exec_timed_out(struct tern_exec *exec, int64_t waited_ns)
{
    struct tern__group *group = &exec->comm->group;
    int lane;
    const struct tern__step *step = tern__lanes_stand(&exec->lanes, &lane);
    const struct tern__op *stored = tern__plan_op(exec->plan, group->rank, lane, step->index);
    char run[112];
    char wants[240];
    char doing[TERN__FAILURE_BYTES / 2 + 48];
    char list[112];
    uint64_t ranks;
    name_run(exec, run, sizeof run);
    if (step->kind == TERN__STEP_WAIT) {
        ranks = exec->lanes.script->posters[step->signal];
        tern__ranks_text(&exec->comm->group, ranks, list, sizeof list);
        snprintf(wants, sizeof wants,
                 "signal %u: seen %d, wanted %u of the posts of this run (it is posted by %s)",
                 step->signal, (int32_t)tern__lanes_seen(&exec->lanes, step), step->count, list);
    } else if (step->kind == TERN__STEP_ADD && (step->gates & ~exec->lanes.begun) == 0) {
        ranks = describe_lock(exec, step, wants, sizeof wants);
    } else {
        ranks = step->gates & ~exec->lanes.begun;
        tern__ranks_text(&exec->comm->group, ranks, list, sizeof list);
        snprintf(wants, sizeof wants, "%s to begin the run", list);
    }
    int culprit = step->kind == TERN__STEP_WAIT
                      ? describe_posters(exec, ranks, doing, sizeof doing)
                      : tern__doing_ranks(group, ranks, doing, sizeof doing);
    return tern__group_timed_out(group, waited_ns, culprit,
                                 "%s, at lane %d, op %u (%s), for %s; %s", run, lane, step->index,
                                 tern__op_kind_name((tern_plan_op_kind)stored->kind), wants, doing);
}

int tern__exec_check_left(struct tern_exec *exec)
{
    struct tern__group *group = &exec->comm->group;
    uint64_t left = atomic_load_explicit(&group->shared->left, memory_order_seq_cst);
    for (; left != 0; left &= left - 1) { // partner: tern__group_leave, after the last run began
        int rank = __builtin_ctzll(left);
        if (tern__exec_hears(exec, rank) && !tern__lanes_begun(&exec->lanes, rank)) {
            char run[112];
            name_run(exec, run, sizeof run);
            return tern__group_has_left(group, rank, " without beginning %s", run);
        }
    }
    return TERN_OK;
}
