// SPDX-License-Identifier: Apache-2.0
// Task graphs on a chip. A chip has cores, threads that compute: AIC (matrix) and AIV (vector), in
// clusters of one AIC and two AIV; and a scheduler, a thread that watches signals and deadlines. A
// core takes the next task itself, in the order in which tasks became ready.
//
// Three builders:
//   * on the host: the graph is whole before it runs, and can run often (below);
//   * on the chip: an orchestration adds tasks and edges while tasks already run (below);
//   * from tensors: an orchestration only names the memory that tasks read and write, and their
//     order follows (tern/submit.h).
//
// A task may also wait until signals of this rank's windows reach values; it holds no core then.
//
//     tern_graph_create(&graph);
//     tern_graph_add_task(graph, &(tern_task){.name = "add", .kernel = add, ...}, &add_task);
//     tern_graph_add_edge(graph, load_task, add_task);
//     tern_chip_launch(chip, graph);
//     tern_chip_synchronize(chip);
#ifndef TERN_GRAPH_H
#define TERN_GRAPH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tern/api.h"
#include "tern/comm.h"
#include "tern/dtype.h"
#include "tern/signal.h"

TERN_BEGIN_DECLS

typedef struct tern_chip tern_chip;
typedef struct tern_graph tern_graph;

typedef enum tern_core {
    TERN_CORE_AIC = 0,
    TERN_CORE_AIV = 1,
    TERN_CORE_MIX = 2,  // two or three cores of one cluster, at the same time
    TERN_CORE_NONE = 3, // none: the task has no kernel, and only orders others
} tern_core;

#define TERN_CORES_MAX 256           // of both kinds together
#define TERN_CHIP_LAUNCHES_MAX 256   // queued and running
#define TERN_TASK_ARGS_MAX 48        // arguments of a task
#define TERN_GRAPH_TASKS_MAX 1048576 // tasks of a graph
#define TERN_TASK_BLOCKS_MAX 65536   // blocks of a task
#define TERN_TASK_NOTICES_MAX 4      // signals that a task says it notifies
#define TERN_TASK_DEFERS_MAX 64      // conditions of a block that tern_kernel_defer is given

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

// Building on the host. By one thread; after the first launch a graph can no longer be changed
// (TERN_ERR_STATE), only launched again.
TERN_CALL int tern_graph_create(tern_graph **graph);
TERN_API int tern_graph_destroy(tern_graph *graph);

// Opens a shared object in which tasks then find kernels by name. Several may be loaded; the first
// that has the name wins. They are closed with the graph. TERN_ERR_KERNEL says why it cannot be
// opened.
TERN_CALL int tern_graph_load(tern_graph *graph, const char *path);

// element <cmp> value, when the task would start, compared exactly. Of all dtypes but TERN_F16 and
// TERN_BF16.
typedef struct tern_predicate {
    const void *address; // aligned to the element
    tern_dtype dtype;
    tern_cmp cmp;
    double value;
} tern_predicate;

// A signal that a task notifies: the word at offset_bytes of a rank's part of the window.
typedef struct tern_notice {
    tern_window *window; // outlives the graph's runs
    int rank;            // of the window; -1: of every rank
    size_t offset_bytes;
} tern_notice;

