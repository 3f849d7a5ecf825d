// SPDX-License-Identifier: Apache-2.0
// The record of a run (history.h): collecting. history_write.c has the files.

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "comm/window.h"
#include "graph/chip.h"
#include "graph/reading.h"
#include "graph/history_write.h"
#include "tern/submit.h"

struct tern__history *tern__history_make(void)
{
    const char *prefix = getenv("TERN_GRAPH_RECORD");
    if (prefix == NULL || *prefix == '\0') {
        return NULL;
    }
    struct tern__history *record = calloc(1, sizeof *record);
    if (record == NULL || (record->prefix = strdup(prefix)) == NULL) {
        free(record);
        return NULL;
    }
    const char *names = getenv("TERN_GRAPH_ARGS");
    record->names = names != NULL ? strdup(names) : NULL;
    return record;
}

static void forget(struct tern__history *record)
{
    for (uint32_t i = 0; i < tern__peek(&record->count); i++) {
        free(tern__past_task_at(record, i)->args);
        free(tern__past_task_at(record, i)->signals);
    }
    tern__poke(&record->count, 0);
    record->lost = 0;
    record->edges_count = 0;
}

void tern__history_free(struct tern__history *record)
{
    if (record == NULL) {
        return;
    }
    forget(record);
    for (int i = 0; i < TERN__HISTORY_CHUNKS; i++) {
        free(record->chunks[i]);
    }
    free(record->edges);
    free(record->prefix);
    free(record->names);
    free(record);
}

void tern__history_edge(struct tern__history *record, const struct tern__task *task, uint64_t from)
{
    if (task->record == TERN__HISTORY_NONE) {
        return;
    }
    if (record->edges_count == record->edges_room) {
        size_t room = record->edges_room > 0 ? 2 * record->edges_room : 1024;
        uint64_t *grown = realloc(record->edges, room * sizeof *grown);
        if (grown == NULL) {
            return;
        }
        record->edges = grown;
        record->edges_room = room;
    }
    struct tern__past_task *recorded = tern__past_task_at(record, task->record);
    if (recorded->after_count++ == 0) {
        recorded->after = record->edges_count;
    }
    record->edges[record->edges_count++] = from;
}

static void add_signals(const struct tern__history *record, const struct tern__task *task,
                        struct tern__past_task *made)
{
    const bool waits = (task->special & TERN__TASK_WAITS) != 0;
    const bool notifies = (task->special & TERN__TASK_NOTIFIES) != 0;
    const uint32_t waits_count = waits ? task->more->hold.count : 0;
    const uint32_t notices_count = notifies ? task->more->notices_count : 0;
    if (waits_count + notices_count > 0) {
        made->signals = calloc(waits_count + notices_count, sizeof *made->signals);
    }
    for (uint32_t i = 0; i < waits_count && made->signals != NULL; i++) {
        const struct tern__until *until = &task->more->hold.untils[i];
        const tern_window *window = until->condition.window;
        made->signals[made->signals_count++] =
            (struct tern__past_signal){.waits = true,
                                       .rank = window->rank,
                                       .window = window->number,
                                       .offset_bytes = until->condition.offset_bytes,
                                       .cmp = until->condition.cmp,
                                       .value = tern__until_wanted(until, record->run)};
    }
    for (uint32_t i = 0; i < notices_count && made->signals != NULL; i++) {
        const tern_notice *notice = &task->more->notices[i];
        made->signals[made->signals_count++] =
            (struct tern__past_signal){.rank = notice->rank,
                                       .window = notice->window->number,
                                       .offset_bytes = notice->offset_bytes};
    }
}

void tern__history_add(struct tern__history *record, struct tern__task *task, uint64_t id)
{
    uint32_t at = tern__peek(&record->count);
    struct tern__past_task **chunk = at / TERN__HISTORY_CHUNK < TERN__HISTORY_CHUNKS
                                         ? &record->chunks[at / TERN__HISTORY_CHUNK]
                                         : NULL;
    if (chunk != NULL && *chunk == NULL) {
        *chunk = malloc(TERN__HISTORY_CHUNK * sizeof **chunk);
    }
    task->record = TERN__HISTORY_NONE;
    if (chunk == NULL || *chunk == NULL) {
        record->lost++;
        return;
    }
    struct tern__past_task *made = &(*chunk)[at % TERN__HISTORY_CHUNK];
    memset(made, 0, sizeof *made);
    made->id = id;
    made->core = task->core;
    made->blocks = task->blocks;
    made->begin_ns = INT64_MAX;
    snprintf(made->name, sizeof made->name, "%s", task->name);
    add_signals(record, task, made);
    task->record = at;
    tern__poke(&record->count, at + 1);
}

