// SPDX-License-Identifier: Apache-2.0
// What ends a run of an orchestration: each code by its number, its name in the sentence; that what
// the orchestration calls afterwards does nothing; and that the chip then runs other graphs.
#include "support/cmocka.h"

#include <stdlib.h>

#include "rings_kit.h"

static tern_task none = {.core = TERN_CORE_NONE};

static void set_one(int64_t *args)
{
    *(int32_t *)tern_region_data(pointer(args[0])) = 1;
}

static int set_flag(tern_graph *graph, void *arg)
{
    tern_region flag = row_of(arg, 1, TERN_REGION_I32);
    tern_task task = {.core = TERN_CORE_AIV, .kernel = set_one};
    tern_task_arg args[] = {region_arg(TERN_INOUT, &flag)};
    return submit(graph, &task, args, 1, NULL);
}

// After the failure: nothing works, and nothing crashes.
static bool is_over(tern_graph *graph)
{
    int32_t cell = 0;
    uint64_t value = 0;
    const uint32_t index = 0;
    tern_region region = row_of(&cell, 1, TERN_REGION_I32);
    return tern_graph_is_fatal(graph) && submit(graph, &none, NULL, 0, NULL) == TERN_ERR_STATE &&
           tern_graph_scope_begin(graph, TERN_SCOPE_AUTO) == TERN_ERR_STATE &&
           tern_graph_scope_end(graph) == TERN_ERR_STATE &&
           tern_graph_get_element(graph, &region, &index, &value) == TERN_ERR_STATE &&
           tern_graph_set_element(graph, &region, &index, 1) == TERN_ERR_STATE &&
           tern_graph_give_up(graph, 9, "again") == TERN_ERR_STATE;
}

struct fatal {
    int code;
    int status;               // of the call that fails
    tern_orchestration build; // what the last call returns
    tern_ring_options options;
    const char *words;
};

static int fill_a_scope(tern_graph *graph, void *arg)
{
    TRY(tern_graph_scope_begin(graph, TERN_SCOPE_AUTO));
    for (int i = 0; i < 8; i++) {
        int status = submit(graph, &none, NULL, 0, NULL);
        if (status != TERN_OK) {
            return i == 3 ? status : TERN_ERR_ARG;
        }
    }
    return TERN_OK;
}

static int take_too_much(tern_graph *graph, void *arg)
{
    tern_region big = row_of(NULL, 32 << 10, TERN_REGION_I8);
    tern_task_arg args[] = {region_arg(TERN_OUT, &big)};
    return submit(graph, &none, args, 1, NULL);
}

// No piece is too large, but the scope keeps all of them.
static int take_too_often(tern_graph *graph, void *arg)
{
    tern_region big = row_of(NULL, 1024, TERN_REGION_I8);
    tern_task_arg args[] = {region_arg(TERN_OUT, &big)};
    int status = TERN_OK;
    for (int i = 0; i < 9 && status == TERN_OK; i++) {
        big.address = 0;
        status = submit(graph, &none, args, 1, NULL);
        status = i < 8 && status != TERN_OK ? TERN_ERR_ARG : status;
    }
    return status;
}

static int nest_scopes(tern_graph *graph, void *arg)
{
    for (int depth = 0; depth < 8; depth++) {
        TRY(tern_graph_scope_begin(graph, TERN_SCOPE_AUTO));
        for (int i = 0; i < 3; i++) {
            int status = submit(graph, &none, NULL, 0, NULL);
            if (status != TERN_OK) {
                return depth == 3 ? status : TERN_ERR_ARG;
            }
        }
    }
    return TERN_OK;
}

static int order_many(tern_graph *graph, void *arg)
{
    static tern_task_id before[128];
    for (int i = 0; i < 128; i++) {
        TRY(submit(graph, &none, NULL, 0, &before[i]));
    }
    tern_submission all = {.task = none, .after = before, .after_count = 128};
    return tern_graph_submit(graph, &all, NULL);
}

