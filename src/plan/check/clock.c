// SPDX-License-Identifier: Apache-2.0
// Clocks as shared trees.

#include "plan/check/clock.h"

#include <stdlib.h>
#include <string.h>

enum { LEAF_BITS = 5, PART_BITS = 4, SLAB_NODES = 512 };
_Static_assert(1 << LEAF_BITS == TERN__CLOCK_LANES, "the lanes of a leaf");
_Static_assert(1 << PART_BITS == TERN__CLOCK_PARTS, "the parts of a node");
_Static_assert(sizeof((struct clock *)0)->parts == sizeof((struct clock *)0)->done,
               "a node is compared as a whole");

struct clock_slab {
    struct clock_slab *next;
    struct clock nodes[SLAB_NODES];
};

// A node of a level covers 2^span lanes.
static unsigned span(uint32_t level)
{
    return LEAF_BITS + PART_BITS * level;
}

static bool covers(const struct clock *node, uint32_t lane)
{
    return (node->base ^ lane) >> span(node->level) == 0;
}

static uint32_t part_of(const struct clock *node, uint32_t lane)
{
    return (lane >> span(node->level - 1)) % TERN__CLOCK_PARTS;
}

void tern__clock_pool_destroy(struct clock_pool *pool)
{
    while (pool->slabs != NULL) {
        struct clock_slab *next = pool->slabs->next;
        free(pool->slabs);
        pool->slabs = next;
    }
}

static bool add_slab(struct clock_pool *pool)
{
    struct clock_slab *slab =
        tern__budget_take(pool->budget, sizeof *slab) ? malloc(sizeof *slab) : NULL;
    if (slab == NULL) {
        return false;
    }
    slab->next = pool->slabs;
    pool->slabs = slab;
    for (int i = 0; i < SLAB_NODES; i++) {
        slab->nodes[i].parts[0] = pool->free;
        pool->free = &slab->nodes[i];
    }
    return true;
}

// A node with one reference; its counts or parts are not set.
static struct clock *new_node(struct clock_pool *pool, uint32_t lane, uint32_t level)
{
    if (pool->free == NULL && !add_slab(pool)) {
        return NULL;
    }
    struct clock *node = pool->free;
    pool->free = node->parts[0];
    node->references = 1;
    node->level = level;
    node->base = lane >> span(level) << span(level);
    return node;
}

void tern__clock_drop(struct clock_pool *pool, struct clock *clock)
{
    if (clock == NULL || --clock->references > 0) {
        return;
    }
    for (int i = 0; clock->level > 0 && i < TERN__CLOCK_PARTS; i++) {
        tern__clock_drop(pool, clock->parts[i]);
    }
    clock->parts[0] = pool->free;
    pool->free = clock;
}

// Each join returns a new reference; one of its operands where that is the result. NULL: no memory.
static struct clock *join(struct clock_pool *pool, struct clock *a, struct clock *b);

static struct clock *join_leaves(struct clock_pool *pool, struct clock *a, struct clock *b)
{
    int32_t larger[TERN__CLOCK_LANES];
    int32_t beyond_a = 0;
    int32_t beyond_b = 0;
    for (int i = 0; i < TERN__CLOCK_LANES; i++) {
        larger[i] = a->done[i] > b->done[i] ? a->done[i] : b->done[i];
        beyond_a |= larger[i] ^ a->done[i];
        beyond_b |= larger[i] ^ b->done[i];
    }
    if (beyond_a == 0 || beyond_b == 0) {
        return tern__clock_hold(beyond_a == 0 ? a : b);
    }
    struct clock *made = new_node(pool, a->base, 0);
    if (made != NULL) {
        memcpy(made->done, larger, sizeof larger);
    }
    return made;
}

// Where two nodes know the same, makes them one, so that no later join looks at both. Their parts
// have been made one before. Who shares the parent sees no difference.
static void unite(struct clock_pool *pool, struct clock *kept, struct clock **part)
{
    struct clock *other = *part;
    if (kept != other && kept != NULL && other != NULL && kept->level == other->level &&
        kept->base == other->base && memcmp(kept->parts, other->parts, sizeof kept->parts) == 0) {
        *part = tern__clock_hold(kept);
        tern__clock_drop(pool, other);
    }
}

static void drop_parts(struct clock_pool *pool, struct clock **parts, int count)
{
    for (int i = 0; i < count; i++) {
        tern__clock_drop(pool, parts[i]);
    }
}

// Fetches the parts that differ: large clocks lie far apart in memory.
static void prefetch(const struct clock *a, const struct clock *b)
{
    for (int i = 0; i < TERN__CLOCK_PARTS; i++) {
        if (a->parts[i] != b->parts[i]) {
            __builtin_prefetch(a->parts[i]);
            __builtin_prefetch((const char *)a->parts[i] + 64);
            __builtin_prefetch((const char *)a->parts[i] + 128);
            __builtin_prefetch(b->parts[i]);
            __builtin_prefetch((const char *)b->parts[i] + 64);
            __builtin_prefetch((const char *)b->parts[i] + 128);
        }
    }
}

