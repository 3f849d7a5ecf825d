// SPDX-License-Identifier: Apache-2.0
// What an executor refuses: ranks that disagree, plans that do not fit, calls at the wrong time.
// All ranks get an error, and the communicator goes on working.
#include "plan/exec/test/kit.h"

enum { COUNT = 64 };

struct windows {
    tern_window *in, *out, *small;
};

static int make_windows(tern_comm *comm, struct windows *windows)
{
    CHECK(tern_window_create(comm, COUNT * 4, NULL, &windows->in) == TERN_OK);
    CHECK(tern_window_create(comm, COUNT * 4, NULL, &windows->out) == TERN_OK);
    CHECK(tern_window_create(comm, 1, NULL, &windows->small) == TERN_OK);
    return 0;
}

static int destroy_windows(struct windows *windows)
{
    CHECK(tern_window_destroy(windows->in) == TERN_OK);
    CHECK(tern_window_destroy(windows->out) == TERN_OK);
    CHECK(tern_window_destroy(windows->small) == TERN_OK);
    return 0;
}

static tern_exec_options usual(const struct windows *windows)
{
    return (tern_exec_options){.in = windows->in, .out = windows->out, .dtype = TERN_F32};
}

// Creates, expects the status and words in its sentence, and that the communicator still works.
static int expect_refusal(tern_comm *comm, const tern_plan *plan, const tern_exec_options *options,
                          int status, const char *words)
{
    tern_exec *exec = (tern_exec *)16;
    CHECK(tern_exec_create(comm, plan, options, &exec) == status);
    CHECK(exec == (tern_exec *)16);
    CHECK(strstr(tern_last_error(), words) != NULL);
    CHECK(tern_comm_barrier(comm) == TERN_OK);
    return 0;
}

static int disagree(tern_comm *comm, void *arg)
{
    int n = tern_comm_size(comm);
    bool last = tern_comm_rank(comm) == n - 1;
    struct windows windows;
    CHECK(make_windows(comm, &windows) == 0);
    tern_plan *usual_plan = kit_fused(n, COUNT, 4, 1);
    tern_plan *other_plan = kit_fused(n, COUNT - 1, 4, 1);
    tern_exec_options options = usual(&windows);
    CHECK(expect_refusal(comm, last ? other_plan : usual_plan, &options, TERN_ERR_MISMATCH,
                         "different plans") == 0);
    options.dtype = last ? TERN_I32 : TERN_F32;
    CHECK(expect_refusal(comm, usual_plan, &options, TERN_ERR_MISMATCH, "different element") == 0);
    options = usual(&windows);
    options.op = last ? TERN_MAX : TERN_SUM;
    CHECK(expect_refusal(comm, usual_plan, &options, TERN_ERR_MISMATCH, "different operations") ==
          0);
    options = usual(&windows);
    options.flags = last ? TERN_EXEC_COUNT_LINKS : 0;
    CHECK(expect_refusal(comm, usual_plan, &options, TERN_ERR_MISMATCH, "different flags") == 0);
    options = usual(&windows);
    options.in = last ? windows.out : windows.in;
    CHECK(expect_refusal(comm, usual_plan, &options, TERN_ERR_MISMATCH, "windows of in") == 0);
    options = usual(&windows);
    CHECK(expect_refusal(comm, last ? NULL : usual_plan, &options, TERN_ERR_ARG,
                         last ? "must not be NULL" : "could not prepare") == 0);
    // Plans are compared by what they say, not by where they are.
    tern_plan *twin = kit_fused(n, COUNT, 4, 1);
    tern_exec *exec;
    CHECK(tern_exec_create(comm, last ? twin : usual_plan, &options, &exec) == TERN_OK);
    CHECK(tern_exec_run(exec) == TERN_OK);
    CHECK(tern_exec_destroy(exec) == TERN_OK);
    tern_plan_destroy(usual_plan);
    tern_plan_destroy(other_plan);
    tern_plan_destroy(twin);
    return destroy_windows(&windows);
}

static void ranks_that_disagree_all_learn_it(void **state)
{
    assert_true(ranks_run_counts(2, 8, disagree, NULL, 30));
}

static const tern_plan_range places[] = {
    {.rank = 0, .buffer = TERN_PLAN_IN},
    {.rank = 1, .buffer = TERN_PLAN_IN},
    {.rank = 0, .buffer = TERN_PLAN_OUT},
    {.rank = 0, .buffer = TERN_PLAN_IN, .offset = 4},
};

#define TRANSFER(what, bytes, from, to, to_count)                                                  \
    .kind = what, .length = bytes, .sources = &places[from], .sources_count = 1,                   \
    .destinations = &places[to], .destinations_count = to_count

