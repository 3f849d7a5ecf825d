// SPDX-License-Identifier: Apache-2.0
// Samples of all that a call can be: kinds x dtypes x ops x rank counts x sizes around every
// switch x in place x where each buffer lies x blocking or not x communicators. Every two of those
// meet in one. Seeded; TERN_TEST_SCALE says how often.
#ifndef TERN_COLL_CALL_TEST_SAMPLES_H
#define TERN_COLL_CALL_TEST_SAMPLES_H

#include "coll/call/test/calls.h"
#include "coll/call/test/pairs.h"
#include "support/sanitized.h"

enum { KIND, DTYPE, OP, RANKS, SIZE, IN_PLACE, IN_LIES, OUT_LIES, MODE, COMM, ROOT, SPREAD, DIMS };

// Of a share: as many elements as fit into the bytes, and some more or less.
static const struct size_row {
    size_t bytes;
    int more;
} sizes[] = {
    {0, 0},         {0, 1},         {0, 7},          {40, 0},        {48, 0},
    {48, 1},        {56, 0},        {56, 1},         {64, -1},       {64, 0},
    {64, 1},        {72, 0},        {4 << 10, -1},   {4 << 10, 0},   {4 << 10, 1},
    {16 << 10, -1}, {16 << 10, 0},  {16 << 10, 1},   {32 << 10, -1}, {32 << 10, 0},
    {32 << 10, 1},  {64 << 10, -1}, {64 << 10, 0},   {64 << 10, 1},  {128 << 10, -1},
    {128 << 10, 0}, {128 << 10, 1}, {256 << 10, -1}, {256 << 10, 0}, {256 << 10, 1},
    {1 << 20, 3},   {5 << 20, 1},
};

enum {
    SIZES = sizeof sizes / sizeof sizes[0],
    CASES_MAX = 200000,
};

struct sample {
    int values[DIMS];
    uint64_t seed;
};

static struct sample *samples;
static int samples_count;
static uint64_t base_seed;

// The rank counts, by number; and how many there are.
static const int *samples_ranks = ranks_counts;
static int samples_ranks_count = 6;
static size_t samples_megabytes = SANITIZED ? 16 : 64; // of a call on all ranks, at most

KIT size_t count_of(const struct ref_case *c, int size)
{
    int64_t count = (int64_t)(sizes[size].bytes / ref_element(c)) + sizes[size].more;
    return count > 0 ? (size_t)count : 0;
}

KIT struct ref_case case_of(const struct sample *s)
{
    const int *v = s->values;
    struct ref_case c = {.kind = (tern_coll_kind)v[KIND],
                         .dtype = (tern_dtype)v[DTYPE],
                         .n = samples_ranks[v[RANKS]],
                         .seed = s->seed,
                         .spread = v[SPREAD] != 0};
    c.op = ref_reduces(c.kind) ? (tern_reduce_op)v[OP] : TERN_SUM;
    c.root = v[ROOT] == 0 ? 0 : v[ROOT] == 1 ? c.n - 1 : c.n / 2;
    c.count = c.kind == TERN_COLL_BARRIER ? 0 : count_of(&c, v[SIZE]);
    return c;
}

