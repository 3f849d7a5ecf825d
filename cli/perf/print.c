// SPDX-License-Identifier: Apache-2.0
// The table and the JSON lines of `tern perf`.

#include "perf/print.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

#include "numbers.h"
#include "perf/peers.h"
#include "perf/predict.h"
#include "perf/style.h"
#include "ranks.h"

const char *const perf_memory_words[] = {
    [PERF_WINDOW] = "in windows", [PERF_ALLOC] = "of tern_alloc", [PERF_MALLOC] = "malloc'ed"};

static const char *const memory_names[] = {
    [PERF_WINDOW] = "window", [PERF_ALLOC] = "alloc", [PERF_MALLOC] = "malloc"};

static bool progress_shown;

static void hide_progress(void)
{
    if (progress_shown) {
        fputs("\r\033[K", stderr);
        progress_shown = false;
    }
}

void perf_progress(const char *word, uint64_t bytes, long done, long all)
{
    if (!isatty(STDERR_FILENO)) {
        return;
    }
    hide_progress();
    if (word != NULL) {
        char size[32];
        fprintf(stderr, "%s, %s: %ld of %ld", word, cli_bytes_text(bytes, size), done, all);
        progress_shown = true;
    }
}

void perf_say(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    hide_progress();
    fputs("tern perf: ", stderr);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
}

static bool has_peers(const struct perf_options *options)
{
    bool any = false;
    for (int peer = 0; peer < PERF_PEERS; peer++) {
        any = any || options->peers[peer];
    }
    return any;
}

// The names of the columns, or the units of what is in them.
static void print_columns(const struct perf_options *options, bool units)
{
    static const char *const words[2][13] = {{"kind", "bytes", "count", "dtype", "op", "algorithm",
                                              "time", "min", "max", "algbw", "busbw", "bound",
                                              "errors"},
                                             {"", "B", "elements", "", "", "", "us", "us", "us",
                                              "GB/s", "GB/s", "%", "elements"}};
    const char *const *word = words[units];
    printf("#%-16s %10s %10s %5s %6s %-14s %11s %11s %11s %8s %8s %7s %8s", word[0], word[1],
           word[2], word[3], word[4], word[5], word[6], word[7], word[8], word[9], word[10],
           word[11], word[12]);
    if (options->verbose) {
        printf(" %13s %6s %11s", units ? "" : "bytes by", units ? "" : "calls",
               units ? "us" : "copy");
    }
    for (int peer = 0; peer < PERF_PEERS; peer++) {
        if (options->peers[peer]) {
            printf(" %11s  %7s", units ? "us" : perf_systems[peer].word, units ? "" : "ratio");
        }
    }
    if (options->sim) {
        printf(" %11s  %7s", units ? "us" : "sim", units ? "" : "ratio");
    }
    putchar('\n');
}

void perf_print_head(const struct perf_options *options, int nranks, bool instant)
{
    if (options->json) {
        return;
    }
    if (options->style != NULL) {
        options->style->print_head(options, nranks);
        fflush(stdout);
        return;
    }
    printf("# %d rank%s, buffers %s%s, results %schecked. Time %s: median, least and greatest.\n",
           nranks, nranks == 1 ? "" : "s", perf_memory_words[options->memory],
           options->in_place ? ", in place" : "", options->check ? "" : "not ",
           instant ? "until the last rank has ended" : "of the slowest rank, after a barrier");
    if (options->back_to_back) {
        printf("# %d calls between two beginnings.\n", PERF_BACK_TO_BACK);
    }
    if (options->nbuffers > 1) {
        printf("# %ld pairs of buffers in turn.\n", options->nbuffers);
    }
    if (has_peers(options)) {
        puts("# Ratios: the MPI's time / tern's.");
    }
    if (options->sim) {
        puts("# sim: what the simulator says of the plan; ratio: that / the median.");
    }
    print_columns(options, false);
    print_columns(options, true);
    fflush(stdout);
}

static double ratio_of(const struct perf_row *row, int peer)
{
    double own = row->time.median_us;
    return own > 0 ? row->peers[peer].median_us / own : 0;
}

static bool is_fewer(const struct perf_row *row, int peer)
{
    return row->peers[peer].iterations < row->time.iterations;
}

