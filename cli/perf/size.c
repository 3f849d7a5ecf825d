// SPDX-License-Identifier: Apache-2.0
// One size: every algorithm is called once on data that are then checked; then rounds, in which
// tern's algorithms, the MPIs and the copying take turns, so that what else happens on the machine
// happens to all; then a call on other data, checked; then the lines.

#include "perf/sweep.h"

#include <stdio.h>
#include <stdlib.h>

#include "timing.h"
#include "perf/call.h"
#include "perf/predict.h"
#include "perf/print.h"
#include "perf/record.h"
#include "tern/status.h"
#include "tern/tune.h"

#define ROUNDS 3 // beside peers, for sizes whose rounds are short
#define ROUNDS_BYTES (UINT64_C(1) << 20)
#define TIMED_US 50000.0    // of calls in a round
#define ITERATIONS_LEAST 20 // if the budget allows
#define ITERATIONS_MOST 2000
#define ITERATIONS_BUDGET 3 // whatever the budget
#define SLOW_PEER 10.0      // times as long as tern: what is more is not worth the time it takes
#define PACE_ROUNDS 10

// What one size is measured with: a call for each algorithm.
struct size {
    enum perf_kind kind;
    uint64_t bytes;
    int ncalls, rounds;
    struct perf_call calls[PERF_ALGOS_MAX][PERF_BUFFERS_MAX]; // one for each pair of buffers
    struct perf_row rows[PERF_ALGOS_MAX];
    struct perf_time times[PERF_ALGOS_MAX][ROUNDS], peers[PERF_PEERS][ROUNDS], copies[ROUNDS];
    long warmup, iterations;
    struct perf_recorded recorded; // of an executor, which is the only algorithm
};

struct action {
    tern_comm *comm;
    const struct perf_call *calls; // taken in turn
    long ncalls, next;
};

static int run_action(void *arg)
{
    struct action *action = arg;
    const struct perf_call *call = &action->calls[action->next];
    action->next = action->next + 1 < action->ncalls ? action->next + 1 : 0;
    return perf_call_run(action->comm, call);
}

static int time_calls(struct perf_sweep *sweep, const struct perf_call *calls, long iterations,
                      struct perf_time *time)
{
    const struct perf_options *options = sweep->options;
    struct action action = {sweep->comm, calls, options->nbuffers, 0};
    return perf_time_action(&sweep->board, run_action, &action, iterations,
                            perf_calls_together(options), time);
}

// A call on each pair of buffers, with the data of `run`, checked if that is wanted.
static int checked_calls(struct perf_sweep *sweep, const struct perf_call *calls, uint64_t run,
                         struct perf_row *row, struct perf_time *time)
{
    uint64_t pairs = (uint64_t)sweep->options->nbuffers;
    struct action action = {sweep->comm, calls, sweep->options->nbuffers, 0};
    for (uint64_t pair = 0; pair < pairs; pair++) {
        perf_call_fill(&calls[pair], run * pairs + pair);
    }
    int status =
        perf_time_action(&sweep->board, run_action, &action, sweep->options->nbuffers, 1, time);
    for (uint64_t pair = 0; status == TERN_OK && sweep->options->check && pair < pairs; pair++) {
        uint64_t wrong = perf_call_wrong(&calls[pair], run * pairs + pair);
        status = perf_sum_values(&sweep->board, wrong, &wrong);
        row->errors += (int64_t)wrong;
    }
    return status;
}

static void choose_names(const struct perf_sweep *sweep, const struct perf_call *call,
                         const struct perf_recorded *recorded, struct perf_row *row)
{
    if (recorded->plan != NULL) {
        snprintf(row->algo, sizeof row->algo, "%s", tern_plan_get_spec(recorded->plan)->algorithm);
        snprintf(row->way, sizeof row->way, "plan");
        return;
    }
    tern_coll_choice choice = {.algorithm = "-"};
    int status = tern_coll_select(&call->coll, sweep->nranks, sweep->options->memory != PERF_MALLOC,
                                  &choice);
    snprintf(row->algo, sizeof row->algo, "%s",
             status != TERN_OK || choice.algorithm[0] == '\0' ? "-" : choice.algorithm);
    snprintf(row->way, sizeof row->way, "%s", status != TERN_OK ? "-" : choice.way);
}

