// SPDX-License-Identifier: Apache-2.0
// ctest-timeout: 240
// Every kind of call against the naive reference, bit for bit: kinds x dtypes x ops x rank counts x
// sizes around every switch x in place x where each buffer lies x blocking or not x communicators.
// Seeded samples, in each of which every two of those meet; TERN_TEST_SCALE says how many. And
// every algorithm by its name: the same bits in rank order, the exact sums in any. Buffers have
// guards, and inputs must come out unchanged.
#include "coll/call/test/calls.h"
#include "coll/call/test/pairs.h"

#include <sys/mman.h>

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
    MEGABYTES_MAX = 64, // of a call on all ranks
};

struct sample {
    int values[DIMS];
    uint64_t seed;
};

static struct sample *samples;
static int samples_count;
static uint64_t base_seed;

static size_t count_of(const struct ref_case *c, int size)
{
    int64_t count = (int64_t)(sizes[size].bytes / ref_element(c)) + sizes[size].more;
    return count > 0 ? (size_t)count : 0;
}

static struct ref_case case_of(const struct sample *s)
{
    const int *v = s->values;
    struct ref_case c = {.kind = (tern_coll_kind)v[KIND],
                         .dtype = (tern_dtype)v[DTYPE],
                         .n = ranks_counts[v[RANKS]],
                         .seed = s->seed,
                         .spread = v[SPREAD] != 0};
    c.op = ref_reduces(c.kind) ? (tern_reduce_op)v[OP] : TERN_SUM;
    c.root = v[ROOT] == 0 ? 0 : v[ROOT] == 1 ? c.n - 1 : c.n / 2;
    c.count = c.kind == TERN_COLL_BARRIER ? 0 : count_of(&c, v[SIZE]);
    return c;
}

