// SPDX-License-Identifier: Apache-2.0
// What ops cost: plans made for that, run on windows by all ranks at once. Of a transfer the least
// sample counts, since what else happens on a machine only adds; of meetings the median, since
// luck of who gets a processor is part of them.

#include <string.h>

#include "tern/exec.h"
#include "tern/machine.h"
#include "tern/plan.h"
#include "timing.h"
#include "tune/tune.h"

#define SAMPLES 7
#define ROUNDS 4
#define CALLS 101
#define FRESH_OPS 64 // of a run, or as many as have so many bytes
#define FRESH_BYTES (UINT64_C(256) << 10)
#define TINY 64            // bytes of an op whose bytes take no time
#define TINY_OPS 1024      // of a run
#define OPS_MOST 4096      // of a run, of those with bytes
#define RUN_US 200         // that they take at least, if there can be so many, or
#define RUNS 20            // runs without them
#define GUESS_GBPS 20      // of a processor, to find how many
#define MEMORY_SHARE 8     // of the memory that is available, the part that is used
#define LOCK_STEP_BYTES 64 // lengths are multiples of that

static const uint64_t at_hand[] = {UINT64_C(16) << 10, UINT64_C(64) << 10, UINT64_C(256) << 10,
                                   UINT64_C(1) << 20,  UINT64_C(2) << 20,  UINT64_C(4) << 20,
                                   UINT64_C(16) << 20, UINT64_C(32) << 20, UINT64_C(64) << 20,
                                   UINT64_C(256) << 20};
enum { AT_HAND = sizeof at_hand / sizeof at_hand[0] };
_Static_assert(AT_HAND <= TERN_TUNE_RATES_MAX, "a cost has room for them");

// Copies have no unit that matters; reduces one of these each.
static const struct unit {
    uint32_t bytes;
    tern_dtype dtype;
} units[] = {{1, TERN_U8}, {2, TERN_F16}, {4, TERN_F32}, {8, TERN_F64}};

struct bench {
    tern_comm *comm;
    tern_window *window; // each rank's input, and its output behind it
    int rank, nranks, processors, rounds;
    uint64_t half; // of a rank's part
};

// What is run: so many ops of a length on each rank, or so many meetings of all.
struct shape {
    int ops, meetings;
    uint64_t length;
    int unit; // -1: copies; else reduces of such elements
    bool meet_once;
    enum { NOT_FRESH, OWN_SCRATCH, FRESH } scratch; // or in turn: into scratch and out of it, met
};

static int add_ops(const struct shape *shape, int rank, int nranks, tern_plan *plan)
{
    uint16_t next = (uint16_t)((rank + 1) % nranks);
    // No byte is read twice, so all of them together are what is at hand.
    tern_plan_range from[2] = {{.rank = next, .buffer = TERN_PLAN_IN},
                               {.rank = (uint16_t)rank, .buffer = TERN_PLAN_IN}};
    tern_plan_range to = {.rank = (uint16_t)rank, .buffer = TERN_PLAN_OUT};
    from[1].offset = shape->length;
    tern_plan_op op = {.kind = shape->unit < 0 ? TERN_PLAN_COPY : TERN_PLAN_REDUCE,
                       .length = shape->length,
                       .sources = from,
                       .sources_count = shape->unit < 0 ? 1 : 2,
                       .destinations = &to,
                       .destinations_count = 1};
    int status = TERN_OK;
    for (int i = 0; status == TERN_OK && i < shape->ops; i++) {
        status = tern_plan_add(plan, rank, 0, &op);
    }
    return status;
}

static int add_meeting(tern_plan *plan, int rank, int nranks, int number)
{
    int status = TERN_OK;
    for (int step = 1; status == TERN_OK && step < nranks; step++) {
        tern_plan_op post = {.kind = TERN_PLAN_POST, .peer = (rank + step) % nranks};
        status = tern_plan_add(plan, rank, 0, &post);
    }
    tern_plan_op wait = {.kind = TERN_PLAN_WAIT, .count = (uint32_t)((number + 1) * (nranks - 1))};
    return status == TERN_OK ? tern_plan_add(plan, rank, 0, &wait) : status;
}

