// SPDX-License-Identifier: Apache-2.0
// What a tune file says: read, joined with what was there before, printed, saved.

#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "tern/file.h"
#include "tern/machine.h"
#include "tune/tune.h"

int tune_table_load(const char *path, struct tune_table *table)
{
    *table = (struct tune_table){0};
    int status = tern_tune_load(path, &table->rows, &table->count);
    return status == TERN_OK ? tern_tune_load_costs(path, &table->costs, &table->costs_count)
                             : status;
}

void tune_table_free(struct tune_table *table)
{
    free(table->rows);
    free(table->costs);
}

static int compare_rows(const void *a, const void *b)
{
    const tern_tune_row *x = a;
    const tern_tune_row *y = b;
    return x->kind != y->kind           ? (int)x->kind - (int)y->kind
           : x->machines != y->machines ? x->machines - y->machines
           : x->nranks != y->nranks     ? x->nranks - y->nranks
           : x->order != y->order       ? (int)x->order - (int)y->order
                                        : x->halves - y->halves;
}

static bool has_row(const tern_tune_row *rows, int count, const tern_tune_row *row)
{
    for (int i = 0; i < count; i++) {
        if (compare_rows(&rows[i], row) == 0) {
            return true;
        }
    }
    return false;
}

static int compare_costs(const void *a, const void *b)
{
    return ((const tern_tune_cost *)a)->nranks - ((const tern_tune_cost *)b)->nranks;
}

static bool has_cost(const struct tune_table *table, int count, int nranks)
{
    bool has = false;
    for (int i = 0; i < count; i++) {
        has = has || table->costs[i].nranks == nranks;
    }
    return has;
}

// What of the old table is not in the new one. False without memory.
static bool merge(struct tune_table *table, const struct tune_table *old)
{
    int rows = table->count;
    int costs = table->costs_count;
    size_t rows_room = (size_t)rows + (size_t)old->count + 1;
    size_t costs_room = (size_t)costs + (size_t)old->costs_count + 1;
    tern_tune_row *all_rows = realloc(table->rows, rows_room * sizeof *all_rows);
    table->rows = all_rows != NULL ? all_rows : table->rows;
    tern_tune_cost *all_costs = realloc(table->costs, costs_room * sizeof *all_costs);
    table->costs = all_costs != NULL ? all_costs : table->costs;
    if (all_rows == NULL || all_costs == NULL) {
        return false;
    }
    for (int i = 0; i < old->count; i++) {
        if (!has_row(table->rows, rows, &old->rows[i])) {
            table->rows[table->count++] = old->rows[i];
        }
    }
    for (int i = 0; i < old->costs_count; i++) {
        if (!has_cost(table, costs, old->costs[i].nranks)) {
            table->costs[table->costs_count++] = old->costs[i];
        }
    }
    return true;
}

int tune_table_keep(const char *path, struct tune_table *table)
{
    struct tune_table old;
    if (strcmp(path, "-") == 0 || access(path, F_OK) != 0) {
        return 0;
    }
    if (tune_table_load(path, &old) != TERN_OK) {
        fprintf(stderr, "tern tune: %s; it is left as it is\n", tern_last_error());
        tune_table_free(&old);
        return 1;
    }
    bool merged = merge(table, &old);
    tune_table_free(&old);
    return merged ? 0 : 1;
}

void tune_table_print(FILE *file, const struct tune_table *table)
{
    char day[32] = "";
    time_t now = time(NULL);
    struct tm date;
    tern_machine machine;
    if (gmtime_r(&now, &date) != NULL) {
        strftime(day, sizeof day, "%Y-%m-%d", &date);
    }
    fprintf(file, "%s\n# tern tune %d.%d.%d, %s", TERN_TUNE_HEAD, TERN_VERSION_MAJOR,
            TERN_VERSION_MINOR, TERN_VERSION_PATCH, day);
    if (tern_machine_look(&machine) == TERN_OK) {
        fprintf(file, ", %d processors, %s", machine.cpus_usable, machine.vectors);
    }
    fputc('\n', file);
    for (int i = 0; i < table->count; i++) {
        char line[TERN_TUNE_LINE_BYTES];
        tern_tune_print(&table->rows[i], line, sizeof line);
        fprintf(file, "%s\n", line);
    }
    for (int i = 0; i < table->costs_count; i++) {
        char lines[TERN_TUNE_COST_BYTES];
        tern_tune_print_cost(&table->costs[i], lines, sizeof lines);
        fputs(lines, file);
    }
}

static int print(FILE *file, void *table)
{
    tune_table_print(file, table);
    return TERN_OK;
}

void tune_table_sort(struct tune_table *table)
{
    qsort(table->rows, (size_t)table->count, sizeof *table->rows, compare_rows);
    qsort(table->costs, (size_t)table->costs_count, sizeof *table->costs, compare_costs);
}

int tune_table_save(const char *path, struct tune_table *table)
{
    if (tern_file_save(path, print, table) != TERN_OK) {
        fprintf(stderr, "tern tune: %s\n", tern_last_error());
        return 1;
    }
    fprintf(stderr, "tern tune: written to %s\n", path);
    return 0;
}
