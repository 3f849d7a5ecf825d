// SPDX-License-Identifier: Apache-2.0
// The task table. Adding allocates, a block for many items.

#include "graph/table.h"

#include <stdalign.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

enum { BLOCK_BYTES = 64 << 10 };

struct tern__table_block {
    struct tern__table_block *next;
    size_t left;
    alignas(16) char bytes[];
};

// Memory that stays where it is until the table is freed. What is larger than a block has one of
// its own.
static void *store(struct tern__table *table, size_t bytes)
{
    size_t rounded = (bytes + 7) / 8 * 8;
    struct tern__table_block *block = table->blocks;
    if (block == NULL || rounded > block->left) {
        size_t room = BLOCK_BYTES - sizeof *block;
        room = rounded > room ? rounded : room;
        block = malloc(sizeof *block + room);
        if (block == NULL) {
            tern__set_error("no memory for a graph of %u tasks", table->count);
            return NULL;
        }
        block->next = table->blocks;
        block->left = room;
        table->blocks = block;
    }
    block->left -= rounded;
    return block->bytes + block->left;
}

// A full list, where it is with more room. NULL: no memory.
static void *grow(struct tern__table *table, const void *list, uint32_t count, size_t size)
{
    void *grown = store(table, (count > 0 ? 2 * (size_t)count : TERN__LIST_LEAST) * size);
    if (grown != NULL && count > 0) {
        memcpy(grown, list, count * size);
    }
    return grown;
}

static int make_chunk(struct tern__table *table)
{
    struct tern__task **chunk = &table->chunks[table->count / TERN__TABLE_CHUNK];
    if (*chunk == NULL) {
        *chunk = aligned_alloc(TERN_CACHE_LINE, TERN__TABLE_CHUNK * sizeof **chunk);
    }
    return *chunk != NULL
               ? TERN_OK
               : tern__fail(TERN_ERR_MEMORY, "no memory for a graph of %u tasks", table->count + 1);
}

static int make_more(struct tern__table *table, struct tern__task *task,
                     const struct tern__task_more *more)
{
    task->more = store(table, sizeof *more);
    if (task->more == NULL) {
        return TERN_ERR_MEMORY;
    }
    *task->more = more != NULL ? *more : (struct tern__task_more){.reserve = -1};
    task->more->hold.task = task;
    return TERN_OK;
}

int tern__table_add(struct tern__table *table, const struct tern__task *task,
                    const struct tern__task_more *more, struct tern__task **made)
{
    size_t args_bytes = task->args_count * sizeof *task->args;
    size_t name_bytes = strlen(task->name) + 1;
    TERN_TRY(make_chunk(table));
    char *stored = store(table, args_bytes + name_bytes);
    if (stored == NULL) {
        return TERN_ERR_MEMORY;
    }
    struct tern__task *row = tern__table_at(table, table->count);
    memcpy(row, task, sizeof *row);
    if (more != NULL) {
        TERN_TRY(make_more(table, row, more));
    }
    if (args_bytes > 0) {
        memcpy(stored, task->args, args_bytes);
    }
    memcpy(stored + args_bytes, task->name, name_bytes);
    row->args = (const int64_t *)(const void *)stored;
    row->name = stored + args_bytes;
    row->number = table->count++;
    *made = row;
    return TERN_OK;
}

int tern__table_grow_before(struct tern__table *table, struct tern__task *task)
{
    uint32_t *numbers = grow(table, task->numbers, task->before_count, sizeof *numbers);
    if (numbers == NULL) {
        return TERN_ERR_MEMORY;
    }
    task->numbers = numbers;
    return TERN_OK;
}

int tern__table_make_edge(struct tern__table *table, struct tern__task *from, struct tern__task *to,
                          struct tern__edge **edge)
{
    struct tern__edge *made = store(table, sizeof *made);
    if (made == NULL) {
        return TERN_ERR_MEMORY;
    }
    *made = (struct tern__edge){.from = from, .to = to};
    *edge = made;
    return TERN_OK;
}

int tern__table_add_until(struct tern__table *table, struct tern__task *task,
                          const struct tern__until *until)
{
    if (task->more == NULL) {
        TERN_TRY(make_more(table, task, NULL));
    }
    struct tern__hold *hold = &task->more->hold;
    if (tern__list_is_full(hold->count)) {
        struct tern__until *untils = grow(table, hold->untils, hold->count, sizeof *untils);
        if (untils == NULL) {
            return TERN_ERR_MEMORY;
        }
        hold->untils = untils;
    }
    hold->untils[hold->count++] = *until;
    task->special |= TERN__TASK_WAITS;
    return TERN_OK;
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
