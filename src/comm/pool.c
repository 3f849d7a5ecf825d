// SPDX-License-Identifier: Apache-2.0
// Pools: which ones this process has, and a rank's own memory.

#include "comm/pool_state.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cgroup.h"
#include "base/error.h"
#include "boot/env.h"
#include "boot/listen.h"
#include "mem/memfd.h"
#include "mem/promised.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; // guards the list; held while forking
static struct tern__pool *pools;

static void hold(void)
{
    pthread_mutex_lock(&lock);
}

static void release(void)
{
    pthread_mutex_unlock(&lock);
}

// The child of a fork is no rank: the memory stays mapped, as that of all windows does.
static void in_child(void)
{
    for (struct tern__pool *pool = pools; pool != NULL; pool = pool->next) {
        close(pool->fd);
        if (pool->listener >= 0) {
            close(pool->listener);
        }
    }
    pools = NULL;
    release();
}

static void watch_forks(void)
{
    pthread_atfork(hold, release, in_child);
}

static void list(struct tern__pool *pool)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, watch_forks);
    hold();
    pool->next = pools;
    pools = pool;
    release();
}

void tern__pool_forget(const struct tern__pool *pool)
{
    hold();
    struct tern__pool **link = &pools;
    while (*link != NULL && *link != pool) {
        link = &(*link)->next;
    }
    if (*link != NULL) {
        *link = pool->next;
    }
    release();
}

struct tern__pool *tern__pool_find(uint64_t id)
{
    hold();
    struct tern__pool *found = pools;
    while (found != NULL && found->id != id) {
        found = found->next;
    }
    release();
    return found;
}

size_t tern__pool_ctl_begin(void)
{
    return tern__round_up(sizeof(struct tern__pool_head), tern__page_bytes());
}

size_t tern__pool_watch_begin(void)
{
    return tern__pool_ctl_begin() + tern__round_up(sizeof(struct tern__ctl), tern__page_bytes());
}

size_t tern__pool_watch_bytes(void)
{
    return tern__round_up(sizeof(struct tern__watch_part), tern__page_bytes());
}

size_t tern__pool_part_begin(void)
{
    return tern__pool_watch_begin() + tern__pool_watch_bytes();
}

static void free_pool(struct tern__pool *pool)
{
    tern__memfd_unmap(pool->base, pool->part_bytes * (size_t)pool->nranks);
    if (pool->fd >= 0) {
        close(pool->fd);
    }
    if (pool->listener >= 0) {
        close(pool->listener);
    }
    free(pool);
}

// The control memory, by rank 0, before anybody can see it.
static int write_ctl(const struct tern__pool *pool)
{
    void *base;
    TERN_TRY(tern__memfd_map_at(pool->fd, tern__pool_ctl_begin(), sizeof(struct tern__ctl), NULL,
                                &base));
    tern__ctl_begin(base, pool->nranks, UINT64_MAX >> (64 - pool->nranks));
    tern__memfd_unmap(base, sizeof(struct tern__ctl));
    return TERN_OK;
}

// Where ranks of other machines find this one, if there are any: that shows when it joins. Where it
// may not listen, it is one for ranks of this machine.
static int listen_for_others(struct tern__pool *pool)
{
    uint32_t port;
    return pool->nranks > 1 && tern__listen(&pool->listener, &port) == TERN_OK
               ? tern__listen_address(port, &pool->card.address)
               : TERN_OK;
}

static int make_memory(struct tern__pool *pool)
{
    void *base;
    void *own;
    size_t at = (size_t)pool->rank * pool->part_bytes;
    struct tern__pool_head head = {.magic = TERN__POOL_MAGIC,
                                   .abi = TERN__CTL_ABI,
                                   .id = pool->id,
                                   .rank = (uint32_t)pool->rank,
                                   .nranks = (uint32_t)pool->nranks,
                                   .window_bytes = pool->window_bytes,
                                   .checks = tern__checking_asked()};
    TERN_TRY(tern__memfd_create("tern-pool", tern__pool_part_begin() + pool->part_bytes, false,
                                &pool->fd));
    TERN_TRY(tern__memfd_reserve(pool->part_bytes * (size_t)pool->nranks, NULL, &base));
    pool->base = base;
    TERN_TRY(tern__memfd_map_at(pool->fd, tern__pool_part_begin(), pool->part_bytes,
                                pool->base + at, &own));
    TERN_TRY(tern__token_random(head.token));
    memcpy(pool->card.token, head.token, sizeof head.token);
    pool->card.abi = TERN__CTL_ABI;
    if (pool->rank == 0) {
        TERN_TRY(write_ctl(pool));
    }
    if (pwrite(pool->fd, &head, sizeof head, 0) != (ssize_t)sizeof head) {
        return tern__fail_errno(TERN_ERR_MEMORY, "cannot write to shared memory");
    }
    TERN_TRY(listen_for_others(pool));
    return tern__shown_fill(pool->fd, &pool->card.shown);
}

int tern__pool_create(uint64_t id, int rank, int nranks, size_t window_bytes,
                      struct tern__pool **pool)
{
    size_t part = tern__round_up(window_bytes, tern__page_bytes());
    uint64_t available = (uint64_t)tern__memory_available();
    uint64_t promised = tern__promised_untouched();
    size_t all;
    available = available > promised ? available - promised : 0;
    if (part == 0 || part > available || __builtin_mul_overflow(part, (size_t)nranks, &all)) {
        return tern__fail(TERN_ERR_MEMORY,
                          "%zu bytes cannot be had: %llu bytes are available (of the machine and "
                          "its cgroup, less what other windows of this process may still take)",
                          window_bytes, (unsigned long long)available);
    }
    struct tern__pool *made = calloc(1, sizeof *made);
    if (made == NULL) {
        return tern__fail(TERN_ERR_MEMORY, "no memory for a domain");
    }
    made->id = id;
    made->rank = rank;
    made->nranks = nranks;
    made->window_bytes = window_bytes;
    made->part_bytes = part;
    made->fd = made->listener = -1;
    int status = make_memory(made);
    if (status != TERN_OK) {
        free_pool(made);
        return status;
    }
    list(made);
    tern__promised_add(&made->promised, made->fd, made->part_bytes);
    *pool = made;
    return TERN_OK;
}

int tern__pool_destroy(struct tern__pool *pool)
{
    int status = TERN_OK;
    tern__promised_remove(&pool->promised);
    if (pool->window != NULL) {
        status = tern_window_destroy(pool->window);
        int left = tern_comm_destroy(pool->comm);
        status = status == TERN_OK ? left : status;
        pool->base = NULL; // it has gone with the window
    }
    free_pool(pool);
    return status;
}
