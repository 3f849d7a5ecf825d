// SPDX-License-Identifier: Apache-2.0
// The tensor map (tensor_map.h). Data path, but for create and free. Indexes instead of pointers; 0
// is none.
//
// A buffer has its writers and its readers apart. New entries are in a list, the newest first. When
// a lookup finds more than a few there, and most of them are tiles or slices of one shape, the
// buffer gets a grid: from then on an entry that lies in one cell is the cell's, and a lookup asks
// the cells that the region may have bytes in, and the buffer for the others. A list of more than
// LISTED_MAX becomes a tree, so that parts of any form do not make it slow; and readers that no
// writer ever looks for are never sorted. A grid that does not fit what comes later is dissolved.
//
// Most programs write a buffer that a task made in that task alone. As long as none has done
// otherwise, a reader of such a buffer comes after the buffer's owner and nobody else, and nobody
// looks for it: it has no entry, and the queue of its ring says only where its region is. The first
// who writes such a buffer makes and files entries for all of those, and from then on readers of
// all buffers have one.

#include "graph/tensor_map.h"

#include <assert.h>
#include <stdalign.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/order.h"
#include "graph/box.h"
#include "graph/interval.h"
#include "graph/map_buffers.h"

#define ENTRIES_MAX (1U << 28) // of all rings
#define LISTED_MAX 64
#define LISTED_FEW 8
#define TRY_EVERY 32 // lookups that find more than a few
#define TRY_ENTRIES 16
#define SHARED_LEAST 8
#define READERS_MAX 32 // of a struct queued

struct entry {
    alignas(2 * TERN_CACHE_LINE) tern_task_id task;
    struct filing {
        uint32_t role : 1;
        uint32_t sorted : 1;  // in the tree of its role; else in the list
        uint32_t buffer : 30; // or cell; 0: a later writer has covered it
    } filed;
    uint32_t next, previous;
    int32_t version;
    struct tern__box box;
    struct tern__interval interval; // while it is sorted
};
static_assert(offsetof(struct entry, box.level) < TERN_CACHE_LINE,
              "what a lookup reads of boxes without levels is one line");
static_assert(sizeof(struct entry) == 2 * TERN_CACHE_LINE, "two lines");

// An entry, or readers of a task that are not filed: of its regions from `readers` on those that
// `which` has a bit for.
struct queued {
    uint32_t task; // its number in the ring
    union {
        uint32_t entry;
        uint32_t which;
    };
    const tern_region *readers; // NULL: an entry
};

struct ring {
    struct queued *queue; // in the order of tasks, around the end
    uint32_t room, count, oldest;
};

struct tern__tensor_map {
    struct tern__map_head head;
    struct ring rings[TERN_RINGS];
    struct entry *entries; // [0] is none
    uint32_t entries_made;
    uint32_t free; // of these, chained by `next`: the last that went is in a cache
    struct queued *queues;
    struct tern__map_buffers buffers;
    struct tern__intervals intervals; // of entries
    uint32_t tries;
    struct tern__map_share shares[TERN__MAP_SHARES];
};

// --- memory -----------------------------------------------------------------------------------

int tern__map_create(const uint32_t entries[TERN_RINGS], struct tern__tensor_map **map)
{
    uint64_t total = 0;
    for (int i = 0; i < TERN_RINGS; i++) {
        total += entries[i];
    }
    if (total > ENTRIES_MAX) {
        return tern__fail(TERN_ERR_ARG, "%llu regions of tasks in flight; at most %u are possible",
                          (unsigned long long)total, ENTRIES_MAX);
    }
    struct tern__tensor_map *made = calloc(1, sizeof *made);
    if (made == NULL) {
        return tern__fail(TERN_ERR_MEMORY, "no memory for the map of regions");
    }
    made->entries_made = 1;
    made->entries = aligned_alloc(alignof(struct entry), (total + 1) * sizeof *made->entries);
    made->queues = malloc(total * sizeof *made->queues);
    int status = tern__map_buffers_create((uint32_t)total, &made->buffers);
    if (status < 0 || made->entries == NULL || made->queues == NULL) {
        tern__map_free(made);
        return tern__fail(TERN_ERR_MEMORY, "no memory for the map of regions, with room for %llu",
                          (unsigned long long)total);
    }
    made->intervals = (struct tern__intervals){&made->entries[0].interval, sizeof *made->entries};
    struct queued *queue = made->queues;
    for (int i = 0; i < TERN_RINGS; i++) {
        made->rings[i] = (struct ring){.queue = queue, .room = entries[i]};
        queue += entries[i];
    }
    *map = made;
    return TERN_OK;
}

