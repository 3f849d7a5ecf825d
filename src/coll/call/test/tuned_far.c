// SPDX-License-Identifier: Apache-2.0
// ctest-timeout: 240
// Rows of a tune file for ranks on several machines: calls run the algorithm that is there, with
// the bits of what is built in; calls that it cannot make run what is built in.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "coll/call/call.h"
#include "support/cmocka.h"
#include "support/look.h"
#include "support/machines.h"
#include "tern/algo.h"
#include "tern/tune.h"

enum { COUNT = 5000, MOST = COUNT * 8 };

static const struct tern__program *program_of(tern_comm *comm, const char *algorithm)
{
    struct tern__calls *calls;
    const struct tern__program *found = NULL;
    if (tern__calls_of("test", comm, &calls) != TERN_OK) {
        return NULL;
    }
    for (int i = 0; i < TERN_PLAN_KINDS * 2; i++) {
        const struct tern__program *p = calls->selections[i / 2][i % 2].programs;
        for (; p != NULL; p = p->next) {
            found = strcmp(p->algorithm, algorithm) == 0 ? p : found;
        }
    }
    return found;
}

// The call, in `comm` and in `plain`, whose outputs have the same bits.
static int run_both(tern_comm *comm, tern_comm *plain, tern_coll call)
{
    static float in[MOST];
    static float out[2][MOST];
    int rank = tern_comm_rank(comm);
    for (int i = 0; i < MOST; i++) {
        in[i] = (float)((i * 7 + rank * 1013) % 997) / 7;
        out[0][i] = out[1][i] = -1;
    }
    call.in = in;
    call.out = out[0];
    CHECK(tern_coll_run(comm, &call) == TERN_OK);
    call.out = out[1];
    CHECK(tern_coll_run(plain, &call) == TERN_OK);
    CHECK(memcmp((const char *)out[0], (const char *)out[1], sizeof out[0]) == 0);
    return 0;
}

// A communicator of all ranks whose calls of the kind are bound to the row; NULL: it is refused.
static int tuned(tern_comm *world, const tern_tune_row *row, tern_comm **comm)
{
    tern_coll least = {.kind = (tern_coll_kind)row->kind, .count = 1, .dtype = TERN_F32};
    float in[8] = {0};
    float out[8];
    least.in = in;
    least.out = out;
    *comm = NULL;
    if (tern_tune_use(row, 1) != TERN_OK) {
        CHECK(look_says("its sums are not in the order of the ranks"));
        return 0;
    }
    CHECK(tern_comm_split(world, 0, 0, comm) == TERN_OK);
    CHECK(tern_coll_run(*comm, &least) == TERN_OK);
    CHECK(tern_tune_use(NULL, 0) == TERN_OK);
    return 0;
}

static int run_row(tern_comm *world, tern_comm *plain, const tern_tune_row *row)
{
    tern_comm *comm;
    tern_coll call = {.kind = (tern_coll_kind)row->kind, .count = COUNT, .dtype = TERN_F32};
    CHECK(tuned(world, row, &comm) == 0);
    if (comm == NULL) {
        return 0;
    }
    CHECK(run_both(comm, plain, call) == 0);
    CHECK(program_of(comm, row->staged) != NULL && program_of(plain, row->staged) == NULL);
    return tern_comm_destroy(comm);
}

static int run_rows(tern_comm *world, void *arg)
{
    int ran = 0;
    (void)arg;
    for (int k = 0; k < TERN_PLAN_KINDS; k++) {
        for (int i = 0; k != TERN_PLAN_BARRIER && tern_algo_name((tern_plan_kind)k, i) != NULL;
             i++) {
            tern_tune_row row = {.kind = (tern_plan_kind)k,
                                 .nranks = 2,
                                 .machines = 2,
                                 .chunk_bytes = 16384};
            snprintf(row.staged, sizeof row.staged, "%s", tern_algo_name((tern_plan_kind)k, i));
            tern_comm *plain; // that has not run anything of it
            if (!tern_algo_across_machines((tern_plan_kind)k, i) ||
                strcmp(row.staged, "chain") == 0 || strcmp(row.staged, "two_raw") == 0) {
                continue; // what is built in for some
            }
            CHECK(tern_comm_split(world, 0, 0, &plain) == TERN_OK);
            CHECK(run_row(world, plain, &row) == 0);
            CHECK(tern_comm_destroy(plain) == TERN_OK);
            ran++;
        }
    }
    CHECK(ran > 8);
    return 0;
}

static void calls_run_what_the_row_says(void **state)
{
    assert_true(machines_run_comm("aabb", run_rows, NULL, 100));
    assert_true(machines_run_comm("abc", run_rows, NULL, 100));
}

