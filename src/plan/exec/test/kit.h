// SPDX-License-Identifier: Apache-2.0
// Plans made by hand, data that differs from run to run, and what should come out: for the tests of
// the executor.
#ifndef TERN_PLAN_EXEC_TEST_KIT_H
#define TERN_PLAN_EXEC_TEST_KIT_H

#include "support/cmocka.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "plan/exec/exec.h"
#include "support/by_hand.h"
#include "support/ranks.h"
#include "tern/exec.h"
#include "tern/plan.h"

#define KIT __attribute__((unused)) static

// in of all ranks to out of all ranks, at one place.
KIT void kit_reduce_all(tern_plan *plan, int rank, int lane, uint64_t offset, uint64_t length,
                        uint32_t flags)
{
    int n = tern_plan_get_spec(plan)->nranks;
    tern_plan_range sources[TERN_RANKS_MAX];
    tern_plan_range destinations[TERN_RANKS_MAX];
    for (int i = 0; i < n; i++) {
        sources[i] = hand_at(i, TERN_PLAN_IN, offset);
        destinations[i] = hand_at(i, TERN_PLAN_OUT, offset);
    }
    tern_plan_op op = {.kind = TERN_PLAN_REDUCE,
                       .flags = flags,
                       .length = length,
                       .sources = sources,
                       .sources_count = n,
                       .destinations = destinations,
                       .destinations_count = n};
    hand_must(tern_plan_add(plan, rank, lane, &op));
}

// The one-pass all_reduce. Every rank's slice is cut once more, a piece for each lane; odd sizes
// give pieces of 0 bytes. A lane signals on its own.
KIT tern_plan *kit_fused(int n, uint64_t count, uint32_t unit, int lanes)
{
    tern_plan *plan = hand_plan(TERN_PLAN_ALL_REDUCE, n, count * unit, unit);
    uint64_t pieces = (uint64_t)n * (uint64_t)lanes;
    for (int rank = 0; rank < n; rank++) {
        for (int lane = 0; lane < lanes; lane++) {
            uint64_t piece = (uint64_t)rank * (uint64_t)lanes + (uint64_t)lane;
            uint64_t begin = piece * count / pieces;
            uint64_t end = (piece + 1) * count / pieces;
            kit_reduce_all(plan, rank, lane, begin * unit, (end - begin) * unit, 0);
            for (int peer = 0; peer < n; peer++) {
                hand_post(plan, rank, lane, (rank + peer) % n, (uint32_t)lane);
            }
            hand_wait(plan, rank, lane, (uint32_t)lane, (uint32_t)n);
        }
    }
    hand_must(tern_plan_seal(plan));
    return plan;
}

// The ring all_reduce: n - 1 steps that sum, n - 1 that hand round. Its sums are in another order
// than the ranks', so only data whose sums are exact can be compared.
KIT tern_plan *kit_ring(int n, uint64_t share_count, uint32_t unit)
{
    uint64_t share = share_count * unit;
    tern_plan *plan = hand_plan(TERN_PLAN_ALL_REDUCE, n, share * (uint64_t)n, unit);
    hand_must(tern_plan_need_scratch(plan, share * (uint64_t)(n > 1 ? n - 1 : 0)));
    for (int rank = 0; rank < n; rank++) {
        int to = (rank + 1) % n;
        uint64_t slot = 0;
        uint32_t signal = 0;
        if (n == 1) {
            hand_copy(plan, 0, 0, hand_at(0, TERN_PLAN_IN, 0), hand_at(0, TERN_PLAN_OUT, 0), share);
        }
        for (int step = 0; step < n - 1; step++, slot += share, signal++) {
            uint64_t sent = (uint64_t)((rank - step + n) % n) * share;
            uint64_t got = (uint64_t)((rank - 1 - step + 2 * n) % n) * share;
            hand_copy(plan, rank, 0, hand_at(rank, step == 0 ? TERN_PLAN_IN : TERN_PLAN_OUT, sent),
                      hand_at(to, TERN_PLAN_SCRATCH, slot), share);
            hand_post(plan, rank, 0, to, signal);
            hand_wait(plan, rank, 0, signal, 1);
            tern_plan_range sources[] = {hand_at(rank, TERN_PLAN_SCRATCH, slot),
                                         hand_at(rank, TERN_PLAN_IN, got)};
            tern_plan_range destination = hand_at(rank, TERN_PLAN_OUT, got);
            tern_plan_op op = {.kind = TERN_PLAN_REDUCE,
                               .length = share,
                               .sources = sources,
                               .sources_count = 2,
                               .destinations = &destination,
                               .destinations_count = 1};
            hand_must(tern_plan_add(plan, rank, 0, &op));
        }
        for (int step = 0; step < n - 1; step++, signal++) {
            uint64_t sent = (uint64_t)((rank + 1 - step + n) % n) * share;
            hand_copy(plan, rank, 0, hand_at(rank, TERN_PLAN_OUT, sent),
                      hand_at(to, TERN_PLAN_OUT, sent), share);
            hand_post(plan, rank, 0, to, signal);
            hand_wait(plan, rank, 0, signal, 1);
        }
    }
    hand_must(tern_plan_seal(plan));
    return plan;
}

