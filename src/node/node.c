// SPDX-License-Identifier: Apache-2.0
// Nodes on the host: made, run, ended. The communicator of a node is its own, so that what fails in
// a run fails nothing else.

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/public.h"
#include "graph/chip.h"
#include "graph/orchestrate.h"
#include "graph/rings.h"
#include "node/node.h"
#include "tern/coll.h"

enum { WINDOW = 4096 };
#define HEAP (UINT64_C(4) << 20)
#define MEMORY (UINT64_C(16) << 20)
#define MOST (UINT64_C(1) << 40)
#define UNIT UINT64_C(4096) // what sizes are rounded up to

static uint64_t round_up(uint64_t bytes, uint64_t otherwise)
{
    return ((bytes != 0 ? bytes : otherwise) + UNIT - 1) / UNIT * UNIT;
}

static int check_options(tern_comm *comm, const tern_node_options *options)
{
    const char *call = "tern_node_create";
    TERN_TRY(tern__comm_lives(call, comm));
    TERN_TRY(tern__comm_check(comm));
    if (tern_comm_size(comm) < 2 || tern_comm_rank(comm) != 0) {
        return tern__fail(TERN_ERR_ARG,
                          "%s: this is rank %d of %d; the host is rank 0, and every chip is "
                          "another rank",
                          call, tern_comm_rank(comm), tern_comm_size(comm));
    }
    if (options->heap_bytes > MOST || options->memory_bytes > MOST || options->host_threads < 0 ||
        options->host_threads > TERN_CORES_MAX) {
        return tern__fail(TERN_ERR_ARG,
                          "%s: %llu bytes of heap, %llu of memory, %d threads; at most %llu bytes "
                          "and %d threads",
                          call, (unsigned long long)options->heap_bytes,
                          (unsigned long long)options->memory_bytes, options->host_threads,
                          (unsigned long long)MOST, TERN_CORES_MAX);
    }
    return TERN_OK;
}

// What the host has for itself.
static int make_own(tern_node *node, const tern_node_options *options)
{
    const tern_chip_options threads = {.aiv_count =
                                           options->host_threads != 0 ? options->host_threads : 1,
                                       .timeout_ns = options->timeout_ns};
    TERN_TRY(tern__extents_create(&node->memory, round_up(options->memory_bytes, MEMORY)));
    TERN_TRY(tern_graph_create_rings(
        &(tern_ring_options){.window = {options->window != 0 ? options->window : WINDOW},
                             .heap = {round_up(options->heap_bytes, HEAP)}},
        &node->graph));
    node->away = tern__node_away;
    return tern__chip_create_contained(node->comm, &threads, &node->away, &node->chip);
}

static int make_window(tern_node *node, const tern_node_options *options)
{
    const uint64_t memory = round_up(options->memory_bytes, MEMORY);
    const uint64_t heaps = TERN_RINGS * round_up(options->heap_bytes, HEAP);
    struct tern__node_hello hello = {.window_bytes = TERN__NODE_MAIL_BYTES + memory + heaps,
                                     .magic = TERN__NODE_MAGIC};
    TERN_TRY(tern_broadcast(node->comm, &hello, &hello, sizeof hello, TERN_U8, 0));
    TERN_TRY(tern_window_create(node->comm, hello.window_bytes, NULL, &node->window));
    tern__rings_lend_heap(node->graph->rings,
                          tern__window_at(node->window, 0, TERN__NODE_MAIL_BYTES + memory));
    return TERN_OK;
}

static void free_domains(tern_node *node)
{
    while (node->domains != NULL) {
        tern_domain *next = node->domains->next;
        tern__handle_free(node->domains, sizeof *node->domains);
        node->domains = next;
    }
    while (node->destroyed != NULL) {
        tern_domain *next = node->destroyed->next;
        free(node->destroyed);
        node->destroyed = next;
    }
}

// No chip serves any more, or none of them is waited for.
static int free_node(tern_node *node, bool keeps_memory)
{
    TERN_TRY(tern_chip_destroy(node->chip)); // a kernel that has not returned uses all the rest
    tern_status_ignore(tern_graph_destroy(node->graph));
    tern_status_ignore(keeps_memory ? tern_window_release(node->window)
                                    : tern_window_destroy(node->window));
    tern_status_ignore(tern_comm_destroy(node->comm));
    tern__extents_destroy(&node->memory);
    free_domains(node);
    pthread_mutex_destroy(&node->lock);
    tern__handle_free(node, sizeof *node);
    return TERN_OK;
}

static int node_create(tern_comm *comm, const tern_node_options *options, tern_node **node)
{
    const tern_node_options wanted = options != NULL ? *options : (tern_node_options){0};
    if (node == NULL) {
        return tern__fail(TERN_ERR_ARG, "tern_node_create: node must not be NULL");
    }
    TERN_TRY(check_options(comm, &wanted));
    tern_node *made = tern__handle_new(TERN__NODE, sizeof *made);
    if (made == NULL) {
        return tern__fail(TERN_ERR_MEMORY, "tern_node_create: no memory");
    }
    pthread_mutex_init(&made->lock, NULL);
    made->chips = tern_comm_size(comm) - 1;
    made->refused_by = -1;
    int status = tern_comm_split(comm, 0, 0, &made->comm);
    status = status == TERN_OK ? make_own(made, &wanted) : status;
    status = status == TERN_OK ? make_window(made, &wanted) : status;
    if (status != TERN_OK) {
        char why[TERN_ERROR_BYTES];
        snprintf(why, sizeof why, "%s", tern_last_error());
        if (made->comm != NULL) { // chips must not wait
            tern__group_fail(&made->comm->group, status, 0, "the node's host: %.400s", why);
        }
        tern_status_ignore(free_node(made, false));
        return tern__fail(status, "%s", why);
    }
    *node = made;
    return TERN_OK;
}

