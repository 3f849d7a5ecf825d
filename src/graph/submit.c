// SPDX-License-Identifier: Apache-2.0
// The third builder: a submission becomes a task in the ring of its scope. In this order: is there
// room; which tasks come before; memory; the row; the map; the edges. Nothing is taken before it is
// certain that all can be. Data path: no lock or system call; memory only for the list of a task's
// edges, when that grows.

#include "graph/submit.h"

#include <string.h>

#include "base/public.h"
#include "comm/window.h"
#include "graph/away.h"
#include "graph/chip.h"
#include "graph/far.h"
#include "graph/join.h"
#include "graph/orchestrate.h"
#include "graph/region.h"
#include "isa/signal.h"

enum { OUTPUT_ALIGN = 1024, ARGS_ALIGN = 64 };

static uint64_t round_up(uint64_t value, uint64_t unit)
{
    return (value + unit - 1) / unit * unit;
}

void tern__away_kernel(int64_t *args)
{
    (void)args;
}

// A submission while it is read. Of `task` what describes it; `more` when it is special.
struct reading {
    struct tern__rings *rings;
    const tern_submission *given;
    struct tern__task task;
    struct tern__task_more more;
    struct tern__room need;
    bool plain;
    int regions;
    size_t name_bytes;
    tern_task_id id;
    struct tern__map_place places[TERN_SUBMIT_REGIONS_MAX];
};

static int check_arg(const tern_task_arg *arg, int at)
{
    if ((unsigned)arg->access > TERN_SCALAR) {
        return tern__fail(TERN_ERR_ARG, "tern_graph_submit: argument %d: %d is no access", at,
                          (int)arg->access);
    }
    if (arg->region == NULL) {
        return tern__fail(TERN_ERR_ARG, "tern_graph_submit: argument %d: region must not be NULL",
                          at);
    }
    if (arg->access != TERN_OUT && arg->region->address == 0) {
        return tern__fail(TERN_ERR_ARG,
                          "tern_graph_submit: argument %d: the region has no memory (address 0); "
                          "only TERN_OUT gives it some",
                          at);
    }
    return TERN_OK;
}

// More than any heap has: the same, so that sums do not wrap around.
static uint64_t output_bytes(const tern_region *region)
{
    const uint64_t most = UINT64_C(1) << 48;
    return region->buffer_bytes < most ? round_up(region->buffer_bytes, OUTPUT_ALIGN) : most;
}

// The owner's row is likely in the cache of the core that ran it.
static void ask_for_owner(const struct tern__rings *rings, const tern_region *region)
{
    if (region->owner == TERN_REGION_NO_OWNER) {
        return;
    }
    const struct tern__ring *ring = &rings->ring[(region->owner >> 32) % TERN_RINGS];
    tern__own_line(&ring->rows[(uint32_t)region->owner & ring->mask].after);
}

// The arguments: how much of everything the task needs.
static int read_args(struct reading *reading)
{
    const tern_submission *given = reading->given;
    int scalars = 0;
    uint64_t heap = 0;
    if (given->args_count < 0 || given->args_count > TERN_TASK_ARGS_MAX ||
        (given->args == NULL && given->args_count > 0)) {
        return tern__fail(TERN_ERR_ARG, "tern_graph_submit: %d arguments at %p; a task has 0..%d",
                          given->args_count, (const void *)given->args, TERN_TASK_ARGS_MAX);
    }
    for (int i = 0; i < given->args_count; i++) {
        const tern_task_arg *arg = &given->args[i];
        if (arg->access == TERN_SCALAR) {
            scalars++;
            continue;
        }
        TERN_TRY(check_arg(arg, i));
        TERN_TRY(tern__region_check("tern_graph_submit", arg->region));
        if (arg->access == TERN_OUT) {
            heap += output_bytes(arg->region);
        } else {
            ask_for_owner(reading->rings, arg->region);
        }
    }
    reading->regions = given->args_count - scalars;
    reading->need.heap = heap;
    if (reading->regions > TERN_SUBMIT_REGIONS_MAX || scalars > TERN_SUBMIT_SCALARS_MAX) {
        return tern__fail(TERN_ERR_LIMIT,
                          "tern_graph_submit: %d regions and %d scalars; a task has at most %d "
                          "and %d",
                          reading->regions, scalars, TERN_SUBMIT_REGIONS_MAX,
                          TERN_SUBMIT_SCALARS_MAX);
    }
    reading->task.args_count = (uint16_t)given->args_count;
    reading->need.entries = (uint32_t)reading->regions;
    return TERN_OK;
}

