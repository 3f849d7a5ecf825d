// SPDX-License-Identifier: Apache-2.0
// What will happen, by time: a heap of distinct times, each with the list of what happens then, in
// the order in which it was added. Equal times are found by a hash, so thousands of ranks in step
// cost one entry of the heap. Events can be taken out again, so nothing stale is kept.
#ifndef TERN_PLAN_SIM_QUEUE_H
#define TERN_PLAN_SIM_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TERN__NONE UINT32_MAX

// Grows an array of `room` elements that is full, by half; false when there is no memory or there
// would be TERN__NONE elements.
bool tern__sim_grow(void **array, uint32_t *room, size_t element_bytes);

struct tern__sim_happening {
    uint32_t next, prev; // in its bucket; next also in the list of free ones
    uint32_t bucket;
    uint32_t kind, target, extra; // what they mean is the caller's matter
};

struct tern__sim_bucket {
    double us;
    uint32_t head, tail;
    uint32_t heap_at;
    uint32_t chain; // the next with the same hash, or the next free one
};

struct tern__sim_queue {
    struct tern__sim_happening *happenings;
    uint32_t happenings_count, happenings_room, happenings_free;
    struct tern__sim_bucket *buckets;
    uint32_t buckets_count, buckets_room, buckets_free;
    uint32_t *heap; // of buckets
    uint32_t heap_count, heap_room;
    uint32_t *table; // by hash of the time: the first bucket of a chain
    uint32_t table_bits;
    uint32_t last; // the bucket of the last addition, or TERN__NONE
};

bool tern__sim_queue_open(struct tern__sim_queue *queue);
void tern__sim_queue_close(struct tern__sim_queue *queue);

// The event that was added; TERN__NONE when there is no memory.
uint32_t tern__sim_queue_add(struct tern__sim_queue *queue, double us, uint32_t kind,
                             uint32_t target, uint32_t extra);

void tern__sim_queue_remove(struct tern__sim_queue *queue, uint32_t event);

// The time of what comes first; infinite when nothing does.
double tern__sim_queue_first_us(const struct tern__sim_queue *queue);

// Takes what comes first, which must exist.
struct tern__sim_happening tern__sim_queue_take(struct tern__sim_queue *queue);

#endif
