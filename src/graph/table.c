// SPDX-License-Identifier: Apache-2.0
// The task table. Adding allocates, a block for many items; admitting does not.

#include "graph/table.h"

#include <stdalign.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

enum { BLOCK_BYTES = 64 << 10 };

struct tern__table_block {
    struct tern__table_block *next;
    size_t used;
    alignas(16) char bytes[BLOCK_BYTES - 16];
};

_Static_assert(offsetof(struct tern__graph_task, call) == 0, "a call is its task");

// Memory that stays where it is until the table is freed; no item is larger than a block.
static void *store(struct tern__table *table, size_t bytes)
{
    size_t rounded = (bytes + 7) / 8 * 8;
    struct tern__table_block *block = table->blocks;
    if (block == NULL || rounded > sizeof block->bytes - block->used) {
        block = malloc(sizeof *block);
        if (block == NULL) {
            tern__set_error("no memory for a graph of %u tasks", table->count);
            return NULL;
        }
        block->next = table->blocks;
        block->used = 0;
        table->blocks = block;
    }
    void *item = block->bytes + block->used;
    block->used += rounded;
    return item;
}

static int make_chunk(struct tern__table *table)
{
    struct tern__graph_task **chunk = &table->chunks[table->count / TERN__TABLE_CHUNK];
    if (*chunk == NULL) {
        *chunk = malloc(TERN__TABLE_CHUNK * sizeof **chunk);
    }
    return *chunk != NULL
               ? TERN_OK
               : tern__fail(TERN_ERR_MEMORY, "no memory for a graph of %u tasks", table->count + 1);
}

int tern__table_add(struct tern__table *table, const struct tern__kernel_call *call,
                    struct tern__graph_task **task)
{
    size_t args_bytes = call->args_count * sizeof *call->args;
    size_t name_bytes = strlen(call->name) + 1;
    TERN_TRY(make_chunk(table));
    char *stored = store(table, args_bytes + name_bytes);
    if (stored == NULL) {
        return TERN_ERR_MEMORY;
    }
    struct tern__graph_task *made = tern__table_at(table, table->count);
    *made = (struct tern__graph_task){.call = *call};
    if (args_bytes > 0) {
        memcpy(stored, call->args, args_bytes);
    }
    memcpy(stored + args_bytes, call->name, name_bytes);
    made->call.args = (const int64_t *)(const void *)stored;
    made->call.name = stored + args_bytes;
    table->count++;
    *task = made;
    return TERN_OK;
}

int tern__table_add_edge(struct tern__table *table, struct tern__graph_task *from,
                         struct tern__graph_task *to)
{
    struct tern__graph_edge *edge = store(table, sizeof *edge);
    if (edge == NULL) {
        return TERN_ERR_MEMORY;
    }
    *edge = (struct tern__graph_edge){.from = from, .to = to, .next_before = to->before};
    to->before = edge;
    return TERN_OK;
}

int tern__table_add_wait(struct tern__table *table, struct tern__graph_task *task,
                         const tern_condition *condition, int32_t step_per_run)
{
    struct tern__graph_wait *wait = store(table, sizeof *wait);
    if (wait == NULL) {
        return TERN_ERR_MEMORY;
    }
    *wait = (struct tern__graph_wait){.step_per_run = step_per_run, .condition = *condition};
    struct tern__graph_wait **end = &task->waits;
    while (*end != NULL) {
        end = &(*end)->next;
    }
    *end = wait;
    return TERN_OK;
}

void tern__table_publish(struct tern__table *table)
{
    tern__flag_store(&table->published, table->count); // partner: tern__table_admit
}

void tern__table_close(struct tern__table *table)
{
    tern__flag_store(&table->closed, 1); // partner: tern__table_is_closed
}

void tern__table_reopen(struct tern__table *table)
{
    for (uint32_t i = 0; i < table->count; i++) {
        struct tern__graph_task *task = tern__table_at(table, i);
        task->after = task->after_last = NULL;
        task->pending = 0;
    }
    table->admitted = 0;
    tern__flag_store(&table->published, 0);
    tern__flag_store(&table->closed, 0);
}

struct tern__graph_task *tern__table_admit(struct tern__table *table)
{
    if (table->admitted == tern__flag_load(&table->published)) { // partner: tern__table_publish
        return NULL;
    }
    struct tern__graph_task *task = tern__table_at(table, table->admitted++);
    task->fanin = 0;
    task->pending = 0;
    for (struct tern__graph_edge *edge = task->before; edge != NULL; edge = edge->next_before) {
        struct tern__graph_task *from = edge->from;
        if (from->after_last != NULL && from->after_last->to == task) {
            continue; // the same edge once more
        }
        edge->next_after = NULL;
        *(from->after_last != NULL ? &from->after_last->next_after : &from->after) = edge;
        from->after_last = edge;
        task->fanin++;
        task->pending += from->pending != TERN__TASK_FINISHED;
    }
    return task;
}

void tern__table_free(struct tern__table *table)
{
    for (size_t i = 0; i < sizeof table->chunks / sizeof table->chunks[0]; i++) {
        free(table->chunks[i]);
    }
    while (table->blocks != NULL) {
        struct tern__table_block *next = table->blocks->next;
        free(table->blocks);
        table->blocks = next;
    }
}
