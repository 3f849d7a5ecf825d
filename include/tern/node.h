// SPDX-License-Identifier: Apache-2.0
// A node: a host that gives work to chips, as a chip gives work to its cores. The host is rank 0 of
// a communicator, the chips are its other ranks: chip c is rank c + 1. The host runs
// orchestrations; each submits tasks for chips and says what memory they read and write, and their
// order follows (tern/submit.h). Rows, scopes, outputs from bounded heaps, back-pressure, waits on
// signals, elements and poisoned successors are those of a chip: an orchestration of a node may
// make all calls of tern/submit.h on its graph.
//
//     if (tern_comm_rank(world) != 0) {            // a chip: serves until the host ends the node
//         tern_node_function functions[] = {{.name = "add", .kernel = add}};
//         return tern_node_serve(world, &(tern_serve_options){functions, 1});
//     }
//     tern_node_create(world, NULL, &node);
//     tern_node_run(node, program, NULL);
//     tern_node_destroy(node);
//
//     int program(tern_graph *graph, void *arg)
//     {
//         tern_task_arg args[] = {{.access = TERN_IN, .region = &a},
//                                 {.access = TERN_OUT, .region = &b}};
//         tern_node_task task = {.function = "add", .chips = (int[]){2}, .chips_count = 1,
//                                .args = args, .args_count = 2};
//         return tern_node_submit(graph, &task, NULL);
//     }
//
// Three sorts of tasks:
//   * for one chip: a kernel, or an orchestration that builds a graph for the chip's own cores;
//   * for a group of chips: starts when all of them are idle, on all together, as kernels need that
//     wait for each other. A group whose turn has come keeps its chips until the last is idle;
//   * for the host itself: tern_graph_submit, whose kernels the node's threads call.
// Each chip runs one task at a time, in the order in which they became ready. What a task wrote is
// visible to the tasks after it, on all chips.
//
// Memory: what the regions of tasks for chips name is of the node, else TERN_ERR_ARG: domains, and
// outputs that tasks make (TERN_OUT), which are in the host's memory. The host names all of it by
// addresses of its own; a chip's kernel gets the address where that chip has it. Nothing else of
// the host reaches a chip: functions go by name, and arguments by value.
//
// Failures: when a task fails, what comes after it does not run, all else does, and the run ends
// with TERN_ERR_KERNEL and a sentence that names task and chip; other chips of its group are told,
// and their waits end. Tasks that wait for signals of the host do not run either. The node can be
// used again. When a chip dies, or the deadline of a run
// passes, the run ends with TERN_ERR_PEER or TERN_ERR_TIMEOUT, and so do all chips' serving; the
// communicator that the node was made from has not failed, unless a rank died. If the chips of a
// failed group do not come back within a second, this counts as such a failure.
#ifndef TERN_NODE_H
#define TERN_NODE_H

#include "tern/submit.h"

TERN_BEGIN_DECLS

typedef struct tern_node tern_node;
typedef struct tern_domain tern_domain;

#define TERN_NODE_CHIPS_MAX (TERN_RANKS_MAX - 1)
#define TERN_NODE_NAME_BYTES 64 // of a function, with its end
#define TERN_NODE_DOMAINS_MAX 4 // of a task
#define TERN_NODE_HOST (-1)     // instead of a chip

// Zero-initialised fields mean the defaults.
typedef struct tern_node_options {
    uint32_t window;       // tasks in flight at each depth of scopes, a power of two (4096)
    uint64_t heap_bytes;   // for outputs, at each depth of scopes (4 MiB)
    uint64_t memory_bytes; // for domains, on the host and on each chip (16 MiB)
    int host_threads;      // that call the kernels of tasks for the host (1)
    int64_t timeout_ns;    // a run may take this long (the communicator's deadline)
} tern_node_options;

// On rank 0, while all other ranks call tern_node_serve. Collective. TERN_ERR_ARG: comm has one
// rank, or this is not rank 0; TERN_ERR_MEMORY, and as tern_comm_split and tern_window_create.
TERN_CALL int tern_node_create(tern_comm *comm, const tern_node_options *options, tern_node **node);

// Ends the serving of all chips, with TERN_OK on them; a run that goes on is finished first.
// Domains that are left are freed. NULL is allowed.
TERN_API int tern_node_destroy(tern_node *node);

// The same, but the memory of the node stays mapped at its addresses in this process, as ordinary
// memory that may still be shared, until the program gives the range to munmap. For runtimes whose
// objects outlive a node.
TERN_CALL int tern_node_release(tern_node *node, void **address, size_t *size_bytes);

