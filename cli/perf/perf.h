// SPDX-License-Identifier: Apache-2.0
// What the files of `tern perf` share: what was asked for, and what a line of the result says. A
// run goes: perf.c (this process, then its ranks), sweep.c (sizes, rounds, who measures when),
// call.c (a call and its check, with the data of cli/data.h), clock.c (the measurement), peers.c
// (the MPIs), print.c and plot.c (the result).
#ifndef TERN_CLI_PERF_H
#define TERN_CLI_PERF_H

#include <stdbool.h>
#include <stdint.h>

#include "executor.h"
#include "perf/shape.h"
#include "tern/algo.h"
#include "tern/dtype.h"
#include "tern/op.h"

#define PERF_ALGOS_MAX 8
#define PERF_SIZES_MAX 256
#define PERF_PEERS 2
#define PERF_ITERATIONS_MAX 100000
#define PERF_NAME_BYTES 32
#define PERF_BUFFERS_MAX 64
#define PERF_BACK_TO_BACK 20 // calls between two beginnings

// Where the buffers are: calls use those of the first two where they lie.
enum perf_memory { PERF_WINDOW, PERF_ALLOC, PERF_MALLOC };

struct perf_style; // style.h

struct perf_options {
    const struct perf_style *style; // NULL: our own
    uint64_t min, max;              // as they were given
    enum perf_kind kind;            // PERF_KINDS: all of them
    int nranks;                     // 0: not given
    uint64_t sizes[PERF_SIZES_MAX];
    int nsizes;
    tern_dtype dtype;
    tern_reduce_op op;
    int root;
    long warmup, iterations; // iterations 0: by time
    double budget_us;        // of one system for one line, unless iterations are given
    bool check, in_place, json, verbose;
    bool back_to_back;
    bool after_barrier; // each iteration begins so, not at one instant for all
    long nbuffers;      // pairs of buffers that the calls take in turn
    enum perf_memory memory;
    tern_order order;
    bool exact;                        // whole numbers, whose sums are the same in any order
    const char *algos[PERF_ALGOS_MAX]; // at least one; NULL: selected
    int nalgos;
    char algo_words[256]; // what they point into
    const char *plot;
    bool peers[PERF_PEERS];
    bool sim;                     // what the simulator says, too
    struct cli_executor executor; // whose plans run in place of calls
};

// Calls between two beginnings.
static inline long perf_calls_together(const struct perf_options *options)
{
    return options->style != NULL  ? options->iterations
           : options->back_to_back ? PERF_BACK_TO_BACK
                                   : 1;
}

// Returns -1 to go on, else the exit status. The options point into
// argv and into themselves.
int perf_read_options(int argc, char **argv, struct perf_options *options);

// One line on standard error, from rank 0 or the process that is no rank yet.
void perf_say(const char *format, ...) TERN_PRINTF(1, 2);

// Until the last rank has ended: over the iterations, and over the rounds the median of these.
struct perf_time {
    double median_us, min_us, max_us;
    long iterations; // 0: not measured
};

struct perf_row {
    enum perf_kind kind;
    int nranks;
    uint64_t bytes, count; // count: elements of the largest share, else of the total
    tern_dtype dtype;
    const char *op; // "none" when nothing is reduced
    bool in_place;
    bool instant; // all ranks began at one, not after a barrier
    char algo[PERF_NAME_BYTES], way[16];
    struct perf_time time, copy, peers[PERF_PEERS];
    double algbw_GBps, busbw_GBps, bound_pct;
    double sim_us;  // 0: not simulated
    int64_t errors; // -1: not checked
};

#endif
