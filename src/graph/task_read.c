// SPDX-License-Identifier: Apache-2.0
// What a task of a public call is: read, checked, and held against what the chip has. For all three
// builders.

#include <dlfcn.h>
#include <string.h>

#include "base/dtype.h"
#include "base/error.h"
#include "comm/window.h"
#include "graph/chip.h"
#include "graph/graph.h"
#include "isa/signal.h"

int tern__graph_find(const char *call, const tern_graph *graph, const char *task, const char *name,
                     tern_kernel *kernel)
{
    for (size_t i = 0; i < graph->libraries_count; i++) {
        void *symbol = dlsym(graph->libraries[i], name);
        if (symbol != NULL) {
            memcpy(kernel, &symbol, sizeof *kernel); // POSIX: the same representation
            return TERN_OK;
        }
    }
    return tern__fail(TERN_ERR_KERNEL,
                      "%s: task '%s': no kernel '%s' in the %zu shared objects loaded with "
                      "tern_graph_load",
                      call, task, name, graph->libraries_count);
}

// The kernels of the cores of a cluster.
static int read_mix(const char *call, const tern_graph *graph, const tern_task *given,
                    const char *name, struct tern__task_more *more)
{
    int count = 0;
    for (int i = 0; i < 3; i++) {
        more->mix[i] = given->mix[i];
        if (more->mix[i] == NULL && given->mix_names[i] != NULL) {
            TERN_TRY(tern__graph_find(call, graph, name, given->mix_names[i], &more->mix[i]));
        }
        count += more->mix[i] != NULL;
    }
    return count >= 2 ? TERN_OK
                      : tern__fail(TERN_ERR_ARG,
                                   "%s: task '%s' is of TERN_CORE_MIX and has %d kernels in mix; "
                                   "it needs two or three",
                                   call, name, count);
}

static int read_predicate(const char *call, const char *name, const tern_predicate *given,
                          struct tern__task_more *more)
{
    size_t size = tern_dtype_size(given->dtype);
    if (given->address == NULL || !tern__dtype_is_number(given->dtype) ||
        given->dtype == TERN_F16 || given->dtype == TERN_BF16 ||
        (uintptr_t)given->address % size != 0 || (unsigned)given->cmp > TERN_CMP_LE) {
        return tern__fail(TERN_ERR_ARG,
                          "%s: task '%s': the predicate compares a %s at %p by %d; expected an "
                          "aligned number that is not f16 or bf16, and a comparison of tern_cmp",
                          call, name, tern_dtype_name(given->dtype), given->address,
                          (int)given->cmp);
    }
    more->predicate = *given;
    return TERN_OK;
}

static int read_notices(const char *call, const char *name, const tern_task *given,
                        struct tern__task_more *more)
{
    if (given->notices_count < 0 || given->notices_count > TERN_TASK_NOTICES_MAX ||
        given->notices == NULL) {
        return tern__fail(TERN_ERR_ARG, "%s: task '%s': %d notices at %p; a task has 0..%d", call,
                          name, given->notices_count, (const void *)given->notices,
                          TERN_TASK_NOTICES_MAX);
    }
    if (given->core == TERN_CORE_NONE) {
        return tern__fail(TERN_ERR_ARG, "%s: task '%s' is of TERN_CORE_NONE, which notifies nobody",
                          call, name);
    }
    for (int i = 0; i < given->notices_count; i++) {
        const tern_notice *notice = &given->notices[i];
        const int rank = notice->rank == -1 ? 0 : notice->rank;
        char *address;
        TERN_TRY(tern__window_lives(call, notice->window));
        TERN_TRY(tern__signal_check(call, notice->window, rank, notice->offset_bytes, &address));
        more->notices[i] = *notice;
    }
    more->notices_count = (uint8_t)given->notices_count;
    return TERN_OK;
}

static int check_fields(const char *call, const tern_task *given, const char *name)
{
    if ((unsigned)given->core > TERN_CORE_NONE) {
        return tern__fail(TERN_ERR_ARG, "%s: %d is no kind of core", call, (int)given->core);
    }
    if (given->blocks < 0 || given->blocks > TERN_TASK_BLOCKS_MAX) {
        return tern__fail(TERN_ERR_LIMIT, "%s: task '%s' has %d blocks; a task has 1..%d", call,
                          name, given->blocks, TERN_TASK_BLOCKS_MAX);
    }
    bool has_kernel = given->kernel != NULL || given->kernel_name != NULL;
    bool wants_kernel = given->core == TERN_CORE_AIC || given->core == TERN_CORE_AIV;
    if (has_kernel != wants_kernel) {
        const char *what = wants_kernel ? "has neither a kernel nor a kernel_name"
                           : given->core == TERN_CORE_MIX
                               ? "is of TERN_CORE_MIX, whose kernels are in mix, and has a kernel"
                               : "is of TERN_CORE_NONE and has a kernel";
        return tern__fail(TERN_ERR_ARG, "%s: task '%s' %s", call, name, what);
    }
    return TERN_OK;
}

