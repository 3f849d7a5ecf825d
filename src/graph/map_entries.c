// SPDX-License-Identifier: Apache-2.0
// Entries of the tensor map (map_entries.h).

#include "graph/map_entries.h"

#include "graph/pages.h"
#include "tern/status.h"

#define TRY_ENTRIES 16

int tern__map_entries_create(uint32_t room, struct tern__map_entries *entries)
{
    *entries = (struct tern__map_entries){.made = 1};
    const int status = tern__map_buffers_create(room, &entries->buffers);
    entries->bytes = (room + UINT64_C(1)) * sizeof *entries->at;
    entries->at = tern__pages_map(entries->bytes);
    if (status < 0 || entries->at == NULL) {
        return TERN_ERR_MEMORY;
    }
    entries->intervals = (struct tern__intervals){&entries->at[0].interval, sizeof *entries->at};
    return TERN_OK;
}

void tern__map_entries_free(struct tern__map_entries *entries)
{
    tern__pages_unmap(entries->at, entries->bytes);
    tern__map_buffers_free(&entries->buffers);
}

void tern__map_entries_clear(struct tern__map_entries *entries)
{
    tern__map_buffers_clear(&entries->buffers);
    entries->made = 1;
    entries->free = 0;
}

uint32_t tern__map_entry_cell(struct tern__map_entries *entries, uint32_t index, uint32_t at)
{
    struct tern__map_buffers *buffers = &entries->buffers;
    const struct tern__map_buffer *buffer = &buffers->at[index];
    struct tern__grid *grid = &buffers->grids[buffer->grid];
    struct tern__grid_span span;
    tern__grid_find(grid, buffer->interval.first, &entries->at[at].box, &span);
    if (span.cells != 1) {
        return index;
    }
    const uint64_t key = tern__map_cell_key(index, span.number);
    const uint32_t cell = tern__map_cell_find(buffers, index, key);
    grid->fitting++;
    return cell != 0 ? cell : tern__map_cell_learn(buffers, index, key);
}

void tern__map_sort_entries(struct tern__map_entries *entries, struct tern__map_buffer *buffer,
                            int role)
{
    for (uint32_t next, at = buffer->newest[role]; at != 0; at = next) {
        struct tern__map_entry *entry = &entries->at[at];
        next = entry->next;
        entry->filed.sorted = true;
        entry->interval.first = entry->box.first;
        entry->interval.end = entry->box.end;
        tern__interval_add(&entries->intervals, &buffer->sorted[role], at);
    }
    buffer->newest[role] = 0;
}

// Whether a grid of which the region is a cell would tell most of the newest entries apart.
static bool fits(const struct tern__map_entries *entries, const struct tern__map_buffer *buffer,
                 int role, const struct tern__grid *grid)
{
    uint64_t last = UINT64_MAX;
    int good = 0, count = 0;
    for (uint32_t at = buffer->newest[role]; at != 0 && count < TRY_ENTRIES;
         at = entries->at[at].next) {
        struct tern__grid_span span;
        tern__grid_find(grid, buffer->interval.first, &entries->at[at].box, &span);
        good += span.cells == 1 && span.number != last;
        last = span.cells == 1 ? span.number : last;
        count++;
    }
    return 2 * good > count;
}

void tern__map_try_grid(struct tern__map_entries *entries, uint32_t index,
                        const tern_region *region, int role)
{
    struct tern__map_buffer *buffer = &entries->buffers.at[index];
    struct tern__grid grid;
    if (!tern__grid_make(region, &grid) || !fits(entries, buffer, role, &grid) ||
        !tern__map_grid_add(&entries->buffers, index, &grid)) {
        return;
    }
    for (int i = TERN__MAP_WRITER; i <= TERN__MAP_READER; i++) {
        uint32_t at = buffer->newest[i];
        buffer->newest[i] = 0;
        for (uint32_t next; at != 0; at = next) {
            next = entries->at[at].next;
            tern__map_file_entry(entries, index, i, at);
        }
    }
}

void tern__map_dissolve_grid(struct tern__map_entries *entries, uint32_t index)
{
    struct tern__map_buffers *buffers = &entries->buffers;
    const struct tern__grid *grid = &buffers->grids[buffers->at[index].grid];
    for (uint32_t cell = grid->first; cell != 0; cell = buffers->at[cell].cell.next) {
        struct tern__map_buffer *from = &buffers->at[cell];
        for (int role = TERN__MAP_WRITER; role <= TERN__MAP_READER; role++) {
            for (uint32_t at; (at = from->newest[role] | from->sorted[role]) != 0;) {
                at = from->newest[role] != 0 ? from->newest[role] : at;
                tern__map_unfile_entry(entries, &entries->at[at]);
                tern__map_list_entry(entries, index, role, at);
            }
        }
        tern__map_buffers_put(buffers, cell);
    }
    tern__map_grid_remove(buffers, index);
}