void tern__map_free(struct tern__tensor_map *map)
{
    if (map != NULL) {
        free(map->entries);
        free(map->queues);
        tern__map_buffers_free(&map->buffers);
        free(map);
    }
}

void tern__map_clear(struct tern__tensor_map *map)
{
    tern__map_buffers_clear(&map->buffers);
    map->entries_made = 1;
    map->free = 0;
    memset(map->shares, 0, sizeof map->shares);
    for (int i = 0; i < TERN_RINGS; i++) {
        map->head.used[i] = map->rings[i].count = map->rings[i].oldest = 0;
    }
}

// --- entries ----------------------------------------------------------------------------------

// There is one: a ring has room in its queue.
static uint32_t take_entry(struct tern__tensor_map *map)
{
    const uint32_t at = map->free;
    if (at == 0) {
        return map->entries_made++;
    }
    map->free = map->entries[at].next;
    return at;
}

static void give_entry(struct tern__tensor_map *map, uint32_t at)
{
    map->entries[at].next = map->free;
    map->free = at;
}

static void unlist_entry(struct tern__tensor_map *map, const struct entry *entry)
{
    if (entry->next != 0) {
        map->entries[entry->next].previous = entry->previous;
    }
    if (entry->previous != 0) {
        map->entries[entry->previous].next = entry->next;
    } else {
        map->buffers.at[entry->filed.buffer].newest[entry->filed.role] = entry->next;
    }
}

static void unfile_entry(struct tern__tensor_map *map, const struct entry *entry)
{
    if (entry->filed.sorted) {
        tern__interval_remove(&map->intervals,
                              &map->buffers.at[entry->filed.buffer].sorted[entry->filed.role],
                              (uint32_t)(entry - map->entries));
    } else {
        unlist_entry(map, entry);
    }
}

static void forget_entry(struct tern__tensor_map *map, struct entry *entry)
{
    unfile_entry(map, entry);
    tern__map_buffers_put(&map->buffers, entry->filed.buffer);
    entry->filed.buffer = 0;
}

static inline void list_entry(struct tern__tensor_map *map, uint32_t index, int role, uint32_t at)
{
    struct entry *entry = &map->entries[at];
    uint32_t *newest = &map->buffers.at[index].newest[role];
    entry->filed =
        (struct filing){.role = role == TERN__MAP_READER, .buffer = index & (UINT32_MAX >> 2)};
    entry->next = *newest;
    entry->previous = 0;
    if (*newest != 0) {
        map->entries[*newest].previous = at;
    }
    *newest = at;
}

// The entry's cell, or the buffer if it does not lie in one.
static uint32_t cell_of(struct tern__tensor_map *map, uint32_t index, uint32_t at)
{
    struct tern__map_buffers *buffers = &map->buffers;
    const struct tern__map_buffer *buffer = &buffers->at[index];
    struct tern__grid *grid = &buffers->grids[buffer->grid];
    struct tern__grid_span span;
    tern__grid_find(grid, buffer->interval.first, &map->entries[at].box, &span);
    if (span.cells != 1) {
        return index;
    }
    const uint64_t key = tern__map_cell_key(index, span.number);
    const uint32_t cell = tern__map_cell_find(buffers, index, key);
    grid->fitting++;
    return cell != 0 ? cell : tern__map_cell_learn(buffers, index, key);
}

static inline void file_entry(struct tern__tensor_map *map, uint32_t index, int role, uint32_t at)
{
    const bool has_grid = map->buffers.at[index].grid != 0;
    list_entry(map, __builtin_expect(has_grid, 0) ? cell_of(map, index, at) : index, role, at);
}

