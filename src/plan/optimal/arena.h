// SPDX-License-Identifier: Apache-2.0
// Memory that is freed all at once: what the planner makes on its way to a plan has one lifetime.
#ifndef TERN_OPTIMAL_ARENA_H
#define TERN_OPTIMAL_ARENA_H

#include <stddef.h>

struct tern__arena {
    struct tern__arena_block *blocks;
};

// `count` zeroed things of `size` bytes; NULL, with a sentence, when there is no memory. Nothing of
// it is freed before the arena is.
void *tern__arena_take(struct tern__arena *arena, size_t count, size_t size);
void tern__arena_free(struct tern__arena *arena);

// Takes `count` things for `pointer`; ends the function with TERN_ERR_MEMORY when it cannot.
#define TERN__ARENA_TAKE(arena, pointer, count)                                                    \
    do {                                                                                           \
        (pointer) = tern__arena_take(arena, (size_t)(count), sizeof *(pointer));                   \
        if ((pointer) == NULL) {                                                                   \
            return TERN_ERR_MEMORY;                                                                \
        }                                                                                          \
    } while (0)

#endif
