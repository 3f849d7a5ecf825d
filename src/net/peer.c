// SPDX-License-Identifier: Apache-2.0
// What is known of a rank of another machine: whether it is still there, and what it has stored.

#include <poll.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "net/state.h"
#include "sync/group.h"

#define LEADER_SAYS_MS 50

bool tern__net_is_gone(const struct tern__net *net, int rank)
{
    uint32_t state = tern__flag_load(&net->job->ctl->ranks[rank].state);
    return state == TERN__RANK_DEAD || state == TERN__RANK_LEFT;
}

bool tern__net_works(const struct tern__net *net)
{
    const struct tern__ctl *ctl = net->job->ctl;
    return tern__ctl_first_dead(ctl) < 0 && tern__flag_load(&ctl->comms[0].failed) == TERN__WORKING;
}

void tern__net_lack(const struct tern__net *net, const char *what)
{
    char text[120];
    snprintf(text, sizeof text, "rank %d has no memory %s", net->job->rank, what);
    tern__ctl_comm_fail(net->job->ctl, 0, TERN_ERR_MEMORY, net->job->rank, text);
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

// Whether others may still say how that rank has ended, which was seen then: its launcher, or, to
// who is no leader, the leader of this machine. What others know of a failure they tell that one
// before they end; else a rank that ends because of a failure might be taken for its reason.
static bool may_be_told(const struct tern__net *net, int rank, int64_t since_ns)
{
    const struct tern__ctl *ctl = net->job->ctl;
    const struct tern__machines *machines = net->job->machines;
    int leader = machines->list[machines->mine].leader;
    bool leader_says = leader != net->job->rank &&
                       tern__flag_load(&ctl->ranks[leader].state) == TERN__RANK_ACTIVE &&
                       tern__flag_load(&ctl->failure) == TERN__WORKING &&
                       tern__ctl_first_dead(ctl) < 0 &&
                       tern__now_ns() - since_ns < LEADER_SAYS_MS * TERN_NS_PER_MS;
    return tern__flag_load(&net->stop) == 0 && !tern__net_is_gone(net, rank) &&
           (leader_says || tern__job_launcher_may_say(net->job, rank, since_ns));
}

static void mark_lost(const struct tern__net *net, int rank)
{
    if (tern__flag_load(&net->stop) == 0 && !tern__net_is_gone(net, rank)) {
        tern__job_look(net->job); // it may have ended because of a rank here, which died first
        tern__ctl_mark_dead(net->job->ctl, rank);
    }
}

void tern__net_await_loss(const struct tern__net *net, int rank)
{
    int64_t since_ns = tern__now_ns();
    while (may_be_told(net, rank, since_ns)) {
        poll(NULL, 0, 1);
    }
    mark_lost(net, rank);
}

bool tern__net_losing(struct tern__net *net)
{
    while (net->nlost > 0 && !may_be_told(net, net->lost[0], net->lost_ns)) {
        mark_lost(net, net->lost[0]);
        net->nlost--;
        memmove(net->lost, net->lost + 1, (size_t)net->nlost * sizeof net->lost[0]);
        net->lost_ns = tern__now_ns();
    }
    return net->nlost > 0;
}

void tern__net_lost(struct tern__net *net, int rank)
{
    for (int i = 0; i < net->nlost; i++) {
        if (net->lost[i] == rank) {
            return;
        }
    }
    if (tern__net_is_gone(net, rank)) {
        return;
    }
    net->lost_ns = net->nlost == 0 ? tern__now_ns() : net->lost_ns;
    net->lost[net->nlost++] = (uint8_t)rank;
    if (tern__net_losing(net)) {
        tern__net_wake(net);
    }
}

void tern__net_flushed(struct tern__net *net, int peer, uint64_t number)
{
    atomic_store_explicit(&net->peers[peer].flushed, number, memory_order_seq_cst);
    tern__bell_ring(&net->job->ctl->ranks[net->job->rank].bell); // partner: is_flushed
}
