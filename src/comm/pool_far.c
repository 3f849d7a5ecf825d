// SPDX-License-Identifier: Apache-2.0
// Joining a pool whose ranks are on several machines. They know of each other by their cards, so
// all that is asked of the gathering (boot/star.h) is whether all have come with the same cards,
// and where each machine's control memory is: its lowest rank makes it anew for each attempt. What
// follows is a job of several machines as any other, but for the window, which is there already.
//
// Whether all could begin is agreed on before any returns: what comes for a window that a rank does
// not know is dropped.

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/digest.h"
#include "base/error.h"
#include "base/options.h"
#include "boot/env.h"
#include "boot/fork.h"
#include "boot/listen.h"
#include "boot/peer.h"
#include "boot/star.h"
#include "comm/fault.h"
#include "comm/pool_state.h"
#include "mem/memfd.h"

// What each rank gives.
struct given {
    uint64_t roster; // a digest of the cards that it has
    uint64_t window_bytes;
    uint32_t checks;
    uint32_t reserved;
    uint8_t token[16];      // of rank 0: the job's
    struct tern__shown ctl; // of a machine's lowest rank
};

// Of ranks of other machines, as far as it can be seen from here.
static int check_card(const struct tern__joining *joining, int rank)
{
    const struct tern__pool_card *card = &joining->cards[rank];
    const char *machine = joining->machines->list[joining->machines->of[rank]].name;
    char what[160];
    if (card->abi != TERN__CTL_ABI) {
        return tern__fail(TERN_ERR_MISMATCH,
                          "the window of rank %d was prepared by another version of tern", rank);
    }
    if (!tern__address_is_one(&card->address)) {
        return tern__fail(TERN_ERR_REFUSED,
                          "the window of rank %d is on machine %s, and its process could not "
                          "listen for ranks of other machines when it prepared it",
                          rank, machine);
    }
    snprintf(what, sizeof what, "the window of rank %d, of process %d on machine %s,", rank,
             (int)card->shown.pid, machine);
    return tern__user_check(card->shown.user, what);
}

static bool is_leader(const struct tern__joining *joining)
{
    return joining->machines->list[joining->machines->mine].leader == joining->pool->rank;
}

// This machine's, by its lowest rank.
static int make_ctl(const struct tern__joining *joining, struct tern__shown *shown)
{
    struct tern__job *job = joining->job;
    size_t bytes = tern__round_up(sizeof(struct tern__ctl), tern__page_bytes());
    void *base;
    TERN_TRY(tern__memfd_create("tern-control", bytes, false, &job->ctl_fd));
    TERN_TRY(tern__memfd_map(job->ctl_fd, sizeof *job->ctl, &base));
    job->ctl = base;
    tern__ctl_begin(job->ctl, job->nranks, job->here);
    job->ctl->machines = *joining->machines;
    tern__pool_count_alive(joining);
    return tern__shown_fill(job->ctl_fd, shown);
}

static int take_ctl(const struct tern__joining *joining, const struct given *given)
{
    struct tern__job *job = joining->job;
    int leader = joining->machines->list[joining->machines->mine].leader;
    char what[64];
    void *base;
    int pidfd;
    snprintf(what, sizeof what, "the control memory of rank %d", leader);
    TERN_TRY(tern__shown_open(&given[leader].ctl, what, &job->ctl_fd, &pidfd));
    close(pidfd); // that process is known already
    TERN_TRY(tern__memfd_map(job->ctl_fd, sizeof *job->ctl, &base));
    job->ctl = base;
    return TERN_OK;
}

static uint64_t roster_of(const struct tern__joining *joining)
{
    uint64_t digest = TERN__DIGEST_EMPTY;
    for (int rank = 0; rank < joining->pool->nranks; rank++) {
        digest =
            tern__digest_add(digest, joining->cards[rank].token, sizeof joining->cards[rank].token);
    }
    return digest;
}

static int compare(const struct tern__joining *joining, const struct given *given)
{
    int own = joining->pool->rank;
    for (int rank = 0; rank < joining->pool->nranks; rank++) {
        if (given[rank].roster != given[own].roster) {
            return tern__fail(TERN_ERR_MISMATCH,
                              "rank %d has imported other windows than rank %d; all import the "
                              "same descriptors",
                              rank, own);
        }
        TERN_TRY(
            tern__pool_compare(joining->pool, rank, given[rank].window_bytes, given[rank].checks));
    }
    return TERN_OK;
}

// Meets the others, and gets control memory that is that of all who are here.
static int gather(const struct tern__joining *joining)
{
    const struct tern__pool *pool = joining->pool;
    struct tern__job *job = joining->job;
    struct given mine = {.roster = roster_of(joining),
                         .window_bytes = pool->window_bytes,
                         .checks = tern__checking_asked()};
    struct given given[TERN_RANKS_MAX];
    char what[64];
    struct tern__star star = {.what = what,
                              .rank = pool->rank,
                              .nranks = pool->nranks,
                              .listener = pool->listener,
                              .at = &joining->machines->address[0],
                              .machines = joining->machines,
                              .token = joining->cards[0].token};
    snprintf(what, sizeof what, "the import of domain %llu", (unsigned long long)pool->id);
    TERN_TRY(tern__net_timeout_option(&star.silence_ns));
    TERN_TRY(tern__token_random(mine.token));
    if (is_leader(joining)) {
        TERN_TRY(make_ctl(joining, &mine.ctl));
    }
    TERN_TRY(tern__star_gather(&star, &mine, sizeof mine, given, job->timeout_ns));
    TERN_TRY(compare(joining, given));
    memcpy(job->token, given[0].token, sizeof job->token);
    return is_leader(joining) ? TERN_OK : take_ctl(joining, given);
}

static int open_network(const struct tern__joining *joining)
{
    struct tern__job *job = joining->job;
    job->listener = fcntl(joining->pool->listener, F_DUPFD_CLOEXEC, 0);
    if (job->listener < 0) {
        return tern__fail_errno(TERN_ERR_SYSTEM, "no descriptor for ranks of other machines");
    }
    TERN_TRY(tern__net_open(job));
    TERN_TRY(tern__pool_make_window(joining));
    return tern__net_reach(job);
}

// From here on the others see what this rank does. Returns when all have their windows.
static int enter(struct tern__joining *joining)
{
    struct tern__job *job = joining->job;
    TERN_TRY(tern__pool_make_comm(joining));
    struct tern__group *group = &joining->pool->comm->group;
    joining->entered = true;
    tern__job_enter(job);
    tern__fork_watch(job);
    tern__fault_watch_windows();
    int status = open_network(joining);
    if (status != TERN_OK) { // so nobody waits for this rank
        return tern__group_fail(group, status, group->rank, "rank %d cannot join: %s", group->rank,
                                tern_last_error());
    }
    // Who has come through the first one has heard of all machines; so have all others when it
    // comes through the second.
    status = tern__group_barrier(group, TERN__MEETING_POOL);
    status = status == TERN_OK ? tern__group_barrier(group, TERN__MEETING_POOL) : status;
    group->barriers_before = group->barriers;
    return status;
}

int tern__pool_join_far(struct tern__joining *joining)
{
    struct tern__pool *pool = joining->pool;
    for (int rank = 0; rank < pool->nranks; rank++) {
        TERN_TRY(check_card(joining, rank));
    }
    TERN_TRY(tern__pool_take(joining));
    TERN_TRY(gather(joining));
    joining->job->machines = &joining->job->ctl->machines;
    joining->job->leaves_at_once = true;
    return enter(joining);
}
