// SPDX-License-Identifier: Apache-2.0
// The hub of one of several machines, whose gathering is ended by the head of the job.

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "boot/hub_state.h"
#include "sync/job.h"

void tern__hub_spread(struct tern__hub *hub, uint64_t here, const uint8_t token[16],
                      void (*changed)(void *arg), void *arg)
{
    hub->spread = true;
    hub->here = here;
    memcpy(hub->job_token, token, sizeof hub->job_token);
    hub->changed = changed;
    hub->changed_arg = arg;
}

void tern__hub_present(const struct tern__hub *hub, struct tern__hub_present *present)
{
    *present = (struct tern__hub_present){.left_ns = INT64_MAX, .timeout_ns = INT64_MAX};
    present->ranks = hub->welcomes ? 0 : tern__hub_here(hub);
    for (int rank = 0; rank < hub->nranks; rank++) {
        present->ports[rank] = hub->members[rank].port;
    }
    int first = present->ranks != 0 ? tern__hub_most_urgent(hub) : -1;
    if (first >= 0) {
        present->left_ns = hub->members[first].deadline_ns - tern__now_ns();
        present->timeout_ns = hub->members[first].timeout_ns;
    }
    snprintf(present->refusal, sizeof present->refusal, "%.150s", hub->refusal);
}

bool tern__hub_release(struct tern__hub *hub, const struct tern__machines *machines)
{
    tern__hub_place(hub, machines);
    if (tern__hub_here(hub) != hub->here) {
        tern__hub_fail_gathering(hub, TERN_ERR_PEER,
                                 "a rank of this machine died before the job was complete");
        return false;
    }
    tern__hub_finish_gathering(hub);
    return hub->welcomes || hub->complete; // there may have been no memory
}

void tern__hub_give_up(struct tern__hub *hub, int status, const char *text)
{
    if (!hub->welcomes) {
        tern__hub_fail_gathering(hub, status, text);
    }
}

void tern__hub_remote_ended(struct tern__hub *hub, int rank, int wait_status, bool died)
{
    if (hub->ctl == NULL) {
        return;
    }
    struct tern__ctl_rank *slot = &hub->ctl->ranks[rank];
    tern__poke(&slot->wait_status, (uint32_t)wait_status);
    tern__publish(&slot->ended, TERN__END_STATUS); // partner: tern__ctl_death_text
    if (died) {
        tern__ctl_mark_dead(hub->ctl, rank);
    } else if (tern__flag_swap(&slot->state, TERN__RANK_ACTIVE, TERN__RANK_LEFT)) {
        tern__ctl_ring_all(hub->ctl);
    }
}

void tern__hub_remote_gone(struct tern__hub *hub, uint64_t ranks, int32_t silent_ms)
{
    for (uint64_t left = ranks & ~hub->here; hub->ctl != NULL && left != 0; left &= left - 1) {
        struct tern__ctl_rank *slot = &hub->ctl->ranks[__builtin_ctzll(left)];
        if (tern__observe(&slot->ended) == TERN__END_UNKNOWN) {
            tern__poke(&slot->wait_status, (uint32_t)silent_ms);
            tern__publish(&slot->ended, silent_ms > 0 ? TERN__END_SILENT : TERN__END_GONE);
        }
        tern__ctl_mark_dead(hub->ctl, __builtin_ctzll(left));
    }
}