static int prepare_size(struct perf_sweep *sweep, uint64_t total, struct size *size)
{
    const struct perf_options *options = sweep->options;
    enum perf_kind kind = size->kind;
    size_t element = perf_data_of(kind, options).element_bytes;
    bool peers = options->peers[0] || options->peers[1];
    size->bytes = total * element;
    size->ncalls = options->nalgos;
    size->rounds = peers && size->bytes <= ROUNDS_BYTES ? ROUNDS : 1;
    for (int i = 0; i < size->ncalls; i++) {
        struct perf_call *call = &size->calls[i][0];
        struct perf_row *row = &size->rows[i];
        for (long pair = 0; pair < options->nbuffers; pair++) {
            size_t shift = (size_t)pair * perf_stride(total, element);
            perf_call_make(&call[pair], options, kind, total, sweep->rank, sweep->nranks,
                           sweep->buffers.in + shift, sweep->buffers.out + shift);
            call[pair].coll.algorithm = options->algos[i];
        }
        bool shares = perf_has(kind, PERF_DIVIDED);
        *row =
            (struct perf_row){.kind = kind,
                              .nranks = sweep->nranks,
                              .bytes = size->bytes,
                              .instant = sweep->board.meet != NULL,
                              .count =
                                  shares ? perf_share(kind, total, sweep->nranks, sweep->nranks - 1)
                                         : total,
                              .dtype = options->dtype,
                              .in_place = options->in_place,
                              .op = call->data.reduces ? tern_reduce_op_name(options->op) : "none",
                              .errors = options->check ? 0 : -1};
        int status = perf_record_open(sweep, call, &size->recorded);
        if (status != TERN_OK) {
            return status;
        }
        choose_names(sweep, call, &size->recorded, row);
        if (sweep->rank == 0) {
            perf_predict(options, call, size->recorded.plan, row);
        }
    }
    return TERN_OK;
}

// Warms up, and finds how long the slowest of the calls takes. The first calls of a process are
// slow, so this goes on while they are too slow for all iterations that there may be.
static int find_pace(struct perf_sweep *sweep, const struct size *size, double one_us,
                     double *longest_us)
{
    double spent_us = 0;
    int64_t again = 1;
    int status = TERN_OK;
    *longest_us = one_us;
    for (int round = 0; status == TERN_OK && again != 0 && round < PACE_ROUNDS; round++) {
        double longest = 0;
        for (int i = 0; status == TERN_OK && i < size->ncalls; i++) {
            struct perf_time time = {.min_us = one_us};
            status = time_calls(sweep, size->calls[i], size->warmup, &time);
            longest = time.min_us > longest ? time.min_us : longest;
        }
        *longest_us = round == 0 || longest < *longest_us ? longest : *longest_us;
        spent_us += longest * (double)size->warmup;
        again = size->warmup > 0 && sweep->options->iterations == 0 &&
                spent_us<TIMED_US && * longest_us * ITERATIONS_MOST> TIMED_US;
        status = status == TERN_OK ? perf_share_value(&sweep->board, &again) : status;
    }
    return status;
}

