// SPDX-License-Identifier: Apache-2.0
// A task graph from inside: its table or its rings, where its kernels come from, and whether it
// runs.
#ifndef TERN_GRAPH_GRAPH_H
#define TERN_GRAPH_GRAPH_H

#include "base/handle.h"
#include "graph/table.h"

// The order of a graph that is whole, by numbers: those of its tasks, then those of joins (seal.c).
// Dense, since a run goes through it: what a task comes before is to[first[i]] … to[first[i+1]-1].
#define TERN__ORDER_SPECIAL 255
struct tern__order {
    uint32_t *first, *to;
    uint32_t *fanin;
    _Atomic uint32_t *pending; // what a task still comes after
    uint8_t *plain;            // the kind of core, or TERN__ORDER_SPECIAL: look at the task
    uint32_t *roots;           // tasks that come after none, and room
    uint32_t roots_count, tasks_count, joins_count;
    struct tern__task *joins;
};

struct tern_graph {
    struct tern__handle handle;
    struct tern__table table;              // of the first two builders
    struct tern__rings *rings;             // of the third, else NULL
    bool sealed;                           // it can no longer be changed from outside
    struct tern__order order;              // sealed: of its runs
    struct tern_chip *chip;                // while its orchestration runs
    uint32_t unpublished;                  // then: tasks
    struct tern__task *later, *later_last; // published, of an orchestration that builds first
    void **libraries;
    size_t libraries_count;
    // Launches that have not ended, all of one chip: its number << TERN__LAUNCHES_BITS | how many.
    _Atomic uint64_t launched;
    uint32_t runs; // launches so far
};

#define TERN__LAUNCHES_BITS 16

// One launch more, and one less. False: launches of another chip have not ended.
bool tern__graph_take(tern_graph *graph, uint64_t chip_number);
void tern__graph_leave(tern_graph *graph);

static inline bool tern__graph_is_taken(const tern_graph *graph)
{
    return atomic_load(&graph->launched) != 0; // partner: tern__graph_leave
}

// Looks for cycles and finds what comes first; nothing when that is done. TERN_ERR_CYCLE names the
// tasks of a cycle; then the graph may still be changed.
int tern__graph_seal(tern_graph *graph);

void tern__order_free(struct tern__order *order);

// The task or join of a number.
static inline struct tern__task *tern__graph_at(const tern_graph *graph, uint32_t number)
{
    return number < graph->order.tasks_count
               ? tern__table_at(&graph->table, number)
               : &graph->order.joins[number - graph->order.tasks_count];
}

// What a task of a public call is, checked: everything but args, more and its edges. `more` is
// filled in when the result says that it has any.
int tern__task_read(const char *call, const tern_graph *graph, const tern_task *given,
                    struct tern__task *task, struct tern__task_more *more);

// Whether the window that a task names is of the chip's job. TERN_ERR_ARG.
int tern__task_window_fits(const char *call, const struct tern_chip *chip,
                           const struct tern__task *task, const tern_window *window);

// Whether the chip has what the task needs. TERN_ERR_KERNEL, TERN_ERR_LIMIT.
int tern__task_fits(const char *call, const struct tern_chip *chip, const struct tern__task *task,
                    int *code);

// A kernel of a task by its name, in the objects that the graph has loaded. TERN_ERR_KERNEL.
int tern__graph_find(const char *call, const tern_graph *graph, const char *task, const char *name,
                     tern_kernel *kernel);

#endif
