// SPDX-License-Identifier: Apache-2.0
// Some ranks of a group meet without the others: the first of them says who takes part, and waits
// until all have read it.
#ifndef TERN_SYNC_INVITE_H
#define TERN_SYNC_INVITE_H

#include "sync/group.h"
#include "sync/slots.h"

// What all members pass alike, but for `slot`, which the first of them gives and the others get.
struct tern__invite {
    uint64_t tag;
    int count;
    int ranks[TERN_RANKS_MAX]; // of the group; all different, the caller among them
    struct tern__slot slot;
};

// Returns when all members are in it. Several invitations of one rank, by several threads, are read
// one after the other. Errors, which fail the group: TERN_ERR_MISMATCH when members differ in the
// ranks, a member that dies, leaves, or does not come in time.
int tern__group_invite(struct tern__group *group, struct tern__invite *invite);

#endif
