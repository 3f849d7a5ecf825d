// SPDX-License-Identifier: Apache-2.0
// What programs should not do, and what they may do and rarely do: wrong handles and numbers, calls
// at the wrong time, launches behind launches of another size, kernels and orchestrations that do
// not return. All of it ends with a sentence, and the chip and the process go on.
#include "support/cmocka.h"

#include <limits.h>
#include <sched.h>
#include <stdlib.h>

#include "rings_kit.h"

static void nap(int64_t *args)
{
    sleep_ns(args[0]);
    if (args[1] != 0) {
        count_call(args + 1);
    }
}

// Runs until it is released: args are the word that says so, and the counter.
static void be_held(int64_t *args)
{
    while (atomic_load((_Atomic int *)pointer(args[0])) == 0) {
        sleep_ns(MS);
    }
    count_call(args + 1);
}

static tern_graph *held_graph(_Atomic int *released, _Atomic int *calls)
{
    tern_graph *graph;
    assert_true(fine(tern_graph_create(&graph)));
    int task = add_task(graph, "held", be_held, TERN_CORE_AIV, word(released), word(calls));
    assert_int_equal(task, 0);
    return graph;
}

static tern_graph *graph_of(int tasks, int64_t nap_ns, _Atomic int *calls)
{
    tern_graph *graph;
    assert_true(fine(tern_graph_create(&graph)));
    for (int i = 0; i < tasks; i++) {
        assert_true(add_task(graph, "naps", nap, TERN_CORE_AIV, nap_ns, word(calls)) == i);
    }
    return graph;
}

// The queue of ready tasks grows when a larger graph is launched; a graph that runs is in the old.
static void a_large_graph_is_launched_behind_one_that_runs(void **state)
{
    _Atomic int calls = 0;
    tern_chip *chip = chip_within(0, 2, 10000 * MS);
    tern_graph *small = graph_of(40, MS, &calls);
    tern_graph *large = graph_of(5000, 0, &calls);
    assert_true(fine(tern_chip_launch(chip, small)));
    sleep_ns(5 * MS);
    assert_true(fine(tern_chip_launch(chip, large)));
    assert_true(fine(tern_chip_launch(chip, small)));
    assert_true(fine(tern_chip_synchronize(chip)));
    assert_int_equal(calls, 5080);
    assert_true(fine(tern_chip_destroy(chip)));
    assert_true(fine(tern_graph_destroy(small)));
    assert_true(fine(tern_graph_destroy(large)));
}

static int submit_naps(tern_graph *graph, void *arg)
{
    for (int i = 0; i < 50; i++) {
        tern_task task = {.core = TERN_CORE_AIV, .kernel = nap};
        tern_task_arg args[] = {scalar_arg(0), scalar_arg(word(arg))};
        TRY(submit(graph, &task, args, 2, NULL));
    }
    return TERN_OK;
}

static int add_naps(tern_graph *graph, void *arg)
{
    for (int i = 0; i < 50; i++) {
        int id = add_task(graph, "naps", nap, TERN_CORE_AIV, 0, word(arg));
        TRY(id < 0 ? id : TERN_OK);
        TRY(tern_graph_publish(graph, id));
    }
    return TERN_OK;
}

enum { MIXED = TERN_CHIP_LAUNCHES_MAX };

static void as_many_launches_as_there_may_be_of_all_kinds(void **state)
{
    _Atomic int calls = 0;
    _Atomic int released = 0;
    tern_chip *chip = chip_of(0, 2);
    tern_graph *host = graph_of(50, 0, &calls);
    tern_graph *first = held_graph(&released, &calls);
    tern_graph *rings;
    tern_graph *chips[MIXED] = {NULL};
    assert_true(fine(tern_graph_create_rings(NULL, &rings)));
    assert_true(fine(tern_chip_launch(chip, first)));
    for (int i = 1; i < MIXED; i++) {
        if (i % 3 == 0) {
            assert_true(fine(tern_graph_create(&chips[i])));
            assert_true(fine(tern_chip_orchestrate(chip, chips[i], add_naps, &calls, NULL)));
        } else if (i % 3 == 1) {
            assert_true(fine(tern_chip_launch(chip, host)));
        } else {
            assert_true(fine(tern_chip_orchestrate(chip, rings, submit_naps, &calls, NULL)));
        }
    }
    assert_true(says(tern_chip_launch(chip, host), TERN_ERR_LIMIT, "have not ended"));
    assert_true(says(tern_graph_destroy(rings), TERN_ERR_STATE, "running"));
    assert_true(says(tern_graph_destroy(chips[3]), TERN_ERR_STATE, "running"));
    released = 1;
    assert_true(fine(tern_chip_synchronize(chip)));
    assert_int_equal(calls, 50 * (MIXED - 1) + 1);
    // Destroyed while they are queued: finished first.
    for (int i = 0; i < 100; i++) {
        assert_true(fine(i % 2 == 0
                             ? tern_chip_launch(chip, host)
                             : tern_chip_orchestrate(chip, rings, submit_naps, &calls, NULL)));
    }
    assert_true(fine(tern_chip_destroy(chip)));
    assert_int_equal(calls, 50 * (MIXED - 1) + 1 + 5000);
    for (int i = 0; i < MIXED; i++) {
        assert_true(fine(tern_graph_destroy(chips[i])));
    }
    assert_true(fine(tern_graph_destroy(host)));
    assert_true(fine(tern_graph_destroy(first)));
    assert_true(fine(tern_graph_destroy(rings)));
}