// The whole list into the tree.
static void sort_entries(struct tern__tensor_map *map, struct tern__map_buffer *buffer, int role)
{
    for (uint32_t next, at = buffer->newest[role]; at != 0; at = next) {
        struct entry *entry = &map->entries[at];
        next = entry->next;
        entry->filed.sorted = true;
        entry->interval.first = entry->box.first;
        entry->interval.end = entry->box.end;
        tern__interval_add(&map->intervals, &buffer->sorted[role], at);
    }
    buffer->newest[role] = 0;
}

static inline struct queued *queued_at(const struct ring *ring, uint32_t place)
{
    const uint32_t slot = ring->oldest + place;
    return &ring->queue[slot < ring->room ? slot : slot - ring->room];
}

void tern__map_retire(struct tern__tensor_map *map, int ring, uint32_t alive)
{
    struct ring *of = &map->rings[ring];
    while (of->count > 0) {
        const struct queued *queued = &of->queue[of->oldest];
        const bool retired = (int32_t)(queued->task - alive) < 0;
        if (queued->readers != NULL) {
            if (!retired) {
                return;
            }
            map->head.used[ring] -= (uint32_t)__builtin_popcount(queued->which);
        } else {
            struct entry *entry = &map->entries[queued->entry];
            if (entry->filed.buffer != 0) {
                if (!retired) {
                    return;
                }
                forget_entry(map, entry);
            }
            give_entry(map, queued->entry);
            map->head.used[ring]--;
        }
        of->oldest = of->oldest + 1 < of->room ? of->oldest + 1 : 0;
        of->count--;
    }
}

// What the buffer knows of all its entries, with one more.
static inline void note_entry(struct tern__map_buffer *buffer, const struct entry *entry)
{
    buffer->version = entry->version < buffer->version ? entry->version : buffer->version;
    if (!buffer->spread && entry->box.end > buffer->interval.end) {
        buffer->interval.end = entry->box.end;
    }
}

// A reader that was not worth an entry so far.
static void file_reader(struct tern__tensor_map *map, const tern_region *region, tern_task_id task,
                        uint32_t at)
{
    struct entry *entry = &map->entries[at];
    entry->task = task;
    entry->version = region->version;
    tern__box_make(region, &entry->box);
    if (entry->box.end == 0) {
        entry->filed.buffer = 0;
        return;
    }
    const uint32_t index = tern__map_buffers_get(&map->buffers, region);
    file_entry(map, index, TERN__MAP_READER, at);
    note_entry(&map->buffers.at[index], entry);
}

// All readers of the ring. The queue grows at its newest end, and what is last moves first: nothing
// is written over before it has moved.
static void file_readers(struct tern__tensor_map *map, int ring)
{
    struct ring *of = &map->rings[ring];
    uint32_t place = map->head.used[ring], from = of->count;
    of->count = place;
    while (from > 0) {
        const struct queued queued = *queued_at(of, --from);
        if (queued.readers == NULL) {
            *queued_at(of, --place) = queued;
            continue;
        }
        for (uint32_t i = READERS_MAX; i-- > 0;) {
            if ((queued.which >> i & 1) != 0) {
                const uint32_t at = take_entry(map);
                file_reader(map, &queued.readers[i], (uint64_t)ring << 32 | queued.task, at);
                *queued_at(of, --place) = (struct queued){.task = queued.task, .entry = at};
            }
        }
    }
}

// A task writes a buffer that another one made.
static void file_all(struct tern__tensor_map *map)
{
    map->head.files_all = true;
    for (int i = 0; i < TERN_RINGS; i++) {
        file_readers(map, i);
    }
}

// --- lookup and insert ------------------------------------------------------------------------

struct rule {
    bool after[2]; // by role of the earlier
    enum tern__map_role becomes;
    bool forgets; // what it comes after and covers
};