static int add_meetings(const struct shape *shape, int rank, int nranks, tern_plan *plan)
{
    int status = TERN_OK;
    for (int i = 0; status == TERN_OK && i < shape->meetings; i++) {
        status = add_meeting(plan, rank, nranks, i);
    }
    return status;
}

// The copy number i of a rank, of so many: into scratch, or out of that of a rank.
static int add_copy(const struct shape *shape, int rank, int from_rank, int i, tern_plan *plan)
{
    uint64_t offset = shape->length * (uint64_t)i;
    bool into = from_rank < 0;
    tern_plan_range from = {into ? 0 : offset, (uint16_t)(into ? rank : from_rank),
                            into ? TERN_PLAN_IN : TERN_PLAN_SCRATCH};
    tern_plan_range to = {into ? offset : 0, (uint16_t)rank,
                          into ? TERN_PLAN_SCRATCH : TERN_PLAN_OUT};
    tern_plan_op copy = {.kind = TERN_PLAN_COPY,
                         .length = shape->length,
                         .sources = &from,
                         .sources_count = 1,
                         .destinations = &to,
                         .destinations_count = 1};
    return tern_plan_add(plan, rank, 0, &copy);
}

// Each op with a scratch of its own, so that ranks need not meet behind it. Ranks meet before each
// read, or once, where meetings are long and their length is chance.
static int add_scratch_ops(const struct shape *shape, int rank, int nranks, tern_plan *plan)
{
    int from_rank = shape->scratch == FRESH ? (rank + 1) % nranks : rank;
    int status = tern_plan_need_scratch(plan, shape->length * (uint64_t)shape->ops);
    for (int i = 0; status == TERN_OK && i < shape->ops; i++) {
        status = add_copy(shape, rank, -1, i, plan);
        if (status == TERN_OK && !shape->meet_once) {
            status = add_meeting(plan, rank, nranks, i);
            status = status == TERN_OK ? add_copy(shape, rank, from_rank, i, plan) : status;
        }
    }
    status = status == TERN_OK && shape->meet_once ? add_meeting(plan, rank, nranks, 0) : status;
    for (int i = 0; status == TERN_OK && shape->meet_once && i < shape->ops; i++) {
        status = add_copy(shape, rank, from_rank, i, plan);
    }
    return status;
}

static int make(const struct shape *shape, int nranks, tern_plan **plan)
{
    uint32_t unit = shape->unit < 0 ? 8 : units[shape->unit].bytes;
    tern_plan_spec spec = {.kind = TERN_PLAN_ALL_REDUCE,
                           .nranks = nranks,
                           .bytes = 2 * shape->length,
                           .unit = unit,
                           .algorithm = "cost"};
    int status = tern_plan_create(&spec, plan);
    for (int rank = 0; status == TERN_OK && rank < nranks; rank++) {
        status = shape->scratch == NOT_FRESH ? add_ops(shape, rank, nranks, *plan)
                                             : add_scratch_ops(shape, rank, nranks, *plan);
        status = status == TERN_OK ? add_meetings(shape, rank, nranks, *plan) : status;
    }
    return status == TERN_OK ? tern_plan_seal(*plan) : status;
}

// One run after a barrier, and how long it took the slowest rank.
static int sample(const struct bench *bench, tern_exec *exec, double *us)
{
    int status = tern_comm_barrier(bench->comm);
    double begin_us = cli_now_us();
    status = status == TERN_OK ? tern_exec_run(exec) : status;
    double own_us = cli_now_us() - begin_us;
    return status == TERN_OK ? tern_all_reduce(bench->comm, &own_us, us, 1, TERN_F64, TERN_MAX)
                             : status;
}

