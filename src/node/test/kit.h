// SPDX-License-Identifier: Apache-2.0
// Helpers for the tests of nodes: one body for host and chips, regions of domains, short forms.
#ifndef TERN_NODE_TEST_KIT_H
#define TERN_NODE_TEST_KIT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "support/look.h"
#include "support/ranks.h"
#include "tern/node.h"
#include "tern/put.h"
#include "tern/window.h"

#define FLOATS 16 // of what most tasks work on

static inline bool fine(int status)
{
    if (status != TERN_OK) {
        fprintf(stderr, "%s: %s\n", tern_status_name(status), tern_last_error());
    }
    return status == TERN_OK;
}

// `count` floats at an address.
static inline tern_region floats(void *address, uint32_t count)
{
    tern_region region;
    if (tern_region_make(&region, address, &count, 1, TERN_REGION_F32) != TERN_OK) {
        fprintf(stderr, "%s\n", tern_last_error());
        memset(&region, 0, sizeof region);
    }
    return region;
}

static inline tern_region part(const tern_region *whole, uint32_t first, uint32_t count)
{
    tern_region view;
    if (tern_region_view(whole, &count, &first, &view) != TERN_OK) {
        fprintf(stderr, "%s\n", tern_last_error());
        memset(&view, 0, sizeof view);
    }
    return view;
}

static inline tern_region *region_of(int64_t arg)
{
    return (tern_region *)(intptr_t)arg;
}

static inline float *data_of(int64_t arg)
{
    return tern_region_data(region_of(arg));
}

static inline tern_task_arg in(tern_region *region)
{
    return (tern_task_arg){.access = TERN_IN, .region = region};
}

static inline tern_task_arg inout(tern_region *region)
{
    return (tern_task_arg){.access = TERN_INOUT, .region = region};
}

static inline tern_task_arg out(tern_region *region)
{
    return (tern_task_arg){.access = TERN_OUT, .region = region};
}

static inline tern_task_arg scalar(uint64_t value)
{
    return (tern_task_arg){.access = TERN_SCALAR, .scalar = value};
}

// A task for one chip with up to four arguments.
static inline int submit_to(tern_graph *graph, int chip, const char *function,
                            const tern_task_arg *args, int args_count)
{
    tern_node_task task = {.function = function,
                           .chips = &chip,
                           .chips_count = chip >= 0 ? 1 : 0,
                           .args = args,
                           .args_count = args_count};
    return tern_node_submit(graph, &task, NULL);
}

// The signal of a member of a domain, as a kernel has its context.
static inline int notify_at(const void *address)
{
    tern_window *window;
    int rank;
    size_t offset;
    int status = tern_window_find(address, &window, &rank, &offset);
    return status == TERN_OK ? tern_signal_notify(window, rank, offset, 1, TERN_NOTIFY_ADD)
                             : status;
}

static inline int get_at(const void *address, void *local, size_t bytes)
{
    tern_window *window;
    int rank;
    size_t offset;
    int status = tern_window_find(address, &window, &rank, &offset);
    return status == TERN_OK ? tern_get(window, rank, offset, local, bytes) : status;
}

static inline int put_at(const void *address, const void *local, size_t bytes)
{
    tern_window *window;
    int rank;
    size_t offset;
    int status = tern_window_find(address, &window, &rank, &offset);
    return status == TERN_OK ? tern_put(window, rank, offset, local, bytes) : status;
}

static inline int wait_at(const void *address, int32_t value)
{
    tern_window *window;
    int rank;
    size_t offset;
    int status = tern_window_find(address, &window, &rank, &offset);
    return status == TERN_OK
               ? tern_signal_wait(window, offset, TERN_CMP_GE, value, TERN_TIMEOUT_DEFAULT)
               : status;
}

// Makes a node on rank 0 and calls the host's part; all others serve.
struct node_test {
    int (*host)(tern_node *node, void *arg);
    void *arg;
    const tern_node_options *options;
    const tern_node_function *functions;
    int functions_count;
    int serve_status; // what serving is expected to return
};

static inline int node_body(tern_comm *comm, void *arg)
{
    const struct node_test *test = arg;
    if (tern_comm_rank(comm) != 0) {
        tern_serve_options options = {.functions = test->functions,
                                      .functions_count = test->functions_count};
        int status = tern_node_serve(comm, &options);
        CHECK(status == test->serve_status);
        // The node's failure is no failure of the communicator that it was made from.
        CHECK(status == TERN_ERR_PEER || fine(tern_comm_barrier(comm)));
        return 0;
    }
    tern_node *node;
    CHECK(fine(tern_node_create(comm, test->options, &node)));
    CHECK(tern_node_chips(node) == tern_comm_size(comm) - 1);
    CHECK(test->host(node, test->arg) == 0);
    CHECK(fine(tern_node_destroy(node)));
    CHECK(test->serve_status == TERN_ERR_PEER || fine(tern_comm_barrier(comm)));
    return 0;
}

#endif