// Warms up, and decides how many calls are timed. one_us: the longest first call.
static int set_pace(struct perf_sweep *sweep, struct size *size, double one_us)
{
    const struct perf_options *options = sweep->options;
    double budget_us = options->budget_us / size->rounds;
    bool short_warmup =
        options->iterations == 0 && (double)options->warmup * one_us > budget_us / 4;
    int64_t warmup = short_warmup && options->warmup > 0 ? 1 : options->warmup;
    int status = perf_share_value(&sweep->board, &warmup);
    size->warmup = (long)warmup;
    double longest_us = 0;
    status = status == TERN_OK ? find_pace(sweep, size, one_us, &longest_us) : status;
    double timed = TIMED_US / (longest_us + 0.01);
    double affordable = budget_us / (longest_us + 0.01);
    timed = timed < ITERATIONS_LEAST ? ITERATIONS_LEAST : timed;
    timed = timed > ITERATIONS_MOST ? ITERATIONS_MOST : timed;
    timed = timed > affordable ? affordable : timed;
    timed = timed < ITERATIONS_BUDGET ? ITERATIONS_BUDGET : timed;
    int64_t iterations = options->iterations > 0 ? options->iterations : (int64_t)timed;
    status = status == TERN_OK ? perf_share_value(&sweep->board, &iterations) : status;
    size->iterations = (long)iterations;
    return status;
}

// For an MPI's calls: so long that all of them fit if it is up to ten times slower than tern.
static double peer_budget(const struct perf_options *options, const struct size *size, int round)
{
    const struct perf_time *own = &size->times[0][round];
    double most = options->budget_us / size->rounds;
    double enough = SLOW_PEER * own->median_us * (double)own->iterations;
    enough = enough > TIMED_US ? enough : TIMED_US;
    return options->iterations == 0 && enough < most ? enough : most;
}

// An MPI that is much slower than tern has its ratio after one round.
static bool is_slow(const struct perf_options *options, const struct size *size, int peer,
                    int round)
{
    return options->iterations == 0 && round > 0 &&
           size->peers[peer][0].median_us > SLOW_PEER * size->times[0][0].median_us;
}

static void ask_peers(struct perf_sweep *sweep, struct size *size, int round)
{
    const struct perf_options *options = sweep->options;
    const struct perf_call *call = &size->calls[0][0];
    bool barrier = size->kind == PERF_BARRIER;
    struct perf_question question = {.kind = size->kind,
                                     .total = call->total,
                                     .dtype = barrier ? "u8" : tern_dtype_name(options->dtype),
                                     .op = size->rows[0].op,
                                     .root = options->root,
                                     .in_place = options->in_place,
                                     .instant = sweep->board.meet != NULL,
                                     .malloced = options->memory == PERF_MALLOC,
                                     .together = perf_calls_together(options),
                                     .nbuffers = options->nbuffers,
                                     .warmup = size->warmup,
                                     .iterations = size->iterations,
                                     .budget_us = peer_budget(options, size, round)};
    for (int peer = 0; peer < PERF_PEERS; peer++) {
        bool skip = (sweep->too_slow[peer] && sweep->too_slow_kind[peer] == size->kind) ||
                    is_slow(options, size, peer, round);
        enum perf_answer answer =
            skip ? PERF_NOT_THERE
                 : perf_peer_ask(&sweep->peers[peer], &question, &size->peers[peer][round]);
        sweep->failed = sweep->failed || answer == PERF_FAILED;
        if (answer == PERF_TOO_SLOW) {
            sweep->too_slow[peer] = true;
            sweep->too_slow_kind[peer] = size->kind;
        }
    }
}

// The MPIs and the copying, in the pages of our buffers, so that they find memory as good or bad as
// ours: on one machine calls took 16 ms or 5 in pages from different places.
static int time_others(struct perf_sweep *sweep, struct size *size, int round)
{
    const struct perf_call *call = &size->calls[0][0];
    long pairs = sweep->options->nbuffers;
    size_t element = perf_data_of(size->kind, sweep->options).element_bytes;
    size_t used = (size_t)pairs * perf_stride(call->total, element);
    uint64_t all;
    perf_buffers_lend(&sweep->buffers, used);
    int status = perf_sum_values(&sweep->board, 1, &all); // all have
    if (status == TERN_OK && sweep->rank == 0) {
        ask_peers(sweep, size, round);
    }
    uint64_t bytes = perf_bound_bytes(call);
    if (status == TERN_OK && bytes > 0) {
        status = perf_time_copy(&sweep->board, bytes, pairs, &size->copies[round]);
    }
    int64_t end = 0;
    status = status == TERN_OK ? perf_share_value(&sweep->board, &end) : status;
    perf_buffers_take_back(&sweep->buffers, used);
    return status;
}

