// SPDX-License-Identifier: Apache-2.0
// Barrier, exchange and leaving. The barrier is one counter of arrivals that only counts up:
// barrier k is passed when it has reached k times the size, so nothing is ever reset and a fast
// rank may already be arriving at the next one.

#include "sync/group.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/process.h"
#include "base/trace.h"
#include "sync/balance.h"
#include "sync/doing.h"
#include "sync/far.h"
#include "sync/slots.h"
#include "sync/wait.h"

// From when on a barrier looks whether ranks are in calls behind it.
#define ORDER_LOOK_NS (TERN_NS_PER_SECOND / 2)

int tern__group_left(const struct tern__group *group)
{
    uint64_t left = atomic_load_explicit(&group->shared->left, memory_order_seq_cst);
    return left == 0 ? -1 : __builtin_ctzll(left); // partner: tern__group_leave
}

void tern__group_leave(struct tern__group *group)
{
    tern__far_leaves(group);
    struct tern__ctl_comm *shared = group->shared;
    atomic_fetch_or_explicit(&shared->left, UINT64_C(1) << group->rank, memory_order_seq_cst);
    tern__group_ring(group);
    tern__slot_leave(group->job, (struct tern__slot){group->slot, group->generation});
    tern__far_left(group);
}

// What the group meets for, for people: "tern_comm_barrier 12".
static void name_meeting(const struct tern__group *group, enum tern__meeting_kind meeting,
                         char *text, size_t size)
{
    const char *name = tern__meeting_name(meeting);
    if (meeting == TERN__MEETING_BARRIER) {
        snprintf(text, size, "%s %llu", name,
                 (unsigned long long)(group->barriers - group->barriers_before));
    } else {
        snprintf(text, size, "%s", name);
    }
}

struct barrier_wait {
    struct tern__group *group;
    uint64_t target;
    enum tern__meeting_kind meeting;
    bool published;   // the rank's activity has been published
    int64_t since_ns; // that was then
};

static bool all_arrived(void *arg)
{
    const struct barrier_wait *wait = arg;
    return atomic_load_explicit(&wait->group->shared->arrivals, memory_order_seq_cst) >=
           wait->target; // partner: the add in tern__group_barrier
}

// The lowest rank that has left and has not been in this barrier, or -1. One that has come, and
// left when it had heard of all others, may be known to have left before they are known to have
// come, where they are on other machines.
static int left_before(const struct tern__group *group)
{
    uint64_t left = atomic_load_explicit(&group->shared->left, memory_order_seq_cst);
    for (; left != 0; left &= left - 1) { // partner: tern__group_leave
        int rank = __builtin_ctzll(left);
        if (atomic_load_explicit(&group->shared->entered[rank].barrier, memory_order_relaxed) <
            group->barriers) {
            return rank;
        }
    }
    return -1;
}

// The ranks that have not come.
static uint64_t missing_ranks(const struct tern__group *group)
{
    uint64_t missing = 0;
    for (int rank = 0; rank < group->size; rank++) {
        uint64_t entered =
            atomic_load_explicit(&group->shared->entered[rank].barrier, memory_order_relaxed);
        missing |= entered < group->barriers ? UINT64_C(1) << rank : 0;
    }
    return missing;
}

// Whether the only thread of a process is blocked in a collective call that this rank has not made.
static bool is_in_a_later_call(const struct tern__group *group, int rank)
{
    const struct tern__ctl *ctl = group->job->ctl;
    const int member = group->members[rank];
    const struct tern__ctl_rank *slot = &ctl->ranks[member];
    uint64_t number = atomic_load_explicit(&slot->doing_number, memory_order_relaxed);
    struct tern__recorded call;
    struct tern__process process;
    return tern__ctl_away(ctl, member) == NULL && tern__peek(&slot->doing) == TERN__DOING_CALL &&
           number > (group->made != NULL ? *group->made : 0) &&
           tern__record_find(ctl, member, group->slot, number, &call) &&
           call.state == TERN__RECORD_WAITING && call.way != TERN__WAY_MAIL &&
           atomic_load_explicit(&slot->pid_space, memory_order_relaxed) == tern__pid_space() &&
           tern__process_look((int)tern__peek(&slot->pid), &process) && process.threads == 1;
}

