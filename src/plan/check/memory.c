// SPDX-License-Identifier: Apache-2.0
// Memory, as stretches. Each knows what it holds and who touched it since it was last written; an
// access splits stretches at its ends, so that all bytes of a stretch have one history. Checking a
// new access against the last write and the reads since then is enough: if those were ordered among
// themselves, so is everything before (FastTrack).

#include <stdio.h>
#include <string.h>

#include "plan/check/check.h"
#include "plan/check/memory.h"

enum access_kind { ACCESS_READ, ACCESS_WRITE, ACCESS_ATOMIC };

static const char *const verbs[] = {"reads", "writes", "adds to"};

// An access to a stretch.
struct access {
    struct checking *checking;
    int rank;
    tern_plan_buffer buffer;
    struct place now; // the op
    enum access_kind kind;
    uint64_t begin, end;     // of the stretch
    enum access_kind before; // what the others did that are looked at
};

static void report_race(const struct access *access, struct place before)
{
    struct checking *checking = access->checking;
    struct place *reported = checking->memory->reported;
    if (memcmp(&reported[0], &before, sizeof before) == 0 &&
        memcmp(&reported[1], &access->now, sizeof access->now) == 0) {
        return;
    }
    reported[0] = before;
    reported[1] = access->now;
    char first[96];
    char second[96];
    tern__place_text(checking, before, first, sizeof first);
    tern__place_text(checking, access->now, second, sizeof second);
    char text[300];
    snprintf(text, sizeof text,
             "%s %s and %s %s bytes %llu..%llu of %s of rank %d, and nothing orders them", first,
             verbs[access->before], second, verbs[access->kind], (unsigned long long)access->begin,
             (unsigned long long)access->end, tern__buffer_name(access->buffer), access->rank);
    tern__race_add(checking, before, access->now, checking->lanes.rank[access->now.lane], text);
}

static void look_at_access(void *arg, uint32_t lane, uint32_t done)
{
    const struct access *access = arg;
    if (lane != access->now.lane) {
        report_race(access, (struct place){.lane = lane, .index = done - 1});
    }
}

static void check_before(struct access *access, const struct clock *places, enum access_kind before)
{
    access->before = before;
    tern__clock_beyond(places, access->checking->clocks[access->now.lane], look_at_access, access);
}

// Whether a write that was done before an access is there by then. What one rank writes to another
// arrives in its order.
static bool is_there(const struct access *access, struct place write)
{
    const struct checking *checking = access->checking;
    int writer = checking->lanes.rank[write.lane];
    bool own = writer == checking->lanes.rank[access->now.lane] && access->kind != ACCESS_READ;
    return own || !tern__is_remote(checking, writer, access->rank) ||
           tern__network_arrived(checking, write, access->rank, checking->clocks[access->now.lane]);
}

// Checks an access against those before it, and remembers it.
static bool touch(struct access *access, struct stretch *stretch, struct clock *own)
{
    struct clock_pool *pool = &access->checking->pool;
    if (tern__is_place(stretch->write) &&
        !tern__must_precede(access->checking, stretch->write, access->now.lane)) {
        access->before = ACCESS_WRITE;
        report_race(access, stretch->write);
    } else if (tern__is_place(stretch->write) && !is_there(access, stretch->write)) {
        char what[96];
        snprintf(what, sizeof what, "%s bytes %llu..%llu of %s of rank %d", verbs[access->kind],
                 (unsigned long long)access->begin, (unsigned long long)access->end,
                 tern__buffer_name(access->buffer), access->rank);
        tern__network_late(access->checking, stretch->write, access->now, access->rank, what);
    }
    if (access->kind != ACCESS_READ) {
        check_before(access, stretch->reads, ACCESS_READ);
    }
    if (access->kind != ACCESS_ATOMIC) {
        check_before(access, stretch->atomics, ACCESS_ATOMIC);
    }
    if (access->kind != ACCESS_WRITE) {
        return tern__clock_join(pool,
                                access->kind == ACCESS_READ ? &stretch->reads : &stretch->atomics,
                                own);
    }
    stretch->write = access->now;
    tern__clock_drop(pool, stretch->reads);
    tern__clock_drop(pool, stretch->atomics);
    stretch->reads = stretch->atomics = NULL;
    return true;
}

// An op's access to one operand. `own` is the clock of that op alone.
static bool touch_operand(struct access *access, const tern_plan_range *range, uint64_t length,
                          struct clock *own)
{
    access->rank = range->rank;
    access->buffer = (tern_plan_buffer)range->buffer;
    uint64_t end = range->offset + length;
    struct stretches *buffer = tern__memory_buffer(access->checking, range->rank, range->buffer);
    if (!tern__memory_isolate(access->checking, buffer, range->offset, end)) {
        return false;
    }
    struct cursor at = tern__stretches_find(buffer, range->offset);
    do {
        struct stretch *stretch = tern__stretch_at(buffer, at);
        access->begin = stretch->begin;
        access->end = tern__stretch_end(buffer, at);
        if (!touch(access, stretch, own)) {
            return false;
        }
    } while (access->end < end && tern__stretches_next(buffer, &at));
    return true;
}