static int run_round(struct perf_sweep *sweep, struct size *size, int round)
{
    int status = TERN_OK;
    for (int i = 0; status == TERN_OK && i < size->ncalls; i++) {
        struct perf_time *time = &size->times[i][round];
        if (round > 0) {
            status = time_calls(sweep, size->calls[i], size->warmup, time);
        }
        status =
            status == TERN_OK ? time_calls(sweep, size->calls[i], size->iterations, time) : status;
    }
    return status == TERN_OK ? time_others(sweep, size, round) : status;
}

// Over the rounds: the median of the medians, the least, the greatest.
static struct perf_time over_rounds(const struct perf_time *times, int rounds)
{
    double medians[ROUNDS];
    struct perf_time all = times[0];
    int measured = 0;
    for (int i = 0; i < rounds; i++) {
        if (times[i].iterations > 0) {
            all = measured == 0 ? times[i] : all;
            medians[measured++] = times[i].median_us;
            all.min_us = times[i].min_us < all.min_us ? times[i].min_us : all.min_us;
            all.max_us = times[i].max_us > all.max_us ? times[i].max_us : all.max_us;
            all.iterations =
                times[i].iterations < all.iterations ? times[i].iterations : all.iterations;
        }
    }
    all.median_us = measured > 0 ? cli_median(medians, measured) : 0;
    return all;
}

static int keep_row(struct perf_sweep *sweep, const struct perf_row *row)
{
    struct perf_row *more = realloc(sweep->rows, (size_t)(sweep->nrows + 1) * sizeof *more);
    if (more == NULL) {
        perf_say("not enough memory");
        return TERN_ERR_MEMORY;
    }
    sweep->rows = more;
    sweep->rows[sweep->nrows++] = *row;
    return TERN_OK;
}

// Only on rank 0.
static int finish_rows(struct perf_sweep *sweep, struct size *size)
{
    int status = TERN_OK;
    for (int i = 0; status == TERN_OK && i < size->ncalls; i++) {
        struct perf_row *row = &size->rows[i];
        row->time = over_rounds(size->times[i], size->rounds);
        row->copy = over_rounds(size->copies, size->rounds);
        for (int peer = 0; peer < PERF_PEERS; peer++) {
            row->peers[peer] = over_rounds(size->peers[peer], size->rounds);
        }
        double time_us = row->time.median_us > 0 ? row->time.median_us : 0.001;
        row->algbw_GBps = (double)row->bytes / time_us * 1e-3;
        row->busbw_GBps = row->algbw_GBps * perf_bus_factor(row->kind, row->nranks);
        row->bound_pct = row->copy.median_us / time_us * 100;
        sweep->failed = sweep->failed || row->errors > 0;
        perf_print_row(sweep->options, row);
        status = keep_row(sweep, row);
    }
    return status;
}

int perf_measure_size(struct perf_sweep *sweep, enum perf_kind kind, uint64_t total)
{
    static struct size size; // large, and one at a time
    size = (struct size){.kind = kind};
    int status = prepare_size(sweep, total, &size);
    double one_us = 0;
    for (int i = 0; status == TERN_OK && i < size.ncalls; i++) {
        struct perf_time time = {0};
        status = checked_calls(sweep, size.calls[i], 0, &size.rows[i], &time);
        one_us = time.min_us > one_us ? time.min_us : one_us;
    }
    status = status == TERN_OK ? set_pace(sweep, &size, one_us) : status;
    for (int round = 0; status == TERN_OK && round < size.rounds; round++) {
        status = run_round(sweep, &size, round);
    }
    for (int i = 0; status == TERN_OK && sweep->options->check && i < size.ncalls; i++) {
        struct perf_time time = {0};
        status = checked_calls(sweep, size.calls[i], 1, &size.rows[i], &time);
    }
    perf_record_close(&size.recorded);
    return status == TERN_OK && sweep->rank == 0 ? finish_rows(sweep, &size) : status;
}
