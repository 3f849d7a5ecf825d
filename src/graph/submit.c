// SPDX-License-Identifier: Apache-2.0
// The third builder: a submission becomes a task in the ring of its scope. In this order: which
// tasks come before; is there room; the task's copies; the row; the edges; the map. Most
// submissions are alike, and read in one go over their arguments here; what is unusual about one is
// for reading.c, from the beginning. Data path: no lock or system call; memory only for the list of
// a task's edges, when that grows.

#include <string.h>

#include "base/public.h"
#include "graph/join.h"
#include "graph/orchestrate.h"
#include "graph/reading.h"

#define INLINE static inline __attribute__((always_inline))

// How far ahead lines of copies and rows are asked for: for later tasks, since to submit one takes
// less time than a line that is in no near cache.
enum { COPIES_AHEAD = 16, ROWS_AHEAD = 4 };

// What a task is going to be, and what of its regions the map is to know; regions by bits.
struct laid {
    const tern_submission *given;
    struct tern__ring *ring;
    tern_task_id id, *told; // where the program wants to have the id, or NULL
    int64_t *args;          // the copies
    tern_region *copies;
    const char *name;
    size_t name_bytes;
    struct tern__room need;
    uint32_t of_owner, looked, outputs; // as of a struct tern__reading
};

// --- reading what is usual --------------------------------------------------------------------

// A region that is neither TERN_OUT nor its owner's alone. Writes at `ids` what comes before, and
// returns where those end; NULL: it is unusual.
static tern_task_id *read_region(struct tern__rings *rings, const tern_task_arg *arg,
                                 struct tern__map_place *place, tern_task_id *ids)
{
    const tern_task_id owner = arg->region->owner;
    tern_task_id found;
    if ((unsigned)arg->access > TERN_NO_DEP ||
        (owner != TERN_REGION_NO_OWNER && tern__rings_open_row(rings, owner) == NULL) ||
        !tern__map_peek(rings->map, arg->region, arg->access, place, &found)) {
        return NULL;
    }
    if (found != TERN_TASK_ID_NONE) {
        *ids++ = found;
    }
    if (owner != TERN_REGION_NO_OWNER && !place->joined) {
        *ids++ = owner;
    }
    return ids;
}

// The arguments: checks, finds, and copies all but outputs, which the program has likely just
// written. False: one is unusual.
INLINE bool read_args(struct tern__rings *rings, struct laid *laid, struct tern__finds *found)
{
    const bool of_owners = !tern__map_head(rings->map)->files_all;
    const struct tern__open_ids open = tern__rings_open_ids(rings, (int)(laid->id >> 32));
    const tern_task_arg *arg = laid->given->args, *end = arg + laid->given->args_count;
    tern_task_id *ids = rings->ids.ids;
    tern_region *copy = laid->copies;
    int64_t *value = laid->args;
    uint32_t bit = 1, of_owner = 0, looked = 0, outputs = 0;
    uint64_t heap = 0;
    // Few are in the nearest cache. A hint: a scalar has none.
    for (const tern_task_arg *later = arg + 1; later < end; later++) {
        __builtin_prefetch(later->region);
        __builtin_prefetch((const char *)later->region + TERN_CACHE_LINE);
    }
    for (; arg < end; arg++, value++) {
        if (arg->access == TERN_SCALAR) {
            *value = (int64_t)arg->scalar;
            continue;
        }
        const tern_region *region = arg->region;
        if (__builtin_expect(region == NULL || !tern__region_is_usual(region), 0)) {
            return false;
        }
        *value = (int64_t)(intptr_t)copy;
        if (arg->access == TERN_OUT) {
            heap += tern__output_bytes(region);
            outputs |= bit;
            found->of[copy - laid->copies] = arg;
        } else if (__builtin_expect(region->address == 0, 0)) {
            return false;
        } else if (of_owners && tern__reading_of_owner(arg)) {
            struct tern__task *row = tern__is_open(open, region->owner)
                                         ? tern__ring_row(laid->ring, region->owner)
                                         : tern__rings_open_row(rings, region->owner);
            if (__builtin_expect(row == NULL, 0)) {
                return false;
            }
            tern__own_line(&row->after);
            of_owner |= bit;
            *ids++ = region->owner;
            *copy = *region;
        } else {
            const size_t i = (size_t)(copy - laid->copies);
            ids = read_region(rings, arg, &found->places[i], ids);
            if (__builtin_expect(ids == NULL, 0)) {
                return false;
            }
            found->of[i] = arg;
            looked |= bit;
            *copy = *region;
        }
        tern__own_line(copy + COPIES_AHEAD);
        tern__own_line((const char *)(copy + COPIES_AHEAD) + TERN_CACHE_LINE);
        copy++;
        bit <<= 1;
    }
    laid->of_owner = of_owner;
    laid->looked = looked;
    laid->outputs = outputs;
    laid->need = (struct tern__room){.heap = heap,
                                     .args = (uint64_t)((char *)copy - (char *)laid->args),
                                     .edges = (uint32_t)(ids - rings->ids.ids),
                                     .entries = (uint32_t)(copy - laid->copies)};
    return tern__ring_fits(rings, (int)(laid->id >> 32), &laid->need);
}