// Of an all_reduce by chain: what it cannot do to the bit, and small calls.
static int run_others(tern_comm *world, void *arg)
{
    tern_tune_row row = {.kind = TERN_PLAN_ALL_REDUCE,
                         .nranks = 2,
                         .machines = 2,
                         .small_bytes = 4096,
                         .staged = "chain",
                         .chunk_bytes = 16384};
    tern_comm *comm;
    (void)arg;
    CHECK(tuned(world, &row, &comm) == 0 && comm != NULL);
    tern_coll call = {.kind = TERN_COLL_ALL_REDUCE, .count = 1000, .dtype = TERN_F32};
    CHECK(run_both(comm, world, call) == 0); // through slots
    CHECK(program_of(comm, "chain") == NULL);
    call = (tern_coll){.kind = TERN_COLL_ALL_REDUCE, .count = COUNT, .dtype = TERN_BF16};
    CHECK(run_both(comm, world, call) == 0);
    call = (tern_coll){.kind = TERN_COLL_ALL_REDUCE,
                       .count = COUNT,
                       .dtype = TERN_F32,
                       .op = TERN_AVG};
    CHECK(program_of(comm, "chain") == NULL);
    CHECK(run_both(comm, world, call) == 0); // as a sum that is divided
    CHECK((program_of(comm, "chain") != NULL) == (*(const char *)arg == 'o'));
    call = (tern_coll){.kind = TERN_COLL_ALL_REDUCE, .count = COUNT, .dtype = TERN_F32};
    CHECK(run_both(comm, world, call) == 0);
    CHECK((program_of(comm, "chain") != NULL) == (*(const char *)arg == 'o'));
    return tern_comm_destroy(comm);
}

static void calls_that_it_cannot_make_run_what_is_built_in(void **state)
{
    char in_order[] = "o";
    char in_turn[] = "t";
    assert_true(machines_run_comm("aabb", run_others, in_order, 60));
    assert_true(machines_run_comm("abab", run_others, in_turn, 60));
}

// Rows of an order and of halves hold for their calls alone.
static int run_orders(tern_comm *world, void *arg)
{
    const tern_tune_row row = {.kind = TERN_PLAN_ALL_REDUCE,
                               .nranks = 2,
                               .machines = 2,
                               .small_bytes = 64,
                               .chunk_bytes = 16384};
    tern_tune_row rows[3] = {row, row, row};
    static const struct {
        tern_dtype dtype;
        tern_order order;
        const char *algorithm;
    } calls[] = {
        {TERN_BF16, TERN_ORDER_RANK, "one"},
        {TERN_F32, TERN_ORDER_RANK, "two_raw"},
        {TERN_BF16, TERN_ORDER_ANY, "one_sums"},
        {TERN_I32, TERN_ORDER_RANK, "one_sums"},
    };
    tern_comm *comm;
    float in[1000];
    float out[1000];
    (void)arg;
    memset(in, 0, sizeof in);
    rows[1].halves = 1;
    rows[2].order = TERN_ORDER_ANY;
    snprintf(rows[0].staged, sizeof rows[0].staged, "two_raw");
    snprintf(rows[1].staged, sizeof rows[1].staged, "one");
    snprintf(rows[2].staged, sizeof rows[2].staged, "one_sums");
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++) {
        tern_coll call = {.kind = TERN_COLL_ALL_REDUCE, .in = in, .out = out, .count = 1000};
        call.dtype = calls[i].dtype;
        call.order = calls[i].order;
        CHECK(tern_tune_use(rows, 3) == TERN_OK);
        CHECK(tern_comm_split(world, 0, 0, &comm) == TERN_OK);
        CHECK(tern_coll_run(comm, &call) == TERN_OK);
        CHECK(program_of(comm, calls[i].algorithm) != NULL);
        CHECK(tern_comm_destroy(comm) == TERN_OK);
    }
    return tern_tune_use(NULL, 0);
}