static int read_edges(const tern_submission *given)
{
    if (given->after_count < 0 || given->after_count > TERN_SUBMIT_AFTER_MAX ||
        (given->after == NULL && given->after_count > 0)) {
        return tern__fail(TERN_ERR_ARG, "tern_graph_submit: after %d tasks at %p; 0..%d may be",
                          given->after_count, (const void *)given->after, TERN_SUBMIT_AFTER_MAX);
    }
    if (given->waits_count < 0 || given->waits_count > TERN_TASK_DEFERS_MAX ||
        (given->waits == NULL && given->waits_count > 0)) {
        return tern__fail(TERN_ERR_ARG, "tern_graph_submit: %d waits at %p; a task has 0..%d",
                          given->waits_count, (const void *)given->waits, TERN_TASK_DEFERS_MAX);
    }
    for (int i = 0; i < given->waits_count; i++) {
        TERN_TRY(tern__condition_check("tern_graph_submit", &given->waits[i]));
    }
    return TERN_OK;
}

// Of a node: its chips get copies of what is on other machines (node/stage.h), the host does not.
static int check_near(const tern_graph *graph, const tern_submission *given)
{
    struct tern__far_place far;
    for (int i = 0; i < given->args_count; i++) {
        const tern_task_arg *arg = &given->args[i];
        const bool loads =
            arg->access != TERN_SCALAR && arg->access != TERN_OUT && arg->access != TERN_NO_DEP;
        if (loads && tern__graph_is_far(graph->chip, tern_region_data(arg->region), &far)) {
            return tern__fail(TERN_ERR_ARG,
                              "tern_graph_submit: argument %d: its memory is rank %d's, on machine "
                              "%s, where a task of the host cannot load from it; a task for chips "
                              "can, and tern_domain_read reads it after the run",
                              i, far.rank, tern__window_machine(far.window, far.rank));
        }
    }
    return TERN_OK;
}

// A kernel on one core that the chip has, and no more: what most tasks are.
static bool is_plain(const struct tern_chip *chip, const tern_task *task)
{
    return task->kernel != NULL && (task->core == TERN_CORE_AIC || task->core == TERN_CORE_AIV) &&
           (unsigned)task->blocks <= 1 && task->predicate == NULL && task->notices_count == 0 &&
           tern__cores_of(&chip->cores, (int)task->core) > 0;
}

static int read_submission(tern_graph *graph, struct reading *reading)
{
    const tern_submission *given = reading->given;
    const tern_task *task = &given->task;
    reading->plain = is_plain(graph->chip, task);
    if (__builtin_expect(reading->plain, 1)) {
        reading->task.kernel = task->kernel;
        reading->task.core = (uint8_t)task->core;
        reading->task.blocks = 1;
        reading->task.special = 0;
    } else {
        TERN_TRY(tern__task_read("tern_graph_submit", graph, task, &reading->task, &reading->more));
    }
    TERN_TRY(read_args(reading));
    TERN_TRY(read_edges(given));
    if (reading->task.kernel == tern__away_kernel) {
        if (reading->task.special == 0) {
            reading->more = (struct tern__task_more){.reserve = -1};
        }
        reading->task.special |= TERN__TASK_AWAY;
    } else if (graph->chip->away != NULL) {
        TERN_TRY(check_near(graph, given));
    }
    const char *name = task->name != NULL          ? task->name
                       : task->kernel_name != NULL ? task->kernel_name
                                                   : "task";
    reading->task.name = name;
    reading->name_bytes = strnlen(name, TERN__TASK_NAME_BYTES - 1) + 1;
    reading->need.args = (uint64_t)reading->regions * sizeof(tern_region) +
                         (uint64_t)given->args_count * sizeof(int64_t) + reading->name_bytes;
    if (given->waits_count > 0) {
        if (reading->task.special == 0) {
            reading->more = (struct tern__task_more){.reserve = -1};
        }
        reading->task.special |= TERN__TASK_WAITS;
        reading->need.args += (uint64_t)given->waits_count * sizeof(struct tern__until);
    }
    reading->need.args +=
        reading->task.special != 0 ? sizeof(struct tern__task_more) + ARGS_ALIGN : 0;
    reading->need.args = round_up(reading->need.args, ARGS_ALIGN);
    return TERN_OK;
}

