// SPDX-License-Identifier: Apache-2.0
// Measuring tables against each other. Each is bound to a communicator of its own, so they can take
// turns call by call: what disturbs the machine disturbs all of them.

#include <stdlib.h>
#include <string.h>

#include "timing.h"
#include "tern/algo.h"
#include "tern/coll.h"
#include "tern/window.h"
#include "tune/tune.h"

#define SAMPLES 7
#define REPEATS_MAX 2000

int tune_bench_open(tern_comm *world, double slice_s, size_t bytes_max, struct tune_bench *bench)
{
    memset(bench, 0, sizeof *bench);
    bench->world = world;
    bench->rank = tern_comm_rank(world);
    bench->nranks = tern_comm_size(world);
    bench->slice_s = slice_s;
    bench->bytes_max = bytes_max;
    tern_topo *topo = NULL;
    int status = tern_comm_topo(world, &topo);
    bench->machines = tern_topo_machine_count(topo);
    tern_topo_destroy(topo);
    status = status == TERN_OK ? tern_tune_use(NULL, 0) : status;
    status = status == TERN_OK ? tern_comm_split(world, 0, 0, &bench->control) : status;
    status =
        status == TERN_OK ? tern_window_create(world, 2 * bytes_max, NULL, &bench->window) : status;
    if (status != TERN_OK) {
        return status;
    }
    bench->in[1] = tern_window_address(bench->window, bench->rank);
    bench->out[1] = bench->in[1] + bytes_max;
    bench->in[0] = malloc(2 * bytes_max);
    if (bench->in[0] == NULL) {
        return TERN_ERR_MEMORY;
    }
    bench->out[0] = bench->in[0] + bytes_max;
    memset(bench->in[0], 0, 2 * bytes_max); // its pages are there before the clock runs
    memset(bench->in[1], 0, 2 * bytes_max);
    return TERN_OK;
}

void tune_bench_close(struct tune_bench *bench)
{
    free(bench->in[0]);
    tern_window_destroy(bench->window);
    tern_comm_destroy(bench->control);
}

// A call of the kind on so many bytes. The root is the last rank: the first one has more to do.
static tern_coll make_call(const struct tune_bench *bench, const tern_tune_row *row,
                           struct tune_point point)
{
    const tern_kind_facts *facts = tern_coll_kind_facts(row->kind);
    tern_dtype dtype = row->halves ? TERN_BF16 : TERN_F32;
    bool shares = facts->in == TERN_KIND_ALL || facts->out == TERN_KIND_ALL;
    return (tern_coll){
        .kind = row->kind,
        .order = row->order,
        .in = bench->in[point.windows],
        .out = bench->out[point.windows],
        .count = point.bytes / tern_dtype_size(dtype) / (shares ? (size_t)bench->nranks : 1),
        .dtype = dtype,
        .op = TERN_SUM,
        .root = facts->root != TERN_KIND_ROOT_NONE ? bench->nranks - 1 : 0,
    };
}

int tune_candidate_open(struct tune_bench *bench, const tern_tune_row *row,
                        struct tune_candidate *candidate)
{
    struct tune_point least = {.bytes = sizeof(float) * (size_t)bench->nranks};
    tern_coll call = make_call(bench, row, least);
    candidate->row = *row;
    candidate->comm = NULL;
    int status = tern_comm_split(bench->world, 0, 0, &candidate->comm);
    status = status == TERN_OK ? tern_tune_use(row, 1) : status;
    // The first call of the kind binds the row to the communicator.
    status = status == TERN_OK ? tern_coll_run(candidate->comm, &call) : status;
    int restored = tern_tune_use(NULL, 0);
    return status == TERN_OK ? restored : status;
}

void tune_candidates_close(struct tune_candidate *candidates, int count)
{
    for (int i = 0; i < count; i++) {
        tern_comm_destroy(candidates[i].comm);
        candidates[i].comm = NULL;
    }
}

// One sample: seconds of a call, of the rank that took longest.
static int sample(const struct tune_bench *bench, tern_comm *comm, const tern_coll *call,
                  int repeats, double *seconds)
{
    int status = tern_barrier(bench->control);
    double begin_us = cli_now_us();
    for (int i = 0; status == TERN_OK && i < repeats; i++) {
        status = tern_coll_run(comm, call);
    }
    double own = (cli_now_us() - begin_us) * 1e-6 / repeats;
    return status != TERN_OK
               ? status
               : tern_all_reduce(bench->control, &own, seconds, 1, TERN_F64, TERN_MAX);
}

// How often a call fits into a slice; the same on all ranks, since the time of a sample is.
static int calibrate(const struct tune_bench *bench, tern_comm *comm, const tern_coll *call,
                     int *repeats)
{
    double once = 0;
    int status = TERN_OK;
    for (int i = 0; status == TERN_OK && i < 2; i++) { // the first one warms up
        status = sample(bench, comm, call, 2, &once);
    }
    double fits = once > 0 ? bench->slice_s / once : REPEATS_MAX;
    *repeats = fits > REPEATS_MAX ? REPEATS_MAX : fits < 1 ? 1 : (int)fits;
    return status;
}

int tune_race(struct tune_bench *bench, const struct tune_candidate *candidates, int count,
              const struct tune_point *points, int points_count, double *times)
{
    int status = TERN_OK;
    for (int p = 0; status == TERN_OK && p < points_count; p++) {
        double samples[TUNE_CANDIDATES_MAX][SAMPLES];
        int repeats[TUNE_CANDIDATES_MAX];
        tern_coll call = make_call(bench, &candidates[0].row, points[p]);
        for (int c = 0; status == TERN_OK && c < count; c++) {
            status = calibrate(bench, candidates[c].comm, &call, &repeats[c]);
        }
        for (int s = 0; status == TERN_OK && s < SAMPLES; s++) {
            for (int c = 0; status == TERN_OK && c < count; c++) {
                status = sample(bench, candidates[c].comm, &call, repeats[c], &samples[c][s]);
            }
        }
        for (int c = 0; status == TERN_OK && c < count; c++) {
            times[c * points_count + p] = cli_median(samples[c], SAMPLES);
        }
    }
    return status;
}