void tern__history_begin(struct tern__history *record, const struct tern_chip *chip)
{
    forget(record);
    record->begin_ns = tern__now_ns();
    record->run = chip->run.number;
    if (chip->run.grows) {
        return;
    }
    const struct tern__table *table = &chip->run.graph->table;
    for (uint32_t i = 0; i < table->count; i++) {
        struct tern__task *task = tern__table_at(table, i);
        tern__history_add(record, task, task->number);
        for (uint32_t k = task->before_count; k-- > 0;) { // the newest first
            tern__history_edge(record, task, task->numbers[k]);
        }
    }
}

static bool is_chosen(const char *names, const char *name)
{
    size_t length = strlen(name);
    for (const char *at = names; at != NULL; at = strchr(at, ',')) {
        at += *at == ',';
        if (strncmp(at, name, length) == 0 && (at[length] == ',' || at[length] == '\0')) {
            return true;
        }
    }
    return false;
}

// Scalars as they are; of regions, which tasks of rings have, shape, offset and first elements.
static void print_args(FILE *file, const struct tern__task *task, bool rings)
{
    for (int i = 0; i < task->args_count; i++) {
        uintptr_t value = (uintptr_t)task->args[i];
        fprintf(file, "%s", i > 0 ? "," : "");
        const uintptr_t regions =
            (uintptr_t)task->args + tern__args_head(task->args_count, strlen(task->name) + 1);
        if (!rings || value - regions >= TERN_SUBMIT_REGIONS_MAX * sizeof(tern_region)) {
            fprintf(file, "%lld", (long long)task->args[i]);
            continue;
        }
        const tern_region *region = (const tern_region *)value;
        const unsigned char *data = tern_region_data(region);
        size_t bytes = tern_region_dtype_size(region->dtype);
        fprintf(file, "{\"dtype\":%u,\"shape\":[", region->dtype);
        for (uint32_t d = 0; d < region->ndims; d++) {
            fprintf(file, "%s%u", d > 0 ? "," : "", region->shape[d]);
        }
        fprintf(file, "],\"offset\":[");
        for (uint32_t d = 0; d < region->ndims; d++) {
            fprintf(file, "%s%u", d > 0 ? "," : "", region->offset[d]);
        }
        fprintf(file, "],\"first_bytes\":\"");
        for (size_t k = 0; k < bytes && tern_region_count(region) > 0; k++) {
            fprintf(file, "%02x", data[k]);
        }
        fprintf(file, "\"}");
    }
}

void tern__history_args(struct tern__history *record, const struct tern__core *core,
                        const struct tern__task *task)
{
    if (record->names == NULL || task->record == TERN__HISTORY_NONE ||
        core->called.here->index != 0 || core->called.slot != 0 ||
        !is_chosen(record->names, task->name)) {
        return;
    }
    struct tern__past_task *recorded = tern__past_task_at(record, task->record);
    size_t size;
    free(recorded->args);
    recorded->args = NULL;
    FILE *file = open_memstream(&recorded->args, &size);
    if (file != NULL) {
        print_args(file, task, core->chip->run.rings != NULL);
        fclose(file);
    }
}

void tern__history_call(struct tern__history *record, const struct tern__core *core,
                        const struct tern__task *task, int64_t begin_ns, int64_t end_ns)
{
    if (task->record == TERN__HISTORY_NONE) {
        return;
    }
    struct tern__past_task *recorded = tern__past_task_at(record, task->record);
    int64_t seen = atomic_load(&recorded->begin_ns);
    while (begin_ns < seen && !atomic_compare_exchange_weak(&recorded->begin_ns, &seen, begin_ns)) {
    }
    seen = atomic_load(&recorded->end_ns);
    while (end_ns > seen && !atomic_compare_exchange_weak(&recorded->end_ns, &seen, end_ns)) {
    }
    atomic_fetch_add(&recorded->busy_ns, end_ns - begin_ns);
    atomic_store(&recorded->on, core->kind == TERN_CORE_AIC ? core->index : -1 - core->index);
}

void tern__history_end(struct tern__history *record, const struct tern_chip *chip)
{
    static const char *const kinds[] = {"json", "dot", "txt"};
    static void (*const writers[])(struct tern__history *, const struct tern_chip *,
                                   FILE *) = {tern__history_write_json, tern__history_write_dot,
                                              tern__history_write_table};
    int rank = chip->comm != NULL ? chip->comm->group.rank : 0;
    tern__history_find_path(record);
    for (int i = 0; i < 3; i++) {
        char path[4096];
        snprintf(path, sizeof path, "%s-rank%d.%s", record->prefix, rank, kinds[i]);
        FILE *file = fopen(path, "we");
        if (file == NULL) {
            tern__log(TERN__LOG_ERROR, "TERN_GRAPH_RECORD: cannot write '%s': %s", path,
                      strerror(errno));
            continue;
        }
        writers[i](record, chip, file);
        if (fclose(file) != 0) {
            tern__log(TERN__LOG_ERROR, "TERN_GRAPH_RECORD: '%s' is not whole: %s", path,
                      strerror(errno));
        }
    }
    free(record->path);
    record->path = NULL;
}
