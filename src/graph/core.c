// SPDX-License-Identifier: Apache-2.0
// Core threads, and what kernels may ask and say. Data path: no allocation, lock, system call or
// log, unless the core has nothing to do and sleeps.

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "comm/window.h"
#include "graph/chip.h"

// The kernel that this thread runs, or NULL.
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

static bool has_work(void *arg)
{
    const struct tern__core *core = arg;
    // partner: give_task in scheduler.c, tern_chip_destroy. `done` is this thread's own.
    return tern__flag_load(&core->given) != tern__peek(&core->done) ||
           tern__flag_load(&core->chip->stop) != 0;
}

static void trace_task(const struct tern__core *core, const struct tern__graph_task *task,
                       int64_t begin_ns)
{
    struct tern__trace_event event = {.begin_ns = begin_ns, .kind = TERN__TRACE_TASK};
    if (task->waits_count > 0) {
        const tern_condition *condition = &core->graph->waits[task->waits_first].condition;
        const tern_window *window = condition->window;
        event.in = tern__window_arrow(window, window->rank, condition->offset_bytes);
        event.has = TERN__TRACE_IN_AT_BEGIN;
    }
    tern__trace_name(&event, task->name);
    tern__trace_put(&event);
}

static void run_task(struct tern__core *core)
{
    const struct tern__graph_task *task = &core->graph->tasks[core->task];
    int64_t args[TERN_TASK_ARGS_MAX];
    if (task->args_count > 0) { // a graph without arguments has no array of them
        memcpy(args, core->graph->args + task->args_first, task->args_count * sizeof *args);
    }
    core->failed = false;
    int64_t begin_ns = tern__trace_start();
    current = core;
    task->kernel(args);
    current = NULL;
    if (begin_ns != 0) {
        trace_task(core, task, begin_ns);
    }
}

void *tern__core_main(void *arg)
{
    struct tern__core *core = arg;
    struct tern_chip *chip = core->chip;
    char track[24];
    tern__core_text(core, track, sizeof track);
    tern__trace_name_thread(track);
    for (;;) {
        struct tern__ladder ladder = tern__chip_ladder(chip);
        struct tern__wait idle = {.bell = &core->bell,
                                  .ladder = &ladder,
                                  .timeout_ns = INT64_MAX, // ended by `stop`
                                  .holds = has_work,
                                  .arg = core};
        tern__wait(&idle);
        if (tern__flag_load(&core->given) == tern__peek(&core->done)) {
            return NULL;
        }
        run_task(core);
        tern__flag_add(&core->done, 1); // partner: tern__core_busy; releases what the kernel wrote
        tern__bell_ring(tern__chip_bell(chip));
    }
}
