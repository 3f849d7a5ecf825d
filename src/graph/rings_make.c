// SPDX-License-Identifier: Apache-2.0
// Rings (rings.h): their sizes, as options and the environment have them, and their memory.

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "graph/pages.h"
#include "graph/rings.h"

enum {
    WINDOW = 16384,
    EDGES = 65536,
    ENTRIES = 65536,
    ARGS_PER_TASK = 1024, // bytes, usually
    ARGS_LEAST = 256 << 10,
    ARGS_MOST = TERN_SUBMIT_REGIONS_MAX * sizeof(tern_region) +
                TERN_TASK_ARGS_MAX * sizeof(int64_t) + TERN__TASK_NAME_BYTES +
                sizeof(struct tern__task_more) + TERN_TASK_DEFERS_MAX * sizeof(struct tern__until) +
                2 * TERN_CACHE_LINE,
};
#define HEAP (UINT64_C(256) << 20)
#define HEAP_MOST (UINT64_C(1) << 40)
#define COUNT_MOST (1u << 24)

void tern__rings_free(struct tern__rings *rings)
{
    if (rings == NULL) {
        return;
    }
    for (int r = 0; r < TERN_RINGS; r++) {
        struct tern__ring *ring = &rings->ring[r];
        tern__pages_unmap(ring->rows, 2 * ring->window * sizeof *ring->rows);
        tern__pages_unmap(rings->heap_lent ? NULL : ring->heap.base, ring->heap.size);
        tern__pages_unmap(ring->edges.base, ring->edges.size);
        tern__pages_unmap(ring->args.base, ring->args.size);
    }
    tern__map_free(rings->map);
    free(rings->ids.ids);
    free(rings);
}

static uint64_t larger(uint64_t one, uint64_t other)
{
    return one > other ? one : other;
}

void tern__rings_lend_heap(struct tern__rings *rings, char *memory)
{
    for (int r = 0; r < TERN_RINGS; r++) {
        struct tern__bump *heap = &rings->ring[r].heap;
        tern__pages_unmap(heap->base, heap->size);
        heap->base = memory;
        memory += heap->size;
    }
    rings->heap_lent = true;
}

// There is room for the arguments of as many tasks as the window has, whatever they are; memory
// that is not used costs nothing.
static bool make_ring(struct tern__ring *ring, uint64_t heap, uint32_t edges)
{
    uint64_t window = ring->window;
    ring->mask = 2 * ring->window - 1; // as many joins as tasks
    ring->heap.size = ring->heap.usual = heap / 1024 * 1024;
    ring->edges.size = ring->edges.usual = edges * sizeof(struct tern__edge);
    ring->args.usual = larger(window * ARGS_PER_TASK, ARGS_LEAST);
    ring->args.size = larger(window * ARGS_MOST, ring->args.usual);
    ring->rows = tern__pages_map(2 * window * sizeof *ring->rows);
    ring->heap.base = tern__pages_map(ring->heap.size);
    ring->edges.base = tern__pages_map(ring->edges.size);
    ring->args.base = tern__pages_map(ring->args.size);
    return ring->rows != NULL && ring->heap.base != NULL && ring->edges.base != NULL &&
           ring->args.base != NULL;
}

// "N", or "N,N,N,N" with K, M, G behind the numbers; nothing: zeros.
static int read_variable(const char *name, uint64_t values[TERN_RINGS])
{
    const char *text = getenv(name);
    memset(values, 0, TERN_RINGS * sizeof *values);
    if (text == NULL || *text == '\0') {
        return TERN_OK;
    }
    const char *at = text;
    int count = 0;
    for (; count < TERN_RINGS; count++) {
        char *end;
        unsigned long long value = strtoull(at, &end, 10);
        int shift = *end == 'K' ? 10 : *end == 'M' ? 20 : *end == 'G' ? 30 : 0;
        end += shift != 0;
        if (end == at || *at == '-' || value == 0 || value > HEAP_MOST >> shift ||
            (*end != '\0' && *end != ',')) {
            break;
        }
        values[count] = value << shift;
        if (*end == '\0') {
            count++;
            return count == 1 || count == TERN_RINGS
                       ? TERN_OK
                       : tern__fail(TERN_ERR_ARG, "%s is '%.80s'; it must be one number or %d",
                                    name, text, TERN_RINGS);
        }
        at = end + 1;
    }
    return tern__fail(
        TERN_ERR_ARG,
        "%s is '%.80s'; it must be one number above 0 or %d with commas between them, "
        "each with K, M or G behind it if need be",
        name, text, TERN_RINGS);
}

