// SPDX-License-Identifier: Apache-2.0
// Memory, as stretches. Each knows what it holds and who touched it since it was last written; an
// access splits stretches at its ends, so that all bytes of a stretch have one history. Checking a
// new access against the last write and the reads since then is enough: if those were ordered among
// themselves, so is everything before (FastTrack).

#include <stdlib.h>
#include <string.h>

#include "plan/check/check.h"

struct places {
    struct place *items;
    uint32_t count, room;
};

struct stretch {
    uint64_t begin; // its end is the next one's begin
    struct content content;
    struct place write;    // the last one; lane UINT32_MAX: none
    struct places reads;   // since then, the last per lane
    struct places atomics; // since then, the last per lane
};

struct buffer {
    uint64_t size;
    struct stretch *stretches; // sorted; the first begins at 0
    size_t count, room;
};

struct memory {
    struct buffer *buffers;   // BUFFERS per rank
    struct content *terms;    // of an op
    struct place reported[2]; // the last race, so that it is not said once per stretch
};

// Beside the buffers of the plan: what is in both `in` and `out`, in place.
enum { SHARED = TERN_PLAN_SCRATCH + 1, BUFFERS };

enum access_kind { ACCESS_READ, ACCESS_WRITE, ACCESS_ATOMIC };

static const struct place no_place = {.lane = UINT32_MAX};

static struct buffer *buffer_at(const struct checking *checking, int rank, int buffer)
{
    return &checking->memory->buffers[rank * BUFFERS + buffer];
}

static uint64_t size_of(const struct checking *checking, int rank, int buffer)
{
    const tern_plan *plan = checking->plan;
    if (buffer == SHARED) {
        return checking->check->in_place ? tern__shared_bytes(plan, rank) : 0;
    }
    return tern__plan_has_buffer(plan, rank, (tern_plan_buffer)buffer)
               ? tern_plan_buffer_bytes(plan, (tern_plan_buffer)buffer)
               : 0;
}

bool tern__memory_create(struct checking *checking)
{
    const tern_plan *plan = checking->plan;
    struct memory *memory = calloc(1, sizeof *memory);
    checking->memory = memory;
    if (memory == NULL) {
        return false;
    }
    memory->reported[0] = memory->reported[1] = no_place;
    memory->buffers = calloc((size_t)plan->spec.nranks * BUFFERS, sizeof *memory->buffers);
    memory->terms = calloc(TERN_PLAN_OPERANDS_MAX + 1, sizeof *memory->terms);
    if (memory->buffers == NULL || memory->terms == NULL) {
        return false;
    }
    for (int rank = 0; rank < plan->spec.nranks; rank++) {
        for (int b = 0; b < BUFFERS; b++) {
            struct buffer *buffer = buffer_at(checking, rank, b);
            buffer->size = size_of(checking, rank, b);
            buffer->stretches = calloc(1, sizeof *buffer->stretches);
            if (buffer->stretches == NULL) {
                return false;
            }
            buffer->count = buffer->room = 1;
            buffer->stretches[0].write = no_place;
            buffer->stretches[0].content.node =
                b == TERN_PLAN_IN ? tern__value_input(checking, rank) : TERN__NODE_UNDEFINED;
        }
    }
    return true;
}

void tern__memory_destroy(struct checking *checking)
{
    struct memory *memory = checking->memory;
    if (memory == NULL) {
        return;
    }
    for (int i = 0; memory->buffers != NULL && i < checking->plan->spec.nranks * BUFFERS; i++) {
        struct buffer *buffer = &memory->buffers[i];
        for (size_t s = 0; s < buffer->count; s++) {
            free(buffer->stretches[s].reads.items);
            free(buffer->stretches[s].atomics.items);
        }
        free(buffer->stretches);
    }
    free(memory->buffers);
    free(memory->terms);
    free(memory);
}

static bool copy_places(struct places *to, const struct places *from)
{
    *to = (struct places){0};
    if (from->count == 0) {
        return true;
    }
    to->items = malloc(from->count * sizeof *to->items);
    if (to->items == NULL) {
        return false;
    }
    memcpy(to->items, from->items, from->count * sizeof *to->items);
    to->count = to->room = from->count;
    return true;
}

// Remembers the access of a lane in place of its earlier one.
static bool add_place(struct places *places, struct place place)
{
    for (uint32_t i = 0; i < places->count; i++) {
        if (places->items[i].lane == place.lane) {
            places->items[i] = place;
            return true;
        }
    }
    if (places->count == places->room) {
        uint32_t room = places->room == 0 ? 2 : 2 * places->room;
        struct place *grown = realloc(places->items, room * sizeof *grown);
        if (grown == NULL) {
            return false;
        }
        places->items = grown;
        places->room = room;
    }
    places->items[places->count++] = place;
    return true;
}

// The index of the stretch that holds a position.
static size_t find_stretch(const struct buffer *buffer, uint64_t position)
{
    size_t low = 0;
    size_t high = buffer->count;
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (buffer->stretches[middle].begin <= position) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return low;
}