// A rank that is in a later call has not come to this one, and will not. Where processes have
// several threads, another one may: then the deadline says it.
static int check_order(const struct barrier_wait *wait)
{
    struct tern__group *group = wait->group;
    struct tern__process own;
    uint64_t later = 0;
    if (tern__now_ns() - wait->since_ns < ORDER_LOOK_NS || !tern__process_look(getpid(), &own) ||
        own.threads != 1) {
        return TERN_OK;
    }
    for (uint64_t left = missing_ranks(group); left != 0; left &= left - 1) {
        later |= is_in_a_later_call(group, __builtin_ctzll(left)) ? left & -left : 0;
    }
    if (later == 0 || (later & missing_ranks(group)) != later) {
        return TERN_OK;
    }
    char name[48];
    char doing[TERN__FAILURE_BYTES - 192];
    name_meeting(group, wait->meeting, name, sizeof name);
    tern__doing_ranks(group, later, doing, sizeof doing);
    return tern__group_fail(
        group, TERN_ERR_MISMATCH, -1,
        "%s is in %s, but %s; every rank must make the same calls in the same order",
        tern__rank_name(group, group->rank).text, name, doing);
}

static int barrier_broken(void *arg, bool deep)
{
    struct barrier_wait *wait = arg;
    struct tern__group *group = wait->group;
    if (!wait->published) {
        bool barrier = wait->meeting == TERN__MEETING_BARRIER;
        tern__job_doing(group->job, barrier ? TERN__DOING_BARRIER : TERN__DOING_MEETING,
                        barrier ? group->barriers - group->barriers_before
                                : (uint64_t)wait->meeting);
        wait->published = true;
        wait->since_ns = tern__now_ns();
    }
    TERN_TRY(tern__group_check(group, deep));
    int left = left_before(group);
    if (all_arrived(wait)) {
        return TERN_OK;
    }
    if (left < 0) {
        return deep ? check_order(wait) : TERN_OK;
    }
    char name[48];
    name_meeting(group, wait->meeting, name, sizeof name);
    return tern__group_has_left(group, left, ", so %s cannot complete", name);
}

static int barrier_timed_out(struct tern__group *group, enum tern__meeting_kind meeting)
{
    TERN_TRY(tern__group_check(group, true));
    char name[48];
    char doing[TERN__FAILURE_BYTES - 128];
    name_meeting(group, meeting, name, sizeof name);
    int culprit = tern__doing_ranks(group, missing_ranks(group), doing, sizeof doing);
    return tern__group_timed_out(group, group->job->timeout_ns, culprit,
                                 "%s and not all ranks came: %s", name, doing);
}

static void trace_barrier(const struct tern__group *group, enum tern__meeting_kind meeting,
                          uint64_t number, int64_t begin_ns)
{
    struct tern__trace_event event = {.begin_ns = begin_ns, .kind = TERN__TRACE_BARRIER};
    event.out = tern__trace_arrow(TERN__ARROW_BARRIER, group->slot, number, 0);
    event.in = event.out;
    // A window is made in several meetings, inside the slice of its call.
    bool part = meeting == TERN__MEETING_WINDOW;
    tern__trace_name(&event, part ? "all ranks meet" : tern__meeting_name(meeting));
    tern__trace_put(&event);
}

