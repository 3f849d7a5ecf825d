// SPDX-License-Identifier: Apache-2.0
// Pieces of memory one behind the other (bump.h).

#include "graph/bump.h"

static void set_limit(struct tern__bump *bump)
{
    const uint64_t end = bump->offset + bump->size - (bump->head - bump->tail);
    bump->limit = end < bump->usual ? end : bump->usual;
}

void tern__bump_empty(struct tern__bump *bump)
{
    bump->head = bump->tail = bump->offset = bump->most = 0;
    set_limit(bump);
}

void tern__bump_give_back(struct tern__bump *bump, uint64_t tail)
{
    const uint64_t used = bump->head - bump->tail;
    bump->most = used > bump->most ? used : bump->most;
    bump->tail = tail > bump->tail ? tail : bump->tail;
    if (bump->tail == bump->head && bump->offset > 0) {
        bump->tail = bump->head += bump->size - bump->offset;
        bump->offset = 0;
    }
    set_limit(bump);
}

// Whether a piece is at the beginning of the memory: it does not fit behind what is there, or is
// beyond what is usually enough and fits there.
static bool wraps(const struct tern__bump *bump, uint64_t size)
{
    uint64_t end = bump->offset + size;
    return end > bump->size ||
           (end > bump->usual && bump->offset > 0 &&
            bump->head + (bump->size - bump->offset) + size - bump->tail <= bump->size);
}

// What a piece skips at the end of the memory.
static uint64_t skip_of(const struct tern__bump *bump, uint64_t size)
{
    return wraps(bump, size) ? bump->size - bump->offset : 0;
}

bool tern__bump_has_room(const struct tern__bump *bump, uint64_t size)
{
    return size == 0 || bump->head + skip_of(bump, size) + size - bump->tail <= bump->size;
}

void *tern__bump_take_any(struct tern__bump *bump, uint64_t size)
{
    uint64_t begin = wraps(bump, size) ? 0 : bump->offset;
    bump->head += skip_of(bump, size) + size;
    bump->offset = begin + size;
    set_limit(bump);
    return bump->base + begin;
}