// Takes nothing when it is false: then the submission is unusual in some way.
INLINE bool read_usual(const tern_graph *graph, struct tern__rings *rings, struct laid *laid,
                       struct tern__finds *found)
{
    const tern_submission *given = laid->given;
    const tern_task *task = &given->task;
    const struct tern_chip *chip = graph->chip;
    if (__builtin_expect(!tern__task_is_plain(chip, task) || chip->away != NULL ||
                             chip->history != NULL || task->kernel == tern__away_kernel ||
                             (given->after_count | given->waits_count) != 0 ||
                             (unsigned)given->args_count > TERN_SUBMIT_REGIONS_MAX ||
                             (given->args == NULL && given->args_count > 0) ||
                             rings->scopes[rings->depth].mode != TERN_SCOPE_AUTO ||
                             (rings->flags & TERN_RINGS_UPSTREAM) != 0,
                         0)) {
        return false;
    }
    if (rings->has_joins) {
        tern__joins_drop(rings, false);
    }
    laid->name = tern__task_name(task);
    laid->name_bytes = tern__task_name_bytes(laid->name);
    // Copied to where they are going to be, if there is room for all that they may be.
    const uint64_t head = tern__args_head(given->args_count, laid->name_bytes);
    if (__builtin_expect(!tern__bump_fits(&laid->ring->args,
                                          head + (uint64_t)given->args_count * sizeof(tern_region)),
                         0)) {
        return false;
    }
    laid->args = tern__bump_next(&laid->ring->args);
    laid->copies = (tern_region *)(void *)((char *)laid->args + head);
    return read_args(rings, laid, found);
}

// --- placing ----------------------------------------------------------------------------------

// Bits of an element, over all of a buffer.
static void fill(char *memory, uint64_t bytes, size_t size, uint64_t value)
{
    for (uint64_t at = 0; at + size <= bytes; at += size) {
        memcpy(memory + at, &value, size);
    }
}

// They get their memory: in the program's region and in its copy, also where the same region is
// named again behind it.
INLINE void place_outputs(const struct laid *laid, const tern_task_arg *const *of)
{
    const tern_submission *given = laid->given;
    const tern_task_arg *end = given->args + given->args_count;
    char *heap = tern__bump_take(&laid->ring->heap, laid->need.heap);
    for (uint32_t rest = laid->outputs; rest != 0; rest &= rest - 1) {
        const int i = __builtin_ctz(rest);
        const tern_task_arg *arg = of[i];
        tern_region *region = arg->region, *copy = &laid->copies[i];
        *copy = *region;
        copy->address = region->address = (uint64_t)(uintptr_t)heap;
        copy->owner = region->owner = laid->id;
        for (const tern_task_arg *later = arg + 1; later < end; later++) {
            if (later->region == region && later->access != TERN_SCALAR) {
                tern_region *again = (tern_region *)(intptr_t)laid->args[later - given->args];
                again->address = (uint64_t)(uintptr_t)heap;
                again->owner = laid->id;
            }
        }
        if (arg->filled) {
            fill(heap, region->buffer_bytes, tern_region_dtype_size(region->dtype), arg->fill);
        }
        heap += tern__output_bytes(region);
    }
}

static const char *place_name(const struct laid *laid)
{
    char *name = (char *)(laid->args + laid->given->args_count);
    memcpy(name, laid->name, laid->name_bytes - 1);
    name[laid->name_bytes - 1] = '\0';
    return name;
}

// The row, not published, of a task of which `of` says what is special.
INLINE struct tern__task *place_row(const struct laid *laid, const struct tern__task *of)
{
    struct tern__ring *ring = laid->ring;
    struct tern__task *row = tern__ring_row(ring, ring->next);
    row->kernel = of->kernel;
    row->args = laid->args;
    row->name = place_name(laid);
    row->more = of->more;
    row->blocks = of->blocks;
    row->args_count = (uint16_t)laid->given->args_count;
    row->core = of->core;
    row->special = of->special;
    row->ring = (uint8_t)(laid->id >> 32);
    row->number = ring->next;
    row->heap_end = ring->heap.head;
    row->args_end = ring->args.head;
    atomic_store_explicit(&row->after, NULL, memory_order_relaxed);
    tern__poke(&row->flags, 0);
    tern__poke(&row->users, 1); // itself
    tern__poke(&row->users_done, 0);
    row->by = 0;
    return row;
}