static int measure(const struct bench *bench, const struct shape *shape, double *least_us,
                   double *median_us)
{
    tern_plan *plan = NULL;
    tern_exec *exec = NULL;
    double samples[SAMPLES];
    tern_exec_options options = {.in = bench->window,
                                 .out = bench->window,
                                 .out_offset = bench->half,
                                 .dtype = shape->unit < 0 ? TERN_F64 : units[shape->unit].dtype,
                                 .op = TERN_SUM};
    int status = make(shape, bench->nranks, &plan);
    status = status == TERN_OK ? tern_exec_create(bench->comm, plan, &options, &exec) : status;
    for (int warm = 0; status == TERN_OK && warm < 2; warm++) {
        status = sample(bench, exec, &samples[0]);
    }
    for (int i = 0; status == TERN_OK && i < SAMPLES; i++) {
        status = sample(bench, exec, &samples[i]);
    }
    if (status == TERN_OK) {
        *median_us = cli_median(samples, SAMPLES);
        *least_us = samples[0];
    }
    tern_exec_destroy(exec);
    tern_plan_destroy(plan);
    return status;
}

// Of the ops of a run: what one takes of a processor, beside `run_us` of the run itself.
static double op_us(const struct bench *bench, const struct shape *shape, double all_us,
                    double run_us)
{
    double us = (all_us > 1.05 * run_us ? all_us - run_us : 0.05 * all_us) / shape->ops;
    return us * bench->processors / bench->nranks;
}

// What a call takes that has next to no bytes, the median, with buffers in windows: through slots,
// or where they lie.
static int measure_call(struct tune_bench *calls, bool slots, double *us)
{
    struct tune_candidate candidate = {0};
    double samples[CALLS];
    tern_tune_row row;
    tern_coll call = {.kind = TERN_PLAN_ALL_REDUCE,
                      .in = calls->in[1],
                      .out = calls->out[1],
                      .count = TINY / sizeof(float),
                      .dtype = TERN_F32,
                      .op = TERN_SUM};
    int status = tern_tune_get_built_in(call.kind, calls->nranks, &row);
    row.small_bytes = slots ? TINY : 0;
    status = status == TERN_OK ? tune_candidate_open(calls, &row, &candidate) : status;
    for (int i = -10; status == TERN_OK && i < CALLS; i++) { // the first ones warm up
        status = tern_comm_barrier(calls->control);
        double begin_us = cli_now_us();
        status = status == TERN_OK ? tern_coll_run(candidate.comm, &call) : status;
        double own_us = cli_now_us() - begin_us;
        status = status == TERN_OK ? tern_all_reduce(calls->control, &own_us,
                                                     &samples[i < 0 ? 0 : i], 1, TERN_F64, TERN_MAX)
                                   : status;
    }
    *us = status == TERN_OK ? cli_median(samples, CALLS) : 0;
    tune_candidates_close(&candidate, 1);
    return status;
}

static double above_zero(double us)
{
    return us > 0 ? us : 0;
}

// A call through slots is two ops and a meeting; one in windows an op, and a meeting more. Where
// ranks outnumber processors, meetings are all that counts: each rank has to be woken.
static int measure_times(const struct bench *bench, struct tune_bench *calls, tern_tune_cost *cost,
                         double *run_us)
{
    struct shape one = {.ops = 1, .length = TINY, .unit = -1};
    struct shape met = {.ops = 1, .meetings = 1, .length = TINY, .unit = -1};
    struct shape tiny = {.ops = TINY_OPS, .meetings = 1, .length = TINY, .unit = -1};
    double slots_us = 0;
    double windows_us = 0;
    double one_us = 0;
    double met_us = 0;
    double tiny_us = 0;
    double unused;
    int status = measure(bench, &one, &unused, &one_us);
    status = status == TERN_OK ? measure(bench, &met, run_us, &met_us) : status;
    status = status == TERN_OK ? measure(bench, &tiny, &tiny_us, &unused) : status;
    status = status == TERN_OK ? measure_call(calls, true, &slots_us) : status;
    status = status == TERN_OK ? measure_call(calls, false, &windows_us) : status;
    if (status == TERN_OK) {
        cost->op_us = op_us(bench, &tiny, tiny_us, *run_us);
    }
    if (status == TERN_OK && bench->nranks <= bench->processors) {
        cost->post_us = above_zero(met_us - one_us);
        cost->begin_us = above_zero(slots_us - 2 * cost->op_us - cost->post_us);
        cost->meet_us = above_zero(windows_us - cost->begin_us - cost->op_us - cost->post_us);
    } else if (status == TERN_OK) {
        cost->wake_us = (slots_us + windows_us) / 3 * bench->processors / bench->nranks;
    }
    return status;
}

