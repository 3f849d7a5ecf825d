// SPDX-License-Identifier: Apache-2.0
// Groups with members on several machines: when what is told.

#include "sync/far.h"

#include "base/error.h"
#include "base/log.h"
#include "sync/interrupt.h"
#include "sync/wait.h"

void tern__group_place(struct tern__group *group)
{
    const struct tern__machines *machines = group->job->machines;
    group->here = group->size;
    group->away = 0;
    if (machines == NULL) {
        return;
    }
    uint64_t own = 0;
    for (int rank = 0; rank < group->size; rank++) {
        int member = group->members[rank];
        if (tern__job_is_here(group->job, member)) {
            own |= UINT64_C(1) << member;
        } else {
            group->away |= UINT64_C(1) << machines->of[member];
        }
    }
    group->here = __builtin_popcountll(own);
    // partner: the thread that receives for this machine, which rings them
    atomic_store_explicit(&group->shared->here, own, memory_order_seq_cst);
}

void tern__far_arrive(const struct tern__group *group, uint64_t number)
{
    if (group->away == 0) {
        return;
    }
    // All that arrive here add to it, so the last one has what the others wrote before.
    uint64_t here =
        atomic_fetch_add_explicit(&group->shared->arrivals_here, 1, memory_order_seq_cst) + 1;
    if (here == number * (uint64_t)group->here && group->job->far != NULL) {
        group->job->far->arrived(group, number);
    }
}

void tern__far_tell_failure(const struct tern__group *group)
{
    if (group->away != 0 && group->job->far != NULL &&
        tern__flag_swap(&group->shared->told, 0, 1)) {
        group->job->far->failed(group);
    }
}

static bool all_have_left(void *arg)
{
    const struct tern__group *group = arg;
    uint64_t left = atomic_load_explicit(&group->shared->left, memory_order_seq_cst);
    return __builtin_popcountll(left) == group->size; // partner: tern__group_leave
}

// Nobody waits for the end of a job that has failed.
static int is_over(void *arg, bool deep)
{
    const struct tern__group *group = arg;
    if (deep) {
        tern__job_look(group->job);
    }
    bool over = tern__flag_load(&group->shared->failed) != TERN__WORKING ||
                tern__ctl_first_dead(group->job->ctl) >= 0 || (deep && tern__interrupt_now);
    return over ? TERN_ERR_PEER : TERN_OK;
}

void tern__far_leaves(struct tern__group *group)
{
    if (group->job->far != NULL && tern__flag_load(&group->shared->failed) == TERN__WORKING &&
        tern__ctl_first_dead(group->job->ctl) < 0) {
        tern_status_ignore(group->job->far->flush(group->job));
    }
}

void tern__far_left(struct tern__group *group)
{
    struct tern__job *job = group->job;
    if (group->away == 0 || job->far == NULL) {
        return;
    }
    // Who has told of its failure, if anybody has by now, is another rank; others shall not hear
    // that this one has left, and not why.
    if (tern__flag_load(&group->shared->failed) == TERN__FAILED) {
        job->far->failed(group);
    }
    job->far->left(group);
    if (tern__group_is_part(group)) {
        return;
    }
    struct tern__ladder ladder = tern__job_ladder(job);
    struct tern__wait wait = {
        .bell = &job->ctl->ranks[job->rank].bell,
        .ladder = &ladder,
        .timeout_ns = job->timeout_ns,
        .holds = all_have_left,
        .broken = is_over,
        .arg = group,
    };
    if (tern__wait(&wait) == TERN_ERR_TIMEOUT) {
        tern__log(TERN__LOG_WARN, "not all ranks of other machines left within %.3g s",
                  (double)job->timeout_ns * 1e-9);
    }
}
