// SPDX-License-Identifier: Apache-2.0
// The queue of events. Everything is an index into arrays, which grow by half.

#include "plan/sim/queue.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define TABLE_BITS_FIRST 8

bool tern__sim_grow(void **array, uint32_t *room, size_t element_bytes)
{
    uint64_t more = *room < 16 ? 32 : (uint64_t)*room + *room / 2;
    more = more < TERN__NONE ? more : TERN__NONE - 1;
    void *grown = more > *room ? realloc(*array, (size_t)more * element_bytes) : NULL;
    if (grown == NULL) {
        return false;
    }
    *array = grown;
    *room = (uint32_t)more;
    return true;
}

static uint32_t slot_of(const struct tern__sim_queue *queue, double us)
{
    uint64_t bits;
    memcpy(&bits, &us, sizeof bits);
    return (uint32_t)(bits * UINT64_C(0x9e3779b97f4a7c15) >> (64 - queue->table_bits));
}

bool tern__sim_queue_open(struct tern__sim_queue *queue)
{
    *queue = (struct tern__sim_queue){.happenings_free = TERN__NONE,
                                      .buckets_free = TERN__NONE,
                                      .table_bits = TABLE_BITS_FIRST,
                                      .last = TERN__NONE};
    queue->table = malloc(sizeof *queue->table << TABLE_BITS_FIRST);
    if (queue->table != NULL) {
        memset(queue->table, 0xff, sizeof *queue->table << TABLE_BITS_FIRST);
    }
    return queue->table != NULL;
}

void tern__sim_queue_close(struct tern__sim_queue *queue)
{
    free(queue->happenings);
    free(queue->buckets);
    free(queue->heap);
    free(queue->table);
    *queue = (struct tern__sim_queue){0};
}

// The table has as many slots as the heap has entries, or up to four times as many.
static bool grow_table(struct tern__sim_queue *queue)
{
    size_t bytes = sizeof *queue->table << (queue->table_bits + 2);
    uint32_t *table = malloc(bytes);
    if (table == NULL) {
        return false;
    }
    memset(table, 0xff, bytes);
    free(queue->table);
    queue->table = table;
    queue->table_bits += 2;
    for (uint32_t i = 0; i < queue->heap_count; i++) {
        struct tern__sim_bucket *bucket = &queue->buckets[queue->heap[i]];
        uint32_t *slot = &table[slot_of(queue, bucket->us)];
        bucket->chain = *slot;
        *slot = queue->heap[i];
    }
    return true;
}

static void place(struct tern__sim_queue *queue, uint32_t at, uint32_t bucket)
{
    queue->heap[at] = bucket;
    queue->buckets[bucket].heap_at = at;
}

static void sift_up(struct tern__sim_queue *queue, uint32_t at, uint32_t bucket)
{
    double us = queue->buckets[bucket].us;
    while (at > 0 && queue->buckets[queue->heap[(at - 1) / 2]].us > us) {
        place(queue, at, queue->heap[(at - 1) / 2]);
        at = (at - 1) / 2;
    }
    place(queue, at, bucket);
}

static void sift_down(struct tern__sim_queue *queue, uint32_t at, uint32_t bucket)
{
    double us = queue->buckets[bucket].us;
    for (;;) {
        uint32_t child = 2 * at + 1;
        if (child >= queue->heap_count) {
            break;
        }
        if (child + 1 < queue->heap_count &&
            queue->buckets[queue->heap[child + 1]].us < queue->buckets[queue->heap[child]].us) {
            child++;
        }
        if (queue->buckets[queue->heap[child]].us >= us) {
            break;
        }
        place(queue, at, queue->heap[child]);
        at = child;
    }
    place(queue, at, bucket);
}

static uint32_t new_bucket(struct tern__sim_queue *queue, double us)
{
    if (queue->heap_count == queue->heap_room &&
        !tern__sim_grow((void **)&queue->heap, &queue->heap_room, sizeof *queue->heap)) {
        return TERN__NONE;
    }
    uint32_t bucket = queue->buckets_free;
    if (bucket != TERN__NONE) {
        queue->buckets_free = queue->buckets[bucket].chain;
    } else {
        if (queue->buckets_count == queue->buckets_room &&
            !tern__sim_grow((void **)&queue->buckets, &queue->buckets_room,
                            sizeof *queue->buckets)) {
            return TERN__NONE;
        }
        bucket = queue->buckets_count++;
    }
    uint32_t *slot = &queue->table[slot_of(queue, us)];
    queue->buckets[bucket] =
        (struct tern__sim_bucket){.us = us, .head = TERN__NONE, .tail = TERN__NONE, .chain = *slot};
    *slot = bucket;
    sift_up(queue, queue->heap_count++, bucket);
    return bucket;
}

