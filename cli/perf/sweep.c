// SPDX-License-Identifier: Apache-2.0
// What is measured: which kinds and sizes, as far as there is memory; and the end of it.

#include "perf/sweep.h"

#include <inttypes.h>
#include <stdlib.h>

#include "cli.h"
#include "numbers.h"
#include "perf/call.h"
#include "perf/plot.h"
#include "perf/predict.h"
#include "perf/print.h"
#include "perf/style.h"
#include "tern/status.h"

#define BUFFERS_EACH 4 // of a rank: in, out, and as much for the copying or an MPI

// Of all kinds, those that can be done as asked are measured.
static void choose_kinds(struct perf_sweep *sweep)
{
    const struct perf_options *options = sweep->options;
    for (int i = 0; i < PERF_KINDS; i++) {
        enum perf_kind kind = (enum perf_kind)i;
        bool fits = !options->in_place || perf_has(kind, PERF_IN_PLACE);
        fits = fits && (kind != PERF_SEND_RECV || options->algos[0] == NULL);
        if (options->kind == PERF_KINDS && fits &&
            perf_call_judge(options, kind, sweep->nranks) != TERN_OK) {
            fits = false;
            if (sweep->rank == 0) {
                perf_say("%s is left out: %s", perf_shapes[kind].word, tern_last_error());
            }
        }
        sweep->kinds[kind] = options->kind == kind || (options->kind == PERF_KINDS && fits);
    }
}

// The next total of a kind after `last`, over the sizes from *index on; 0 after the last size.
// Rounding may make sizes equal; those are measured once.
static uint64_t next_total(const struct perf_sweep *sweep, enum perf_kind kind, int *index,
                           uint64_t last)
{
    const struct perf_options *options = sweep->options;
    size_t element = perf_data_of(kind, options).element_bytes;
    while (*index < options->nsizes) {
        uint64_t bytes = options->sizes[(*index)++];
        bytes = perf_style_bytes(options, kind, sweep->nranks, bytes);
        uint64_t total = perf_total(kind, sweep->nranks, bytes, element);
        if (total != last && bytes <= sweep->bytes_max) {
            return total;
        }
    }
    return 0;
}

// One line; of a style whose lines have both also in place, if the kind can be.
static int measure(struct perf_sweep *sweep, enum perf_kind kind, uint64_t total)
{
    const struct perf_options *options = sweep->options;
    int status = perf_measure_size(sweep, kind, total);
    if (status == TERN_OK && options->style != NULL && options->style->both &&
        perf_has(kind, PERF_IN_PLACE)) {
        static struct perf_options in_place;
        in_place = *options;
        in_place.in_place = true;
        sweep->options = &in_place;
        status = perf_measure_size(sweep, kind, total);
        sweep->options = options;
    }
    return status;
}

// Measures every line, or, with `measures` false, counts them.
static int for_all(struct perf_sweep *sweep, bool measures)
{
    int status = TERN_OK;
    for (int i = 0; status == TERN_OK && i < PERF_KINDS; i++) {
        enum perf_kind kind = (enum perf_kind)i;
        if (!sweep->kinds[kind]) {
            continue;
        }
        int index = 0;
        uint64_t total = kind == PERF_BARRIER ? 0 : next_total(sweep, kind, &index, 0);
        do {
            if (!measures) {
                sweep->all += kind == PERF_BARRIER || total > 0;
            } else if (kind == PERF_BARRIER || total > 0) {
                size_t element = perf_data_of(kind, sweep->options).element_bytes;
                sweep->done++;
                if (sweep->rank == 0) {
                    perf_progress(perf_shapes[kind].word, total * element, sweep->done, sweep->all);
                }
                status = measure(sweep, kind, total);
            }
            total = kind == PERF_BARRIER ? 0 : next_total(sweep, kind, &index, total);
        } while (status == TERN_OK && total > 0);
    }
    return status;
}

