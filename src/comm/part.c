// SPDX-License-Identifier: Apache-2.0
// Communicators made from others: split, which all ranks call, and groups, which only their members
// do. Set-up path.

#include <string.h>

#include "base/error.h"
#include "base/public.h"
#include "comm/area.h"
#include "comm/comm.h"
#include "comm/window.h"
#include "sync/far.h"
#include "sync/invite.h"
#include "sync/slots.h"

// What a rank says in a split, and where its part's shared state is.
struct split_choice {
    int32_t color;
    int32_t key;
};

// Fills in the members that chose this rank's colour, ordered by (key, rank); members are ranks of
// the parent.
static void choose_members(const struct split_choice *choices, const struct tern__group *parent,
                           struct tern__group *part)
{
    int color = choices[parent->rank].color;
    for (int rank = 0; rank < parent->size; rank++) {
        if (choices[rank].color != color) {
            continue;
        }
        int at = part->size++;
        while (at > 0 && choices[part->members[at - 1]].key > choices[rank].key) {
            part->members[at] = part->members[at - 1];
            at--;
        }
        part->members[at] = rank;
    }
}

// The slot is the communicator's, and `made` has its members, as ranks of the parent.
static void place_part(const tern_comm *comm, struct tern__slot slot, tern_comm *made)
{
    const struct tern__group *parent = &comm->group;
    struct tern__group *group = &made->group;
    group->job = parent->job;
    group->slot = slot.number;
    group->generation = slot.generation;
    group->shared = &group->job->ctl->comms[slot.number];
    for (int rank = 0; rank < group->size; rank++) {
        group->rank = group->members[rank] == parent->rank ? rank : group->rank;
        made->xports[rank] = comm->xports[group->members[rank]];
        group->members[rank] = parent->members[group->members[rank]];
    }
    tern__slot_ready(group->job, slot, group->size);
    tern__group_place(group);
}

// `made` has its members, as ranks of the parent; the slot has no number when there was none. Frees
// it when it fails.
static int begin_part(const char *call, tern_comm *comm, struct tern__slot slot, tern_comm *made)
{
    struct tern__group *group = &made->group;
    if (slot.number < 0) {
        tern__handle_free(made, sizeof *made);
        return tern__slots_exhausted(comm->group.job, call);
    }
    place_part(comm, slot, made);
    made->parent = comm;
    tern__comm_gains(comm, TERN__CHILD_PART);
    group->parent = group->away != 0 ? &comm->group : NULL;
    int status =
        tern__window_create_sparse(made, tern__area_bytes(group->size, group->job->net != NULL),
                                   &made->area);
    group->parent = NULL;
    if (status != TERN_OK) {
        tern_comm_destroy(made);
    }
    return status;
}

static int comm_split(tern_comm *comm, int color, int key, tern_comm **part)
{
    TERN_TRY(tern__comm_lives("tern_comm_split", comm));
    if (part == NULL) {
        return tern__fail(TERN_ERR_ARG, "tern_comm_split: part must not be NULL");
    }
    struct tern__group *parent = &comm->group;
    struct split_choice mine = {.color = color < 0 ? -1 : color, .key = key};
    struct split_choice choices[TERN_RANKS_MAX];
    struct tern__slot slots[TERN_RANKS_MAX];
    tern_comm *made = tern__handle_new(TERN__COMM, sizeof *made);
    struct tern__slot slot = {.number = -1};
    int status = tern__group_exchange(parent, TERN__MEETING_SPLIT, &mine, sizeof mine, choices);
    if (status == TERN_OK && made != NULL && color >= 0) {
        choose_members(choices, parent, &made->group);
        if (made->group.members[0] == parent->rank) {
            slot = tern__slot_take(parent->job, made->group.size);
        }
    }
    if (status == TERN_OK) {
        status = tern__group_exchange(parent, TERN__MEETING_SPLIT, &slot, sizeof slot, slots);
    }
    if (status == TERN_OK && made == NULL) {
        status = tern__fail(TERN_ERR_MEMORY, "no memory for a communicator");
    }
    if (status != TERN_OK || color < 0) {
        tern__handle_free(made, sizeof *made);
        *part = status == TERN_OK ? NULL : *part;
        return status;
    }
    TERN_TRY(begin_part("tern_comm_split", comm, slots[made->group.members[0]], made));
    *part = made;
    return TERN_OK;
}