static const tern_plan_op differing[] = {
    {TRANSFER(TERN_PLAN_COPY, 8, 0, 2, 1)},
    {TRANSFER(TERN_PLAN_REDUCE, 8, 0, 2, 1)},
    {TRANSFER(TERN_PLAN_REDUCE, 8, 0, 2, 1), .flags = TERN_PLAN_ATOMIC},
    {TRANSFER(TERN_PLAN_COPY, 4, 0, 2, 1)},
    {TRANSFER(TERN_PLAN_COPY, 8, 1, 2, 1)},
    {TRANSFER(TERN_PLAN_COPY, 8, 2, 0, 1)},
    {TRANSFER(TERN_PLAN_COPY, 8, 3, 2, 1)},
    {TRANSFER(TERN_PLAN_COPY, 8, 0, 1, 2)},
    {TRANSFER(TERN_PLAN_COPY, 8, 0, 2, 1), .round = 1},
    {.kind = TERN_PLAN_POST, .peer = 0, .signal = 1},
    {.kind = TERN_PLAN_POST, .peer = 1, .signal = 0},
    {.kind = TERN_PLAN_POST, .peer = 0, .signal = 0},
    {.kind = TERN_PLAN_WAIT, .signal = 0, .count = 1},
    {.kind = TERN_PLAN_WAIT, .signal = 0, .count = 2},
};

// Each kind of difference in a plan changes its digest: in its op, its scratch, the op's rank,
// lane.
static void every_part_of_a_plan_is_compared(void **state)
{
    enum { OPS = sizeof differing / sizeof differing[0] };
    uint64_t digests[OPS + 3];
    for (int i = 0; i < OPS + 3; i++) {
        tern_plan *plan = hand_plan(TERN_PLAN_ALL_REDUCE, 2, 16, 4);
        if (i == OPS) {
            hand_must(tern_plan_need_scratch(plan, 4));
        }
        hand_must(tern_plan_add(plan, i == OPS + 1, i == OPS + 2, &differing[i < OPS ? i : 0]));
        hand_must(tern_plan_seal(plan));
        digests[i] = tern__exec_digest(plan);
        for (int k = 0; k < i; k++) {
            if (digests[k] == digests[i]) {
                fail_msg("plans %d and %d are taken for the same", k, i);
            }
        }
        tern_plan_destroy(plan);
    }
}

// A plan of one transfer by the last rank.
static tern_plan *one_op(int n, tern_plan_range from, tern_plan_range to, uint64_t length,
                         uint32_t flags)
{
    tern_plan *plan = hand_plan(TERN_PLAN_ALL_REDUCE, n, COUNT * 4, 4);
    hand_must(tern_plan_need_scratch(plan, 8));
    tern_plan_op op = {.kind = TERN_PLAN_REDUCE,
                       .flags = flags,
                       .length = length,
                       .sources = &from,
                       .sources_count = 1,
                       .destinations = &to,
                       .destinations_count = 1};
    hand_must(tern_plan_add(plan, n - 1, 2, &op));
    hand_must(tern_plan_seal(plan));
    return plan;
}

