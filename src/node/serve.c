// SPDX-License-Identifier: Apache-2.0
// A chip of a node: takes messages in their order, does what they say, and reports. One thread does
// all of it, so kernels run where nothing has to be handed over; orchestrations run on a chip of
// src/graph, made when the first one comes.

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/public.h"
#include "base/trace.h"
#include "graph/chip.h"
#include "node/node.h"
#include "node/stage.h"
#include "sync/ladder.h"
#include "tern/coll.h"
#include "tern/put.h"

#define IDLE_NS (INT64_C(60) * 1000000000) // an idle chip waits as often as need be

// Of a message that is a task, in the chip's own memory.
struct work {
    const struct tern__node_message *message;
    tern_kernel kernel;
    tern_orchestration orchestration;
    tern_graph *graph;
    tern_region regions[TERN_SUBMIT_REGIONS_MAX];
    struct tern__staged staged[TERN_SUBMIT_REGIONS_MAX];
    int staged_count;
    int64_t args[TERN_TASK_ARGS_MAX];
};

struct server {
    tern_serve_options options;
    int chip; // its number
    tern_comm *comm;
    tern_window *window;
    tern_graph *graph; // has the objects that were loaded; its rings serve every orchestration
    tern_chip *cores;  // NULL until the first orchestration
    struct tern__kernel called;
    uint32_t number; // of the message
    tern_context contexts[TERN_NODE_DOMAINS_MAX];
    struct work work; // not on the stack: a kernel that has not returned uses it
};

static _Thread_local const struct server *serving;
static _Thread_local const struct tern__node_message *doing; // what the thread runs, or NULL

bool tern_node_task_args(tern_node_args *args)
{
    if (args == NULL || doing == NULL) {
        return false;
    }
    *args = (tern_node_args){.args_count = doing->args_count,
                             .domains_count = doing->domains_count,
                             .is_region = doing->is_region};
    return true;
}

// Asked by the waits of a kernel: whether its group has failed.
static int ask_halted(void)
{
    const tern_window *window = serving->window;
    const uint32_t ended = tern__flag_load(
        (const _Atomic uint32_t *)(const void *)tern__window_at(window, window->rank,
                                                                TERN__NODE_ENDED));
    return ended == serving->number + 1
               ? tern__fail(TERN_ERR_KERNEL,
                            "its wait was ended: another chip of its group has failed")
               : TERN_OK;
}

// The chip's own functions first, then those of objects.
static int find_function(const struct server *server, struct work *work)
{
    const struct tern__node_message *message = work->message;
    for (int i = 0; i < server->options.functions_count; i++) {
        const tern_node_function *function = &server->options.functions[i];
        if (strcmp(function->name, message->function) == 0) {
            work->kernel = function->kernel;
            work->orchestration = function->orchestration;
            work->graph = function->graph;
            return TERN_OK;
        }
    }
    tern_kernel found;
    if (tern__graph_find("tern_node_serve", server->graph, message->name, message->function,
                         &found) != TERN_OK) {
        return tern__fail(TERN_ERR_KERNEL,
                          "there is no function '%s': neither in the %d of tern_serve_options nor "
                          "in the %zu objects of tern_node_load",
                          message->function, server->options.functions_count,
                          server->graph->libraries_count);
    }
    if (message->orchestrates) {
        memcpy(&work->orchestration, &found, sizeof work->orchestration);
    } else {
        work->kernel = found;
    }
    return TERN_OK;
}

static void make_context(const struct server *server, const struct tern__node_domain *domain,
                         tern_context *context)
{
    *context = (tern_context){.rankNum = domain->count, .winSize = domain->bytes};
    for (uint32_t i = 0; i < domain->count; i++) {
        context->windowsIn[i] = context->windowsOut[i] =
            (uint64_t)(uintptr_t)tern__window_at(server->window, domain->ranks[i], domain->offset);
        if (domain->ranks[i] == server->window->rank) {
            context->rankId = i;
        }
    }
}

