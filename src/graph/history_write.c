// SPDX-License-Identifier: Apache-2.0
// The files of a record (history_write.h).

#include "graph/history_write.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "graph/chip.h"
#include "isa/signal.h"

// --- the critical path ------------------------------------------------------------------------

struct by_id {
    uint64_t id;
    uint32_t index;
};

static int compare_ids(const void *one, const void *other)
{
    uint64_t a = ((const struct by_id *)one)->id;
    uint64_t b = ((const struct by_id *)other)->id;
    return (a > b) - (a < b);
}

struct by_end {
    int64_t end_ns;
    uint32_t index;
};

static int compare_ends(const void *one, const void *other)
{
    const struct by_end *a = one;
    const struct by_end *b = other;
    return a->end_ns != b->end_ns ? (a->end_ns > b->end_ns ? 1 : -1)
                                  : (a->index > b->index) - (a->index < b->index);
}

static int64_t span(const struct tern__past_task *task)
{
    return task->end_ns != 0 ? task->end_ns - task->begin_ns : 0;
}

struct path {
    int64_t *longest; // up to and with each task
    uint32_t *before; // the task before it on that path
    struct by_id *ids;
    struct by_end *ends;
};

// A task ends after those before it, so the order of ends will do.
static void find_longest(struct tern__history *record, struct path *path, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        const struct tern__past_task *task = tern__past_task_at(record, path->ends[i].index);
        int64_t longest = 0;
        uint32_t before = UINT32_MAX;
        for (uint32_t k = 0; k < task->after_count; k++) {
            struct by_id wanted = {.id = record->edges[task->after + k]};
            const struct by_id *found =
                bsearch(&wanted, path->ids, count, sizeof wanted, compare_ids);
            if (found != NULL && path->longest[found->index] >= longest) {
                longest = path->longest[found->index];
                before = found->index;
            }
        }
        path->longest[path->ends[i].index] = longest + span(task);
        path->before[path->ends[i].index] = before;
    }
}

static void keep_longest(struct tern__history *record, const struct path *path, uint32_t count)
{
    uint32_t last = 0;
    for (uint32_t i = 1; i < count; i++) {
        last = path->longest[i] > path->longest[last] ? i : last;
    }
    record->path_ns = path->longest[last];
    for (uint32_t at = last; at != UINT32_MAX; at = path->before[at]) {
        record->path_count++;
    }
    record->path = malloc(record->path_count * sizeof *record->path);
    uint32_t left = record->path != NULL ? record->path_count : 0;
    record->path_count = left;
    for (uint32_t at = last; left > 0; at = path->before[at]) {
        record->path[--left] = at;
        tern__past_task_at(record, at)->critical = true;
    }
}

void tern__history_find_path(struct tern__history *record)
{
    uint32_t count = tern__peek(&record->count);
    record->path_count = 0;
    record->path_ns = 0;
    if (count == 0) {
        return;
    }
    struct path path = {.longest = calloc(count, sizeof *path.longest),
                        .before = malloc(count * sizeof *path.before),
                        .ids = malloc(count * sizeof *path.ids),
                        .ends = malloc(count * sizeof *path.ends)};
    if (path.longest != NULL && path.before != NULL && path.ids != NULL && path.ends != NULL) {
        for (uint32_t i = 0; i < count; i++) {
            const struct tern__past_task *task = tern__past_task_at(record, i);
            path.ids[i] = (struct by_id){task->id, i};
            path.ends[i] = (struct by_end){task->end_ns, i};
        }
        qsort(path.ids, count, sizeof *path.ids, compare_ids);
        qsort(path.ends, count, sizeof *path.ends, compare_ends);
        find_longest(record, &path, count);
        keep_longest(record, &path, count);
    }
    free(path.longest);
    free(path.before);
    free(path.ids);
    free(path.ends);
}

// --- the files --------------------------------------------------------------------------------

static const char *const core_names[] = {"AIC", "AIV", "MIX", "none"};

// "7" of a table, "1:7" of rings.
static void print_id(FILE *file, uint64_t id)
{
    fprintf(file, id >> 32 != 0 ? "\"%" PRIu64 ":%" PRIu64 "\"" : "\"%.0" PRIu64 "%" PRIu64 "\"",
            id >> 32, id & UINT32_MAX);
}

