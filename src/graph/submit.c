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

// A region that is neither TERN_OUT nor its owner's alone. Writes at `ids` what comes before, and
// returns where those end; NULL: it is unusual.
static tern_task_id *read_region(struct tern__reading *reading, const tern_task_arg *arg,
                                 uint32_t region, tern_task_id *ids)
{
    struct tern__rings *rings = reading->rings;
    const tern_task_id owner = arg->region->owner;
    tern_task_id found;
    if ((unsigned)arg->access > TERN_NO_DEP ||
        (owner != TERN_REGION_NO_OWNER && tern__rings_open_row(rings, owner) == NULL) ||
        !tern__map_peek(rings->map, arg->region, arg->access, &reading->places[region], &found)) {
        return NULL;
    }
    reading->of[region] = arg;
    if (found != TERN_TASK_ID_NONE) {
        *ids++ = found;
    }
    if (owner != TERN_REGION_NO_OWNER && !reading->places[region].joined) {
        *ids++ = owner;
    }
    return ids;
}

// The arguments: checks, finds and copies. False: one is unusual.
static bool read_args(struct tern__reading *reading)
{
    struct tern__rings *rings = reading->rings;
    const bool of_owners = !tern__map_head(rings->map)->files_all;
    const tern_task_arg *arg = reading->given->args, *end = arg + reading->given->args_count;
    tern_task_id *ids = rings->ids.ids;
    tern_region *copy = reading->copies;
    int64_t *value = reading->args;
    uint32_t bit = 1, of_owner = 0, looked = 0, outputs = 0;
    uint64_t heap = 0;
    for (; arg < end; arg++, value++) {
        if (arg->access == TERN_SCALAR) {
            *value = (int64_t)arg->scalar;
            continue;
        }
        const tern_region *region = arg->region;
        if (__builtin_expect(region == NULL || !tern__region_is_usual(region), 0)) {
            return false;
        }
        if (arg->access == TERN_OUT) {
            heap += tern__output_bytes(region);
            outputs |= bit;
            reading->of[copy - reading->copies] = arg;
        } else if (__builtin_expect(region->address == 0, 0)) {
            return false;
        } else if (of_owners && tern__reading_of_owner(arg)) {
            struct tern__task *row = tern__rings_open_row(rings, region->owner);
            if (__builtin_expect(row == NULL, 0)) {
                return false;
            }
            tern__own_line(&row->after);
            of_owner |= bit;
            *ids++ = region->owner;
        } else {
            ids = read_region(reading, arg, (uint32_t)(copy - reading->copies), ids);
            if (__builtin_expect(ids == NULL, 0)) {
                return false;
            }
            looked |= bit;
        }
        *value = (int64_t)(intptr_t)copy;
        *copy++ = *region;
        bit <<= 1;
    }
    rings->ids.count = (uint32_t)(ids - rings->ids.ids);
    rings->ids.apart = 0;
    reading->regions = (uint32_t)(copy - reading->copies);
    reading->of_owner = of_owner;
    reading->looked = looked;
    reading->outputs = outputs;
    reading->need.heap = heap;
    reading->need.entries = reading->regions;
    return true;
}

