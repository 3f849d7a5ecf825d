// SPDX-License-Identifier: Apache-2.0
// Failing together: who finds that a group cannot go on says why, for all of its ranks.

#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"
#include "base/public.h"
#include "sync/doing.h"
#include "sync/far.h"
#include "sync/interrupt.h"

// Who finds that a communicator fails writes why: a microsecond, or its time slices on a busy
// machine.
#define REASON_NS TERN_NS_PER_SECOND
#define REASON_LOOK_NS (50 * TERN_NS_PER_MS)

void tern__far_tell_failure(const struct tern__group *group)
{
    if (group->away != 0 && group->job->far != NULL) {
        group->job->far->failed(group);
    }
}

// One line, and one word to other machines, for each rank and communicator, however many calls the
// failure ends. Each rank tells it, and not only the first: it may end now, and on its own streams
// the reason goes before its end, which would be taken for the reason itself.
static void tell_failure(struct tern__group *group, int status, const char *text)
{
    if (tern__flag_swap(&group->told, 0, 1)) {
        tern__log(TERN__LOG_ERROR, "communicator %d has failed: %s: %s", group->slot,
                  tern_status_name(status), text);
        tern__far_tell_failure(group);
    }
    tern__public_told(status);
}

static int report_failed(struct tern__group *group)
{
    const struct tern__ctl_comm *shared = group->shared;
    tell_failure(group, shared->failed_status, shared->failed_text);
    if (tern__group_is_part(group)) {
        return tern__fail(shared->failed_status, "communicator %d has failed: %s", group->slot,
                          shared->failed_text);
    }
    return tern__fail(shared->failed_status, "the communicator has failed: %s",
                      shared->failed_text);
}

// Makes it fail for all; false when it has failed, or does so right now.
static bool begin_failure(struct tern__ctl *ctl, int slot, int status, int culprit,
                          const char text[TERN__FAILURE_BYTES])
{
    struct tern__ctl_comm *shared = &ctl->comms[slot];
    if (!tern__flag_swap(&shared->failed, TERN__WORKING, TERN__FAILING)) {
        return false;
    }
    shared->failed_status = status;
    shared->failed_rank = culprit;
    memcpy(shared->failed_text, text, TERN__FAILURE_BYTES);
    tern__flag_store(&shared->failed, TERN__FAILED); // partner: tern__group_check
    if (tern__flag_swap(&ctl->failure, TERN__WORKING, TERN__FAILING)) {
        ctl->failure_slot = slot;
        memcpy(ctl->failure_text, text, TERN__FAILURE_BYTES);
        tern__flag_store(&ctl->failure, TERN__FAILED); // partner: note_failure in boot/hub.c
    }
    return true;
}

void tern__ctl_comm_fail(struct tern__ctl *ctl, int slot, int status, int culprit, const char *said)
{
    char text[TERN__FAILURE_BYTES] = {0}; // all of it goes to other machines
    snprintf(text, sizeof text, "%s", said);
    if (begin_failure(ctl, slot, status, culprit, text)) {
        tern__ctl_ring_all(ctl);
    }
}

// The dead member to name: the one that died first in the job if it is a member, else the lowest.
static int dead_member(const struct tern__group *group)
{
    const struct tern__ctl *ctl = group->job->ctl;
    int first = tern__ctl_first_dead(ctl);
    int found = -1;
    if (first < 0) {
        return -1;
    }
    for (int rank = group->size - 1; rank >= 0; rank--) {
        int member = group->members[rank];
        if (tern__flag_load(&ctl->ranks[member].state) == TERN__RANK_DEAD) {
            found = rank;
            if (member == first) {
                break;
            }
        }
    }
    return found;
}

// What is said of a dead member.
static void word_death(const struct tern__group *group, int dead, char *text, size_t size)
{
    char death[160];
    int member = group->members[dead];
    tern__ctl_death_text(group->job->ctl, member, death, sizeof death);
    if (tern__group_is_part(group)) { // a death is told in the job's numbers
        snprintf(text, size, "%s; it is rank %d of communicator %d", death, dead, group->slot);
    } else {
        snprintf(text, size, "%s", death);
    }
}

// Who was writing the reason does not end it, since it was killed: says who has died. All that come
// here write the same.
static bool replace_reason(struct tern__group *group, bool late)
{
    struct tern__ctl_comm *shared = group->shared;
    tern__job_look(group->job);
    int dead = dead_member(group);
    if (dead < 0 && !late) {
        return false;
    }
    shared->failed_status = TERN_ERR_PEER;
    shared->failed_rank = dead;
    if (dead >= 0) {
        word_death(group, dead, shared->failed_text, sizeof shared->failed_text);
    } else {
        snprintf(shared->failed_text, sizeof shared->failed_text,
                 "a rank found a reason, and was stopped before it could say it");
    }
    tern__flag_store(&shared->failed, TERN__FAILED);
    return true;
}

