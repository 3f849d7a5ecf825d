// SPDX-License-Identifier: Apache-2.0
// Invitations. Each rank has one place in the control memory for what it leads. It is open while
// its number is odd; a member reads it, sees that the number is the same, and writes that number as
// what it has come to. So nothing is reset, and a member that comes too late for an invitation that
// was given up writes a number that nobody looks for.
//
// On other machines a copy of the place is written when it is opened; who comes there tells the
// first member's machine. Nobody closes a copy: its members have come to its number, and do not
// come again.

#include "sync/invite.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "sync/doing.h"
#include "sync/far.h"
#include "sync/wait.h"

enum { PER_WORD = 8 }; // members of a word, a byte each

struct meeting {
    struct tern__group *group;
    struct tern__invite *invite;
    struct tern__ctl_invite *place; // of the first member
    uint32_t number;                // of the invitation
    bool published;                 // the rank's activity
};

static struct tern__bell *bell_of(const struct tern__group *group, int rank)
{
    return &group->job->ctl->ranks[group->members[rank]].bell;
}

static uint64_t word_at(const struct tern__invite *invite, int word)
{
    uint64_t value = 0;
    for (int i = 0; i < PER_WORD && word * PER_WORD + i < invite->count; i++) {
        value |= (uint64_t)invite->ranks[word * PER_WORD + i] << (8 * i);
    }
    return value;
}

static uint64_t load(const _Atomic uint64_t *word)
{
    return atomic_load_explicit(word, memory_order_relaxed);
}

static void store(_Atomic uint64_t *word, uint64_t value)
{
    atomic_store_explicit(word, value, memory_order_relaxed);
}

// Members that have not read the invitation: bit r is rank r of the group.
static uint64_t missing(const struct meeting *meeting)
{
    uint64_t ranks = 0;
    for (int i = 1; i < meeting->invite->count; i++) {
        int rank = meeting->invite->ranks[i];
        uint32_t come = tern__flag_load(&meeting->place->come[meeting->group->members[rank]]);
        ranks |= come != meeting->number ? UINT64_C(1) << rank : 0; // partner: accept
    }
    return ranks;
}

static bool all_have_come(void *arg)
{
    return missing(arg) == 0;
}

static bool is_free(void *arg)
{
    struct meeting *meeting = arg;
    return tern__flag_load(&meeting->place->busy) == 0; // partner: close_place
}

// Whether the first member invites this rank now, in this group, by this tag. Its number then.
static bool is_invited(void *arg)
{
    struct meeting *meeting = arg;
    const struct tern__group *group = meeting->group;
    const struct tern__ctl_invite *place = meeting->place;
    uint32_t number = tern__flag_load(&place->number); // partner: open_place
    if ((number & 1) == 0 || load(&place->tag) != meeting->invite->tag ||
        tern__peek(&place->slot_of_group) != (uint32_t)group->slot ||
        tern__flag_load(&place->come[group->job->rank]) == number) {
        return false;
    }
    bool named = false;
    int count = (int)tern__peek(&place->count);
    for (int i = 0; i < count && i < TERN_RANKS_MAX; i++) {
        uint64_t word = load(&place->ranks[i / PER_WORD]);
        named |= (int)(word >> (8 * (i % PER_WORD)) & 0xff) == group->rank;
    }
    meeting->number = number;
    return named;
}

static int broken(void *arg, bool deep)
{
    struct meeting *meeting = arg;
    struct tern__group *group = meeting->group;
    if (!meeting->published) {
        tern__job_doing(group->job, TERN__DOING_MEETING, TERN__MEETING_GROUP);
        meeting->published = true;
    }
    TERN_TRY(tern__group_check(group, deep));
    uint64_t left = atomic_load_explicit(&group->shared->left, memory_order_seq_cst);
    for (int i = 0; i < meeting->invite->count; i++) {
        int rank = meeting->invite->ranks[i];
        if ((left >> rank & 1) != 0) {
            return tern__group_has_left(group, rank, ", so %s cannot complete",
                                        tern__meeting_name(TERN__MEETING_GROUP));
        }
    }
    return TERN_OK;
}

static int wait_until(struct meeting *meeting, bool (*holds)(void *arg))
{
    struct tern__job *job = meeting->group->job;
    struct tern__ladder ladder = tern__job_ladder(job);
    struct tern__wait wait = {
        .bell = &job->ctl->ranks[job->rank].bell,
        .ladder = &ladder,
        .timeout_ns = job->timeout_ns,
        .holds = holds,
        .broken = broken,
        .arg = meeting,
    };
    return tern__wait(&wait);
}

// "0, 3, 2"
static void list(const struct tern__invite *invite, char *text, size_t size)
{
    size_t used = 0;
    text[0] = '\0';
    for (int i = 0; i < invite->count && used < size; i++) {
        used +=
            (size_t)snprintf(text + used, size - used, i == 0 ? "%d" : ", %d", invite->ranks[i]);
    }
}

