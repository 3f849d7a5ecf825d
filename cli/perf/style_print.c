// SPDX-License-Identifier: Apache-2.0
// The lines of hccl_test and of nccl-tests, as their users and their scripts know them, mistakes in
// the words and all.

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "perf/style.h"
#include "tern/dtype.h"

// hccl_test compares with a pattern that overflows when there are more ranks than these; then it
// checks nothing. 0: it never does.
struct most {
    tern_dtype dtype;
    int prod, sum, scattered; // sum of all_reduce and reduce; of reduce_scatter
};

static const struct most mosts[] = {
    {TERN_I8, 6, 63, 11},     {TERN_I16, 14, 16383, 181}, {TERN_I32, 30, 0, 46340},
    {TERN_I64, 62, 0, 0},     {TERN_F32, 127, 0, 2896},   {TERN_F16, 15, 511, 31},
    {TERN_BF16, 127, 63, 11},
};

static bool overflows(const struct perf_options *options, const struct perf_row *row)
{
    for (size_t i = 0; i < sizeof mosts / sizeof mosts[0]; i++) {
        const struct most *most = &mosts[i];
        int ranks = options->op == TERN_PROD           ? most->prod
                    : options->op != TERN_SUM          ? 0
                    : row->kind == PERF_REDUCE_SCATTER ? most->scattered
                                                       : most->sum;
        if (most->dtype == row->dtype && perf_has(row->kind, PERF_REDUCES) && ranks > 0 &&
            row->nranks > ranks) {
            return true;
        }
    }
    return false;
}

static uint64_t bytes_of_device(const struct perf_row *row)
{
    return perf_has(row->kind, PERF_DIVIDED) ? row->bytes / (uint64_t)row->nranks : row->bytes;
}

static double bandwidth(const struct perf_row *row)
{
    double time_us = row->time.median_us > 0 ? row->time.median_us : 0.001;
    return (double)bytes_of_device(row) / time_us * 1e-3;
}

void perf_hccl_head(const struct perf_options *options, int nranks)
{
    (void)nranks;
    printf("the minbytes is %" PRIu64 ", maxbytes is %" PRIu64
           ", iters is %ld, warmup_iters is %ld\n",
           options->min, options->max, options->iterations, options->warmup);
    puts("data_size(Bytes):  | aveg_time(us):  | alg_bandwidth(GB/s):  | check_result:");
}

void perf_hccl_row(const struct perf_options *options, const struct perf_row *row)
{
    const char *result = row->errors > 0                              ? "failed"
                         : row->errors < 0 || overflows(options, row) ? "NULL"
                                                                      : "success";
    printf("%" PRIu64 " | %.2f | %.5f | %s\n", bytes_of_device(row), row->time.median_us,
           bandwidth(row), result);
}

// The score of the contest of 2025: the mean of three sizes.
void perf_hccl_foot(const struct perf_options *options, const struct perf_row *rows, long nrows)
{
    static const uint64_t sizes[] = {UINT64_C(1) << 10, UINT64_C(1) << 20, UINT64_C(1) << 30};
    double sum = 0;
    int found = 0;
    (void)options;
    for (int i = 0; i < 3; i++) {
        for (long k = 0; k < nrows; k++) {
            if (bytes_of_device(&rows[k]) == sizes[i]) {
                sum += bandwidth(&rows[k]);
                found++;
                break;
            }
        }
    }
    if (found == 3) {
        printf("mean alg_bandwidth(GB/s) of 1 KB, 1 MB, 1 GB: %.5f\n", sum / 3);
    }
}

static const char *nccl_dtype(tern_dtype dtype)
{
    static const struct {
        tern_dtype dtype;
        const char *word;
    } words[] = {{TERN_F32, "float"},  {TERN_F16, "half"},   {TERN_BF16, "bfloat16"},
                 {TERN_F64, "double"}, {TERN_I8, "int8"},    {TERN_U8, "uint8"},
                 {TERN_I32, "int32"},  {TERN_U32, "uint32"}, {TERN_I64, "int64"},
                 {TERN_U64, "uint64"}};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        if (words[i].dtype == dtype) {
            return words[i].word;
        }
    }
    return tern_dtype_name(dtype);
}

void perf_nccl_head(const struct perf_options *options, int nranks)
{
    printf("# nRanks %d minBytes %" PRIu64 " maxBytes %" PRIu64
           " warmup iters: %ld iters: %ld validation: %d\n#\n",
           nranks, options->min, options->max, options->warmup, options->iterations,
           options->check);
    printf("#%55s%-34s%-34s\n", "", "              out-of-place", "                in-place");
    printf("#%12s %13s %9s %7s %7s", "size", "count", "type", "redop", "root");
    for (int i = 0; i < 2; i++) {
        printf(" %8s %7s %7s %7s", "time", "algbw", "busbw", "#wrong");
    }
    printf("\n#%12s %13s %9s %7s %7s", "(B)", "(elements)", "", "", "");
    for (int i = 0; i < 2; i++) {
        printf(" %8s %7s %7s %7s", "(us)", "(GB/s)", "(GB/s)", "");
    }
    putchar('\n');
}

static void print_half(const struct perf_row *row)
{
    char wrong[24] = "N/A";
    if (row->errors >= 0) {
        snprintf(wrong, sizeof wrong, "%" PRId64, row->errors);
    }
    printf(" %8.*f %7.2f %7.2f %7s", row->time.median_us < 10000 ? 2 : 0, row->time.median_us,
           row->algbw_GBps, row->busbw_GBps, wrong);
}

void perf_nccl_row(const struct perf_options *options, const struct perf_row *row)
{
    bool rooted = perf_shapes[row->kind].root != PERF_ROOT_NONE;
    if (!row->in_place) {
        printf(" %12" PRIu64 " %13" PRIu64 " %9s %7s %7d", row->bytes, row->count,
               nccl_dtype(row->dtype), row->op, rooted ? options->root : -1);
    }
    print_half(row);
    if (!row->in_place && !perf_has(row->kind, PERF_IN_PLACE)) {
        printf(" %8s %7s %7s %7s", "N/A", "N/A", "N/A", "N/A");
    }
    if (row->in_place || !perf_has(row->kind, PERF_IN_PLACE)) {
        putchar('\n');
    }
}

void perf_nccl_foot(const struct perf_options *options, const struct perf_row *rows, long nrows)
{
    double sum = 0;
    int64_t wrong = 0;
    for (long i = 0; i < nrows; i++) {
        sum += rows[i].busbw_GBps;
        wrong += rows[i].errors > 0 ? rows[i].errors : 0;
    }
    if (options->check) {
        printf("# Out of bounds values : %" PRId64 " %s\n", wrong, wrong == 0 ? "OK" : "FAILED");
    }
    printf("# Avg bus bandwidth    : %g\n#\n", nrows > 0 ? sum / (double)nrows : 0);
}
