// SPDX-License-Identifier: Apache-2.0
// `tern perf --style`: the habits of hccl_test and nccl-tests. A row of a table says what an option
// is when it is not given, what a size means, which options have no meaning here, and how lines
// look; what is measured, and how, stays the same.
#ifndef TERN_CLI_PERF_STYLE_H
#define TERN_CLI_PERF_STYLE_H

#include "perf/perf.h"

struct perf_style {
    const char *word;
    uint64_t min, max;
    uint64_t step; // bytes between sizes; 0: a tenth of the way from the first to the last
    long warmup, iterations;
    bool per_device;     // a size is that of one device, not of all together
    uint64_t align;      // shares are whole numbers of so many bytes
    bool both;           // a line has a call out of place, and one in place
    const char *nothing; // letters of options that mean nothing here
    bool has_threads;    // -t and -g: the ranks
    void (*print_head)(const struct perf_options *options, int nranks);
    void (*print_row)(const struct perf_options *options, const struct perf_row *row);
    void (*print_foot)(const struct perf_options *options, const struct perf_row *rows, long nrows);
};

// NULL when there is none of that name.
const struct perf_style *perf_style_find(const char *word);

// "all_reduce_test", "alltoall_perf", … as our word; any other as it is.
const char *perf_style_kind(const char *word, char text[PERF_NAME_BYTES]);

// The bytes of all shares together that a size means; without a style the size itself.
uint64_t perf_style_bytes(const struct perf_options *options, enum perf_kind kind, int nranks,
                          uint64_t size);

// The rows of the table that print (style_print.c).
void perf_hccl_head(const struct perf_options *options, int nranks);
void perf_hccl_row(const struct perf_options *options, const struct perf_row *row);
void perf_hccl_foot(const struct perf_options *options, const struct perf_row *rows, long nrows);
void perf_nccl_head(const struct perf_options *options, int nranks);
void perf_nccl_row(const struct perf_options *options, const struct perf_row *row);
void perf_nccl_foot(const struct perf_options *options, const struct perf_row *rows, long nrows);

#endif
