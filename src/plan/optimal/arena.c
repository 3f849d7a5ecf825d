// SPDX-License-Identifier: Apache-2.0
// A list of blocks, each from calloc: few and large requests, so nothing is cut from a block.

#include <stdalign.h>
#include <stdlib.h>

#include "base/error.h"
#include "plan/optimal/arena.h"

struct tern__arena_block {
    struct tern__arena_block *next;
    alignas(max_align_t) char bytes[];
};

void *tern__arena_take(struct tern__arena *arena, size_t count, size_t size)
{
    size_t bytes;
    struct tern__arena_block *block = NULL;
    if (!__builtin_mul_overflow(count, size, &bytes) &&
        !__builtin_add_overflow(bytes, sizeof *block, &bytes)) {
        block = calloc(1, bytes);
    }
    if (block == NULL) {
        tern__set_error("no memory for %zu times %zu bytes of the planner", count, size);
        return NULL;
    }
    block->next = arena->blocks;
    arena->blocks = block;
    return block->bytes;
}

void tern__arena_free(struct tern__arena *arena)
{
    while (arena->blocks != NULL) {
        struct tern__arena_block *next = arena->blocks->next;
        free(arena->blocks);
        arena->blocks = next;
    }
}
