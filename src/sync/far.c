// SPDX-License-Identifier: Apache-2.0
// Groups with members on several machines: when what is told.

#include "sync/far.h"

#include <stdio.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"
#include "sync/doing.h"
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

int tern__far_flush(struct tern__group *group, int64_t timeout_ns)
{
    int status = group->job->far->flush(group->job, false, &group->shared->failed, timeout_ns);
    if (status == TERN_OK) {
        return TERN_OK;
    }
    char text[TERN__FAILURE_BYTES];
    snprintf(text, sizeof text, "%s", tern_last_error());
    TERN_TRY(tern__group_check(group, true));
    if (status != TERN_ERR_TIMEOUT) {
        return tern__group_fail(group, status, group->rank, "%s", text);
    }
    char doing[TERN__FAILURE_BYTES / 2];
    int culprit = tern__doing_ranks(group, tern__group_others(group), doing, sizeof doing);
    return tern__group_fail(group, status, culprit, "%.300s: %s", text, doing);
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

// Of a rank that has left the job the word that it has left the group may be lost: its connections
// end when it has heard of all others, and what a cut cable held up ends with them.
static bool all_have_left(void *arg)
{
    const struct tern__group *group = arg;
    uint64_t left = atomic_load_explicit(&group->shared->left, memory_order_seq_cst);
    for (int rank = 0; rank < group->size; rank++) { // partner: tern__group_leave
        const struct tern__ctl_rank *member = &group->job->ctl->ranks[group->members[rank]];
        if ((left >> rank & 1) == 0 && tern__flag_load(&member->state) != TERN__RANK_LEFT) {
            return false;
        }
    }
    return true;
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
    const struct tern__far *far = group->job->far;
    if (far == NULL) {
        return;
    }
    // A member that has died is why this one leaves, which other machines may not have seen yet.
    bool works = tern__flag_load(&group->shared->failed) == TERN__WORKING &&
                 (group->away == 0 || tern__group_check(group, false) == TERN_OK);
    if (works && tern__ctl_first_dead(group->job->ctl) < 0) {
        tern_status_ignore(
            far->flush(group->job, true, &group->shared->failed, group->job->timeout_ns));
    } else if (group->away != 0 && tern__flag_load(&group->shared->failed) == TERN__FAILED) {
        far->failed(group); // the word of who has told it may come later than that this one left
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
    if (tern__group_is_part(group) || job->leaves_at_once) {
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
