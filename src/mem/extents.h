// SPDX-License-Identifier: Apache-2.0
// Which parts of a range of memory are in use: a list of extents in the order of their addresses,
// which together cover the range. Knows offsets only and touches no memory. For buffers: a call
// takes time in proportion to the number of extents.
//
// An extent that was given back is *kept*: its memory is still there, and serves the next that
// fits, as in an allocator that reuses what is warm. tern__extents_clean makes all of them *clean*
// again.
#ifndef TERN_MEM_EXTENTS_H
#define TERN_MEM_EXTENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TERN__EXTENT_GRAIN ((size_t)64) // extents begin and end at multiples of a cache line

enum tern__extent_state { TERN__EXTENT_CLEAN, TERN__EXTENT_KEPT, TERN__EXTENT_USED };

struct tern__extent {
    size_t begin;
    size_t bytes;
    enum tern__extent_state state;
};

struct tern__extents {
    struct tern__extent *list;
    size_t count;
    size_t room;
    size_t kept_bytes;
    size_t nused;
};

// One clean extent of size_bytes, a multiple of the grain. TERN_ERR_MEMORY.
int tern__extents_create(struct tern__extents *extents, size_t size_bytes);
void tern__extents_destroy(struct tern__extents *extents);

// Takes at least size_bytes: from the smallest kept extent that is large enough, else from the
// first clean one. Returns the extent's index in the list, which the next call may change; -1 when
// there is none, -2 without memory for the list. `*was_clean`: where it came from.
ptrdiff_t tern__extents_take(struct tern__extents *extents, size_t size_bytes, bool *was_clean);

// The used extent that begins there, or NULL.
const struct tern__extent *tern__extents_find(const struct tern__extents *extents, size_t begin);

// Whether the offset lies in a used extent.
bool tern__extents_has(const struct tern__extents *extents, size_t offset);

// Gives back a used extent: it is kept, or clean again because nobody has touched it. False when
// none begins there.
bool tern__extents_give(struct tern__extents *extents, size_t begin, bool clean);

// Makes every kept extent clean; tells each before neighbours are joined.
void tern__extents_clean(struct tern__extents *extents,
                         void (*cleaned)(void *arg, const struct tern__extent *extent), void *arg);

#endif
