// SPDX-License-Identifier: Apache-2.0
// What an orchestration with rings does besides submitting: scopes, single elements, giving up; and
// what all its calls begin and end with (submit.h).

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/public.h"
#include "graph/chip.h"
#include "graph/far.h"
#include "graph/join.h"
#include "graph/orchestrate.h"
#include "graph/region.h"
#include "graph/submit.h"
#include "tern/put.h"

// That the caller is the graph's orchestration, and the run goes on.
static int check_orchestrates(const char *call, const tern_graph *graph)
{
    if (!tern__orchestrates(graph)) {
        return tern__fail(TERN_ERR_STATE, "%s: the caller is no orchestration of the graph", call);
    }
    const struct tern__run *run = &graph->chip->run;
    if (__builtin_expect(tern__flag_load(&run->failed) != TERN__RUN_WELL ||
                             tern__flag_load(&run->cancelled) != 0,
                         0)) {
        return tern__fail(TERN_ERR_STATE, "%s: the run of the graph has failed", call);
    }
    return TERN_OK;
}

int tern__submit_rings(const char *call, const tern_graph *graph, struct tern__rings **rings)
{
    TERN_TRY(tern__handle_check(call, graph, TERN__GRAPH));
    if (graph->rings == NULL) {
        return tern__fail(TERN_ERR_STATE, "%s: the graph has no rings (tern_graph_create_rings)",
                          call);
    }
    TERN_TRY(check_orchestrates(call, graph));
    *rings = graph->rings;
    return TERN_OK;
}

// An orchestration that gives a call wrong arguments: the run fails, with the call's sentence. But
// when the communicator has failed, as every call with a window of it says, the cause is elsewhere.
int tern__submit_fail(tern_graph *graph, int code, int status)
{
    struct tern_comm *comm = graph->chip->comm;
    if (status == TERN_ERR_STATE) {
        return status;
    }
    if (comm != NULL && status != TERN_ERR_ARG &&
        tern__group_check(&comm->group, false) != TERN_OK) {
        tern__run_fail(graph->chip, status, 0, "%.400s", tern_last_error());
    } else {
        const char *name = tern_graph_code_name(code);
        bool named = strstr(tern_last_error(), name) != NULL;
        tern__run_fail(graph->chip, status, code, "%s%s%.400s", named ? "" : name,
                       named ? "" : ": ", tern_last_error());
    }
    return status;
}

static int check_scope(const struct tern__rings *rings, tern_scope mode)
{
    if ((unsigned)mode > TERN_SCOPE_MANUAL) {
        return tern__fail(TERN_ERR_ARG, "tern_graph_scope_begin: %d is no mode", (int)mode);
    }
    if (rings->depth + 1 == TERN_SCOPES_MAX) {
        return tern__fail(TERN_ERR_LIMIT, "tern_graph_scope_begin: at most %d scopes are nested",
                          TERN_SCOPES_MAX);
    }
    if (mode == TERN_SCOPE_AUTO && rings->scopes[rings->depth].mode == TERN_SCOPE_MANUAL) {
        return tern__fail(TERN_ERR_ARG, "tern_graph_scope_begin: an automatic scope cannot be "
                                        "inside a manual one");
    }
    return TERN_OK;
}

static int graph_scope_begin(tern_graph *graph, tern_scope mode)
{
    struct tern__rings *rings;
    TERN_TRY(tern__submit_rings("tern_graph_scope_begin", graph, &rings));
    TERN_TRY(tern__submit_refuse(graph, TERN__CODE_INVALID_ARGS, check_scope(rings, mode)));
    tern__rings_open(rings, mode);
    return TERN_OK;
}

int tern_graph_scope_begin(tern_graph *graph, tern_scope mode)
{
    return TERN__CALL(graph_scope_begin(graph, mode));
}

static int graph_scope_end(tern_graph *graph)
{
    struct tern__rings *rings;
    TERN_TRY(tern__submit_rings("tern_graph_scope_end", graph, &rings));
    if (rings->depth == 0) {
        return tern__submit_refuse(graph, TERN__CODE_INVALID_ARGS,
                                   tern__fail(TERN_ERR_ARG,
                                              "tern_graph_scope_end: no scope was begun"));
    }
    tern__rings_close(rings);
    return TERN_OK;
}

int tern_graph_scope_end(tern_graph *graph)
{
    return TERN__CALL(graph_scope_end(graph));
}

int tern_graph_give_up(tern_graph *graph, int code, const char *format, ...)
{
    char text[400];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    int status = tern__handle_check("tern_graph_give_up", graph, TERN__GRAPH);
    if (status == TERN_OK) {
        status = check_orchestrates("tern_graph_give_up", graph);
    }
    if (status == TERN_OK) {
        bool known = strcmp(tern_graph_code_name(code), tern_graph_code_name(0)) != 0;
        code = known ? code : TERN__CODE_EXPLICIT_ORCH_FATAL;
        tern__run_fail(graph->chip, TERN_ERR_KERNEL, code, "%s: %s", tern_graph_code_name(code),
                       text);
        status = tern__fail(TERN_ERR_STATE, "tern_graph_give_up: %s", text);
    }
    return status;
}