// Which sizes the memory allows, the same on all ranks. False after a sentence when none.
static int limit_sizes(struct perf_sweep *sweep, bool *any)
{
    const struct perf_options *options = sweep->options;
    uint64_t available = perf_available_bytes();
    int64_t limit =
        (int64_t)(available / 2 /
                  ((uint64_t)sweep->nranks * BUFFERS_EACH * (uint64_t)options->nbuffers));
    int status = perf_share_value(&sweep->board, &limit);
    uint64_t least_left_out = UINT64_MAX;
    *any = options->kind == PERF_BARRIER;
    sweep->bytes_max = (uint64_t)limit;
    for (int i = 0; i < options->nsizes; i++) {
        uint64_t bytes = perf_style_bytes(options, options->kind, sweep->nranks, options->sizes[i]);
        bool fits = bytes <= sweep->bytes_max;
        *any = *any || fits;
        if (!fits && options->sizes[i] < least_left_out) {
            least_left_out = options->sizes[i];
        }
    }
    if (least_left_out != UINT64_MAX && sweep->rank == 0 && options->kind != PERF_BARRIER) {
        char text[32];
        perf_say("sizes from %s on are left out: the buffers of %d ranks would take more than half "
                 "of the %" PRIu64 " MiB of memory that are available",
                 cli_bytes_text(least_left_out, text), sweep->nranks, available >> 20);
    }
    return status;
}

static size_t buffer_bytes(const struct perf_sweep *sweep)
{
    const struct perf_options *options = sweep->options;
    uint64_t most = 0;
    for (int i = 0; i < PERF_KINDS; i++) {
        enum perf_kind kind = (enum perf_kind)i;
        size_t element = perf_data_of(kind, options).element_bytes;
        int index = 0;
        uint64_t total = 0;
        while (sweep->kinds[kind] && kind != PERF_BARRIER &&
               (total = next_total(sweep, kind, &index, total)) > 0) {
            size_t stride = perf_stride(total, element);
            most = stride > most ? stride : most;
        }
    }
    return (most + PERF_GUARD_BYTES) * (size_t)options->nbuffers;
}

// What went wrong is said once: by rank 0, or by the rank that alone knows.
static int exit_status(const struct perf_sweep *sweep, int status)
{
    if (status == TERN_OK) {
        return sweep->failed ? 1 : 0;
    }
    if (sweep->told) {
        return 1;
    }
    bool own = status == TERN_ERR_SYSTEM || status == TERN_ERR_MEMORY;
    if (sweep->rank == 0 || own) {
        perf_say("%s", tern_last_error());
    }
    return status == TERN_ERR_ARG ? CLI_EXIT_USAGE : 1;
}

static int run_sweep(struct perf_sweep *sweep)
{
    const struct perf_options *options = sweep->options;
    int64_t ready = 1;
    choose_kinds(sweep);
    if (sweep->rank == 0) {
        ready = perf_predict_ready(options, sweep->nranks) &&
                perf_peers_start(sweep->peers, options->peers, sweep->nranks) == 0;
    }
    int status = perf_share_value(&sweep->board, &ready);
    if (status != TERN_OK || ready == 0) {
        sweep->failed = true;
        return status;
    }
    status = perf_buffers_open(sweep->comm, buffer_bytes(sweep), options->memory, &sweep->buffers);
    if (status == TERN_OK && sweep->rank == 0) {
        perf_print_head(options, sweep->nranks, sweep->board.meet != NULL);
    }
    for_all(sweep, false);
    status = status == TERN_OK ? for_all(sweep, true) : status;
    if (sweep->rank == 0) {
        perf_progress(NULL, 0, 0, 0);
        perf_print_foot(options, sweep->rows, sweep->nrows);
    }
    return status;
}

int perf_sweep(tern_comm *comm, const struct perf_options *options)
{
    static struct perf_sweep sweep; // zero, and too large for a stack
    sweep.options = options;
    sweep.comm = comm;
    sweep.rank = tern_comm_rank(comm);
    sweep.nranks = tern_comm_size(comm);
    bool any = false;
    int status = perf_board_open(comm, !options->after_barrier, &sweep.board);
    status = status == TERN_OK ? limit_sizes(&sweep, &any) : status;
    if (status == TERN_OK && any) {
        status = run_sweep(&sweep);
    } else if (status == TERN_OK) {
        sweep.failed = true;
    }
    int result = exit_status(&sweep, status);
    if (sweep.rank == 0) {
        perf_peers_stop(sweep.peers);
        bool plotted = options->plot == NULL || sweep.nrows == 0 ||
                       perf_plot(options, sweep.rows, sweep.nrows) == 0;
        result = plotted || result != 0 ? result : 1;
    }
    perf_buffers_close(&sweep.buffers);
    perf_board_close(&sweep.board);
    free(sweep.rows);
    return result;
}
