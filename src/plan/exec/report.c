// SPDX-License-Identifier: Apache-2.0
// Why a run does not go on, in words. Runs when a run has failed.

#include <stdio.h>

#include "base/error.h"
#include "plan/exec/exec.h"
#include "plan/ir.h"

static bool has_begun(const struct tern_exec *exec, int rank)
{
    return tern__reached(tern__flag_load(&tern__exec_head(exec, rank)->begun), exec->run);
}

// "run 7 of the all_reduce 'ring' of 4096 bytes"
static void name_run(const struct tern_exec *exec, char *text, size_t size)
{
    const tern_plan_spec *spec = &exec->plan->spec;
    snprintf(text, size, "run %u of the %s '%s' of %llu bytes", exec->run,
             tern_plan_kind_name(spec->kind), exec->plan->algorithm,
             (unsigned long long)spec->bytes);
}

// The ranks that post a signal of this rank.
static uint64_t find_posters(const struct tern_exec *exec, uint32_t signal)
{
    const tern_plan *plan = exec->plan;
    uint64_t posters = 0;
    for (int rank = 0; rank < plan->spec.nranks; rank++) {
        for (int lane = 0; lane < plan->ranks[rank].lanes_count; lane++) {
            const struct tern__lane *row = &plan->ranks[rank].lanes[lane];
            for (size_t i = 0; i < row->count; i++) {
                const struct tern__op *op = &row->ops[i];
                bool posts = op->kind == TERN_PLAN_POST && op->signal == signal &&
                             op->peer == exec->comm->group.rank;
                posters |= posts ? UINT64_C(1) << rank : 0;
            }
        }
    }
    return posters;
}

// Who is to blame, of several: a rank that has not begun, else one that is stuck itself, else the
// lowest.
static int choose_culprit(const struct tern_exec *exec, uint64_t ranks)
{
    int chosen = -1;
    int weight = -1;
    for (uint64_t left = ranks; left != 0; left &= left - 1) {
        int rank = __builtin_ctzll(left);
        int own = !has_begun(exec, rank)                            ? 3
                  : rank == exec->comm->group.rank                  ? 0
                  : tern__peek(&tern__exec_head(exec, rank)->stuck) ? 2
                                                                    : 1;
        if (own > weight) {
            weight = own;
            chosen = rank;
        }
    }
    return chosen;
}

static void list_ranks(uint64_t ranks, char *text, size_t size)
{
    size_t used = 0;
    text[0] = '\0';
    for (uint64_t left = ranks; left != 0 && used + 8 < size; left &= left - 1) {
        used += (size_t)snprintf(text + used, size - used, "%s%d", used == 0 ? "" : ", ",
                                 __builtin_ctzll(left));
    }
}

// What a rank is doing, as far as it can be seen from here.
static void describe_rank(const struct tern_exec *exec, int rank, char *text, size_t size)
{
    const struct tern__group *group = &exec->comm->group;
    const struct tern__exec_head *head = tern__exec_head(exec, rank);
    char doing[112];
    char where[64] = "";
    tern__ctl_activity_text(group->job->ctl, group->members[rank], doing, sizeof doing);
    if (tern__peek(&head->stuck) != 0) {
        snprintf(where, sizeof where, ", at lane %u, op %u", tern__peek(&head->stuck_lane),
                 tern__peek(&head->stuck_op));
    }
    snprintf(text, size, "rank %d %s the run; %s%s", rank,
             has_begun(exec, rank) ? "has begun" : "has not begun", doing, where);
}

int tern__exec_timed_out(struct tern_exec *exec)
{
    struct tern__group *group = &exec->comm->group;
    uint16_t lane = exec->open[0];
    const struct tern__exec_op *op = exec->lanes[lane].next;
    const struct tern__op *stored = tern__plan_op(exec->plan, group->rank, lane, op->index);
    char run[112];
    char wants[176];
    char culprit_text[192];
    char list[64];
    uint64_t ranks;
    name_run(exec, run, sizeof run);
    if (op->kind == TERN__EXEC_WAIT) {
        ranks = find_posters(exec, stored->signal);
        list_ranks(ranks, list, sizeof list);
        int32_t seen =
            (int32_t)(tern__flag_load(op->wait.word) - op->wait.each_run * (exec->run - 1));
        snprintf(
            wants, sizeof wants,
            "signal %u: seen %d, wanted %u of the posts of this run (it is posted by rank%s %s)",
            stored->signal, seen, op->wait.count, (ranks & (ranks - 1)) == 0 ? "" : "s", list);
    } else {
        ranks = op->gates & ~exec->begun;
        list_ranks(ranks, list, sizeof list);
        snprintf(wants, sizeof wants, "rank%s %s to begin the run",
                 (ranks & (ranks - 1)) == 0 ? "" : "s", list);
    }
    int culprit = choose_culprit(exec, ranks);
    describe_rank(exec, culprit, culprit_text, sizeof culprit_text);
    return tern__group_fail(group, TERN_ERR_TIMEOUT, culprit,
                            "rank %d waited %.3g s in %s, at lane %u, op %u (%s), for %s; %s",
                            group->rank, (double)group->job->timeout_ns * 1e-9, run, lane,
                            op->index, tern__op_kind_name((tern_plan_op_kind)stored->kind), wants,
                            culprit_text);
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
                                    "rank %d has left the communicator (tern_comm_destroy) without "
                                    "beginning %s",
                                    rank, run);
        }
    }
    return TERN_OK;
}
