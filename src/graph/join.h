// SPDX-License-Identifier: Apache-2.0
// Edges of tasks in rings; and joins. When several tasks in turn read the same region with many
// writers, each would come after all of these: m readers of n writers are m * n edges. From the
// second reader on they come after a join instead: a row of nobody's, which comes after the
// writers.
//
// A join stands for its writers also in what they made: they have not retired before all who come
// after the join have finished. So it is a user of each of them until nobody can come after it any
// more (its hold has been dropped) and all who do have finished. As long as it has its hold, its
// own scope and those of its writers are open: nothing that it keeps could retire, whatever the
// orchestration waits for.
#ifndef TERN_GRAPH_JOIN_H
#define TERN_GRAPH_JOIN_H

#include "graph/rings.h"

// So many edges of a task are looked through for one that is there already.
#define TERN__EDGES_FEW 16u

// `row`, not published, comes after the tasks `ids`, each of which there is or was; there is room
// for an edge to each. Returns how many of these are met, or are there twice.
uint32_t tern__rings_link(struct tern__rings *rings, struct tern__ring *ring,
                          struct tern__task *row, const tern_task_id *ids, uint32_t count);

// What a lookup has found for the second time, the ids from `from` on, becomes one: that of a join.
// They stay as they are where a join may not be.
void tern__join_make(struct tern__rings *rings, const struct tern__map_place *place, uint32_t from);

// Drops the holds of joins that no lookup will find again; `all`: of all joins.
void tern__joins_drop(struct tern__rings *rings, bool all);

#endif