static void print_name(FILE *file, const char *name)
{
    for (; *name != '\0'; name++) {
        unsigned char byte = (unsigned char)*name;
        if (byte == '"' || byte == '\\') {
            fprintf(file, "\\%c", byte);
        } else {
            fputc(byte < ' ' ? '?' : byte, file);
        }
    }
}

static double microseconds(int64_t ns)
{
    return (double)ns * 1e-3;
}

// ,"waits":[{"window":0,"rank":0,"byte":8,"cmp":">=","value":1}], and the same of "notifies".
static void write_signals(const struct tern__past_task *task, bool waits, FILE *file)
{
    const char *before = waits ? ",\"waits\":[" : ",\"notifies\":[";
    const char *end = "";
    for (uint32_t i = 0; i < task->signals_count; i++) {
        const struct tern__past_signal *signal = &task->signals[i];
        if (signal->waits != waits) {
            continue;
        }
        fprintf(file, "%s{\"window\":%u,\"rank\":%d,\"byte\":%" PRIu64, before, signal->window,
                signal->rank, signal->offset_bytes);
        if (waits) {
            fprintf(file, ",\"cmp\":\"%s\",\"value\":%d", tern__cmp_text(signal->cmp),
                    signal->value);
        }
        fprintf(file, "}");
        before = ",";
        end = "]";
    }
    fprintf(file, "%s", end);
}

static void write_task(const struct tern__history *record, const struct tern__past_task *task,
                       FILE *file)
{
    fprintf(file, "{\"id\":");
    print_id(file, task->id);
    fprintf(file, ",\"name\":\"");
    print_name(file, task->name);
    fprintf(file, "\",\"core\":\"%s\",\"blocks\":%u", core_names[task->core], task->blocks);
    if (task->end_ns != 0) {
        int on = task->on;
        fprintf(file, ",\"on\":\"%s %d\",\"begin_us\":%.3f,\"span_us\":%.3f,\"busy_us\":%.3f",
                on >= 0 ? "AIC" : "AIV", on >= 0 ? on : -1 - on,
                microseconds(task->begin_ns - record->begin_ns), microseconds(span(task)),
                microseconds(task->busy_ns));
    }
    fprintf(file, ",\"after\":[");
    for (uint32_t k = 0; k < task->after_count; k++) {
        fprintf(file, "%s", k > 0 ? "," : "");
        print_id(file, record->edges[task->after + k]);
    }
    fprintf(file, "]");
    write_signals(task, true, file);
    write_signals(task, false, file);
    if (task->args != NULL) {
        fprintf(file, ",\"args\":[%s]", task->args);
    }
    fprintf(file, "}");
}

void tern__history_write_json(struct tern__history *record, const struct tern_chip *chip,
                              FILE *file)
{
    uint32_t count = tern__peek(&record->count);
    fprintf(file, "{\"run\":%u,\"not_recorded\":%" PRIu64 ",\"critical_us\":%.3f,\n\"critical\":[",
            chip->run.number, record->lost, microseconds(record->path_ns));
    for (uint32_t i = 0; i < record->path_count; i++) {
        fprintf(file, "%s", i > 0 ? "," : "");
        print_id(file, tern__past_task_at(record, record->path[i])->id);
    }
    fprintf(file, "],\n\"tasks\":[");
    for (uint32_t i = 0; i < count; i++) {
        fprintf(file, "%s\n", i > 0 ? "," : "");
        write_task(record, tern__past_task_at(record, i), file);
    }
    fprintf(file, "\n]}\n");
}

// Dashed arrows to and from signals. They have the same names in the files of all ranks.
static void draw_signals(const struct tern__past_task *task, FILE *file)
{
    for (uint32_t i = 0; i < task->signals_count; i++) {
        const struct tern__past_signal *signal = &task->signals[i];
        char name[80];
        char rank[24] = "every rank";
        if (signal->rank >= 0) {
            snprintf(rank, sizeof rank, "rank %d", signal->rank);
        }
        snprintf(name, sizeof name, "%s: byte %" PRIu64 " of window %u", rank, signal->offset_bytes,
                 signal->window);
        fprintf(file, "  \"%s\" [shape=ellipse,style=dashed];\n  ", name);
        if (signal->waits) {
            fprintf(file, "\"%s\" -> ", name);
            print_id(file, task->id);
            fprintf(file, " [style=dashed,label=\"%s %d\"];\n", tern__cmp_text(signal->cmp),
                    signal->value);
        } else {
            print_id(file, task->id);
            fprintf(file, " -> \"%s\" [style=dashed];\n", name);
        }
    }
}

