// SPDX-License-Identifier: Apache-2.0
// Task graphs on a chip. A chip is a scheduler thread, which decides, and core threads, which
// compute: AIC (matrix) and AIV (vector). A graph is built before it runs (the first of the three
// builders): tasks, edges between them, and waits: a task that also waits until a signal of this
// rank's window reaches a value. The scheduler watches signals; a waiting task holds no core.
//
//     tern_graph_create(&graph);
//     tern_graph_add_task(graph, &(tern_task){.name = "add", .kernel = add, ...}, &add_task);
//     tern_graph_add_edge(graph, load_task, add_task);
//     tern_chip_launch(chip, graph);
//     tern_chip_synchronize(chip);
#ifndef TERN_GRAPH_H
#define TERN_GRAPH_H

#include <stddef.h>
#include <stdint.h>

#include "tern/api.h"
#include "tern/comm.h"
#include "tern/signal.h"

TERN_BEGIN_DECLS

typedef struct tern_chip tern_chip;
typedef struct tern_graph tern_graph;

typedef enum tern_core { TERN_CORE_AIC = 0, TERN_CORE_AIV = 1 } tern_core;

#define TERN_CORES_MAX 256           // of both kinds together
#define TERN_CHIP_LAUNCHES_MAX 256   // queued and running
#define TERN_TASK_ARGS_MAX 48        // arguments of a task
#define TERN_GRAPH_TASKS_MAX 1048576 // tasks of a graph

// A kernel: a plain function, called by a core thread with the task's arguments: a copy of those
// given to tern_graph_add_task, its own for each run.
typedef void (*tern_kernel)(int64_t *args);

// Zero-initialised means: 1 AIC core, 1 AIV core, the communicator's deadline.
typedef struct tern_chip_options {
    int aic_count; // 0..TERN_CORES_MAX; both 0: one of each
    int aiv_count;
    int64_t timeout_ns; // a run may take this long; 0: the communicator's deadline
} tern_chip_options;

// Starts the chip's threads. comm may be NULL for a chip without peers: its graphs then have no
// waits on signals, and the default deadline is 60 s. Several chips per process are allowed.
TERN_CALL int tern_chip_create(tern_comm *comm, const tern_chip_options *options, tern_chip **chip);

// Ends the threads; a graph that runs, and those queued, are finished first or, if it cannot be,
// cancelled at its deadline. A kernel that never returns cannot be ended: then TERN_ERR_TIMEOUT
// names it, and the chip and its threads are left. NULL is allowed.
TERN_API int tern_chip_destroy(tern_chip *chip);

// Builders. A graph is built by one thread; after the first launch it can no longer be changed
// (TERN_ERR_STATE), only launched again.
TERN_CALL int tern_graph_create(tern_graph **graph);
TERN_API int tern_graph_destroy(tern_graph *graph);

// Opens a shared object in which tasks then find kernels by name. Several may be loaded; the first
// that has the name wins. They are closed with the graph. TERN_ERR_KERNEL says why it cannot be
// opened.
TERN_CALL int tern_graph_load(tern_graph *graph, const char *path);

typedef struct tern_task {
    const char *name;        // for reports and traces; copied; NULL: the kernel's name
    tern_kernel kernel;      // the function, or NULL: look for kernel_name
    const char *kernel_name; // in the loaded shared objects
    tern_core core;          // the kind of core it runs on
    const int64_t *args;     // copied; may be NULL when args_count is 0
    int args_count;          // 0..TERN_TASK_ARGS_MAX
} tern_task;

// Adds a task; *id (which may be NULL) counts from 0 in the order of calls. TERN_ERR_KERNEL when
// kernel_name is in none of the loaded objects; TERN_ERR_ARG, TERN_ERR_LIMIT.
TERN_CALL int tern_graph_add_task(tern_graph *graph, const tern_task *task, int *id);

// `to` starts after `from` has returned; what `from` wrote is visible to `to`. Adding an edge twice
// is the same as once. TERN_ERR_ARG for an id that does not exist, TERN_ERR_CYCLE for from == to;
// longer cycles are found by the launch.
TERN_CALL int tern_graph_add_edge(tern_graph *graph, int from, int to);

// The task also waits for a condition. In run r (0, 1, 2, … counted per graph) the value compared
// with is condition->value + r * step_per_run, so that signals that only count up serve every run.
// A task may have several waits; the task's reads see what was written before those notifies. The
// condition's window must outlive the graph's runs.
TERN_CALL int tern_graph_add_wait(tern_graph *graph, int task, const tern_condition *condition,
                                  int32_t step_per_run);

// Number of tasks, and the name of one (NULL when there is no such task).
TERN_API int tern_graph_task_count(const tern_graph *graph);
TERN_API const char *tern_graph_task_name(const tern_graph *graph, int task);

// Queues a run of the graph and returns. It starts when the launches before it have ended, in
// order; its deadline counts from its start. When a run fails, those queued behind it do not start.
// A graph may be queued again while it runs, on one chip (TERN_ERR_STATE); TERN_ERR_LIMIT when
// TERN_CHIP_LAUNCHES_MAX launches have not ended. By one thread at a time, also
// tern_chip_synchronize. Checks before it is queued: TERN_ERR_CYCLE names the tasks of a cycle,
// TERN_ERR_KERNEL a task whose kind of core the chip does not have. An empty graph is legal.
TERN_CALL int tern_chip_launch(tern_chip *chip, tern_graph *graph);

// Waits until all launches have ended; the status is that of the first run that failed, and the
// sentence says how many launches behind it did not start. The chip then takes launches again.
// TERN_ERR_KERNEL: a kernel called tern_kernel_fail; TERN_ERR_TIMEOUT: the run's deadline passed,
// TERN_ERR_PEER: a rank died; the sentence names the tasks that were running or waiting, and for a
// wait the signal, the value seen and the value wanted, and what each other rank does. After a
// failed run no further task of it is started, and running kernels have returned, unless the
// sentence says that one has not. The chip's communicator has then failed too, so that peers which
// wait for this run's signals learn why. When the communicator failed first, its status outranks
// TERN_ERR_KERNEL of a kernel that failed of it. TERN_ERR_STATE when nothing was launched.
TERN_CALL int tern_chip_synchronize(tern_chip *chip);

// For kernels, on the core thread that runs them.

// Reports that this kernel failed; the run ends with TERN_ERR_KERNEL and this sentence. The kernel
// should return soon after. Outside a kernel it does nothing.
TERN_API void tern_kernel_fail(const char *format, ...) TERN_PRINTF(1, 2);

// How often the graph has been launched before (0 in its first run), and the index of the core
// among those of its kind. 0 outside a kernel.
TERN_API int tern_kernel_run(void);
TERN_API int tern_kernel_core(void);

TERN_END_DECLS

#endif
