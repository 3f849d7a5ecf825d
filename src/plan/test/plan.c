// SPDX-License-Identifier: Apache-2.0
// Building, sealing and reading plans: what goes in comes out, what is not a plan is refused with a
// sentence that says where, and memory stays within what was promised.
#include "support/cmocka.h"
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "support/look.h"
#include "tern/plan.h"

static const tern_plan_spec plain = {.kind = TERN_PLAN_ALL_REDUCE,
                                     .nranks = 3,
                                     .bytes = 24,
                                     .unit = 4};

#define assert_fails(call, wanted, sentence) assert_true(says(call, wanted, sentence))

static tern_plan *create(const tern_plan_spec *spec)
{
    tern_plan *plan = NULL;
    assert_int_equal(tern_plan_create(spec, &plan), TERN_OK);
    return plan;
}

static void add(tern_plan *plan, int rank, int lane, tern_plan_op op)
{
    assert_int_equal(tern_plan_add(plan, rank, lane, &op), TERN_OK);
}

static void kinds_have_words(void **state)
{
    static const char *const words[] = {"all_reduce", "reduce_scatter", "all_gather",
                                        "broadcast",  "all_to_all",     "barrier",
                                        "reduce",     "gather",         "scatter"};
    for (int i = 0; i < 9; i++) {
        tern_plan_kind kind = TERN_PLAN_BARRIER;
        assert_string_equal(tern_plan_kind_name((tern_plan_kind)i), words[i]);
        assert_int_equal(tern_plan_kind_parse(words[i], &kind), TERN_OK);
        assert_int_equal(kind, i);
    }
    assert_string_equal(tern_plan_kind_name((tern_plan_kind)9), "unknown kind");
    tern_plan_kind kind = TERN_PLAN_BROADCAST;
    assert_fails(
        tern_plan_kind_parse("allreduce", &kind), TERN_ERR_ARG,
        "there are all_reduce, reduce_scatter, all_gather, broadcast, all_to_all, barrier, reduce, "
        "gather, scatter");
    assert_int_equal(kind, TERN_PLAN_BROADCAST);
    assert_fails(tern_plan_kind_parse(NULL, &kind), TERN_ERR_ARG, "must not be NULL");
}

