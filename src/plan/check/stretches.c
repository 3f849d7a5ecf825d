// SPDX-License-Identifier: Apache-2.0
// Stretches in blocks: an array of pointers to arrays, both sorted.

#include "plan/check/stretches.h"

#include <stdlib.h>
#include <string.h>

static struct stretch_block *new_block(struct budget *budget)
{
    struct stretch_block *block =
        tern__budget_take(budget, sizeof *block) ? malloc(sizeof *block) : NULL;
    if (block != NULL) {
        block->count = 0;
    }
    return block;
}

bool tern__stretches_create(struct stretches *stretches, struct budget *budget, uint64_t size,
                            struct content content)
{
    *stretches = (struct stretches){.size = size};
    stretches->blocks = calloc(1, sizeof(void *));
    struct stretch_block *first = stretches->blocks != NULL ? new_block(budget) : NULL;
    if (first == NULL) {
        return false;
    }
    first->count = 1;
    first->items[0] = (struct stretch){.content = content, .write = TERN__NO_PLACE};
    stretches->blocks[0] = first;
    stretches->count = stretches->room = 1;
    return true;
}

void tern__stretches_destroy(struct stretches *stretches)
{
    for (size_t i = 0; i < stretches->count; i++) {
        free(stretches->blocks[i]);
    }
    free(stretches->blocks);
}

struct cursor tern__stretches_find(const struct stretches *stretches, uint64_t position)
{
    size_t low = 0;
    size_t high = stretches->count;
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (stretches->blocks[middle]->items[0].begin <= position) {
            low = middle;
        } else {
            high = middle;
        }
    }
    const struct stretch_block *block = stretches->blocks[low];
    uint32_t first = 0;
    uint32_t last = block->count;
    while (last - first > 1) {
        uint32_t middle = first + (last - first) / 2;
        if (block->items[middle].begin <= position) {
            first = middle;
        } else {
            last = middle;
        }
    }
    return (struct cursor){.block = low, .item = first};
}

bool tern__stretches_next(const struct stretches *stretches, struct cursor *cursor)
{
    if (cursor->item + 1 < stretches->blocks[cursor->block]->count) {
        cursor->item++;
        return true;
    }
    cursor->block++;
    cursor->item = 0;
    return cursor->block < stretches->count;
}

uint64_t tern__stretch_end(const struct stretches *stretches, struct cursor cursor)
{
    return tern__stretches_next(stretches, &cursor) ? tern__stretch_at(stretches, cursor)->begin
                                                    : stretches->size;
}

// Moves the upper half of a full block to a new one behind it.
static bool halve(struct stretches *stretches, struct budget *budget, size_t at)
{
    if (stretches->count == stretches->room) {
        size_t room = 2 * stretches->room;
        struct stretch_block **grown = tern__budget_take(budget, stretches->room * sizeof(void *))
                                           ? realloc(stretches->blocks, room * sizeof(void *))
                                           : NULL;
        if (grown == NULL) {
            return false;
        }
        stretches->blocks = grown;
        stretches->room = room;
    }
    struct stretch_block *upper = new_block(budget);
    if (upper == NULL) {
        return false;
    }
    struct stretch_block *lower = stretches->blocks[at];
    upper->count = lower->count / 2;
    lower->count -= upper->count;
    memcpy(upper->items, &lower->items[lower->count], upper->count * sizeof upper->items[0]);
    memmove(&stretches->blocks[at + 2], &stretches->blocks[at + 1],
            (stretches->count - at - 1) * sizeof(void *));
    stretches->blocks[at + 1] = upper;
    stretches->count++;
    return true;
}

bool tern__stretches_split(struct stretches *stretches, struct budget *budget, uint64_t position)
{
    struct cursor at = tern__stretches_find(stretches, position);
    if (position >= stretches->size || tern__stretch_at(stretches, at)->begin == position) {
        return true;
    }
    if (stretches->blocks[at.block]->count == TERN__BLOCK_STRETCHES) {
        if (!halve(stretches, budget, at.block)) {
            return false;
        }
        at = tern__stretches_find(stretches, position);
    }
    struct stretch_block *block = stretches->blocks[at.block];
    struct stretch *made = &block->items[at.item + 1];
    memmove(made + 1, made, (block->count - at.item - 1) * sizeof *made);
    *made = block->items[at.item];
    made->begin = position;
    tern__clock_hold(made->reads);
    tern__clock_hold(made->atomics);
    block->count++;
    return true;
}

// Removes the stretches of a block from `first` on that begin before `end`.
static void erase(struct stretch_block *block, struct clock_pool *pool, uint32_t first,
                  uint64_t end)
{
    uint32_t last = first;
    for (; last < block->count && block->items[last].begin < end; last++) {
        tern__clock_drop(pool, block->items[last].reads);
        tern__clock_drop(pool, block->items[last].atomics);
    }
    memmove(&block->items[first], &block->items[last],
            (block->count - last) * sizeof block->items[0]);
    block->count -= last - first;
}

void tern__stretches_merge(struct stretches *stretches, struct clock_pool *pool, uint64_t begin,
                           uint64_t end)
{
    struct cursor kept = tern__stretches_find(stretches, begin);
    size_t first = kept.block + 1;
    size_t last = first;
    erase(stretches->blocks[kept.block], pool, kept.item + 1, end);
    while (last < stretches->count && stretches->blocks[last]->items[0].begin < end) {
        erase(stretches->blocks[last], pool, 0, end);
        if (stretches->blocks[last]->count > 0) {
            break;
        }
        free(stretches->blocks[last++]);
        pool->budget->left_bytes += sizeof(struct stretch_block);
    }
    memmove(&stretches->blocks[first], &stretches->blocks[last],
            (stretches->count - last) * sizeof(void *));
    stretches->count -= last - first;
}
