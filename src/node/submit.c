// SPDX-License-Identifier: Apache-2.0
// A task for chips becomes a submission to the graph of the node's chip: its regions are the
// submission's, whatever is not the graph's business is in a call (node.h), whose address is the
// first argument.

#include "graph/submit.h"

#include <stdlib.h>
#include <string.h>

#include "base/public.h"
#include "graph/chip.h"
#include "graph/code.h"
#include "node/node.h"

static const char *const here = "tern_node_submit";

// The submission of a task while it is read.
struct reading {
    const tern_node *node;
    const tern_node_task *given;
    const char *name;
    int members;
    int regions;
    tern_task_arg args[1 + TERN_SUBMIT_REGIONS_MAX];
};

static int check_chips(struct reading *reading)
{
    const tern_node_task *given = reading->given;
    uint64_t seen = 0;
    if (given->chips_count < 0 || given->chips_count > reading->node->chips ||
        (given->chips == NULL && given->chips_count > 0)) {
        return tern__fail(TERN_ERR_ARG, "%s: task '%s' is for %d chips at %p; the node has %d",
                          here, reading->name, given->chips_count, (const void *)given->chips,
                          reading->node->chips);
    }
    for (int i = 0; i < given->chips_count; i++) {
        const int chip = given->chips[i];
        if (chip < 0 || chip >= reading->node->chips || (seen >> chip & 1) != 0) {
            return tern__fail(TERN_ERR_ARG,
                              "%s: task '%s': chips[%d] is %d; the chips of a task are different "
                              "ones of 0..%d",
                              here, reading->name, i, chip, reading->node->chips - 1);
        }
        seen |= UINT64_C(1) << chip;
    }
    reading->members = given->chips_count > 0 ? given->chips_count : 1;
    return TERN_OK;
}

// Its memory is that of one part of the window.
static int check_memory(const struct reading *reading, const tern_region *region, int at)
{
    const tern_window *window = reading->node->window;
    const uint64_t begin = region->address - (uint64_t)(uintptr_t)window->base;
    const uint64_t size = window->size_bytes;
    const bool inside =
        begin < size * (uint64_t)window->nranks && region->buffer_bytes <= size - begin % size;
    return inside ? TERN_OK
                  : tern__fail(TERN_ERR_ARG,
                               "%s: task '%s', argument %d: chips do not reach its memory at %p; "
                               "they reach domains, and what TERN_OUT has made",
                               here, reading->name, at, (void *)(uintptr_t)region->address);
}

static int read_args(struct reading *reading, struct tern__node_arg *args)
{
    const tern_node_task *given = reading->given;
    for (int i = 0; i < reading->members * given->args_count; i++) {
        const tern_task_arg *arg = &given->args[i];
        args[i] = (struct tern__node_arg){.value = arg->scalar};
        if (arg->access == TERN_SCALAR) {
            continue;
        }
        if (arg->region == NULL) {
            return tern__fail(TERN_ERR_ARG, "%s: task '%s', argument %d: region must not be NULL",
                              here, reading->name, i);
        }
        if (reading->regions == TERN_SUBMIT_REGIONS_MAX) {
            return tern__fail(TERN_ERR_LIMIT,
                              "%s: task '%s' has more than %d regions, of all its chips together",
                              here, reading->name, TERN_SUBMIT_REGIONS_MAX);
        }
        if (arg->access != TERN_OUT) {
            TERN_TRY(check_memory(reading, arg->region, i));
        }
        args[i] = (struct tern__node_arg){.is_region = true,
                                          .access = (uint8_t)(arg->access == TERN_OUT && arg->filled
                                                                  ? TERN_INOUT
                                                                  : arg->access),
                                          .value = (uint64_t)reading->regions};
        reading->args[1 + reading->regions++] = *arg;
    }
    return TERN_OK;
}

static bool is_member(const struct tern__node_domain *domain, int rank)
{
    return memchr(domain->ranks, rank, domain->count) != NULL;
}

static int read_domains(const struct reading *reading, struct tern__node_domain *domains)
{
    const tern_node_task *given = reading->given;
    for (int i = 0; i < given->domains_count; i++) {
        const tern_domain *domain = given->domains[i];
        TERN_TRY(tern__handle_check(here, domain, TERN__DOMAIN));
        if (domain->node != reading->node) {
            return tern__fail(TERN_ERR_ARG, "%s: task '%s': domain %d is another node's", here,
                              reading->name, i);
        }
        domains[i] = domain->shape;
        if (given->chips_count == 0) {
            return tern__fail(TERN_ERR_ARG,
                              "%s: task '%s' has a domain, and may run on any chip; it must say on "
                              "which",
                              here, reading->name);
        }
        for (int k = 0; k < given->chips_count; k++) {
            if (!is_member(&domain->shape, given->chips[k] + 1)) {
                return tern__fail(TERN_ERR_ARG, "%s: task '%s': chip %d is no member of domain %u",
                                  here, reading->name, given->chips[k], domain->shape.number);
            }
        }
    }
    return TERN_OK;
}