void tern__history_write_dot(struct tern__history *record, const struct tern_chip *chip, FILE *file)
{
    static const char *const colours[] = {"lightblue", "palegreen", "khaki", "white"};
    fprintf(file, "digraph run%u {\n  node [shape=box,style=filled];\n", chip->run.number);
    for (uint32_t i = 0; i < tern__peek(&record->count); i++) {
        const struct tern__past_task *task = tern__past_task_at(record, i);
        fprintf(file, "  ");
        print_id(file, task->id);
        fprintf(file, " [label=\"");
        print_name(file, task->name);
        fprintf(file, "\\n%.1f us\",fillcolor=%s%s];\n", microseconds(span(task)),
                colours[task->core], task->critical ? ",color=red,penwidth=2" : "");
        for (uint32_t k = 0; k < task->after_count; k++) {
            fprintf(file, "  ");
            print_id(file, record->edges[task->after + k]);
            fprintf(file, " -> ");
            print_id(file, task->id);
            fprintf(file, ";\n");
        }
        draw_signals(task, file);
    }
    fprintf(file, "}\n");
}

struct row {
    const char *name;
    uint64_t count;
    int64_t total_ns, least_ns, most_ns;
};

static int compare_names(const void *one, const void *other)
{
    const struct tern__past_task *const *a = one;
    const struct tern__past_task *const *b = other;
    return strcmp((*a)->name, (*b)->name);
}

static void print_row(FILE *file, const struct row *row)
{
    fprintf(file, "%-36s %10" PRIu64 " %12.1f %10.2f %10.2f %10.2f\n", row->name, row->count,
            microseconds(row->total_ns), microseconds(row->total_ns) / (double)row->count,
            microseconds(row->least_ns), microseconds(row->most_ns));
}

void tern__history_write_table(struct tern__history *record, const struct tern_chip *chip,
                               FILE *file)
{
    uint32_t count = tern__peek(&record->count);
    const struct tern__past_task **sorted =
        malloc((count + (size_t)1) * sizeof(const struct tern__past_task *));
    int64_t end_ns = record->begin_ns;
    for (uint32_t i = 0; i < count; i++) {
        const struct tern__past_task *task = tern__past_task_at(record, i);
        end_ns = task->end_ns > end_ns ? task->end_ns : end_ns;
        if (sorted != NULL) {
            sorted[i] = task;
        }
    }
    fprintf(file,
            "run %u: %u tasks in %.1f us; critical path %u tasks, %.1f us; %" PRIu64
            " more not recorded\n\n%-36s %10s %12s %10s %10s %10s\n",
            chip->run.number, count, microseconds(end_ns - record->begin_ns), record->path_count,
            microseconds(record->path_ns), record->lost, "name", "tasks", "total us", "mean", "min",
            "max");
    if (sorted == NULL) {
        return;
    }
    qsort(sorted, count, sizeof *sorted, compare_names);
    struct row row = {.count = 0};
    for (uint32_t i = 0; i < count; i++) {
        int64_t busy_ns = sorted[i]->busy_ns;
        if (row.count > 0 && strcmp(row.name, sorted[i]->name) != 0) {
            print_row(file, &row);
            row.count = 0;
        }
        if (row.count == 0) {
            row = (struct row){.name = sorted[i]->name, .least_ns = INT64_MAX};
        }
        row.count++;
        row.total_ns += busy_ns;
        row.least_ns = busy_ns < row.least_ns ? busy_ns : row.least_ns;
        row.most_ns = busy_ns > row.most_ns ? busy_ns : row.most_ns;
    }
    if (row.count > 0) {
        print_row(file, &row);
    }
    free(sorted);
}