static int insert_regions(struct tern__rings *rings, const struct laid *laid,
                          struct tern__finds *found)
{
    if (laid->of_owner != 0) {
        tern__map_insert_readers(rings->map, laid->copies, laid->of_owner, laid->id);
    }
    for (uint32_t rest = laid->looked; rest != 0; rest &= rest - 1) {
        const int i = __builtin_ctz(rest);
        TERN_TRY(tern__map_insert(rings->map, &laid->copies[i], found->of[i]->access, rings->flags,
                                  laid->id, &found->places[i]));
    }
    return TERN_OK;
}

// All that the task needs is certain to be there.
INLINE int place(tern_graph *graph, const struct laid *laid, const struct tern__task *of,
                 struct tern__finds *found, struct tern__history *history)
{
    struct tern__rings *rings = graph->rings;
    struct tern__ring *ring = laid->ring;
    struct tern__open_scope *scope = &rings->scopes[rings->depth];
    place_outputs(laid, found->of);
    struct tern__task *row = place_row(laid, of);
    if (row->more != NULL) {
        row->more->hold.task = row;
    }
    if (history != NULL) {
        tern__history_add(history, row, laid->id);
    }
    const uint32_t met =
        tern__rings_link(rings, ring, row, rings->ids.ids, laid->need.edges, history);
    if (scope->tasks++ == 0) {
        scope->first = ring->next;
    }
    ring->next++;
    rings->tasks++;
    const int status =
        scope->mode == TERN_SCOPE_AUTO ? insert_regions(rings, laid, found) : TERN_OK;
    tern__orchestrate_publish(graph, row, met);
    if (laid->told != NULL) {
        *laid->told = laid->id;
    }
    return tern__submit_refuse(graph, TERN__CODE_TENSORMAP_OVERFLOW, status);
}

// --- submitting -------------------------------------------------------------------------------

static __attribute__((noinline)) int submit_any(tern_graph *graph, const tern_submission *given,
                                                tern_task_id *id)
{
    struct tern__rings *rings = graph->rings;
    struct tern__reading reading; // not zeroed: that costs more than the rest of it
    reading.rings = rings;
    reading.given = given;
    TERN_TRY(tern__reading_any(graph, &reading));
    const int which = tern__ring_of_depth(rings->depth);
    struct tern__ring *ring = &rings->ring[which];
    const struct laid laid = {.given = given,
                              .ring = ring,
                              .id = (uint64_t)which << 32 | ring->next, // after any join
                              .told = id,
                              .args = reading.args,
                              .copies = reading.copies,
                              .name = reading.task.name,
                              .name_bytes = reading.name_bytes,
                              .need = reading.need,
                              .of_owner = reading.of_owner,
                              .looked = reading.looked,
                              .outputs = reading.outputs};
    return place(graph, &laid, &reading.task, &reading.found, graph->chip->history);
}

static int submit(tern_graph *graph, struct tern__rings *rings, const tern_submission *given,
                  tern_task_id *id)
{
    const int which = tern__ring_of_depth(rings->depth);
    struct tern__ring *ring = &rings->ring[which];
    struct laid laid = {.given = given, .ring = ring, .told = id};
    struct tern__finds found; // nor this
    const struct tern__task *later = tern__ring_row(ring, ring->next + ROWS_AHEAD);
    tern__own_line(later);
    tern__own_line(&later->after);
    laid.id = (uint64_t)which << 32 | ring->next;
    if (__builtin_expect(!read_usual(graph, rings, &laid, &found), 0)) {
        return submit_any(graph, given, id);
    }
    tern__bump_take(&ring->args, laid.need.args);
    const struct tern__task plain = {.kernel = given->task.kernel,
                                     .blocks = 1,
                                     .core = (uint8_t)given->task.core};
    return place(graph, &laid, &plain, &found, NULL);
}

static int graph_submit(tern_graph *graph, const tern_submission *submission, tern_task_id *id)
{
    if (__builtin_expect(!tern__submit_is_usual(graph), 0)) {
        struct tern__rings *rings;
        TERN_TRY(tern__submit_rings("tern_graph_submit", graph, &rings));
    }
    if (__builtin_expect(submission == NULL, 0)) {
        return tern__submit_refuse(graph, TERN__CODE_INVALID_ARGS,
                                   tern__fail(TERN_ERR_ARG,
                                              "tern_graph_submit: submission must not be NULL"));
    }
    return submit(graph, graph->rings, submission, id);
}

int tern_graph_submit(tern_graph *graph, const tern_submission *submission, tern_task_id *id)
{
    return TERN__CALL(graph_submit(graph, submission, id));
}
