// SPDX-License-Identifier: Apache-2.0
// Cores: threads that run kernels. A core takes ready tasks of its kind itself (ready.h), and
// when it has finished one, makes ready what comes after it (run.h): no thread decides for it. Only
// tasks that need several cores at once are given to cores (gang.h), and for those a core says in
// `state` whether it may be had:
//
//     BUSY  the core's own: it runs a task, or looks for one
//     IDLE  nobody's: the core takes it back (BUSY), or gang.c takes it (HELD)
//     HELD  kept for a task whose other cores are not there yet; goes back to IDLE, or
//     GIVEN there is a block to run
#ifndef TERN_GRAPH_CORE_H
#define TERN_GRAPH_CORE_H

#include <pthread.h>
#include <stdalign.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/trace.h"
#include "graph/kernel.h"
#include "graph/ready.h"
#include "graph/task.h"
#include "isa/cluster.h"
#include "sync/job.h"

enum tern__core_state { TERN__CORE_BUSY, TERN__CORE_IDLE, TERN__CORE_HELD, TERN__CORE_GIVEN };

struct tern__core {
    alignas(TERN_CACHE_LINE) _Atomic uint32_t state;
    struct tern__bell bell; // the core sleeps on it
    // Of GIVEN, and under the lock of gang.c.
    struct tern__task *given;
    int given_block, given_slot;
    struct tern__cluster *given_cluster; // NULL: of a task that is not mixed
    struct tern__task *held_for;

    alignas(TERN_CACHE_LINE) _Atomic(struct tern__task *) running; // for reports
    // Tasks of the run that the core has ended, and those of them that did not run well; told: to
    // the run.
    _Atomic uint32_t ended, skipped;
    _Atomic uint32_t told_ended;
    _Atomic uint32_t looks;     // times that it had nothing to do, and looked at signals
    uint32_t burst;             // tasks that it has run since it last waited for one
    uint32_t pause_ns, tries;   // of await_several
    struct tern__ready_own own; // of the only core of its kind
    struct tern__kernel called;

    struct tern_chip *chip;
    int kind;  // TERN_CORE_AIC or TERN_CORE_AIV
    int index; // among its kind
    bool only; // it is the only one
    bool started;
    pthread_t thread;
};

#define TERN__IDLE_WORDS (TERN_CORES_MAX / 64)

// The cores of a chip.
struct tern__cores {
    struct tern__job *job; // NULL: a process without peers
    int aic_count;
    int aiv_count;
    int cpus;                  // this process may use, when they were started
    struct tern__core *list;   // AIC first
    struct tern__cluster *clusters;
    _Atomic uint32_t stopping; // their threads end when they are idle
    alignas(TERN_CACHE_LINE) _Atomic(struct tern__ready *) ready[2];
    alignas(TERN_CACHE_LINE) _Atomic uint64_t idle[2][TERN__IDLE_WORDS]; // bits of cores that wait
};

static inline int tern__cores_count(const struct tern__cores *cores)
{
    return cores->aic_count + cores->aiv_count;
}

static inline int tern__cores_of(const struct tern__cores *cores, int kind)
{
    return kind == TERN_CORE_AIC ? cores->aic_count : cores->aiv_count;
}

static inline struct tern__core *tern__core_at(struct tern__cores *cores, int kind, int index)
{
    return &cores->list[kind == TERN_CORE_AIC ? index : cores->aic_count + index];
}

// Clusters: core AIC c with AIV 2c and 2c + 1.
static inline int tern__cores_clusters(const struct tern__cores *cores)
{
    return cores->aic_count < cores->aiv_count / 2 ? cores->aic_count : cores->aiv_count / 2;
}

// Starts the threads. When it fails, none is left.
int tern__cores_start(struct tern_chip *chip, int aic_count, int aiv_count);

// Ends the threads, all of which must be idle, and frees the cores. In a child of a fork, which has
// no such threads: only frees them.
void tern__cores_stop(struct tern__cores *cores);
void tern__cores_forget(struct tern__cores *cores);

// Queues for so many ready tasks; between runs. TERN_ERR_MEMORY.
int tern__cores_room(struct tern__cores *cores, uint64_t tasks);

// Whether no core sleeps; and, counted up, how often any had nothing to do.
bool tern__cores_awake(const struct tern__cores *cores);
uint32_t tern__cores_looks(const struct tern__cores *cores);

// Wakes one core of the kind that waits, if any does.
void tern__cores_wake(struct tern__cores *cores, int kind);

// For waits of the cores and of the threads around them.
struct tern__ladder tern__cores_ladder(const struct tern__cores *cores);

// "AIV 1"
void tern__core_text(const struct tern__core *core, char *text, size_t size);

#endif
