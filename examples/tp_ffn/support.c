// SPDX-License-Identifier: Apache-2.0
// Failures, memory and the clock (support.h).
#include "support.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <tern/status.h>

#define CACHE_LINE_BYTES 64

int fail(struct failure *failure, int exit_status, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(failure->sentence, sizeof failure->sentence, format, arguments);
    va_end(arguments);
    failure->exit_status = exit_status;
    return exit_status;
}

int fail_tern(struct failure *failure, const char *what)
{
    return fail(failure, EXIT_FAILED, "%s: %s", what, tern_last_error());
}

void *allocate(size_t count, size_t element_bytes, struct failure *failure)
{
    size_t size_bytes = 0;
    void *memory = NULL;
    if (!__builtin_mul_overflow(count, element_bytes, &size_bytes) &&
        size_bytes <= SIZE_MAX - CACHE_LINE_BYTES) {
        size_bytes = (size_bytes / CACHE_LINE_BYTES + 1) * CACHE_LINE_BYTES;
        memory = aligned_alloc(CACHE_LINE_BYTES, size_bytes);
    }
    if (memory == NULL) {
        fail(failure, EXIT_FAILED, "not enough memory for %zu elements of %zu bytes", count,
             element_bytes);
    }
    return memory;
}

double seconds_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}
