// SPDX-License-Identifier: Apache-2.0
// Memory that is taken at one end and given back at the other. Positions count up; a piece never
// straddles the end of the memory; an empty one begins anew at its beginning.
#ifndef TERN_GRAPH_BUMP_H
#define TERN_GRAPH_BUMP_H

#include <stdbool.h>
#include <stdint.h>

struct tern__bump {
    char *base;
    uint64_t size, head, tail;
    uint64_t usual;  // bytes: beyond them only when the beginning is in use
    uint64_t offset; // of head in the memory
    uint64_t limit;  // of offset, until pieces are given back: so far there is room
    uint64_t most;   // that was in use at once
};

// Nothing is taken.
void tern__bump_empty(struct tern__bump *bump);

// What is before `tail` is given back. What is empty begins anew, also when pieces of no bytes are
// still in use: their ends are then before the tail.
void tern__bump_give_back(struct tern__bump *bump, uint64_t tail);

// What is usual: a piece lies behind the last one, there is room for it, and nothing to skip.
static inline bool tern__bump_fits(const struct tern__bump *bump, uint64_t size)
{
    return bump->offset + size <= bump->limit;
}

// Where a piece is going to be that fits.
static inline void *tern__bump_next(const struct tern__bump *bump)
{
    return bump->base + bump->offset;
}

// A piece for which there is room.
void *tern__bump_take_any(struct tern__bump *bump, uint64_t size);

static inline void *tern__bump_take(struct tern__bump *bump, uint64_t size)
{
    if (__builtin_expect(!tern__bump_fits(bump, size), 0)) {
        return tern__bump_take_any(bump, size);
    }
    void *piece = tern__bump_next(bump);
    bump->head += size;
    bump->offset += size;
    return piece;
}

// The end of the last piece is not needed.
static inline void tern__bump_untake(struct tern__bump *bump, uint64_t size)
{
    bump->head -= size;
    bump->offset -= size;
}

// Whether there is room for a piece of any size.
bool tern__bump_has_room(const struct tern__bump *bump, uint64_t size);

#endif
