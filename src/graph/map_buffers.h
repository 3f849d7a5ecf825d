// SPDX-License-Identifier: Apache-2.0
// The buffers that the tensor map knows: by their address, with a hash; and those of programs,
// which may overlap although they begin at different addresses, in a tree of intervals. The tree is
// asked only when a buffer is new, has grown, or has ever overlapped. A buffer without entries
// stays known for a while, so that one that comes and goes is not made again and again.
//
// A buffer may have a grid (grid.h). Each of its cells that has entries is known by the same hash,
// as if it were a buffer of its own; a buffer stays known while one of its cells is. Data path, but
// for create and free.
#ifndef TERN_GRAPH_MAP_BUFFERS_H
#define TERN_GRAPH_MAP_BUFFERS_H

#include <assert.h>
#include <stdalign.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/order.h"
#include "graph/grid.h"
#include "graph/interval.h"
#include "tern/region.h"

enum tern__map_role { TERN__MAP_WRITER, TERN__MAP_READER, TERN__MAP_NONE };

struct tern__map_buffer {
    alignas(TERN_CACHE_LINE) uint32_t newest[2]; // of its entries, by role: those in a list
    union {
        struct tern__interval interval; // not in the tree: to the end of its entries so far
        struct {
            uint64_t key;
            uint32_t buffer; // 0: of a grid that there is no longer
            uint32_t next, previous;
        } cell;
    };
    uint32_t sorted[2]; // and the roots of their trees
    uint32_t next;      // in the bucket
    uint32_t next_idle; // in the queue
    int32_t version;    // the lowest that an entry had
    uint32_t grid : 28; // 0: none
    bool is_cell : 1;
    bool queued : 1; // in the queue of those that were without entries
    bool spread : 1; // in the tree
    bool shares : 1; // has overlapped with another one of the tree
};
static_assert(sizeof(struct tern__map_buffer) == TERN_CACHE_LINE, "one line");

struct tern__map_buffers {
    struct tern__map_buffer *at;                // [0] is none
    uint32_t *buckets;                          // by hash
    int shift;                                  // of the hash
    uint32_t made;                              // of them
    uint32_t idle_first, idle_last, idle_count; // a queue; some are in use again
    struct tern__intervals intervals;
    uint32_t root;            // of the tree
    struct tern__grid *grids; // [0] is none
    uint32_t grids_room, grids_made, grids_free;
};

// Room for `used` buffers with entries. TERN_ERR_MEMORY, without a sentence; free it also then.
int tern__map_buffers_create(uint32_t used, struct tern__map_buffers *buffers);
void tern__map_buffers_free(struct tern__map_buffers *buffers);
void tern__map_buffers_clear(struct tern__map_buffers *buffers);

// The buffer may have no entries any more.
void tern__map_buffers_put(struct tern__map_buffers *buffers, uint32_t index);

// Makes it known (`index` 0), or larger. Returns its index.
uint32_t tern__map_buffers_learn(struct tern__map_buffers *buffers, const tern_region *region,
                                 uint32_t index);

// Gives the buffer a grid, a copy of this one. False: it has none, since there are too many.
bool tern__map_grid_add(struct tern__map_buffers *buffers, uint32_t index,
                        const struct tern__grid *grid);

// The grid goes. Its cells, which are without entries by now, are those of no buffer.
void tern__map_grid_remove(struct tern__map_buffers *buffers, uint32_t index);

// Makes a cell known, of a buffer with a grid.
uint32_t tern__map_cell_learn(struct tern__map_buffers *buffers, uint32_t buffer, uint64_t key);

// Outputs lie one after the other in steps of 1024 bytes, and so do their buckets: many in a cache
// line. All else of the address scatters.
static inline uint32_t *tern__map_bucket(const struct tern__map_buffers *buffers, uint64_t address)
{
    uint64_t rest = address >> 20 << 10 | (address & 1023);
    uint64_t scattered = rest * UINT64_C(0x9e3779b97f4a7c15) >> buffers->shift;
    return &buffers->buckets[(scattered + (address >> 10)) & (UINT64_MAX >> buffers->shift)];
}

// Whether the program made it: others may overlap with it.
static inline bool tern__map_is_foreign(const tern_region *region)
{
    return region->owner == TERN_REGION_NO_OWNER;
}

// Whether the region's buffer is known as large as the region says.
static inline bool tern__map_buffer_reaches(const struct tern__map_buffer *buffer,
                                            const tern_region *region)
{
    return !tern__map_is_foreign(region) ||
           (buffer->spread && buffer->interval.end >= region->address + region->buffer_bytes);
}

// Whether this is the region's buffer, and known as large as that.
static inline bool tern__map_buffers_is(const struct tern__map_buffers *buffers, uint32_t index,
                                        const tern_region *region)
{
    const struct tern__map_buffer *buffer = &buffers->at[index];
    return index != 0 && buffer->interval.first == region->address && !buffer->is_cell &&
           tern__map_buffer_reaches(buffer, region);
}

// The index of the region's buffer, which is known from now on, until another one is made known.
static inline uint32_t tern__map_buffers_get(struct tern__map_buffers *buffers,
                                             const tern_region *region)
{
    uint32_t index = *tern__map_bucket(buffers, region->address);
    while (index != 0 &&
           (buffers->at[index].interval.first != region->address || buffers->at[index].is_cell)) {
        index = buffers->at[index].next;
    }
    return index != 0 && tern__map_buffer_reaches(&buffers->at[index], region)
               ? index
               : tern__map_buffers_learn(buffers, region, index);
}

// In steps of 1024, as addresses of outputs, so that cells in a row have buckets in a row; those of
// other buffers are elsewhere.
static inline uint64_t tern__map_cell_key(uint32_t buffer, uint64_t number)
{
    return ((uint64_t)buffer << 44) + (number << 10);
}

// 0: it is not known, and has no entries.
static inline uint32_t tern__map_cell_find(const struct tern__map_buffers *buffers, uint32_t buffer,
                                           uint64_t key)
{
    uint32_t index = *tern__map_bucket(buffers, key);
    while (index != 0 && (buffers->at[index].cell.key != key || !buffers->at[index].is_cell ||
                          buffers->at[index].cell.buffer != buffer)) {
        index = buffers->at[index].next;
    }
    return index;
}

#endif