static int keep_many(tern_graph *graph, void *arg)
{
    static int32_t cells[64];
    for (int i = 0; i < 64; i++) {
        tern_region cell = row_of(&cells[i], 1, TERN_REGION_I32);
        tern_task_arg args[] = {region_arg(TERN_IN, &cell)};
        TRY(submit(graph, &none, args, 1, NULL));
    }
    return TERN_OK;
}

static int forget_the_list(tern_graph *graph, void *arg)
{
    tern_submission bad = {.task = none, .after_count = 4};
    return tern_graph_submit(graph, &bad, NULL);
}

static int start_too_many(tern_graph *graph, void *arg)
{
    tern_task task = {.core = TERN_CORE_AIV,
                      .kernel = do_nothing,
                      .blocks = 1000,
                      .sync_start = true};
    return submit(graph, &task, NULL, 0, NULL);
}

static int give_up(tern_graph *graph, void *arg)
{
    return tern_graph_give_up(graph, 9, "I have %d reasons", 3);
}

static void defer_to_nothing(int64_t *args)
{
    tern_status_ignore(tern_kernel_defer_word(pointer(args[0]), 1));
    tern_status_ignore(tern_kernel_defer(NULL));
}

static int end_by_nothing(tern_graph *graph, void *arg)
{
    tern_task task = {.core = TERN_CORE_AIV, .kernel = defer_to_nothing};
    tern_task_arg args[] = {scalar_arg(3)};
    return submit(graph, &task, args, 1, NULL);
}

static void defer_too_often(int64_t *args)
{
    static uint32_t words[65];
    for (int i = 0; i < 65; i++) {
        tern_status_ignore(tern_kernel_defer_word(&words[i], 1));
    }
}

static int end_by_too_much(tern_graph *graph, void *arg)
{
    tern_task task = {.core = TERN_CORE_AIV, .kernel = defer_too_often};
    return submit(graph, &task, NULL, 0, NULL);
}

static uint32_t never;
static void defer_for_ever(int64_t *args)
{
    tern_status_ignore(tern_kernel_defer_word(&never, 1));
}

static int await_for_ever(tern_graph *graph, void *arg)
{
    static int32_t cell;
    uint64_t value;
    const uint32_t index = 0;
    tern_region region = row_of(&cell, 1, TERN_REGION_I32);
    tern_task task = {.name = "endless", .core = TERN_CORE_AIV, .kernel = defer_for_ever};
    tern_task_arg args[] = {region_arg(TERN_INOUT, &region)};
    TRY(submit(graph, &task, args, 1, NULL));
    *(int *)arg = tern_graph_get_element(graph, &region, &index, &value);
    return TERN_OK;
}

static int give_up_for_nothing(tern_graph *graph, void *arg)
{
    return tern_graph_give_up(graph, 0, "no number");
}

static const struct fatal fatals[] = {
    {1, TERN_ERR_LIMIT, fill_a_scope, {.window = {4}}, "SCOPE_DEADLOCK: ring 1"},
    {2, TERN_ERR_LIMIT, take_too_much, {.heap = {1024}}, "HEAP_RING_DEADLOCK: ring 0"},
    {2, TERN_ERR_LIMIT, take_too_often, {.heap = {8192}}, "8192 of 8192 heap bytes"},
    {3, TERN_ERR_LIMIT, nest_scopes, {.window = {4}}, "FLOW_CONTROL_DEADLOCK: ring 3"},
    {4, TERN_ERR_LIMIT, order_many, {.edges = {4}}, "DEP_POOL_OVERFLOW"},
    {11, TERN_ERR_LIMIT, keep_many, {.regions = {16}}, "TENSORMAP_OVERFLOW"},
    {5, TERN_ERR_ARG, forget_the_list, {.flags = 0}, "INVALID_ARGS"},
    {7, TERN_ERR_LIMIT, start_too_many, {.flags = 0}, "REQUIRE_SYNC_START_INVALID"},
    {9, TERN_ERR_STATE, give_up, {.flags = 0}, "EXPLICIT_ORCH_FATAL: I have 3 reasons"},
    {9, TERN_ERR_STATE, give_up_for_nothing, {.flags = 0}, "EXPLICIT_ORCH_FATAL: no number"},
    {101, TERN_OK, end_by_nothing, {.flags = 0}, "ASYNC_COMPLETION_INVALID"},
    {102, TERN_OK, end_by_too_much, {.flags = 0}, "ASYNC_WAIT_OVERFLOW"},
};
enum { FATALS = sizeof fatals / sizeof fatals[0] };

