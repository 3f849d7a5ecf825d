// SPDX-License-Identifier: Apache-2.0
// A chip from inside: the hand-off between scheduler and cores, and the state of a run.
#ifndef TERN_GRAPH_CHIP_H
#define TERN_GRAPH_CHIP_H

#include <pthread.h>
#include <stdalign.h>

#include "base/error.h"
#include "base/handle.h"
#include "comm/comm.h"
#include "graph/graph.h"
#include "sync/wait.h"

#define TERN__NO_TASK UINT32_MAX

// The scheduler gives a core one task at a time: it writes `task` and the run, then counts `given`
// up; the core counts `done` up when the kernel has returned. Equal counts: the core is idle.
struct tern__core {
    alignas(TERN_CACHE_LINE) _Atomic uint32_t given; // written by the scheduler
    uint32_t task;
    uint32_t run;
    const tern_graph *graph;
    struct tern__bell bell; // the core sleeps on it

    alignas(TERN_CACHE_LINE) _Atomic uint32_t done; // written by the core
    bool failed;                                    // valid with `done`
    char failure[TERN_ERROR_BYTES];                 // the kernel's sentence

    struct tern_chip *chip;
    tern_core kind;
    int index; // among its kind
    bool started;
    pthread_t thread;
};

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
    int aic_count;
    int aiv_count;
    int64_t timeout_ns;
    int cpus;                 // this process may use, when it was created
    struct tern__core *cores; // AIC first
    bool scheduler_started;
    pthread_t scheduler;

    struct tern__bell own_bell;    // for a chip without a communicator
    struct tern__bell launch_bell; // the scheduler sleeps on it between runs
    struct tern__bell host_bell;   // tern_chip_synchronize sleeps on it
    _Atomic uint32_t launched;     // runs launched; written by the host
    _Atomic uint32_t completed;    // runs ended; written by the scheduler
    _Atomic uint32_t stop;         // threads end
    struct tern__run run;          // prepared by the host before `launched` counts up
    bool unsynchronized;           // a run has been launched and not yet synchronized
    bool stuck;                    // a kernel has not returned
    int result;                    // of the last run, valid with `completed`
    char result_text[TERN_ERROR_BYTES];
};

static inline int tern__chip_cores(const struct tern_chip *chip)
{
    return chip->aic_count + chip->aiv_count;
}

static inline bool tern__core_busy(const struct tern__core *core)
{
    // partner: the publication of `done` in core.c; the scheduler itself writes `given`.
    return tern__flag_load(&core->done) != tern__peek(&core->given);
}

// The bell that the scheduler sleeps on during a run: the rank's doorbell, which peers ring too.
static inline struct tern__bell *tern__chip_bell(struct tern_chip *chip)
{
    if (chip->comm == NULL) {
        return &chip->own_bell;
    }
    struct tern__job *job = chip->comm->group.job;
    return &job->ctl->ranks[job->rank].bell;
}

struct tern__ladder tern__chip_ladder(const struct tern_chip *chip);

// Thread bodies; the argument is the core or the chip.
void *tern__core_main(void *core);
void *tern__scheduler_main(void *chip);

// "AIV 1"
void tern__core_text(const struct tern__core *core, char *text, size_t size);

#endif