static int timed_out(struct meeting *meeting, uint64_t ranks)
{
    char doing[TERN__FAILURE_BYTES - 360];
    char own[200];
    TERN_TRY(tern__group_check(meeting->group, true));
    list(meeting->invite, own, sizeof own);
    int culprit = tern__doing_ranks(meeting->group, ranks, doing, sizeof doing);
    return tern__group_timed_out(meeting->group, meeting->group->job->timeout_ns, culprit,
                                 "%s (tag %llu) and not all came of the ranks %s, in this order: "
                                 "%s",
                                 tern__meeting_name(TERN__MEETING_GROUP),
                                 (unsigned long long)meeting->invite->tag, own, doing);
}

static void open_place(struct meeting *meeting)
{
    struct tern__ctl_invite *place = meeting->place;
    const struct tern__invite *invite = meeting->invite;
    store(&place->tag, invite->tag);
    tern__poke(&place->slot_of_group, (uint32_t)meeting->group->slot);
    tern__poke(&place->slot, (uint32_t)invite->slot.number);
    tern__poke(&place->generation, invite->slot.generation);
    tern__poke(&place->count, (uint32_t)invite->count);
    for (int word = 0; word < TERN_RANKS_MAX / PER_WORD; word++) {
        store(&place->ranks[word], word_at(invite, word));
    }
    meeting->number = tern__peek(&place->number) + 1;
    tern__flag_store(&place->number, meeting->number); // partner: is_invited, accept
    for (int i = 1; i < invite->count; i++) {
        tern__bell_ring(bell_of(meeting->group, invite->ranks[i]));
    }
    if (meeting->group->away != 0 && meeting->group->job->far != NULL) {
        meeting->group->job->far->invited(meeting->group, invite);
    }
}

static void close_place(struct meeting *meeting)
{
    tern__flag_store(&meeting->place->number, meeting->number + 1);
    tern__flag_store(&meeting->place->busy, 0); // partner: is_free
    tern__bell_ring(bell_of(meeting->group, meeting->group->rank));
}

// By the first member.
static int lead(struct meeting *meeting)
{
    int status = TERN_OK;
    while (status == TERN_OK && !tern__flag_swap(&meeting->place->busy, 0, 1)) {
        status = wait_until(meeting, is_free);
    }
    if (status == TERN_ERR_TIMEOUT) {
        return timed_out(meeting, UINT64_C(1) << meeting->group->rank);
    }
    TERN_TRY(status);
    open_place(meeting);
    status = wait_until(meeting, all_have_come);
    if (status == TERN_ERR_TIMEOUT) {
        uint64_t ranks = missing(meeting);
        status = ranks == 0 ? TERN_OK : timed_out(meeting, ranks);
    }
    close_place(meeting);
    return status;
}

static int differ(struct meeting *meeting, const struct tern__invite *theirs)
{
    char own[200];
    char other[200];
    struct tern__group *group = meeting->group;
    list(meeting->invite, own, sizeof own);
    list(theirs, other, sizeof other);
    return tern__group_fail(group, TERN_ERR_MISMATCH, -1,
                            "%s (tag %llu): rank %d names the ranks %s; rank %d the ranks %s",
                            tern__meeting_name(TERN__MEETING_GROUP),
                            (unsigned long long)theirs->tag, group->rank, own, theirs->ranks[0],
                            other);
}

// By another member: waits to be invited, reads, and says so.
static int accept(struct meeting *meeting)
{
    struct tern__group *group = meeting->group;
    struct tern__ctl_invite *place = meeting->place;
    struct tern__invite theirs;
    int leader = meeting->invite->ranks[0];
    do {
        int status = wait_until(meeting, is_invited);
        if (status == TERN_ERR_TIMEOUT) {
            return timed_out(meeting, UINT64_C(1) << leader);
        }
        TERN_TRY(status);
        theirs = (struct tern__invite){.tag = meeting->invite->tag,
                                       .count = (int)tern__peek(&place->count),
                                       .slot = {.number = (int)tern__peek(&place->slot),
                                                .generation = tern__peek(&place->generation)}};
        for (int i = 0; i < theirs.count && i < TERN_RANKS_MAX; i++) {
            theirs.ranks[i] =
                (int)(load(&place->ranks[i / PER_WORD]) >> (8 * (i % PER_WORD)) & 0xff);
        }
        atomic_thread_fence(
            memory_order_acquire); // what was read is of that number, if it is still
    } while (tern__flag_load(&place->number) != meeting->number);
    if (theirs.count != meeting->invite->count ||
        memcmp(theirs.ranks, meeting->invite->ranks, (size_t)theirs.count * sizeof(int)) != 0) {
        return differ(meeting, &theirs);
    }
    meeting->invite->slot = theirs.slot;
    tern__flag_store(&place->come[group->job->rank], meeting->number); // partner: missing
    tern__bell_ring(bell_of(group, leader));
    if (!tern__job_is_here(group->job, group->members[leader]) && group->job->far != NULL) {
        group->job->far->came(group, leader, meeting->number);
    }
    return TERN_OK;
}

int tern__group_invite(struct tern__group *group, struct tern__invite *invite)
{
    int leader = group->members[invite->ranks[0]];
    struct meeting meeting = {.group = group,
                              .invite = invite,
                              .place = &group->job->ctl->invites[leader]};
    TERN_TRY(tern__group_check(group, false));
    int status = invite->ranks[0] == group->rank ? lead(&meeting) : accept(&meeting);
    if (meeting.published) {
        tern__job_doing(group->job, TERN__DOING_OTHER, 0);
    }
    return status;
}