static int unpack(struct server *server, struct work *work)
{
    const struct tern__node_message *message = work->message;
    const char *at = (const char *)(message + 1);
    for (int i = 0; i < message->domains_count; i++) {
        struct tern__node_domain domain;
        memcpy(&domain, at, sizeof domain);
        at += sizeof domain;
        make_context(server, &domain, &server->contexts[i]);
    }
    memcpy(work->regions, at, message->regions_count * sizeof *work->regions);
    at += message->regions_count * sizeof *work->regions;
    memcpy(work->args, at, message->args_count * sizeof *work->args);
    for (int i = 0; i < message->regions_count; i++) {
        work->staged_count++;
        TERN_TRY(tern__stage_begin(server->window, &work->regions[i],
                                   (tern_access)message->access[i], &work->staged[i]));
    }
    for (int i = 0; i < message->args_count; i++) {
        if ((message->is_region >> i & 1) != 0) {
            work->args[i] = (int64_t)(intptr_t)&work->regions[work->args[i]];
        }
    }
    for (int i = 0; i < message->domains_count; i++) {
        work->args[message->args_count + i] = (int64_t)(intptr_t)&server->contexts[i];
    }
    return TERN_OK;
}

// What the kernel has deferred its end to.
static int await_deferred(const struct tern__defers *defers)
{
    for (uint32_t i = 0; defers != NULL && i < defers->count; i++) {
        const struct tern__until *until = &defers->untils[i];
        if (until->word != NULL) {
            return tern__fail(TERN_ERR_ARG, "tern_kernel_defer_word: a kernel that a node calls "
                                            "may wait for signals of windows alone");
        }
        TERN_TRY(tern_signal_wait_all(&until->condition, 1, TERN_TIMEOUT_DEFAULT));
    }
    return TERN_OK;
}

static int run_kernel(struct server *server, struct work *work)
{
    struct tern__kernel *called = &server->called;
    const int64_t begin_ns = tern__trace_start();
    serving = server;
    doing = work->message;
    tern__halt_ask = ask_halted;
    const bool well =
        tern__kernel_call_alone(called, work->message->name, work->kernel, work->args);
    int status = well ? await_deferred(called->defers) : TERN_OK;
    tern__halt_ask = NULL;
    doing = NULL;
    if (called->defers != NULL) {
        called->defers->count = 0;
    }
    tern__trace_add(TERN__TRACE_TASK, work->message->name, begin_ns, 0);
    return well ? status : tern__fail(TERN_ERR_KERNEL, "%s", called->failure);
}

// On the thread that orchestrates.
static int orchestrate(tern_graph *graph, void *arg)
{
    struct work *work = arg;
    doing = work->message;
    const int status = work->orchestration(graph, work->args);
    doing = NULL;
    return status;
}

// An orchestration, or a graph that is whole.
static int run_graph(struct server *server, struct work *work)
{
    if (server->cores == NULL) {
        const tern_chip_options options = {.aic_count = server->options.aic_count,
                                           .aiv_count = server->options.aiv_count};
        TERN_TRY(tern__chip_create_contained(server->comm, &options, NULL, &server->cores));
    }
    TERN_TRY(work->graph != NULL
                 ? tern_chip_launch(server->cores, work->graph)
                 : tern_chip_orchestrate(server->cores, server->graph, orchestrate, work, NULL));
    return tern_chip_synchronize(server->cores);
}

static int run_task(struct server *server, const struct tern__node_message *message)
{
    struct work *work = &server->work;
    work->message = message;
    work->kernel = NULL;
    work->orchestration = NULL;
    work->graph = NULL;
    work->staged_count = 0;
    TERN_TRY(find_function(server, work));
    int status = unpack(server, work);
    if (status == TERN_OK) {
        status = work->kernel != NULL ? run_kernel(server, work) : run_graph(server, work);
    }
    const bool stuck = server->cores != NULL && server->cores->stuck;
    for (int i = 0; i < work->staged_count && !stuck; i++) {
        status = status == TERN_OK ? tern__stage_put(server->window, &work->staged[i]) : status;
        tern__stage_end(&work->staged[i]);
    }
    return status;
}

// Counts the message, with a report if need be.
static int answer(struct server *server, int status)
{
    if (status != TERN_OK) {
        struct tern__node_report report = {.number = server->number + 1, .status = status};
        snprintf(report.text, sizeof report.text, "%s", tern_last_error());
        TERN_TRY(tern_put(server->window, 0, tern__node_report_at(server->chip, server->number),
                          &report, sizeof report));
    }
    return tern_signal_notify(server->window, 0, tern__node_done_at(server->chip), 1,
                              TERN_NOTIFY_ADD);
}

static int await_message(const struct server *server)
{
    int status;
    do {
        status = tern_signal_wait(server->window, TERN__NODE_SENT, TERN_CMP_NE,
                                  (int32_t)server->number, IDLE_NS);
    } while (status == TERN_ERR_TIMEOUT && tern__comm_check(server->comm) == TERN_OK);
    return status;
}

