// SPDX-License-Identifier: Apache-2.0
// Any submission, read (reading.h): which tasks come before, is there room, the task's copies.
// Nothing is taken before it is certain that all can be. Data path: no lock or system call; memory
// only for the list of a task's edges, when that grows.

#include "graph/reading.h"

#include <string.h>

#include "base/public.h"
#include "comm/window.h"
#include "graph/far.h"
#include "graph/join.h"
#include "isa/signal.h"

void tern__away_kernel(int64_t *args)
{
    (void)args;
}

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
    return tern__region_check("tern_graph_submit", arg->region);
}

// The arguments: how much of everything the task needs.
static int read_args(struct tern__reading *reading)
{
    const tern_submission *given = reading->given;
    uint32_t regions = 0;
    uint64_t heap = 0;
    if (given->args_count < 0 || given->args_count > TERN_TASK_ARGS_MAX ||
        (given->args == NULL && given->args_count > 0)) {
        return tern__fail(TERN_ERR_ARG, "tern_graph_submit: %d arguments at %p; a task has 0..%d",
                          given->args_count, (const void *)given->args, TERN_TASK_ARGS_MAX);
    }
    for (int i = 0; i < given->args_count; i++) {
        const tern_task_arg *arg = &given->args[i];
        if (arg->access == TERN_SCALAR) {
            continue;
        }
        TERN_TRY(check_arg(arg, i));
        reading->found.of[regions++] = arg;
        if (arg->access == TERN_OUT) {
            heap += tern__output_bytes(arg->region);
        } else {
            tern__ask_for_owner(reading->rings, arg->region);
        }
    }
    const int scalars = given->args_count - (int)regions;
    if (regions > TERN_SUBMIT_REGIONS_MAX || scalars > TERN_SUBMIT_SCALARS_MAX) {
        return tern__fail(TERN_ERR_LIMIT,
                          "tern_graph_submit: %u regions and %d scalars; a task has at most %d "
                          "and %d",
                          regions, scalars, TERN_SUBMIT_REGIONS_MAX, TERN_SUBMIT_SCALARS_MAX);
    }
    reading->regions = regions;
    reading->task.args_count = (uint16_t)given->args_count;
    reading->need.heap = heap;
    reading->need.entries = regions;
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

static int read_submission(tern_graph *graph, struct tern__reading *reading)
{
    const tern_submission *given = reading->given;
    const tern_task *task = &given->task;
    reading->plain = tern__task_is_plain(graph->chip, task);
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
    reading->task.name = tern__task_name(task);
    reading->name_bytes = tern__task_name_bytes(reading->task.name);
    reading->head_bytes = tern__args_head(given->args_count, reading->name_bytes);
    reading->need.args = reading->head_bytes + (uint64_t)reading->regions * sizeof(tern_region);
    if (given->waits_count > 0) {
        if (reading->task.special == 0) {
            reading->more = (struct tern__task_more){.reserve = -1};
        }
        reading->task.special |= TERN__TASK_WAITS;
        reading->need.args += (uint64_t)given->waits_count * sizeof(struct tern__until);
    }
    reading->need.args +=
        reading->task.special != 0 ? sizeof(struct tern__task_more) + TERN__ARGS_ALIGN : 0;
    reading->need.args = tern__round_up(reading->need.args, TERN__ARGS_ALIGN);
    return TERN_OK;
}

// Whether the chip has what the task needs; and the run's code when it has not.
static int check_fits(const tern_graph *graph, struct tern__reading *reading, int *code)
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

// A region that is no TERN_OUT. Its place is for its insert.
static int find_of_region(struct tern__reading *reading, uint32_t region)
{
    struct tern__rings *rings = reading->rings;
    struct tern__ids *ids = &rings->ids;
    const tern_task_arg *arg = reading->found.of[region];
    struct tern__map_place *place = &reading->found.places[region];
    TERN_TRY(tern__submit_check_owner(rings, "tern_graph_submit", arg->region));
    if (rings->scopes[rings->depth].mode != TERN_SCOPE_AUTO) {
        return TERN_OK;
    }
    reading->looked |= UINT32_C(1) << region;
    if (tern__map_is_owners(rings->map, arg->region, arg->access)) {
        place->buffer = 0;
        return tern__ids_add(ids, arg->region->owner);
    }
    const uint32_t found = ids->apart = ids->count; // a join is after all that is found here
    TERN_TRY(tern__map_lookup(rings->map, arg->region, arg->access, rings->flags, ids, place));
    if (arg->region->owner != TERN_REGION_NO_OWNER && !place->joined) {
        TERN_TRY(tern__ids_add(ids, arg->region->owner));
    }
    if (place->join_pays) {
        tern__join_make(rings, place, found);
    }
    return TERN_OK;
}

static int find_before(struct tern__reading *reading)
{
    struct tern__rings *rings = reading->rings;
    const tern_submission *given = reading->given;
    struct tern__ids *ids = &rings->ids;
    ids->count = ids->apart = 0;
    reading->of_owner = reading->looked = reading->outputs = 0;
    if (rings->has_joins) {
        tern__joins_drop(rings, false);
    }
    for (int i = 0; i < given->after_count; i++) {
        TERN_TRY(tern__ids_add(ids, given->after[i]));
    }
    for (uint32_t i = 0; i < reading->regions; i++) {
        if (reading->found.of[i]->access == TERN_OUT) {
            reading->outputs |= UINT32_C(1) << i;
        } else {
            TERN_TRY(find_of_region(reading, i));
        }
    }
    return TERN_OK;
}

// Those that have not retired, each once when there are few.
static int keep_live(struct tern__rings *rings)
{
    struct tern__ids *ids = &rings->ids;
    uint32_t count = 0;
    for (uint32_t i = 0; i < ids->count; i++) {
        const tern_task_id id = ids->ids[i];
        TERN_TRY(tern__submit_check_id(rings, "tern_graph_submit", id));
        bool known = false;
        for (uint32_t k = 0; k < count && count <= TERN__EDGES_FEW; k++) {
            known = known || ids->ids[k] == id;
        }
        if (!known && tern__rings_find(rings, id) != NULL) {
            ids->ids[count++] = id;
        }
    }
    ids->count = count;
    return TERN_OK;
}

// The task's copies of regions and scalars, and what is special about it.
static void copy_args(struct tern__reading *reading, struct tern__ring *ring)
{
    const tern_submission *given = reading->given;
    char *memory = tern__bump_take(&ring->args, reading->need.args);
    tern_region *regions = (tern_region *)(void *)(memory + reading->head_bytes);
    int64_t *args = (int64_t *)(void *)memory;
    reading->args = args;
    reading->copies = regions;
    for (int i = 0; i < given->args_count; i++) {
        const tern_task_arg *arg = &given->args[i];
        if (arg->access == TERN_SCALAR) {
            args[i] = (int64_t)arg->scalar;
            continue;
        }
        *regions = *arg->region;
        args[i] = (int64_t)(intptr_t)regions++;
    }
    if (reading->task.special != 0) {
        reading->task.more = (struct tern__task_more *)(void *)regions;
        *reading->task.more = reading->more;
        struct tern__until *untils = (struct tern__until *)(reading->task.more + 1);
        for (int i = 0; i < given->waits_count; i++) {
            untils[i] = (struct tern__until){.condition = given->waits[i]};
        }
        reading->task.more->hold.untils = untils;
        reading->task.more->hold.count = (uint32_t)given->waits_count;
    }
}

int tern__reading_any(tern_graph *graph, struct tern__reading *reading)
{
    struct tern__rings *rings = reading->rings;
    int code = TERN__CODE_INVALID_ARGS;
    TERN_TRY(tern__submit_refuse(graph, code, read_submission(graph, reading)));
    const int fits = check_fits(graph, reading, &code);
    TERN_TRY(tern__submit_refuse(graph, code, fits));
    TERN_TRY(tern__submit_refuse(graph, code, find_before(reading)));
    TERN_TRY(tern__submit_refuse(graph, code, keep_live(rings)));
    reading->need.edges = rings->ids.count;
    TERN_TRY(tern__rings_await(rings, &reading->need));
    copy_args(reading, &rings->ring[tern__ring_of_depth(rings->depth)]);
    return TERN_OK;
}