// `two` is measured with more bytes than two machines send each other at once.
static int run_few(tern_comm *world, void *arg)
{
    const tern_tune_row row = {.kind = TERN_PLAN_ALL_REDUCE,
                               .nranks = 2,
                               .machines = 2,
                               .order = TERN_ORDER_ANY,
                               .small_bytes = 64,
                               .staged = "two",
                               .chunk_bytes = 1 << 20};
    static const struct {
        size_t count;
        const char *algorithm, *other;
    } calls[] = {{1000, "one_sums", "two"}, {25001, "two", "one_sums"}};
    static float in[25001];
    static float out[25001];
    tern_comm *comm;
    (void)arg;
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++) {
        tern_coll call = {.kind = TERN_COLL_ALL_REDUCE,
                          .in = in,
                          .out = out,
                          .count = calls[i].count,
                          .dtype = TERN_F32,
                          .order = TERN_ORDER_ANY};
        CHECK(tern_tune_use(&row, 1) == TERN_OK);
        CHECK(tern_comm_split(world, 0, 0, &comm) == TERN_OK);
        CHECK(tern_coll_run(comm, &call) == TERN_OK);
        CHECK(program_of(comm, calls[i].algorithm) != NULL);
        CHECK(program_of(comm, calls[i].other) == NULL);
        CHECK(tern_comm_destroy(comm) == TERN_OK);
    }
    return tern_tune_use(NULL, 0);
}

static void a_row_with_two_leaves_few_bytes_as_they_are(void **state)
{
    assert_true(machines_run_comm("aabb", run_few, NULL, 60));
}

static void rows_hold_for_their_order_and_dtypes(void **state)
{
    assert_true(machines_run_comm("aabb", run_orders, NULL, 60));
}

// Up to where slots, which bring the inputs of all ranks, are worth that without a row
// (docs/collectives.md): on two machines of four ranks, and on four of two.
static const struct few {
    tern_order order;
    size_t counts[2]; // the last one through slots, the first one that is not
    const char *algorithm;
} few[2][2] = {
    {{TERN_ORDER_RANK, {3708, 3709}, "chain"}, {TERN_ORDER_ANY, {1333, 1334}, "one_sums"}},
    {{TERN_ORDER_RANK, {2966, 2967}, "two_raw"}, {TERN_ORDER_ANY, {2472, 2473}, "two"}},
};

static int run_until_few(tern_comm *world, void *arg)
{
    static float in[4000];
    static float out[4000];
    const struct few *rows = arg;
    for (int i = 0; i < 4; i++) {
        const struct few *row = &rows[i / 2];
        tern_coll call = {.kind = TERN_COLL_ALL_REDUCE,
                          .in = in,
                          .out = out,
                          .count = row->counts[i % 2],
                          .dtype = TERN_F32,
                          .order = row->order};
        tern_comm *comm;
        CHECK(tern_comm_split(world, 0, 0, &comm) == TERN_OK);
        CHECK(tern_coll_run(comm, &call) == TERN_OK);
        CHECK((program_of(comm, row->algorithm) != NULL) == (i % 2 == 1));
        CHECK((program_of(comm, "one_shot") != NULL) == (i % 2 == 0));
        CHECK(tern_comm_destroy(comm) == TERN_OK);
    }
    return 0;
}

static void slots_are_for_sums_whose_inputs_are_few_bytes(void **state)
{
    assert_true(machines_run_comm("aaaabbbb", run_until_few, (void *)few[0], 60));
    assert_true(machines_run_comm("aabbccdd", run_until_few, (void *)few[1], 60));
}

static int differ(tern_comm *world, void *arg)
{
    tern_tune_row row = {.kind = TERN_PLAN_ALL_GATHER,
                         .nranks = 2,
                         .machines = 2,
                         .staged = "one",
                         .chunk_bytes = 16384};
    float in[4000] = {0};
    static float out[16000];
    (void)arg;
    if (tern_comm_rank(world) == 3) {
        CHECK(tern_tune_use(&row, 1) == TERN_OK);
    }
    CHECK(tern_all_gather(world, in, out, 4000, TERN_F32) == TERN_ERR_MISMATCH);
    CHECK(look_says("other algorithms or sizes for all_gather"));
    return 0;
}

static void ranks_with_other_rows_are_told(void **state)
{
    assert_true(machines_run_comm("aabb", differ, NULL, 60));
}