// Makes a stretch begin at a position; returns its index through `at`.
static bool split_at(struct buffer *buffer, uint64_t position, size_t *at)
{
    if (position >= buffer->size) {
        *at = buffer->count;
        return true;
    }
    size_t found = find_stretch(buffer, position);
    if (buffer->stretches[found].begin == position) {
        *at = found;
        return true;
    }
    if (buffer->count == buffer->room) {
        struct stretch *grown =
            realloc(buffer->stretches, 2 * buffer->room * sizeof *buffer->stretches);
        if (grown == NULL) {
            return false;
        }
        buffer->stretches = grown;
        buffer->room *= 2;
    }
    struct stretch made = buffer->stretches[found];
    made.begin = position;
    bool copied = copy_places(&made.reads, &buffer->stretches[found].reads);
    if (!copied || !copy_places(&made.atomics, &buffer->stretches[found].atomics)) {
        free(made.reads.items);
        return false;
    }
    memmove(&buffer->stretches[found + 2], &buffer->stretches[found + 1],
            (buffer->count - found - 1) * sizeof *buffer->stretches);
    buffer->stretches[found + 1] = made;
    buffer->count++;
    *at = found + 1;
    return true;
}

static uint64_t end_of(const struct buffer *buffer, size_t at)
{
    return at + 1 < buffer->count ? buffer->stretches[at + 1].begin : buffer->size;
}

static void report_race(struct checking *checking, const tern_plan_range *range, uint64_t begin,
                        uint64_t end, struct place before, const char *before_does,
                        struct place now, const char *now_does)
{
    struct place *reported = checking->memory->reported;
    if (memcmp(&reported[0], &before, sizeof before) == 0 &&
        memcmp(&reported[1], &now, sizeof now) == 0) {
        return;
    }
    reported[0] = before;
    reported[1] = now;
    char first[96];
    char second[96];
    tern__place_text(checking, before, first, sizeof first);
    tern__place_text(checking, now, second, sizeof second);
    tern__check_add(checking->check, TERN_CHECK_RACE,
                    "%s %s and %s %s bytes %llu..%llu of %s of "
                    "rank %u, and nothing orders them",
                    first, before_does, second, now_does, (unsigned long long)begin,
                    (unsigned long long)end, tern__buffer_name((tern_plan_buffer)range->buffer),
                    range->rank);
}

static void check_places(struct checking *checking, const tern_plan_range *range,
                         const struct stretch *stretch, uint64_t end, const struct places *places,
                         const char *does, struct place now, const char *now_does)
{
    for (uint32_t i = 0; i < places->count; i++) {
        if (!tern__must_precede(checking, places->items[i], now.lane)) {
            report_race(checking, range, stretch->begin, end, places->items[i], does, now,
                        now_does);
        }
    }
}

// Checks and remembers an access to the stretches first..last-1.
static bool touch(struct checking *checking, const tern_plan_range *range, size_t first,
                  size_t last, struct place now, enum access_kind kind)
{
    static const char *const verbs[] = {"reads", "writes", "adds to"};
    struct buffer *buffer = buffer_at(checking, range->rank, range->buffer);
    for (size_t at = first; at < last; at++) {
        struct stretch *stretch = &buffer->stretches[at];
        uint64_t end = end_of(buffer, at);
        const char *verb = verbs[kind];
        if (stretch->write.lane != UINT32_MAX &&
            !tern__must_precede(checking, stretch->write, now.lane)) {
            report_race(checking, range, stretch->begin, end, stretch->write, verbs[ACCESS_WRITE],
                        now, verb);
        }
        if (kind != ACCESS_READ) {
            check_places(checking, range, stretch, end, &stretch->reads, verbs[ACCESS_READ], now,
                         verb);
        }
        if (kind != ACCESS_ATOMIC) {
            check_places(checking, range, stretch, end, &stretch->atomics, verbs[ACCESS_ATOMIC],
                         now, verb);
        }
        if (kind == ACCESS_WRITE) {
            stretch->write = now;
            stretch->reads.count = 0;
            stretch->atomics.count = 0;
        } else if (!add_place(kind == ACCESS_READ ? &stretch->reads : &stretch->atomics, now)) {
            return false;
        }
    }
    return true;
}

// Makes stretches begin and end at the ends of a range.
static bool isolate_part(struct buffer *buffer, uint64_t begin, uint64_t end, size_t *first,
                         size_t *last)
{
    size_t ignored;
    // The begin twice: once to split, and once to find it, since nothing before it moves any more.
    return split_at(buffer, begin, &ignored) && split_at(buffer, end, last) &&
           split_at(buffer, begin, first);
}

static bool isolate(struct checking *checking, const tern_plan_range *range, uint64_t length,
                    size_t *first, size_t *last)
{
    return isolate_part(buffer_at(checking, range->rank, range->buffer), range->offset,
                        range->offset + length, first, last);
}