static void print_text(const struct perf_options *options, const struct perf_row *row)
{
    char errors[24] = "-";
    if (row->errors >= 0) {
        snprintf(errors, sizeof errors, "%" PRId64, row->errors);
    }
    printf(" %-16s %10" PRIu64 " %10" PRIu64
           " %5s %6s %-14s %11.2f %11.2f %11.2f %8.3f %8.3f %7.1f %8s",
           perf_shapes[row->kind].word, row->bytes, row->count, tern_dtype_name(row->dtype),
           row->op, row->algo, row->time.median_us, row->time.min_us, row->time.max_us,
           row->algbw_GBps, row->busbw_GBps, row->bound_pct, errors);
    if (options->verbose) {
        printf(" %13s %6ld %11.3f", row->way, row->time.iterations, row->copy.median_us);
    }
    for (int peer = 0; peer < PERF_PEERS; peer++) {
        if (!options->peers[peer]) {
            continue;
        }
        if (row->peers[peer].iterations == 0) {
            printf(" %11s  %7s", "-", "-");
        } else {
            printf(" %11.2f%c %7.2f", row->peers[peer].median_us, is_fewer(row, peer) ? '*' : ' ',
                   ratio_of(row, peer));
        }
    }
    if (options->sim && row->sim_us > 0) {
        printf(" %11.2f  %7.2f", row->sim_us, row->sim_us / row->time.median_us);
    } else if (options->sim) {
        printf(" %11s  %7s", "-", "-");
    }
    putchar('\n');
}

static void print_json(const struct perf_options *options, const struct perf_row *row)
{
    printf("{\"kind\": \"%s\", \"nranks\": %d, \"bytes\": %" PRIu64 ", \"count\": %" PRIu64
           ", \"dtype\": \"%s\", \"op\": \"%s\", \"algo\": \"%s\"",
           perf_shapes[row->kind].word, row->nranks, row->bytes, row->count,
           tern_dtype_name(row->dtype), row->op, row->algo);
    printf(", \"time_us\": %.4f, \"time_min_us\": %.4f, \"time_max_us\": %.4f", row->time.median_us,
           row->time.min_us, row->time.max_us);
    printf(", \"algbw_GBps\": %.5f, \"busbw_GBps\": %.5f, \"bound_pct\": %.2f", row->algbw_GBps,
           row->busbw_GBps, row->bound_pct);
    if (row->errors >= 0) {
        printf(", \"errors\": %" PRId64, row->errors);
    } else {
        printf(", \"errors\": null");
    }
    printf(", \"way\": \"%s\", \"iterations\": %ld, \"copy_time_us\": %.4f, \"window\": %s, "
           "\"memory\": \"%s\", \"in_place\": %s",
           row->way, row->time.iterations, row->copy.median_us,
           options->memory != PERF_MALLOC ? "true" : "false", memory_names[options->memory],
           options->in_place ? "true" : "false");
    printf(", \"calls_together\": %ld, \"buffers\": %ld, \"start\": \"%s\"",
           perf_calls_together(options), options->nbuffers, row->instant ? "clock" : "barrier");
    for (int peer = 0; peer < PERF_PEERS; peer++) {
        const char *word = perf_systems[peer].word;
        if (!options->peers[peer]) {
            continue;
        }
        if (row->peers[peer].iterations == 0) {
            printf(", \"%s_us\": null, \"%s_ratio\": null, \"%s_iterations\": 0", word, word, word);
        } else {
            printf(", \"%s_us\": %.4f, \"%s_ratio\": %.4f, \"%s_iterations\": %ld", word,
                   row->peers[peer].median_us, word, ratio_of(row, peer), word,
                   row->peers[peer].iterations);
        }
    }
    if (options->sim && row->sim_us > 0) {
        printf(", \"sim_us\": %.4f, \"sim_ratio\": %.4f", row->sim_us,
               row->sim_us / row->time.median_us);
    } else if (options->sim) {
        printf(", \"sim_us\": null, \"sim_ratio\": null");
    }
    puts("}");
}

void perf_print_row(const struct perf_options *options, const struct perf_row *row)
{
    hide_progress();
    if (options->style != NULL) {
        options->style->print_row(options, row);
    } else if (options->json) {
        print_json(options, row);
    } else {
        print_text(options, row);
    }
    fflush(stdout);
}

void perf_print_foot(const struct perf_options *options, const struct perf_row *rows, long nrows)
{
    if (options->style != NULL) {
        options->style->print_foot(options, rows, nrows);
        fflush(stdout);
        return;
    }
    bool fewer = false;
    double sum = 0;
    long with_bytes = 0;
    for (long i = 0; i < nrows; i++) {
        for (int peer = 0; peer < PERF_PEERS; peer++) {
            bool measured = options->peers[peer] && rows[i].peers[peer].iterations > 0;
            fewer = fewer || (measured && is_fewer(&rows[i], peer));
        }
        sum += rows[i].busbw_GBps;
        with_bytes += rows[i].bytes > 0;
    }
    if (options->json) {
        return;
    }
    if (with_bytes > 0 && options->kind != PERF_KINDS) {
        printf("# Average bus bandwidth: %.3f GB/s\n", sum / (double)with_bytes);
    }
    double error_pct = options->sim ? perf_predict_error(rows, nrows) : -1;
    if (error_pct >= 0) {
        printf("# The simulator is %.1f %% off, by the median of these lines.\n", error_pct);
    }
    if (fewer) {
        puts("# *: the median of fewer calls than tern's, as many as the time for a line allows.");
    }
    fflush(stdout);
}
