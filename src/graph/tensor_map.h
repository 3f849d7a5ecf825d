// SPDX-License-Identifier: Apache-2.0
// The tensor map: which live tasks read and write which regions, and so which of them a new task
// must come after. One thread uses it: the orchestration's. Its memory is fixed when it is made,
// but for the list of ids. Data path: a lookup or an insert is one probe of a hash by the buffer's
// address and a walk over the live entries of that buffer.
//
// An entry is one region of one task. It lives until its task retires, or until a later writer
// covers it: whoever would come after it then comes after that writer. When that writes exactly the
// same, as tasks do that add to a sum, the entry becomes the writer's. Entries of a ring are given
// and taken in order.
//
// Buffers of programs (owner TERN_REGION_NO_OWNER) may overlap although they begin at different
// addresses (&a[0] and &a[100]). Their extents are in a tree; a buffer that has ever overlapped
// with another one is marked, and then lookups ask the tree, too. Buffers that tasks made overlap
// with nothing: their memory is given again only when all who used it have finished.
#ifndef TERN_GRAPH_TENSOR_MAP_H
#define TERN_GRAPH_TENSOR_MAP_H

#include <stdbool.h>
#include <stdint.h>

#include "graph/box.h"
#include "graph/ids.h"
#include "tern/region.h"
#include "tern/submit.h"

// What a map begins with.
struct tern__tensor_map;
struct tern__map_head {
    bool files_all;            // also readers of buffers that tasks made
    uint32_t used[TERN_RINGS]; // entries of tasks that have not retired
};

static inline const struct tern__map_head *tern__map_head(const struct tern__tensor_map *map)
{
    return (const struct tern__map_head *)(const void *)map;
}

// What a lookup knows of a region, for its insert. buffer 0: nothing.
struct tern__map_place {
    struct tern__box box;
    uint32_t buffer;
    // The buffer's only entry is of `task`, which wrote exactly this box: the insert takes that
    // entry over, and so nobody forgets it before. 0: there is none.
    uint32_t same;
    tern_task_id task;
    bool join_pays; // many writers, as the lookup of the same region before found; or very many
    bool joined;    // it found the join of these, which comes after the region's owner, too
};

// A region that a lookup with TERN_IN has found many writers of, and which nothing has been written
// into since. Its next lookup finds `join` instead, once the caller has put one there that comes
// after all of them and the owner.
struct tern__map_share {
    uint32_t buffer; // 0: none
    int32_t version;
    uint64_t first, end; // of a box without levels
    tern_task_id join;   // TERN_TASK_ID_NONE: not yet
};

#define TERN__MAP_SHARES 4u

// Where that of a buffer is.
static inline uint32_t tern__map_share_of(uint32_t buffer)
{
    return buffer % TERN__MAP_SHARES;
}

// `entries` of each ring, 1 at least. Memory is touched only when used. TERN_ERR_MEMORY,
// TERN_ERR_ARG with a sentence.
int tern__map_create(const uint32_t entries[TERN_RINGS], struct tern__tensor_map **map);
void tern__map_free(struct tern__tensor_map *map); // may be NULL

// Nothing is live, all rings begin anew. Costs what is in use.
void tern__map_clear(struct tern__tensor_map *map);

// Entries whose task is earlier in its ring than `alive` (low 32 bits of its id, wrapping) are
// gone. Costs what it drops.
void tern__map_retire(struct tern__tensor_map *map, int ring, uint32_t alive);

// Adds to `ids` the live tasks that a task with this access must come after, each at least once;
// and forgets entries that the region covers, if the task writes it: the task must then insert it,
// after it has looked up all its regions. What it covers exactly, the insert forgets.
//
//   access            comes after               is found later as   forgets
//   TERN_IN           writers                   reader              -
//   TERN_INOUT        writers and readers       writer              both
//   TERN_OUT_EXISTING writers and readers       writer              both
//   others            none                      -                   -
//   with TERN_RINGS_UPSTREAM:
//   TERN_IN           writers                   -                   -
//   TERN_INOUT        writers                   writer              writers
//   TERN_OUT_EXISTING none                      writer              -
//
// Regions with no_dependences, and empty ones, are as others. TERN_ERR_MEMORY.
int tern__map_lookup(struct tern__tensor_map *map, const tern_region *region, tern_access access,
                     uint32_t flags, struct tern__ids *ids, struct tern__map_place *place);

// The same where there is one task at most, *found, or TERN_TASK_ID_NONE, and nothing to forget. It
// may be asked again. False: only a lookup knows. Not with TERN_RINGS_UPSTREAM.
bool tern__map_peek(struct tern__tensor_map *map, const tern_region *region, tern_access access,
                    struct tern__map_place *place, tern_task_id *found);

// The task, the newest of its ring, has the region with this access; `region` stays where it is and
// as it is until the task retires. `place` is of the last lookup of the region, or has buffer 0.
// TERN_ERR_LIMIT, without a sentence, when all entries of its ring
// are in use.
int tern__map_insert(struct tern__tensor_map *map, const tern_region *region, tern_access access,
                     uint32_t flags, tern_task_id task, struct tern__map_place *place);

// The same for all regions that tern__map_is_owners() is true of, together: bit i of `which` is for
// regions[i]. There are entries for them.
void tern__map_insert_readers(struct tern__tensor_map *map, const tern_region *regions,
                              uint32_t which, tern_task_id task);

struct tern__map_share *tern__map_shared(struct tern__tensor_map *map, uint32_t buffer);

// Entries in use: those whose tasks have not retired.
static inline uint32_t tern__map_used(const struct tern__tensor_map *map, int ring)
{
    return tern__map_head(map)->used[ring];
}

// A reader that comes after the task that made the buffer and nobody else: so says a lookup, too,
// which is not needed then.
static inline bool tern__map_is_owners(const struct tern__tensor_map *map,
                                       const tern_region *region, tern_access access)
{
    return access == TERN_IN && region->owner != TERN_REGION_NO_OWNER &&
           !tern__map_head(map)->files_all;
}

#endif