static const struct rule *find_rule(tern_access access, uint32_t flags)
{
    static const struct rule none = {.becomes = TERN__MAP_NONE};
    static const struct rule rules[2][4] = {
        {
            [TERN_IN] = {.after = {[TERN__MAP_WRITER] = true}, .becomes = TERN__MAP_READER},
            [TERN_OUT] = {.becomes = TERN__MAP_NONE},
            [TERN_INOUT] = {.after = {true, true}, .becomes = TERN__MAP_WRITER, .forgets = true},
            [TERN_OUT_EXISTING] = {.after = {true, true},
                                   .becomes = TERN__MAP_WRITER,
                                   .forgets = true},
        },
        {
            [TERN_IN] = {.after = {[TERN__MAP_WRITER] = true}, .becomes = TERN__MAP_NONE},
            [TERN_OUT] = {.becomes = TERN__MAP_NONE},
            [TERN_INOUT] = {.after = {[TERN__MAP_WRITER] = true},
                            .becomes = TERN__MAP_WRITER,
                            .forgets = true},
            [TERN_OUT_EXISTING] = {.becomes = TERN__MAP_WRITER},
        },
    };
    return access <= TERN_OUT_EXISTING ? &rules[(flags & TERN_RINGS_UPSTREAM) != 0][access] : &none;
}

int tern__ids_grow(struct tern__ids *ids)
{
    uint32_t room = ids->room != 0 ? 2 * ids->room : 64;
    tern_task_id *grown = realloc(ids->ids, room * sizeof *grown);
    if (grown == NULL) {
        return tern__fail(TERN_ERR_MEMORY, "no memory for the %u tasks that one comes after",
                          ids->count + 1);
    }
    ids->ids = grown;
    ids->room = room;
    return TERN_OK;
}

struct lookup {
    struct tern__tensor_map *map;
    const struct rule *rule;
    struct tern__ids *ids;
    const tern_region *region;
    const struct tern__box *box;
    uint32_t buffer;
    int32_t version;
    // Of the buffer that is looked at: below this version entries are met wherever they are.
    int32_t raised;
    bool is_other;    // it is not the region's
    uint32_t covered; // entries of its tree, chained by `next`
};

// Positive: the region covers the entry, and forgets it.
static int look_at_entry(const struct lookup *lookup, const struct entry *entry)
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
    struct lookup *lookup = arg;
    struct entry *entry = &lookup->map->entries[at];
    int result = look_at_entry(lookup, entry);
    if (result > 0) {
        entry->next = lookup->covered;
        lookup->covered = at;
    }
    return result < 0 ? result : 0;
}

static int look_at_tree(struct lookup *lookup, const struct tern__map_buffer *buffer, int role)
{
    struct tern__tensor_map *map = lookup->map;
    const bool all = lookup->raised > buffer->version;
    lookup->covered = 0;
    int status =
        tern__interval_visit(&map->intervals, buffer->sorted[role], all ? 0 : lookup->box->first,
                             all ? UINT64_MAX : lookup->box->end, look_at_sorted, lookup);
    for (uint32_t at = lookup->covered; at != 0; at = map->entries[at].next) {
        forget_entry(map, &map->entries[at]);
    }
    return status;
}

// Whether a grid of which the region is a cell would tell most of the newest entries apart.
static bool fits(const struct lookup *lookup, const struct tern__map_buffer *buffer, int role,
                 const struct tern__grid *grid)
{
    const struct entry *entries = lookup->map->entries;
    uint64_t last = UINT64_MAX;
    int good = 0, count = 0;
    for (uint32_t at = buffer->newest[role]; at != 0 && count < TRY_ENTRIES;
         at = entries[at].next) {
        struct tern__grid_span span;
        tern__grid_find(grid, buffer->interval.first, &entries[at].box, &span);
        good += span.cells == 1 && span.number != last;
        last = span.cells == 1 ? span.number : last;
        count++;
    }
    return 2 * good > count;
}

static void try_grid(const struct lookup *lookup, int role)
{
    struct tern__tensor_map *map = lookup->map;
    struct tern__map_buffer *buffer = &map->buffers.at[lookup->buffer];
    struct tern__grid grid;
    if (!tern__grid_make(lookup->region, &grid) || !fits(lookup, buffer, role, &grid) ||
        !tern__map_grid_add(&map->buffers, lookup->buffer, &grid)) {
        return;
    }
    for (int i = TERN__MAP_WRITER; i <= TERN__MAP_READER; i++) {
        uint32_t at = buffer->newest[i];
        buffer->newest[i] = 0;
        for (uint32_t next; at != 0; at = next) {
            next = map->entries[at].next;
            file_entry(map, lookup->buffer, i, at);
        }
    }
}