// How many chips: 0 .. this - 1.
TERN_CALL int tern_node_chips(const tern_node *node);

// What a chip can be asked for by name: one of the three. A kernel is called by the thread that
// serves, with what tern_node_submit was given. An orchestration, whose `arg` is the same int64_t
// *args, and a graph that is whole, which gets none, run on the chip's own cores; the task has
// ended when all of their tasks have.
typedef struct tern_node_function {
    const char *name;
    tern_kernel kernel;
    tern_orchestration orchestration;
    tern_graph *graph; // lives until serving has ended
} tern_node_function;

typedef struct tern_serve_options {
    const tern_node_function *functions;
    int functions_count;
    int aic_count, aiv_count; // cores for orchestrations; both 0: one of each
} tern_serve_options;

// On all ranks but 0: runs tasks until the host has destroyed its node (TERN_OK). TERN_ERR_PEER,
// TERN_ERR_TIMEOUT when the node fails. A kernel that fails does not end it.
TERN_CALL int tern_node_serve(tern_comm *comm, const tern_serve_options *options);

// For kernels and orchestrations that a node calls: what the args of the task are that the caller
// runs. False when it runs none.
typedef struct tern_node_args {
    int args_count;
    int domains_count;  // contexts behind them
    uint64_t is_region; // a bit for each argument; the others are numbers
} tern_node_args;
TERN_API bool tern_node_task_args(tern_node_args *args);

// Opens a shared object on every chip, whose functions tasks can then name as well; behind those of
// tern_serve_options. Between runs. The sentence names the chip that could not.
TERN_CALL int tern_node_load(tern_node *node, const char *path);

// Queues a run of the orchestration, on a thread of the node's own, behind those before it; and
// waits until all have ended, as tern_chip_orchestrate and tern_chip_synchronize. tern_node_run:
// both. By one thread at a time.
TERN_CALL int tern_node_launch(tern_node *node, tern_orchestration orchestration, void *arg);
TERN_CALL int tern_node_synchronize(tern_node *node);
TERN_CALL int tern_node_run(tern_node *node, tern_orchestration orchestration, void *arg);

// A task for chips. Its function's args: those below, a region as the address of a tern_region
// whose memory is where that chip has it; then the contexts (const tern_context *) of the domains,
// whose ranks are the domain's members. All of them end with the call.
typedef struct tern_node_task {
    const char *name;            // for reports and traces; copied; NULL: the function's name
    const char *function;        // of tern_serve_options, or in an object that was loaded
    bool orchestrates;           // in such an object, it is a tern_orchestration; else a kernel
    const int *chips;            // one, or a group, all different
    int chips_count;             // 0: any one, that has least to do
    const tern_task_arg *args;   // of the first chip, then of the second, …
    int args_count;              // of each chip; regions of all together: TERN_SUBMIT_REGIONS_MAX
    tern_domain *const *domains; // that every one of the chips is a member of
    int domains_count;
    const tern_task_id *after; // also after these
    int after_count;
    const tern_condition *waits; // also when these signals of the host hold
    int waits_count;
} tern_node_task;

// Submits it to the graph of a node's orchestration, by that alone. Otherwise as tern_graph_submit,
// which can be told to come after it by its id.
TERN_CALL int tern_node_submit(tern_graph *graph, const tern_node_task *task, tern_task_id *id);

// A domain: memory of the same size on some chips, and on the host, beginning with zeros, and a
// context for kernels, in which chips[i] is rank i. Made by the host alone, at any time, without a
// call to any chip; none has to take part. TERN_ERR_MEMORY says how much is free. count may be 0:
// memory of the host that tasks for chips can name.
TERN_CALL int tern_domain_create(tern_node *node, const int *chips, int count, size_t size_bytes,
                                 tern_domain **domain);

// No task that is submitted from now on may use it. What has been submitted still does: the memory
// is another domain's only after the runs that were launched have ended. NULL is allowed.
TERN_API int tern_domain_destroy(tern_domain *domain);

// Where the host has the memory of chips[member], or its own (TERN_NODE_HOST): for regions. NULL,
// with the reason in tern_last_error(), for a member that there is not.
TERN_API void *tern_domain_address(const tern_domain *domain, int member);

// Copies into a member's memory, and out of it, at once: before runs, between them, or, in an
// orchestration, what no task uses meanwhile.
TERN_CALL int tern_domain_write(tern_domain *domain, int member, size_t offset_bytes,
                                const void *local, size_t size_bytes);
TERN_CALL int tern_domain_read(tern_domain *domain, int member, size_t offset_bytes, void *local,
                               size_t size_bytes);

TERN_END_DECLS

#endif