// One value stands for all.
static uint64_t value_of(const uint64_t values[TERN_RINGS], int ring, uint64_t otherwise)
{
    uint64_t value = values[ring] != 0 ? values[ring] : values[0];
    bool alone = values[1] == 0 && values[2] == 0 && values[3] == 0;
    return value != 0 && (alone || values[ring] != 0) ? value : otherwise;
}

static int check_count(const char *what, int ring, uint64_t value, uint64_t least, uint64_t most)
{
    return value >= least && value <= most
               ? TERN_OK
               : tern__fail(TERN_ERR_ARG,
                            "tern_graph_create_rings: the %s of ring %d is %llu; it must be "
                            "%llu to %llu",
                            what, ring, (unsigned long long)value, (unsigned long long)least,
                            (unsigned long long)most);
}

static int read_sizes(const tern_ring_options *options, uint64_t sizes[4][TERN_RINGS])
{
    static const char *const names[4] = {"TERN_RING_WINDOW", "TERN_RING_HEAP", "TERN_RING_EDGES",
                                         "TERN_RING_REGIONS"};
    static const char *const what[4] = {"window", "heap", "edges", "regions"};
    static const uint64_t otherwise[4] = {WINDOW, HEAP, EDGES, ENTRIES};
    static const uint64_t least[4] = {4, 1024, 4, 4};
    static const uint64_t most[4] = {COUNT_MOST, HEAP_MOST, COUNT_MOST, COUNT_MOST};
    for (int kind = 0; kind < 4; kind++) {
        uint64_t given[TERN_RINGS];
        if (options == NULL) {
            TERN_TRY(read_variable(names[kind], given));
        }
        for (int r = 0; r < TERN_RINGS && options != NULL; r++) {
            const uint64_t values[4] = {options->window[r], options->heap[r], options->edges[r],
                                        options->regions[r]};
            given[r] = values[kind];
        }
        for (int r = 0; r < TERN_RINGS; r++) {
            sizes[kind][r] = value_of(given, r, otherwise[kind]);
            TERN_TRY(check_count(what[kind], r, sizes[kind][r], least[kind], most[kind]));
        }
    }
    for (int r = 0; r < TERN_RINGS; r++) {
        if ((sizes[0][r] & (sizes[0][r] - 1)) != 0) {
            return tern__fail(TERN_ERR_ARG,
                              "tern_graph_create_rings: the window of ring %d is %llu; it must be "
                              "a power of two",
                              r, (unsigned long long)sizes[0][r]);
        }
    }
    return TERN_OK;
}

int tern__rings_make(const tern_ring_options *options, struct tern__rings **rings)
{
    uint64_t sizes[4][TERN_RINGS];
    uint32_t entries[TERN_RINGS];
    TERN_TRY(read_sizes(options, sizes));
    struct tern__rings *made =
        aligned_alloc(TERN_CACHE_LINE,
                      (sizeof *made + TERN_CACHE_LINE - 1) / TERN_CACHE_LINE * TERN_CACHE_LINE);
    if (made == NULL) {
        return tern__fail(TERN_ERR_MEMORY, "tern_graph_create_rings: no memory");
    }
    memset(made, 0, sizeof *made);
    made->depth = -1;
    made->flags = options != NULL ? options->flags : 0;
    bool well = true;
    for (int r = 0; r < TERN_RINGS; r++) {
        made->ring[r].window = (uint32_t)sizes[0][r];
        made->ring[r].entries = entries[r] = (uint32_t)sizes[3][r];
        well = make_ring(&made->ring[r], sizes[1][r], (uint32_t)sizes[2][r]) && well;
    }
    int status = well ? tern__ids_grow(&made->ids)
                      : tern__fail(TERN_ERR_MEMORY, "tern_graph_create_rings: no memory for them");
    status = status == TERN_OK ? tern__map_create(entries, &made->map) : status;
    if (status != TERN_OK) {
        tern__rings_free(made);
        return status;
    }
    *rings = made;
    return TERN_OK;
}

uint64_t tern__rings_tasks(const struct tern__rings *rings)
{
    uint64_t tasks = 0;
    for (int r = 0; r < TERN_RINGS; r++) {
        tasks += rings->ring[r].window;
    }
    return tasks;
}
