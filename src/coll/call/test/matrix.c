// SPDX-License-Identifier: Apache-2.0
// ctest-timeout: 240, ctest-machines: 2, ctest-threads: none
// Every kind of call against the naive reference, bit for bit: kinds x dtypes x ops x rank counts x
// sizes around every switch x in place x where each buffer lies x blocking or not x communicators.
// Seeded samples, in each of which every two of those meet; TERN_TEST_SCALE says how often. And
// every algorithm by its name: the same bits in rank order, the exact sums in any. Buffers have
// guards, and inputs must come out unchanged. With TERN_TEST_RANKS=N this process is one of N ranks
// that a launcher has started, with the same TERN_TEST_SEED.
#include "coll/call/test/samples.h"

static int run_count(tern_comm *world, void *arg)
{
    return run_samples(world, *(const int *)arg);
}

static void every_call_gives_the_bits_of_the_reference(void **state)
{
    take_samples();
    for (int i = 0; i < samples_ranks_count; i++) {
        int64_t begin = tern__now_ns();
        assert_true(ranks_run_comm(samples_ranks[i], run_count, &i, 600));
        printf("%d ranks: %d calls in %.1f s\n", samples_ranks[i], samples_of(i),
               (double)(tern__now_ns() - begin) * 1e-9);
    }
    free(samples);
}

// Where inputs stay in ordinary memory and others read them there.
static void and_so_when_large_inputs_are_read_where_they_lie(void **state)
{
    take_samples();
    setenv("TERN_DIRECT", "4096", 1);
    bool right = true;
    for (int i = 0; i < samples_ranks_count && right; i++) {
        right = samples_ranks[i] > 8 || ranks_run_comm(samples_ranks[i], run_count, &i, 600);
    }
    unsetenv("TERN_DIRECT");
    free(samples);
    assert_true(right);
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
    ran = ranks_shared((TERN_PLAN_KINDS) * sizeof *ran);
    assert_true(ranks_run_counts(2, 8, run_algorithms, NULL, 120));
    for (int kind = 0; kind < TERN_PLAN_KINDS; kind++) {
        const char *name;
        int in_rank_order = 0;
        for (int i = 0; (name = tern_algo_name((tern_plan_kind)kind, i)) != NULL; i++) {
            // A job on one machine runs none of those that are for several.
            if (ran[kind][i] == 0 && !kit_is_spread() &&
                !tern_algo_across_machines((tern_plan_kind)kind, i)) {
                fail_msg("%s by %s has never run", tern_coll_kind_name((tern_coll_kind)kind), name);
            }
            in_rank_order += ran[kind][i] & 1;
        }
        assert_true(in_rank_order > 0);
    }
}

// What the caller sees is the same, bit for bit, wherever the buffers lie: in the sums of numbers
// that are rounded, without the reference.
static int run_places(tern_comm *world, void *arg)
{
    static const size_t counts[] = {3, 12, 700, 30000};
    struct kit_bench bench;
    CHECK(kit_open(world, 30000 * 4, 1, &bench) == 0);
    static char first[30000 * 4];
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
    return kit_close(&bench);
}

static void the_bits_do_not_depend_on_where_the_buffers_lie(void **state)
{
    assert_true(ranks_run_comm(3, run_places, NULL, 30));
    assert_true(ranks_run_comm(8, run_places, NULL, 30));
}

// All of it as a rank, in one communicator; returns an exit status.
static int run_as_rank(const int *count)
{
    static uint8_t room[TERN_PLAN_KINDS][ALGORITHMS_MAX];
    tern_comm *world;
    ran = room;
    samples_ranks = count;
    samples_ranks_count = 1;
    take_samples();
    CHECK(tern_init(NULL, &world) == TERN_OK);
    CHECK(tern_comm_size(world) == *count);
    CHECK(run_samples(world, 0) == 0);
    CHECK(run_algorithms(world, NULL) == 0);
    CHECK(run_places(world, NULL) == 0);
    if (tern_comm_rank(world) == 0) {
        printf("%d calls are right on %d ranks\n", samples_count, *count);
    }
    CHECK(tern_comm_destroy(world) == TERN_OK);
    free(samples);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_call_gives_the_bits_of_the_reference),
        cmocka_unit_test(and_so_when_large_inputs_are_read_where_they_lie),
        cmocka_unit_test(every_algorithm_gives_the_same_bits_in_rank_order),
        cmocka_unit_test(the_bits_do_not_depend_on_where_the_buffers_lie),
    };
    base_seed = random_seed();
    if (getenv("TERN_TEST_RANKS") != NULL) {
        int count = (int)kit_number("TERN_TEST_RANKS", 1);
        return run_as_rank(&count);
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