static int refuse_operands(tern_comm *comm, void *arg)
{
    int n = tern_comm_size(comm);
    struct windows windows;
    CHECK(make_windows(comm, &windows) == 0);
    tern_plan_range in = hand_at(0, TERN_PLAN_IN, 0);
    tern_plan_range out = hand_at(n - 1, TERN_PLAN_OUT, 0);
    const struct {
        tern_plan_range from, to;
        uint64_t length;
        uint32_t flags;
        tern_reduce_op op;
        size_t out_offset;
        const char *words;
    } cases[] = {
        {in, hand_at(0, TERN_PLAN_OUT, 4), COUNT * 4, 0, 0, 0,
         "256 bytes at offset 4 of out of rank 0"},
        {hand_at(0, TERN_PLAN_IN, UINT64_C(1) << 48), out, 4, 0, 0, 0, "lane 2, op 0 (reduce)"},
        {in, hand_at(0, TERN_PLAN_SCRATCH, 8), 4, 0, 0, 0, "of scratch of rank 0"},
        {in, out, 6, 0, 0, 0, "no multiple of the unit"},
        {in, hand_at(n - 1, TERN_PLAN_OUT, COUNT * 4), 8, TERN_PLAN_ATOMIC, 0, 0,
         "reaches beyond its"},
        {in, out, 8, 0, 0, 4096, "reaches beyond the 4096 bytes of its window"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        tern_plan *plan = one_op(n, cases[i].from, cases[i].to, cases[i].length, cases[i].flags);
        tern_exec_options options = usual(&windows);
        options.op = cases[i].op;
        options.out_offset = cases[i].out_offset;
        CHECK(expect_refusal(comm, plan, &options, TERN_ERR_ARG, cases[i].words) == 0);
        tern_plan_destroy(plan);
    }
    return destroy_windows(&windows);
}

static void operands_outside_their_buffers_are_refused(void **state)
{
    assert_true(ranks_run_comm(1, refuse_operands, NULL, 30));
    assert_true(ranks_run_comm(3, refuse_operands, NULL, 30));
}

static int refuse_options(tern_comm *comm, void *arg)
{
    int n = tern_comm_size(comm);
    int rank = tern_comm_rank(comm);
    struct windows windows;
    CHECK(make_windows(comm, &windows) == 0);
    tern_exec_options options = usual(&windows);
    tern_plan *plan = kit_fused(n, COUNT, 4, 1);
    tern_plan *wider = kit_fused(n + 1, COUNT, 4, 1);
    tern_plan *open = hand_plan(TERN_PLAN_BARRIER, n, 0, 4);
    tern_plan *waiting = hand_plan(TERN_PLAN_BARRIER, n, 0, 4);
    hand_post(waiting, 0, 0, 0, 0);
    hand_wait(waiting, 0, 0, 0, 2);
    hand_must(tern_plan_seal(waiting));
    tern_plan *in_slots;
    tern_plan_spec spec = {.kind = TERN_PLAN_BARRIER,
                           .nranks = n,
                           .unit = 4,
                           .slots = TERN_PLAN_IN_SLOTS};
    hand_must(tern_plan_create(&spec, &in_slots));
    hand_must(tern_plan_seal(in_slots));
    CHECK(expect_refusal(comm, wider, &options, TERN_ERR_ARG, "the communicator has") == 0);
    CHECK(expect_refusal(comm, open, &options, TERN_ERR_ARG, "not sealed") == 0);
    CHECK(expect_refusal(comm, waiting, &options, TERN_ERR_ARG,
                         rank == 0 ? "posted 2 times; in a run it is posted 1 times"
                                   : "rank 0 could not prepare") == 0);
    CHECK(expect_refusal(comm, in_slots, &options, TERN_ERR_ARG, "wants buffers in slots") == 0);
    options.in = NULL;
    CHECK(expect_refusal(comm, plan, &options, TERN_ERR_ARG, "its window is NULL") == 0);
    options = usual(&windows);
    options.dtype = TERN_F64;
    CHECK(expect_refusal(comm, plan, &options, TERN_ERR_ARG, "an element of f64 has 8") == 0);
    options.dtype = (tern_dtype)77;
    CHECK(expect_refusal(comm, plan, &options, TERN_ERR_ARG, "77 is no dtype") == 0);
    options = usual(&windows);
    options.op = (tern_reduce_op)4;
    CHECK(expect_refusal(comm, plan, &options, TERN_ERR_ARG, "4 no operation") == 0);
    options = usual(&windows);
    options.flags = 6;
    CHECK(expect_refusal(comm, plan, &options, TERN_ERR_ARG, "no flag 0x6") == 0);
    tern_plan_destroy(plan);
    tern_plan_destroy(wider);
    tern_plan_destroy(open);
    tern_plan_destroy(waiting);
    tern_plan_destroy(in_slots);
    return destroy_windows(&windows);
}

static void options_that_do_not_fit_are_refused(void **state)
{
    assert_true(ranks_run_comm(1, refuse_options, NULL, 30));
    assert_true(ranks_run_comm(3, refuse_options, NULL, 30));
}

static int wrong_times(tern_comm *comm, void *arg)
{
    int n = tern_comm_size(comm);
    struct kit_bench bench;
    tern_plan *plan = kit_fused(n, COUNT, 4, 1);
    if (kit_open(comm, plan, (tern_exec_options){.dtype = TERN_F32}, &bench) != 0) {
        return 1;
    }
    CHECK(tern_exec_start(NULL) == TERN_ERR_ARG);
    CHECK(tern_exec_destroy(NULL) == TERN_OK);
    CHECK(tern_exec_link_bytes(NULL, 0, 1) == 0);
    CHECK(tern_exec_wait(bench.exec) == TERN_ERR_STATE);
    CHECK(tern_exec_test(bench.exec) == TERN_ERR_STATE);
    CHECK(tern_comm_barrier(comm) == TERN_OK);
    if (tern_comm_rank(comm) == 0) {
        CHECK(tern_exec_start(bench.exec) == TERN_OK); // rank 1 has not, so this cannot end
        CHECK(tern_exec_test(bench.exec) == 0);
        CHECK(tern_exec_start(bench.exec) == TERN_ERR_STATE);
        CHECK(tern_exec_destroy(bench.exec) == TERN_ERR_STATE);
    }
    CHECK(tern_comm_barrier(comm) == TERN_OK);
    if (tern_comm_rank(comm) != 0) {
        CHECK(tern_exec_start(bench.exec) == TERN_OK);
    }
    CHECK(tern_exec_wait(bench.exec) == TERN_OK);
    CHECK(tern_exec_wait(bench.exec) == TERN_OK);
    CHECK(tern_exec_test(bench.exec) == 1);
    CHECK(tern_comm_destroy(comm) == TERN_ERR_STATE); // the executor is alive
    return kit_close(&bench) + tern_plan_destroy(plan);
}

static void calls_at_the_wrong_time(void **state)
{
    assert_true(ranks_run_comm(2, wrong_times, NULL, 30));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranks_that_disagree_all_learn_it),
        cmocka_unit_test(every_part_of_a_plan_is_compared),
        cmocka_unit_test(operands_outside_their_buffers_are_refused),
        cmocka_unit_test(options_that_do_not_fit_are_refused),
        cmocka_unit_test(calls_at_the_wrong_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
