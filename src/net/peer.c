// SPDX-License-Identifier: Apache-2.0
// What is known of a rank of another machine: whether it is still there, and what it has stored.

#include <poll.h>

#include "base/clock.h"
#include "base/error.h"
#include "net/state.h"

#define LEADER_SAYS_MS 50

bool tern__net_is_gone(const struct tern__net *net, int rank)
{
    uint32_t state = tern__flag_load(&net->job->ctl->ranks[rank].state);
    return state == TERN__RANK_DEAD || state == TERN__RANK_LEFT;
}

int tern__net_say_gone(const struct tern__net *net, int rank)
{
    char text[160];
    if (tern__flag_load(&net->job->ctl->ranks[rank].state) == TERN__RANK_LEFT) {
        return tern__fail(TERN_ERR_PEER, "rank %d has left the job", rank);
    }
    tern__ctl_death_text(net->job->ctl, rank, text, sizeof text);
    return tern__fail(TERN_ERR_PEER, "%s", text);
}

// What others know of a failure they tell the leader of this machine before they end. So who is no
// leader gives it a moment: else a rank that ends because of a failure might be taken for its
// reason.
static void await_leader(const struct tern__net *net, int rank)
{
    const struct tern__ctl *ctl = net->job->ctl;
    const struct tern__machines *machines = net->job->machines;
    int leader = machines->list[machines->mine].leader;
    int64_t until_ns = tern__now_ns() + LEADER_SAYS_MS * TERN_NS_PER_MS;
    while (leader != net->job->rank && tern__flag_load(&net->stop) == 0 &&
           tern__flag_load(&ctl->ranks[leader].state) == TERN__RANK_ACTIVE &&
           tern__flag_load(&ctl->ranks[rank].state) == TERN__RANK_ACTIVE &&
           tern__flag_load(&ctl->failure) == TERN__WORKING && tern__ctl_first_dead(ctl) < 0 &&
           tern__now_ns() < until_ns) {
        poll(NULL, 0, 1);
    }
}

void tern__net_lost(struct tern__net *net, int rank)
{
    await_leader(net, rank);
    tern__job_await_launcher(net->job, rank, -1, &net->stop);
    if (tern__flag_load(&net->stop) == 0 && !tern__net_is_gone(net, rank)) {
        tern__ctl_mark_dead(net->job->ctl, rank);
    }
}

void tern__net_flushed(struct tern__net *net, int peer, uint64_t number)
{
    atomic_store_explicit(&net->peers[peer].flushed, number, memory_order_seq_cst);
    tern__bell_ring(&net->job->ctl->ranks[net->job->rank].bell); // partner: is_flushed
}
