// SPDX-License-Identifier: Apache-2.0

#include "mem/extents.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"

int tern__extents_create(struct tern__extents *extents, size_t size_bytes)
{
    size_t room = 16;
    *extents = (struct tern__extents){.list = calloc(room, sizeof *extents->list), .room = room};
    if (extents->list == NULL) {
        return tern__fail(TERN_ERR_MEMORY, "no memory for a list of extents");
    }
    extents->list[0] = (struct tern__extent){.bytes = size_bytes};
    extents->count = 1;
    return TERN_OK;
}

void tern__extents_destroy(struct tern__extents *extents)
{
    free(extents->list);
    *extents = (struct tern__extents){0};
}

static bool make_room(struct tern__extents *extents)
{
    if (extents->count < extents->room) {
        return true;
    }
    void *larger = realloc(extents->list, 2 * extents->room * sizeof *extents->list);
    if (larger == NULL) {
        return false;
    }
    extents->list = larger;
    extents->room *= 2;
    return true;
}

// The smallest kept one, else the first clean one; -1 when none is large enough.
static ptrdiff_t find_fit(const struct tern__extents *extents, size_t bytes)
{
    ptrdiff_t clean = -1;
    ptrdiff_t kept = -1;
    for (size_t i = 0; i < extents->count; i++) {
        const struct tern__extent *extent = &extents->list[i];
        if (extent->bytes < bytes || extent->state == TERN__EXTENT_USED) {
            continue;
        }
        if (extent->state == TERN__EXTENT_CLEAN) {
            clean = clean < 0 ? (ptrdiff_t)i : clean;
        } else if (kept < 0 || extent->bytes < extents->list[kept].bytes) {
            kept = (ptrdiff_t)i;
        }
    }
    return kept >= 0 ? kept : clean;
}

ptrdiff_t tern__extents_take(struct tern__extents *extents, size_t size_bytes, bool *was_clean)
{
    if (size_bytes > SIZE_MAX - TERN__EXTENT_GRAIN) {
        return -1;
    }
    size_t bytes = (size_bytes + TERN__EXTENT_GRAIN - 1) / TERN__EXTENT_GRAIN * TERN__EXTENT_GRAIN;
    bytes = bytes > 0 ? bytes : TERN__EXTENT_GRAIN;
    ptrdiff_t at = find_fit(extents, bytes);
    if (at < 0) {
        return -1;
    }
    if (!make_room(extents)) {
        return -2;
    }
    struct tern__extent *extent = &extents->list[at];
    *was_clean = extent->state == TERN__EXTENT_CLEAN;
    extents->kept_bytes -= *was_clean ? 0 : bytes;
    if (extent->bytes > bytes) {
        memmove(extent + 1, extent, (extents->count - (size_t)at) * sizeof *extent);
        extents->count++;
        extent[1].begin += bytes;
        extent[1].bytes -= bytes;
        extent->bytes = bytes;
    }
    extent->state = TERN__EXTENT_USED;
    extents->nused++;
    return at;
}

// Joins an extent with the next one when both are in the same state.
static void join_next(struct tern__extents *extents, size_t at)
{
    struct tern__extent *extent = &extents->list[at];
    if (at + 1 < extents->count && extent[1].state == extent->state) {
        extent->bytes += extent[1].bytes;
        memmove(extent + 1, extent + 2, (extents->count - at - 2) * sizeof *extent);
        extents->count--;
    }
}

// The first that begins at the offset or behind it; the count when none does.
static size_t first_from(const struct tern__extents *extents, size_t offset)
{
    size_t low = 0;
    size_t high = extents->count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (extents->list[middle].begin < offset) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

const struct tern__extent *tern__extents_find(const struct tern__extents *extents, size_t begin)
{
    size_t at = first_from(extents, begin);
    const struct tern__extent *extent = &extents->list[at];
    bool found =
        at < extents->count && extent->begin == begin && extent->state == TERN__EXTENT_USED;
    return found ? extent : NULL;
}

bool tern__extents_has(const struct tern__extents *extents, size_t offset)
{
    size_t behind = first_from(extents, offset + 1);
    return behind > 0 && extents->list[behind - 1].state == TERN__EXTENT_USED &&
           offset - extents->list[behind - 1].begin < extents->list[behind - 1].bytes;
}

bool tern__extents_give(struct tern__extents *extents, size_t begin, bool clean)
{
    const struct tern__extent *found = tern__extents_find(extents, begin);
    if (found == NULL) {
        return false;
    }
    size_t at = (size_t)(found - extents->list);
    enum tern__extent_state state = clean ? TERN__EXTENT_CLEAN : TERN__EXTENT_KEPT;
    extents->list[at].state = state;
    extents->kept_bytes += clean ? 0 : found->bytes;
    extents->nused--;
    join_next(extents, at);
    if (at > 0 && extents->list[at - 1].state == state) {
        join_next(extents, at - 1);
    }
    return true;
}

void tern__extents_clean(struct tern__extents *extents,
                         void (*cleaned)(void *arg, const struct tern__extent *extent), void *arg)
{
    size_t count = 0;
    for (size_t i = 0; i < extents->count; i++) {
        struct tern__extent extent = extents->list[i];
        if (extent.state == TERN__EXTENT_KEPT) {
            cleaned(arg, &extent);
            extent.state = TERN__EXTENT_CLEAN;
        }
        struct tern__extent *last = &extents->list[count > 0 ? count - 1 : 0];
        if (count > 0 && extent.state == TERN__EXTENT_CLEAN && last->state == TERN__EXTENT_CLEAN) {
            last->bytes += extent.bytes;
        } else {
            extents->list[count++] = extent;
        }
    }
    extents->count = count;
    extents->kept_bytes = 0;
}