// Whether the chip has what the task needs; and the run's code when it has not.
static int check_fits(const tern_graph *graph, struct reading *reading, int *code)
{
    if (__builtin_expect(reading->plain && reading->task.special == 0, 1)) {
        reading->task.more = NULL;
        return TERN_OK;
    }
    reading->task.more = reading->task.special != 0 ? &reading->more : NULL;
    TERN_TRY(tern__task_fits("tern_graph_submit", graph->chip, &reading->task, code));
    for (int i = 0; i < reading->given->waits_count; i++) { // its own have no place yet
        *code = TERN__CODE_INVALID_ARGS;
        TERN_TRY(tern__task_window_fits("tern_graph_submit", graph->chip, &reading->task,
                                        reading->given->waits[i].window));
    }
    return TERN_OK;
}

static int find_before(struct reading *reading)
{
    struct tern__rings *rings = reading->rings;
    const tern_submission *given = reading->given;
    struct tern__ids *ids = &rings->ids;
    bool automatic = rings->scopes[rings->depth].mode == TERN_SCOPE_AUTO;
    int region = 0;
    ids->count = ids->apart = 0;
    if (rings->has_joins) {
        tern__joins_drop(rings, false);
    }
    for (int i = 0; i < given->after_count; i++) {
        TERN_TRY(tern__ids_add(ids, given->after[i]));
    }
    for (int i = 0; i < given->args_count; i++) {
        const tern_task_arg *arg = &given->args[i];
        if (arg->access == TERN_SCALAR || arg->access == TERN_OUT) {
            continue;
        }
        struct tern__map_place *place = &reading->places[region++];
        TERN_TRY(tern__submit_check_owner(rings, "tern_graph_submit", arg->region));
        if (!automatic) {
            continue;
        }
        if (tern__map_is_owners(rings->map, arg->region, arg->access)) {
            place->buffer = 0;
            TERN_TRY(tern__ids_add(ids, arg->region->owner));
            continue;
        }
        const uint32_t found = ids->apart = ids->count; // a join is after all that is found here
        TERN_TRY(tern__map_lookup(rings->map, arg->region, arg->access, rings->flags, ids, place));
        if (arg->region->owner != TERN_REGION_NO_OWNER && !place->joined) {
            TERN_TRY(tern__ids_add(ids, arg->region->owner));
        }
        if (place->found_again) {
            tern__join_make(rings, place, found);
        }
    }
    return TERN_OK;
}

static bool is_known(const struct tern__ids *ids, uint32_t count, tern_task_id id)
{
    for (uint32_t i = 0; i < count; i++) {
        if (ids->ids[i] == id) {
            return true;
        }
    }
    return false;
}

// Keeps those that have not retired, each once when there are few.
static int keep_live(struct reading *reading)
{
    struct tern__rings *rings = reading->rings;
    struct tern__ids *ids = &rings->ids;
    uint32_t count = 0;
    for (uint32_t i = 0; i < ids->count; i++) {
        tern_task_id id = ids->ids[i];
        TERN_TRY(tern__submit_check_id(rings, "tern_graph_submit", id));
        if (tern__rings_find(rings, id) != NULL && (count > 16 || !is_known(ids, count, id))) {
            ids->ids[count++] = id;
        }
    }
    ids->count = count;
    reading->need.edges = count;
    return TERN_OK;
}

// Bits of an element, over all of a buffer.
static void fill(char *memory, uint64_t bytes, size_t size, uint64_t value)
{
    for (uint64_t at = 0; at + size <= bytes; at += size) {
        memcpy(memory + at, &value, size);
    }
}

