// SPDX-License-Identifier: Apache-2.0
// Global domains of the comm_* platform API: windows of processes that are in no communicator
// together. What is passed around is the card of a pool (comm/pool.h).

#include "faces/comm.h"

#include <pthread.h>
#include <string.h>

#include "base/error.h"
#include "comm/pool.h"

_Static_assert(sizeof(CommGlobalDomainDescriptor) == 288, "the layout of the platform API");
_Static_assert(offsetof(CommGlobalDomainDescriptor, mapping_size) == 16, "likewise");
_Static_assert(offsetof(CommGlobalDomainDescriptor, handle) == 32, "likewise");
_Static_assert(sizeof(struct tern__pool_card) <= sizeof((CommGlobalDomainDescriptor *)0)->handle,
               "it is the handle");

// Guards which domains there are and which are busy. A call that may wait for ranks of other
// machines waits without it, so that other domains go on.
static pthread_mutex_t calls = PTHREAD_MUTEX_INITIALIZER;

static void in_child(void)
{
    pthread_mutex_init(&calls, NULL); // another thread of the parent may have held it
}

static void watch_forks(void)
{
    pthread_atfork(NULL, NULL, in_child);
}

static void begin_call(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, watch_forks);
    pthread_mutex_lock(&calls);
}

static void end_call(void)
{
    pthread_mutex_unlock(&calls);
}

// The domain, which is this thread's until it is not busy any more; or NULL. With the lock.
static struct tern__pool *take_domain(const char *call, uint64_t domain_id, const char *missing)
{
    struct tern__pool *pool = tern__pool_find(domain_id);
    if (pool == NULL) {
        tern__set_error("%s: this process has no domain %llu%s", call,
                        (unsigned long long)domain_id, missing);
        return NULL;
    }
    if (pool->busy) {
        tern__set_error("%s: another thread is importing or releasing domain %llu", call,
                        (unsigned long long)domain_id);
        return NULL;
    }
    pool->busy = true;
    return pool;
}

// -1, and the sentence of what failed below gets its beginning.
static int fail_below(const char *call)
{
    tern__set_error("%s: %s", call, tern_last_error());
    return -1;
}

// How `profile` is refused; the same words for an argument and in a descriptor.
#define PROFILES                                                                                   \
    "profile is %u; here windows are shared memory, profile %u (SIM_SHM). Profile %u (A3_FABRIC) " \
    "is of cards"

static int check_prepare(const char *call, uint64_t domain_id, uint32_t domain_rank,
                         uint32_t rank_count, size_t window_size, uint32_t profile)
{
    if (rank_count < 1 || rank_count > TERN_RANKS_MAX || domain_rank >= rank_count) {
        tern__set_error("%s: domain_rank is %u, rank_count %u; expected 1 to %d ranks, and a rank "
                        "below their number",
                        call, domain_rank, rank_count, TERN_RANKS_MAX);
        return -1;
    }
    if (window_size == 0) {
        tern__set_error("%s: window_size is 0; a window has at least 1 byte", call);
        return -1;
    }
    if (profile != COMM_GLOBAL_DOMAIN_SIM_SHM) {
        tern__set_error("%s: " PROFILES, call, profile, COMM_GLOBAL_DOMAIN_SIM_SHM,
                        COMM_GLOBAL_DOMAIN_A3_FABRIC);
        return -1;
    }
    if (tern__pool_find(domain_id) != NULL) {
        tern__set_error("%s: this process has a domain %llu; release it, or take another number",
                        call, (unsigned long long)domain_id);
        return -1;
    }
    return 0;
}

static void describe(const struct tern__pool *pool, CommGlobalDomainDescriptor *out)
{
    *out = (CommGlobalDomainDescriptor){.version = COMM_GLOBAL_DOMAIN_VERSION,
                                        .profile = COMM_GLOBAL_DOMAIN_SIM_SHM,
                                        .domain_rank = (uint32_t)pool->rank,
                                        .rank_count = (uint32_t)pool->nranks,
                                        .mapping_size = pool->part_bytes,
                                        .handle_size = sizeof pool->card};
    memcpy(out->handle, &pool->card, sizeof pool->card);
}

static int prepare(uint64_t domain_id, uint32_t domain_rank, uint32_t rank_count,
                   size_t window_size, uint32_t profile, CommGlobalDomainDescriptor *out,
                   uint64_t *local_window_base_out)
{
    static const char call[] = "comm_global_domain_prepare";
    struct tern__pool *pool;
    if (out == NULL || local_window_base_out == NULL) {
        tern__set_error("%s: no argument may be NULL", call);
        return -1;
    }
    if (check_prepare(call, domain_id, domain_rank, rank_count, window_size, profile) != 0) {
        return -1;
    }
    if (tern__pool_create(domain_id, (int)domain_rank, (int)rank_count, window_size, &pool) !=
        TERN_OK) {
        return fail_below(call);
    }
    describe(pool, out);
    *local_window_base_out = (uint64_t)(uintptr_t)(pool->base + domain_rank * pool->part_bytes);
    return 0;
}

int comm_global_domain_prepare(uint64_t domain_id, uint32_t domain_rank, uint32_t rank_count,
                               size_t window_size, uint32_t profile,
                               CommGlobalDomainDescriptor *out, uint64_t *local_window_base_out)
{
    begin_call();
    int status = prepare(domain_id, domain_rank, rank_count, window_size, profile, out,
                         local_window_base_out);
    end_call();
    return status;
}