// The content at an operand's position, with its delta counted from the op's begin, and how far it
// goes, counted likewise.
static void look_up(const struct checking *checking, const tern_plan_range *range, uint64_t from,
                    uint64_t length, int i)
{
    const struct stretches *buffer = tern__memory_buffer(checking, range->rank, range->buffer);
    struct cursor at = tern__stretches_find(buffer, range->offset + from);
    struct content content = tern__stretch_at(buffer, at)->content;
    uint64_t end;
    bool same;
    do {
        end = tern__stretch_end(buffer, at);
        same = end < range->offset + length && tern__stretches_next(buffer, &at);
        if (same) {
            struct content next = tern__stretch_at(buffer, at)->content;
            same = next.node == content.node && next.delta == content.delta &&
                   next.wrong_by.lane == content.wrong_by.lane &&
                   next.wrong_by.index == content.wrong_by.index;
        }
    } while (same);
    content.delta += (int64_t)range->offset;
    checking->memory->terms[i] = content;
    checking->memory->ends[i] = end - range->offset;
}

// Remembers the op that puts a content where it is wrong, unless it was wrong before. Only what is
// in `out` can be wrong, and what nobody has written.
static void blame(const struct checking *checking, const tern_plan_range *range, uint64_t begin,
                  struct place place, struct content *content)
{
    const struct node_facts *facts = tern__value_facts(checking, content->node);
    bool right = !facts->undefined;
    if (range->buffer == TERN_PLAN_OUT && right) {
        struct wanted wanted = tern__result_wanted(checking->plan, range->rank, begin);
        right = content->delta == wanted.delta &&
                (wanted.source < 0 || (!facts->sum && facts->rank == wanted.source));
        content->wrong_by = right ? TERN__NO_PLACE : content->wrong_by;
    }
    if (!right && !tern__is_place(content->wrong_by)) {
        content->wrong_by = place;
    }
}

// Writes a content (delta counted from the op's begin) to [from, to) of a destination. After a
// plain write all of it has one history; atomic reduces leave the histories as they are.
static bool store(struct checking *checking, const tern_plan_range *range, uint64_t from,
                  uint64_t to, struct content content, const struct addition *addition)
{
    struct stretches *buffer = tern__memory_buffer(checking, range->rank, range->buffer);
    uint64_t begin = range->offset + from;
    uint64_t end = range->offset + to;
    if (!tern__memory_isolate(checking, buffer, begin, end)) {
        return false;
    }
    if (!addition->atomic) {
        tern__stretches_merge(buffer, &checking->pool, begin, end);
    }
    content.delta -= (int64_t)range->offset;
    blame(checking, range, begin, addition->maker, &content);
    struct cursor at = tern__stretches_find(buffer, begin);
    do {
        tern__stretch_at(buffer, at)->content = content;
    } while (tern__stretch_end(buffer, at) < end && tern__stretches_next(buffer, &at));
    return true;
}

// Computes what the destinations hold afterwards, piece by piece: within a piece each source holds
// one content, and each destination too where it counts, in an atomic reduce.
static bool compute(struct checking *checking, struct place place, const struct tern__op *op)
{
    const tern_plan_range *operands = tern__op_operands(checking->plan, op);
    int sources = op->sources_count;
    int count = sources + op->destinations_count;
    bool atomic = (op->flags & TERN_PLAN_ATOMIC) != 0;
    struct content *terms = checking->memory->terms;
    uint64_t *ends = checking->memory->ends;
    memset(ends, 0, (size_t)count * sizeof *ends);
    for (uint64_t from = 0, to; from < op->length; from = to) {
        to = op->length;
        for (int i = 0; i < (atomic ? count : sources); i++) {
            if (ends[i] <= from) {
                look_up(checking, &operands[i], from, op->length, i);
            }
            to = ends[i] < to ? ends[i] : to;
        }
        struct addition addition = {.terms = terms,
                                    .count = (size_t)sources + atomic,
                                    .maker = place,
                                    .from = from,
                                    .atomic = atomic};
        struct content sum;
        if (!atomic && !tern__value_sum(checking, &addition, &sum)) {
            return false;
        }
        for (int d = sources; d < count; d++) {
            if (atomic) {
                struct content first = terms[sources];
                terms[sources] = terms[d];
                bool good = tern__value_sum(checking, &addition, &sum);
                terms[sources] = first;
                if (!good) {
                    return false;
                }
            }
            if (!store(checking, &operands[d], from, to, sum, &addition)) {
                return false;
            }
        }
    }
    return true;
}

bool tern__memory_execute(struct checking *checking, struct place place, const struct tern__op *op)
{
    const tern_plan_range *operands = tern__op_operands(checking->plan, op);
    struct clock *own = NULL;
    if (op->length == 0) {
        return true;
    }
    bool good = tern__clock_raise(&checking->pool, &own, place.lane, place.index + 1);
    for (int i = 0; good && i < op->sources_count + op->destinations_count; i++) {
        struct access access = {.checking = checking, .now = place};
        access.kind = i < op->sources_count                 ? ACCESS_READ
                      : (op->flags & TERN_PLAN_ATOMIC) != 0 ? ACCESS_ATOMIC
                                                            : ACCESS_WRITE;
        good = touch_operand(&access, &operands[i], op->length, own);
    }
    tern__clock_drop(&checking->pool, own);
    return good && compute(checking, place, op);
}