// Takes nothing when it is false: then the submission is unusual in some way.
static bool read_usual(const tern_graph *graph, struct tern__reading *reading)
{
    struct tern__rings *rings = reading->rings;
    const tern_submission *given = reading->given;
    const tern_task *task = &given->task;
    struct tern__ring *ring = &rings->ring[tern__ring_of_depth(rings->depth)];
    if (__builtin_expect(!tern__task_is_plain(graph->chip, task) || graph->chip->away != NULL ||
                             task->kernel == tern__away_kernel ||
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
    tern__reading_name(reading);
    // Copied to where they are going to be, if there is room for all that they may be.
    struct tern__room *need = &reading->need;
    need->args = reading->head_bytes + (uint64_t)given->args_count * sizeof(tern_region);
    if (__builtin_expect(!tern__bump_fits(&ring->args, need->args), 0)) {
        return false;
    }
    reading->args = (int64_t *)(void *)(ring->args.base + ring->args.offset);
    reading->copies = (tern_region *)(void *)((char *)reading->args + reading->head_bytes);
    if (__builtin_expect(!read_args(reading), 0)) {
        return false;
    }
    need->args = reading->head_bytes + reading->regions * sizeof(tern_region);
    need->edges = rings->ids.count;
    if (__builtin_expect(!tern__rings_fits(rings, need), 0)) {
        return false;
    }
    tern__bump_take(&ring->args, need->args);
    reading->task.kernel = task->kernel;
    reading->task.more = NULL;
    reading->task.blocks = 1;
    reading->task.args_count = (uint16_t)given->args_count;
    reading->task.core = (uint8_t)task->core;
    reading->task.special = 0;
    return true;
}

// Bits of an element, over all of a buffer.
static void fill(char *memory, uint64_t bytes, size_t size, uint64_t value)
{
    for (uint64_t at = 0; at + size <= bytes; at += size) {
        memcpy(memory + at, &value, size);
    }
}

// They get their memory: in the program's region and in its copy, also where the same region is
// named again behind it.
static void place_outputs(const struct tern__reading *reading, struct tern__ring *ring)
{
    const tern_submission *given = reading->given;
    const tern_task_arg *end = given->args + given->args_count;
    char *heap = tern__bump_take(&ring->heap, reading->need.heap);
    for (uint32_t rest = reading->outputs; rest != 0; rest &= rest - 1) {
        const int i = __builtin_ctz(rest);
        const tern_task_arg *arg = reading->of[i];
        tern_region *copy = &reading->copies[i];
        copy->address = arg->region->address = (uint64_t)(uintptr_t)heap;
        copy->owner = arg->region->owner = reading->id;
        for (const tern_task_arg *later = arg + 1; later < end; later++) {
            if (later->region == arg->region && later->access != TERN_SCALAR) {
                tern_region *again = (tern_region *)(intptr_t)reading->args[later - given->args];
                again->address = copy->address;
                again->owner = copy->owner;
            }
        }
        if (arg->filled) {
            fill(heap, arg->region->buffer_bytes, tern_region_dtype_size(arg->region->dtype),
                 arg->fill);
        }
        heap += tern__output_bytes(arg->region);
    }
}

static void place_name(struct tern__reading *reading)
{
    char *name = (char *)(reading->args + reading->given->args_count);
    memcpy(name, reading->task.name, reading->name_bytes - 1);
    name[reading->name_bytes - 1] = '\0';
    reading->task.name = name;
}

// The row, not published.
static struct tern__task *place_row(struct tern__reading *reading, struct tern__ring *ring)
{
    struct tern__task *row = &ring->rows[ring->next & ring->mask];
    row->kernel = reading->task.kernel;
    row->args = reading->args;
    row->name = reading->task.name;
    row->more = reading->task.more;
    row->blocks = reading->task.blocks;
    row->args_count = reading->task.args_count;
    row->core = reading->task.core;
    row->special = reading->task.special;
    row->ring = (uint8_t)(reading->id >> 32);
    row->number = ring->next;
    row->heap_end = ring->heap.head;
    row->args_end = ring->args.head;
    atomic_store_explicit(&row->after, NULL, memory_order_relaxed);
    tern__poke(&row->flags, 0);
    tern__poke(&row->users, 1); // itself
    tern__poke(&row->users_done, 0);
    row->by = 0;
    if (row->more != NULL) {
        row->more->hold.task = row;
    }
    return row;
}

static int insert_regions(struct tern__reading *reading)
{
    struct tern__rings *rings = reading->rings;
    if (reading->of_owner != 0) {
        tern__map_insert_readers(rings->map, reading->copies, reading->of_owner, reading->id);
    }
    for (uint32_t rest = reading->looked; rest != 0; rest &= rest - 1) {
        const int i = __builtin_ctz(rest);
        TERN_TRY(tern__map_insert(rings->map, &reading->copies[i], reading->of[i]->access,
                                  rings->flags, reading->id, &reading->places[i]));
    }
    return TERN_OK;
}

static void ask_for_row(const struct tern__rings *rings, int count)
{
    const struct tern__ring *ring = &rings->ring[tern__ring_of_depth(rings->depth)];
    const struct tern__task *row = &ring->rows[ring->next & ring->mask];
    tern__own_line(row);
    tern__own_line(&row->after);
    const char *args = ring->args.base + ring->args.offset;
    const char *edges = ring->edges.base + ring->edges.offset;
    tern__own_line(edges);
    tern__own_line(edges + TERN_CACHE_LINE);
    for (int i = 0; i < count && i < 8; i++, args += sizeof(tern_region)) {
        tern__own_line(args);
        tern__own_line(args + TERN_CACHE_LINE);
    }
}

static int submit(tern_graph *graph, struct tern__rings *rings, const tern_submission *given,
                  tern_task_id *id)
{
    struct tern__reading reading; // not zeroed: that costs more than the rest of it
    reading.rings = rings;
    reading.given = given;
    ask_for_row(rings, given->args_count);
    if (__builtin_expect(!read_usual(graph, &reading), 0)) {
        TERN_TRY(tern__reading_any(graph, &reading));
    }
    int which = tern__ring_of_depth(rings->depth);
    struct tern__ring *ring = &rings->ring[which];
    struct tern__open_scope *scope = &rings->scopes[rings->depth];
    reading.id = (uint64_t)which << 32 | ring->next;
    place_outputs(&reading, ring);
    place_name(&reading);
    struct tern__task *row = place_row(&reading, ring);
    if (graph->chip->history != NULL) {
        tern__history_add(graph->chip->history, row, reading.id);
    }
    const uint32_t met = tern__rings_link(rings, ring, row, rings->ids.ids, rings->ids.count);
    if (scope->tasks++ == 0) {
        scope->first = ring->next;
    }
    ring->next++;
    rings->tasks++;
    int status = scope->mode == TERN_SCOPE_AUTO ? insert_regions(&reading) : TERN_OK;
    tern__orchestrate_publish(graph, row, met);
    if (id != NULL) {
        *id = reading.id;
    }
    return tern__submit_refuse(graph, TERN__CODE_TENSORMAP_OVERFLOW, status);
}

static int graph_submit(tern_graph *graph, const tern_submission *submission, tern_task_id *id)
{
    struct tern__rings *rings;
    TERN_TRY(tern__submit_rings("tern_graph_submit", graph, &rings));
    if (submission == NULL) {
        return tern__submit_refuse(graph, TERN__CODE_INVALID_ARGS,
                                   tern__fail(TERN_ERR_ARG,
                                              "tern_graph_submit: submission must not be NULL"));
    }
    return submit(graph, rings, submission, id);
}

int tern_graph_submit(tern_graph *graph, const tern_submission *submission, tern_task_id *id)
{
    return TERN__CALL(graph_submit(graph, submission, id));
}
