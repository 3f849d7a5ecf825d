// SPDX-License-Identifier: Apache-2.0
// What a rank that joins a pool has of the others on its machine: their memory, found by their
// cards and checked by what is in it, side by side, as a window of a job.

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/options.h"
#include "comm/pool_state.h"
#include "mem/memfd.h"

int tern__pool_compare(const struct tern__pool *pool, int rank, uint64_t window_bytes,
                       uint32_t checks)
{
    uint32_t own = tern__checking_asked();
    if (window_bytes != pool->window_bytes) {
        return tern__fail(TERN_ERR_MISMATCH,
                          "the window of rank %d has %llu bytes, that of rank %d has %zu; all "
                          "prepare the same size",
                          rank, (unsigned long long)window_bytes, pool->rank, pool->window_bytes);
    }
    if (checks != own) {
        return tern__fail(TERN_ERR_MISMATCH,
                          "rank %d has TERN_ISA_CHECK in its environment, rank %d has not; all "
                          "ranks run in checking mode, or none",
                          own != 0 ? pool->rank : rank, own != 0 ? rank : pool->rank);
    }
    return TERN_OK;
}

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
    TERN_TRY(tern__pool_compare(pool, rank, head.window_bytes, head.checks));
    return memory.st_size == (off_t)(tern__pool_part_begin() + pool->part_bytes)
               ? TERN_OK
               : tern__fail(TERN_ERR_MISMATCH,
                            "the memory of rank %d has another size than it says", rank);
}

static int map_rank(struct tern__joining *joining, int rank, int fd)
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
    if (rank == 0 && joining->machines == NULL) {
        TERN_TRY(tern__memfd_map_at(fd, 0, sizeof(struct tern__pool_head), NULL, &there));
        joining->first = there;
        TERN_TRY(
            tern__memfd_map_at(fd, tern__pool_ctl_begin(), sizeof(struct tern__ctl), NULL, &there));
        joining->job->ctl = there;
    }
    return TERN_OK;
}

static int take_rank(struct tern__joining *joining, int rank)
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
    TERN_TRY(tern__shown_open(&card->shown, what, &fd, &joining->job->pidfd[rank]));
    int status = check_head(joining->pool, rank, fd, card->token);
    status = status == TERN_OK ? map_rank(joining, rank, fd) : status;
    close(fd);
    return status;
}

int tern__pool_take(struct tern__joining *joining)
{
    struct tern__pool *pool = joining->pool;
    struct tern__job *job = calloc(1, sizeof *job);
    if (job == NULL) {
        return tern__fail(TERN_ERR_MEMORY, "no memory for a domain");
    }
    joining->job = job;
    job->rank = pool->rank;
    job->nranks = pool->nranks;
    job->here = joining->machines == NULL ? UINT64_MAX >> (64 - pool->nranks)
                                          : joining->machines->list[joining->machines->mine].ranks;
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
        if (tern__job_is_here(job, rank)) {
            TERN_TRY(take_rank(joining, rank));
        }
    }
    return TERN_OK;
}

int tern__pool_make_comm(const struct tern__joining *joining)
{
    joining->pool->comm = tern__comm_bare(joining->job);
    return joining->pool->comm != NULL ? TERN_OK : TERN_ERR_MEMORY;
}

int tern__pool_make_window(const struct tern__joining *joining)
{
    struct tern__pool *pool = joining->pool;
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

void tern__pool_count_alive(const struct tern__joining *joining)
{
    for (int rank = 0; rank < joining->pool->nranks; rank++) {
        const struct tern__shown *shown = &joining->cards[rank].shown;
        tern__ctl_count_alive(joining->job->ctl, rank, shown->pid, shown->pid_space);
    }
}
