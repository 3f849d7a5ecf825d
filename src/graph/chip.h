// SPDX-License-Identifier: Apache-2.0
// A chip from inside: its cores, its scheduler, what is launched, and the run that goes on.
#ifndef TERN_GRAPH_CHIP_H
#define TERN_GRAPH_CHIP_H

#include <pthread.h>

#include "base/error.h"
#include "base/handle.h"
#include "comm/comm.h"
#include "graph/code.h"
#include "graph/core.h"
#include "graph/gang.h"
#include "graph/graph.h"
#include "graph/hold.h"
#include "graph/history.h"
#include "graph/run.h"
#include "sync/wait.h"

struct tern__chip_launch {
    tern_graph *graph;
    uint32_t number;                  // of the graph's launches
    tern_orchestration orchestration; // NULL: the graph is whole
    void *arg;
    bool build_first;
    uint64_t room; // tasks that may be ready at once
};

struct tern__away;

struct tern_chip {
    struct tern__handle handle;
    struct tern_comm *comm;  // or NULL
    struct tern__away *away; // who runs what its cores do not, or NULL
    bool contained;          // what fails in a kernel is no failure of the communicator
    int64_t timeout_ns;
    struct tern__cores cores;
    struct tern__gangs gangs;
    struct tern__holds holds;
    bool scheduler_started;
    pthread_t scheduler;
    bool orchestrator_started;
    pthread_t orchestrator;

    uint64_t number; // of the process's chips, from 1

    struct tern__bell bell;              // of a chip without peers: tern__chip_bell
    struct tern__bell nap_bell;          // tern__chip_ring
    struct tern__bell launch_bell;       // the scheduler sleeps on it between runs
    struct tern__bell host_bell;         // tern_chip_synchronize sleeps on it
    struct tern__bell orchestrator_bell; // the orchestration's thread sleeps on it between runs
    struct tern__bell room_bell;         // and on this while it waits for room or an element
    _Atomic uint32_t launched;           // launches so far; written by the host
    _Atomic uint32_t completed;          // those of them that have ended; by the scheduler
    struct tern__chip_launch
        launches[TERN_CHIP_LAUNCHES_MAX];   // launch i is in i % TERN_CHIP_LAUNCHES_MAX
    _Atomic uint32_t stop;                  // the scheduler and the orchestrator end
    _Atomic uint32_t interrupted;           // who synchronizes wants the run to end
    struct tern__run run;                   // the last that was started
    struct tern__history *history;          // NULL: not asked for
    _Atomic uint32_t orchestrates;          // the orchestration has not returned
    _Atomic uint32_t orchestrator_waits;    // for what: a code of graph_code.def
    struct tern__chip_launch *orchestrated; // meanwhile
    bool unsynchronized;                    // there are launches that have not been synchronized
    bool stuck;                             // a kernel or an orchestration has not returned
    int result;       // the first failure since the host synchronized, valid with `completed`
    int result_code;  // its number in graph_code.def
    int told_code;    // that of the last failure that the host was told
    uint32_t dropped; // launches that were not started because of it
    char result_text[TERN_ERROR_BYTES];
};

// tern_chip_create of a chip of a node, whose kernels' failures are not the communicator's.
// away: NULL where all its tasks are for its cores.
int tern__chip_create_contained(tern_comm *comm, const tern_chip_options *options,
                                struct tern__away *away, tern_chip **chip);

// The rank's doorbell, which peers ring too.
static inline struct tern__bell *tern__chip_bell(struct tern_chip *chip)
{
    struct tern__job *job = chip->comm != NULL ? chip->comm->group.job : NULL;
    return job == NULL ? &chip->bell : &job->ctl->ranks[job->rank].bell;
}

// A thread of this process has ended or changed something that the scheduler waits for. While cores
// look at signals, that sleeps where peers do not ring.
static inline void tern__chip_ring(struct tern_chip *chip)
{
    tern__bell_ring(tern__chip_bell(chip));
    tern__bell_ring(&chip->nap_bell);
}

// report.c: what runs and what waits, as a sentence without its end.
void tern__run_describe(struct tern_chip *chip, char *text, size_t size);

// Whether a core runs a kernel now.
bool tern__run_has_kernel(const struct tern_chip *chip);

// Why a run has not ended in time, as a sentence without its end; its code.
int tern__run_classify(struct tern_chip *chip, char *text, size_t size);

// Whether only signals of windows bring the run further: nothing runs, is ready or is being built.
// Writes the first task that waits, and for what: "task 'x' for byte 8 of window 0".
bool tern__run_is_held(struct tern_chip *chip, char *text, size_t size);

// What the other ranks do, "; " before it, when tasks wait for signals of theirs: who of them could
// notify is not known. But when nothing runs on any rank, they wait for each other.
void tern__run_describe_others(struct tern_chip *chip, int status, char *text, size_t size);

// The threads; the argument is the chip.
void *tern__scheduler_main(void *chip);
void *tern__orchestrator_main(void *chip);

#endif