// Copies into scratch and out of it: out of their own (0), and out of what another rank has just
// written. Keeps the least of each.
static int measure_fresh(const struct bench *bench, uint64_t bytes, struct shape *shape,
                         double least_us[2])
{
    uint64_t length = bytes / (uint64_t)bench->nranks / 3;
    int status = TERN_OK;
    length = length / LOCK_STEP_BYTES * LOCK_STEP_BYTES;
    *shape = (struct shape){.length = length < TINY ? TINY : length,
                            .unit = -1,
                            .meet_once = bench->nranks > bench->processors};
    shape->ops = shape->length < FRESH_BYTES / FRESH_OPS ? FRESH_OPS
                 : shape->length > FRESH_BYTES           ? 1
                                                         : (int)(FRESH_BYTES / shape->length);
    for (int fresh = 0; status == TERN_OK && fresh < 2; fresh++) {
        double us = 0;
        double unused;
        shape->scratch = fresh == 0 ? OWN_SCRATCH : FRESH;
        status = measure(bench, shape, &us, &unused);
        least_us[fresh] = least_us[fresh] == 0 || us < least_us[fresh] ? us : least_us[fresh];
    }
    return status;
}

// A copy reads as fast as any, and takes longer by what it takes more than out of its own scratch.
static double fresh_GBps(const struct bench *bench, const struct shape *shape, double copy_GBps,
                         const double least_us[2])
{
    double more_us = least_us[1] > least_us[0] ? least_us[1] - least_us[0] : 0;
    double read_us = (double)shape->length / copy_GBps / 1e3 +
                     more_us / shape->ops * bench->processors / bench->nranks;
    return (double)shape->length / read_us / 1e3;
}

static double greater(double a, double b)
{
    return a > b ? a : b;
}

// The rate of a processor, copies (unit -1) or reduces, with so many bytes at hand.
static int measure_rate(const struct bench *bench, uint64_t bytes, int unit, double run_us,
                        double start_us, double *GBps)
{
    uint64_t operands = unit < 0 ? 2 : 3;
    uint64_t length = bytes / (uint64_t)bench->nranks / operands;
    length = length / LOCK_STEP_BYTES * LOCK_STEP_BYTES;
    struct shape shape = {.meetings = 1, .length = length < TINY ? TINY : length, .unit = unit};
    double moved = (double)(shape.length * operands);
    double guess_us = moved / GUESS_GBPS / 1e3;
    double wanted = greater(RUN_US, RUNS * run_us) / guess_us;
    shape.ops = wanted > OPS_MOST ? OPS_MOST : wanted < 1 ? 1 : (int)wanted;
    double least_us = 0;
    double median_us = 0;
    int status = measure(bench, &shape, &least_us, &median_us);
    double us = op_us(bench, &shape, least_us, run_us);
    *GBps = moved / (us > 1.25 * start_us ? us - start_us : 0.2 * us) / 1e3;
    return status;
}

