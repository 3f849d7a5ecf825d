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
    if (rank == 0) {
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

int tern__pool_make_window(const struct tern__joining *joining)
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