static void a_wrong_spec_is_refused(void **state)
{
    static const struct {
        tern_plan_spec spec;
        int status;
        const char *sentence;
    } cases[] = {
        {{.kind = (tern_plan_kind)9, .nranks = 1, .unit = 1}, TERN_ERR_ARG, "9 is no kind"},
        {{.nranks = 0, .unit = 1}, TERN_ERR_LIMIT, "1 to 1024 ranks, not 0"},
        {{.nranks = 1025, .unit = 1}, TERN_ERR_LIMIT, "1 to 1024 ranks, not 1025"},
        {{.nranks = 2, .unit = 3}, TERN_ERR_ARG, "1, 2, 4 or 8 bytes, not 3"},
        {{.nranks = 2, .unit = 8, .bytes = (UINT64_C(1) << 48) + 8},
         TERN_ERR_LIMIT,
         "at most 281474976710656"},
        {{.nranks = 2, .unit = 4, .bytes = 6}, TERN_ERR_ARG, "a multiple of 4 (the unit)"},
        {{.kind = TERN_PLAN_ALL_TO_ALL, .nranks = 3, .unit = 4, .bytes = 16},
         TERN_ERR_ARG,
         "a multiple of 12 (ranks times unit)"},
        {{.kind = TERN_PLAN_BARRIER, .nranks = 2, .unit = 4, .bytes = 4},
         TERN_ERR_ARG,
         "a barrier has 0 bytes"},
        {{.nranks = 2, .unit = 4, .root = 1},
         TERN_ERR_ARG,
         "all_reduce over 2 ranks cannot have the root 1"},
        {{.kind = TERN_PLAN_BROADCAST, .nranks = 2, .unit = 4, .root = 2},
         TERN_ERR_ARG,
         "cannot have the root 2"},
        {{.kind = TERN_PLAN_SCATTER, .nranks = 2, .unit = 4, .root = -1},
         TERN_ERR_ARG,
         "scatter over 2 ranks cannot have the root -1"},
        {{.kind = TERN_PLAN_GATHER, .nranks = 3, .unit = 4, .bytes = 16},
         TERN_ERR_ARG,
         "a multiple of 12 (ranks times unit)"},
        {{.kind = TERN_PLAN_SCATTER, .nranks = 3, .unit = 1, .bytes = 16},
         TERN_ERR_ARG,
         "a multiple of 3 (ranks times unit)"},
        {{.kind = TERN_PLAN_REDUCE_TO_ROOT, .nranks = 3, .unit = 4, .bytes = 18},
         TERN_ERR_ARG,
         "a multiple of 4 (the unit)"},
        {{.kind = TERN_PLAN_REDUCE_TO_ROOT, .nranks = 3, .unit = 4, .root = 3},
         TERN_ERR_ARG,
         "reduce over 3 ranks cannot have the root 3"},
        {{.nranks = 2, .unit = 4, .slots = 1u << TERN_PLAN_OUT},
         TERN_ERR_ARG,
         "only in and scratch may lie in slots"},
        {{.nranks = 2, .unit = 4, .algorithm = "a b"}, TERN_ERR_ARG, "1 to 31 letters"},
        {{.nranks = 2, .unit = 4, .algorithm = ""}, TERN_ERR_ARG, "1 to 31 letters"},
        {{.nranks = 2, .unit = 4, .algorithm = "abcdefghijklmnopqrstuvwxyz012345"},
         TERN_ERR_ARG,
         "1 to 31 letters"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        tern_plan *plan = NULL;
        assert_fails(tern_plan_create(&cases[i].spec, &plan), cases[i].status, cases[i].sentence);
        assert_null(plan);
    }
    assert_fails(tern_plan_create(NULL, NULL), TERN_ERR_ARG, "must not be NULL");
}

static void a_spec_is_copied(void **state)
{
    char algorithm[] = "ring-2";
    tern_plan_spec spec = {.kind = TERN_PLAN_BROADCAST,
                           .nranks = 4,
                           .bytes = 6,
                           .unit = 2,
                           .root = 3,
                           .algorithm = algorithm};
    tern_plan *plan = create(&spec);
    memset(algorithm, 'x', sizeof algorithm - 1);
    const tern_plan_spec *got = tern_plan_get_spec(plan);
    assert_string_equal(got->algorithm, "ring-2");
    assert_int_equal(got->kind, TERN_PLAN_BROADCAST);
    assert_int_equal(got->nranks, 4);
    assert_int_equal(got->bytes, 6);
    assert_int_equal(got->unit, 2);
    assert_int_equal(got->root, 3);
    tern_plan_destroy(plan);
    plan = create(&plain);
    assert_string_equal(tern_plan_get_spec(plan)->algorithm, "custom");
    tern_plan_destroy(plan);
    assert_null(tern_plan_get_spec(NULL));
}

static void buffers_have_the_sizes_of_the_kind(void **state)
{
    static const struct {
        tern_plan_kind kind;
        uint64_t bytes, in, out;
    } cases[] = {{TERN_PLAN_ALL_REDUCE, 24, 24, 24},     {TERN_PLAN_REDUCE_SCATTER, 24, 24, 8},
                 {TERN_PLAN_ALL_GATHER, 24, 8, 24},      {TERN_PLAN_BROADCAST, 24, 24, 24},
                 {TERN_PLAN_ALL_TO_ALL, 24, 24, 24},     {TERN_PLAN_BARRIER, 0, 0, 0},
                 {TERN_PLAN_REDUCE_TO_ROOT, 28, 28, 28}, {TERN_PLAN_GATHER, 24, 8, 24},
                 {TERN_PLAN_SCATTER, 24, 24, 8}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        tern_plan_spec spec = {.kind = cases[i].kind,
                               .nranks = 3,
                               .bytes = cases[i].bytes,
                               .unit = 4};
        tern_plan *plan = create(&spec);
        assert_int_equal(tern_plan_buffer_bytes(plan, TERN_PLAN_IN), cases[i].in);
        assert_int_equal(tern_plan_buffer_bytes(plan, TERN_PLAN_OUT), cases[i].out);
        assert_int_equal(tern_plan_buffer_bytes(plan, TERN_PLAN_SCRATCH), 0);
        tern_plan_destroy(plan);
    }
}

static void the_largest_need_of_scratch_counts(void **state)
{
    tern_plan *plan = create(&plain);
    assert_int_equal(tern_plan_need_scratch(plan, 100), TERN_OK);
    assert_int_equal(tern_plan_need_scratch(plan, 50), TERN_OK);
    assert_int_equal(tern_plan_buffer_bytes(plan, TERN_PLAN_SCRATCH), 100);
    assert_fails(tern_plan_need_scratch(plan, TERN_PLAN_BYTES_MAX + 1), TERN_ERR_LIMIT,
                 "scratch is at most");
    assert_int_equal(tern_plan_buffer_bytes(plan, TERN_PLAN_SCRATCH), 100);
    tern_plan_destroy(plan);
}

static void a_transfer_reads_as_it_was_added(void **state)
{
    tern_plan *plan = create(&plain);
    tern_plan_range from[] = {{4, 0, TERN_PLAN_IN},
                              {8, 1, TERN_PLAN_OUT},
                              {12, 2, TERN_PLAN_SCRATCH}};
    tern_plan_range to[] = {{16, 2, TERN_PLAN_OUT}, {20, 1, TERN_PLAN_SCRATCH}};
    add(plan, 1, 0,
        (tern_plan_op){.kind = TERN_PLAN_REDUCE,
                       .flags = TERN_PLAN_ATOMIC,
                       .round = 7,
                       .length = 4,
                       .sources = from,
                       .sources_count = 3,
                       .destinations = to,
                       .destinations_count = 2});
    add(plan, 1, 0,
        (tern_plan_op){.kind = TERN_PLAN_COPY,
                       .length = 8,
                       .sources = &from[1],
                       .sources_count = 1,
                       .destinations = to,
                       .destinations_count = 2});
    memset(from, 0, sizeof from); // the plan has its own
    memset(to, 0, sizeof to);
    assert_int_equal(tern_plan_seal(plan), TERN_OK);

    tern_plan_op op;
    assert_int_equal(tern_plan_get_op(plan, 1, 0, 0, &op), TERN_OK);
    assert_int_equal(op.kind, TERN_PLAN_REDUCE);
    assert_int_equal(op.flags, TERN_PLAN_ATOMIC);
    assert_int_equal(op.round, 7);
    assert_int_equal(op.length, 4);
    assert_int_equal(op.sources_count, 3);
    assert_int_equal(op.destinations_count, 2);
    assert_int_equal(op.sources[2].offset, 12);
    assert_int_equal(op.sources[2].rank, 2);
    assert_int_equal(op.sources[2].buffer, TERN_PLAN_SCRATCH);
    assert_int_equal(op.destinations[1].offset, 20);
    assert_int_equal(op.destinations[1].rank, 1);
    assert_int_equal(tern_plan_get_op(plan, 1, 0, 1, &op), TERN_OK);
    assert_int_equal(op.kind, TERN_PLAN_COPY);
    assert_int_equal(op.flags, 0);
    assert_int_equal(op.length, 8);
    assert_int_equal(op.sources[0].offset, 8);
    assert_int_equal(op.destinations[0].offset, 16);
    tern_plan_destroy(plan);
}

static void signals_read_as_they_were_added_and_are_counted(void **state)
{
    tern_plan *plan = create(&plain);
    add(plan, 0, 0, (tern_plan_op){.kind = TERN_PLAN_POST, .round = 2, .peer = 2, .signal = 5});
    add(plan, 1, 0,
        (tern_plan_op){.kind = TERN_PLAN_WAIT, .round = 9, .signal = 3, .count = INT32_MAX});
    assert_int_equal(tern_plan_seal(plan), TERN_OK);
    tern_plan_op op;
    assert_int_equal(tern_plan_get_op(plan, 0, 0, 0, &op), TERN_OK);
    assert_int_equal(op.kind, TERN_PLAN_POST);
    assert_int_equal(op.round, 2);
    assert_int_equal(op.peer, 2);
    assert_int_equal(op.signal, 5);
    assert_null(op.sources);
    assert_int_equal(tern_plan_get_op(plan, 1, 0, 0, &op), TERN_OK);
    assert_int_equal(op.kind, TERN_PLAN_WAIT);
    assert_int_equal(op.signal, 3);
    assert_int_equal(op.count, INT32_MAX);
    assert_int_equal(tern_plan_signal_count(plan, 0), 0); // a post uses its peer's signal
    assert_int_equal(tern_plan_signal_count(plan, 1), 4);
    assert_int_equal(tern_plan_signal_count(plan, 2), 6);
    assert_int_equal(tern_plan_round_count(plan), 10);
    assert_int_equal(tern_plan_total_ops(plan), 2);
    tern_plan_destroy(plan);
}

static void lanes_below_exist_and_are_empty(void **state)
{
    tern_plan *plan = create(&plain);
    add(plan, 2, 3, (tern_plan_op){.kind = TERN_PLAN_POST});
    assert_int_equal(tern_plan_seal(plan), TERN_OK);
    assert_int_equal(tern_plan_lane_count(plan, 0), 0);
    assert_int_equal(tern_plan_lane_count(plan, 2), 4);
    assert_int_equal(tern_plan_op_count(plan, 2, 0), 0);
    assert_int_equal(tern_plan_op_count(plan, 2, 2), 0);
    assert_int_equal(tern_plan_op_count(plan, 2, 3), 1);
    tern_plan_op op;
    assert_fails(tern_plan_get_op(plan, 2, 0, 0, &op), TERN_ERR_ARG, "no rank 2, lane 0, op 0");
    assert_fails(tern_plan_get_op(plan, 2, 3, 1, &op), TERN_ERR_ARG, "no rank 2, lane 3, op 1");
    tern_plan_destroy(plan);
}

static const tern_plan_range good_range = {0, 0, TERN_PLAN_IN};
static const tern_plan_range rank_range = {0, 3, TERN_PLAN_IN};
static const tern_plan_range buffer_range = {0, 0, 3};
static const tern_plan_range offset_range = {TERN_PLAN_BYTES_MAX + 1, 0, TERN_PLAN_IN};
#define COPY(source, ...)                                                                          \
    {                                                                                              \
        .kind = TERN_PLAN_COPY, .sources = source, .sources_count = 1,                             \
        .destinations = &good_range, .destinations_count = 1, __VA_ARGS__                          \
    }
static const struct {
    tern_plan_op op;
    int status;
    const char *sentence;
} wrong_ops[] = {
    {COPY(&rank_range), TERN_ERR_ARG,
     "rank 1, lane 2, op 1: operand 0 is at byte 0 of buffer 0 of rank 3"},
    {COPY(&buffer_range), TERN_ERR_ARG, "buffer 3 of rank 0"},
    {COPY(&offset_range), TERN_ERR_ARG, "byte 281474976710657"},
    {COPY(NULL), TERN_ERR_ARG, "are NULL"},
    {COPY(&good_range, .length = TERN_PLAN_BYTES_MAX + 1), TERN_ERR_LIMIT, "a length is at most"},
    {COPY(&good_range, .round = 65536), TERN_ERR_LIMIT, "rounds are 0..65535, not 65536"},
    {COPY(&good_range, .round = -1), TERN_ERR_LIMIT, "not -1"},
    {COPY(&good_range, .flags = TERN_PLAN_ATOMIC), TERN_ERR_ARG, "only a reduce may be atomic"},
    {{.kind = TERN_PLAN_COPY,
      .sources = &good_range,
      .sources_count = 2,
      .destinations = &good_range,
      .destinations_count = 1},
     TERN_ERR_ARG,
     "a copy has one source"},
    {{.kind = TERN_PLAN_REDUCE,
      .sources = &good_range,
      .sources_count = 0,
      .destinations = &good_range,
      .destinations_count = 1},
     TERN_ERR_ARG,
     "at least one source"},
    {{.kind = TERN_PLAN_REDUCE,
      .sources = &good_range,
      .sources_count = 1,
      .destinations = &good_range,
      .destinations_count = 0},
     TERN_ERR_ARG,
     "at least one destination"},
    {{.kind = TERN_PLAN_REDUCE,
      .sources = &good_range,
      .sources_count = 2048,
      .destinations = &good_range,
      .destinations_count = 1},
     TERN_ERR_ARG,
     "at most 2048"},
    {{.kind = TERN_PLAN_REDUCE,
      .sources = &good_range,
      .sources_count = INT_MAX,
      .destinations = &good_range,
      .destinations_count = INT_MAX},
     TERN_ERR_ARG,
     "at most 2048"},
    {{.kind = TERN_PLAN_POST, .peer = 3}, TERN_ERR_ARG, "a post to rank 3"},
    {{.kind = TERN_PLAN_POST, .peer = -1}, TERN_ERR_ARG, "a post to rank -1"},
    {{.kind = TERN_PLAN_POST, .signal = TERN_PLAN_SIGNALS_MAX}, TERN_ERR_LIMIT, "not 1048576"},
    {{.kind = TERN_PLAN_WAIT, .count = 0}, TERN_ERR_ARG, "not to 0"},
    {{.kind = TERN_PLAN_WAIT, .count = 1u + INT32_MAX}, TERN_ERR_ARG, "not to 2147483648"},
    {{.kind = (tern_plan_op_kind)4}, TERN_ERR_ARG, "4 is no kind of op"},
};

static void a_wrong_op_is_refused_with_its_place(void **state)
{
    tern_plan *plan = create(&plain);
    add(plan, 1, 2, (tern_plan_op){.kind = TERN_PLAN_POST});
    for (size_t i = 0; i < sizeof wrong_ops / sizeof wrong_ops[0]; i++) {
        int status = tern_plan_add(plan, 1, 2, &wrong_ops[i].op);
        assert_fails(status, wrong_ops[i].status, wrong_ops[i].sentence);
        assert_fails(status, wrong_ops[i].status, "rank 1, lane 2, op 1");
    }
    assert_int_equal(tern_plan_total_ops(plan), 1);
    tern_plan_op post = {.kind = TERN_PLAN_POST};
    assert_fails(tern_plan_add(plan, 3, 0, &post), TERN_ERR_ARG, "rank 3, lane 0");
    assert_fails(tern_plan_add(plan, 0, TERN_PLAN_LANES_MAX, &post), TERN_ERR_ARG, "lanes 0..1023");
    assert_fails(tern_plan_add(plan, 0, 0, NULL), TERN_ERR_ARG, "op must not be NULL");
    assert_int_equal(tern_plan_lane_count(plan, 0), 0);
    tern_plan_destroy(plan);
}

static void a_sealed_plan_cannot_change_and_an_open_one_not_be_read(void **state)
{
    tern_plan *plan = create(&plain);
    tern_plan_op op = {.kind = TERN_PLAN_POST};
    add(plan, 0, 0, op);
    tern_plan_op got;
    assert_fails(tern_plan_get_op(plan, 0, 0, 0, &got), TERN_ERR_ARG, "must be sealed");
    assert_int_equal(tern_plan_seal(plan), TERN_OK);
    assert_fails(tern_plan_add(plan, 0, 0, &op), TERN_ERR_STATE,
                 "tern_plan_add: the plan is sealed");
    assert_fails(tern_plan_need_scratch(plan, 4), TERN_ERR_STATE, "sealed");
    assert_fails(tern_plan_seal(plan), TERN_ERR_STATE, "tern_plan_seal: the plan is sealed");
    assert_int_equal(tern_plan_total_ops(plan), 1);
    assert_int_equal(tern_plan_destroy(plan), TERN_OK);
    assert_int_equal(tern_plan_destroy(NULL), TERN_OK);
}

// The promise is per op and operand; what a plan, a rank and a lane cost is added.
static void a_plan_takes_at_most_64_bytes_an_op_and_24_an_operand(void **state)
{
    tern_plan *plan = create(&plain);
    tern_plan_range range = {0};
    for (int i = 0; i < 1025; i++) { // all arrays have just doubled
        add(plan, 1, 0,
            (tern_plan_op){.kind = TERN_PLAN_COPY,
                           .length = 4,
                           .sources = &range,
                           .sources_count = 1,
                           .destinations = &range,
                           .destinations_count = 1});
    }
    assert_int_equal(tern_plan_seal(plan), TERN_OK);
    size_t memory = tern_plan_memory(plan);
    assert_in_range(memory, 1025 * 16 + 2050 * 12, 1025 * 64 + 2050 * 24);
    tern_plan_destroy(plan);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kinds_have_words),
        cmocka_unit_test(a_wrong_spec_is_refused),
        cmocka_unit_test(a_spec_is_copied),
        cmocka_unit_test(buffers_have_the_sizes_of_the_kind),
        cmocka_unit_test(the_largest_need_of_scratch_counts),
        cmocka_unit_test(a_transfer_reads_as_it_was_added),
        cmocka_unit_test(signals_read_as_they_were_added_and_are_counted),
        cmocka_unit_test(lanes_below_exist_and_are_empty),
        cmocka_unit_test(a_wrong_op_is_refused_with_its_place),
        cmocka_unit_test(a_sealed_plan_cannot_change_and_an_open_one_not_be_read),
        cmocka_unit_test(a_plan_takes_at_most_64_bytes_an_op_and_24_an_operand),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