KIT uint32_t meaning(const int *values)
{
    struct sample s = {.seed = 1};
    memcpy(s.values, values, sizeof s.values);
    struct ref_case c = case_of(&s);
    uint32_t means = (1u << DIMS) - 1;
    size_t bytes = c.count * ref_element(&c) * (size_t)c.n;
    bytes *= ref_has_shares(c.kind) ? (size_t)c.n : 1;
    if (bytes > samples_megabytes << 20) {
        return 0;
    }
    bool bitwise = c.op == TERN_AND || c.op == TERN_OR || c.op == TERN_XOR;
    if (ref_reduces(c.kind)) {
        bool whole = c.dtype != TERN_F32 && c.dtype != TERN_F16 && c.dtype != TERN_BF16 &&
                     c.dtype != TERN_F64;
        if ((bitwise && !whole) || (c.op == TERN_FUNCTION && values[MODE] == KIT_BY_NAME)) {
            return 0;
        }
    } else {
        means &= ~(1u << OP);
    }
    if (c.kind == TERN_COLL_BARRIER) {
        means &= 1u << KIND | 1u << RANKS | 1u << MODE | 1u << COMM;
    }
    if (!kit_can_be_in_place(&c)) {
        means &= ~(1u << IN_PLACE);
        if (values[IN_PLACE] != 0) {
            return 0;
        }
    } else if (values[IN_PLACE] != 0) {
        means &= ~(1u << OUT_LIES);
    }
    means &= ref_has_root(c.kind) ? means : ~(1u << ROOT);
    means &= ref_is_v(c.kind) && c.kind != TERN_COLL_REDUCE_SCATTER_V ? means : ~(1u << SPREAD);
    return means;
}

KIT void take_samples(void)
{
    samples = calloc(CASES_MAX, sizeof *samples);
    assert_non_null(samples);
    uint64_t rounds = kit_number("TERN_TEST_SCALE", 1);
    for (uint64_t round = 0; round < rounds; round++) {
        struct pairs pairs = {.dims = DIMS,
                              .sizes = {TERN_COLL_RECV + 1, 12, TERN_FUNCTION + 1,
                                        samples_ranks_count, SIZES, 2, KIT_PLACES, KIT_PLACES,
                                        KIT_MODES, 2, 3, 2},
                              .meaning = meaning,
                              .state = ref_mix(base_seed, round, 0)};
        pairs_begin(&pairs);
        while (samples_count < CASES_MAX && pairs_next(&pairs, samples[samples_count].values)) {
            samples[samples_count].seed = ref_mix(base_seed, round, (uint64_t)samples_count) >> 40;
            samples_count++;
        }
        pairs_end(&pairs);
    }
}

// The most that a buffer of a sample with that many ranks takes.
KIT size_t most_bytes(int n)
{
    size_t most = 0;
    for (int i = 0; i < samples_count; i++) {
        struct ref_case c = case_of(&samples[i]);
        for (int rank = 0; c.n == n && rank < n; rank++) {
            struct ref_shares shares;
            ref_shares(&c, rank, &shares);
            size_t bytes =
                shares.in_extent > shares.out_extent ? shares.in_extent : shares.out_extent;
            bytes *= ref_element(&c);
            most = bytes > most ? bytes : most;
        }
    }
    return most;
}

enum { WRONG_MAX = 4 }; // after that many a rank gives up

// With this number of the rank counts.
KIT int samples_of(int number)
{
    int count = 0;
    for (int i = 0; i < samples_count; i++) {
        count += samples[i].values[RANKS] == number;
    }
    return count;
}

KIT int run_samples(tern_comm *world, int number)
{
    struct kit_bench bench;
    int wrong = 0;
    CHECK(kit_open(world, most_bytes(tern_comm_size(world)), 1, &bench) == 0);
    for (int i = 0; i < samples_count && wrong < WRONG_MAX; i++) {
        const int *v = samples[i].values;
        struct ref_case c = case_of(&samples[i]);
        struct kit_work work;
        if (v[RANKS] != number) {
            continue;
        }
        kit_dawdle(&bench, samples[i].seed);
        kit_make(&bench, v[COMM] != 0 ? KIT_BACKWARDS : KIT_WORLD, &c, v[IN_PLACE] != 0, v[IN_LIES],
                 v[OUT_LIES], 0, &work);
        if (kit_run(&work, (enum kit_mode)v[MODE]) != 0) {
            fprintf(stderr, "   sample %d of %d, mode %d\n", i, samples_count, v[MODE]);
            wrong++;
        }
        if (tern_comm_health(world) != TERN_OK) {
            break;
        }
    }
    CHECK(wrong == 0);
    CHECK(kit_close(&bench) == 0);
    return 0;
}

#endif