struct call {
    const struct fatal *fatal;
    bool well;
    bool goes_on; // the orchestration returns as if nothing had been
};

static int orchestrate(tern_graph *graph, void *arg)
{
    struct call *call = arg;
    int status = call->fatal->build(graph, NULL);
    call->well = status == call->fatal->status;
    for (int i = 0; call->fatal->status == TERN_OK && i < 20000 && !tern_graph_is_fatal(graph);
         i++) {
        sleep_ns(MS);
    }
    call->well = call->well && is_over(graph);
    return call->goes_on ? TERN_OK : status;
}

static void each_code_ends_the_run_and_not_the_chip(void **state)
{
    static const int cores[] = {1, 2, 3, 24};
    for (int i = 0; i < 4 * FATALS * 2; i += SANITIZED ? 5 : 1) {
        tern_chip *chip = chip_of(0, cores[i / FATALS / 2]);
        int32_t flag = 0;
        struct call call = {&fatals[i / 2 % FATALS], false, i % 2 != 0};
        int status = run_rings(chip, &call.fatal->options, orchestrate, &call, false);
        print_message("code %d: %s\n", call.fatal->code, tern_last_error());
        assert_true(call.well);
        assert_int_not_equal(status, TERN_OK);
        assert_true(said(call.fatal->words));
        assert_int_equal(tern_chip_code(chip), call.fatal->code);
        assert_string_not_equal(tern_graph_code_name(call.fatal->code), "NONE");
        assert_true(fine(run_rings(chip, NULL, set_flag, &flag, false)));
        assert_int_equal(flag, 1);
        assert_int_equal(tern_chip_code(chip), 0);
        assert_true(fine(tern_chip_destroy(chip)));
    }
}

static void an_element_that_is_never_written_has_a_code(void **state)
{
    int32_t flag = 0;
    int status = TERN_OK;
    tern_chip *chip = NULL;
    bool has_run = false;
    for (int64_t ms = 200; ms <= 20000 && !has_run; ms *= 10) { // the first in which the task runs
        assert_true(fine(tern_chip_destroy(chip)));
        chip = chip_within(0, 2, ms * MS);
        assert_int_equal(run_rings(chip, NULL, await_for_ever, &status, false), TERN_ERR_TIMEOUT);
        has_run = said("task 'endless' has run and ends with");
    }
    assert_true(has_run);
    assert_int_equal(status, TERN_ERR_STATE);
    assert_int_equal(tern_chip_code(chip), 8);
    assert_true(fine(run_rings(chip, NULL, set_flag, &flag, false)));
    assert_int_equal(flag, 1);
    assert_true(fine(tern_chip_destroy(chip)));
}

static void a_graph_without_rings_is_given_up_too(void **state)
{
    tern_chip *chip = chip_of(0, 1);
    tern_graph *graph;
    assert_true(fine(tern_graph_create(&graph)));
    assert_true(says(tern_graph_give_up(graph, 9, "why"), TERN_ERR_STATE, "no orchestration"));
    assert_true(fine(tern_chip_orchestrate(chip, graph, give_up, NULL, NULL)));
    assert_true(says(tern_chip_synchronize(chip), TERN_ERR_KERNEL,
                     "EXPLICIT_ORCH_FATAL: I have 3 reasons"));
    assert_int_equal(tern_chip_code(chip), 9);
    assert_true(fine(tern_graph_destroy(graph)) && fine(tern_chip_destroy(chip)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_code_ends_the_run_and_not_the_chip),
        cmocka_unit_test(an_element_that_is_never_written_has_a_code),
        cmocka_unit_test(a_graph_without_rings_is_given_up_too),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