// A graph that an orchestration builds, or will, is changed by nobody else.
static void a_graph_of_an_orchestration_is_closed_to_others(void **state)
{
    _Atomic int calls = 0;
    _Atomic int released = 0;
    tern_chip *chip = chip_of(0, 1);
    tern_graph *first = held_graph(&released, &calls);
    tern_graph *graph;
    tern_graph *full = graph_of(1, 0, &calls);
    assert_true(fine(tern_graph_create(&graph)));
    assert_true(fine(tern_chip_launch(chip, first)));
    assert_true(fine(tern_chip_orchestrate(chip, graph, add_naps, &calls, NULL)));
    assert_true(add_task(graph, "late", nap, TERN_CORE_AIV, 0, word(&calls)) == TERN_ERR_STATE);
    assert_true(
        says(tern_chip_orchestrate(chip, graph, add_naps, &calls, NULL), TERN_ERR_STATE, "once"));
    assert_true(says(tern_chip_launch(chip, graph), TERN_ERR_STATE, "orchestrate"));
    released = 1;
    assert_true(fine(tern_chip_synchronize(chip)));
    assert_int_equal(calls, 51);
    assert_true(add_task(graph, "late", nap, TERN_CORE_AIV, 0, word(&calls)) == TERN_ERR_STATE);
    assert_int_equal(tern_graph_add_edge(graph, 0, 1), TERN_ERR_STATE);
    assert_int_equal(tern_graph_task_count(graph), 50);
    assert_true(says(tern_chip_launch(chip, graph), TERN_ERR_STATE, "orchestrate"));
    assert_true(says(tern_chip_orchestrate(chip, full, add_naps, &calls, NULL), TERN_ERR_STATE,
                     "has tasks already"));
    assert_true(fine(tern_chip_launch(chip, full))); // that changed nothing
    assert_true(fine(tern_chip_synchronize(chip)));
    assert_true(fine(tern_chip_destroy(chip)));
    assert_true(fine(tern_graph_destroy(graph)));
    assert_true(fine(tern_graph_destroy(first)));
    assert_true(fine(tern_graph_destroy(full)));
}

