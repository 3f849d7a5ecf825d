// SPDX-License-Identifier: Apache-2.0
// Finding the row of a kind for ranks on these machines: the algorithm above slots, its pieces, and
// up to which size slots are quicker.

#include <stdio.h>
#include <string.h>

#include "tern/algo.h"
#include "tune/tune.h"

static const size_t sizes[] = {(size_t)128 << 10, (size_t)512 << 10, (size_t)2 << 20};
static const uint64_t chunks[] = {(uint64_t)128 << 10, (uint64_t)512 << 10, (uint64_t)1 << 20};
enum {
    SIZES = sizeof sizes / sizeof sizes[0],
    CHUNKS = sizeof chunks / sizeof chunks[0],
};

// Whether a table may have the row: its algorithm goes between machines in the order of the ranks.
static bool is_allowed(const tern_tune_row *row)
{
    bool allowed = tern_tune_use(row, 1) == TERN_OK;
    return tern_tune_use(NULL, 0) == TERN_OK && allowed;
}

static void name(tern_tune_row *row, const char *algorithm)
{
    snprintf(row->small, sizeof row->small, "%s", algorithm);
    snprintf(row->window, sizeof row->window, "%s", algorithm);
    snprintf(row->staged, sizeof row->staged, "%s", algorithm);
}

int tune_far_built_in(const struct tune_bench *bench, tern_tune_row *row)
{
    static const char *const by_need[] = {"two", "chain", "two_raw"};
    tern_tune_row near;
    int status = tern_tune_get_built_in(row->kind, bench->nranks, &near);
    tern_tune_row made = near;
    made.order = row->order;
    made.halves = row->halves;
    made.machines = bench->machines;
    made.direct_from = TERN_TUNE_BUILT_IN;
    made.direct_to = 0;
    made.chunk_bytes = TERN_TUNE_FAR_MAX;
    bool found = false;
    for (int i = 0; !found && i < 3 && tern_coll_kind_facts(row->kind)->sums; i++) {
        name(&made, by_need[i]);
        found = is_allowed(&made);
    }
    if (!found) {
        made.chunk_bytes = near.chunk_bytes;
        name(&made, near.small);
    }
    *row = made;
    return status;
}

// Rows with each algorithm that can; the row's own first.
static int vary(const tern_tune_row *row, tern_tune_row rows[TUNE_CANDIDATES_MAX])
{
    int count = 1;
    tern_tune_row near;
    rows[0] = *row;
    if (tern_tune_get_built_in(row->kind, row->nranks, &near) == TERN_OK &&
        strcmp(near.small, row->staged) != 0) {
        rows[count] = *row;
        rows[count].chunk_bytes = near.chunk_bytes;
        name(&rows[count++], near.small);
    }
    for (int i = 0; tern_algo_name(row->kind, i) != NULL && count < TUNE_CANDIDATES_MAX; i++) {
        const char *algorithm = tern_algo_name(row->kind, i);
        rows[count] = *row;
        rows[count].chunk_bytes = TERN_TUNE_FAR_MAX;
        name(&rows[count], algorithm);
        count += tern_algo_across_machines(row->kind, i) && strcmp(algorithm, row->staged) != 0 &&
                 is_allowed(&rows[count]);
    }
    return count;
}

int tune_find_far(struct tune_bench *bench, tern_tune_row *row)
{
    tern_tune_row rows[TUNE_CANDIDATES_MAX];
    struct tune_point points[SIZES];
    tern_tune_row large = *row;
    int best;
    for (int i = 0; i < SIZES; i++) {
        points[i] = (struct tune_point){sizes[i], 0};
    }
    large.small_bytes = 0;
    int count = vary(&large, rows);
    int status = tune_race_rows(bench, rows, count, points, SIZES, &best);
    if (status != TERN_OK) {
        return status;
    }
    const tern_tune_row chosen = rows[best];
    tern_tune_row quickest;
    status = tune_race_chunks(bench, &chosen, chunks, CHUNKS, points, SIZES, &quickest);
    uint64_t small_bytes = row->small_bytes;
    if (status == TERN_OK) {
        *row = quickest;
        row->small_bytes = TERN_TUNE_SMALL_MAX;
        status = tune_find_switch(bench, row, &quickest, &small_bytes);
        row->small_bytes = small_bytes;
    }
    return status;
}
