// SPDX-License-Identifier: Apache-2.0
// What the executor costs above the copies, sums and signals themselves. Run alone it measures one
// rank: time per op, and the reduce kernel against a loop written by hand. Under `tern run -n 2` it
// also measures AllReduce of 1 MiB: the one-pass plan against the same written by hand; with more
// ranks, that of owners with atomic reduces against two_shot. "name value unit" lines; ratios are
// medians of pairs taken in turn, the last one that of medians.

#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "support/owners.h" // before report.h, whose `rank` it has as a parameter

#include "base/order.h"
#include "isa/reduce.h"
#include "job.h"
#include "tern/algo.h"
#include "tern/exec.h"
#include "tern/signal.h"
#include "tern/window.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

enum { PAIRS = 41, RUNS = 20 };

static double now_ns(void)
{
    return cli_now_us() * 1e3;
}

// Two sources to two destinations, as one would write it for this very case.
#if defined(__x86_64__)
__attribute__((target("avx2"))) static void sum_by_hand(float *to0, float *to1, const float *a,
                                                        const float *b, size_t count)
{
    size_t i = 0;
    for (; i + 16 <= count; i += 16) {
        __m256 x = _mm256_add_ps(_mm256_loadu_ps(a + i), _mm256_loadu_ps(b + i));
        __m256 y = _mm256_add_ps(_mm256_loadu_ps(a + i + 8), _mm256_loadu_ps(b + i + 8));
        _mm256_storeu_ps(to0 + i, x);
        _mm256_storeu_ps(to0 + i + 8, y);
        _mm256_storeu_ps(to1 + i, x);
        _mm256_storeu_ps(to1 + i + 8, y);
    }
    for (; i < count; i++) {
        to0[i] = to1[i] = a[i] + b[i];
    }
}
#else
static void sum_by_hand(float *to0, float *to1, const float *a, const float *b, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        to0[i] = to1[i] = a[i] + b[i];
    }
}
#endif

static void bench_kernel(size_t bytes)
{
    // A little more than a power of 2 apart, so that stores and later loads differ below 4 KiB.
    size_t apart = bytes + 1024;
    char *memory = aligned_alloc(64, 4 * apart);
    if (memory == NULL) {
        exit(1);
    }
    memset(memory, 0, 4 * apart);
    const char *from[] = {memory, memory + apart};
    char *to[] = {memory + 2 * apart, memory + 3 * apart};
    tern__reduce_fn *kernels[] = {tern__reduce_find(TERN_F32, TERN_SUM),
                                  tern__reduce_at(TERN__REDUCE_AVX2, TERN_F32, TERN_SUM)};
    const char *names[] = {"kernel_to_hand", "kernel_avx2_to_hand"};
    int repeats = (int)((32u << 20) / bytes) + 1;
    for (int k = 0; k < 2 && kernels[k] != NULL; k++) {
        double ratios[PAIRS];
        for (int pair = 0; pair < PAIRS; pair++) {
            double begin = now_ns();
            for (int i = 0; i < repeats; i++) {
                kernels[k](to, 2, from, 2, bytes / 4, false);
            }
            double middle = now_ns();
            for (int i = 0; i < repeats; i++) {
                sum_by_hand((float *)(void *)to[0], (float *)(void *)to[1],
                            (const float *)(const void *)from[0],
                            (const float *)(const void *)from[1], bytes / 4);
            }
            ratios[pair] = (middle - begin) / (now_ns() - middle);
        }
        char name[64];
        snprintf(name, sizeof name, "%s_%zuKiB", names[k], bytes >> 10);
        report(name, cli_median(ratios, PAIRS), "x");
    }
    free(memory);
}

static void add_op(tern_plan *plan, int on, tern_plan_op op)
{
    must(tern_plan_add(plan, on, 0, &op));
}

// A plan of one rank: 1000 times one op of 8 bytes, or a post and its wait.
static tern_exec *make_ops(tern_comm *self, tern_window *window, bool signals, tern_plan **plan)
{
    tern_plan_spec spec = {.kind = TERN_PLAN_ALL_REDUCE, .nranks = 1, .bytes = 8, .unit = 4};
    tern_plan_range from = {.buffer = TERN_PLAN_IN};
    tern_plan_range to = {.buffer = TERN_PLAN_OUT};
    tern_exec *exec;
    must(tern_plan_create(&spec, plan));
    for (int i = 0; i < 1000; i++) {
        if (signals) {
            add_op(*plan, 0, (tern_plan_op){.kind = TERN_PLAN_POST});
            add_op(*plan, 0, (tern_plan_op){.kind = TERN_PLAN_WAIT, .count = 1 + (uint32_t)i});
        } else {
            add_op(*plan, 0,
                   (tern_plan_op){.kind = TERN_PLAN_COPY,
                                  .length = 8,
                                  .sources = &from,
                                  .sources_count = 1,
                                  .destinations = &to,
                                  .destinations_count = 1});
        }
    }
    must(tern_plan_seal(*plan));
    tern_exec_options options = {.in = window, .out = window, .out_offset = 64, .dtype = TERN_F32};
    must(tern_exec_create(self, *plan, &options, &exec));
    return exec;
}

