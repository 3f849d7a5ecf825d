// SPDX-License-Identifier: Apache-2.0
// What checking mode keeps of the tiles of a block: which of them last wrote which bytes on the
// chip. All of the thread alone.

#include "isa/block.h"
#include "isa/check.h"

enum { TILES = 64 };

struct write {
    const char *begin, *end;
    const void *object; // the tile that was written; NULL: nobody's
    uint32_t site;
    bool single; // elements one by one, at least the first and the last of these
    bool read;   // something has read it, or need not
    bool lost;   // before that, another tile was written at the same place:
    uint32_t by; // there
};

struct tiles {
    struct write writes[TILES]; // the newest at writes[(count - 1) % TILES]
    unsigned count;
};

// NULL: there is no memory, and then nothing is found.
static struct tiles *tiles_made(void)
{
    return tern__watch_memory(TERN__WATCH_TILES, sizeof(struct tiles));
}

// The write before which there were `back` - 1 newer ones; NULL: it is not remembered.
static struct write *write_at(struct tiles *tiles, unsigned back)
{
    unsigned kept = tiles->count < TILES ? tiles->count : TILES;
    return back <= kept ? &tiles->writes[(tiles->count - back) % TILES] : NULL;
}

static bool meet(const struct write *one, const struct write *other)
{
    return one->begin < other->end && other->begin < one->end;
}

// Whether `one` begins where `other` does and covers it.
static bool takes_place(const struct write *one, const struct write *other)
{
    return one->begin == other->begin && one->end >= other->end;
}

// What nobody has read is lost where another tile takes its place. A tile that is written anew, or
// for nobody (TEXPANDS), loses nothing.
static void note_write(struct tiles *tiles, const struct write *write)
{
    struct write *before;
    for (unsigned back = 1; (before = write_at(tiles, back)) != NULL; back++) {
        if (before->read || before->object == NULL || !takes_place(write, before)) {
            continue;
        }
        if (write->object == NULL || write->object == before->object) {
            before->read = true;
        } else if (!before->lost) {
            before->lost = true;
            before->by = write->site;
        }
    }
    tiles->writes[tiles->count++ % TILES] = *write;
}

// A tile that reads what another one has written at its place is a view of that, unless it had
// values of its own there that nobody has read.
static void check_lost(struct tiles *tiles, const char *what, const struct write *read)
{
    struct write *write;
    bool reported = read->object == NULL;
    for (unsigned back = 1; (write = write_at(tiles, back)) != NULL; back++) {
        if (write->read || !meet(write, read)) {
            continue;
        }
        if (!write->lost) {
            write->read = true;
        } else if (write->object == read->object && !reported) {
            tern__watch_report(read->site,
                               "%s reads a tile after another tile at the same place was written, "
                               "at %s: what was written to it at %s is lost, and nothing has read "
                               "it",
                               what, tern__watch_site_text(write->by),
                               tern__watch_site_text(write->site));
            write->read = true;
            reported = true;
        }
    }
}

// The bytes were written as a whole, or as a part of one another: a view. What lies across another
// one's end has been overwritten in part.
static void check_parts(struct tiles *tiles, const char *what, const struct write *read)
{
    const struct write *write;
    for (unsigned back = 1; (write = write_at(tiles, back)) != NULL; back++) {
        if (!meet(write, read) ||
            (write->single && (write->begin > read->begin || write->end < read->end))) {
            continue;
        }
        if ((write->begin <= read->begin && write->end >= read->end) ||
            (write->begin >= read->begin && write->end <= read->end)) {
            return;
        }
        tern__watch_report(read->site,
                           "%s reads a tile of which %zd bytes were overwritten by another tile "
                           "that lies across its end, at %s",
                           what,
                           (write->end < read->end ? write->end : read->end) -
                               (write->begin > read->begin ? write->begin : read->begin),
                           tern__watch_site_text(write->site));
        return;
    }
}

// The elements from the first to behind the last one that is used.
static size_t span_of(const tern_tile *tile)
{
    int64_t row;
    int64_t element;
    tern__tile_strides(tile, &row, &element);
    return (size_t)((tile->valid_rows - 1) * row + (tile->valid_columns - 1) * element + 1);
}

// Whether the newest write is of the same tile, and so takes in this one of a single element.
static bool takes_in(struct tiles *tiles, const struct write *element)
{
    struct write *newest = write_at(tiles, 1);
    if (newest == NULL || newest->object != element->object || newest->lost) {
        return false;
    }
    if (newest->single) {
        newest->begin = newest->begin < element->begin ? newest->begin : element->begin;
        newest->end = newest->end > element->end ? newest->end : element->end;
        newest->read = false;
    }
    return newest->begin <= element->begin && newest->end >= element->end;
}

static void watch(const char *what, const struct write *use, bool writes)
{
    struct tiles *tiles = tiles_made();
    if (writes && tern__watch_frees(use->begin, use->end)) {
        tern__watch_report(use->site,
                           "%s writes a tile that a store may still read, and no pipe_barrier or "
                           "flag of MTE3 is between them",
                           what);
    }
    if (tiles != NULL && writes) {
        if (!use->single || !takes_in(tiles, use)) {
            note_write(tiles, use);
        }
    } else if (tiles != NULL) {
        check_parts(tiles, what, use);
        check_lost(tiles, what, use);
    }
}

void tern__watch_tile(const char *what, const tern_tile *tile, bool writes)
{
    if (!tern__watch_in_kernel() || !tern__block_has(tile->data)) {
        return;
    }
    struct write use = {.begin = tile->data, .object = tile->object, .site = tern__watch_site()};
    use.end = use.begin + span_of(tile) * tern_dtype_size(tile->dtype);
    watch(what, &use, writes);
}

void tern__watch_element(const char *what, const tern_tile *tile, int64_t index, bool writes)
{
    if (!tern__watch_in_kernel() || !tern__block_has(tile->data)) {
        return;
    }
    size_t size = tern_dtype_size(tile->dtype);
    struct write use = {.begin = (const char *)tile->data + index * (int64_t)size,
                        .object = tile->object,
                        .site = tern__watch_site(),
                        .single = true};
    use.end = use.begin + size;
    watch(what, &use, writes);
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
