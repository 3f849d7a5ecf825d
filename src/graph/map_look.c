// SPDX-License-Identifier: Apache-2.0
// A look at the entries of a buffer (map_look.h).
//
// New entries are in a list, the newest first. When a look finds more than a few there, and most of
// them are tiles or slices of one shape, the buffer gets a grid: from then on an entry that lies in
// one cell is the cell's, and a look asks the cells that the region may have bytes in, and the
// buffer for the others. A list of more than LISTED_MAX becomes a tree, so that parts of any form
// do not make it slow; and readers that no writer ever looks for are never sorted. A grid that does
// not fit what comes later is dissolved.

#include "graph/map_look.h"

#include <string.h>

#include "base/error.h"

#define LISTED_MAX 64
#define LISTED_FEW 8
#define TRY_EVERY 32 // lookups that find more than a few

// Positive: the region covers the entry, and forgets it.
static int look_at_entry(const struct tern__map_look *lookup, const struct tern__map_entry *entry)
{
    enum tern__overlap overlap = entry->version < lookup->raised
                                     ? TERN__OVERLAPS
                                     : tern__box_overlap(lookup->box, &entry->box);
    if (overlap == TERN__APART) {
        return 0;
    }
    TERN_TRY(tern__ids_add(lookup->ids, entry->task));
    return overlap == TERN__COVERS && lookup->rule->forgets && !lookup->is_other;
}

static int look_at_sorted(void *arg, uint32_t at)
{
    struct tern__map_look *lookup = arg;
    struct tern__map_entry *entry = &lookup->entries->at[at];
    int result = look_at_entry(lookup, entry);
    if (result > 0) {
        entry->next = lookup->covered;
        lookup->covered = at;
    }
    return result < 0 ? result : 0;
}

static int look_at_tree(struct tern__map_look *lookup, const struct tern__map_buffer *buffer,
                        int role)
{
    struct tern__map_entries *entries = lookup->entries;
    const bool everywhere = lookup->raised > buffer->version;
    lookup->covered = 0;
    int status =
        tern__interval_visit(&entries->intervals, buffer->sorted[role],
                             everywhere ? 0 : lookup->box->first,
                             everywhere ? UINT64_MAX : lookup->box->end, look_at_sorted, lookup);
    for (uint32_t at = lookup->covered; at != 0; at = entries->at[at].next) {
        tern__map_forget_entry(entries, &entries->at[at]);
    }
    return status;
}

// A list that a lookup has found long.
static void settle(const struct tern__map_look *lookup, struct tern__map_buffer *buffer, int role,
                   int count)
{
    struct tern__map_entries *entries = lookup->entries;
    if (buffer == &entries->buffers.at[lookup->buffer] && buffer->grid == 0 &&
        (count > LISTED_MAX || ++entries->tries % TRY_EVERY == 0)) {
        tern__map_try_grid(entries, lookup->buffer, lookup->region, role);
    }
    if (count > LISTED_MAX) {
        tern__map_sort_entries(entries, buffer, role); // and those seen are met again, at no harm
    }
}

static int look_at_role(struct tern__map_look *lookup, struct tern__map_buffer *buffer, int role)
{
    struct tern__map_entry *entries = lookup->entries->at;
    int count = 0;
    for (uint32_t next, at = buffer->newest[role]; at != 0 && count <= LISTED_MAX; at = next) {
        struct tern__map_entry *entry = &entries[at];
        next = entry->next;
        int result = look_at_entry(lookup, entry);
        TERN_TRY(result);
        if (result > 0) {
            tern__map_forget_entry(lookup->entries, entry);
        } else {
            count++;
        }
    }
    if (count > LISTED_FEW) {
        settle(lookup, buffer, role, count);
    }
    return buffer->sorted[role] != 0 ? look_at_tree(lookup, buffer, role) : TERN_OK;
}

// A buffer's own entries, or a cell's.
static int look_at_entries(struct tern__map_look *lookup, uint32_t index)
{
    struct tern__map_buffer *buffer = &lookup->entries->buffers.at[index];
    for (int role = TERN__MAP_WRITER; role <= TERN__MAP_READER; role++) {
        if (lookup->rule->after[role] && (buffer->newest[role] | buffer->sorted[role]) != 0) {
            TERN_TRY(look_at_role(lookup, buffer, role));
        }
    }
    return TERN_OK;
}

static int look_at_all_cells(struct tern__map_look *lookup, const struct tern__grid *grid)
{
    const struct tern__map_buffer *buffers = lookup->entries->buffers.at;
    for (uint32_t cell = grid->first; cell != 0; cell = buffers[cell].cell.next) {
        TERN_TRY(look_at_entries(lookup, cell));
    }
    return TERN_OK;
}

static int look_at_cell(struct tern__map_look *lookup, uint32_t index, uint64_t number)
{
    uint32_t cell =
        tern__map_cell_find(&lookup->entries->buffers, index, tern__map_cell_key(index, number));
    return cell != 0 ? look_at_entries(lookup, cell) : TERN_OK;
}

static int look_at_span(struct tern__map_look *lookup, uint32_t index,
                        const struct tern__grid *grid, const struct tern__grid_span *span)
{
    uint64_t at[TERN__GRID_DIGITS], number = span->number;
    memcpy(at, span->first, grid->count * sizeof *at);
    do {
        TERN_TRY(look_at_cell(lookup, index, number));
    } while (tern__grid_next(grid, span, at, &number));
    return TERN_OK;
}

static int look_at_cells(struct tern__map_look *lookup, uint32_t index)
{
    struct tern__map_buffers *buffers = &lookup->entries->buffers;
    const struct tern__map_buffer *buffer = &buffers->at[index];
    struct tern__grid *grid = &buffers->grids[buffer->grid];
    const uint32_t known = lookup->ids->count;
    bool few = lookup->raised <= buffer->version && lookup->box->first >= buffer->interval.first;
    struct tern__grid_span span;
    if (few) {
        tern__grid_find(grid, buffer->interval.first, lookup->box, &span);
        if (span.cells == 1) {
            return look_at_cell(lookup, index, span.number);
        }
        few = span.cells <= grid->cells;
    }
    TERN_TRY(few ? look_at_span(lookup, index, grid, &span) : look_at_all_cells(lookup, grid));
    // What does not fit, and cells where nothing was found, tell against the grid.
    const uint32_t looked = few ? span.cells : grid->cells, found = lookup->ids->count - known;
    grid->others += 1 + (looked > found ? looked - found : 0) / 8;
    if (grid->others > grid->fitting + LISTED_MAX) {
        tern__map_dissolve_grid(lookup->entries, index);
    }
    return TERN_OK;
}

int tern__map_look_at_buffer(struct tern__map_look *lookup, uint32_t index)
{
    lookup->is_other = index != lookup->buffer;
    lookup->raised = lookup->is_other ? INT32_MIN : lookup->version;
    TERN_TRY(look_at_entries(lookup, index));
    return lookup->entries->buffers.at[index].grid != 0 ? look_at_cells(lookup, index) : TERN_OK;
}

static int look_at_other(void *arg, uint32_t index)
{
    struct tern__map_look *lookup = arg;
    return index != lookup->buffer ? tern__map_look_at_buffer(lookup, index) : TERN_OK;
}

int tern__map_look_at_others(struct tern__map_look *lookup)
{
    const struct tern__map_buffers *buffers = &lookup->entries->buffers;
    return buffers->at[lookup->buffer].shares
               ? tern__interval_visit(&buffers->intervals, buffers->root, lookup->box->first,
                                      lookup->box->end, look_at_other, lookup)
               : TERN_OK;
}