// Time per op, and that of the bare thing: a memcpy through a pointer, an atomic add and a load.
static void bench_ops(void)
{
    tern_comm *self;
    tern_window *window;
    must(tern_comm_split(world, rank, 0, &self));
    must(tern_window_create(self, 128, NULL, &window));
    char *memory = tern_window_address(window, 0);
    static _Alignas(64) _Atomic uint32_t word;
    void *(*volatile bare_copy)(void *, const void *, size_t) = memcpy;
    for (int signals = 0; signals < 2; signals++) {
        double extra[PAIRS];
        double per_op[PAIRS];
        tern_plan *plan;
        tern_exec *exec = make_ops(self, window, signals != 0, &plan);
        double ops = signals ? 2000 : 1000;
        for (int pair = 0; pair < PAIRS; pair++) {
            double begin = now_ns();
            for (int run = 0; run < RUNS; run++) {
                must(tern_exec_run(exec));
            }
            double middle = now_ns();
            for (int i = 0; i < RUNS * 1000; i++) {
                if (signals) {
                    tern__flag_add(&word, 1);
                    while (tern__flag_load(&word) == 0) {
                    }
                } else {
                    bare_copy(memory + 64, memory, 8);
                }
            }
            double bare = now_ns() - middle;
            per_op[pair] = (middle - begin) / RUNS / ops;
            extra[pair] = (middle - begin - bare) / RUNS / ops;
        }
        report(signals ? "signal_op" : "copy_op", cli_median(per_op, PAIRS), "ns");
        report(signals ? "signal_op_overhead" : "copy_op_overhead", cli_median(extra, PAIRS), "ns");
        must(tern_exec_destroy(exec));
        must(tern_plan_destroy(plan));
    }
    must(tern_window_destroy(window));
    must(tern_comm_destroy(self));
}

// Rank r sums slice r of both inputs into both outputs, posts to both and waits for both.
static tern_plan *make_fused(uint64_t bytes)
{
    tern_plan *plan;
    tern_plan_spec spec = {.kind = TERN_PLAN_ALL_REDUCE, .nranks = 2, .bytes = bytes, .unit = 4};
    must(tern_plan_create(&spec, &plan));
    for (int r = 0; r < 2; r++) {
        uint64_t slice = (uint64_t)r * bytes / 2;
        tern_plan_range from[] = {{slice, 0, TERN_PLAN_IN}, {slice, 1, TERN_PLAN_IN}};
        tern_plan_range to[] = {{slice, 0, TERN_PLAN_OUT}, {slice, 1, TERN_PLAN_OUT}};
        add_op(plan, r,
               (tern_plan_op){.kind = TERN_PLAN_REDUCE,
                              .length = bytes / 2,
                              .sources = from,
                              .sources_count = 2,
                              .destinations = to,
                              .destinations_count = 2});
        add_op(plan, r, (tern_plan_op){.kind = TERN_PLAN_POST, .peer = 1 - r});
        add_op(plan, r, (tern_plan_op){.kind = TERN_PLAN_WAIT, .count = 1});
    }
    must(tern_plan_seal(plan));
    return plan;
}

// The same by hand, with the public signals: begun, sum, done.
static void all_reduce_by_hand(tern_window *signals, char *const *in, char *const *out,
                               size_t bytes, int32_t run)
{
    size_t slice = (size_t)rank * bytes / 2;
    must(tern_signal_notify(signals, 1 - rank, 0, 1, TERN_NOTIFY_ADD));
    must(tern_signal_wait(signals, 0, TERN_CMP_GE, run, TERN_TIMEOUT_DEFAULT));
    sum_by_hand((float *)(void *)(out[0] + slice), (float *)(void *)(out[1] + slice),
                (const float *)(const void *)(in[0] + slice),
                (const float *)(const void *)(in[1] + slice), bytes / 8);
    must(tern_signal_notify(signals, 1 - rank, 64, 1, TERN_NOTIFY_ADD));
    must(tern_signal_wait(signals, 64, TERN_CMP_GE, run, TERN_TIMEOUT_DEFAULT));
}

