// SPDX-License-Identifier: Apache-2.0
// Pools. Who joins becomes a rank of a job of its own making: its control memory is rank 0's, its
// peers are known by the pidfds that came with their memory, and it has no inboxes, as nothing is
// handed over any more.

#include "comm/pool.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cgroup.h"
#include "base/error.h"
#include "base/options.h"
#include "boot/env.h"
#include "boot/fork.h"
#include "boot/join.h"
#include "comm/checking.h"
#include "mem/memfd.h"
#include "mem/promised.h"

#define HEAD_MAGIC 0x6c6f6f70u // "pool"

struct head {
    uint32_t magic;
    uint32_t abi;
    uint8_t token[16];
    uint64_t id;
    uint32_t rank;
    uint32_t nranks;
    uint64_t window_bytes;
    uint32_t checks; // 1: TERN_ISA_CHECK was set
    uint32_t reserved;
    // Of rank 0's: what each rank's memory is, by those who have joined. 0: nobody has.
    _Atomic uint64_t roster[TERN_RANKS_MAX];
};

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

static void unlist(const struct tern__pool *pool)
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

// Where what begins in a rank's memory.
static size_t ctl_begin(void)
{
    return tern__round_up(sizeof(struct head), tern__page_bytes());
}

static size_t watch_begin(void)
{
    return ctl_begin() + tern__round_up(sizeof(struct tern__ctl), tern__page_bytes());
}

static size_t watch_bytes(void)
{
    return tern__round_up(sizeof(struct tern__watch_part), tern__page_bytes());
}

static size_t part_begin(void)
{
    return watch_begin() + watch_bytes();
}

static void free_pool(struct tern__pool *pool)
{
    tern__memfd_unmap(pool->base, pool->part_bytes * (size_t)pool->nranks);
    if (pool->fd >= 0) {
        close(pool->fd);
    }
    free(pool);
}

// The control memory, by rank 0, before anybody can see it.
static int write_ctl(const struct tern__pool *pool)
{
    void *base;
    TERN_TRY(tern__memfd_map_at(pool->fd, ctl_begin(), sizeof(struct tern__ctl), NULL, &base));
    tern__ctl_begin(base, pool->nranks, UINT64_MAX >> (64 - pool->nranks));
    tern__memfd_unmap(base, sizeof(struct tern__ctl));
    return TERN_OK;
}

static int make_memory(struct tern__pool *pool)
{
    void *base;
    void *own;
    size_t at = (size_t)pool->rank * pool->part_bytes;
    struct head head = {.magic = HEAD_MAGIC,
                        .abi = TERN__CTL_ABI,
                        .id = pool->id,
                        .rank = (uint32_t)pool->rank,
                        .nranks = (uint32_t)pool->nranks,
                        .window_bytes = pool->window_bytes,
                        .checks = tern__checking_asked()};
    TERN_TRY(tern__memfd_create("tern-pool", part_begin() + pool->part_bytes, false, &pool->fd));
    TERN_TRY(tern__memfd_reserve(pool->part_bytes * (size_t)pool->nranks, NULL, &base));
    pool->base = base;
    TERN_TRY(tern__memfd_map_at(pool->fd, part_begin(), pool->part_bytes, pool->base + at, &own));
    TERN_TRY(tern__token_random(head.token));
    memcpy(pool->card.token, head.token, sizeof head.token);
    pool->card.abi = TERN__CTL_ABI;
    if (pool->rank == 0) {
        TERN_TRY(write_ctl(pool));
    }
    if (pwrite(pool->fd, &head, sizeof head, 0) != (ssize_t)sizeof head) {
        return tern__fail_errno(TERN_ERR_MEMORY, "cannot write to shared memory");
    }
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
    made->fd = -1;
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

// What a rank has of the others while it joins.
struct joining {
    struct tern__pool *pool;
    const struct tern__pool_card *cards;
    struct tern__job *job;
    struct head *first; // rank 0's
    char *watch;        // in checking mode: the parts of tern__watch_part
};

// Whether the memory is what the card says, and goes with this rank's.
static int check_head(const struct tern__pool *pool, int rank, int fd, const uint8_t token[16])
{
    struct head head;
    struct stat memory;
    if (fstat(fd, &memory) != 0 || pread(fd, &head, sizeof head, 0) != (ssize_t)sizeof head ||
        head.magic != HEAD_MAGIC || memcmp(head.token, token, sizeof head.token) != 0) {
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
        memory.st_size != (off_t)(part_begin() + pool->part_bytes)) {
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
        TERN_TRY(tern__memfd_map_at(fd, part_begin(), pool->part_bytes,
                                    pool->base + (size_t)rank * pool->part_bytes, &there));
    }
    if (joining->watch != NULL) {
        TERN_TRY(tern__memfd_map_at(fd, watch_begin(), watch_bytes(),
                                    joining->watch + (size_t)rank * watch_bytes(), &there));
    }
    if (rank == 0) {
        TERN_TRY(tern__memfd_map_at(fd, 0, sizeof(struct head), NULL, &there));
        joining->first = there;
        TERN_TRY(tern__memfd_map_at(fd, ctl_begin(), sizeof(struct tern__ctl), NULL, &there));
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
        TERN_TRY(tern__memfd_reserve(watch_bytes() * (size_t)pool->nranks, NULL, &watch));
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
        TERN_TRY(tern__window_of_parts(pool->comm, joining->watch, watch_bytes(), TERN__AREA_NUMBER,
                                       &share));
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
    tern__memfd_unmap(joining->watch, watch_bytes() * (size_t)pool->nranks);
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

int tern__pool_destroy(struct tern__pool *pool)
{
    int status = TERN_OK;
    unlist(pool);
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
