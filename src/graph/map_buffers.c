// SPDX-License-Identifier: Apache-2.0
// The buffers that the tensor map knows (map_buffers.h).

#include "graph/map_buffers.h"

#include <stdlib.h>

#include "tern/status.h"

#define IDLE_MAX 64
#define ENTRIES_PER_GRID 8

int tern__map_buffers_create(uint32_t used, struct tern__map_buffers *buffers)
{
    int bits = 6;
    while ((UINT64_C(1) << bits) < used) {
        bits++;
    }
    // With entries, or idle; and buffers without entries that have such a cell.
    const size_t room = 2 * ((size_t)used + IDLE_MAX) + 3;
    *buffers = (struct tern__map_buffers){.shift = 64 - bits,
                                          .made = 1,
                                          .grids_room = used / ENTRIES_PER_GRID + 2,
                                          .grids_made = 1};
    buffers->grids = malloc(buffers->grids_room * sizeof *buffers->grids);
    buffers->at = aligned_alloc(TERN_CACHE_LINE, room * sizeof *buffers->at);
    buffers->buckets = calloc(UINT64_C(1) << bits, sizeof *buffers->buckets);
    if (buffers->at == NULL || buffers->buckets == NULL || buffers->grids == NULL) {
        return TERN_ERR_MEMORY;
    }
    buffers->intervals = (struct tern__intervals){&buffers->at[0].interval, sizeof *buffers->at};
    return TERN_OK;
}

void tern__map_buffers_free(struct tern__map_buffers *buffers)
{
    free(buffers->at);
    free(buffers->buckets);
    free(buffers->grids);
}

void tern__map_buffers_clear(struct tern__map_buffers *buffers)
{
    for (uint32_t i = 1; i < buffers->made; i++) {
        *tern__map_bucket(buffers, buffers->at[i].interval.first) = 0;
    }
    buffers->made = 1;
    buffers->idle_first = buffers->idle_last = buffers->idle_count = 0;
    buffers->root = 0;
    buffers->grids_made = 1;
    buffers->grids_free = 0;
}

static bool is_idle(const struct tern__map_buffers *buffers, const struct tern__map_buffer *buffer)
{
    return (buffer->newest[0] | buffer->newest[1] | buffer->sorted[0] | buffer->sorted[1]) == 0 &&
           (buffer->grid == 0 || buffers->grids[buffer->grid].cells == 0);
}

void tern__map_buffers_put(struct tern__map_buffers *buffers, uint32_t index)
{
    struct tern__map_buffer *buffer = &buffers->at[index];
    if (buffer->queued || !is_idle(buffers, buffer)) {
        return;
    }
    buffer->queued = true;
    buffer->next_idle = 0;
    if (buffers->idle_count++ == 0) {
        buffers->idle_first = index;
    } else {
        buffers->at[buffers->idle_last].next_idle = index;
    }
    buffers->idle_last = index;
}

static void forget_cell(struct tern__map_buffers *buffers, const struct tern__map_buffer *cell)
{
    const uint32_t buffer = cell->cell.buffer;
    struct tern__grid *grid = &buffers->grids[buffers->at[buffer].grid];
    if (cell->cell.next != 0) {
        buffers->at[cell->cell.next].cell.previous = cell->cell.previous;
    }
    if (cell->cell.previous != 0) {
        buffers->at[cell->cell.previous].cell.next = cell->cell.next;
    } else {
        grid->first = cell->cell.next;
    }
    grid->cells--;
    tern__map_buffers_put(buffers, buffer);
}

static void forget(struct tern__map_buffers *buffers, uint32_t index)
{
    const struct tern__map_buffer *buffer = &buffers->at[index];
    uint32_t *place = tern__map_bucket(buffers, buffer->interval.first);
    while (*place != index) {
        place = &buffers->at[*place].next;
    }
    *place = buffer->next;
    if (buffer->is_cell && buffer->cell.buffer != 0) {
        forget_cell(buffers, buffer);
    }
    if (buffer->grid != 0) {
        tern__map_grid_remove(buffers, index);
    }
    if (buffer->spread) {
        tern__interval_remove(&buffers->intervals, &buffers->root, index);
    }
}

