// SPDX-License-Identifier: Apache-2.0
// Cores: threads that each run one kernel at a time, and the mailbox in which a core finds the
// next. Who gives work to cores, and why, they do not know: that is a thread above.
#ifndef TERN_STREAM_CORE_H
#define TERN_STREAM_CORE_H

#include <pthread.h>
#include <stdalign.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/trace.h"
#include "sync/job.h"
#include "tern/graph.h"

// One call of a kernel. It stays where it is until the core is done with it.
struct tern__kernel_call {
    tern_kernel kernel;
    const int64_t *args; // the kernel gets a copy
    const char *name;    // for reports and traces
    // What the slice of the call in a trace has besides name and time; NULL: nothing.
    void (*describe)(const struct tern__kernel_call *call, struct tern__trace_event *event);
    uint32_t args_count;
    tern_core core; // the kind of core it runs on
};

// A core gets one call at a time: who gives it writes `call` and `run`, then counts `given` up; the
// core counts `done` up when the kernel has returned. Equal counts: the core is idle.
struct tern__core {
    alignas(TERN_CACHE_LINE) _Atomic uint32_t given; // written by who gives
    uint32_t run;                                    // for tern_kernel_run
    const struct tern__kernel_call *call;
    struct tern__bell bell; // the core sleeps on it

    alignas(TERN_CACHE_LINE) _Atomic uint32_t done; // written by the core
    bool failed;                                    // valid with `done`
    char failure[TERN_ERROR_BYTES];                 // the kernel's sentence

    struct tern__cores *all;
    tern_core kind;
    int index; // among its kind
    bool started;
    pthread_t thread;
};

// The cores of a chip.
struct tern__cores {
    struct tern__job *job; // NULL: a process without peers
    int aic_count;
    int aiv_count;
    int cpus;                  // this process may use, when they were started
    struct tern__core *list;   // AIC first
    struct tern__bell bell;    // for a process without peers: tern__cores_bell
    _Atomic uint32_t stopping; // their threads end when they are idle
};

static inline int tern__cores_count(const struct tern__cores *cores)
{
    return cores->aic_count + cores->aiv_count;
}

// Starts the threads. When it fails, none is left.
int tern__cores_start(struct tern__cores *cores, struct tern__job *job, int aic_count,
                      int aiv_count);

// Ends the threads, all of which must be idle, and frees the cores. In a child of a fork, which has
// no such threads: only frees them.
void tern__cores_stop(struct tern__cores *cores);
void tern__cores_forget(struct tern__cores *cores);

// The bell that a core rings when it is done: the rank's doorbell, which peers ring too.
static inline struct tern__bell *tern__cores_bell(struct tern__cores *cores)
{
    struct tern__job *job = cores->job;
    return job == NULL ? &cores->bell : &job->ctl->ranks[job->rank].bell;
}

// For waits of the cores and of the thread that gives them work.
struct tern__ladder tern__cores_ladder(const struct tern__cores *cores);

static inline bool tern__core_busy(const struct tern__core *core)
{
    // partner: the publication of `done` in core.c; the caller itself writes `given`.
    return tern__flag_load(&core->done) != tern__peek(&core->given);
}

// Gives an idle core a call. From one thread at a time.
static inline void tern__core_give(struct tern__core *core, const struct tern__kernel_call *call,
                                   uint32_t run)
{
    core->call = call;
    core->run = run;
    tern__flag_add(&core->given, 1); // partner: has_work in core.c
    tern__bell_ring(&core->bell);
}

// "AIV 1"
void tern__core_text(const struct tern__core *core, char *text, size_t size);

#endif
