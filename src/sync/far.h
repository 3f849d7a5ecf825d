// SPDX-License-Identifier: Apache-2.0
// What the ranks of a group tell those on other machines. The words in the control memory mean on
// each machine what they mean on one: what is told is stored there, by the machine's leader, as if
// the ranks that tell it had done so. Where all ranks are on one machine, there is nothing to do.
#ifndef TERN_SYNC_FAR_H
#define TERN_SYNC_FAR_H

#include "sync/group.h"
#include "sync/invite.h"
#include "sync/selected.h"

// Who does it: src/net/control.c. None of these waits longer than the ranks they tell live.
struct tern__far {
    // What this process has sent to ranks of other machines is stored there, but for those that
    // have died or left: what they may look for when they hear that this rank has come somewhere;
    // or, when it leaves, all. Fails when `failed` says that a group has, or after so long.
    int (*flush)(struct tern__job *job, bool leaves, const _Atomic uint32_t *failed,
                 int64_t timeout_ns);
    // What others have sent to this process, and know to be stored, is seen by this thread.
    void (*see)(struct tern__job *job);
    // The members here have come to the barrier of this number, with their cells.
    void (*arrived)(const struct tern__group *group, uint64_t number);
    // The group has failed, with the reason that is in its control memory.
    void (*failed)(const struct tern__group *group);
    // This rank has invited others (sync/invite.h); this rank has come to an invitation.
    void (*invited)(const struct tern__group *group, const struct tern__invite *invite);
    void (*came)(const struct tern__group *group, int leader, uint32_t number);
    // This rank is the first here to select for a kind of collective (sync/selected.h).
    void (*selected)(const struct tern__group *group, const struct tern__selected *selected);
    // This rank has left the group.
    void (*left)(const struct tern__group *group);
};

// Whether there are others. One load.
static inline bool tern__far_is(const struct tern__group *group)
{
    return __builtin_expect(group->job->far != NULL, 0);
}

// Before this rank says that it has come somewhere: what it has sent is there. The group fails when
// that cannot be.
int tern__far_flush(struct tern__group *group, int64_t timeout_ns);

// This rank comes to a barrier; the last one here tells the others.
void tern__far_arrive(const struct tern__group *group, uint64_t number);

// The group has failed: by each rank that notices, before its call returns. (fail.c)
void tern__far_tell_failure(const struct tern__group *group);

// This rank is about to leave: what it has sent is there, or why the group has failed is known,
// before others are told that it has left.
void tern__far_leaves(struct tern__group *group);

// It has left. Of the first communicator: waits until all have, or something has failed, since
// leaders receive for their machine until the end (job->leaves_at_once: not then). Of another one,
// nothing shared is touched.
void tern__far_left(struct tern__group *group);

#endif