static void calls_outside_of_orchestrations_are_refused(void **state)
{
    int32_t cell = 0;
    uint64_t value = 7;
    const uint32_t index = 0;
    tern_graph *rings;
    tern_graph *plain;
    tern_graph *gone = NULL;
    tern_submission nothing = {.task = {.core = TERN_CORE_NONE}};
    tern_region region = row_of(&cell, 1, TERN_REGION_I32);
    tern_ring_marks marks;
    assert_true(fine(tern_graph_create_rings(NULL, &rings)));
    assert_true(fine(tern_graph_create(&plain)));
    tern_graph *graphs[] = {rings, plain, gone, (tern_graph *)(void *)&region};
    for (int i = 0; i < 4; i++) {
        tern_graph *graph = graphs[i];
        int wanted = i < 2 ? TERN_ERR_STATE : TERN_ERR_ARG;
        assert_int_equal(tern_graph_submit(graph, &nothing, NULL), wanted);
        assert_int_equal(tern_graph_submit(graph, NULL, NULL), wanted);
        assert_int_equal(tern_graph_scope_begin(graph, TERN_SCOPE_AUTO), wanted);
        assert_int_equal(tern_graph_scope_end(graph), wanted);
        assert_int_equal(tern_graph_get_element(graph, &region, &index, &value), wanted);
        assert_int_equal(tern_graph_set_element(graph, &region, &index, 1), wanted);
        assert_int_equal(tern_graph_give_up(graph, 9, "why"), wanted);
        assert_false(tern_graph_is_fatal(graph));
        assert_int_equal(tern_graph_marks(graph, &marks), i == 0 ? TERN_OK : TERN_ERR_ARG);
    }
    assert_int_equal(value, 7);
    assert_int_equal(cell, 0);
    assert_int_equal(tern_graph_marks(rings, NULL), TERN_ERR_ARG);
    assert_int_equal(tern_graph_create_rings(NULL, NULL), TERN_ERR_ARG);
    assert_true(add_task(rings, "late", nap, TERN_CORE_AIV, 0, 0) == TERN_ERR_STATE);
    assert_true(says(tern_graph_publish(plain, 0), TERN_ERR_ARG, "no task"));
    assert_int_equal(tern_chip_orchestrate(NULL, rings, submit_naps, NULL, NULL), TERN_ERR_ARG);
    tern_chip *chip = chip_of(0, 1);
    assert_int_equal(tern_chip_orchestrate(chip, NULL, submit_naps, NULL, NULL), TERN_ERR_ARG);
    assert_int_equal(tern_chip_orchestrate(chip, rings, NULL, NULL, NULL), TERN_ERR_ARG);
    assert_true(says(tern_chip_launch(chip, rings), TERN_ERR_STATE, "tern_chip_orchestrate"));
    assert_true(fine(tern_chip_destroy(chip)));
    assert_true(fine(tern_graph_destroy(rings)));
    assert_true(fine(tern_graph_destroy(plain)));
}

static void sizes_of_rings_are_checked(void **state)
{
    static const tern_ring_options bad[] = {{.window = {3}},
                                            {.window = {2}},
                                            {.window = {48}},
                                            {.heap = {1023}},
                                            {.edges = {3}},
                                            {.regions = {1}},
                                            {.flags = 2},
                                            {.window = {UINT32_MAX}},
                                            {.window = {1u << 31}},
                                            {.heap = {UINT64_MAX}},
                                            {.edges = {UINT32_MAX}},
                                            {.regions = {UINT32_MAX}},
                                            {.window = {4, 5, 4, 4}}};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        tern_graph *graph = NULL;
        assert_int_equal(tern_graph_create_rings(&bad[i], &graph), TERN_ERR_ARG);
        assert_true(said("tern_graph_create_rings: "));
        assert_null(graph);
    }
    const char *const texts[] = {"3",  "x", "4,4", "8,8,8,8,8",
                                 "-4", "",  "4x",  "99999999999999999999"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        tern_graph *graph = NULL;
        setenv("TERN_RING_WINDOW", texts[i], 1);
        int status = tern_graph_create_rings(NULL, &graph);
        print_message("TERN_RING_WINDOW='%s': %d %s\n", texts[i], status, tern_last_error());
        assert_true(status == (texts[i][0] != '\0' ? TERN_ERR_ARG : TERN_OK));
        assert_true(fine(tern_graph_destroy(graph)));
        unsetenv("TERN_RING_WINDOW");
    }
}

// Each in a run of its own, since the first wrong call ends it.
struct wrong {
    tern_submission submission;
    int status;
    const char *words;
};

static int submit_wrong(tern_graph *graph, void *arg)
{
    const struct wrong *wrong = arg;
    tern_task_id id = 77;
    int status = tern_graph_submit(graph, &wrong->submission, &id);
    return status == wrong->status && id == 77 ? status : TERN_OK;
}

#define WRONG(code, text, ...)                                                                     \
    wrongs[count++] = (struct wrong)                                                               \
    {                                                                                              \
        .submission = __VA_ARGS__, .status = (code), .words = (text)                               \
    }

static void assert_wrong(const struct wrong *wrongs, int count)
{
    tern_chip *chip = chip_of(0, 1);
    for (int i = 0; i < count; i++) {
        struct wrong wrong = wrongs[i];
        int status = run_rings(chip, NULL, submit_wrong, &wrong, i % 2 != 0);
        if (!says(status, wrong.status, wrong.words)) {
            fprintf(stderr, "wrong submission %d\n", i);
            fail();
        }
    }
    assert_true(fine(tern_chip_destroy(chip)));
}