// Whether it has failed, and the reason is there.
static bool has_failed(struct tern__group *group)
{
    int64_t begin_ns = 0;
    int64_t look_ns = 0;
    for (;;) {
        uint32_t failed = tern__flag_load(&group->shared->failed); // partner: begin_failure
        if (failed != TERN__FAILING) {
            return failed == TERN__FAILED;
        }
        int64_t now_ns = tern__now_ns();
        begin_ns = begin_ns != 0 ? begin_ns : now_ns;
        look_ns = look_ns != 0 ? look_ns : begin_ns + REASON_LOOK_NS;
        if (now_ns >= look_ns && replace_reason(group, now_ns >= begin_ns + REASON_NS)) {
            return true;
        }
        look_ns = now_ns >= look_ns ? now_ns + REASON_LOOK_NS : look_ns;
        sched_yield();
    }
}

int tern__group_fail(struct tern__group *group, int status, int culprit, const char *format, ...)
{
    char text[TERN__FAILURE_BYTES] = {0}; // all of it goes to other machines
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    if (begin_failure(group->job->ctl, group->slot, status, culprit, text)) {
        tern__group_ring(group);
    } else if (has_failed(group)) {
        return report_failed(group);
    }
    tell_failure(group, status, text);
    return tern__group_is_part(group) ? tern__fail(status, "communicator %d: %s", group->slot, text)
                                      : tern__fail(status, "%s", text);
}

// Asked every 100 ms. What counts is the time between looks that are not far from each other: else
// this process has been stopped, too.
static bool leader_is_silent(struct tern__job *job)
{
    uint32_t beats = tern__peek(&job->ctl->beats);
    int64_t now_ns = tern__now_ns();
    int64_t since_ns =
        now_ns - atomic_exchange_explicit(&job->beats_look_ns, now_ns, memory_order_relaxed);
    if (beats == 0 || beats != tern__peek(&job->beats)) {
        tern__poke(&job->beats, beats);
        atomic_store_explicit(&job->beats_silent_ns, 0, memory_order_relaxed);
        return false;
    }
    int64_t more_ns = since_ns < 2 * TERN__LOOK_NS ? since_ns : 2 * TERN__LOOK_NS;
    return atomic_fetch_add_explicit(&job->beats_silent_ns, more_ns, memory_order_relaxed) +
               more_ns >=
           job->net_timeout_ns;
}

// A part goes on when the first communicator fails, as long as its members do; when they leave the
// job because of that, it is what the part fails of. TERN_OK when that one works.
static int fail_as_the_first(struct tern__group *group)
{
    const struct tern__group *first = group->job->first;
    if (first == NULL || first->shared == group->shared ||
        tern__flag_load(&first->shared->failed) != TERN__FAILED) {
        return TERN_OK;
    }
    return tern__group_fail(group, first->shared->failed_status, -1, "%s",
                            first->shared->failed_text);
}

// What fails a part of several machines, and the first communicator with it, fails that one first:
// whoever hears of the part may leave the first one, and would be named there as the reason.
static void fail_the_first(const struct tern__group *group, int culprit, const char *text)
{
    struct tern__group *first = group->job->first;
    if (first != NULL && first->shared != group->shared && group->away != 0) {
        tern_status_ignore(tern__group_fail(first, TERN_ERR_PEER, culprit, "%s", text));
    }
}

// Other machines hear nothing of this one, either.
static int say_silent(struct tern__group *group, const struct tern__machine *machine)
{
    struct tern__doing doing;
    char name[112];
    char words[256];
    char text[TERN__FAILURE_BYTES];
    tern__machine_text(machine, name, sizeof name);
    tern__doing_look(group->job->ctl, machine->leader, &doing);
    tern__doing_text(&doing, false, words, sizeof words);
    snprintf(
        text, sizeof text,
        "%s has been silent for %.1f s: rank %d of the job (process %d), which receives for it, %s",
        name, (double)group->job->net_timeout_ns * 1e-9, machine->leader, doing.pid, words);
    fail_the_first(group, -1, text);
    return tern__group_fail(group, TERN_ERR_PEER, -1, "%s", text);
}

// Who receives for this machine leaves before the others only when the first communicator fails.
static int say_deaf(struct tern__group *group, const struct tern__machine *machine)
{
    TERN_TRY(fail_as_the_first(group));
    return tern__group_fail(group, TERN_ERR_PEER, -1,
                            "rank %d has left the job, and it received for machine %s",
                            machine->leader, machine->name);
}