static struct clock *join_inner(struct clock_pool *pool, struct clock *a, struct clock *b)
{
    struct clock *parts[TERN__CLOCK_PARTS];
    bool all_a = true;
    bool all_b = true;
    prefetch(a, b);
    for (int i = 0; i < TERN__CLOCK_PARTS; i++) {
        parts[i] = join(pool, a->parts[i], b->parts[i]);
        if (parts[i] == NULL && (a->parts[i] != NULL || b->parts[i] != NULL)) {
            drop_parts(pool, parts, i);
            return NULL;
        }
        if (parts[i] == a->parts[i]) {
            unite(pool, parts[i], &b->parts[i]);
        }
        all_a = all_a && parts[i] == a->parts[i];
        all_b = all_b && parts[i] == b->parts[i];
    }
    struct clock *made = all_a || all_b ? NULL : new_node(pool, a->base, a->level);
    if (made == NULL) {
        drop_parts(pool, parts, TERN__CLOCK_PARTS);
        return all_a ? tern__clock_hold(a) : all_b ? tern__clock_hold(b) : NULL;
    }
    memcpy(made->parts, parts, sizeof parts);
    return made;
}

// Into a part of `large`, which covers `small`.
static struct clock *join_part(struct clock_pool *pool, struct clock *large, struct clock *small)
{
    uint32_t at = part_of(large, small->base);
    struct clock *part = join(pool, large->parts[at], small);
    if (part == NULL) {
        return NULL;
    }
    if (part == large->parts[at]) {
        tern__clock_drop(pool, part);
        return tern__clock_hold(large);
    }
    struct clock *made = new_node(pool, large->base, large->level);
    if (made == NULL) {
        tern__clock_drop(pool, part);
        return NULL;
    }
    for (uint32_t i = 0; i < TERN__CLOCK_PARTS; i++) {
        made->parts[i] = i == at ? part : tern__clock_hold(large->parts[i]);
    }
    return made;
}

// Neither covers the other: under a node that covers both.
static struct clock *join_apart(struct clock_pool *pool, struct clock *a, struct clock *b)
{
    uint32_t level = a->level > b->level ? a->level : b->level;
    while ((a->base ^ b->base) >> span(level) != 0) {
        level++;
    }
    struct clock *made = new_node(pool, a->base, level);
    if (made != NULL) {
        memset(made->parts, 0, sizeof made->parts);
        made->parts[part_of(made, a->base)] = tern__clock_hold(a);
        made->parts[part_of(made, b->base)] = tern__clock_hold(b);
    }
    return made;
}

static struct clock *join(struct clock_pool *pool, struct clock *a, struct clock *b)
{
    if (a == b || b == NULL) {
        return tern__clock_hold(a);
    }
    if (a == NULL) {
        return tern__clock_hold(b);
    }
    if (a->level == b->level && a->base == b->base) {
        return a->level == 0 ? join_leaves(pool, a, b) : join_inner(pool, a, b);
    }
    if (a->level > b->level && covers(a, b->base)) {
        return join_part(pool, a, b);
    }
    if (b->level > a->level && covers(b, a->base)) {
        return join_part(pool, b, a);
    }
    return join_apart(pool, a, b);
}

bool tern__clock_join(struct clock_pool *pool, struct clock **clock, struct clock *other)
{
    struct clock *joined = join(pool, *clock, other);
    if (joined == NULL && (*clock != NULL || other != NULL)) {
        return false;
    }
    tern__clock_drop(pool, *clock);
    *clock = joined;
    return true;
}

bool tern__clock_raise(struct clock_pool *pool, struct clock **clock, uint32_t lane, uint32_t done)
{
    struct clock *one = new_node(pool, lane, 0);
    if (one == NULL) {
        return false;
    }
    memset(one->done, 0, sizeof one->done);
    one->done[lane % TERN__CLOCK_LANES] = (int32_t)done;
    bool good = tern__clock_join(pool, clock, one);
    tern__clock_drop(pool, one);
    return good;
}

uint32_t tern__clock_done(const struct clock *clock, uint32_t lane)
{
    while (clock != NULL && covers(clock, lane)) {
        if (clock->level == 0) {
            return (uint32_t)clock->done[lane % TERN__CLOCK_LANES];
        }
        clock = clock->parts[part_of(clock, lane)];
    }
    return 0;
}

void tern__clock_beyond(const struct clock *clock, const struct clock *other,
                        tern__clock_visitor visit, void *arg)
{
    if (clock == NULL || clock == other) {
        return;
    }
    while (other != NULL && other->level > clock->level) {
        other = covers(other, clock->base) ? other->parts[part_of(other, clock->base)] : NULL;
    }
    if (clock == other) {
        return;
    }
    bool alike = other != NULL && other->level == clock->level && other->base == clock->base;
    for (uint32_t i = 0; clock->level > 0 && i < TERN__CLOCK_PARTS; i++) {
        tern__clock_beyond(clock->parts[i], alike ? other->parts[i] : other, visit, arg);
    }
    for (uint32_t i = 0; clock->level == 0 && i < TERN__CLOCK_LANES; i++) {
        if (clock->done[i] > (alike ? other->done[i] : 0)) {
            visit(arg, clock->base + i, (uint32_t)clock->done[i]);
        }
    }
}
