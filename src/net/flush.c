// SPDX-License-Identifier: Apache-2.0
// Until all that was sent has been stored. Rank r's bit of net->unconfirmed is set before a message
// to r is begun, and cleared only when a FLUSHED has come back that was asked for behind the last
// message of the stream: both under the lock of the stream. So a thread that finds the bit clear
// has sent nothing to r that is not stored there, nor has any thread whose sending it knows of; and
// a bit that is set by a message that is just being sent costs a flush at most. Likewise of
// net->unfenced, and what a fence waits for.

#include <stdatomic.h>

#include "base/error.h"
#include "boot/listen.h"
#include "net/state.h"
#include "sync/interrupt.h"
#include "sync/wait.h"

struct flush_wait {
    struct tern__net *net;
    int rank;
    uint64_t number;
    const _Atomic uint32_t *failed; // of the group it is for
};

static bool is_flushed(void *arg)
{
    const struct flush_wait *wait = arg;
    return atomic_load_explicit(&wait->net->peers[wait->rank].flushed, memory_order_seq_cst) >=
           wait->number; // partner: take in receive.c
}

static int flush_broken(void *arg, bool deep)
{
    const struct flush_wait *wait = arg;
    struct tern__job *job = wait->net->job;
    if (deep) {
        tern__job_look(job);
    }
    if (tern__net_is_gone(wait->net, wait->rank)) {
        return tern__net_say_gone(wait->net, wait->rank);
    }
    int dead = tern__ctl_first_dead(job->ctl); // others have failed by it, and may answer nobody
    if (dead >= 0) {
        return tern__net_say_gone(wait->net, dead);
    }
    if (tern__flag_load(&job->ctl->comms[0].failed) != TERN__WORKING ||
        tern__flag_load(wait->failed) != TERN__WORKING) {
        return tern__fail(TERN_ERR_PEER, "the job has failed"); // nobody waits for its network
    }
    return deep && tern__interrupt_now
               ? tern__fail(TERN_ERR_INTERRUPTED, "rank %d was interrupted", job->rank)
               : TERN_OK;
}

static int await_flush(struct flush_wait wait, int64_t timeout_ns)
{
    struct tern__net *net = wait.net;
    struct tern__ladder ladder = tern__job_ladder(net->job);
    struct tern__wait climb = {.bell = &net->job->ctl->ranks[net->job->rank].bell,
                               .ladder = &ladder,
                               .timeout_ns = timeout_ns,
                               .holds = is_flushed,
                               .broken = flush_broken,
                               .arg = &wait};
    int status = tern__ladder_climb(&climb);
    return status == TERN_ERR_TIMEOUT
               ? tern__fail(status, "rank %d at %s did not confirm what it was sent within %.3g s",
                            wait.rank,
                            tern__address_text(&net->job->machines->address[wait.rank]).text,
                            (double)timeout_ns * 1e-9)
               : status;
}

// Asks, unless somebody has since the last message. *number 0: there is nothing to wait for.
static int ask(struct tern__net *net, int rank, uint64_t *number)
{
    struct tern__net_peer *peer = &net->peers[rank];
    int status = TERN_OK;
    pthread_mutex_lock(&peer->lock);
    uint64_t bit = UINT64_C(1) << rank;
    if ((atomic_load_explicit(&net->unconfirmed, memory_order_relaxed) & bit) == 0) {
        *number = 0;
    } else if (peer->asked == peer->sent) {
        *number = peer->flushes;
    } else {
        struct tern__net_message flush = {.kind = TERN__NET_FLUSH, .value = peer->flushes + 1};
        status = tern__net_write(net, rank, &flush);
        if (status == TERN_OK) {
            peer->asked = peer->sent;
            *number = ++peer->flushes;
        }
    }
    pthread_mutex_unlock(&peer->lock);
    return status;
}

static void confirm(struct tern__net *net, int rank)
{
    struct tern__net_peer *peer = &net->peers[rank];
    pthread_mutex_lock(&peer->lock);
    if (peer->asked == peer->sent &&
        atomic_load_explicit(&peer->flushed, memory_order_relaxed) >= peer->flushes) {
        uint64_t others = ~(UINT64_C(1) << rank);
        atomic_fetch_and_explicit(&net->unconfirmed, others, memory_order_seq_cst);
        atomic_fetch_and_explicit(&net->unfenced, others, memory_order_seq_cst);
    }
    pthread_mutex_unlock(&peer->lock);
}

// A rank that leaves meanwhile, as ranks of jobs do that leave at once, is no failure: what was
// sent to it is nowhere, and nobody waits for it.
static int unless_left(const struct tern__net *net, int status)
{
    return status == TERN_ERR_PEER && tern__net_works(net) ? TERN_OK : status;
}

// Of what was sent to these ranks.
static int flush(struct tern__net *net, uint64_t ranks, const _Atomic uint32_t *failed,
                 int64_t timeout_ns)
{
    if (ranks == 0) {
        return TERN_OK;
    }
    uint64_t numbers[TERN_RANKS_MAX] = {0};
    int status = TERN_OK;
    for (uint64_t left = ranks; left != 0; left &= left - 1) {
        int rank = __builtin_ctzll(left);
        // What was sent to a rank that is gone is nowhere: who waits for that rank is told.
        int now = tern__net_is_gone(net, rank) ? TERN_OK : ask(net, rank, &numbers[rank]);
        status = status == TERN_OK ? unless_left(net, now) : status;
    }
    for (uint64_t left = ranks; left != 0; left &= left - 1) {
        int rank = __builtin_ctzll(left);
        if (numbers[rank] != 0) {
            int now =
                await_flush((struct flush_wait){net, rank, numbers[rank], failed}, timeout_ns);
            status = status == TERN_OK ? unless_left(net, now) : status;
            confirm(net, rank);
        }
    }
    return status;
}

int tern__net_flush_within(struct tern__net *net, bool all, const _Atomic uint32_t *failed,
                           int64_t timeout_ns)
{
    const _Atomic uint64_t *ranks = all ? &net->unconfirmed : &net->unfenced;
    tern__net_show_order(net);
    return flush(net, atomic_load_explicit(ranks, memory_order_seq_cst), failed, timeout_ns);
}

int tern__net_flush(struct tern__net *net, int except)
{
    uint64_t others = except >= 0 ? ~(UINT64_C(1) << except) : UINT64_MAX;
    tern__net_show_order(net);
    return flush(net, atomic_load_explicit(&net->unfenced, memory_order_seq_cst) & others,
                 &net->job->ctl->comms[0].failed, net->job->timeout_ns);
}
