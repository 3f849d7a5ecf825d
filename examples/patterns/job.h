// SPDX-License-Identifier: Apache-2.0
// What the programs of all patterns begin and end with: the ranks of `tern run`, one window on
// each, and a sentence on standard error with exit status 1 for what does not work.
#ifndef PATTERNS_JOB_H
#define PATTERNS_JOB_H

#include <stddef.h>

#include "tern/comm.h"
#include "tern/context.h"
#include "tern/window.h"

TERN_BEGIN_DECLS

// The first bytes of every window are for signals.
#define JOB_SIGNAL_BYTES ((size_t)4096)

struct job {
    const char *program;
    tern_comm *world;
    tern_window *window;
    const tern_context *context; // of the window, for kernels
    int rank, nranks;
};

// Joins the others. The window comes later: how large it is may depend on the number of ranks.
void job_begin(struct job *job, const char *program);
void job_window(struct job *job, size_t size_bytes);

// The address of this offset of a rank's window, for instructions on tensors: those reach it on
// every machine, loads and stores of C where the rank is on this one.
void *job_at(const struct job *job, int rank, size_t offset_bytes);

// Memory of this rank alone, zero; until the program ends.
void *job_memory(const struct job *job, size_t size_bytes);

// Returns when all ranks have come.
void job_meet(const struct job *job);

// All ranks have found their results right: rank 0 says so, `format` after the program's name.
void job_end(struct job *job, const char *format, ...) TERN_PRINTF(2, 3);

// Ends the program unless status is 0, which is success for tern and for ACL.
void job_check(const struct job *job, const char *what, int status);

void job_fail(const struct job *job, const char *format, ...) __attribute__((noreturn))
TERN_PRINTF(2, 3);

TERN_END_DECLS

#endif