int tern__task_read(const char *call, const tern_graph *graph, const tern_task *given,
                    struct tern__task *task, struct tern__task_more *more)
{
    const char *name = given->name != NULL          ? given->name
                       : given->kernel_name != NULL ? given->kernel_name
                                                    : "(no name)";
    TERN_TRY(check_fields(call, given, name));
    task->kernel = given->kernel;
    task->core = (uint8_t)given->core;
    task->blocks = given->blocks > 1 ? (uint32_t)given->blocks : 1;
    task->special = 0;
    if (given->kernel == NULL && given->kernel_name != NULL) {
        TERN_TRY(tern__graph_find(call, graph, name, given->kernel_name, &task->kernel));
    }
    if (given->core == TERN_CORE_NONE) {
        task->blocks = 1;
        task->special |= TERN__TASK_EMPTY;
    } else if (given->core == TERN_CORE_MIX || task->blocks > 1) {
        *more = (struct tern__task_more){.sync_start = given->sync_start && task->blocks > 1};
        task->special |= TERN__TASK_GANG;
        if (given->core == TERN_CORE_MIX) {
            TERN_TRY(read_mix(call, graph, given, name, more));
        }
    }
    const bool more_comes = given->predicate != NULL || given->notices_count != 0;
    if (more_comes && task->special != TERN__TASK_GANG) {
        *more = (struct tern__task_more){.reserve = -1};
    }
    if (given->predicate != NULL) {
        task->special |= TERN__TASK_PREDICATE;
        TERN_TRY(read_predicate(call, name, given->predicate, more));
    }
    if (given->notices_count != 0) {
        task->special |= TERN__TASK_NOTIFIES;
        TERN_TRY(read_notices(call, name, given, more));
    }
    return TERN_OK;
}

static int need_cores(const char *call, const struct tern_chip *chip, const struct tern__task *task,
                      int *code)
{
    const struct tern__cores *cores = &chip->cores;
    bool mix = task->core == TERN_CORE_MIX;
    int has = mix ? tern__cores_clusters(cores) : tern__cores_of(cores, task->core);
    const char *what = mix ? "cluster" : task->core == TERN_CORE_AIC ? "AIC core" : "AIV core";
    if (has == 0) {
        *code = TERN__CODE_INVALID_ARGS;
        return tern__fail(TERN_ERR_KERNEL, "%s: task '%s' needs an %s and the chip has none", call,
                          task->name, what);
    }
    if ((task->special & TERN__TASK_GANG) != 0 && task->more->sync_start &&
        (int)task->blocks > has) {
        *code = TERN__CODE_REQUIRE_SYNC_START_INVALID;
        return tern__fail(TERN_ERR_LIMIT,
                          "%s: REQUIRE_SYNC_START_INVALID: the %u blocks of task '%s' are to start "
                          "together, and the chip has %d %s%s",
                          call, task->blocks, task->name, has, what, has == 1 ? "" : "s");
    }
    return TERN_OK;
}

int tern__task_window_fits(const char *call, const struct tern_chip *chip,
                           const struct tern__task *task, const tern_window *window)
{
    TERN_TRY(tern__window_lives(call, window));
    return chip->comm != NULL && window->comm->group.job == chip->comm->group.job
               ? TERN_OK
               : tern__fail(TERN_ERR_ARG,
                            "%s: task '%s' names a signal of another job than the chip's", call,
                            task->name);
}

int tern__task_fits(const char *call, const struct tern_chip *chip, const struct tern__task *task,
                    int *code)
{
    if ((task->special & TERN__TASK_EMPTY) == 0) {
        TERN_TRY(need_cores(call, chip, task, code));
    }
    for (int i = 0; (task->special & TERN__TASK_NOTIFIES) != 0 && i < task->more->notices_count;
         i++) {
        *code = TERN__CODE_INVALID_ARGS;
        TERN_TRY(tern__task_window_fits(call, chip, task, task->more->notices[i].window));
    }
    uint32_t waits = (task->special & TERN__TASK_WAITS) != 0 ? task->more->hold.count : 0;
    for (uint32_t i = 0; i < waits; i++) {
        *code = TERN__CODE_INVALID_ARGS;
        TERN_TRY(
            tern__task_window_fits(call, chip, task, task->more->hold.untils[i].condition.window));
    }
    return TERN_OK;
}