// In several rounds over all of them, so that a while in which the machine is slow is not all that
// a rate has seen.
static int measure_rates(const struct bench *bench, double run_us, tern_tune_cost *cost)
{
    double scratch_us[AT_HAND][2] = {{0}};
    int status = TERN_OK;
    while (cost->rates_count < AT_HAND &&
           at_hand[cost->rates_count] <= bench->half * (uint64_t)bench->nranks) {
        cost->rates[cost->rates_count].bytes = at_hand[cost->rates_count];
        cost->rates_count++;
    }
    for (int i = 0; status == TERN_OK && i < bench->rounds * cost->rates_count; i++) {
        tern_tune_rate *rate = &cost->rates[i % cost->rates_count];
        for (int unit = -1; status == TERN_OK && unit < 4; unit++) {
            double GBps = 0;
            double *most = unit < 0 ? &rate->copy_GBps : &rate->reduce_GBps[unit];
            status = measure_rate(bench, rate->bytes, unit, run_us, cost->op_us, &GBps);
            *most = greater(*most, GBps);
        }
        if (status == TERN_OK) {
            double *least_us = scratch_us[i % cost->rates_count];
            struct shape shape;
            status = measure_fresh(bench, rate->bytes, &shape, least_us);
            rate->fresh_GBps = fresh_GBps(bench, &shape, rate->copy_GBps, least_us);
        }
    }
    return status;
}

static int open_bench(tern_comm *world, const struct tune_wish *wish, struct bench *bench)
{
    tern_machine machine = {.memory_available = 0};
    int status = tern_machine_look(&machine);
    int64_t memory = machine.memory_available / MEMORY_SHARE;
    *bench = (struct bench){.comm = world,
                            .rank = tern_comm_rank(world),
                            .nranks = tern_comm_size(world)};
    // Rank 0's view of the machine is everybody's.
    int64_t seen[2] = {wish->processors, memory};
    status = status == TERN_OK ? tern_broadcast(world, seen, seen, 2, TERN_I64, 0) : status;
    bench->processors = seen[0] < bench->nranks ? (int)seen[0] : bench->nranks;
    bool short_of_time = wish->seconds < 1;
    uint64_t most = short_of_time ? at_hand[AT_HAND / 2] : at_hand[AT_HAND - 1];
    bench->rounds = short_of_time ? 1 : ROUNDS;
    most = seen[1] > 0 && (uint64_t)seen[1] < most ? (uint64_t)seen[1] : most;
    bench->half = most / (uint64_t)bench->nranks;
    bench->half = bench->half < 2 * TINY ? 2 * TINY : bench->half / 4096 * 4096 + 4096;
    status = status == TERN_OK ? tern_window_create(world, 2 * bench->half, NULL, &bench->window)
                               : status;
    if (status == TERN_OK) { // its pages are there before the clock runs
        memset(tern_window_address(bench->window, bench->rank), 0, 2 * bench->half);
    }
    return status;
}

int tune_measure_costs(struct tune_bench *calls, const struct tune_wish *wish, FILE *rows)
{
    struct bench bench;
    double run_us = 0;
    tern_tune_cost cost = {.nranks = tern_comm_size(calls->world)};
    int status = open_bench(calls->world, wish, &bench);
    cost.processors = bench.processors;
    status = status == TERN_OK ? measure_times(&bench, calls, &cost, &run_us) : status;
    status = status == TERN_OK ? measure_rates(&bench, run_us, &cost) : status;
    tern_window_destroy(bench.window);
    if (status == TERN_OK && bench.rank == 0) {
        char lines[TERN_TUNE_COST_BYTES];
        tern_tune_print_cost(&cost, lines, sizeof lines);
        fputs(lines, rows);
        double crowd = (double)cost.nranks / cost.processors;
        fprintf(stderr, "costs, %d ranks: a call takes %.2f us, in windows %.2f us\n", cost.nranks,
                cost.begin_us + 2 * cost.op_us + cost.post_us + cost.wake_us * crowd,
                cost.begin_us + cost.meet_us + cost.op_us + cost.post_us +
                    2 * cost.wake_us * crowd);
    }
    return status;
}
