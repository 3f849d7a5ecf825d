// SPDX-License-Identifier: Apache-2.0
// The tensor map (tensor_map.h): what an access comes after and is found as, and who has an entry.
// Where entries are is in map_entries.h, how they are found there in map_look.h. Data path, but for
// create and free.
//
// Most programs write a buffer that a task made in that task alone. As long as none has done
// otherwise, a reader of such a buffer comes after the buffer's owner and nobody else, and nobody
// looks for it: it has no entry, and the queue of its ring says only where its region is. The first
// who writes such a buffer makes and files entries for all of those, and from then on readers of
// all buffers have one.

#include "graph/tensor_map.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "graph/map_entries.h"
#include "graph/map_look.h"
#include "graph/map_queue.h"

#define ENTRIES_MAX (1U << 28) // of all rings
// Writers of a region that are worth a join for its second reader, and for its first.
#define SHARED_LEAST 8
#define SHARED_MANY 32

// Not into its caller, which then saves no registers for it.
#define SELDOM __attribute__((noinline))

struct tern__tensor_map {
    struct tern__map_head head;
    struct tern__map_queue rings[TERN_RINGS];
    struct tern__map_queued *queues; // memory of all of them
    struct tern__map_entries entries;
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
    made->queues = malloc(total * sizeof *made->queues);
    if (tern__map_entries_create((uint32_t)total, &made->entries) < 0 || made->queues == NULL) {
        tern__map_free(made);
        return tern__fail(TERN_ERR_MEMORY, "no memory for the map of regions, with room for %llu",
                          (unsigned long long)total);
    }
    struct tern__map_queued *queue = made->queues;
    for (int i = 0; i < TERN_RINGS; i++) {
        made->rings[i] = (struct tern__map_queue){.queue = queue, .room = entries[i]};
        queue += entries[i];
    }
    *map = made;
    return TERN_OK;
}

void tern__map_free(struct tern__tensor_map *map)
{
    if (map != NULL) {
        free(map->queues);
        tern__map_entries_free(&map->entries);
        free(map);
    }
}

void tern__map_clear(struct tern__tensor_map *map)
{
    tern__map_entries_clear(&map->entries);
    memset(map->shares, 0, sizeof map->shares);
    for (int i = 0; i < TERN_RINGS; i++) {
        map->head.used[i] = map->rings[i].count = map->rings[i].oldest = 0;
    }
}

// --- entries ----------------------------------------------------------------------------------

// Of few. Processors of no special kind have no instruction for it.
static inline uint32_t count_bits(uint32_t bits)
{
    uint32_t count = 0;
    for (; bits != 0; bits &= bits - 1) {
        count++;
    }
    return count;
}

void tern__map_retire(struct tern__tensor_map *map, int ring, uint32_t alive)
{
    struct tern__map_queue *of = &map->rings[ring];
    while (of->count > 0) {
        const struct tern__map_queued *queued = &of->queue[of->oldest];
        const bool retired = (int32_t)(queued->task - alive) < 0;
        if (queued->readers != NULL) {
            if (!retired) {
                return;
            }
            map->head.used[ring] -= count_bits(queued->which);
        } else {
            struct tern__map_entry *entry = &map->entries.at[queued->entry];
            if (entry->task == ((uint64_t)ring << 32 | queued->task)) { // else it was taken over
                if (entry->filed.buffer != 0) {
                    if (!retired) {
                        return;
                    }
                    tern__map_forget_entry(&map->entries, entry);
                }
                tern__map_give_entry(&map->entries, queued->entry);
            }
            map->head.used[ring]--;
        }
        of->oldest = of->oldest + 1 < of->room ? of->oldest + 1 : 0;
        of->count--;
    }
}

// A reader that was not worth an entry so far.
static void file_reader(struct tern__tensor_map *map, const tern_region *region, tern_task_id task,
                        uint32_t at)
{
    struct tern__map_entry *entry = &map->entries.at[at];
    entry->task = task;
    entry->version = region->version;
    tern__box_make(region, &entry->box);
    if (entry->box.end == 0) {
        entry->filed.buffer = 0;
        return;
    }
    const uint32_t index = tern__map_buffers_get(&map->entries.buffers, region);
    tern__map_file_entry(&map->entries, index, TERN__MAP_READER, at);
    tern__map_note_entry(&map->entries.buffers.at[index], entry);
}

