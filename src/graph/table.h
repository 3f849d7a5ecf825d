// SPDX-License-Identifier: Apache-2.0
// The task table of a graph: rows that never move, so it can grow while it runs. One thread builds:
// it adds tasks, says what they come after and wait for, and publishes them. One thread runs: it
// admits what has been published, in order, and owns everything that changes in a run. An edge is a
// note in the row of its later task until that task is admitted, so completions and new edges never
// meet: the same thread does both.
#ifndef TERN_GRAPH_TABLE_H
#define TERN_GRAPH_TABLE_H

#include <stddef.h>
#include <stdint.h>

#include "base/order.h"
#include "stream/core.h"
#include "tern/graph.h"

#define TERN__TASK_NAME_BYTES 36
#define TERN__TASK_FINISHED UINT32_MAX
#define TERN__TABLE_CHUNK 1024 // rows

struct tern__graph_edge {
    struct tern__graph_task *from, *to;
    struct tern__graph_edge *next_before; // of those that end at `to`; written by the builder
    struct tern__graph_edge
        *next_after; // of those that begin at `from`; written when `to` is admitted
};

struct tern__graph_wait {
    struct tern__graph_wait *next;
    int32_t step_per_run;
    tern_condition condition; // of run 0
};

struct tern__graph_task {
    struct tern__kernel_call call; // first: a call is its task
    // Of the builder; only read once it is published.
    struct tern__graph_edge *before; // those that end here
    struct tern__graph_wait *waits;  // in the order of their calls
    // Of who runs.
    struct tern__graph_edge *after, *after_last; // those that begin here and end at admitted tasks
    struct tern__graph_task *next;               // in the queue that it is in
    uint32_t fanin;                              // different tasks that it comes after
    uint32_t pending; // those of them that have not finished in this run; TERN__TASK_FINISHED
    int64_t waiting_since_ns;
};

struct tern__table {
    struct tern__graph_task *chunks[TERN_GRAPH_TASKS_MAX / TERN__TABLE_CHUNK];
    struct tern__table_block *blocks; // arguments, names, edges and waits
    uint32_t count;                   // of the builder
    uint32_t admitted;                // of who runs
    _Atomic uint32_t published;       // by the builder: rows that may be run
    _Atomic uint32_t closed;          // by the builder: there will be no more
};

static inline struct tern__graph_task *tern__table_at(const struct tern__table *table,
                                                      uint32_t index)
{
    return &table->chunks[index / TERN__TABLE_CHUNK][index % TERN__TABLE_CHUNK];
}

// Building. What a call has is copied. TERN_ERR_MEMORY, TERN_ERR_LIMIT.
int tern__table_add(struct tern__table *table, const struct tern__kernel_call *call,
                    struct tern__graph_task **task);
// `to` is not published yet. In a table that already runs, `from` is older than it.
int tern__table_add_edge(struct tern__table *table, struct tern__graph_task *from,
                         struct tern__graph_task *to);
int tern__table_add_wait(struct tern__table *table, struct tern__graph_task *task,
                         const tern_condition *condition, int32_t step_per_run);

// What has been added may be run; and nothing more will be added. Then the bell that the scheduler
// sleeps on is to be rung.
void tern__table_publish(struct tern__table *table);
void tern__table_close(struct tern__table *table);

static inline bool tern__table_is_closed(const struct tern__table *table)
{
    return tern__flag_load(&table->closed) != 0; // partner: tern__table_close
}

// Opens a table that has not run yet again: nothing is published or admitted.
void tern__table_reopen(struct tern__table *table);

// Running. The next published task, admitted; NULL when all are. Its `pending` counts what has not
// finished.
struct tern__graph_task *tern__table_admit(struct tern__table *table);

void tern__table_free(struct tern__table *table);

// A wait's condition in a run.
static inline tern_condition tern__wait_in_run(const struct tern__graph_wait *wait, uint32_t run)
{
    tern_condition condition = wait->condition;
    condition.value = (int32_t)((uint32_t)condition.value + run * (uint32_t)wait->step_per_run);
    return condition;
}

#endif
