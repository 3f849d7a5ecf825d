// SPDX-License-Identifier: Apache-2.0
// The kernel that a thread calls: who it is, whether it has failed, and what its end waits for. The
// thread is a core's, or that of a chip of a node. What every block knows of itself, also those of
// streams, is in isa/block.h.
#ifndef TERN_GRAPH_KERNEL_H
#define TERN_GRAPH_KERNEL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "graph/task.h"
#include "isa/block.h"
#include "isa/check.h"

struct tern_chip;
struct tern_comm;

// What the kernel that runs has asked for with tern_kernel_defer.
struct tern__defers {
    uint32_t count;
    struct tern__until untils[TERN_TASK_DEFERS_MAX];
};

struct tern__kernel {
    const struct tern_chip *chip; // NULL: the thread is no core
    struct tern_comm *comm;       // whose signals its end may wait for; or NULL
    const uint32_t *run;          // its number; NULL: 0
    struct tern__block *here;
    int core; // among its kind
    int slot; // of its task's kernels
    bool failed;
    int code;                    // of the failure, in graph_code.def
    struct tern__defers *defers; // of malloc; NULL until the first
    char failure[TERN_ERROR_BYTES];
};

// The kernel that this thread runs, or NULL. A handler of signals may look at it: that does not
// allocate its memory.
extern _Thread_local struct tern__kernel *tern__kernel_here
    __attribute__((tls_model("initial-exec")));

static inline void tern__kernel_call(struct tern__kernel *called, tern_kernel kernel, int64_t *args)
{
    tern__kernel_here = called;
    kernel(args);
    if (tern__checking() && tern__watch_end(TERN_OK) < 0 && !called->failed) {
        tern_kernel_fail("%s", tern_last_error());
    }
    tern__kernel_here = NULL;
}

// The same on a thread that is no core, of a kernel of one block. Zero-initialised but for comm.
// False: it has failed, and called->failure says why.
bool tern__kernel_call_alone(struct tern__kernel *called, const char *name, tern_kernel kernel,
                             int64_t *args);

// Whether the caller is a kernel that runs on the chip.
bool tern__kernel_runs_on(const struct tern_chip *chip);

#endif