// The bucket of a time, made if there is none.
static uint32_t bucket_of(struct tern__sim_queue *queue, double us)
{
    if (queue->last != TERN__NONE && queue->buckets[queue->last].us == us) {
        return queue->last;
    }
    uint32_t bucket = queue->table[slot_of(queue, us)];
    while (bucket != TERN__NONE && queue->buckets[bucket].us != us) {
        bucket = queue->buckets[bucket].chain;
    }
    if (bucket == TERN__NONE) {
        if (queue->heap_count >> queue->table_bits > 0 && !grow_table(queue)) {
            return TERN__NONE;
        }
        bucket = new_bucket(queue, us);
    }
    queue->last = bucket;
    return bucket;
}

uint32_t tern__sim_queue_add(struct tern__sim_queue *queue, double us, uint32_t kind,
                             uint32_t target, uint32_t extra)
{
    uint32_t event = queue->happenings_free;
    if (event != TERN__NONE) {
        queue->happenings_free = queue->happenings[event].next;
    } else {
        if (queue->happenings_count == queue->happenings_room &&
            !tern__sim_grow((void **)&queue->happenings, &queue->happenings_room,
                            sizeof *queue->happenings)) {
            return TERN__NONE;
        }
        event = queue->happenings_count++;
    }
    uint32_t at = bucket_of(queue, us);
    if (at == TERN__NONE) {
        return TERN__NONE;
    }
    struct tern__sim_bucket *bucket = &queue->buckets[at];
    queue->happenings[event] = (struct tern__sim_happening){.next = TERN__NONE,
                                                            .prev = bucket->tail,
                                                            .bucket = at,
                                                            .kind = kind,
                                                            .target = target,
                                                            .extra = extra};
    if (bucket->tail != TERN__NONE) {
        queue->happenings[bucket->tail].next = event;
    } else {
        bucket->head = event;
    }
    bucket->tail = event;
    return event;
}

static void drop_bucket(struct tern__sim_queue *queue, uint32_t at)
{
    struct tern__sim_bucket *bucket = &queue->buckets[at];
    uint32_t *link = &queue->table[slot_of(queue, bucket->us)];
    while (*link != at) {
        link = &queue->buckets[*link].chain;
    }
    *link = bucket->chain;
    uint32_t hole = bucket->heap_at;
    uint32_t moved = queue->heap[--queue->heap_count];
    if (moved != at) {
        if (queue->buckets[moved].us < bucket->us) {
            sift_up(queue, hole, moved);
        } else {
            sift_down(queue, hole, moved);
        }
    }
    bucket->chain = queue->buckets_free;
    queue->buckets_free = at;
    queue->last = queue->last == at ? TERN__NONE : queue->last;
}

void tern__sim_queue_remove(struct tern__sim_queue *queue, uint32_t event)
{
    struct tern__sim_happening *gone = &queue->happenings[event];
    struct tern__sim_bucket *bucket = &queue->buckets[gone->bucket];
    if (gone->prev != TERN__NONE) {
        queue->happenings[gone->prev].next = gone->next;
    } else {
        bucket->head = gone->next;
    }
    if (gone->next != TERN__NONE) {
        queue->happenings[gone->next].prev = gone->prev;
    } else {
        bucket->tail = gone->prev;
    }
    if (bucket->head == TERN__NONE) {
        drop_bucket(queue, gone->bucket);
    }
    gone->next = queue->happenings_free;
    queue->happenings_free = event;
}

double tern__sim_queue_first_us(const struct tern__sim_queue *queue)
{
    return queue->heap_count > 0 ? queue->buckets[queue->heap[0]].us : INFINITY;
}

struct tern__sim_happening tern__sim_queue_take(struct tern__sim_queue *queue)
{
    uint32_t event = queue->buckets[queue->heap[0]].head;
    struct tern__sim_happening taken = queue->happenings[event];
    tern__sim_queue_remove(queue, event);
    return taken;
}