bool tern_graph_is_fatal(const tern_graph *graph)
{
    return tern__handle_lives(graph, TERN__GRAPH) && tern__orchestrates(graph) &&
           (tern__flag_load(&graph->chip->run.failed) != TERN__RUN_WELL ||
            tern__flag_load(&graph->chip->run.cancelled) != 0);
}

// Elements.

struct element {
    struct tern__rings *rings;
    const struct tern__ids *ids;
    bool users; // until those that read it have finished, too
};

static bool all_finished(void *arg)
{
    const struct element *element = arg;
    for (uint32_t i = 0; i < element->ids->count; i++) {
        const struct tern__task *task = tern__rings_find(element->rings, element->ids->ids[i]);
        if (task != NULL &&
            !(element->users ? tern__task_unused(task) : tern__task_finished(task))) {
            return false;
        }
    }
    return true;
}

// Waits until the tasks that conflict with an access to one element have finished; its place.
static int await_element(const char *call, tern_graph *graph, const tern_region *region,
                         const uint32_t *index, bool writes, char **place)
{
    struct tern__rings *rings;
    TERN_TRY(tern__submit_rings(call, graph, &rings));
    int code = TERN__CODE_INVALID_ARGS;
    if (region == NULL || index == NULL || region->address == 0) {
        return tern__submit_refuse(
            graph, code,
            tern__fail(TERN_ERR_ARG,
                       "%s: region and index must not be NULL, and the region has memory", call));
    }
    TERN_TRY(tern__submit_refuse(graph, code, tern__region_check(call, region)));
    tern_region one = *region;
    for (uint32_t d = 0; d < region->ndims; d++) {
        if (index[d] >= region->shape[d]) {
            return tern__submit_refuse(graph, code,
                                       tern__fail(TERN_ERR_ARG,
                                                  "%s: index %u of dimension %u; it has %u", call,
                                                  index[d], d, region->shape[d]));
        }
    }
    const uint32_t ones[TERN_REGION_DIMS_MAX] = {1, 1, 1, 1, 1};
    TERN_TRY(tern__submit_refuse(graph, code, tern_region_view(region, ones, index, &one)));
    TERN_TRY(tern__submit_refuse(graph, code, tern__submit_check_owner(rings, call, region)));
    if (region->owner != TERN_REGION_NO_OWNER) {
        TERN_TRY(
            tern__submit_refuse(graph, code, tern__submit_check_id(rings, call, region->owner)));
    }
    rings->ids.count = rings->ids.apart = 0;
    tern__joins_drop(rings, true); // they keep writers in use that this waits for
    if (region->owner != TERN_REGION_NO_OWNER) {
        TERN_TRY(tern__ids_add(&rings->ids, region->owner));
    }
    // As a writer that nobody comes after: all of them have finished when this returns.
    TERN_TRY(tern__map_lookup(rings->map, &one, writes ? TERN_INOUT : TERN_IN, 0, &rings->ids,
                              &(struct tern__map_place){.buffer = 0}));
    struct element element = {rings, &rings->ids, writes};
    TERN_TRY(tern__rings_wait(rings, all_finished, &element, TERN__CODE_TENSOR_WAIT_TIMEOUT));
    *place = tern_region_data(&one);
    return TERN_OK;
}

static int graph_get_element(tern_graph *graph, const tern_region *region, const uint32_t *index,
                             uint64_t *value)
{
    char *place = NULL;
    if (value == NULL) {
        return tern__fail(TERN_ERR_ARG, "tern_graph_get_element: value must not be NULL");
    }
    TERN_TRY(await_element("tern_graph_get_element", graph, region, index, false, &place));
    const size_t bytes = tern_region_dtype_size(region->dtype);
    struct tern__far_place far;
    *value = 0;
    if (tern__graph_is_far(graph->chip, place, &far)) {
        return tern_get(far.window, far.rank, far.offset_bytes, value, bytes);
    }
    memcpy(value, place, bytes);
    return TERN_OK;
}

int tern_graph_get_element(tern_graph *graph, const tern_region *region, const uint32_t *index,
                           uint64_t *value)
{
    return TERN__CALL_OF_CALLS(graph_get_element(graph, region, index, value));
}

static int graph_set_element(tern_graph *graph, const tern_region *region, const uint32_t *index,
                             uint64_t value)
{
    char *place = NULL;
    TERN_TRY(await_element("tern_graph_set_element", graph, region, index, true, &place));
    const size_t bytes = tern_region_dtype_size(region->dtype);
    struct tern__far_place far;
    if (tern__graph_is_far(graph->chip, place, &far)) {
        // Tasks that are told to begin later find it there, wherever they run.
        return tern_put(far.window, far.rank, far.offset_bytes, &value, bytes);
    }
    memcpy(place, &value, bytes);
    return TERN_OK;
}

int tern_graph_set_element(tern_graph *graph, const tern_region *region, const uint32_t *index,
                           uint64_t value)
{
    return TERN__CALL_OF_CALLS(graph_set_element(graph, region, index, value));
}
