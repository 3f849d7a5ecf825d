// SPDX-License-Identifier: Apache-2.0
// Who uses what tasks in rings have made, and which of them have retired. Data path: no allocation,
// lock or log.

#include "graph/rings.h"
#include "sync/bell.h"

bool tern__ring_is_enough(const struct tern__ring *ring)
{
    uint32_t alive = tern__flag_load(&ring->alive);
    return (int32_t)(alive - tern__flag_load(&ring->wake_at)) >= 0 ||
           alive == tern__flag_load(&ring->released);
}

void tern__rings_retire(struct tern__rings *rings, struct tern__ring *ring)
{
    for (;;) {
        if (!tern__flag_swap(&ring->retiring, 0, 1)) {
            return;
        }
        uint32_t released = tern__flag_load(&ring->released);
        uint32_t alive = tern__flag_load(&ring->alive);
        while (alive != released && tern__task_unused(&ring->rows[alive & ring->mask])) {
            alive++;
        }
        tern__flag_store(&ring->alive, alive); // partner: drop_user, tern__ring_is_enough
        tern__flag_store(&ring->retiring, 0);
        if (tern__ring_is_enough(ring)) {
            tern__bell_ring(rings->bell);
        }
        if (alive == tern__flag_load(&ring->released) ||
            !tern__task_unused(&ring->rows[alive & ring->mask])) {
            return;
        }
    }
}

// What users_done of a join comes to, and by nothing else, with the last of those after it and its
// hold: who sees it needs no other word of a row that may be another task's.
#define JOIN_UNUSED (UINT32_C(1) << 31)

// The last user of a join but the join itself: then nobody needs those before it. It is there until
// it has dropped itself.
static void drop_join(struct tern__rings *rings, struct tern__task *task)
{
    for (uint32_t i = 0; i < task->before_count; i++) {
        tern__rings_drop_user(rings, task->before[i].from);
    }
    tern__rings_drop_user(rings, task);
}

// Before the scope has ended, nothing retires, and more users may come; its end looks at them all.
static void drop_users(struct tern__rings *rings, struct tern__task *task, uint32_t count)
{
    struct tern__ring *ring = &rings->ring[task->ring];
    const uint32_t number = task->number;
    const bool join = (task->special & TERN__TASK_JOIN) != 0;
    const uint32_t done =
        tern__flag_add(&task->users_done, count) + count; // partner: tern__rings_retire
    if (join && done == JOIN_UNUSED) {
        drop_join(rings, task);
        return;
    }
    // From here on it may have retired, and its row be another task's.
    if ((int32_t)(number - tern__flag_load(&ring->released)) < 0 &&
        done == tern__peek(&task->users) && tern__flag_load(&ring->alive) == number) {
        tern__rings_retire(rings, ring);
    }
}

void tern__rings_drop_user(struct tern__rings *rings, struct tern__task *task)
{
    drop_users(rings, task, 1);
}

void tern__rings_drop_hold(struct tern__rings *rings, struct tern__task *join)
{
    const uint32_t readers = tern__peek(&join->users) - 2;
    tern__poke(&join->users, JOIN_UNUSED + 1); // the join itself
    drop_users(rings, join, JOIN_UNUSED - readers);
}

void tern__rings_ended(struct tern__rings *rings, struct tern__task *task)
{
    for (uint32_t i = 0; i < task->before_count; i++) {
        tern__rings_drop_user(rings, task->before[i].from);
    }
    tern__rings_drop_user(rings, task);
}

bool tern__rings_has_room(const struct tern__ring *ring, uint32_t edges)
{
    return ring->joins + 1 < ring->window &&
           tern__bump_has_room(&ring->edges, edges * sizeof(struct tern__edge));
}

bool tern__rings_use_late(const struct tern__rings *rings, tern_task_id id)
{
    struct tern__task *task = tern__rings_find(rings, id);
    if (task == NULL) {
        return false;
    }
    const uint32_t users = tern__peek(&task->users);
    uint32_t done = tern__flag_load(&task->users_done);
    while (done != users) { // else it may retire at any time
        if (atomic_compare_exchange_weak(&task->users_done, &done, done - 1)) {
            return true;
        }
    }
    return false;
}