static uint32_t meaning(const int *values)
{
    struct sample s = {.seed = 1};
    memcpy(s.values, values, sizeof s.values);
    struct ref_case c = case_of(&s);
    uint32_t means = (1u << DIMS) - 1;
    size_t bytes = c.count * ref_element(&c) * (size_t)c.n;
    bytes *= ref_has_shares(c.kind) ? (size_t)c.n : 1;
    if (bytes > (size_t)MEGABYTES_MAX << 20) {
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

static void take_samples(void)
{
    samples = calloc(CASES_MAX, sizeof *samples);
    assert_non_null(samples);
    uint64_t rounds = kit_number("TERN_TEST_SCALE", 2);
    for (uint64_t round = 0; round < rounds; round++) {
        struct pairs pairs = {.dims = DIMS,
                              .sizes = {TERN_COLL_RECV + 1, 12, TERN_FUNCTION + 1, 6, SIZES, 2,
                                        KIT_PLACES, KIT_PLACES, KIT_MODES, 2, 3, 2},
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
static size_t most_bytes(int n)
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

static int run_samples(tern_comm *world, void *arg)
{
    struct kit_bench bench;
    int wrong = 0;
    CHECK(kit_open(world, most_bytes(tern_comm_size(world)), 1, &bench) == 0);
    for (int i = 0; i < samples_count && wrong < WRONG_MAX; i++) {
        const int *v = samples[i].values;
        struct ref_case c = case_of(&samples[i]);
        struct kit_work work;
        if (c.n != bench.n) {
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

static void every_call_gives_the_bits_of_the_reference(void **state)
{
    take_samples();
    for (int i = 0; i < 6; i++) {
        int64_t begin = tern__now_ns();
        int count = 0;
        for (int k = 0; k < samples_count; k++) {
            count += samples[k].values[RANKS] == i;
        }
        assert_true(ranks_run_comm(ranks_counts[i], run_samples, NULL, 600));
        printf("%d ranks: %d calls in %.1f s\n", ranks_counts[i], count,
               (double)(tern__now_ns() - begin) * 1e-9);
    }
    free(samples);
}

// Every algorithm by its name.

enum { ALGORITHMS_MAX = 32 };

// Bit 0: has run in rank order. Bit 1: has run in another. Shared with the ranks.
static uint8_t (*ran)[ALGORITHMS_MAX];

// One algorithm, one case. In rank order if it can, else in another with exact sums.
static int run_named(struct kit_bench *bench, const struct ref_case *given, const char *name,
                     int place, uint8_t *how)
{
    for (int any = 0; any < 2; any++) {
        struct ref_case c = *given;
        struct kit_work work;
        c.exact = any != 0;
        kit_make(bench, KIT_WORLD, &c, false, place, place, 0, &work);
        work.call.algorithm = name;
        work.call.order = any != 0 ? TERN_ORDER_ANY : TERN_ORDER_RANK;
        kit_fill(&work);
        int status = tern_coll_run(bench->comms[KIT_WORLD], &work.call);
        if (status == TERN_ERR_ARG) {
            CHECK(look_says(name)); // why this one cannot
            CHECK(kit_compare(&work, false) == 0);
            continue;
        }
        CHECK(status == TERN_OK);
        if (kit_compare(&work, true) != 0) {
            fprintf(stderr, "   algorithm %s\n", name);
            return 1;
        }
        *how |= any != 0 ? 2 : 1;
        if (any == 0 && !ref_reduces(c.kind)) {
            return 0;
        }
    }
    return 0;
}

static int run_algorithms(tern_comm *world, void *arg)
{
    static const size_t counts[] = {0, 1, 5, 1000, 20001, 100003};
    static const tern_dtype dtypes[] = {TERN_F32, TERN_BF16, TERN_F64, TERN_F16, TERN_I8, TERN_U32};
    struct kit_bench bench;
    uint64_t seed = base_seed;
    CHECK(kit_open(world, (size_t)100003 * 8 * (size_t)tern_comm_size(world), 1, &bench) == 0);
    for (int kind = 0; kind < TERN_PLAN_KINDS; kind++) {
        const char *name;
        for (int i = 0; (name = tern_algo_name((tern_plan_kind)kind, i)) != NULL; i++) {
            CHECK(i < ALGORITHMS_MAX);
            for (int size = 0; size < 6; size++) {
                struct ref_case c = {.kind = (tern_coll_kind)kind,
                                     .dtype = dtypes[random_below(&seed, 6)],
                                     .op = (tern_reduce_op)random_below(&seed, 5),
                                     .n = bench.n,
                                     .root = (int)random_below(&seed, (uint64_t)bench.n),
                                     .count = kind == TERN_COLL_BARRIER ? 0 : counts[size],
                                     .seed = random_below(&seed, 1 << 20)};
                int place = (int)random_below(&seed, KIT_PLACES);
                CHECK(run_named(&bench, &c, name, place, &ran[kind][i]) == 0);
            }
        }
    }
    return kit_close(&bench);
}

static void every_algorithm_gives_the_same_bits_in_rank_order(void **state)
{
    size_t bytes = (TERN_PLAN_KINDS) * sizeof *ran;
    ran = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(ran != MAP_FAILED);
    assert_true(ranks_run_counts(2, 8, run_algorithms, NULL, 120));
    for (int kind = 0; kind < TERN_PLAN_KINDS; kind++) {
        const char *name;
        int in_rank_order = 0;
        for (int i = 0; (name = tern_algo_name((tern_plan_kind)kind, i)) != NULL; i++) {
            // A job on one machine runs none of those that are for several.
            if (ran[kind][i] == 0 && !tern_algo_across_machines((tern_plan_kind)kind, i)) {
                fail_msg("%s by %s has never run", tern_coll_kind_name((tern_coll_kind)kind), name);
            }
            in_rank_order += ran[kind][i] & 1;
        }
        assert_true(in_rank_order > 0);
    }
    munmap(ran, bytes);
}

// What the caller sees is the same, bit for bit, wherever the buffers lie: in the sums of numbers
// that are rounded, without the reference.
static int run_places(tern_comm *world, void *arg)
{
    static const size_t counts[] = {3, 12, 700, 30000};
    struct kit_bench bench;
    CHECK(kit_open(world, 30000 * 4, 1, &bench) == 0);
    char *first = malloc(30000 * 4);
    CHECK(first != NULL);
    for (int size = 0; size < 4; size++) {
        struct ref_case c = {.kind = TERN_COLL_ALL_REDUCE,
                             .dtype = TERN_F32,
                             .op = TERN_SUM,
                             .n = bench.n,
                             .count = counts[size],
                             .seed = base_seed};
        for (int place = 0; place < KIT_PLACES; place++) {
            struct kit_work work;
            kit_make(&bench, KIT_WORLD, &c, false, place, KIT_PLACES - 1 - place, 0, &work);
            kit_fill(&work);
            CHECK(tern_coll_run(world, &work.call) == TERN_OK);
            if (place == 0) {
                memcpy(first, work.out, work.out_bytes);
            }
            CHECK(memcmp(first, work.out, work.out_bytes) == 0);
        }
    }
    free(first);
    return kit_close(&bench);
}

static void the_bits_do_not_depend_on_where_the_buffers_lie(void **state)
{
    assert_true(ranks_run_comm(3, run_places, NULL, 30));
    assert_true(ranks_run_comm(8, run_places, NULL, 30));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_call_gives_the_bits_of_the_reference),
        cmocka_unit_test(every_algorithm_gives_the_same_bits_in_rank_order),
        cmocka_unit_test(the_bits_do_not_depend_on_where_the_buffers_lie),
    };
    base_seed = random_seed();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
