// SPDX-License-Identifier: Apache-2.0
// Joining a pool. Who joins becomes a rank of a job of its own making: its control memory is rank
// 0's, its peers are known by the pidfds that came with their memory, and it has no inboxes, as
// nothing is handed over any more.

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "boot/exchange.h"
#include "boot/fork.h"
#include "boot/join.h"
#include "comm/pool_state.h"
#include "mem/memfd.h"
#include "net/control.h"

// Not 0.
static uint64_t mark_of(const struct tern__pool_card *card)
{
    uint64_t mark;
    memcpy(&mark, card->token, sizeof mark);
    return mark | 1;
}

// All that join have the same memory of every rank.
static int sign_roster(const struct tern__joining *joining)
{
    for (int sign = 0; sign <= 1; sign++) { // nothing is signed where something is wrong
        for (int rank = 0; rank < joining->pool->nranks; rank++) {
            uint64_t mark = mark_of(&joining->cards[rank]);
            uint64_t found = atomic_load(&joining->first->roster[rank]);
            if (found == 0 && sign != 0 &&
                atomic_compare_exchange_strong(&joining->first->roster[rank], &found, mark)) {
                continue;
            }
            if (found != 0 && found != mark) {
                return tern__fail(TERN_ERR_MISMATCH,
                                  "another rank has imported another window of rank %d; all "
                                  "import the same descriptors",
                                  rank);
            }
        }
    }
    return TERN_OK;
}

// Gives back what a rank that cannot join has got; its own part stays where it is.
static void give_up(struct tern__joining *joining)
{
    struct tern__pool *pool = joining->pool;
    tern_window_release(pool->window);
    pool->window = NULL;
    if (pool->comm != NULL) {
        bool mapped = pool->comm->checking == NULL; // else it goes with its window
        joining->watch = mapped ? joining->watch : NULL;
        if (joining->entered) {
            tern__net_decline(&pool->comm->group, pool->listener);
            tern_comm_destroy(pool->comm);
            joining->job = NULL;
        } else {
            tern__checking_destroy(pool->comm);
            tern__handle_free(pool->comm, sizeof *pool->comm);
        }
        pool->comm = NULL;
    }
    tern__memfd_unmap(joining->watch, tern__pool_watch_bytes() * (size_t)pool->nranks);
    for (int rank = 0; rank < pool->nranks; rank++) {
        void *there;
        if (rank != pool->rank) { // in the place of a mapping: needs no memory
            (void)tern__memfd_reserve(pool->part_bytes,
                                      pool->base + (size_t)rank * pool->part_bytes, &there);
        }
    }
    if (joining->job != NULL) {
        tern__job_close(joining->job);
        tern__job_let_go(joining->job);
    }
}

// All ranks are on this machine.
static int join_here(struct tern__joining *joining)
{
    TERN_TRY(tern__pool_take(joining));
    TERN_TRY(tern__pool_make_comm(joining));
    TERN_TRY(tern__pool_make_window(joining));
    TERN_TRY(sign_roster(joining));
    // Who dies before it has joined is missed by those who wait.
    tern__pool_count_alive(joining);
    tern__job_enter(joining->job);
    tern__fork_watch(joining->job);
    return TERN_OK;
}

static void find_machines(const struct tern__pool *pool, const struct tern__pool_card *cards,
                          struct tern__machines *machines)
{
    struct tern__seat seats[TERN_RANKS_MAX];
    for (int rank = 0; rank < pool->nranks; rank++) {
        const struct tern__shown *shown = &cards[rank].shown;
        seats[rank] =
            (struct tern__seat){shown->machine, shown->machine_name, &cards[rank].address};
    }
    tern__machines_place(seats, pool->rank, pool->nranks, machines);
}

int tern__pool_join(struct tern__pool *pool, const struct tern__pool_card *cards)
{
    struct tern__machines machines = {0};
    struct tern__joining joining = {.pool = pool, .cards = cards};
    find_machines(pool, cards, &machines);
    joining.machines = machines.count > 1 ? &machines : NULL;
    int status = joining.machines == NULL ? join_here(&joining) : tern__pool_join_far(&joining);
    tern__memfd_unmap(joining.first, sizeof *joining.first);
    if (status != TERN_OK) {
        char sentence[TERN_ERROR_BYTES];
        snprintf(sentence, sizeof sentence, "%s", tern_last_error());
        give_up(&joining);
        return tern__fail(status, "%s", sentence);
    }
    if (pool->listener >= 0) { // of several machines the job has it, at a descriptor of its own
        close(pool->listener);
        pool->listener = -1;
    }
    pool->context = *tern_window_context(pool->window);
    pool->context.winSize = pool->window_bytes;
    return TERN_OK;
}