static void wrong_submissions_end_the_run(void **state)
{
    static int64_t memory[64];
    static uint32_t odd[3];
    tern_region fine_region = row_of(memory, 64, TERN_REGION_I64);
    tern_region empty = row_of(NULL, 64, TERN_REGION_I64);
    tern_region endless = empty;
    tern_region outside = fine_region;
    tern_region untyped = fine_region;
    tern_region flat = fine_region;
    tern_region foreign = fine_region;
    endless.buffer_bytes = UINT64_MAX;
    outside.start = 60;
    outside.shape[0] = 5;
    untyped.dtype = 11;
    flat.ndims = 0;
    foreign.owner = 5;
    tern_predicate predicates[] = {
        {.address = NULL, .dtype = TERN_I32},
        {.address = (const char *)odd + 1, .dtype = TERN_I32},
        {.address = odd, .dtype = TERN_F16},
        {.address = odd, .dtype = TERN_I32, .cmp = (tern_cmp)6},
        {.address = odd, .dtype = (tern_dtype)99},
    };
    tern_task_arg args[40];
    for (int i = 0; i < 40; i++) {
        args[i] = scalar_arg(i);
    }
    tern_task_arg regions[33];
    for (int i = 0; i < 33; i++) {
        regions[i] = region_arg(TERN_IN, &fine_region);
    }
    tern_task_arg one[] = {region_arg(TERN_IN, NULL),     region_arg((tern_access)6, &fine_region),
                           region_arg(TERN_IN, &empty),   region_arg(TERN_OUT, &endless),
                           region_arg(TERN_IN, &outside), region_arg(TERN_INOUT, &untyped),
                           region_arg(TERN_IN, &flat),    region_arg(TERN_IN, &foreign)};
    const tern_task_id ids[] = {0, TERN_TASK_ID_NONE, UINT64_C(4) << 32, UINT64_C(1) << 32};
    tern_task good = {.core = TERN_CORE_AIV, .kernel = do_nothing};
    tern_task none = {.core = TERN_CORE_NONE};
    struct wrong wrongs[48];
    int count = 0;
    for (int i = 0; i < 8; i++) {
        WRONG(i == 3 ? TERN_ERR_LIMIT : TERN_ERR_ARG, i == 3 ? "HEAP_RING" : "INVALID_ARGS",
              {.task = none, .args = &one[i], .args_count = 1});
    }
    for (int i = 0; i < 4; i++) {
        WRONG(TERN_ERR_ARG, "there is no task", {.task = none, .after = &ids[i], .after_count = 1});
    }
    for (int i = 0; i < 5; i++) {
        tern_task gated = good;
        gated.predicate = &predicates[i];
        WRONG(TERN_ERR_ARG, "the predicate compares", {.task = gated});
    }
    WRONG(TERN_ERR_ARG, "arguments", {.task = good, .args_count = 1});
    WRONG(TERN_ERR_ARG, "-1 arguments", {.task = good, .args_count = -1});
    WRONG(TERN_ERR_ARG, "49 arguments", {.task = good, .args = args, .args_count = 49});
    WRONG(TERN_ERR_LIMIT, "33 scalars", {.task = good, .args = args, .args_count = 33});
    WRONG(TERN_ERR_LIMIT, "33 regions", {.task = good, .args = regions, .args_count = 33});
    WRONG(TERN_ERR_ARG, "after -1", {.task = none, .after = ids, .after_count = -1});
    WRONG(TERN_ERR_ARG, "after", {.task = none, .after = ids, .after_count = INT_MAX});
    WRONG(TERN_ERR_ARG, "waits", {.task = none, .waits_count = 1});
    WRONG(TERN_ERR_ARG, "waits", {.task = none, .waits_count = 65});
    WRONG(TERN_ERR_ARG, "", {.task = none, .waits = &(tern_condition){0}, .waits_count = 1});
    assert_wrong(wrongs, count);
}