// All readers of the ring. The queue grows at its newest end, and what is last moves first: nothing
// is written over before it has moved.
static void file_readers(struct tern__tensor_map *map, int ring)
{
    struct tern__map_queue *of = &map->rings[ring];
    uint32_t place = map->head.used[ring], from = of->count;
    of->count = place;
    while (from > 0) {
        const struct tern__map_queued queued = *tern__map_queued_at(of, --from);
        if (queued.readers == NULL) {
            *tern__map_queued_at(of, --place) = queued;
            continue;
        }
        for (uint32_t i = TERN__MAP_READERS_MAX; i-- > 0;) {
            if ((queued.which >> i & 1) != 0) {
                const uint32_t at = tern__map_take_entry(&map->entries);
                file_reader(map, &queued.readers[i], (uint64_t)ring << 32 | queued.task, at);
                *tern__map_queued_at(of, --place) =
                    (struct tern__map_queued){.task = queued.task, .entry = at};
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

static const struct tern__map_rule *find_rule(tern_access access, uint32_t flags)
{
    static const struct tern__map_rule none = {.becomes = TERN__MAP_NONE};
    static const struct tern__map_rule rules[2][4] = {
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

struct tern__map_share *tern__map_shared(struct tern__tensor_map *map, uint32_t buffer)
{
    return &map->shares[tern__map_share_of(buffer)];
}

// Whether this is of what the region is a reader of, and nothing has changed since.
static inline bool is_shared(const struct tern__map_share *share,
                             const struct tern__map_buffer *buffer, const tern_region *region,
                             const struct tern__map_place *place)
{
    return share->buffer == place->buffer && share->version == region->version &&
           share->first == place->box.first && share->end == place->box.end &&
           place->box.levels == 0 && !buffer->shares;
}

// A lookup of a reader whose writers are all of this buffer, and have no join.
static int look_shared(struct tern__tensor_map *map, struct tern__map_look *lookup,
                       struct tern__map_place *place)
{
    struct tern__map_share *share = tern__map_shared(map, place->buffer);
    const bool same =
        is_shared(share, &map->entries.buffers.at[place->buffer], lookup->region, place);
    const uint32_t known = lookup->ids->count;
    TERN_TRY(tern__map_look_at_buffer(lookup, place->buffer));
    const uint32_t found = lookup->ids->count - known;
    if (found >= SHARED_LEAST) {
        place->join_pays = same || found >= SHARED_MANY;
        *share = (struct tern__map_share){.buffer = place->buffer,
                                          .version = lookup->version,
                                          .first = place->box.first,
                                          .end = place->box.end,
                                          .join = TERN_TASK_ID_NONE};
    }
    return TERN_OK;
}

// Most outputs have one writer, which is the region's owner and not in the map.
static inline bool has_nothing(const struct tern__map_rule *rule,
                               const struct tern__map_buffer *buffer)
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
// it is something else, or the entry is to be forgotten.
static inline bool look_at_writer(const struct tern__tensor_map *map,
                                  const struct tern__map_rule *rule, const tern_region *region,
                                  struct tern__map_place *place, tern_task_id *found)
{
    const struct tern__map_buffer *buffer = &map->entries.buffers.at[place->buffer];
    const uint32_t at = buffer->newest[TERN__MAP_WRITER];
    const struct tern__map_entry *entry = &map->entries.at[at];
    if (at == 0 || (entry->next | entry->box.levels | place->box.levels) != 0 ||
        region->version > buffer->version || buffer->grid != 0 || buffer->shares ||
        (buffer->sorted[TERN__MAP_WRITER] | buffer->sorted[TERN__MAP_READER] |
         buffer->newest[TERN__MAP_READER]) != 0) {
        return false;
    }
    if (place->box.first == entry->box.first && place->box.end == entry->box.end) {
        *found = place->task = entry->task;
        place->same = rule->forgets ? at : 0;
        return true;
    }
    const enum tern__overlap overlap = tern__box_overlap(&place->box, &entry->box);
    *found = overlap != TERN__APART ? entry->task : TERN_TASK_ID_NONE;
    return overlap != TERN__COVERS || !rule->forgets;
}

// A region of which the box and the buffer are known, and which is not after one writer alone.
static SELDOM bool peek_buffer(struct tern__tensor_map *map, const struct tern__map_rule *rule,
                               const tern_region *region, struct tern__map_place *place,
                               tern_task_id *found)
{
    const struct tern__map_buffer *buffer = &map->entries.buffers.at[place->buffer];
    *found = TERN_TASK_ID_NONE;
    if (has_nothing(rule, buffer) || is_behind_all(buffer, region, place)) {
        return true;
    }
    const struct tern__map_share *share = tern__map_shared(map, place->buffer);
    place->joined = !rule->forgets && share->join != TERN_TASK_ID_NONE &&
                    is_shared(share, buffer, region, place);
    *found = share->join;
    return place->joined;
}

// A region of any shape, of a buffer that may be new.
static SELDOM bool peek_any(struct tern__tensor_map *map, const struct tern__map_rule *rule,
                            const tern_region *region, struct tern__map_place *place,
                            tern_task_id *found)
{
    *found = TERN_TASK_ID_NONE;
    tern__box_make(region, &place->box);
    if (place->box.end == 0) {
        return true;
    }
    place->buffer = tern__map_buffers_get(&map->entries.buffers, region);
    return look_at_writer(map, rule, region, place, found) ||
           peek_buffer(map, rule, region, place, found);
}

// The rule comes after something. What most regions are, here, and calls only to end with.
static inline bool peek(struct tern__tensor_map *map, const struct tern__map_rule *rule,
                        const tern_region *region, struct tern__map_place *place,
                        tern_task_id *found)
{
    const struct tern__map_buffers *buffers = &map->entries.buffers;
    const uint32_t index = *tern__map_bucket(buffers, region->address);
    if (!tern__box_is_usual(region) || !tern__map_buffers_is(buffers, index, region)) {
        return peek_any(map, rule, region, place, found);
    }
    tern__box_make_usual(region, &place->box);
    place->buffer = index;
    return look_at_writer(map, rule, region, place, found) ||
           peek_buffer(map, rule, region, place, found);
}

static inline bool comes_after_none(const struct tern__map_rule *rule, const tern_region *region)
{
    return !rule->after[TERN__MAP_WRITER] || region->no_dependences;
}

bool tern__map_peek(struct tern__tensor_map *map, const tern_region *region, tern_access access,
                    struct tern__map_place *place, tern_task_id *found)
{
    const struct tern__map_rule *rule = find_rule(access, 0);
    place->buffer = place->same = 0;
    place->join_pays = place->joined = false;
    if (comes_after_none(rule, region)) {
        *found = TERN_TASK_ID_NONE;
        return true;
    }
    return (map->head.files_all || tern__map_is_foreign(region)) &&
           peek(map, rule, region, place, found);
}

int tern__map_lookup(struct tern__tensor_map *map, const tern_region *region, tern_access access,
                     uint32_t flags, struct tern__ids *ids, struct tern__map_place *place)
{
    const struct tern__map_rule *rule = find_rule(access, flags);
    place->buffer = place->same = 0;
    place->join_pays = place->joined = false;
    if (comes_after_none(rule, region)) {
        return TERN_OK;
    }
    if (!map->head.files_all && !tern__map_is_foreign(region)) {
        if (access == TERN_IN) {
            return TERN_OK;
        }
        file_all(map);
    }
    tern_task_id found;
    if (peek(map, rule, region, place, &found)) {
        return found != TERN_TASK_ID_NONE ? tern__ids_add(ids, found) : TERN_OK;
    }
    place->same = 0;
    const struct tern__map_buffer *buffer = &map->entries.buffers.at[place->buffer];
    struct tern__map_look lookup; // not zeroed: that costs more than the rest of it
    lookup.entries = &map->entries;
    lookup.rule = rule;
    lookup.ids = ids;
    lookup.region = region;
    lookup.version = region->version;
    lookup.box = &place->box;
    lookup.buffer = place->buffer;
    if (access == TERN_IN && place->box.levels == 0 && !buffer->shares) {
        return look_shared(map, &lookup, place);
    }
    TERN_TRY(tern__map_look_at_buffer(&lookup, lookup.buffer));
    return tern__map_look_at_others(&lookup); // that begin elsewhere
}

// The entry is the newest of its ring.
static void queue_entry(struct tern__tensor_map *map, tern_task_id task, uint32_t at)
{
    struct tern__map_queue *ring = &map->rings[task >> 32];
    map->head.used[task >> 32]++;
    *tern__map_queued_at(ring, ring->count++) =
        (struct tern__map_queued){.task = (uint32_t)task, .entry = at};
}

void tern__map_insert_readers(struct tern__tensor_map *map, const tern_region *regions,
                              uint32_t which, tern_task_id task)
{
    struct tern__map_queue *ring = &map->rings[task >> 32];
    map->head.used[task >> 32] += count_bits(which);
    *tern__map_queued_at(ring, ring->count++) =
        (struct tern__map_queued){.task = (uint32_t)task, .which = which, .readers = regions};
}

// The entry that the lookup has found the same, unless other regions of the task have changed it.
static inline bool take_over(struct tern__tensor_map *map, const tern_region *region,
                             tern_task_id task, const struct tern__map_place *place)
{
    struct tern__map_entry *entry = &map->entries.at[place->same];
    if (entry->task != place->task || entry->filed.buffer != place->buffer) {
        return false;
    }
    struct tern__map_share *share = tern__map_shared(map, place->buffer);
    if (share->buffer == place->buffer) {
        share->buffer = 0;
    }
    entry->task = task;
    entry->version = region->version;
    tern__map_note_entry(&map->entries.buffers.at[place->buffer], entry);
    queue_entry(map, task, place->same);
    return true;
}

static inline bool is_full(const struct tern__tensor_map *map, tern_task_id task)
{
    return map->head.used[task >> 32] == map->rings[task >> 32].room;
}

static SELDOM int insert_any(struct tern__tensor_map *map, const tern_region *region,
                             tern_access access, uint32_t flags, tern_task_id task,
                             struct tern__map_place *place)
{
    const struct tern__map_rule *rule = find_rule(access, flags);
    if (rule->becomes == TERN__MAP_NONE || region->no_dependences) {
        return TERN_OK;
    }
    if (is_full(map, task)) {
        return TERN_ERR_LIMIT;
    }
    if (!map->head.files_all && !tern__map_is_foreign(region)) {
        if (rule->becomes == TERN__MAP_READER) {
            tern__map_insert_readers(map, region, 1, task);
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
    const uint32_t at = tern__map_take_entry(&map->entries);
    struct tern__map_entry *entry = &map->entries.at[at];
    tern__box_copy(&entry->box, &place->box);
    // Other regions of the task may have made its buffer another one's.
    const uint32_t index = tern__map_buffers_is(&map->entries.buffers, place->buffer, region)
                               ? place->buffer
                               : tern__map_buffers_get(&map->entries.buffers, region);
    entry->task = task;
    entry->version = region->version;
    struct tern__map_share *share = tern__map_shared(map, index);
    if (rule->becomes == TERN__MAP_WRITER && share->buffer == index) {
        share->buffer = 0;
    }
    tern__map_file_entry(&map->entries, index, (int)rule->becomes, at);
    tern__map_note_entry(&map->entries.buffers.at[index], entry);
    queue_entry(map, task, at);
    return TERN_OK;
}

int tern__map_insert(struct tern__tensor_map *map, const tern_region *region, tern_access access,
                     uint32_t flags, tern_task_id task, struct tern__map_place *place)
{
    return place->buffer != 0 && place->same != 0 && !is_full(map, task) &&
                   take_over(map, region, task, place)
               ? TERN_OK
               : insert_any(map, region, access, flags, task, place);
}