// What is asked for, and by which algorithms where ranks of a machine follow one another, on two
// machines and on three, and where they do not, on two. NULL: the one that reads all inputs.
static const struct handed_on {
    tern_coll_kind kind;
    tern_dtype dtype;
    tern_reduce_op op;
    tern_order order;
    const char *in_order, *three, *in_turn;
} handed_on[] = {
    {TERN_COLL_ALL_REDUCE, TERN_F32, TERN_SUM, 0, "chain", "two_raw", "two_raw"},
    {TERN_COLL_ALL_REDUCE, TERN_F32, TERN_SUM, TERN_ORDER_ANY, "one_sums", "two", "one_sums"},
    {TERN_COLL_ALL_REDUCE, TERN_F32, TERN_AVG, 0, "chain", "two_raw", "two_raw"},
    {TERN_COLL_ALL_REDUCE, TERN_F64, TERN_AVG, 0, "chain", "two_raw", "two_raw"},
    {TERN_COLL_ALL_REDUCE, TERN_F16, TERN_AVG, TERN_ORDER_ANY, "two_raw", "two_raw", "two_raw"},
    {TERN_COLL_ALL_REDUCE, TERN_F16, TERN_SUM, 0, "two_raw", "two_raw", "two_raw"},
    {TERN_COLL_ALL_REDUCE, TERN_BF16, TERN_MAX, 0, "one_sums", "two", "two_raw"},
    {TERN_COLL_ALL_REDUCE, TERN_F16, TERN_MIN, 0, "one_sums", "two", "two_raw"},
    {TERN_COLL_ALL_REDUCE, TERN_F32, TERN_MAX, 0, "one_sums", "two", "two_raw"},
    {TERN_COLL_ALL_REDUCE, TERN_F64, TERN_MIN, 0, "two", "two", "two_raw"},
    {TERN_COLL_REDUCE_SCATTER, TERN_F32, TERN_MIN, 0, "two", "two", NULL},
    {TERN_COLL_REDUCE, TERN_F32, TERN_MAX, 0, "two", "two", "two_raw"},
    {TERN_COLL_ALL_REDUCE, TERN_I16, TERN_PROD, 0, "one_sums", "two", "one_sums"},
    {TERN_COLL_ALL_REDUCE, TERN_I32, TERN_AVG, 0, "two_raw", "two_raw", "two_raw"},
    {TERN_COLL_ALL_REDUCE, TERN_F32, TERN_MAXLOC, 0, "two", "two", "two"},
    {TERN_COLL_ALL_REDUCE, TERN_F64, TERN_MINLOC, 0, NULL, NULL, NULL}, // 16 bytes
    {TERN_COLL_ALL_REDUCE, TERN_F16, TERN_FUNCTION, 0, "chain", "two_raw", "two_raw"},
    {TERN_COLL_REDUCE, TERN_F16, TERN_SUM, 0, "two_raw", "two_raw", "two_raw"},
    {TERN_COLL_REDUCE, TERN_F32, TERN_AVG, 0, "chain", "chain", "two_raw"},
    {TERN_COLL_REDUCE, TERN_U16, TERN_XOR, 0, "two", "two", "two"},
    {TERN_COLL_REDUCE_SCATTER, TERN_F32, TERN_AVG, 0, "chain", "chain", NULL},
    {TERN_COLL_REDUCE_SCATTER, TERN_BF16, TERN_SUM, 0, NULL, NULL, NULL},
    {TERN_COLL_REDUCE_SCATTER, TERN_I64, TERN_SUM, 0, "two", "two", "two"},
};

// One whose order matters: halves what there is and adds the bits of the next.
static void fold(void *accumulator, const void *source, size_t count, void *arg)
{
    uint16_t *to = accumulator;
    const uint16_t *from = source;
    (void)arg;
    for (size_t i = 0; i < count; i++) {
        to[i] = (uint16_t)(to[i] / 2 + from[i]);
    }
}

enum { HANDED = 20000 }; // too many for slots

union handed_in {
    uint32_t words[8 * HANDED];
    uint16_t halves[16 * HANDED];
};

// Numbers about 1; zeros of both signs, of which the earlier one counts; and what is no number.
static void fill_handed(union handed_in *in, tern_dtype dtype, int rank)
{
    bool half = dtype == TERN_F16 || dtype == TERN_BF16;
    for (int i = 0; i < 8 * HANDED; i++) {
        unsigned number = (unsigned)i * 2654435761U + (unsigned)rank * 40503U;
        bool low = dtype == TERN_F64 && i % 2 == 0;
        uint32_t sign = low ? 0 : (number << 16) & 0x80000000U;
        in->words[i] = (i / 2 + rank) % 5 < 2 ? sign
                       : !low && i % 89 == rank % 89
                           ? 0x7fc00001U
                           : (number & 0x807fffffU) | (125U + number % 5) << 23;
    }
    for (int i = 0; half && i < 16 * HANDED; i++) {
        uint32_t word = in->words[i / 2];
        uint16_t number = (uint16_t)(word >> i % 2 * 8);
        in->halves[i] = (uint16_t)(word << 1 == 0        ? word >> 16
                                   : word == 0x7fc00001U ? 0x7fc1
                                                         : (number & 0x83ff) | 0x3c00);
    }
}