static void submissions_of_wrong_tasks_end_the_run(void **state)
{
    struct wrong wrongs[24];
    int count = 0;
    WRONG(TERN_ERR_ARG, "neither a kernel", {.task = {.core = TERN_CORE_AIV}});
    WRONG(TERN_ERR_ARG, "NONE", {.task = {.core = TERN_CORE_NONE, .kernel = do_nothing}});
    WRONG(TERN_ERR_ARG, "1 kernels",
          {.task = {.core = TERN_CORE_MIX, .mix = {NULL, do_nothing, NULL}}});
    WRONG(TERN_ERR_ARG, "has a kernel", {.task = {.core = TERN_CORE_MIX, .kernel = do_nothing}});
    WRONG(TERN_ERR_ARG, "no kind of core", {.task = {.core = (tern_core)4, .kernel = do_nothing}});
    WRONG(TERN_ERR_ARG, "no kind of core", {.task = {.core = (tern_core)-1, .kernel = do_nothing}});
    WRONG(TERN_ERR_LIMIT, "-3 blocks",
          {.task = {.core = TERN_CORE_AIV, .kernel = do_nothing, .blocks = -3}});
    WRONG(TERN_ERR_LIMIT, "65537 blocks",
          {.task = {.core = TERN_CORE_AIV, .kernel = do_nothing, .blocks = 65537}});
    WRONG(TERN_ERR_LIMIT, "together",
          {.task = {.core = TERN_CORE_AIV, .kernel = do_nothing, .blocks = 2, .sync_start = true}});
    WRONG(TERN_ERR_KERNEL, "needs an AIC", {.task = {.core = TERN_CORE_AIC, .kernel = do_nothing}});
    WRONG(TERN_ERR_KERNEL, "cluster",
          {.task = {.core = TERN_CORE_MIX, .mix = {do_nothing, do_nothing}}});
    WRONG(TERN_ERR_KERNEL, "no kernel 'gone'",
          {.task = {.core = TERN_CORE_AIV, .kernel_name = "gone"}});
    assert_wrong(wrongs, count);
}

static void waits_of_a_task_without_a_kernel(void **state)
{
    enum { WAITS = 3000 };
    // Without a communicator there are no windows: what is added is refused or checked, not used.
    tern_graph *graph;
    int id;
    assert_true(fine(tern_graph_create(&graph)));
    assert_true(fine(tern_graph_add_task(graph, &(tern_task){.core = TERN_CORE_NONE}, &id)));
    assert_int_equal(tern_graph_add_wait(graph, id, NULL, 0), TERN_ERR_ARG);
    assert_int_equal(tern_graph_add_wait(graph, id, &(tern_condition){0}, 0), TERN_ERR_ARG);
    assert_true(fine(tern_graph_destroy(graph)));
}

static int many_waits(tern_comm *comm, void *arg)
{
    enum { WAITS = 3000 };
    tern_window *window;
    tern_chip *chip;
    tern_graph *graph;
    CHECK(fine(tern_window_create(comm, 65536, NULL, &window)));
    CHECK(fine(tern_chip_create(comm, &(tern_chip_options){.aiv_count = 1}, &chip)));
    for (int kind = 0; kind < 2; kind++) {
        _Atomic int calls = 0;
        tern_task task = {.core = kind == 0 ? TERN_CORE_NONE : TERN_CORE_AIV};
        task.kernel = kind == 0 ? NULL : do_nothing;
        int id;
        CHECK(fine(tern_graph_create(&graph)));
        CHECK(fine(tern_graph_add_task(graph, &task, &id)));
        int after = add_task(graph, "after", count_call, TERN_CORE_AIV, word(&calls), 0);
        CHECK(fine(tern_graph_add_edge(graph, id, after)));
        for (size_t i = 0; i < WAITS; i++) {
            CHECK(fine(add_wait(graph, id, window, i * 4, 1, 0)));
        }
        CHECK(fine(tern_signal_notify(window, 0, (WAITS - 1) * 4, 0, TERN_NOTIFY_SET)));
        for (size_t i = 0; i + 1 < WAITS; i++) {
            CHECK(fine(tern_signal_notify(window, 0, i * 4, 1, TERN_NOTIFY_SET)));
        }
        CHECK(fine(tern_chip_launch(chip, graph)));
        sleep_ns(20 * MS);
        CHECK(calls == 0);
        CHECK(fine(tern_signal_notify(window, 0, (WAITS - 1) * 4, 1, TERN_NOTIFY_SET)));
        CHECK(fine(tern_chip_synchronize(chip)));
        CHECK(calls == 1);
        CHECK(fine(tern_graph_destroy(graph)));
    }
    CHECK(fine(tern_chip_destroy(chip)));
    CHECK(fine(tern_window_destroy(window)));
    return 0;
}

static void a_task_has_many_waits(void **state)
{
    assert_true(ranks_run_comm(1, many_waits, NULL, 60));
}

static void kernels_are_found_by_name_in_rings_too(void **state)
{
    tern_graph *rings;
    assert_true(fine(tern_graph_create_rings(NULL, &rings)));
    assert_int_equal(tern_graph_load(rings, "/nowhere/at/all.so"), TERN_ERR_KERNEL);
    assert_true(fine(tern_graph_load(rings, TERN_TEST_KERNEL_DIR "/basic.so")));
    assert_true(fine(tern_graph_destroy(rings)));
}