static int serve(struct server *server)
{
    for (;; server->number++) {
        TERN_TRY(await_message(server));
        const struct tern__node_message *message = (const struct tern__node_message *)(const void *)
            tern__window_at(server->window, server->chip + 1, tern__node_slot_at(server->number));
        int status = TERN_OK;
        if (message->kind == TERN__NODE_RUN) {
            status = run_task(server, message);
        } else if (message->kind == TERN__NODE_LOAD) {
            status = tern_graph_load(server->graph, (const char *)(message + 1));
        }
        const bool ends = message->kind == TERN__NODE_END;
        TERN_TRY(tern__comm_check(server->comm)); // the cause of what a kernel says of it
        TERN_TRY(answer(server, status));
        if (ends) {
            return TERN_OK;
        }
    }
}

static int check_options(tern_comm *comm, const tern_serve_options *options)
{
    const char *call = "tern_node_serve";
    TERN_TRY(tern__comm_lives(call, comm));
    if (tern_comm_rank(comm) == 0) {
        return tern__fail(TERN_ERR_ARG, "%s: rank 0 is the host: tern_node_create", call);
    }
    if (options->functions_count < 0 ||
        (options->functions == NULL && options->functions_count > 0)) {
        return tern__fail(TERN_ERR_ARG, "%s: %d functions at %p", call, options->functions_count,
                          (const void *)options->functions);
    }
    for (int i = 0; i < options->functions_count; i++) {
        const tern_node_function *function = &options->functions[i];
        const int sorts = (function->kernel != NULL) + (function->orchestration != NULL) +
                          (function->graph != NULL);
        if (function->name == NULL || sorts != 1) {
            return tern__fail(TERN_ERR_ARG,
                              "%s: function %d, '%s', must have a name, and a kernel, an "
                              "orchestration or a graph",
                              call, i, function->name != NULL ? function->name : "(no name)");
        }
    }
    return TERN_OK;
}

static int join(tern_comm *comm, struct server *server)
{
    struct tern__node_hello hello = {0};
    TERN_TRY(tern_comm_split(comm, 0, tern_comm_rank(comm), &server->comm));
    TERN_TRY(tern_broadcast(server->comm, &hello, &hello, sizeof hello, TERN_U8, 0));
    if (hello.magic != TERN__NODE_MAGIC) {
        return tern__group_fail(&server->comm->group, TERN_ERR_MISMATCH, server->chip + 1,
                                "tern_node_serve: rank 0 is in no tern_node_create of this "
                                "version");
    }
    TERN_TRY(tern_window_create(server->comm, hello.window_bytes, NULL, &server->window));
    server->called.comm = server->comm;
    return tern_graph_create_rings(NULL, &server->graph);
}

static int node_serve(tern_comm *comm, const tern_serve_options *options)
{
    const tern_serve_options none = {0};
    TERN_TRY(check_options(comm, options != NULL ? options : &none));
    struct server *server = aligned_alloc(_Alignof(struct server), sizeof *server);
    if (server == NULL) {
        return tern__fail(TERN_ERR_MEMORY, "tern_node_serve: no memory");
    }
    memset(server, 0, sizeof *server);
    server->options = options != NULL ? *options : none;
    server->chip = tern_comm_rank(comm) - 1;
    int status = join(comm, server);
    if (status == TERN_OK) {
        status = serve(server);
    }
    char why[TERN_ERROR_BYTES];
    snprintf(why, sizeof why, "%s", tern_last_error());
    if (status != TERN_OK && server->comm != NULL) { // the host and the others must not wait
        tern__group_fail(&server->comm->group, status, server->chip + 1,
                         "chip %d (rank %d): %.400s", server->chip, server->chip + 1, why);
    }
    const int left = tern_chip_destroy(server->cores);
    if (left != TERN_OK) { // a kernel that has not returned uses all the rest
        return status != TERN_OK ? tern__fail(status, "%s", why) : left;
    }
    tern_status_ignore(tern_graph_destroy(server->graph));
    tern_status_ignore(tern_window_destroy(server->window));
    tern_status_ignore(tern_comm_destroy(server->comm));
    free(server->called.defers);
    free(server);
    return status != TERN_OK ? tern__fail(status, "%s", why) : TERN_OK;
}

int tern_node_serve(tern_comm *comm, const tern_serve_options *options)
{
    return TERN__CALL_OF_CALLS(node_serve(comm, options));
}
