// SPDX-License-Identifier: Apache-2.0
// Edges of tasks in rings; and joins. When several tasks in turn read the same region with many
// writers, each would come after all of these: m readers of n writers are m * n edges. From the
// second reader on they come after a join instead: a row of nobody's, which comes after the
// writers. Where the writers are very many, the first reader does, too: if another one comes, that
// saves looking for all of them again, and costs one edge if none does.
//
// A join stands for its writers also in what they made: they have not retired before all who come
// after the join have finished. So it is a user of each of them until nobody can come after it any
// more (its hold has been dropped) and all who do have finished. As long as it has its hold, its
// own scope and those of its writers are open: nothing that it keeps could retire, whatever the
// orchestration waits for.
#ifndef TERN_GRAPH_JOIN_H
#define TERN_GRAPH_JOIN_H

#include "graph/chip.h"
#include "graph/history.h"
#include "graph/rings.h"

// So many edges of a task are looked through for one that is there already.
#define TERN__EDGES_FEW 16u

// So far ahead of an edge, the row of a later one is asked for.
#define TERN__EDGES_AHEAD 8

// So many edges behind one, the memory of a later one is asked for: before others can see an edge,
// it has been written, which takes until its line has come.
#define TERN__EDGE_LINES_AHEAD 16

static inline bool tern__has_edge(const struct tern__edge *edges, const struct tern__edge *end,
                                  const struct tern__task *from)
{
    if (__builtin_expect(end > edges + TERN__EDGES_FEW, 0)) {
        return false;
    }
    while (edges < end && edges->from != from) {
        edges++;
    }
    return edges < end;
}

// `row`, not published, comes after the tasks `ids`, each of which there is or was; there is room
// for an edge to each. `history`: of the run, or NULL. Returns how many of these are met, or are
// there twice.
static inline uint32_t tern__rings_link(struct tern__rings *rings, struct tern__ring *ring,
                                        struct tern__task *row, const tern_task_id *ids,
                                        uint32_t count, struct tern__history *history)
{
    const struct tern_chip *chip = rings->graph->chip;
    const bool alone = chip->run.build_first;
    const struct tern__open_ids open = tern__rings_open_ids(rings, row->ring);
    struct tern__edge *edges = tern__bump_take(&ring->edges, count * sizeof *edges);
    struct tern__edge *edge = edges;
    uint32_t met = 0;
    row->before = edges;
    tern__poke(&row->pending, 1 + count); // before an edge can be seen; 1 until it is published
    for (const tern_task_id *id = ids; id < ids + count; id++) {
        if (ids + count - id > TERN__EDGES_AHEAD) { // whose rows are likely where they ran
            tern__own_line(&tern__rings_row(rings, id[TERN__EDGES_AHEAD])->after);
        }
        const bool is_open = tern__is_open(open, *id);
        struct tern__task *from = is_open ? tern__ring_row(ring, *id) : tern__rings_row(rings, *id);
        // Of those with the same row, one is a task of now at most.
        if (tern__has_edge(edges, edge, from) ||
            !(is_open ? tern__task_use(from) : tern__rings_use(rings, *id, from))) {
            met++;
            continue;
        }
        tern__own_line(edge + TERN__EDGE_LINES_AHEAD);
        edge->from = from;
        edge->to = row;
        if (__builtin_expect(history != NULL, 0)) {
            tern__history_edge(history, row, *id);
        }
        if (alone) {
            tern__task_link_alone(edge, from);
        } else {
            met += !tern__task_link(edge);
        }
        edge++;
    }
    row->before_count = (uint32_t)(edge - edges);
    if (edge < edges + count) {
        tern__bump_untake(&ring->edges, (size_t)((char *)(edges + count) - (char *)edge));
    }
    row->edges_end = ring->edges.head;
    // What has retired since the call began may have failed, and then not done its part.
    if (__builtin_expect(tern__flag_load(&chip->run.failed) != TERN__RUN_WELL, 0)) {
        tern__task_poison(row);
    }
    return met;
}

// What a lookup has found for the second time, the ids from `from` on, becomes one: that of a join.
// They stay as they are where a join may not be.
void tern__join_make(struct tern__rings *rings, const struct tern__map_place *place, uint32_t from);

// Drops the holds of joins that no lookup will find again; `all`: of all joins.
void tern__joins_drop(struct tern__rings *rings, bool all);

#endif
