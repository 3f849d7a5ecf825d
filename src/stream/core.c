// SPDX-License-Identifier: Apache-2.0
// Core threads, and what kernels may ask and say. Data path: no allocation but at the start of the
// cores, no lock, system call or log, unless the core has nothing to do and sleeps.

#include "stream/core.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cgroup.h"
#include "stream/thread.h"
#include "sync/wait.h"

// The core whose kernel this thread runs, or NULL.
static _Thread_local struct tern__core *current;

void tern_kernel_fail(const char *format, ...)
{
    struct tern__core *core = current;
    if (core == NULL || core->failed) {
        return; // the first failure is the one to report
    }
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(core->failure, sizeof core->failure, format, arguments);
    va_end(arguments);
    core->failed = true;
}

int tern_kernel_run(void)
{
    return current != NULL ? (int)current->run : 0;
}

int tern_kernel_core(void)
{
    return current != NULL ? current->index : 0;
}

void tern__core_text(const struct tern__core *core, char *text, size_t size)
{
    snprintf(text, size, "%s %d", core->kind == TERN_CORE_AIC ? "AIC" : "AIV", core->index);
}

struct tern__ladder tern__cores_ladder(const struct tern__cores *cores)
{
    if (cores->job != NULL) {
        return tern__job_ladder(cores->job);
    }
    return tern__ladder_for(1 + tern__cores_count(cores), cores->cpus);
}

static bool has_work(void *arg)
{
    const struct tern__core *core = arg;
    // partner: tern__core_give, tern__cores_stop. `done` is this thread's own.
    return tern__flag_load(&core->given) != tern__peek(&core->done) ||
           tern__flag_load(&core->all->stopping) != 0;
}

static void trace_call(const struct tern__kernel_call *call, int64_t begin_ns)
{
    struct tern__trace_event event = {.begin_ns = begin_ns, .kind = TERN__TRACE_TASK};
    if (call->describe != NULL) {
        call->describe(call, &event);
    }
    tern__trace_name(&event, call->name);
    tern__trace_put(&event);
}

static void run_call(struct tern__core *core)
{
    const struct tern__kernel_call *call = core->call;
    int64_t args[TERN_TASK_ARGS_MAX];
    if (call->args_count > 0) { // else `args` may be NULL
        memcpy(args, call->args, call->args_count * sizeof *args);
    }
    core->failed = false;
    int64_t begin_ns = tern__trace_start();
    current = core;
    call->kernel(args);
    current = NULL;
    if (begin_ns != 0) {
        trace_call(call, begin_ns);
    }
}

static void *core_main(void *arg)
{
    struct tern__core *core = arg;
    char track[24];
    tern__core_text(core, track, sizeof track);
    tern__trace_name_thread(track);
    for (;;) {
        struct tern__ladder ladder = tern__cores_ladder(core->all);
        struct tern__wait idle = {.bell = &core->bell,
                                  .ladder = &ladder,
                                  .timeout_ns = INT64_MAX, // ended by `stopping`
                                  .holds = has_work,
                                  .arg = core};
        tern__wait(&idle);
        if (tern__flag_load(&core->given) == tern__peek(&core->done)) {
            return NULL;
        }
        run_call(core);
        tern__flag_add(&core->done, 1); // partner: tern__core_busy; releases what the kernel wrote
        tern__bell_ring(tern__cores_bell(core->all));
    }
}

int tern__cores_start(struct tern__cores *cores, struct tern__job *job, int aic_count,
                      int aiv_count)
{
    size_t count = (size_t)aic_count + (size_t)aiv_count;
    *cores =
        (struct tern__cores){.job = job,
                             .aic_count = aic_count,
                             .aiv_count = aiv_count,
                             .cpus = tern__cpus_allowed(),
                             .list = aligned_alloc(TERN_CACHE_LINE, count * sizeof *cores->list)};
    if (cores->list == NULL) {
        return tern__fail(TERN_ERR_MEMORY, "no memory for a chip of %zu cores", count);
    }
    memset(cores->list, 0, count * sizeof *cores->list);
    int status = TERN_OK;
    for (int i = 0; i < tern__cores_count(cores) && status == TERN_OK; i++) {
        struct tern__core *core = &cores->list[i];
        core->all = cores;
        core->kind = i < aic_count ? TERN_CORE_AIC : TERN_CORE_AIV;
        core->index = i < aic_count ? i : i - aic_count;
        status = tern__thread_start(&core->thread, core_main, core);
        core->started = status == TERN_OK;
    }
    if (status != TERN_OK) {
        tern__cores_stop(cores);
    }
    return status;
}

void tern__cores_stop(struct tern__cores *cores)
{
    tern__flag_store(&cores->stopping, 1); // partner: has_work
    for (int i = 0; cores->list != NULL && i < tern__cores_count(cores); i++) {
        tern__bell_ring(&cores->list[i].bell);
        if (cores->list[i].started) {
            pthread_join(cores->list[i].thread, NULL);
        }
    }
    tern__cores_forget(cores);
}

void tern__cores_forget(struct tern__cores *cores)
{
    free(cores->list);
    cores->list = NULL;
}
