// SPDX-License-Identifier: Apache-2.0
// A chip from inside: its scheduler, its cores, and the state of a run.
#ifndef TERN_GRAPH_CHIP_H
#define TERN_GRAPH_CHIP_H

#include <pthread.h>

#include "base/error.h"
#include "base/handle.h"
#include "comm/comm.h"
#include "stream/core.h"
#include "graph/graph.h"
#include "sync/wait.h"

// `last` counts while `first` is not NULL.
struct tern__task_list {
    struct tern__graph_task *first, *last;
};

static inline void tern__task_append(struct tern__task_list *list, struct tern__graph_task *task)
{
    task->next = NULL;
    *(list->first != NULL ? &list->last->next : &list->first) = task;
    list->last = task;
}

// One run of one graph; only the scheduler touches it.
struct tern__run {
    tern_graph *graph;
    uint32_t number;
    struct tern__task_list ready[2]; // per kind of core, in the order in which they became ready
    struct tern__task_list waiting;  // those that only wait for signals
    uint32_t finished;
    int64_t deadline_ns;
    int64_t look_ns; // when to look again whether the peers live
};

struct tern__chip_launch {
    tern_graph *graph;
    uint32_t number; // of the graph's launches
};

struct tern_chip {
    struct tern__handle handle;
    struct tern_comm *comm; // or NULL
    int64_t timeout_ns;
    struct tern__cores cores;
    bool scheduler_started;
    pthread_t scheduler;

    uint64_t number; // of the process's chips, from 1

    struct tern__bell launch_bell; // the scheduler sleeps on it between runs
    struct tern__bell host_bell;   // tern_chip_synchronize sleeps on it
    _Atomic uint32_t launched;     // launches so far; written by the host
    _Atomic uint32_t completed;    // those of them that have ended; written by the scheduler
    struct tern__chip_launch
        launches[TERN_CHIP_LAUNCHES_MAX]; // launch i is in i % TERN_CHIP_LAUNCHES_MAX
    _Atomic uint32_t stop;                // the scheduler ends
    struct tern__run run;                 // the last that was started
    bool unsynchronized;                  // there are launches that have not been synchronized
    bool stuck;                           // a kernel has not returned
    int result;       // the first failure since the host synchronized, valid with `completed`
    uint32_t dropped; // launches that were not started because of it
    char result_text[TERN_ERROR_BYTES];
};

// tern_chip_launch without its checks, also of a graph whose table is still open.
int tern__chip_start(struct tern_chip *chip, tern_graph *graph);

// report.c: what runs and what waits, as a sentence without its end; `held` is the task of each
// core.
void tern__run_describe(const struct tern_chip *chip, struct tern__graph_task *const *held,
                        char *text, size_t size);

// What the other ranks do, "; " before it, when tasks wait for signals of theirs: who of them could
// notify is not known.
void tern__run_describe_others(const struct tern_chip *chip, int status, char *text, size_t size);

// The scheduler's thread; the argument is the chip.
void *tern__scheduler_main(void *chip);

#endif