// Its cells' entries are the buffer's again.
static void dissolve_grid(struct tern__tensor_map *map, uint32_t index)
{
    struct tern__map_buffers *buffers = &map->buffers;
    const struct tern__grid *grid = &buffers->grids[buffers->at[index].grid];
    for (uint32_t cell = grid->first; cell != 0; cell = buffers->at[cell].cell.next) {
        struct tern__map_buffer *from = &buffers->at[cell];
        for (int role = TERN__MAP_WRITER; role <= TERN__MAP_READER; role++) {
            for (uint32_t at; (at = from->newest[role] | from->sorted[role]) != 0;) {
                at = from->newest[role] != 0 ? from->newest[role] : at;
                unfile_entry(map, &map->entries[at]);
                list_entry(map, index, role, at);
            }
        }
        tern__map_buffers_put(buffers, cell);
    }
    tern__map_grid_remove(buffers, index);
}

// A list that a lookup has found long.
static void settle(const struct lookup *lookup, struct tern__map_buffer *buffer, int role,
                   int count)
{
    struct tern__tensor_map *map = lookup->map;
    if (buffer == &map->buffers.at[lookup->buffer] && buffer->grid == 0 &&
        (count > LISTED_MAX || ++map->tries % TRY_EVERY == 0)) {
        try_grid(lookup, role);
    }
    if (count > LISTED_MAX) {
        sort_entries(map, buffer, role); // and those seen are met again, at no harm
    }
}

