// SPDX-License-Identifier: Apache-2.0
// What checking mode keeps of the tiles of a block: which of them last wrote which bytes on the
// chip. All of the thread alone.

#include "isa/block.h"
#include "isa/check.h"

enum { TILES = 64 };

struct tiles {
    struct {
        const char *begin, *end;
        uint32_t site;
    } writes[TILES]; // the newest at writes[(count - 1) % TILES]
    unsigned count;
};

// NULL: there is no memory, and then nothing is found.
static struct tiles *tiles_made(void)
{
    return tern__watch_memory(TERN__WATCH_TILES, sizeof(struct tiles));
}

static void note_write(struct tiles *tiles, const char *begin, const char *end, uint32_t site)
{
    unsigned at = tiles->count++ % TILES;
    tiles->writes[at].begin = begin;
    tiles->writes[at].end = end;
    tiles->writes[at].site = site;
}

// The bytes were written as a whole, or as a part of one another: a view. What lies across another
// one's end has been overwritten in part.
static void check_read(const struct tiles *tiles, const char *what, const char *begin,
                       const char *end, uint32_t site)
{
    unsigned kept = tiles->count < TILES ? tiles->count : TILES;
    for (unsigned back = 1; back <= kept; back++) {
        unsigned at = (tiles->count - back) % TILES;
        const char *b = tiles->writes[at].begin;
        const char *e = tiles->writes[at].end;
        if (e <= begin || b >= end) {
            continue;
        }
        if ((b <= begin && e >= end) || (b >= begin && e <= end)) {
            return;
        }
        tern__watch_report(site,
                           "%s reads a tile of which %zd bytes were overwritten by another tile "
                           "that lies across its end, at %s",
                           what, (e < end ? e : end) - (b > begin ? b : begin),
                           tern__watch_site_text(tiles->writes[at].site));
        return;
    }
}

void tern__watch_tile(const char *what, const tern_tile *tile, bool writes)
{
    if (!tern__watch_in_kernel() || !tern__block_has(tile->data)) {
        return;
    }
    struct tiles *tiles = tiles_made();
    uint32_t site = tern__watch_site();
    const char *begin = tile->data;
    const char *end =
        begin + (size_t)tile->rows * (size_t)tile->columns * tern_dtype_size(tile->dtype);
    if (writes && tern__watch_frees(begin, end)) {
        tern__watch_report(site,
                           "%s writes a tile that a store may still read, and no pipe_barrier or "
                           "flag of MTE3 is between them",
                           what);
    }
    if (tiles != NULL && writes) {
        note_write(tiles, begin, end, site);
    } else if (tiles != NULL) {
        check_read(tiles, what, begin, end, site);
    }
}

void tern__watch_staging(const char *what, const tern_tile *one, const tern_tile *other)
{
    if (!tern__watch_in_kernel() || one == NULL || other == NULL) {
        return;
    }
    const char *begin[2] = {one->data, other->data};
    size_t bytes = (size_t)one->rows * (size_t)one->columns * tern_dtype_size(one->dtype);
    if (begin[0] < begin[1] + bytes && begin[1] < begin[0] + bytes) {
        tern__watch_report(tern__watch_site(),
                           "%s has tiles that overlap: %zu bytes each, and %zd from one to the "
                           "other",
                           what, bytes, begin[1] - begin[0]);
    }
}
