// SPDX-License-Identifier: Apache-2.0
// Joining a pool. Who joins becomes a rank of a job of its own making: its control memory is rank
// 0's, its peers are known by the pidfds that came with their memory, and it has no inboxes, as
// nothing is handed over any more.

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/options.h"
#include "boot/fork.h"
#include "boot/join.h"
#include "comm/pool_state.h"
#include "mem/memfd.h"

// What a rank has of the others while it joins.
struct joining {
    struct tern__pool *pool;
    const struct tern__pool_card *cards;
    struct tern__job *job;
    struct tern__pool_head *first; // rank 0's
    char *watch;                   // in checking mode: the parts of tern__watch_part
};

// Whether the memory is what the card says, and goes with this rank's.
static int check_head(const struct tern__pool *pool, int rank, int fd, const uint8_t token[16])
{
    struct tern__pool_head head;
    struct stat memory;
    if (fstat(fd, &memory) != 0 || pread(fd, &head, sizeof head, 0) != (ssize_t)sizeof head ||
        head.magic != TERN__POOL_MAGIC || memcmp(head.token, token, sizeof head.token) != 0) {
        return tern__fail(TERN_ERR_LEFT,
                          "the window of rank %d is gone: its process has another "
                          "file in its place",
                          rank);
    }
    if (head.id != pool->id || head.rank != (uint32_t)rank ||
        head.nranks != (uint32_t)pool->nranks) {
        return tern__fail(TERN_ERR_MISMATCH,
                          "what is given for rank %d of %d of domain %llu was prepared for rank %u "
                          "of %u of domain %llu",
                          rank, pool->nranks, (unsigned long long)pool->id, head.rank, head.nranks,
                          (unsigned long long)head.id);
    }
    if (head.window_bytes != pool->window_bytes ||
        memory.st_size != (off_t)(tern__pool_part_begin() + pool->part_bytes)) {
        return tern__fail(TERN_ERR_MISMATCH,
                          "the window of rank %d has %llu bytes, that of rank %d has %zu; all "
                          "prepare the same size",
                          rank, (unsigned long long)head.window_bytes, pool->rank,
                          pool->window_bytes);
    }
    int checks = tern__checking_asked();
    if (head.checks != (uint32_t)checks) {
        return tern__fail(TERN_ERR_MISMATCH,
                          "rank %d has TERN_ISA_CHECK in its environment, rank %d has not; all "
                          "ranks run in checking mode, or none",
                          checks ? pool->rank : rank, checks ? rank : pool->rank);
    }
    return TERN_OK;
}

static int map_rank(struct joining *joining, int rank, int fd)
{
    struct tern__pool *pool = joining->pool;
    void *there;
    if (rank != pool->rank) {
        TERN_TRY(tern__memfd_map_at(fd, tern__pool_part_begin(), pool->part_bytes,
                                    pool->base + (size_t)rank * pool->part_bytes, &there));
    }
    if (joining->watch != NULL) {
        TERN_TRY(tern__memfd_map_at(fd, tern__pool_watch_begin(), tern__pool_watch_bytes(),
                                    joining->watch + (size_t)rank * tern__pool_watch_bytes(),
                                    &there));
    }
    if (rank == 0) {
        TERN_TRY(tern__memfd_map_at(fd, 0, sizeof(struct tern__pool_head), NULL, &there));
        joining->first = there;
        TERN_TRY(
            tern__memfd_map_at(fd, tern__pool_ctl_begin(), sizeof(struct tern__ctl), NULL, &there));
        joining->job->ctl = there;
    }
    return TERN_OK;
}

static int take_rank(struct joining *joining, int rank)
{
    const struct tern__pool_card *card = &joining->cards[rank];
    char what[64];
    int fd;
    if (rank == joining->pool->rank) {
        return map_rank(joining, rank, joining->pool->fd);
    }
    snprintf(what, sizeof what, "the window of rank %d", rank);
    if (card->abi != TERN__CTL_ABI) {
        return tern__fail(TERN_ERR_MISMATCH, "%s was prepared by another version of tern", what);
    }
    int status = tern__shown_open(&card->shown, what, &fd, &joining->job->pidfd[rank]);
    if (status != TERN_OK) {
        return tern__shown_is_here(&card->shown)
                   ? status
                   : tern__fail(status,
                                "%s. On several machines it takes a job that was started on them "
                                "(tern run --hosts, mpirun): there comm_init, comm_alloc_windows "
                                "and comm_alloc_domain_windows reach all ranks",
                                tern_last_error());
    }
    status = check_head(joining->pool, rank, fd, card->token);
    status = status == TERN_OK ? map_rank(joining, rank, fd) : status;
    close(fd);
    return status;
}