static int hand_on(tern_comm *comm, const struct handed_on *row, const char *wanted)
{
    static union handed_in in;
    static char out[2][16 * HANDED];
    const char *reads = row->kind == TERN_COLL_ALL_REDUCE       ? "one_shot"
                        : row->kind == TERN_COLL_REDUCE_SCATTER ? "direct"
                                                                : "pull";
    fill_handed(&in, row->dtype, tern_comm_rank(comm));
    tern_coll call = {.kind = row->kind,
                      .in = &in,
                      .count = HANDED,
                      .dtype = row->dtype,
                      .op = row->op,
                      .function = row->op == TERN_FUNCTION ? fold : NULL,
                      .order = row->order};
    memset(out, 0xee, sizeof out);
    call.out = out[0];
    CHECK(tern_coll_run(comm, &call) == TERN_OK);
    CHECK(wanted == NULL || program_of(comm, wanted) != NULL);
    CHECK(program_of(comm, reads) == NULL || wanted == NULL);
    call.algorithm = reads;
    call.out = out[1];
    CHECK(tern_coll_run(comm, &call) == TERN_OK);
    CHECK(row->order == TERN_ORDER_ANY || memcmp(out[0], out[1], sizeof out[0]) == 0);
    return 0;
}

static int hand_all_on(tern_comm *world, void *arg)
{
    for (size_t i = 0; i < sizeof handed_on / sizeof handed_on[0]; i++) {
        const struct handed_on *row = &handed_on[i];
        tern_comm *comm; // that has run nothing
        CHECK(tern_comm_split(world, 0, 0, &comm) == TERN_OK);
        const char *wanted = strcmp(arg, "aabb") == 0   ? row->in_order
                             : strcmp(arg, "abbc") == 0 ? row->three
                                                        : row->in_turn;
        if (hand_on(comm, row, wanted) != 0) {
            fprintf(stderr, "row %zu, '%s': %s\n", i, (const char *)arg, tern_last_error());
            return 1;
        }
        CHECK(tern_comm_destroy(comm) == TERN_OK);
    }
    return 0;
}

static void sums_are_handed_on_where_the_bits_allow_it(void **state)
{
    static char layouts[][8] = {"aabb", "abbc", "aba"};
    for (size_t i = 0; i < sizeof layouts / sizeof layouts[0]; i++) {
        assert_true(machines_run_comm(layouts[i], hand_all_on, layouts[i], 60));
    }
}

// From every root, on either side of where it begins; in place on the root or not.
static int relay(tern_comm *world, void *arg)
{
    enum { FROM = 512 << 10 };
    const char *layout = arg;
    bool several = strchr(layout, 'c') != NULL;
    int rank = tern_comm_rank(world);
    size_t counts[] = {FROM - 1, FROM, FROM + 4321};
    static unsigned char in[FROM + 4321];
    static unsigned char out[FROM + 4321];
    for (size_t i = 0; i < 3; i++) {
        tern_comm *comm;
        CHECK(tern_comm_split(world, 0, 0, &comm) == TERN_OK);
        for (int root = 0; root < tern_comm_size(world); root++) {
            unsigned char *mine = rank == root && root % 2 == 0 ? in : out;
            for (size_t k = 0; k < counts[i]; k++) {
                in[k] = rank == root ? (unsigned char)(k * 31 + k / 257 + (size_t)root) : 0xee;
                out[k] = 0xdd;
            }
            CHECK(tern_broadcast(comm, in, mine, counts[i], TERN_U8, root) == TERN_OK);
            for (size_t k = 0; k < counts[i]; k++) {
                CHECK(mine[k] == (unsigned char)(k * 31 + k / 257 + (size_t)root));
            }
        }
        CHECK((program_of(comm, "chain") != NULL) == (several && counts[i] >= FROM));
        CHECK(tern_comm_destroy(comm) == TERN_OK);
    }
    return 0;
}

static void a_large_broadcast_to_several_machines_is_passed_on(void **state)
{
    static char layouts[][8] = {"abc", "aabbc", "abcab", "aabb"};
    for (size_t i = 0; i < sizeof layouts / sizeof layouts[0]; i++) {
        assert_true(machines_run_comm(layouts[i], relay, layouts[i], 60));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(calls_run_what_the_row_says),
        cmocka_unit_test(calls_that_it_cannot_make_run_what_is_built_in),
        cmocka_unit_test(rows_hold_for_their_order_and_dtypes),
        cmocka_unit_test(slots_are_for_sums_whose_inputs_are_few_bytes),
        cmocka_unit_test(a_row_with_two_leaves_few_bytes_as_they_are),
        cmocka_unit_test(sums_are_handed_on_where_the_bits_allow_it),
        cmocka_unit_test(ranks_with_other_rows_are_told),
        cmocka_unit_test(a_large_broadcast_to_several_machines_is_passed_on),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
