// SPDX-License-Identifier: Apache-2.0
// The queue of ready tasks of one kind of core: first in, first out, any number of threads at both
// ends, and no lock. A place in it is taken by counting `tail` up, and a task by counting `head`
// up; each slot says of which place it has the task. It has room for all tasks that there can be at
// once, so nobody waits for room. (After D. Vyukov's bounded queue, without its wait for a free
// slot.)
#ifndef TERN_GRAPH_READY_H
#define TERN_GRAPH_READY_H

#include <stdalign.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/order.h"

// Of the processor; for large memory that threads go through in turn.
#define TERN__HUGE_PAGE_BYTES ((size_t)2 << 20)

struct tern__task;

struct tern__ready_slot {
    _Atomic uint64_t place; // of the task that is here, + 1
    _Atomic(struct tern__task *) task;
};

struct tern__ready {
    struct tern__ready *older; // that this one has replaced; somebody may still look into it
    uint64_t mask;
    alignas(TERN_CACHE_LINE) _Atomic uint64_t tail;
    alignas(TERN_CACHE_LINE) _Atomic uint64_t head;
    alignas(TERN_CACHE_LINE) struct tern__ready_slot slots[];
};

// Room for `tasks` at least. NULL: no memory.
struct tern__ready *tern__ready_make(uint64_t tasks, struct tern__ready *older);
void tern__ready_free(struct tern__ready *ready); // and the older ones

// Sequentially consistent, before the caller looks whether anybody sleeps.
static inline void tern__ready_put(struct tern__ready *ready, struct tern__task *task)
{
    uint64_t place = atomic_fetch_add(&ready->tail, 1); // partner: tern__ready_any
    struct tern__ready_slot *slot = &ready->slots[place & ready->mask];
    atomic_store_explicit(&slot->task, task, memory_order_relaxed);
    // partner: tern__ready_take; releases the task
    atomic_store_explicit(&slot->place, place + 1, memory_order_release);
}

// The oldest, or NULL: there is none, or the oldest is just being put.
static inline struct tern__task *tern__ready_take(struct tern__ready *ready)
{
    uint64_t head = atomic_load_explicit(&ready->head, memory_order_relaxed);
    for (;;) {
        struct tern__ready_slot *slot = &ready->slots[head & ready->mask];
        if (atomic_load_explicit(&slot->place, memory_order_acquire) != head + 1) {
            uint64_t now = atomic_load_explicit(&ready->head, memory_order_relaxed);
            if (now == head) {
                return NULL;
            }
            head = now;
            continue;
        }
        struct tern__task *task = atomic_load_explicit(&slot->task, memory_order_relaxed);
        // Nobody else took it; then the slot was not used again either.
        if (atomic_compare_exchange_weak_explicit(&ready->head, &head, head + 1,
                                                  memory_order_relaxed, memory_order_relaxed)) {
            return task;
        }
    }
}

// Whether there is one, or will be in a moment. For the two-sided handshake with who puts.
static inline bool tern__ready_any(const struct tern__ready *ready)
{
    return atomic_load(&ready->tail) != atomic_load_explicit(&ready->head, memory_order_relaxed);
}

// For a core that may run what it has just released: whether something older waits.
static inline bool tern__ready_looks_empty(const struct tern__ready *ready)
{
    return atomic_load_explicit(&ready->tail, memory_order_relaxed) ==
           atomic_load_explicit(&ready->head, memory_order_relaxed);
}

// Of a core that is the only one of its kind: what it makes ready itself needs no atomic operation.
// Each task says how many of the queue were put before it, so that together they are first in,
// first out. Has room as the queue has, and begins again at its first slots whenever it is empty.
struct tern__ready_own_slot {
    struct tern__task *task;
    uint64_t before;
};

struct tern__ready_own {
    struct tern__ready_own_slot *slots;
    uint64_t mask;
    _Atomic uint64_t head, tail; // written by the core; read by others for reports
};

// Room for as many as the queue has; while there is none. False: no memory.
bool tern__ready_own_make(struct tern__ready_own *own, const struct tern__ready *ready);

static inline bool tern__ready_own_any(const struct tern__ready_own *own)
{
    return atomic_load_explicit(&own->tail, memory_order_relaxed) !=
           atomic_load_explicit(&own->head, memory_order_relaxed);
}

static inline void tern__ready_own_put(struct tern__ready_own *own, const struct tern__ready *ready,
                                       struct tern__task *task)
{
    const uint64_t tail = atomic_load_explicit(&own->tail, memory_order_relaxed);
    struct tern__ready_own_slot *slot = &own->slots[tail & own->mask];
    slot->task = task;
    slot->before = atomic_load_explicit(&ready->tail, memory_order_relaxed);
    atomic_store_explicit(&own->tail, tail + 1, memory_order_relaxed);
}

// The oldest of both.
static inline struct tern__task *tern__ready_own_take(struct tern__ready_own *own,
                                                      struct tern__ready *ready)
{
    const uint64_t head = atomic_load_explicit(&own->head, memory_order_relaxed);
    const uint64_t tail = atomic_load_explicit(&own->tail, memory_order_relaxed);
    if (head == tail) {
        return tern__ready_take(ready);
    }
    const struct tern__ready_own_slot *slot = &own->slots[head & own->mask];
    if (slot->before != atomic_load_explicit(&ready->head, memory_order_relaxed)) {
        struct tern__task *task = tern__ready_take(ready);
        if (task != NULL) {
            return task;
        }
    }
    const bool last = head + 1 == tail;
    atomic_store_explicit(&own->head, last ? 0 : head + 1, memory_order_relaxed);
    if (last) {
        atomic_store_explicit(&own->tail, 0, memory_order_relaxed);
    }
    return slot->task;
}

#endif