// The one that has been idle longest, or one that was never used. There is one: who is not in the
// queue has entries or cells, and there is room for all those and IDLE_MAX more.
static uint32_t take(struct tern__map_buffers *buffers)
{
    while (buffers->idle_count > IDLE_MAX) {
        uint32_t index = buffers->idle_first;
        struct tern__map_buffer *buffer = &buffers->at[index];
        buffers->idle_first = buffer->next_idle;
        buffers->idle_count--;
        buffer->queued = false;
        if (is_idle(buffers, buffer)) {
            forget(buffers, index);
            return index;
        }
    }
    return buffers->made++;
}

static int mark_shares(void *arg, uint32_t index)
{
    struct tern__map_buffer *const *pair = arg; // all, and the one that is spread
    pair[0][index].shares = pair[1]->shares = true;
    return 0;
}

// Into the tree, or to a new end in it; marks it and whom it overlaps.
static void spread(struct tern__map_buffers *buffers, uint32_t index, uint64_t end)
{
    struct tern__map_buffer *buffer = &buffers->at[index];
    if (buffer->spread) {
        tern__interval_remove(&buffers->intervals, &buffers->root, index);
    }
    buffer->interval.end = end;
    tern__interval_visit(&buffers->intervals, buffers->root, buffer->interval.first, end,
                         mark_shares, (struct tern__map_buffer *[]){buffers->at, buffer});
    buffer->spread = true;
    tern__interval_add(&buffers->intervals, &buffers->root, index);
}

uint32_t tern__map_buffers_learn(struct tern__map_buffers *buffers, const tern_region *region,
                                 uint32_t index)
{
    if (index == 0) {
        index = take(buffers);
        uint32_t *bucket = tern__map_bucket(buffers, region->address);
        buffers->at[index] = (struct tern__map_buffer){.interval.first = region->address,
                                                       .next = *bucket,
                                                       .version = INT32_MAX};
        *bucket = index;
        tern__map_buffers_put(buffers, index);
    }
    if (tern__map_is_foreign(region)) {
        spread(buffers, index, region->address + region->buffer_bytes);
    }
    return index;
}

// --- grids ------------------------------------------------------------------------------------

bool tern__map_grid_add(struct tern__map_buffers *buffers, uint32_t index,
                        const struct tern__grid *grid)
{
    uint32_t added = buffers->grids_free;
    if (added != 0) {
        buffers->grids_free = buffers->grids[added].next_free;
    } else if (buffers->grids_made < buffers->grids_room) {
        added = buffers->grids_made++;
    } else {
        return false;
    }
    buffers->grids[added] = *grid;
    buffers->at[index].grid = added & (UINT32_MAX >> 4);
    return true;
}

void tern__map_grid_remove(struct tern__map_buffers *buffers, uint32_t index)
{
    struct tern__map_buffer *buffer = &buffers->at[index];
    struct tern__grid *grid = &buffers->grids[buffer->grid];
    for (uint32_t cell = grid->first; cell != 0; cell = buffers->at[cell].cell.next) {
        buffers->at[cell].cell.buffer = 0;
    }
    grid->next_free = buffers->grids_free;
    buffers->grids_free = buffer->grid;
    buffer->grid = 0;
}

uint32_t tern__map_cell_learn(struct tern__map_buffers *buffers, uint32_t buffer, uint64_t key)
{
    struct tern__grid *grid = &buffers->grids[buffers->at[buffer].grid];
    grid->cells++; // first: while one is taken, the buffer is not idle
    const uint32_t index = take(buffers);
    uint32_t *bucket = tern__map_bucket(buffers, key);
    buffers->at[index] = (struct tern__map_buffer){.cell = {key, buffer, grid->first, 0},
                                                   .next = *bucket,
                                                   .is_cell = true};
    *bucket = index;
    if (grid->first != 0) {
        buffers->at[grid->first].cell.previous = index;
    }
    grid->first = index;
    return index;
}