static int check_counts(struct reading *reading)
{
    const tern_node_task *given = reading->given;
    if (given->function == NULL || *given->function == '\0' ||
        strnlen(given->function, TERN_NODE_NAME_BYTES) == TERN_NODE_NAME_BYTES) {
        return tern__fail(TERN_ERR_ARG, "%s: the function's name must have 1 to %d characters",
                          here, TERN_NODE_NAME_BYTES - 1);
    }
    reading->name = given->name != NULL ? given->name : given->function;
    if (given->args_count < 0 || (given->args == NULL && given->args_count > 0) ||
        given->domains_count < 0 || (given->domains == NULL && given->domains_count > 0) ||
        given->domains_count > TERN_NODE_DOMAINS_MAX ||
        given->args_count > TERN_TASK_ARGS_MAX - given->domains_count) {
        return tern__fail(TERN_ERR_ARG,
                          "%s: task '%s' has %d arguments at %p and %d domains at %p; there may be "
                          "%d domains, and %d of both together",
                          here, reading->name, given->args_count, (const void *)given->args,
                          given->domains_count, (const void *)given->domains, TERN_NODE_DOMAINS_MAX,
                          TERN_TASK_ARGS_MAX);
    }
    return check_chips(reading);
}

// A call, with its members, arguments and domains behind it in one piece. free().
static struct tern__node_call *make_call(const struct reading *reading,
                                         struct tern__node_arg **args,
                                         struct tern__node_domain **domains)
{
    const tern_node_task *given = reading->given;
    const size_t members = (size_t)reading->members;
    const size_t args_count = members * (size_t)given->args_count;
    struct tern__node_call *call =
        malloc(sizeof *call + members * sizeof *call->members + args_count * sizeof **args +
               (size_t)given->domains_count * sizeof **domains);
    if (call == NULL) {
        return NULL;
    }
    memset(call, 0, sizeof *call);
    *args = (struct tern__node_arg *)(void *)(call->members + members);
    *domains = (struct tern__node_domain *)(void *)(*args + args_count);
    call->args = *args;
    call->domains = *domains;
    call->args_count = given->args_count;
    call->domains_count = (uint32_t)given->domains_count;
    call->members_count = reading->members;
    call->left = (uint32_t)members;
    call->failed_chip = -1;
    call->orchestrates = given->orchestrates;
    call->any = given->chips_count == 0;
    memcpy(call->function, given->function, strlen(given->function));
    for (int i = 0; i < reading->members; i++) {
        call->members[i] =
            (struct tern__node_member){.call = call,
                                       .chip = given->chips_count > 0 ? given->chips[i] : 0};
    }
    return call;
}

// *call: of a submission that is certain to be ended by somebody it is no longer the caller's.
static int submit_call(tern_graph *graph, struct reading *reading, struct tern__node_call **call,
                       tern_task_id *id)
{
    const tern_node_task *given = reading->given;
    tern_task_id made = TERN_TASK_ID_NONE;
    reading->args[0] = (tern_task_arg){.access = TERN_SCALAR, .scalar = (uint64_t)(uintptr_t)*call};
    tern_submission submission = {.task = {.name = reading->name,
                                           .kernel = tern__away_kernel,
                                           .core = TERN_CORE_AIV},
                                  .args = reading->args,
                                  .args_count = 1 + reading->regions,
                                  .after = given->after,
                                  .after_count = given->after_count,
                                  .waits = given->waits,
                                  .waits_count = given->waits_count};
    const int status = tern_graph_submit(graph, &submission, &made);
    if (made != TERN_TASK_ID_NONE) {
        *call = NULL;
        if (id != NULL) {
            *id = made;
        }
    }
    return status;
}

static int node_submit(tern_graph *graph, const tern_node_task *task, tern_task_id *id)
{
    struct tern__rings *rings;
    struct reading reading; // not zeroed: most of it is arguments
    struct tern__node_arg *args;
    struct tern__node_domain *domains;
    TERN_TRY(tern__submit_rings(here, graph, &rings));
    if (graph->chip->away == NULL) {
        return tern__fail(TERN_ERR_STATE, "%s: the graph is no node's", here);
    }
    if (task == NULL) {
        return tern__submit_refuse(graph, TERN__CODE_INVALID_ARGS,
                                   tern__fail(TERN_ERR_ARG, "%s: task must not be NULL", here));
    }
    reading.node = tern__node_of(graph->chip->away);
    reading.given = task;
    reading.regions = 0;
    reading.members = 0; // check_counts says it
    TERN_TRY(tern__submit_refuse(graph, TERN__CODE_INVALID_ARGS, check_counts(&reading)));
    struct tern__node_call *call = make_call(&reading, &args, &domains);
    int status = call != NULL ? read_args(&reading, args)
                              : tern__fail(TERN_ERR_MEMORY, "%s: no memory for a task", here);
    status = status == TERN_OK ? read_domains(&reading, domains) : status;
    status = tern__submit_refuse(graph, TERN__CODE_INVALID_ARGS, status);
    status = status == TERN_OK ? submit_call(graph, &reading, &call, id) : status;
    if (status != TERN_OK) {
        free(call);
    }
    return status;
}

int tern_node_submit(tern_graph *graph, const tern_node_task *task, tern_task_id *id)
{
    return TERN__CALL_OF_CALLS(node_submit(graph, task, id));
}