static const char import_call[] = "comm_global_domain_import";

// One descriptor by itself.
static int check_descriptor(const struct tern__pool *pool, const CommGlobalDomainDescriptor *one,
                            size_t index)
{
    if (one->version != COMM_GLOBAL_DOMAIN_VERSION) {
        tern__set_error("%s: descriptor %zu: version is %u; this is version %u", import_call, index,
                        one->version, COMM_GLOBAL_DOMAIN_VERSION);
        return -1;
    }
    if (one->profile != COMM_GLOBAL_DOMAIN_SIM_SHM) {
        tern__set_error("%s: descriptor %zu: " PROFILES, import_call, index, one->profile,
                        COMM_GLOBAL_DOMAIN_SIM_SHM, COMM_GLOBAL_DOMAIN_A3_FABRIC);
        return -1;
    }
    if (one->rank_count != (uint32_t)pool->nranks || one->domain_rank >= one->rank_count) {
        tern__set_error("%s: descriptor %zu is of rank %u of %u; this process has prepared rank %d "
                        "of %d",
                        import_call, index, one->domain_rank, one->rank_count, pool->rank,
                        pool->nranks);
        return -1;
    }
    if (one->mapping_size != pool->part_bytes) {
        tern__set_error("%s: descriptor %zu: mapping_size is %llu, and %zu in this process; all "
                        "prepare windows of the same size",
                        import_call, index, (unsigned long long)one->mapping_size,
                        pool->part_bytes);
        return -1;
    }
    if (one->handle_size != sizeof pool->card || one->reserved != 0) {
        tern__set_error("%s: descriptor %zu: handle_size is %u and reserved %u; expected %zu and "
                        "0: it is not of comm_global_domain_prepare, or was made by another "
                        "version of tern",
                        import_call, index, one->handle_size, one->reserved, sizeof pool->card);
        return -1;
    }
    return 0;
}

// Puts the cards into rank order: of each rank one, and of the caller its own.
static int sort_cards(const struct tern__pool *pool, const CommGlobalDomainDescriptor *all,
                      size_t count, struct tern__pool_card *cards)
{
    size_t given[TERN_RANKS_MAX] = {0}; // 1 + by which descriptor
    if (count != (size_t)pool->nranks) {
        tern__set_error("%s: count is %zu; domain %llu has %d ranks, and exactly one descriptor of "
                        "each is needed",
                        import_call, count, (unsigned long long)pool->id, pool->nranks);
        return -1;
    }
    for (size_t i = 0; i < count; i++) {
        CommGlobalDomainDescriptor one;
        memcpy(&one, (const char *)all + i * sizeof one, sizeof one); // may lie anywhere
        if (check_descriptor(pool, &one, i) != 0) {
            return -1;
        }
        if (given[one.domain_rank] != 0) {
            tern__set_error("%s: descriptors %zu and %zu are both of rank %u, so another rank has "
                            "none; exactly one of each is needed",
                            import_call, given[one.domain_rank] - 1, i, one.domain_rank);
            return -1;
        }
        given[one.domain_rank] = i + 1;
        memcpy(&cards[one.domain_rank], one.handle, sizeof *cards);
    }
    if (memcmp(&cards[pool->rank], &pool->card, sizeof pool->card) != 0) {
        tern__set_error("%s: descriptor %zu is of rank %d, the caller, but not the one that "
                        "comm_global_domain_prepare gave it",
                        import_call, given[pool->rank] - 1, pool->rank);
        return -1;
    }
    return 0;
}

// What can be seen without the others.
static int check_import(const struct tern__pool *pool, const CommGlobalDomainDescriptor *all,
                        size_t count, struct tern__pool_card *cards)
{
    if (pool->window != NULL) {
        tern__set_error("%s: domain %llu has been imported; its context lives until it is released",
                        import_call, (unsigned long long)pool->id);
        return -1;
    }
    return sort_cards(pool, all, count, cards);
}

int comm_global_domain_import(uint64_t domain_id, const CommGlobalDomainDescriptor *all,
                              size_t count, uint64_t *device_ctx_out)
{
    struct tern__pool_card cards[TERN_RANKS_MAX];
    if (all == NULL || device_ctx_out == NULL) {
        tern__set_error("%s: no argument may be NULL", import_call);
        return -1;
    }
    begin_call();
    struct tern__pool *pool =
        take_domain(import_call, domain_id, "; comm_global_domain_prepare comes before");
    end_call();
    if (pool == NULL) {
        return -1;
    }
    int status = check_import(pool, all, count, cards);
    if (status == 0 && tern__pool_join(pool, cards) != TERN_OK) {
        status = fail_below(import_call);
    }
    if (status == 0) {
        *device_ctx_out = (uint64_t)(uintptr_t)&pool->context;
    }
    begin_call();
    pool->busy = false;
    end_call();
    return status;
}

int comm_global_domain_release(uint64_t domain_id)
{
    static const char call[] = "comm_global_domain_release";
    begin_call();
    struct tern__pool *pool = take_domain(call, domain_id, ", or has released it");
    if (pool != NULL) {
        tern__pool_forget(pool);
    }
    end_call();
    if (pool == NULL) {
        return -1;
    }
    return tern__pool_destroy(pool) == TERN_OK ? 0 : fail_below(call);
}
