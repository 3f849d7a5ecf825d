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

#define TERN__NO_TASK UINT32_MAX

// One run of one graph; only the scheduler touches it.
struct tern__run {
    tern_graph *graph;
    uint32_t number;
    uint32_t *pending;  // per task: unfinished predecessors
    uint32_t *ready[2]; // per kind of core: a queue of tasks
    size_t ready_head[2], ready_tail[2];
    uint32_t *waiting; // tasks that only wait for signals
    int64_t *waiting_since_ns;
    size_t waiting_count;
    size_t finished;
    int64_t deadline_ns;
    int64_t look_ns; // when to look again whether the peers live
};

struct tern_chip {
    struct tern__handle handle;
    struct tern_comm *comm; // or NULL
    int64_t timeout_ns;
    struct tern__cores cores;
    bool scheduler_started;
    pthread_t scheduler;

    struct tern__bell launch_bell; // the scheduler sleeps on it between runs
    struct tern__bell host_bell;   // tern_chip_synchronize sleeps on it
    _Atomic uint32_t launched;     // runs launched; written by the host
    _Atomic uint32_t completed;    // runs ended; written by the scheduler
    _Atomic uint32_t stop;         // the scheduler ends
    struct tern__run run;          // prepared by the host before `launched` counts up
    bool unsynchronized;           // a run has been launched and not yet synchronized
    bool stuck;                    // a kernel has not returned
    int result;                    // of the last run, valid with `completed`
    char result_text[TERN_ERROR_BYTES];
};

// The scheduler's thread; the argument is the chip.
void *tern__scheduler_main(void *chip);

#endif