int tern__group_barrier(struct tern__group *group, enum tern__meeting_kind meeting)
{
    struct tern__ctl_comm *shared = group->shared;
    if (tern__flag_load(&shared->failed) != TERN__WORKING) {
        TERN_TRY(tern__group_check(group, false));
    }
    int64_t begin_ns = tern__trace_start();
    if (tern__far_is(group)) {
        TERN_TRY(tern__far_flush(group, group->job->timeout_ns));
    }
    uint64_t number = ++group->barriers;
    tern__balance(group->job, (uint32_t)number);
    uint64_t target = number * (uint64_t)group->size;
    // Relaxed: read only when the wait has failed, to say who is missing.
    atomic_store_explicit(&shared->entered[group->rank].barrier, number, memory_order_relaxed);
    tern__far_arrive(group, number);
    // partner: all_arrived; releases what this rank wrote, acquires what the others did.
    uint64_t arrived = atomic_fetch_add_explicit(&shared->arrivals, 1, memory_order_seq_cst) + 1;
    if (arrived == target) {
        tern__group_ring(group);
    } else if (arrived < target) {
        struct barrier_wait barrier = {.group = group, .target = target, .meeting = meeting};
        struct tern__ladder ladder = tern__job_ladder(group->job);
        ladder.awaits = tern__far_is(group) ? TERN__AWAITS_CROSSING : TERN__AWAITS_ANY;
        struct tern__wait wait = {
            .bell = &group->job->ctl->ranks[group->job->rank].bell,
            .ladder = &ladder,
            .timeout_ns = group->job->timeout_ns,
            .holds = all_arrived,
            .broken = barrier_broken,
            .arg = &barrier,
        };
        int status = tern__wait(&wait);
        if (status == TERN_ERR_TIMEOUT) {
            status = all_arrived(&barrier) ? TERN_OK : barrier_timed_out(group, meeting);
        }
        if (barrier.published) { // until the sentence is there: the others may be writing theirs
            tern__job_doing(group->job, TERN__DOING_OTHER, 0);
        }
        TERN_TRY(status);
    }
    if (tern__far_is(group)) {
        group->job->far->see(group->job);
    }
    if (begin_ns != 0) {
        trace_barrier(group, meeting, number, begin_ns);
    }
    return TERN_OK;
}

// The barrier of an exchange and what it is for. A plain barrier stamps nothing and so costs
// nothing more: who came in one has an older stamp.
static uint64_t stamp_of(uint64_t number, enum tern__meeting_kind meeting)
{
    return number * TERN__MEETINGS + (uint64_t)meeting;
}

bool tern__group_has_stamped(const struct tern__cell *cell, uint64_t number)
{
    return cell->stamp / TERN__MEETINGS == number;
}

static enum tern__meeting_kind stamped_meeting(const struct tern__cell *cell, uint64_t number)
{
    return tern__group_has_stamped(cell, number)
               ? (enum tern__meeting_kind)(cell->stamp % TERN__MEETINGS)
               : TERN__MEETING_BARRIER;
}

// Fails the group: "rank 0 is in tern_comm_barrier, ranks 1, 2 are in tern_window_create".
static int different_calls(struct tern__group *group, const struct tern__cell *cells,
                           uint64_t number)
{
    uint64_t in[TERN__MEETINGS] = {0};
    uint64_t told = 0;
    char text[TERN__FAILURE_BYTES - 128];
    size_t used = 0;
    text[0] = '\0';
    for (int rank = 0; rank < group->size; rank++) {
        in[stamped_meeting(&cells[rank], number)] |= UINT64_C(1) << rank;
    }
    for (int rank = 0; rank < group->size; rank++) {
        enum tern__meeting_kind meeting = stamped_meeting(&cells[rank], number);
        uint64_t ranks = in[meeting] & ~told;
        if (ranks == 0 || used >= sizeof text) {
            continue;
        }
        char names[160];
        tern__ranks_text(group, ranks, names, sizeof names);
        used +=
            (size_t)snprintf(text + used, sizeof text - used, "%s%s %s in %s", used > 0 ? ", " : "",
                             names, (ranks & (ranks - 1)) != 0 ? "are" : "is",
                             tern__meeting_name(meeting));
        told |= ranks;
    }
    return tern__group_fail(group, TERN_ERR_MISMATCH, -1,
                            "%s; every rank must make the same calls in the same order", text);
}

int tern__group_exchange(struct tern__group *group, enum tern__meeting_kind meeting,
                         const void *mine, size_t size, void *all)
{
    // Two rows of cells, for barriers of even and of odd numbers: a row is used again two barriers
    // later, when every rank has come through the one between and so has finished reading.
    uint64_t number = group->barriers + 1;
    struct tern__cell *cells = group->shared->cells[number & 1];
    cells[group->rank].stamp = stamp_of(number, meeting);
    memcpy(cells[group->rank].bytes, mine, size);
    TERN_TRY(tern__group_barrier(group, meeting));
    for (int rank = 0; rank < group->size; rank++) {
        if (cells[rank].stamp != stamp_of(number, meeting)) {
            return different_calls(group, cells, number);
        }
        memcpy((char *)all + (size_t)rank * size, cells[rank].bytes, size);
    }
    return TERN_OK;
}