// Outputs get their memory; the task gets its copies of regions and scalars.
static void place_args(struct reading *reading, struct tern__ring *ring)
{
    const tern_submission *given = reading->given;
    char *memory = tern__bump_take(&ring->args, reading->need.args);
    char *heap = tern__bump_take(&ring->heap, reading->need.heap);
    tern_region *regions = (tern_region *)(void *)memory;
    int64_t *args = (int64_t *)(void *)(regions + reading->regions);
    reading->task.args = args;
    for (int i = 0; i < given->args_count; i++) {
        const tern_task_arg *arg = &given->args[i];
        if (arg->access == TERN_SCALAR) {
            args[i] = (int64_t)arg->scalar;
            continue;
        }
        *regions = *arg->region;
        if (arg->access == TERN_OUT) { // in both: a copy of what was just written waits for that
            regions->address = arg->region->address = (uint64_t)(uintptr_t)heap;
            regions->owner = arg->region->owner = reading->id;
            if (arg->filled) {
                fill(heap, arg->region->buffer_bytes, tern_region_dtype_size(arg->region->dtype),
                     arg->fill);
            }
            heap += output_bytes(arg->region);
        }
        args[i] = (int64_t)(intptr_t)regions++;
    }
    char *name = (char *)(args + given->args_count);
    memcpy(name, reading->task.name, reading->name_bytes - 1);
    name[reading->name_bytes - 1] = '\0';
    reading->task.name = name;
    if (reading->task.special != 0) {
        uintptr_t at = round_up((uintptr_t)(name + reading->name_bytes), sizeof(int64_t));
        reading->task.more = (struct tern__task_more *)at;
        *reading->task.more = reading->more;
        struct tern__until *untils = (struct tern__until *)(reading->task.more + 1);
        for (int i = 0; i < given->waits_count; i++) {
            untils[i] = (struct tern__until){.condition = given->waits[i]};
        }
        reading->task.more->hold.untils = untils;
        reading->task.more->hold.count = (uint32_t)given->waits_count;
    }
}

// The row, not published.
static struct tern__task *place_row(struct reading *reading, struct tern__ring *ring)
{
    struct tern__task *row = &ring->rows[ring->next & ring->mask];
    row->kernel = reading->task.kernel;
    row->args = reading->task.args;
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

static int insert_regions(struct reading *reading)
{
    struct tern__rings *rings = reading->rings;
    const tern_submission *given = reading->given;
    int region = 0;
    for (int i = 0; i < given->args_count; i++) {
        const tern_task_arg *arg = &given->args[i];
        if (arg->access != TERN_SCALAR && arg->access != TERN_OUT) {
            const tern_region *copy = (const tern_region *)(intptr_t)reading->task.args[i];
            TERN_TRY(tern__map_insert(rings->map, copy, arg->access, rings->flags, reading->id,
                                      &reading->places[region++]));
        }
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
    struct reading reading; // not zeroed: that costs more than the rest of it
    reading.rings = rings;
    reading.given = given;
    ask_for_row(rings, given->args_count);
    int code = TERN__CODE_INVALID_ARGS;
    TERN_TRY(tern__submit_refuse(graph, code, read_submission(graph, &reading)));
    const int fits = check_fits(graph, &reading, &code);
    TERN_TRY(tern__submit_refuse(graph, code, fits));
    TERN_TRY(tern__submit_refuse(graph, code, find_before(&reading)));
    TERN_TRY(tern__submit_refuse(graph, code, keep_live(&reading)));
    TERN_TRY(tern__rings_await(rings, &reading.need));
    int which = tern__ring_of_depth(rings->depth);
    struct tern__ring *ring = &rings->ring[which];
    struct tern__open_scope *scope = &rings->scopes[rings->depth];
    reading.id = (uint64_t)which << 32 | ring->next;
    place_args(&reading, ring);
    struct tern__task *row = place_row(&reading, ring);
    if (graph->chip->history != NULL) {
        tern__history_add(graph->chip->history, row, reading.id);
    }
    const uint32_t met = tern__rings_link(rings, ring, row, rings->ids.ids, rings->ids.count);
    scope->first = scope->tasks++ == 0 ? ring->next : scope->first;
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