KIT uint64_t kit_mix(uint64_t a, uint64_t b, uint64_t c)
{
    uint64_t hash = (a * 0x9e3779b97f4a7c15u ^ b) * 0xbf58476d1ce4e5b9u ^ c;
    hash = (hash ^ (hash >> 31)) * 0x94d049bb133111ebu;
    return hash ^ (hash >> 29);
}

// Element i of rank's input of a run: whole numbers, whose sums are exact, or any.
KIT float kit_value(int run, int rank, uint64_t i, bool whole)
{
    int value = (int)(kit_mix((uint64_t)run, (uint64_t)rank, i) % 2001) - 1000;
    return whole ? (float)value : (float)value / 7.0f;
}

KIT float kit_sum(int run, int n, uint64_t i, bool whole)
{
    float sum = kit_value(run, 0, i, whole);
    for (int rank = 1; rank < n; rank++) {
        sum = sum + kit_value(run, rank, i, whole);
    }
    return sum;
}

// Sometimes a rank is late.
KIT void kit_dawdle(int run, int rank)
{
    uint64_t chance = kit_mix((uint64_t)run, (uint64_t)rank, 99);
    if (chance % 8 == 0) {
        usleep((unsigned)(chance >> 8) % 400);
    }
}

// What a rank runs a plan with: a window of its own for in and for out.
struct kit_bench {
    tern_window *in, *out;
    char *in_bytes, *out_bytes; // this rank's
    tern_exec *exec;
};

KIT int kit_open(tern_comm *comm, const tern_plan *plan, tern_exec_options options,
                 struct kit_bench *bench)
{
    size_t in = tern_plan_buffer_bytes(plan, TERN_PLAN_IN) + options.in_offset;
    size_t out = tern_plan_buffer_bytes(plan, TERN_PLAN_OUT) + options.out_offset;
    int rank = tern_comm_rank(comm);
    *bench = (struct kit_bench){0};
    CHECK(tern_window_create(comm, in + 1, NULL, &bench->in) == TERN_OK);
    CHECK(tern_window_create(comm, out + 1, NULL, &bench->out) == TERN_OK);
    bench->in_bytes = (char *)tern_window_address(bench->in, rank) + options.in_offset;
    bench->out_bytes = (char *)tern_window_address(bench->out, rank) + options.out_offset;
    options.in = bench->in;
    options.out = bench->out;
    CHECK(tern_exec_create(comm, plan, &options, &bench->exec) == TERN_OK);
    return 0;
}

KIT int kit_close(struct kit_bench *bench)
{
    CHECK(tern_exec_destroy(bench->exec) == TERN_OK);
    CHECK(tern_window_destroy(bench->in) == TERN_OK);
    CHECK(tern_window_destroy(bench->out) == TERN_OK);
    return 0;
}

KIT void kit_fill(const struct kit_bench *bench, int run, int rank, uint64_t count, bool whole)
{
    for (uint64_t i = 0; i < count; i++) {
        float value = kit_value(run, rank, i, whole);
        memcpy(bench->in_bytes + i * sizeof value, &value, sizeof value);
    }
}

// 0 when out has, bit for bit, the sums of the run.
KIT int kit_compare(const struct kit_bench *bench, int run, int n, uint64_t count, bool whole)
{
    for (uint64_t i = 0; i < count; i++) {
        float expected = kit_sum(run, n, i, whole);
        float seen;
        uint32_t bits[2];
        memcpy(&seen, bench->out_bytes + i * sizeof seen, sizeof seen);
        memcpy(&bits[0], &seen, sizeof seen);
        memcpy(&bits[1], &expected, sizeof expected);
        if (bits[0] != bits[1]) {
            fprintf(stderr, "run %d, element %llu: %.9g, expected %.9g\n", run,
                    (unsigned long long)i, (double)seen, (double)expected);
            return 1;
        }
    }
    return 0;
}

#endif
