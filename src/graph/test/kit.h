// SPDX-License-Identifier: Apache-2.0
// Helpers for the tests of graphs: short forms for tasks, and checks of statuses with sentences
// that serve both cmocka (assert_true) and bodies of forked ranks (CHECK).
#ifndef TERN_GRAPH_TEST_KIT_H
#define TERN_GRAPH_TEST_KIT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "support/look.h"
#include "support/random.h"
#include "support/ranks.h"
#include "support/sanitized.h"
#include "tern/graph.h"
#include "tern/put.h"
#include "tern/window.h"

#define MS INT64_C(1000000)

// Whether the last sentence contains `text`; if not, prints it.
static inline bool said(const char *text)
{
    return says(0, 0, text);
}

static inline bool fine(int status)
{
    if (status != TERN_OK) {
        fprintf(stderr, "%s: %s\n", tern_status_name(status), tern_last_error());
    }
    return status == TERN_OK;
}

static inline int64_t clock_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static inline void sleep_ns(int64_t duration_ns)
{
    struct timespec time = {.tv_sec = duration_ns / 1000000000,
                            .tv_nsec = duration_ns % 1000000000};
    nanosleep(&time, NULL);
}

static inline int64_t word(const void *pointer)
{
    return (int64_t)(intptr_t)pointer;
}

static inline void *pointer(int64_t value)
{
    return (void *)(intptr_t)value;
}

// Adds a task with up to two arguments; its id, or a negative status.
static inline int add_task(tern_graph *graph, const char *name, tern_kernel kernel, tern_core core,
                           int64_t first, int64_t second)
{
    int64_t args[2] = {first, second};
    tern_task task = {.name = name, .kernel = kernel, .core = core, .args = args, .args_count = 2};
    int id = -1;
    int status = tern_graph_add_task(graph, &task, &id);
    return status == TERN_OK ? id : status;
}

static inline int add_wait(tern_graph *graph, int task, tern_window *window, size_t offset_bytes,
                           int32_t value, int32_t step)
{
    tern_condition condition = {.window = window,
                                .offset_bytes = offset_bytes,
                                .cmp = TERN_CMP_GE,
                                .value = value};
    return tern_graph_add_wait(graph, task, &condition, step);
}

// A kernel that counts its calls: args[0] points to the counter.
static inline void count_call(int64_t *args)
{
    atomic_fetch_add((_Atomic int *)pointer(args[0]), 1);
}

// A kernel that does nothing.
static inline void do_nothing(int64_t *args)
{
    (void)args;
}

#endif
