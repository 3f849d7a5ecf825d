// SPDX-License-Identifier: Apache-2.0
// What a kernel may ask and say. Data path: no lock, system call or log; memory is taken only when
// a kernel first defers its end.

#include "graph/kernel.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/public.h"
#include "comm/comm.h"
#include "graph/code.h"
#include "isa/fault.h"
#include "isa/signal.h"

_Thread_local struct tern__kernel *tern__kernel_here;

bool tern__kernel_runs_on(const struct tern_chip *chip)
{
    return tern__kernel_here != NULL && tern__kernel_here->chip == chip;
}

static void fails(struct tern__kernel *called, int code, const char *format, va_list arguments)
{
    if (called->failed) {
        return; // the first failure is the one to report
    }
    vsnprintf(called->failure, sizeof called->failure, format, arguments);
    called->code = code;
    called->failed = true;
}

void tern_kernel_fail(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    if (tern__kernel_here != NULL) {
        fails(tern__kernel_here, 0, format, arguments);
    }
    va_end(arguments);
}

int tern_kernel_run(void)
{
    return tern__kernel_here != NULL && tern__kernel_here->run != NULL
               ? (int)*tern__kernel_here->run
               : 0;
}

int tern_kernel_core(void)
{
    return tern__kernel_here != NULL ? tern__kernel_here->core : 0;
}

const char *tern_kernel_name(void)
{
    return tern__kernel_here != NULL ? tern__kernel_here->here->kernel : NULL;
}

int tern_kernel_block(void)
{
    return tern__kernel_here != NULL ? tern__kernel_here->here->index : 0;
}

int tern_kernel_blocks(void)
{
    return tern__kernel_here != NULL ? tern__kernel_here->here->count : 1;
}

int tern_kernel_slot(void)
{
    return tern__kernel_here != NULL ? tern__kernel_here->slot : 0;
}

// Refuses, and fails the task.
static int refuse_defer(int code, const char *format, ...) TERN_PRINTF(2, 3);
static int refuse_defer(int code, const char *format, ...)
{
    char text[256];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    va_start(arguments, format);
    fails(tern__kernel_here, code, format, arguments);
    va_end(arguments);
    return tern__fail(code == TERN__CODE_ASYNC_WAIT_OVERFLOW ? TERN_ERR_LIMIT : TERN_ERR_ARG, "%s",
                      text);
}

static int defer(const char *call, const struct tern__until *until)
{
    if (tern__kernel_here->defers == NULL) {
        tern__kernel_here->defers = malloc(sizeof *tern__kernel_here->defers);
        if (tern__kernel_here->defers == NULL) {
            return tern__fail(TERN_ERR_MEMORY, "%s: no memory", call);
        }
        tern__kernel_here->defers->count = 0;
    }
    if (tern__kernel_here->defers->count == TERN_TASK_DEFERS_MAX) {
        return refuse_defer(TERN__CODE_ASYNC_WAIT_OVERFLOW,
                            "%s: a block may wait for %d conditions at most", call,
                            TERN_TASK_DEFERS_MAX);
    }
    tern__kernel_here->defers->untils[tern__kernel_here->defers->count++] = *until;
    return TERN_OK;
}

static int kernel_defer(const tern_condition *condition)
{
    if (tern__kernel_here == NULL) {
        return tern__fail(TERN_ERR_STATE, "tern_kernel_defer: the caller is no kernel of a task");
    }
    const struct tern_comm *comm = tern__kernel_here->comm;
    int status = condition == NULL
                     ? tern__fail(TERN_ERR_ARG, "tern_kernel_defer: condition must not be NULL")
                     : tern__condition_check("tern_kernel_defer", condition);
    if (status == TERN_OK &&
        (comm == NULL || condition->window->comm->group.job != comm->group.job)) {
        status =
            tern__fail(TERN_ERR_ARG, "tern_kernel_defer: a signal of another job than the chip's");
    }
    return status == TERN_OK
               ? defer("tern_kernel_defer", &(struct tern__until){.condition = *condition})
               : refuse_defer(TERN__CODE_ASYNC_COMPLETION_INVALID, "%.200s", tern_last_error());
}

int tern_kernel_defer(const tern_condition *condition)
{
    return TERN__CALL(kernel_defer(condition));
}

static int kernel_defer_word(const uint32_t *word, uint32_t expected)
{
    if (tern__kernel_here == NULL) {
        return tern__fail(TERN_ERR_STATE,
                          "tern_kernel_defer_word: the caller is no kernel of a task");
    }
    if (word == NULL || (uintptr_t)word % sizeof *word != 0) {
        return refuse_defer(TERN__CODE_ASYNC_COMPLETION_INVALID,
                            "tern_kernel_defer_word: %p is no aligned word", (const void *)word);
    }
    return defer("tern_kernel_defer_word",
                 &(struct tern__until){.condition.value = (int32_t)expected,
                                       .word = (const _Atomic uint32_t *)(const void *)word});
}

int tern_kernel_defer_word(const uint32_t *word, uint32_t expected)
{
    return TERN__CALL(kernel_defer_word(word, expected));
}

bool tern__kernel_call_alone(struct tern__kernel *called, const char *name, tern_kernel kernel,
                             int64_t *args)
{
    tern__kernel_thread_begin(NULL);
    called->here = tern__block_here();
    called->here->index = 0;
    called->here->count = 1;
    called->here->kernel = name;
    called->failed = false;
    tern__kernel_call(called, kernel, args);
    called->here->kernel = NULL;
    return !called->failed;
}
