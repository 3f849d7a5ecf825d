// SPDX-License-Identifier: Apache-2.0
// The ranks, their windows, and how the programs end (job.h).
#include "job.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

void job_fail(const struct job *job, const char *format, ...)
{
    char sentence[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(sentence, sizeof sentence, format, arguments);
    va_end(arguments);
    fprintf(stderr, "%s: rank %d: %s\n", job->program, job->rank, sentence);
    exit(1);
}

void job_check(const struct job *job, const char *what, int status)
{
    if (status != 0) {
        job_fail(job, "%s: %s", what, tern_last_error());
    }
}

void job_begin(struct job *job, const char *program)
{
    *job = (struct job){.program = program};
    job_check(job, "tern_init", tern_init(NULL, &job->world));
    job->rank = tern_comm_rank(job->world);
    job->nranks = tern_comm_size(job->world);
}

void job_window(struct job *job, size_t size_bytes)
{
    job_check(job, "tern_window_create",
              tern_window_create(job->world, size_bytes, NULL, &job->window));
    job->context = tern_window_context(job->window);
}

void *job_at(const struct job *job, int rank, size_t offset_bytes)
{
    return (void *)(uintptr_t)(job->context->windowsIn[rank] + offset_bytes);
}

void *job_memory(const struct job *job, size_t size_bytes)
{
    void *memory = calloc(1, size_bytes);
    if (memory == NULL) {
        job_fail(job, "no memory for %zu bytes", size_bytes);
    }
    return memory;
}

void job_meet(const struct job *job)
{
    job_check(job, "tern_comm_barrier", tern_comm_barrier(job->world));
}

void job_end(struct job *job, const char *format, ...)
{
    job_meet(job); // nobody gets here with a wrong result
    if (job->rank == 0) {
        va_list arguments;
        va_start(arguments, format);
        printf("%s, %d rank%s: ", job->program, job->nranks, job->nranks == 1 ? "" : "s");
        vprintf(format, arguments);
        puts(": verified");
        va_end(arguments);
    }
    job_check(job, "tern_window_destroy", tern_window_destroy(job->window));
    job_check(job, "tern_comm_destroy", tern_comm_destroy(job->world));
}