// Where the next boundary of any source or destination lies, counted from the op's begin. Within it
// every operand is one stretch.
static uint64_t next_boundary(const struct checking *checking, const tern_plan_range *operands,
                              int count, uint64_t from, uint64_t length)
{
    uint64_t next = length;
    for (int i = 0; i < count; i++) {
        const struct buffer *buffer = buffer_at(checking, operands[i].rank, operands[i].buffer);
        size_t at = find_stretch(buffer, operands[i].offset + from);
        uint64_t end = end_of(buffer, at) - operands[i].offset;
        next = end < next ? end : next;
    }
    return next;
}

// The content of the stretch at an operand's position, with its delta counted from the op's begin.
static struct content content_at(const struct checking *checking, const tern_plan_range *range,
                                 uint64_t from)
{
    const struct buffer *buffer = buffer_at(checking, range->rank, range->buffer);
    struct content content = buffer->stretches[find_stretch(buffer, range->offset + from)].content;
    content.delta += (int64_t)range->offset;
    return content;
}

// Writes a content (delta counted from the op's begin) to [from, to) of a destination.
static bool store(struct checking *checking, const tern_plan_range *range, uint64_t from,
                  uint64_t to, struct content content)
{
    struct buffer *buffer = buffer_at(checking, range->rank, range->buffer);
    tern_plan_range part = *range;
    size_t first;
    size_t last;
    part.offset += from;
    if (!isolate(checking, &part, to - from, &first, &last)) {
        return false;
    }
    content.delta -= (int64_t)range->offset;
    for (size_t at = first; at < last; at++) {
        buffer->stretches[at].content = content;
    }
    return true;
}

// Computes what the destinations hold afterwards, piece by piece.
static bool compute(struct checking *checking, struct place place, const struct tern__op *op)
{
    const tern_plan_range *operands = tern__op_operands(checking->plan, op);
    int sources = op->sources_count;
    int count = sources + op->destinations_count;
    bool atomic = (op->flags & TERN_PLAN_ATOMIC) != 0;
    struct content *terms = checking->memory->terms;
    for (uint64_t from = 0; from < op->length;) {
        uint64_t to = next_boundary(checking, operands, count, from, op->length);
        for (int i = 0; i < sources; i++) {
            terms[i] = content_at(checking, &operands[i], from);
        }
        struct content sum;
        if (!atomic && !tern__value_sum(checking, terms, (size_t)sources, place, false, &sum)) {
            return false;
        }
        for (int d = sources; d < count; d++) {
            if (atomic) {
                terms[sources] = content_at(checking, &operands[d], from);
                if (!tern__value_sum(checking, terms, (size_t)sources + 1, place, true, &sum)) {
                    return false;
                }
            }
            if (!store(checking, &operands[d], from, to, sum)) {
                return false;
            }
        }
        from = to;
    }
    return true;
}

bool tern__memory_execute(struct checking *checking, struct place place, const struct tern__op *op)
{
    const tern_plan_range *operands = tern__op_operands(checking->plan, op);
    if (op->length == 0) {
        return true;
    }
    for (int i = 0; i < op->sources_count + op->destinations_count; i++) {
        size_t first;
        size_t last;
        enum access_kind kind = i < op->sources_count                 ? ACCESS_READ
                                : (op->flags & TERN_PLAN_ATOMIC) != 0 ? ACCESS_ATOMIC
                                                                      : ACCESS_WRITE;
        if (!isolate(checking, &operands[i], op->length, &first, &last) ||
            !touch(checking, &operands[i], first, last, place, kind)) {
            return false;
        }
    }
    return compute(checking, place, op);
}

bool tern__memory_share(struct checking *checking, int rank, uint64_t begin, uint64_t end,
                        struct place now, bool overwrites)
{
    struct buffer *buffer = buffer_at(checking, rank, SHARED);
    size_t first;
    size_t last;
    if (!isolate_part(buffer, begin, end, &first, &last)) {
        return false;
    }
    for (size_t at = first; at < last; at++) {
        struct stretch *stretch = &buffer->stretches[at];
        uint64_t stretch_end = end_of(buffer, at);
        if (!overwrites && stretch->write.lane != UINT32_MAX) {
            tern__in_place_report(checking, rank, stretch->begin, stretch_end, now, stretch->write,
                                  tern__must_precede(checking, stretch->write, now.lane));
        } else if (!overwrites && !add_place(&stretch->reads, now)) {
            return false;
        }
        for (uint32_t i = 0; overwrites && i < stretch->reads.count; i++) {
            if (!tern__must_precede(checking, stretch->reads.items[i], now.lane)) {
                tern__in_place_report(checking, rank, stretch->begin, stretch_end,
                                      stretch->reads.items[i], now, false);
            }
        }
        if (overwrites) { // what comes later is ordered after this write, or is a race
            stretch->write = now;
            stretch->reads.count = 0;
        }
    }
    return true;
}

void tern__memory_visit(const struct checking *checking, int rank, tern_plan_buffer buffer,
                        tern__content_visitor visit, void *arg)
{
    const struct buffer *row = buffer_at(checking, rank, (int)buffer);
    for (size_t at = 0; at < row->count && row->size > 0; at++) {
        visit(arg, row->stretches[at].begin, end_of(row, at), row->stretches[at].content);
    }
}
