// SPDX-License-Identifier: Apache-2.0
// tern_alloc, tern_free.

#include "comm/heap.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/cgroup.h"
#include "base/error.h"
#include "base/options.h"
#include "base/public.h"
#include "comm/area.h"
#include "comm/registry.h"
#include "mem/memfd.h"
#include "tern/memory.h"

#ifdef __SANITIZE_THREAD__
#define ADDRESSES ((size_t)1 << 30) // ThreadSanitizer keeps books on every mapped byte
#else
#define ADDRESSES ((size_t)4 << 40) // of all ranks of a job; a process has 128 TiB
#endif
#define KEPT_MOST ((size_t)64 << 20)
#define ASK_FROM ((size_t)1 << 20)   // asking what the machine can give takes 50 us
#define DUMP_GRAIN ((size_t)2 << 20) // one more piece of the mapping at most, and few calls

size_t tern__heap_bytes(int nranks)
{
    return ADDRESSES / (size_t)nranks / DUMP_GRAIN * DUMP_GRAIN;
}

// The heaps of ranks on other machines: what such a rank has there is nowhere here.
static int close_off_far(const struct tern__heap *heap, size_t size_bytes)
{
    const tern_window *window = &heap->window;
    for (int rank = 0; rank < window->nranks; rank++) {
        if (!tern__window_is_mapped(window, rank)) {
            TERN_TRY(tern__memfd_close_off(tern__window_at(window, rank,
                                                           window->size_bytes - size_bytes),
                                           size_bytes));
        }
    }
    return TERN_OK;
}

int tern__heap_create(tern_comm *comm, size_t size_bytes)
{
    const tern_window *area = comm->area;
    struct tern__heap *heap = calloc(1, sizeof *heap);
    if (heap == NULL) {
        return tern__fail(TERN_ERR_MEMORY, "no memory for the bookkeeping of tern_alloc");
    }
    heap->window = (struct tern_window){.comm = comm,
                                        .xport = area->xport,
                                        .base = area->base,
                                        .size_bytes = area->size_bytes,
                                        .rank = area->rank,
                                        .nranks = area->nranks,
                                        .number = TERN__HEAP_NUMBER,
                                        .fd = -1,
                                        .heap = true};
    memcpy(heap->window.xports, area->xports, sizeof heap->window.xports);
    heap->begin =
        area->base + (size_t)area->rank * area->size_bytes + area->size_bytes - size_bytes;
    int status = close_off_far(heap, size_bytes);
    status = status == TERN_OK ? tern__extents_create(&heap->extents, size_bytes) : status;
    if (status == TERN_OK) {
        status = tern__registry_add(&heap->window);
    }
    if (status != TERN_OK) {
        tern__heap_let_go(heap);
        return status;
    }
    pthread_mutex_init(&heap->lock, NULL);
    comm->heap = heap;
    return TERN_OK;
}

void tern__heap_let_go(struct tern__heap *heap)
{
    if (heap != NULL) {
        tern__registry_let_go(&heap->window);
        tern__extents_destroy(&heap->extents);
        free(heap);
    }
}

void tern__heap_destroy(struct tern__heap *heap)
{
    if (heap != NULL) {
        tern__registry_remove(&heap->window);
        pthread_mutex_destroy(&heap->lock);
        tern__heap_let_go(heap);
    }
}

static struct tern__ctl *ctl_of(const struct tern__heap *heap)
{
    return heap->window.comm->group.job->ctl;
}

// What calls have touched of the area counts as touched heap: some MiB.
static uint64_t untouched_of(const struct tern__heap *heap, uint64_t given_bytes)
{
    return tern__memfd_untouched(heap->window.comm->area->fd, given_bytes);
}

uint64_t tern__heap_untouched(const tern_comm *comm)
{
    while (comm->parent != NULL) {
        comm = comm->parent;
    }
    const struct tern__heap *heap = comm->heap;
    return heap == NULL ? 0
                        : untouched_of(heap, atomic_load_explicit(&ctl_of(heap)->heap_bytes,
                                                                  memory_order_relaxed));
}

// Counts bytes that are given out. False when the machine cannot give them: then *available is what
// it has, less what ranks of this job were given and have not touched.
static bool promise(const struct tern__heap *heap, size_t bytes, uint64_t *available)
{
    _Atomic uint64_t *total = &ctl_of(heap)->heap_bytes;
    uint64_t given = atomic_load_explicit(total, memory_order_relaxed);
    do {
        uint64_t promised = bytes >= ASK_FROM ? untouched_of(heap, given) : 0;
        uint64_t all = bytes >= ASK_FROM ? (uint64_t)tern__memory_available() : UINT64_MAX;
        *available = all > promised ? all - promised : 0;
        if (bytes > *available) {
            return false;
        }
    } while (!atomic_compare_exchange_weak_explicit(total, &given, given + bytes,
                                                    memory_order_relaxed, memory_order_relaxed));
    return true;
}

// Gives the whole pages of an extent back to the machine.
static void remove_pages(void *arg, const struct tern__extent *extent)
{
    struct tern__heap *heap = arg;
    size_t page = tern__page_bytes();
    size_t begin = tern__round_up(extent->begin, page);
    size_t end = (extent->begin + extent->bytes) / page * page;
    if (end > begin) {
        madvise(heap->begin + begin, end - begin, MADV_REMOVE);
    }
    atomic_fetch_sub_explicit(&ctl_of(heap)->heap_bytes, extent->bytes, memory_order_relaxed);
}

