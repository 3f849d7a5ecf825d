// SPDX-License-Identifier: Apache-2.0
// Edges and joins of rings (join.h). Data path: no allocation, lock or system call.

#include "graph/join.h"

#include "base/trace.h"
#include "graph/chip.h"
#include "graph/orchestrate.h"

// In a record and in a trace edges are those that the program means. What has no edges to make is
// not worth one; and a scope begins with a task.
static bool may_join(const struct tern__rings *rings, const struct tern__ring *ring, uint32_t from)
{
    const struct tern__ids *ids = &rings->ids;
    const uint32_t count = ids->count - from;
    if (rings->graph->chip->history != NULL || tern__peek(&tern__trace_on) != 0 ||
        rings->scopes[rings->depth].tasks == 0 || !tern__rings_has_room(ring, count + 1 + from)) {
        return false;
    }
    for (uint32_t i = from; i < ids->count; i++) { // of scopes that are open
        const struct tern__ring *of = &rings->ring[(ids->ids[i] >> 32) % TERN_RINGS];
        if ((int32_t)((uint32_t)ids->ids[i] - tern__peek(&of->released)) < 0) {
            return false;
        }
    }
    return true;
}

static struct tern__task *place_row(struct tern__ring *ring, int which)
{
    struct tern__task *row = &ring->rows[ring->next & ring->mask];
    row->kernel = NULL;
    row->args = NULL;
    row->name = "join";
    row->more = NULL;
    row->blocks = 1;
    row->args_count = 0;
    row->core = TERN_CORE_NONE;
    row->special = TERN__TASK_EMPTY | TERN__TASK_JOIN;
    row->ring = (uint8_t)which;
    row->number = ring->next;
    row->heap_end = ring->heap.head;
    row->args_end = ring->args.head;
    atomic_store_explicit(&row->after, NULL, memory_order_relaxed);
    tern__poke(&row->flags, 0);
    tern__poke(&row->users, 2); // the hold, and as a user of those before
    tern__poke(&row->users_done, 0);
    row->by = 0;
    return row;
}

void tern__join_make(struct tern__rings *rings, const struct tern__map_place *place, uint32_t from)
{
    const int which = tern__ring_of_depth(rings->depth);
    const uint32_t share = tern__map_share_of(place->buffer);
    struct tern__ring *ring = &rings->ring[which];
    struct tern__ids *ids = &rings->ids;
    // Another one in its place is of the same submission, which is going to use it.
    if (rings->joins[share].row != NULL || !may_join(rings, ring, from)) {
        return;
    }
    struct tern__task *row = place_row(ring, which);
    const tern_task_id id = tern__task_id_of(row);
    const uint32_t met =
        tern__rings_link(rings, ring, row, ids->ids + from, ids->count - from, NULL);
    ring->next++;
    ring->joins++;
    ids->ids[from] = id;
    ids->count = from + 1;
    rings->joins[share].row = row;
    rings->joins[share].id = id;
    rings->joins[share].share = tern__map_shared(rings->map, share);
    rings->joins[share].share->join = id;
    rings->has_joins |= UINT32_C(1) << share;
    tern__orchestrate_publish(rings->graph, row, met);
}

// Looks at no row: cores write there.
void tern__joins_drop(struct tern__rings *rings, bool all)
{
    for (uint32_t i = 0; all && i < TERN__MAP_SHARES; i++) {
        tern__map_shared(rings->map, i)->buffer = 0;
    }
    for (uint32_t rest = rings->has_joins; rest != 0; rest &= rest - 1) {
        const uint32_t i = (uint32_t)__builtin_ctz(rest);
        const struct tern__map_share *share = rings->joins[i].share;
        if (share->buffer == 0 || share->join != rings->joins[i].id) {
            struct tern__task *row = rings->joins[i].row;
            rings->joins[i].row = NULL;
            rings->has_joins &= ~(UINT32_C(1) << i);
            tern__rings_drop_hold(rings, row);
        }
    }
}
