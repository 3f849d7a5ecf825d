// SPDX-License-Identifier: Apache-2.0
// Invitations between machines: a copy of the first member's place on each machine that it invites
// ranks of, and word of who has come.

#include <string.h>

#include "net/control.h"
#include "sync/bell.h"

// A place on its way.
struct sent_place {
    uint32_t number;
    uint32_t slot_of_group;
    uint32_t slot, generation;
    uint32_t count, reserved;
    uint64_t tag;
    uint64_t ranks[TERN_RANKS_MAX / 8];
};

static uint64_t load(const _Atomic uint64_t *word)
{
    return atomic_load_explicit(word, memory_order_relaxed);
}

static void store(_Atomic uint64_t *word, uint64_t value)
{
    atomic_store_explicit(word, value, memory_order_relaxed);
}

void tern__net_invited(const struct tern__group *group, const struct tern__invite *invite)
{
    struct tern__job *job = group->job;
    const struct tern__ctl_invite *place = &job->ctl->invites[job->rank];
    struct sent_place sent = {.number = tern__flag_load(&place->number),
                              .slot_of_group = tern__peek(&place->slot_of_group),
                              .slot = tern__peek(&place->slot),
                              .generation = tern__peek(&place->generation),
                              .count = tern__peek(&place->count),
                              .tag = load(&place->tag)};
    for (int word = 0; word < TERN_RANKS_MAX / 8; word++) {
        sent.ranks[word] = load(&place->ranks[word]);
    }
    struct tern__net_message message = tern__net_about(group, TERN__NET_INVITED);
    message.rank = job->rank;
    message.bytes = sizeof sent;
    uint64_t members = 0;
    for (int i = 0; i < invite->count; i++) {
        members |= UINT64_C(1) << group->members[invite->ranks[i]];
    }
    tern__net_tell(job->net, members, &message, &sent);
}

void tern__net_came(const struct tern__group *group, int leader, uint32_t number)
{
    struct tern__net_message message = tern__net_about(group, TERN__NET_CAME);
    message.rank = group->members[leader];
    message.value = number;
    tern__net_tell(group->job->net, UINT64_C(1) << message.rank, &message, NULL);
}

static bool is_rank(const struct tern__job *job, int rank)
{
    return rank >= 0 && rank < job->nranks;
}

static void invited(struct tern__net *net, int peer, const struct tern__net_message *message,
                    const char *payload)
{
    struct tern__job *job = tern__net_job(net);
    struct sent_place sent;
    (void)peer;
    if (!is_rank(job, message->rank) || message->bytes != sizeof sent) {
        return;
    }
    memcpy(&sent, payload, sizeof sent);
    struct tern__ctl_invite *place = &job->ctl->invites[message->rank];
    tern__flag_store(&place->number, sent.number - 1); // even: nobody reads what changes now
    store(&place->tag, sent.tag);
    tern__poke(&place->slot_of_group, sent.slot_of_group);
    tern__poke(&place->slot, sent.slot);
    tern__poke(&place->generation, sent.generation);
    tern__poke(&place->count, sent.count);
    for (int word = 0; word < TERN_RANKS_MAX / 8; word++) {
        store(&place->ranks[word], sent.ranks[word]);
    }
    tern__flag_store(&place->number, sent.number); // partner: is_invited in sync/invite.c
    tern__ctl_ring_all(job->ctl);
}

static void came(struct tern__net *net, int peer, const struct tern__net_message *message,
                 const char *payload)
{
    struct tern__job *job = tern__net_job(net);
    (void)payload;
    if (is_rank(job, message->rank) && tern__job_is_here(job, message->rank)) {
        struct tern__ctl_invite *place = &job->ctl->invites[message->rank];
        tern__flag_store(&place->come[peer], (uint32_t)message->value); // partner: missing
        tern__bell_ring(&job->ctl->ranks[message->rank].bell);
    }
}

void tern__net_invite_start(struct tern__net *net)
{
    tern__net_handle(net, TERN__NET_INVITED, (struct tern__net_handler){.done = invited});
    tern__net_handle(net, TERN__NET_CAME, (struct tern__net_handler){.done = came});
}