static void bench_all_reduce(size_t bytes)
{
    tern_window *in_window;
    tern_window *out_window;
    tern_window *signals;
    tern_exec *exec;
    tern_window_options prefault = {.flags = TERN_WINDOW_PREFAULT};
    must(tern_window_create(world, bytes, &prefault, &in_window));
    must(tern_window_create(world, bytes, &prefault, &out_window));
    must(tern_window_create(world, 128, &prefault, &signals));
    char *in[] = {tern_window_address(in_window, 0), tern_window_address(in_window, 1)};
    char *out[] = {tern_window_address(out_window, 0), tern_window_address(out_window, 1)};
    memset(in[rank], 0, bytes);
    tern_plan *plan = make_fused(bytes);
    tern_exec_options options = {.in = in_window, .out = out_window, .dtype = TERN_F32};
    must(tern_exec_create(world, plan, &options, &exec));
    double ratios[PAIRS];
    double times[PAIRS];
    int32_t run = 0;
    for (int pair = 0; pair < PAIRS; pair++) {
        must(tern_comm_barrier(world));
        double begin = now_ns();
        for (int i = 0; i < RUNS; i++) {
            must(tern_exec_run(exec));
        }
        double middle = now_ns();
        must(tern_comm_barrier(world));
        double again = now_ns();
        for (int i = 0; i < RUNS; i++) {
            all_reduce_by_hand(signals, in, out, bytes, ++run);
        }
        times[pair] = (middle - begin) / RUNS * 1e-3;
        ratios[pair] = (middle - begin) / (now_ns() - again);
    }
    char name[64];
    snprintf(name, sizeof name, "all_reduce_%zuKiB", bytes >> 10);
    report(name, cli_median(times, PAIRS), "us");
    snprintf(name, sizeof name, "all_reduce_to_hand_%zuKiB", bytes >> 10);
    report(name, cli_median(ratios, PAIRS), "x");
    must(tern_exec_destroy(exec));
    must(tern_plan_destroy(plan));
    must(tern_window_destroy(in_window));
    must(tern_window_destroy(out_window));
    must(tern_window_destroy(signals));
}

// The owners' plan, a link cut, and two_shot in turn: what atomic reduces cost.
static void bench_atomic(size_t bytes)
{
    enum { BEFORE = 20 };
    tern_window *in;
    tern_window *out;
    tern_topo *topo;
    tern_plan *plans[] = {owners_plan(nranks, true, bytes, 4), NULL};
    tern_exec *execs[2];
    tern_window_options prefault = {.flags = TERN_WINDOW_PREFAULT};
    char mesh[16];
    snprintf(mesh, sizeof mesh, "mesh:%d", nranks);
    must(tern_topo_create(mesh, &topo));
    tern_algo_request request = {.kind = TERN_PLAN_ALL_REDUCE,
                                 .topo = topo,
                                 .bytes = bytes,
                                 .unit = 4,
                                 .algorithm = "two_shot"};
    must(tern_algo_plan(&request, &plans[1]));
    must(tern_window_create(world, bytes, &prefault, &in));
    must(tern_window_create(world, bytes, &prefault, &out));
    memset(tern_window_address(in, rank), 0, bytes);
    tern_exec_options options = {.in = in, .out = out, .dtype = TERN_F32};
    must(tern_exec_create(world, plans[0], &options, &execs[0]));
    must(tern_exec_create(world, plans[1], &options, &execs[1]));
    double times[2][PAIRS * RUNS];
    for (int run = -BEFORE; run < PAIRS * RUNS; run++) {
        for (int i = 0; i < 2; i++) {
            must(tern_comm_barrier(world));
            double begin = now_ns();
            must(tern_exec_run(execs[i]));
            times[i][run < 0 ? 0 : run] = now_ns() - begin;
        }
    }
    double atomic = cli_median(times[0], PAIRS * RUNS);
    double two_shot = cli_median(times[1], PAIRS * RUNS);
    report("atomic", atomic * 1e-3, "us");
    report("two_shot", two_shot * 1e-3, "us");
    report("atomic_to_two_shot", atomic / two_shot, "x");
    for (int i = 0; i < 2; i++) {
        must(tern_exec_destroy(execs[i]));
        must(tern_plan_destroy(plans[i]));
    }
    must(tern_window_destroy(in));
    must(tern_window_destroy(out));
    must(tern_topo_destroy(topo));
}

int main(void)
{
    must(tern_init(NULL, &world));
    rank = tern_comm_rank(world);
    nranks = tern_comm_size(world);
    if (nranks == 1) {
        bench_kernel(16 << 10);
        bench_kernel(256 << 10);
        bench_kernel(4 << 20);
        bench_ops();
    }
    if (nranks == 2) {
        bench_all_reduce(8 << 10);
        bench_all_reduce(1 << 20);
        bench_all_reduce(16 << 20);
    }
    if (nranks > 2) {
        bench_atomic(1 << 20);
    }
    must(tern_comm_destroy(world));
    return 0;
}