// A core dump reads every page that it shall contain, so only what was in use at some time is in
// it.
static void let_dump(struct tern__heap *heap, size_t end)
{
    enum tern__dump dump;
    size_t wanted = tern__round_up(end, DUMP_GRAIN);
    wanted =
        wanted < heap->window.size_bytes ? wanted : end / tern__page_bytes() * tern__page_bytes();
    if (wanted > heap->dumped_bytes && tern__dump_option(&dump) == TERN_OK &&
        dump != TERN__DUMP_NONE) {
        tern__memfd_dump(heap->begin, wanted, true);
        heap->dumped_bytes = wanted;
    }
}

static int refuse_size(const struct tern__heap *heap, size_t size_bytes)
{
    size_t all = tern__heap_bytes(heap->window.nranks);
    return tern__fail(
        TERN_ERR_MEMORY,
        "tern_alloc: %zu bytes do not fit into the addresses of this rank: %zu bytes, "
        "of which %zu blocks are in use",
        size_bytes, all, heap->extents.nused);
}

// Under the lock. Keeps the extent it has taken only when the machine can give its memory.
static int take(struct tern__heap *heap, size_t size_bytes, const struct tern__extent **extent)
{
    bool was_clean;
    ptrdiff_t at = tern__extents_take(&heap->extents, size_bytes, &was_clean);
    if (at < 0) {
        return at == -1 ? refuse_size(heap, size_bytes)
                        : tern__fail(TERN_ERR_MEMORY,
                                     "tern_alloc: no memory for the list of its blocks");
    }
    *extent = &heap->extents.list[at];
    uint64_t available;
    if (!was_clean || promise(heap, (*extent)->bytes, &available)) {
        return TERN_OK;
    }
    tern__extents_give(&heap->extents, (*extent)->begin, true);
    return tern__fail(
        TERN_ERR_MEMORY,
        "tern_alloc: %zu bytes cannot be had: %llu bytes are available (of the "
        "machine and its cgroup, less what tern_alloc has given to ranks of this job and "
        "they have not touched)",
        size_bytes, (unsigned long long)available);
}

static int alloc(tern_comm *comm, size_t size_bytes, void **memory)
{
    TERN_TRY(tern__comm_lives("tern_alloc", comm));
    if (memory == NULL) {
        return tern__fail(TERN_ERR_ARG, "tern_alloc: memory must not be NULL");
    }
    TERN_TRY(tern__comm_check(comm));
    while (comm->parent != NULL) {
        comm = comm->parent;
    }
    struct tern__heap *heap = comm->heap;
    if (heap == NULL) {
        return tern__fail(TERN_ERR_MEMORY,
                          "tern_alloc: a rank of this job was not allowed to reserve %zu bytes of "
                          "addresses when it started (ulimit -v or -f)",
                          ADDRESSES);
    }
    pthread_mutex_lock(&heap->lock);
    const struct tern__extent *extent = NULL;
    int status = take(heap, size_bytes, &extent);
    if (status == TERN_OK) {
        *memory = heap->begin + extent->begin;
        let_dump(heap, extent->begin + extent->bytes);
        tern__comm_gains(comm, TERN__CHILD_MEMORY);
    }
    pthread_mutex_unlock(&heap->lock);
    return status;
}

int tern_alloc(tern_comm *comm, size_t size_bytes, void **memory)
{
    return TERN__CALL(alloc(comm, size_bytes, memory));
}

static int free_memory(void *memory)
{
    tern_window *window;
    if (memory == NULL) {
        return TERN_OK;
    }
    if (tern__registry_is_inherited(memory)) {
        return tern__fail(TERN_ERR_STATE,
                          "tern_free: %p is memory of the process that this one was forked from, "
                          "which alone can free it",
                          memory);
    }
    bool given = false;
    if (tern__registry_find(memory, &window) && window->heap) {
        struct tern__heap *heap = window->comm->heap;
        pthread_mutex_lock(&heap->lock);
        given = (char *)memory >= heap->begin &&
                tern__extents_give(&heap->extents, (size_t)((char *)memory - heap->begin), false);
        if (heap->extents.kept_bytes > KEPT_MOST) {
            tern__extents_clean(&heap->extents, remove_pages, heap);
        }
        if (given) {
            tern__comm_loses(window->comm, TERN__CHILD_MEMORY);
        }
        pthread_mutex_unlock(&heap->lock);
    }
    return given ? TERN_OK
                 : tern__fail(
                       TERN_ERR_ARG,
                       "tern_free: tern_alloc has not given %p to this process, or it has been "
                       "freed already",
                       memory);
}

int tern_free(void *memory)
{
    return TERN__CALL(free_memory(memory));
}

int tern_memory_owner(const void *address)
{
    tern_window *window;
    if (!tern__registry_find(address, &window) || !window->heap) {
        return 0;
    }
    struct tern__heap *heap = window->comm->heap;
    const char *at = address;
    pthread_mutex_lock(&heap->lock);
    bool given = at >= heap->begin && tern__extents_has(&heap->extents, (size_t)(at - heap->begin));
    pthread_mutex_unlock(&heap->lock);
    return given;
}