static int look_at_role(struct lookup *lookup, struct tern__map_buffer *buffer, int role)
{
    struct entry *entries = lookup->map->entries;
    int count = 0;
    for (uint32_t next, at = buffer->newest[role]; at != 0 && count <= LISTED_MAX; at = next) {
        struct entry *entry = &entries[at];
        next = entry->next;
        int result = look_at_entry(lookup, entry);
        TERN_TRY(result);
        if (result > 0) {
            forget_entry(lookup->map, entry);
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
static int look_at_entries(struct lookup *lookup, uint32_t index)
{
    struct tern__map_buffer *buffer = &lookup->map->buffers.at[index];
    for (int role = TERN__MAP_WRITER; role <= TERN__MAP_READER; role++) {
        if (lookup->rule->after[role] && (buffer->newest[role] | buffer->sorted[role]) != 0) {
            TERN_TRY(look_at_role(lookup, buffer, role));
        }
    }
    return TERN_OK;
}

static int look_at_all_cells(struct lookup *lookup, const struct tern__grid *grid)
{
    const struct tern__map_buffer *buffers = lookup->map->buffers.at;
    for (uint32_t cell = grid->first; cell != 0; cell = buffers[cell].cell.next) {
        TERN_TRY(look_at_entries(lookup, cell));
    }
    return TERN_OK;
}

static int look_at_cell(struct lookup *lookup, uint32_t index, uint64_t number)
{
    uint32_t cell =
        tern__map_cell_find(&lookup->map->buffers, index, tern__map_cell_key(index, number));
    return cell != 0 ? look_at_entries(lookup, cell) : TERN_OK;
}

static int look_at_span(struct lookup *lookup, uint32_t index, const struct tern__grid *grid,
                        const struct tern__grid_span *span)
{
    uint64_t at[TERN__GRID_DIGITS], number = span->number;
    memcpy(at, span->first, grid->count * sizeof *at);
    do {
        TERN_TRY(look_at_cell(lookup, index, number));
    } while (tern__grid_next(grid, span, at, &number));
    return TERN_OK;
}

static int look_at_cells(struct lookup *lookup, uint32_t index)
{
    struct tern__map_buffers *buffers = &lookup->map->buffers;
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
        dissolve_grid(lookup->map, index);
    }
    return TERN_OK;
}

static int look_at_buffer(struct lookup *lookup, uint32_t index)
{
    lookup->is_other = index != lookup->buffer;
    lookup->raised = lookup->is_other ? INT32_MIN : lookup->version;
    TERN_TRY(look_at_entries(lookup, index));
    return lookup->map->buffers.at[index].grid != 0 ? look_at_cells(lookup, index) : TERN_OK;
}

static int look_at_other(void *arg, uint32_t index)
{
    struct lookup *lookup = arg;
    return index != lookup->buffer ? look_at_buffer(lookup, index) : TERN_OK;
}

struct tern__map_share *tern__map_shared(struct tern__tensor_map *map, uint32_t buffer)
{
    return &map->shares[tern__map_share_of(buffer)];
}

// A lookup of a reader whose writers are all of this buffer.
static int look_shared(struct lookup *lookup, struct tern__map_place *place)
{
    struct tern__map_share *share = tern__map_shared(lookup->map, place->buffer);
    const bool same = share->buffer == place->buffer && share->version == lookup->version &&
                      share->first == place->box.first && share->end == place->box.end;
    if (same && share->join != TERN_TASK_ID_NONE) {
        place->joined = true;
        return tern__ids_add(lookup->ids, share->join);
    }
    const uint32_t known = lookup->ids->count;
    TERN_TRY(look_at_buffer(lookup, place->buffer));
    if (lookup->ids->count - known >= SHARED_LEAST) {
        place->found_again = same;
        *share = (struct tern__map_share){.buffer = place->buffer,
                                          .version = lookup->version,
                                          .first = place->box.first,
                                          .end = place->box.end,
                                          .join = TERN_TASK_ID_NONE};
    }
    return TERN_OK;
}

// Most outputs have one writer, which is the region's owner and not in the map.
static inline bool has_nothing(const struct rule *rule, const struct tern__map_buffer *buffer)
{
    const uint32_t writers = buffer->newest[TERN__MAP_WRITER] | buffer->sorted[TERN__MAP_WRITER];
    const uint32_t readers = buffer->newest[TERN__MAP_READER] | buffer->sorted[TERN__MAP_READER];
    return (!rule->after[TERN__MAP_WRITER] || writers == 0) &&
           (!rule->after[TERN__MAP_READER] || readers == 0) && buffer->grid == 0 && !buffer->shares;
}

// All that has ever been entered lies before the region, as with parts that are written in order.
static inline bool is_behind_all(const struct tern__map_buffer *buffer, const tern_region *region,
                                 const struct tern__map_place *place)
{
    return !buffer->spread && place->box.first >= buffer->interval.end &&
           region->version <= buffer->version;
}

// What is usual otherwise: a buffer that one task has written, both of them without levels. False:
// it is something else.
static inline bool look_at_writer(struct tern__tensor_map *map, const struct rule *rule,
                                  const tern_region *region, const struct tern__map_place *place,
                                  tern_task_id *found)
{
    const struct tern__map_buffer *buffer = &map->buffers.at[place->buffer];
    const uint32_t at = buffer->newest[TERN__MAP_WRITER];
    struct entry *entry = &map->entries[at];
    if (at == 0 || entry->next != 0 || entry->box.levels != 0 || place->box.levels != 0 ||
        region->version > buffer->version || buffer->grid != 0 || buffer->shares ||
        (buffer->sorted[TERN__MAP_WRITER] | buffer->sorted[TERN__MAP_READER] |
         buffer->newest[TERN__MAP_READER]) != 0 ||
        !rule->after[TERN__MAP_WRITER]) {
        return false;
    }
    const enum tern__overlap overlap = tern__box_overlap(&place->box, &entry->box);
    *found = overlap != TERN__APART ? entry->task : TERN_TASK_ID_NONE;
    if (overlap == TERN__COVERS && rule->forgets) {
        forget_entry(map, entry);
    }
    return true;
}

int tern__map_lookup(struct tern__tensor_map *map, const tern_region *region, tern_access access,
                     uint32_t flags, struct tern__ids *ids, struct tern__map_place *place)
{
    const struct rule *rule = find_rule(access, flags);
    place->buffer = 0;
    place->found_again = place->joined = false;
    if ((!rule->after[TERN__MAP_WRITER] && !rule->after[TERN__MAP_READER]) ||
        region->no_dependences) {
        return TERN_OK;
    }
    if (!map->head.files_all && !tern__map_is_foreign(region)) {
        if (access == TERN_IN) {
            return TERN_OK;
        }
        file_all(map);
    }
    tern__box_make(region, &place->box);
    if (place->box.end == 0) {
        return TERN_OK;
    }
    place->buffer = tern__map_buffers_get(&map->buffers, region);
    const struct tern__map_buffer *buffer = &map->buffers.at[place->buffer];
    if (has_nothing(rule, buffer) || is_behind_all(buffer, region, place)) {
        return TERN_OK;
    }
    tern_task_id found;
    if (look_at_writer(map, rule, region, place, &found)) {
        return found != TERN_TASK_ID_NONE ? tern__ids_add(ids, found) : TERN_OK;
    }
    struct lookup lookup; // not zeroed: that costs more than the rest of it
    lookup.map = map;
    lookup.rule = rule;
    lookup.ids = ids;
    lookup.region = region;
    lookup.version = region->version;
    lookup.box = &place->box;
    lookup.buffer = place->buffer;
    if (access == TERN_IN && place->box.levels == 0 && !buffer->shares) {
        return look_shared(&lookup, place);
    }
    TERN_TRY(look_at_buffer(&lookup, lookup.buffer));
    // Buffers that begin elsewhere.
    return map->buffers.at[lookup.buffer].shares
               ? tern__interval_visit(&map->buffers.intervals, map->buffers.root, place->box.first,
                                      place->box.end, look_at_other, &lookup)
               : TERN_OK;
}

// The entry is the newest of its ring.
static void queue_entry(struct tern__tensor_map *map, tern_task_id task, uint32_t at)
{
    struct ring *ring = &map->rings[task >> 32];
    map->head.used[task >> 32]++;
    *queued_at(ring, ring->count++) = (struct queued){.task = (uint32_t)task, .entry = at};
}

// The same for a reader without an entry. Regions of a task lie one behind the other.
static void queue_reader(struct tern__tensor_map *map, tern_task_id task, const tern_region *region)
{
    struct ring *ring = &map->rings[task >> 32];
    map->head.used[task >> 32]++;
    if (ring->count > 0) {
        struct queued *last = queued_at(ring, ring->count - 1);
        const uintptr_t ahead = (uintptr_t)region - (uintptr_t)last->readers;
        const uint32_t bit = UINT32_C(1) << ahead / sizeof *region % READERS_MAX;
        if (last->readers != NULL && last->task == (uint32_t)task &&
            ahead < READERS_MAX * sizeof *region && ahead % sizeof *region == 0 &&
            (last->which & bit) == 0) {
            last->which |= bit;
            return;
        }
    }
    *queued_at(ring, ring->count++) =
        (struct queued){.task = (uint32_t)task, .which = 1, .readers = region};
}

int tern__map_insert(struct tern__tensor_map *map, const tern_region *region, tern_access access,
                     uint32_t flags, tern_task_id task, struct tern__map_place *place)
{
    const struct rule *rule = find_rule(access, flags);
    if (rule->becomes == TERN__MAP_NONE || region->no_dependences) {
        return TERN_OK;
    }
    if (map->head.used[task >> 32] == map->rings[task >> 32].room) {
        return TERN_ERR_LIMIT;
    }
    if (!map->head.files_all && !tern__map_is_foreign(region)) {
        if (rule->becomes == TERN__MAP_READER) {
            queue_reader(map, task, region);
            return TERN_OK;
        }
        file_all(map);
    }
    if (place->buffer == 0) {
        tern__box_make(region, &place->box);
    }
    if (place->box.end == 0) {
        return TERN_OK;
    }
    const uint32_t at = take_entry(map);
    struct entry *entry = &map->entries[at];
    tern__box_copy(&entry->box, &place->box);
    // Other regions of the task may have made its buffer another one's.
    const uint32_t index = tern__map_buffers_is(&map->buffers, place->buffer, region)
                               ? place->buffer
                               : tern__map_buffers_get(&map->buffers, region);
    entry->task = task;
    entry->version = region->version;
    struct tern__map_share *share = tern__map_shared(map, index);
    if (rule->becomes == TERN__MAP_WRITER && share->buffer == index) {
        share->buffer = 0;
    }
    file_entry(map, index, (int)rule->becomes, at);
    note_entry(&map->buffers.at[index], entry);
    queue_entry(map, task, at);
    return TERN_OK;
}