int tern_node_create(tern_comm *comm, const tern_node_options *options, tern_node **node)
{
    return TERN__CALL_OF_CALLS(node_create(comm, options, node));
}

int tern_node_chips(const tern_node *node)
{
    return tern__handle_lives(node, TERN__NODE) ? node->chips : 0;
}

static int check_outside(const char *call, const tern_node *node)
{
    TERN_TRY(tern__handle_check(call, node, TERN__NODE));
    return !tern__orchestrates_on(node->chip) && !tern__kernel_runs_on(node->chip)
               ? TERN_OK
               : tern__fail(TERN_ERR_STATE,
                            "%s: the caller is part of a run of this node, and would wait for "
                            "itself",
                            call);
}

static int node_launch(tern_node *node, tern_orchestration orchestration, void *arg)
{
    TERN_TRY(check_outside("tern_node_launch", node));
    pthread_mutex_lock(&node->lock);
    const bool before = node->launched;
    node->launched = true;
    pthread_mutex_unlock(&node->lock);
    const int status = tern_chip_orchestrate(node->chip, node->graph, orchestration, arg, NULL);
    if (status != TERN_OK) {
        pthread_mutex_lock(&node->lock);
        node->launched = before;
        pthread_mutex_unlock(&node->lock);
    }
    return status;
}

int tern_node_launch(tern_node *node, tern_orchestration orchestration, void *arg)
{
    return TERN__CALL_OF_CALLS(node_launch(node, orchestration, arg));
}

static int node_synchronize(tern_node *node)
{
    TERN_TRY(check_outside("tern_node_synchronize", node));
    const int status = tern_chip_synchronize(node->chip);
    if (!node->chip->unsynchronized) {
        pthread_mutex_lock(&node->lock);
        node->launched = false;
        tern__node_collect(node);
        pthread_mutex_unlock(&node->lock);
    }
    return status;
}

int tern_node_synchronize(tern_node *node)
{
    return TERN__CALL_OF_CALLS(node_synchronize(node));
}

static int node_run(tern_node *node, tern_orchestration orchestration, void *arg)
{
    TERN_TRY(node_launch(node, orchestration, arg));
    return node_synchronize(node);
}

int tern_node_run(tern_node *node, tern_orchestration orchestration, void *arg)
{
    return TERN__CALL_OF_CALLS(node_run(node, orchestration, arg));
}

static int node_load(tern_node *node, const char *path)
{
    const char *call = "tern_node_load";
    TERN_TRY(check_outside(call, node));
    if (path == NULL || *path == '\0' || strlen(path) >= 4096) {
        return tern__fail(TERN_ERR_ARG, "%s: path must be of 1 to 4095 characters", call);
    }
    if (node->launched) {
        return tern__fail(TERN_ERR_STATE, "%s: a run goes on; synchronize first", call);
    }
    TERN_TRY(tern__comm_check(node->comm));
    return tern__node_tell(call, node, TERN__NODE_LOAD, path);
}

int tern_node_load(tern_node *node, const char *path)
{
    return TERN__CALL_OF_CALLS(node_load(node, path));
}

static int node_destroy(const char *call, tern_node *node, bool keeps_memory)
{
    if (node == NULL || tern__handle_is_inherited(node, TERN__NODE)) {
        return TERN_OK; // in a child: its threads and chips are the parent's
    }
    TERN_TRY(check_outside(call, node));
    if (node->launched) {
        tern_status_ignore(node_synchronize(node)); // nobody waits for its result any more
    }
    if (tern__comm_check(node->comm) == TERN_OK) {
        tern_status_ignore(tern__node_tell(call, node, TERN__NODE_END, ""));
    }
    return free_node(node, keeps_memory);
}

int tern_node_destroy(tern_node *node)
{
    return TERN__CALL_OF_CALLS(node_destroy("tern_node_destroy", node, false));
}

static int node_release(tern_node *node, void **address, size_t *size_bytes)
{
    const char *call = "tern_node_release";
    if (address == NULL || size_bytes == NULL) {
        return tern__fail(TERN_ERR_ARG, "%s: address and size_bytes must not be NULL", call);
    }
    TERN_TRY(tern__handle_check(call, node, TERN__NODE));
    char *const base = node->window->base;
    const size_t bytes = node->window->size_bytes * (size_t)node->window->nranks;
    TERN_TRY(node_destroy(call, node, true));
    *address = base;
    *size_bytes = bytes;
    return TERN_OK;
}

int tern_node_release(tern_node *node, void **address, size_t *size_bytes)
{
    return TERN__CALL_OF_CALLS(node_release(node, address, size_bytes));
}