int tern_comm_split(tern_comm *comm, int color, int key, tern_comm **part)
{
    return TERN__CALL_OF_CALLS(comm_split(comm, color, key, part));
}

// TERN_OK when ranks[0..count-1] are different ranks of the group, the caller among them.
static int check_members(const struct tern__group *group, const int *ranks, int count)
{
    uint64_t seen = 0;
    if (ranks == NULL || count < 1 || count > group->size) {
        return tern__fail(
            TERN_ERR_ARG,
            "tern_comm_create_group: %d ranks%s; expected 1 to %d of the communicator", count,
            ranks == NULL ? " at NULL" : "", group->size);
    }
    for (int i = 0; i < count; i++) {
        if (ranks[i] < 0 || ranks[i] >= group->size) {
            return tern__fail(TERN_ERR_ARG,
                              "tern_comm_create_group: ranks[%d] is %d; the communicator has the "
                              "ranks 0 to %d",
                              i, ranks[i], group->size - 1);
        }
        if ((seen >> ranks[i] & 1) != 0) {
            return tern__fail(TERN_ERR_ARG, "tern_comm_create_group: rank %d is named twice",
                              ranks[i]);
        }
        seen |= UINT64_C(1) << ranks[i];
    }
    if ((seen >> group->rank & 1) == 0) {
        return tern__fail(TERN_ERR_ARG,
                          "tern_comm_create_group: the caller, rank %d, is not among the ranks; "
                          "only members make the call",
                          group->rank);
    }
    return TERN_OK;
}

// Members that have come are in it, hence its slot stays taken.
static void fail_part(tern_comm *comm, struct tern__slot slot, int status, tern_comm *made)
{
    place_part(comm, slot, made);
    tern__ctl_comm_fail(made->group.job->ctl, slot.number, status, -1, tern_last_error());
    tern__far_tell_failure(&made->group);
}

static int comm_create_group(tern_comm *comm, const int *ranks, int count, uint64_t tag,
                             tern_comm **part)
{
    TERN_TRY(tern__comm_lives("tern_comm_create_group", comm));
    if (part == NULL) {
        return tern__fail(TERN_ERR_ARG, "tern_comm_create_group: part must not be NULL");
    }
    struct tern__group *parent = &comm->group;
    TERN_TRY(check_members(parent, ranks, count));
    TERN_TRY(tern__comm_check(comm));
    tern_comm *made = tern__handle_new(TERN__COMM, sizeof *made);
    if (made == NULL) {
        return tern__fail(TERN_ERR_MEMORY, "no memory for a communicator");
    }
    struct tern__invite invite = {.tag = tag, .count = count};
    made->group.size = count;
    for (int i = 0; i < count; i++) {
        made->group.members[i] = ranks[i];
        invite.ranks[i] = ranks[i];
    }
    bool first = ranks[0] == parent->rank;
    if (first) {
        invite.slot = tern__slot_take(parent->job, count);
    }
    int status = tern__group_invite(parent, &invite);
    if (status != TERN_OK) {
        if (first && invite.slot.number >= 0) {
            fail_part(comm, invite.slot, status, made);
        }
        tern__handle_free(made, sizeof *made);
        return status;
    }
    TERN_TRY(begin_part("tern_comm_create_group", comm, invite.slot, made));
    *part = made;
    return TERN_OK;
}

int tern_comm_create_group(tern_comm *comm, const int *ranks, int count, uint64_t tag,
                           tern_comm **part)
{
    return TERN__CALL_OF_CALLS(comm_create_group(comm, ranks, count, tag, part));
}
