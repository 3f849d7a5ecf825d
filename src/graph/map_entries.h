// SPDX-License-Identifier: Apache-2.0
// Entries of the tensor map, and where they are: in the list of their buffer, newest first; in its
// tree of intervals, when the list was long; or in a cell of its grid, as if that were a buffer.
// Readers and writers of a buffer are apart. Indexes instead of pointers; 0 is none. Data path, but
// for create and free.
#ifndef TERN_GRAPH_MAP_ENTRIES_H
#define TERN_GRAPH_MAP_ENTRIES_H

#include <assert.h>
#include <stdalign.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/order.h"
#include "graph/box.h"
#include "graph/interval.h"
#include "graph/map_buffers.h"
#include "tern/submit.h"

struct tern__map_entry {
    alignas(2 * TERN_CACHE_LINE) tern_task_id task;
    struct tern__map_filing {
        uint32_t role : 1;
        uint32_t sorted : 1;  // in the tree of its role; else in the list
        uint32_t buffer : 30; // or cell; 0: a later writer has covered it
    } filed;
    uint32_t next, previous;
    int32_t version;
    struct tern__box box;
    struct tern__interval interval; // while it is sorted
};
static_assert(offsetof(struct tern__map_entry, box.level) < TERN_CACHE_LINE,
              "what a lookup reads of boxes without levels is one line");
static_assert(sizeof(struct tern__map_entry) == 2 * TERN_CACHE_LINE, "two lines");

// So many entries behind a new one, the line of a later one is asked for.
#define TERN__MAP_ENTRIES_AHEAD 8

struct tern__map_entries {
    struct tern__map_entry *at; // [0] is none
    uint64_t bytes;             // of their memory
    uint32_t made;
    uint32_t free; // of these, chained by `next`: the last that went is in a cache
    uint32_t tries;
    struct tern__intervals intervals; // of entries
    struct tern__map_buffers buffers;
};

// Room for so many; none is made. TERN_ERR_MEMORY, without a sentence; free it also then.
int tern__map_entries_create(uint32_t room, struct tern__map_entries *entries);
void tern__map_entries_free(struct tern__map_entries *entries);
void tern__map_entries_clear(struct tern__map_entries *entries);

// The entry's cell, or the buffer if it does not lie in one. Of a buffer with a grid.
uint32_t tern__map_entry_cell(struct tern__map_entries *entries, uint32_t index, uint32_t at);

// The buffer's whole list into its tree.
void tern__map_sort_entries(struct tern__map_entries *entries, struct tern__map_buffer *buffer,
                            int role);

// Gives the buffer a grid of which the region is a cell, if that tells most of the newest entries
// with this role apart.
void tern__map_try_grid(struct tern__map_entries *entries, uint32_t index,
                        const tern_region *region, int role);

// The buffer's grid goes; the entries of its cells are the buffer's again.
void tern__map_dissolve_grid(struct tern__map_entries *entries, uint32_t index);

// There is one: a ring has room in its queue.
static inline uint32_t tern__map_take_entry(struct tern__map_entries *entries)
{
    const uint32_t at = entries->free;
    if (at == 0) {
        tern__own_line(&entries->at[entries->made + TERN__MAP_ENTRIES_AHEAD]);
        return entries->made++;
    }
    entries->free = entries->at[at].next;
    return at;
}

static inline void tern__map_give_entry(struct tern__map_entries *entries, uint32_t at)
{
    entries->at[at].next = entries->free;
    entries->free = at;
}

static inline void tern__map_unlist_entry(struct tern__map_entries *entries,
                                          const struct tern__map_entry *entry)
{
    if (entry->next != 0) {
        entries->at[entry->next].previous = entry->previous;
    }
    if (entry->previous != 0) {
        entries->at[entry->previous].next = entry->next;
    } else {
        entries->buffers.at[entry->filed.buffer].newest[entry->filed.role] = entry->next;
    }
}

static inline void tern__map_unfile_entry(struct tern__map_entries *entries,
                                          const struct tern__map_entry *entry)
{
    if (entry->filed.sorted) {
        tern__interval_remove(&entries->intervals,
                              &entries->buffers.at[entry->filed.buffer].sorted[entry->filed.role],
                              (uint32_t)(entry - entries->at));
    } else {
        tern__map_unlist_entry(entries, entry);
    }
}

static inline void tern__map_forget_entry(struct tern__map_entries *entries,
                                          struct tern__map_entry *entry)
{
    tern__map_unfile_entry(entries, entry);
    tern__map_buffers_put(&entries->buffers, entry->filed.buffer);
    entry->filed.buffer = 0;
}

static inline void tern__map_list_entry(struct tern__map_entries *entries, uint32_t index, int role,
                                        uint32_t at)
{
    struct tern__map_entry *entry = &entries->at[at];
    uint32_t *newest = &entries->buffers.at[index].newest[role];
    entry->filed = (struct tern__map_filing){.role = role == TERN__MAP_READER,
                                             .buffer = index & (UINT32_MAX >> 2)};
    entry->next = *newest;
    entry->previous = 0;
    if (*newest != 0) {
        entries->at[*newest].previous = at;
    }
    *newest = at;
}

static inline void tern__map_file_entry(struct tern__map_entries *entries, uint32_t index, int role,
                                        uint32_t at)
{
    const bool has_grid = entries->buffers.at[index].grid != 0;
    tern__map_list_entry(entries,
                         __builtin_expect(has_grid, 0) ? tern__map_entry_cell(entries, index, at)
                                                       : index,
                         role, at);
}

// What the buffer knows of all its entries, with one more.
static inline void tern__map_note_entry(struct tern__map_buffer *buffer,
                                        const struct tern__map_entry *entry)
{
    buffer->version = entry->version < buffer->version ? entry->version : buffer->version;
    if (!buffer->spread && entry->box.end > buffer->interval.end) {
        buffer->interval.end = entry->box.end;
    }
}

#endif