// Zero-initialised fields mean none of it.
typedef struct tern_task {
    const char *name;        // for reports and traces; copied; NULL: the kernel's name
    tern_kernel kernel;      // the function, or NULL: look for kernel_name
    const char *kernel_name; // in the loaded shared objects
    tern_core core;          // the kind of core it runs on
    const int64_t *args;     // copied; may be NULL when args_count is 0
    int args_count;          // 0..TERN_TASK_ARGS_MAX

    // Of TERN_CORE_MIX, instead of `kernel`: what the AIC, the first and the second AIV of a
    // cluster run, all with the same arguments; at least two. Where there is none (neither kernel
    // nor name), that core stays free for other tasks.
    tern_kernel mix[3];
    const char *mix_names[3];

    int blocks;      // calls of the kernel, tern_kernel_block() of which is 0, 1, …; 0: one
    bool sync_start; // all blocks start together: there must be as many cores (clusters)
    const tern_predicate *predicate; // copied; false: the task ends without having run

    // Signals that its kernels notify, as far as you say so; copied. Nothing is notified by this,
    // and no task waits for it: a run that does not end can then name the circle in which tasks of
    // several ranks wait for each other, and records of runs show these arrows.
    const tern_notice *notices;
    int notices_count; // 0..TERN_TASK_NOTICES_MAX
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
// wait the signal, the value seen and the value wanted, and what each other rank does; and that all
// ranks wait for each other, when each waits for a signal and none runs a task; and in which circle
// they do, as far as tasks have said what they notify (tern_task.notices). What comes after a
// task that failed has not run, the rest of the run has; after the deadline, and after a
// death, nothing that had not started. Running kernels have returned, unless the sentence says that
// one has not. The chip's communicator has failed too, so that peers which wait for this run's
// signals learn why, and with it what waits for theirs. When the communicator failed first, its
// status outranks TERN_ERR_KERNEL of a kernel that failed of it. TERN_ERR_INTERRUPTED
// (tern/interrupt.h) ends the run as its deadline would. TERN_ERR_STATE when nothing was launched.
TERN_CALL int tern_chip_synchronize(tern_chip *chip);

// Building on the chip. The orchestration runs on a thread of the chip's own, when the launches
// before have ended; it adds tasks, edges and waits to the graph that it is given, and publishes
// each task when that is complete. A published task may start at once, and an edge from a task that
// has finished is met. Edges to a published task are TERN_ERR_STATE. The run ends when the
// orchestration has returned and all tasks have finished. What it returns below 0 (its sentence is
// tern_last_error()) fails the run, as does a task that was never published. In an orchestration
// tern_chip_synchronize and tern_chip_destroy are TERN_ERR_STATE.
typedef int (*tern_orchestration)(tern_graph *graph, void *arg);

typedef struct tern_orchestrate_options {
    bool build_first; // tasks start when the orchestration has returned
} tern_orchestrate_options;

// Queues a run of the orchestration, as tern_chip_launch does. The graph is one that has not run:
// from tern_graph_create, or from tern_graph_create_rings (tern/submit.h), which may run often.
// `arg` is the orchestration's own. options may be NULL.
TERN_CALL int tern_chip_orchestrate(tern_chip *chip, tern_graph *graph,
                                    tern_orchestration orchestration, void *arg,
                                    const tern_orchestrate_options *options);

// Nothing more will be said of the task. By the orchestration; in a graph that is built on the
// host, nothing.
TERN_CALL int tern_graph_publish(tern_graph *graph, int task);

// In an orchestration: which run of the graph this is (0, 1, 2, …), as tern_kernel_run() says in
// its kernels; for values of waits that grow from run to run. TERN_ERR_STATE outside of one.
TERN_CALL int tern_graph_run(const tern_graph *graph);

// Cores of a kind; clusters for TERN_CORE_MIX.
TERN_API int tern_chip_cores(const tern_chip *chip, tern_core core);

// The number of the last failed run's error in tern/graph_code.def, 0 when none of them was it.
// tern_graph_code_name: its name ("HEAP_RING_DEADLOCK"), or "NONE".
TERN_API int tern_chip_code(const tern_chip *chip);
TERN_API const char *tern_graph_code_name(int code);

// For kernels, on the core thread that runs them.

// Reports that this kernel failed; the run ends with TERN_ERR_KERNEL and this sentence. The kernel
// should return soon after. Outside a kernel it does nothing.
TERN_API void tern_kernel_fail(const char *format, ...) TERN_PRINTF(1, 2);

// How often the graph has been launched before (0 in its first run), and the index of the core
// among those of its kind. 0 outside a kernel.
TERN_API int tern_kernel_run(void);
TERN_API int tern_kernel_core(void);

// The name of the kernel's task; NULL outside a kernel. Handlers of signals may call it.
TERN_API const char *tern_kernel_name(void);

// Which of the task's blocks this is, and of how many; and of a TERN_CORE_MIX task which of its
// kernels: 0 AIC, 1 the first AIV, 2 the second. 0, 1 and 0 outside a kernel.
TERN_API int tern_kernel_block(void);
TERN_API int tern_kernel_blocks(void);
TERN_API int tern_kernel_slot(void);

// This block ends only when the condition holds, too: the kernel returns and frees its core, and
// the scheduler watches. The second form: when the word, counting up, has reached a value; in any
// memory of this process. At most TERN_TASK_DEFERS_MAX of both; beyond, and outside a kernel, an
// error, and the task fails.
TERN_CALL int tern_kernel_defer(const tern_condition *condition);
TERN_CALL int tern_kernel_defer_word(const uint32_t *word, uint32_t expected);

TERN_END_DECLS

#endif