static int take_all(struct joining *joining)
{
    struct tern__pool *pool = joining->pool;
    struct tern__job *job = calloc(1, sizeof *job);
    if (job == NULL) {
        return tern__fail(TERN_ERR_MEMORY, "no memory for a domain");
    }
    joining->job = job;
    job->rank = pool->rank;
    job->nranks = pool->nranks;
    job->here = UINT64_MAX >> (64 - pool->nranks);
    job->ctl_fd = job->inbox = job->listener = -1;
    pthread_mutex_init(&job->inbox_lock, NULL);
    for (int rank = 0; rank < TERN_RANKS_MAX; rank++) {
        job->outbox[rank] = job->pidfd[rank] = -1;
    }
    TERN_TRY(tern__timeout_option(0, &job->timeout_ns));
    if (tern__checking_asked()) {
        void *watch;
        TERN_TRY(
            tern__memfd_reserve(tern__pool_watch_bytes() * (size_t)pool->nranks, NULL, &watch));
        joining->watch = watch;
    }
    for (int rank = 0; rank < pool->nranks; rank++) {
        TERN_TRY(take_rank(joining, rank));
    }
    return TERN_OK;
}

static int make_window(const struct joining *joining)
{
    struct tern__pool *pool = joining->pool;
    pool->comm = tern__comm_bare(joining->job);
    if (pool->comm == NULL) {
        return TERN_ERR_MEMORY;
    }
    TERN_TRY(tern__comm_check(pool->comm)); // others may have been in it, and seen it fail
    if (joining->watch != NULL) {
        tern_window *share;
        TERN_TRY(tern__window_of_parts(pool->comm, joining->watch, tern__pool_watch_bytes(),
                                       TERN__AREA_NUMBER, &share));
        int status = tern__checking_attach(pool->comm, share);
        if (status != TERN_OK) {
            tern_window_release(share);
            return status;
        }
    }
    return tern__window_of_parts(pool->comm, pool->base, pool->part_bytes,
                                 (uint32_t)pool->id & INT32_MAX, &pool->window);
}

// Not 0.
static uint64_t mark_of(const struct tern__pool_card *card)
{
    uint64_t mark;
    memcpy(&mark, card->token, sizeof mark);
    return mark | 1;
}

// All that join have the same memory of every rank.
static int sign_roster(const struct joining *joining)
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

// A rank counts as alive from the first that knows it on: who dies before it has joined is missed
// by those who wait.
static void enter(const struct joining *joining)
{
    struct tern__ctl *ctl = joining->job->ctl;
    for (int rank = 0; rank < joining->pool->nranks; rank++) {
        const struct tern__shown *shown = &joining->cards[rank].shown;
        tern__ctl_count_alive(ctl, rank, shown->pid, shown->pid_space);
    }
    tern__job_enter(joining->job);
    tern__fork_watch(joining->job);
}

// Gives back what a rank that cannot join has got; its own part stays where it is.
static void give_up(struct joining *joining)
{
    struct tern__pool *pool = joining->pool;
    tern_window_release(pool->window);
    pool->window = NULL;
    if (pool->comm != NULL) {
        bool mapped = pool->comm->checking == NULL; // else it goes with its window
        tern__checking_destroy(pool->comm);
        joining->watch = mapped ? joining->watch : NULL;
        tern__handle_free(pool->comm, sizeof *pool->comm);
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

int tern__pool_join(struct tern__pool *pool, const struct tern__pool_card *cards)
{
    struct joining joining = {.pool = pool, .cards = cards};
    int status = take_all(&joining);
    status = status == TERN_OK ? make_window(&joining) : status;
    status = status == TERN_OK ? sign_roster(&joining) : status;
    tern__memfd_unmap(joining.first, sizeof *joining.first);
    if (status != TERN_OK) {
        char sentence[TERN_ERROR_BYTES];
        snprintf(sentence, sizeof sentence, "%s", tern_last_error());
        give_up(&joining);
        return tern__fail(status, "%s", sentence);
    }
    enter(&joining);
    pool->context = *tern_window_context(pool->window);
    pool->context.winSize = pool->window_bytes;
    return TERN_OK;
}
