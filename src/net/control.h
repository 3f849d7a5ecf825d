// SPDX-License-Identifier: Apache-2.0
// What machines tell each other about their communicators.
#ifndef TERN_NET_CONTROL_H
#define TERN_NET_CONTROL_H

#include "net/net.h"
#include "sync/far.h"
#include "sync/group.h"

extern const struct tern__far tern__net_far;

// Of a rank that could not join, when the group has failed: whoever has connected to it is told
// why, and that nothing more will come. Of a leader that has no network all ranks of other machines
// will connect: those are waited for, a second at most. The listener does not block.
void tern__net_decline(const struct tern__group *group, int listener);

// A message about the group.
static inline struct tern__net_message tern__net_about(const struct tern__group *group,
                                                       enum tern__net_kind kind)
{
    return (struct tern__net_message){.kind = kind,
                                      .slot = (uint32_t)group->slot,
                                      .generation = group->generation,
                                      .word = (uint32_t)group->size};
}

// control_invite.c: of tern__net_far, and the handlers of what they send.
void tern__net_invited(const struct tern__group *group, const struct tern__invite *invite);
void tern__net_came(const struct tern__group *group, int leader, uint32_t number);
void tern__net_invite_start(struct tern__net *net);

// control_beat.c.
int tern__net_beat_start(struct tern__net *net);

#endif