// Whether the machines of the group's members can hear and be heard: that depends on the leader of
// each, who may be no member. `deep` looks whether this machine's does its work. Else the group
// fails. Members that have died are found before.
static int check_machines(struct tern__group *group, bool deep)
{
    struct tern__job *job = group->job;
    if (group->away == 0 || job->far == NULL) {
        return TERN_OK;
    }
    const struct tern__machine *mine = &job->machines->list[job->machines->mine];
    uint64_t all = group->away | UINT64_C(1) << job->machines->mine;
    for (; all != 0; all &= all - 1) {
        const struct tern__machine *machine = &job->machines->list[__builtin_ctzll(all)];
        if (tern__flag_load(&job->ctl->ranks[machine->leader].state) == TERN__RANK_DEAD) {
            char death[160];
            tern__ctl_death_text(job->ctl, machine->leader, death, sizeof death);
            fail_the_first(group, machine->leader, death);
            return tern__group_fail(group, TERN_ERR_PEER, -1, "%s; it received for machine %s",
                                    death, machine->name);
        }
    }
    uint32_t leader = tern__flag_load(&job->ctl->ranks[mine->leader].state);
    if (!deep || mine->leader == job->rank) {
        return TERN_OK;
    }
    if (leader == TERN__RANK_LEFT && !job->leaves_at_once) {
        return say_deaf(group, mine);
    }
    return leader == TERN__RANK_ACTIVE && leader_is_silent(job) ? say_silent(group, mine) : TERN_OK;
}

// Who has left the job has left this communicator, also if it never came in: where the last meeting
// of the one that this was made of succeeded here and failed there. Not at the first look: its last
// words may still be on their way to who receives for this machine.
static void see_who_left(struct tern__group *group)
{
    uint64_t gone = 0;
    for (int rank = 0; rank < group->size; rank++) {
        const struct tern__ctl_rank *member = &group->job->ctl->ranks[group->members[rank]];
        bool left = tern__flag_load(&member->state) == TERN__RANK_LEFT;
        gone |= left ? UINT64_C(1) << rank : 0;
    }
    uint64_t before = atomic_exchange_explicit(&group->gone, gone, memory_order_relaxed);
    if ((gone & before) != 0) { // partner: tern__group_left
        atomic_fetch_or_explicit(&group->shared->left, gone & before, memory_order_seq_cst);
    }
}

int tern__group_check(struct tern__group *group, bool deep)
{
    if (has_failed(group)) {
        return report_failed(group);
    }
    if (deep) {
        tern__job_look(group->job);
    }
    if (group->parent != NULL) {
        int status = tern__group_check(group->parent, deep);
        if (status != TERN_OK) {
            return tern__group_fail(group, status, -1, "%s", group->parent->shared->failed_text);
        }
    }
    int dead = dead_member(group);
    if (dead < 0 && deep && tern__interrupt_now) {
        return tern__group_fail(group, TERN_ERR_INTERRUPTED, group->rank, "%s was interrupted",
                                tern__rank_name(group, group->rank).text);
    }
    if (dead < 0) {
        TERN_TRY(check_machines(group, deep));
        if (deep && tern__group_is_part(group)) {
            see_who_left(group);
        }
        return TERN_OK;
    }
    char text[240];
    tern__ctl_death_text(group->job->ctl, group->members[dead], text, sizeof text);
    fail_the_first(group, group->members[dead], text);
    word_death(group, dead, text, sizeof text);
    return tern__group_fail(group, TERN_ERR_PEER, dead, "%s", text);
}

int tern__group_timed_out(struct tern__group *group, int64_t waited_ns, int culprit,
                          const char *format, ...)
{
    char words[TERN__FAILURE_BYTES];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(words, sizeof words, format, arguments);
    va_end(arguments);
    return tern__group_fail(group, TERN_ERR_TIMEOUT, culprit, "%s waited %.3g s in %s",
                            tern__rank_name(group, group->rank).text, (double)waited_ns * 1e-9,
                            words);
}

int tern__group_has_left(struct tern__group *group, int rank, const char *format, ...)
{
    char words[TERN__FAILURE_BYTES];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(words, sizeof words, format, arguments);
    va_end(arguments);
    // It may have left because a rank died, which nobody has seen on this machine.
    TERN_TRY(tern__group_check(group, true));
    if (tern__flag_load(&group->job->ctl->ranks[group->members[rank]].state) == TERN__RANK_LEFT) {
        TERN_TRY(fail_as_the_first(group));
    }
    return tern__group_fail(group, TERN_ERR_LEFT, rank,
                            "%s has left the communicator (tern_comm_destroy)%s",
                            tern__rank_name(group, rank).text, words);
}
