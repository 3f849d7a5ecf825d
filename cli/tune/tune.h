// SPDX-License-Identifier: Apache-2.0
// The parts of `tern tune`.
#ifndef TERN_CLI_TUNE_H
#define TERN_CLI_TUNE_H

#include <stdbool.h>
#include <stdio.h>

#include "tern/comm.h"
#include "tern/tune.h"
#include "tern/window.h"

#define TUNE_RANK_COUNTS_MAX 16

struct tune_wish {
    bool kinds[TERN_PLAN_KINDS]; // which to measure
    bool costs;                  // and what ops cost
    int processors;              // that ranks may use, before they are bound to them
    int nranks[TUNE_RANK_COUNTS_MAX];
    int nranks_count;
    double seconds;  // for all of it, about
    bool optimal;    // also plans that are searched for (TERN_ALGO_OPTIMAL)
    double search_s; // where each is found in so many seconds
};

// As one rank of a job: measures the kinds, and on rank 0 writes a line of a tune file for each to
// `rows`, and a sentence about it to standard error. A status of tern.
int tune_measure(tern_comm *world, const struct tune_wish *wish, FILE *rows);

// clock.c: a table that is measured, on a communicator of its own.
struct tune_candidate {
    tern_tune_row row;
    tern_comm *comm;
};

struct tune_bench {
    tern_comm *world;
    tern_comm *control; // for what is not measured
    int rank, nranks;
    int machines;         // 0: one
    double slice_s;       // for one sample
    bool optimal;         // is a candidate for the kind that is measured
    size_t bytes_max;     // of a buffer
    char *in[2], *out[2]; // elsewhere, in windows
    tern_window *window;
};

int tune_bench_open(tern_comm *world, double slice_s, size_t bytes_max, struct tune_bench *bench);
void tune_bench_close(struct tune_bench *bench);

// Every rank gives the same row. It is what the candidate's communicator uses from now on.
int tune_candidate_open(struct tune_bench *bench, const tern_tune_row *row,
                        struct tune_candidate *candidate);
void tune_candidates_close(struct tune_candidate *candidates, int count);

// What a candidate is measured with: so many bytes (tern/tune.h), in windows or not.
struct tune_point {
    size_t bytes;
    int windows;
};

// measure.c: races rows over points. *best: the index of the winner; the first one unless another
// is clearly better.
int tune_race_rows(struct tune_bench *bench, const tern_tune_row *rows, int count,
                   const struct tune_point *points, int points_count, int *best);

// measure.c: races a row over points with pieces of each of these sizes. *best: the winner.
int tune_race_chunks(struct tune_bench *bench, const tern_tune_row *row, const uint64_t *sizes,
                     int count, const struct tune_point *points, int points_count,
                     tern_tune_row *best);

// Up to which size slots are quicker: the switch with the least mean over all sizes, half of the
// calls with buffers in windows. `all` has every size in slots, `none` no size. *small_bytes: what
// is built in, and stays unless another is clearly better.
int tune_find_switch(struct tune_bench *bench, const tern_tune_row *all, const tern_tune_row *none,
                     uint64_t *small_bytes);

// far.c: what is built in between machines, as a row, for calls of its kind, order and halves; and
// what is quicker on these.
int tune_far_built_in(const struct tune_bench *bench, tern_tune_row *row);
int tune_find_far(struct tune_bench *bench, tern_tune_row *row);

// search.c: whether the wish is to try `optimal`, and its plans for the kind are found in time.
// Rank 0 says so on standard error.
int tune_look_at_search(const struct tune_bench *bench, const struct tune_wish *wish,
                        tern_plan_kind kind, bool *optimal);

// cost.c: what ops cost with these ranks, on one machine; on rank 0 the rows of a tune file about
// it.
// With less than a second, of little memory and once only.
int tune_measure_costs(struct tune_bench *bench, const struct tune_wish *wish, FILE *rows);

#define TUNE_POINTS_MAX 24
#define TUNE_CANDIDATES_MAX 12

// Seconds of a call, of the slowest rank, the median over samples; samples of all candidates take
// turns. times[c * points_count + p].
int tune_race(struct tune_bench *bench, const struct tune_candidate *candidates, int count,
              const struct tune_point *points, int points_count, double *times);

// table.c: what a tune file says. Loading gives a status of tern, the others an exit status, with a
// sentence.
struct tune_table {
    tern_tune_row *rows;
    int count;
    tern_tune_cost *costs;
    int costs_count;
};

int tune_table_load(const char *path, struct tune_table *table);
void tune_table_free(struct tune_table *table);

// Adds the rows of the old file that were not measured. A file that cannot be read is not
// overwritten.
int tune_table_keep(const char *path, struct tune_table *table);

void tune_table_sort(struct tune_table *table);
void tune_table_print(FILE *file, const struct tune_table *table);
int tune_table_save(const char *path, struct tune_table *table);

#endif
