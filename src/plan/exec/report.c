// SPDX-License-Identifier: Apache-2.0
// Why a run does not go on, in words. Runs when a run has failed.

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "plan/exec/exec.h"
#include "plan/ir.h"
#include "sync/doing.h"

static bool has_begun(const struct tern_exec *exec, int rank)
{
    return tern__reached(tern__flag_load(&tern__exec_head(exec, rank)->begun), exec->run);
}

// "run 7 of the all_reduce 'ring' of 4096 bytes", "run 7 of the barrier 'direct'"
static void name_run(const struct tern_exec *exec, char *text, size_t size)
{
    const tern_plan_spec *spec = &exec->plan->spec;
    char bytes[40] = "";
    if (spec->kind != TERN_PLAN_BARRIER) {
        snprintf(bytes, sizeof bytes, " of %llu bytes", (unsigned long long)spec->bytes);
    }
    snprintf(text, size, "run %u of the %s '%s'%s", exec->run, tern_plan_kind_name(spec->kind),
             exec->plan->algorithm, bytes);
}

// What the posters of a signal do, who of them has not begun the run, or else where one of them is stuck.
// Returns the one to blame.
static int describe_posters(const struct tern_exec *exec, uint64_t ranks, char *text, size_t size)
{
    char list[112];
    int culprit = tern__doing_ranks(&exec->comm->group, ranks, text, size - sizeof list - 32);
    uint64_t late = 0;
    uint64_t stuck = 0;
    for (uint64_t left = ranks; left != 0; left &= left - 1) {
        int rank = __builtin_ctzll(left);
        late |= has_begun(exec, rank) ? 0 : left & -left;
        stuck |= tern__peek(&tern__exec_head(exec, rank)->stuck) != 0 ? left & -left : 0;
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

int tern__exec_timed_out(struct tern_exec *exec)
{
    struct tern__group *group = &exec->comm->group;
    uint16_t lane = exec->open[0];
    const struct tern__exec_op *op = exec->lanes[lane].next;
    const struct tern__op *stored = tern__plan_op(exec->plan, group->rank, lane, op->index);
    char run[112];
    char wants[240];
    char doing[TERN__FAILURE_BYTES / 2 + 48];
    char list[112];
    uint64_t ranks;
    name_run(exec, run, sizeof run);
    if (op->kind == TERN__EXEC_WAIT) {
        ranks = tern__plan_posters(exec->plan, group->rank, stored->signal);
        tern__ranks_text(&exec->comm->group, ranks, list, sizeof list);
        int32_t seen =
            (int32_t)(tern__flag_load(op->wait.word) - op->wait.each_run * (exec->run - 1));
        snprintf(wants, sizeof wants,
                 "signal %u: seen %d, wanted %u of the posts of this run (it is posted by %s)",
                 stored->signal, seen, op->wait.count, list);
    } else {
        ranks = op->gates & ~exec->begun;
        tern__ranks_text(&exec->comm->group, ranks, list, sizeof list);
        snprintf(wants, sizeof wants, "%s to begin the run", list);
    }
    int culprit = op->kind == TERN__EXEC_WAIT
                      ? describe_posters(exec, ranks, doing, sizeof doing)
                      : tern__doing_ranks(group, ranks, doing, sizeof doing);
    return tern__group_fail(group, TERN_ERR_TIMEOUT, culprit,
                            "%s waited %.3g s in %s, at lane %u, op %u (%s), for %s; %s",
                            tern__rank_name(group, group->rank).text,
                            (double)group->job->timeout_ns * 1e-9, run, lane, op->index,
                            tern__op_kind_name((tern_plan_op_kind)stored->kind), wants, doing);
}

int tern__exec_check_left(struct tern_exec *exec)
{
    struct tern__group *group = &exec->comm->group;
    uint64_t left = atomic_load_explicit(&group->shared->left, memory_order_seq_cst);
    for (; left != 0; left &= left - 1) { // partner: tern__group_leave, after the last run began
        int rank = __builtin_ctzll(left);
        if (!has_begun(exec, rank)) {
            char run[112];
            name_run(exec, run, sizeof run);
            return tern__group_fail(group, TERN_ERR_LEFT, rank,
                                    "%s has left the communicator (tern_comm_destroy) without "
                                    "beginning %s",
                                    tern__rank_name(group, rank).text, run);
        }
    }
    return TERN_OK;
}
