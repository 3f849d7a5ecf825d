// SPDX-License-Identifier: Apache-2.0
// A run of a graph: making tasks ready, ending them, and knowing when all have ended. Any thread of
// the chip.
//
// A task that fails poisons what comes after it: those tasks end without having run, in their turn,
// so that all are counted and the run ends by the same count as ever. A run that is cancelled
// poisons everything that has not started.
#ifndef TERN_GRAPH_RUN_H
#define TERN_GRAPH_RUN_H

#include "base/error.h"
#include "graph/core.h"

#define TERN__TOTAL_OPEN UINT64_MAX

enum { TERN__RUN_WELL, TERN__RUN_FAILING, TERN__RUN_FAILED };

struct tern__run {
    tern_graph *graph;
    struct tern__rings *rings; // of the graph, or NULL
    uint32_t number;
    bool grows; // tasks and edges may come while it runs
    bool build_first;
    int64_t deadline_ns;
    _Atomic uint64_t total;     // tasks that there are; TERN__TOTAL_OPEN while more may come
    _Atomic uint32_t cancelled; // nothing starts any more
    _Atomic uint32_t in_vain;   // what waits for signals is poisoned
    _Atomic uint32_t failed;    // TERN__RUN_FAILED: what follows is written
    int status;
    int code; // of graph_code.def
    char failure[TERN_ERROR_BYTES];
    alignas(TERN_CACHE_LINE) _Atomic uint64_t ended; // tasks, as cores have told
    _Atomic uint64_t skipped; // by threads that are no cores; of cores: in the core
};

// Graphs that run often: all that comes before the task is done, or nothing does.
void tern__run_ready(struct tern_chip *chip, struct tern__task *task);

// So many less of what the task waits for: edges that are met, and who builds it.
void tern__run_release(struct tern_chip *chip, struct tern__task *task, uint32_t count);

// The task has ended. `core`: of the caller, or NULL. Returns a task that this core is to run next,
// or NULL.
struct tern__task *tern__run_finish(struct tern_chip *chip, struct tern__task *task,
                                    struct tern__core *core);

// One call of a gang's kernels has.
struct tern__task *tern__run_call_ended(struct tern_chip *chip, struct tern__task *task,
                                        struct tern__core *core);

// Gives tasks of several calls to cores that are idle; ends those of a run that is cancelled.
void tern__run_place(struct tern_chip *chip);

// Starts and ends what need not wait for signals any more, and ends what has come back (away.h).
// `must`: not only when nobody else is just looking.
void tern__run_look(struct tern_chip *chip, bool must);

// The core's kernel has reported a failure.
void tern__run_failed(struct tern__core *core, struct tern__task *task);

// The run fails; the first one counts. `code`: of graph_code.def.
void tern__run_fail(struct tern_chip *chip, int status, int code, const char *format, ...)
    TERN_PRINTF(4, 5);

// What follows the task does not run.
static inline void tern__task_poison(struct tern__task *task)
{
    atomic_fetch_or_explicit(&task->flags, TERN__TASK_POISONED, memory_order_relaxed);
}

// The core tells the run what it has ended.
void tern__run_tell(struct tern__core *core);

// No more tasks come: there are so many.
void tern__run_close(struct tern_chip *chip, uint64_t total);

bool tern__run_is_over(const struct tern_chip *chip);

// Tasks that have ended, and of those the ones that have not run well; as far as is known.
uint64_t tern__run_ended(const struct tern_chip *chip, uint64_t *skipped);

void tern__run_trace(const struct tern__core *core, const struct tern__task *task,
                     int64_t begin_ns);

#endif
