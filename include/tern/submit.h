// SPDX-License-Identifier: Apache-2.0
// The third builder: an orchestration submits tasks and names the regions of memory that each reads
// and writes; the order of tasks follows from which regions overlap, and the memory of outputs
// comes from heaps. Rows, heaps, edges and regions lie in rings of a fixed size: what has retired
// is used again, and an orchestration that is ahead waits, so any number of tasks runs in bounded
// memory.
//
//     int build(tern_graph *graph, void *arg)
//     {
//         tern_task_arg args[] = {{.access = TERN_IN, .region = &a},
//                                 {.access = TERN_OUT, .region = &c}, // its memory: from a heap
//                                 {.access = TERN_SCALAR, .scalar = n}};
//         tern_submission add_task = {.task = {.kernel = add, .core = TERN_CORE_AIV},
//                                     .args = args, .args_count = 3};
//         return tern_graph_submit(graph, &add_task, NULL);
//     }
//     tern_graph_create_rings(NULL, &graph);
//     tern_chip_orchestrate(chip, graph, build, NULL, NULL);
//     tern_chip_synchronize(chip);
//
// A task depends on the earlier tasks whose regions overlap with its own when one of the two
// writes, and on the tasks that made the buffers of its regions. With TERN_RINGS_UPSTREAM only as
// the first chip runtimes had it: a reader depends on earlier writers, and TERN_INOUT too; a writer
// depends on no earlier reader, and TERN_OUT_EXISTING on no earlier writer.
//
// Scopes: the memory of an output, and its row, stay until the scope that submitted it has ended
// and the tasks that use it have finished. Nothing that is submitted behind the scope may use it
// (TERN_ERR_ARG; with TERN_RINGS_UPSTREAM nobody looks). The orchestration runs in an outermost
// scope. Scopes of depth 0, 1, 2 and more (3) have a ring each. The host may read outputs only in
// memory of its own (TERN_OUT_EXISTING, TERN_INOUT); those from heaps are gone after the run.
#ifndef TERN_SUBMIT_H
#define TERN_SUBMIT_H

#include "tern/graph.h"
#include "tern/region.h"

TERN_BEGIN_DECLS

#define TERN_RINGS 4
#define TERN_SCOPES_MAX 64          // nested
#define TERN_SUBMIT_REGIONS_MAX 32  // of a task
#define TERN_SUBMIT_SCALARS_MAX 32  // of a task
#define TERN_SUBMIT_AFTER_MAX 65536 // explicit edges of a task

enum tern_ring_flags {
    TERN_RINGS_UPSTREAM = 1, // writers wait for no reader, see above
};

// Zero-initialised means the defaults. Of each ring; one value at [0] with zeros behind it is that
// of all.
typedef struct tern_ring_options {
    uint32_t window[TERN_RINGS];  // tasks, a power of two of 4 at least (16384); one less in flight
    uint64_t heap[TERN_RINGS];    // bytes of outputs, 1024 at least (256 MiB)
    uint32_t edges[TERN_RINGS];   // of tasks in flight, 4 at least (65536)
    uint32_t regions[TERN_RINGS]; // of tasks in flight that the map knows, 4 at least (65536)
    uint32_t flags;               // enum tern_ring_flags, or-ed
} tern_ring_options;

// A graph for tern_chip_orchestrate; may run often, empty at the beginning of each run. NULL: the
// environment's (TERN_RING_WINDOW, TERN_RING_HEAP, TERN_RING_EDGES: one number, or four with commas
// between them), else the defaults.
TERN_CALL int tern_graph_create_rings(const tern_ring_options *options, tern_graph **graph);

typedef enum tern_access {
    TERN_IN = 0,           // reads
    TERN_OUT = 1,          // writes a buffer that is made for it; the region's address is filled in
    TERN_INOUT = 2,        // reads and writes
    TERN_OUT_EXISTING = 3, // writes all of it
    TERN_NO_DEP = 4,       // no order follows, but that after the task that made the buffer
    TERN_SCALAR = 5,
} tern_access;

// The kernel's args[i]: the address of a copy of the region, as int64_t; or the scalar.
typedef struct tern_task_arg {
    tern_access access;
    tern_region *region; // of TERN_OUT it is written: address, owner. Copied by submit.
    uint64_t scalar;
    bool filled;   // of TERN_OUT: the buffer is filled with `fill`, an element of its dtype
    uint64_t fill; // its bits
} tern_task_arg;

typedef uint64_t tern_task_id; // ring << 32 | number in the ring
#define TERN_TASK_ID_NONE UINT64_MAX

typedef struct tern_submission {
    tern_task task; // its args are not looked at; TERN_CORE_NONE: only orders, or allocates
    const tern_task_arg *args; // in the order in which the kernel has them
    int args_count;
    const tern_task_id *after; // also after these; those that have retired are met
    int after_count;
    const tern_condition *waits; // also when these hold (tern_graph_add_wait)
    int waits_count;
} tern_submission;

// Submits a task; it may start at once. *id may be NULL. By the orchestration's thread alone. Waits
// while there is no room, and fails the run when it is certain that none can come (the codes 1 to 4
// of tern/graph_code.def). After any failure of the run it does nothing and returns TERN_ERR_STATE.
TERN_CALL int tern_graph_submit(tern_graph *graph, const tern_submission *submission,
                                tern_task_id *id);

typedef enum tern_scope {
    TERN_SCOPE_AUTO = 0,
    TERN_SCOPE_MANUAL = 1, // no order follows from regions: only `after`. No AUTO scope inside.
} tern_scope;
TERN_CALL int tern_graph_scope_begin(tern_graph *graph, tern_scope mode);
TERN_CALL int tern_graph_scope_end(tern_graph *graph);

// One element, as bits in the low bytes of *value. Get waits until the region's last writers, set
// until its last writers and their readers have finished. `index` has region->ndims entries.
// TERN_ERR_TIMEOUT (TENSOR_WAIT_TIMEOUT) after timeout_ns of the run.
TERN_CALL int tern_graph_get_element(tern_graph *graph, const tern_region *region,
                                     const uint32_t *index, uint64_t *value);
TERN_CALL int tern_graph_set_element(tern_graph *graph, const tern_region *region,
                                     const uint32_t *index, uint64_t value);

// Gives the run up, with a code of tern/graph_code.def (9 for one's own reasons). Returns
// TERN_ERR_STATE, for the orchestration to return. Of a graph without rings, too.
TERN_CALL int tern_graph_give_up(tern_graph *graph, int code, const char *format, ...)
    TERN_PRINTF(3, 4);

// Whether the run has failed: what follows is in vain.
TERN_API bool tern_graph_is_fatal(const tern_graph *graph);

// What was used at most in the last run, of each ring.
typedef struct tern_ring_marks {
    uint32_t window[TERN_RINGS], edges[TERN_RINGS], regions[TERN_RINGS];
    uint64_t heap[TERN_RINGS];
    uint64_t tasks;
} tern_ring_marks;
TERN_CALL int tern_graph_marks(const tern_graph *graph, tern_ring_marks *marks);

TERN_END_DECLS

#endif
