// SPDX-License-Identifier: Apache-2.0
// A group of ranks of one job that meet: barrier, small exchange, and failing together. The part of
// a communicator that needs no windows.
#ifndef TERN_SYNC_GROUP_H
#define TERN_SYNC_GROUP_H

#include <stddef.h>
#include <stdint.h>

#include "sync/job.h"

// The public call that ranks meet in. Only barriers are counted for people.
enum tern__meeting_kind {
    TERN__MEETING_BARRIER,
    TERN__MEETING_SPLIT,
    TERN__MEETING_WINDOW,
    TERN__MEETING_EXEC,
    TERN__MEETING_TRACE,
    TERN__MEETING_GROUP,
    TERN__MEETING_POOL,
    TERN__MEETINGS,
};

struct tern__group {
    struct tern__job *job;
    struct tern__ctl_comm *shared;
    int slot;            // index of `shared` in the control memory; the communicator's number
    uint32_t generation; // of the slot: sync/slots.h
    int rank;
    int size;
    int members[TERN_RANKS_MAX]; // their ranks in the job
    int here;                    // how many of them are on this machine
    uint64_t away;               // other machines that have some: bit m
    // While it is made out of another group, on several machines: that one, without which it fails.
    // Where a member has died, others may have come through the last meeting there, or not.
    struct tern__group *parent;
    const uint64_t *made; // collective calls that this rank has entered; NULL: none
    uint64_t barriers;    // entered so far
    uint64_t
        barriers_before;   // of them, before the caller had the group: sentences do not count them
    _Atomic uint32_t told; // 1: this rank's log and other machines were told that it failed
    _Atomic uint64_t gone; // members that had left the job when this rank last looked
};

// Whether it is a split communicator's: its ranks may have other numbers in the job.
static inline bool tern__group_is_part(const struct tern__group *group)
{
    return group->slot != 0; // the first communicator of a job has slot 0
}

// A rank in a sentence: "rank 1", and in a group that is not the whole job, where the numbers may
// differ, "rank 1 (5 of the job)". Lives as long as the full expression that it is made in.
struct tern__rank_name {
    char text[40];
};
struct tern__rank_name tern__rank_name(const struct tern__group *group, int rank);

// "rank 3", "ranks 0, 4..6", and of a split communicator "ranks 0, 2 (1 and 5 of the job)".
void tern__ranks_text(const struct tern__group *group, uint64_t ranks, char *text, size_t size);

// Fills in where its members are, when all else of it is there. (far.c)
void tern__group_place(struct tern__group *group);

// Rings the bells of all members that sleep.
static inline void tern__group_ring(const struct tern__group *group)
{
    for (int rank = 0; rank < group->size; rank++) {
        tern__bell_ring(&group->job->ctl->ranks[group->members[rank]].bell);
    }
}

// fail.c

// Why the group does not work any more: TERN_OK, or the status and the sentence of its failure.
// `deep` looks whether the processes live. A member that has left is no failure.
int tern__group_check(struct tern__group *group, bool deep);

// Fails the group for all its ranks, unless it has failed already, and wakes them. culprit: a rank
// of the group, or -1. Returns the status the group has failed with, with its sentence, which
// begins with "communicator 3: " where the group is not the whole job.
int tern__group_fail(struct tern__group *group, int status, int culprit, const char *format, ...)
    TERN_PRINTF(4, 5);

// The same with TERN_ERR_TIMEOUT and "rank 0 waited 1 s in " (the deadline that passed), and with
// TERN_ERR_LEFT and "rank 2 has left the communicator (tern_comm_destroy)", before the caller's
// words.
int tern__group_timed_out(struct tern__group *group, int64_t waited_ns, int culprit,
                          const char *format, ...) TERN_PRINTF(4, 5);
int tern__group_has_left(struct tern__group *group, int rank, const char *format, ...)
    TERN_PRINTF(3, 4);

// The same for a communicator of which only the control memory is at hand, by its number.
void tern__ctl_comm_fail(struct tern__ctl *ctl, int slot, int status, int culprit,
                         const char *text);

// group.c

// Leaves the group and wakes the others; the last one gives its slot back. What is shared is not
// touched after that.
void tern__group_leave(struct tern__group *group);

// The lowest rank of the group that has left it, or -1.
int tern__group_left(const struct tern__group *group);

// All ranks enter before any leaves. Errors fail the group.
int tern__group_barrier(struct tern__group *group, enum tern__meeting_kind meeting);

// Every rank gives `size` bytes (at most TERN__CELL_BYTES) and gets those of all, in rank order.
// When a rank has come for another meeting, the group fails: TERN_ERR_MISMATCH, which says who is
// in which call.
int tern__group_exchange(struct tern__group *group, enum tern__meeting_kind meeting,
                         const void *mine, size_t size, void *all);

// Whether the cell is of the exchange that the barrier of this number ended.
bool tern__group_has_stamped(const struct tern__cell *cell, uint64_t number);

#endif
