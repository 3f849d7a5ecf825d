// SPDX-License-Identifier: Apache-2.0
// The task table of the first two builders: rows that never move, and memory for what belongs to
// them, until the graph is destroyed. One thread builds.
#ifndef TERN_GRAPH_TABLE_H
#define TERN_GRAPH_TABLE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "graph/task.h"

#define TERN__TABLE_CHUNK 1024 // rows

struct tern__table {
    struct tern__task *chunks[TERN_GRAPH_TASKS_MAX / TERN__TABLE_CHUNK];
    struct tern__table_block *blocks; // arguments, names, edges, waits
    uint32_t count;
};

static inline struct tern__task *tern__table_at(const struct tern__table *table, uint32_t index)
{
    return &table->chunks[index / TERN__TABLE_CHUNK][index % TERN__TABLE_CHUNK];
}

// A row for the task. Its args, its name and, unless it is NULL, more are copied. TERN_ERR_MEMORY.
int tern__table_add(struct tern__table *table, const struct tern__task *task,
                    const struct tern__task_more *more, struct tern__task **made);

// Room for one more of a task's numbers. TERN_ERR_MEMORY.
int tern__table_grow_before(struct tern__table *table, struct tern__task *task);

// Lists have room for a few items, and then for powers of two.
#define TERN__LIST_LEAST 2U
static inline bool tern__list_is_full(uint32_t count)
{
    return count == 0 || (count >= TERN__LIST_LEAST && (count & (count - 1)) == 0);
}

// The task comes after that of the number. TERN_ERR_MEMORY.
static inline int tern__table_add_before(struct tern__table *table, struct tern__task *task,
                                         uint32_t number)
{
    if (tern__list_is_full(task->before_count)) {
        TERN_TRY(tern__table_grow_before(table, task));
    }
    task->numbers[task->before_count++] = number;
    return TERN_OK;
}

// An edge of a graph that runs, which neither of its tasks knows of yet. TERN_ERR_MEMORY.
int tern__table_make_edge(struct tern__table *table, struct tern__task *from, struct tern__task *to,
                          struct tern__edge **edge);

int tern__table_add_until(struct tern__table *table, struct tern__task *task,
                          const struct tern__until *until);

void tern__table_free(struct tern__table *table);

#endif