// As many arguments as there may be: the window is full before anything else is.
static int submit_wide(tern_graph *graph, void *arg)
{
    static int64_t memory[TERN_SUBMIT_REGIONS_MAX];
    tern_region regions[TERN_SUBMIT_REGIONS_MAX];
    tern_task_arg args[TERN_TASK_ARGS_MAX];
    tern_task none = {.name = "a name of as many letters as there may be", .core = TERN_CORE_NONE};
    for (int i = 0; i < TERN_TASK_ARGS_MAX; i++) {
        args[i] = scalar_arg(i);
    }
    for (int i = 0; i < TERN_SUBMIT_REGIONS_MAX; i++) {
        regions[i] = row_of(&memory[i], 1, TERN_REGION_I64);
        args[i] = region_arg(TERN_IN, &regions[i]);
    }
    for (int round = 0; round < 20; round++) {
        TRY(tern_graph_scope_begin(graph, TERN_SCOPE_AUTO));
        for (int i = 0; i < *(int *)arg; i++) {
            TRY(submit(graph, &none, args, i % 3 == 0 ? 3 : TERN_TASK_ARGS_MAX, NULL));
        }
        TRY(tern_graph_scope_end(graph));
    }
    return TERN_OK;
}

static void a_window_holds_tasks_of_many_arguments(void **state)
{
    static const int windows[] = {4, 64, 256, 1024};
    for (int i = 0; i < 4; i++) {
        int tasks = windows[i] - 1;
        tern_ring_options options = {.window = {(uint32_t)windows[i]}};
        tern_chip *chip = chip_of(0, 1);
        assert_true(fine(run_rings(chip, &options, submit_wide, &tasks, i % 2 != 0)));
        tasks++;
        assert_true(says(run_rings(chip, &options, submit_wide, &tasks, i % 2 != 0), TERN_ERR_LIMIT,
                         "SCOPE_DEADLOCK"));
        assert_true(fine(tern_chip_destroy(chip)));
    }
}

struct inside {
    tern_chip *chip;
    tern_graph *graph;
    int wrong;
};

static void check_inside(struct inside *inside)
{
    inside->wrong += tern_chip_synchronize(inside->chip) != TERN_ERR_STATE;
    inside->wrong += tern_chip_destroy(inside->chip) != TERN_ERR_STATE;
    inside->wrong += tern_graph_destroy(inside->graph) != TERN_ERR_STATE;
}

static void wait_for_itself(int64_t *args)
{
    struct inside *inside = pointer(args[0]);
    check_inside(inside);
    inside->wrong += submit_naps(inside->graph, NULL) != TERN_ERR_STATE;
}

static int orchestrate_itself(tern_graph *graph, void *arg)
{
    tern_task task = {.core = TERN_CORE_AIV, .kernel = wait_for_itself};
    tern_task_arg args[] = {scalar_arg(word(arg))};
    check_inside(arg);
    return submit(graph, &task, args, 1, NULL);
}

static void a_run_does_not_wait_for_itself(void **state)
{
    struct inside inside = {.chip = chip_of(0, 1)};
    assert_true(fine(tern_graph_create_rings(NULL, &inside.graph)));
    assert_true(
        fine(tern_chip_orchestrate(inside.chip, inside.graph, orchestrate_itself, &inside, NULL)));
    assert_true(fine(tern_chip_synchronize(inside.chip)));
    assert_int_equal(inside.wrong, 0);
    assert_true(fine(tern_chip_destroy(inside.chip)));
    assert_true(fine(tern_graph_destroy(inside.graph)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_run_does_not_wait_for_itself),
        cmocka_unit_test(a_window_holds_tasks_of_many_arguments),
        cmocka_unit_test(a_large_graph_is_launched_behind_one_that_runs),
        cmocka_unit_test(as_many_launches_as_there_may_be_of_all_kinds),
        cmocka_unit_test(a_graph_of_an_orchestration_is_closed_to_others),
        cmocka_unit_test(calls_outside_of_orchestrations_are_refused),
        cmocka_unit_test(sizes_of_rings_are_checked),
        cmocka_unit_test(wrong_submissions_end_the_run),
        cmocka_unit_test(submissions_of_wrong_tasks_end_the_run),
        cmocka_unit_test(waits_of_a_task_without_a_kernel),
        cmocka_unit_test(a_task_has_many_waits),
        cmocka_unit_test(kernels_are_found_by_name_in_rings_too),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
