// SPDX-License-Identifier: Apache-2.0
// What a run says when its orchestration does wrong, or goes on in vain.
#include "support/cmocka.h"

#include <sys/wait.h>

#include "rings_kit.h"

static int returns_a_status(tern_graph *graph, void *arg)
{
    return *(const int *)arg;
}

// Whoever returns a status of its own has no sentence of tern's, and no older one is shown.
static void an_orchestration_need_not_have_a_sentence(void **state)
{
    tern_chip *chip = chip_of(0, 1);
    int statuses[] = {TERN_ERR_MEMORY, TERN_ERR_LIMIT};
    for (int i = 0; i < 2; i++) {
        assert_int_equal(run_rings(chip, NULL, returns_a_status, &statuses[i], false), statuses[i]);
        assert_int_equal(tern_chip_code(chip), 9);
        assert_true(said("EXPLICIT_ORCH_FATAL: the orchestration returned TERN_ERR_"));
        assert_false(strstr(tern_last_error(), "returned TERN_ERR_LIMIT: ") != NULL);
    }
    assert_true(said("returned TERN_ERR_LIMIT; "));
    assert_true(fine(tern_chip_destroy(chip)));
}

struct held {
    tern_comm *comm;
    tern_window *window;
};

// Rank 1 gives up when rank 0 has begun; rank 0 submits a task that waits when it knows that.
static int give_up_or_wait(tern_graph *graph, void *arg)
{
    const struct held *held = arg;
    tern_condition condition = {.window = held->window, .cmp = TERN_CMP_GE, .value = 1};
    tern_submission submission = {.task = {.kernel = do_nothing, .core = TERN_CORE_AIV},
                                  .waits = &condition,
                                  .waits_count = 1};
    if (tern_comm_rank(held->comm) == 1) {
        TRY(tern_signal_wait(held->window, 64, TERN_CMP_GE, 1, TERN_TIMEOUT_DEFAULT));
        return tern_graph_give_up(graph, 9, "rank 1 has had enough");
    }
    TRY(tern_signal_notify(held->window, 1, 64, 1, TERN_NOTIFY_ADD));
    while (tern_comm_health(held->comm) == TERN_OK) {
        sleep_ns(MS);
    }
    return tern_graph_submit(graph, &submission, NULL);
}

static int one_of_two_gives_up(tern_comm *comm, void *arg)
{
    struct held held = {.comm = comm};
    tern_chip *chip;
    tern_graph *graph;
    CHECK(fine(tern_window_create(comm, 4096, NULL, &held.window)));
    CHECK(fine(tern_chip_create(comm, &(tern_chip_options){.aiv_count = 1}, &chip)));
    CHECK(fine(tern_graph_create_rings(NULL, &graph)));
    CHECK(fine(tern_chip_orchestrate(chip, graph, give_up_or_wait, &held, NULL)));
    CHECK(tern_chip_synchronize(chip) == TERN_ERR_KERNEL);
    CHECK(said("rank 1 has had enough"));
    CHECK(!said("INVALID_ARGS"));
    CHECK(tern_chip_code(chip) == (tern_comm_rank(comm) == 1 ? 9 : 0));
    CHECK(fine(tern_chip_destroy(chip)));
    CHECK(fine(tern_graph_destroy(graph)));
    CHECK(fine(tern_window_destroy(held.window)));
    return 0;
}

static void a_failure_of_a_peer_is_no_wrong_argument(void **state)
{
    assert_true(ranks_run_comm(2, one_of_two_gives_up, NULL, 30));
}

struct use {
    bool inside;   // the scope, or behind it
    bool element;  // one element, or as an argument
    bool not_made; // the region names a task that there is not
};

// Uses an output of an inner scope, and in that scope one of the outer scope.
static int use_output(tern_graph *graph, void *arg)
{
    const struct use *use = arg;
    const tern_task task = {.name = "task", .kernel = do_nothing, .core = TERN_CORE_AIV};
    const uint32_t index = 0;
    uint64_t value;
    tern_region outer = row_of(NULL, 4, TERN_REGION_F32);
    tern_region inner = outer;
    tern_task_arg args[] = {region_arg(TERN_OUT, &outer)};
    TRY(submit(graph, &task, args, 1, NULL));
    TRY(tern_graph_scope_begin(graph, TERN_SCOPE_AUTO));
    args[0] = region_arg(TERN_OUT, &inner);
    TRY(submit(graph, &task, args, 1, NULL));
    args[0] = region_arg(TERN_INOUT, &outer);
    TRY(submit(graph, &task, args, 1, NULL));
    args[0] = region_arg(TERN_IN, &inner);
    if (!use->inside) {
        TRY(tern_graph_scope_end(graph));
    }
    if (use->not_made) {
        inner.owner = 1000;
    }
    if (use->element) {
        TRY(tern_graph_get_element(graph, &inner, &index, &value));
    } else {
        TRY(submit(graph, &task, args, 1, NULL));
    }
    return use->inside ? tern_graph_scope_end(graph) : TERN_OK;
}

static void an_output_is_not_used_behind_its_scope(void **state)
{
    const tern_ring_options upstream = {.flags = TERN_RINGS_UPSTREAM};
    tern_chip *chip = chip_of(0, 2);
    for (int i = 0; i < 20; i++) { // whether its task has finished, or not
        struct use use = {.inside = true, .element = i % 4 > 1};
        assert_int_equal(run_rings(chip, NULL, use_output, &use, i % 2), TERN_OK);
        use.inside = false;
        assert_int_equal(run_rings(chip, &upstream, use_output, &use, i % 2), TERN_OK);
        assert_int_equal(run_rings(chip, NULL, use_output, &use, i % 2), TERN_ERR_ARG);
        assert_int_equal(tern_chip_code(chip), 5);
        assert_true(said("the region's memory is that of an output whose scope has ended"));
        use.not_made = true;
        assert_int_equal(run_rings(chip, i % 3 ? NULL : &upstream, use_output, &use, i % 2),
                         TERN_ERR_ARG);
        assert_true(said("there is no task 0x3e8"));
    }
    assert_true(fine(tern_chip_destroy(chip)));
}

struct runs {
    tern_graph *other;
    int count, seen[4], kernels[4];
};

static void note_run(int64_t *args)
{
    *(int *)pointer(args[0]) = tern_kernel_run();
}

static int note_runs(tern_graph *graph, void *arg)
{
    struct runs *runs = arg;
    const int at = runs->count++;
    const tern_task task = {.kernel = note_run, .core = TERN_CORE_AIV};
    const tern_task_arg args[] = {scalar_arg(word(&runs->kernels[at]))};
    runs->seen[at] = tern_graph_run(graph);
    if (tern_graph_run(runs->other) != TERN_ERR_STATE || tern_graph_run(NULL) != TERN_ERR_ARG) {
        return TERN_ERR_ARG;
    }
    return submit(graph, &task, args, 1, NULL);
}

static int note_run_on_the_chip(tern_graph *graph, void *arg)
{
    *(int *)arg = tern_graph_run(graph);
    return TERN_OK;
}

static void an_orchestration_knows_its_run(void **state)
{
    tern_chip *chip = chip_of(0, 1);
    tern_graph *graph;
    struct runs runs = {0};
    int on_the_chip = -1;
    assert_true(fine(tern_graph_create_rings(NULL, &graph)));
    assert_true(fine(tern_graph_create(&runs.other)));
    for (int i = 0; i < 4; i++) { // queued two at a time
        assert_true(fine(tern_chip_orchestrate(chip, graph, note_runs, &runs, NULL)));
        assert_true(i % 2 == 0 || fine(tern_chip_synchronize(chip)));
    }
    for (int i = 0; i < 4; i++) {
        assert_int_equal(runs.seen[i], i);
        assert_int_equal(runs.kernels[i], i);
    }
    assert_int_equal(tern_graph_run(graph), TERN_ERR_STATE);
    assert_true(said("the caller is no orchestration of the graph"));
    assert_true(
        fine(tern_chip_orchestrate(chip, runs.other, note_run_on_the_chip, &on_the_chip, NULL)));
    assert_true(fine(tern_chip_synchronize(chip)));
    assert_int_equal(on_the_chip, 0);
    assert_true(fine(tern_graph_destroy(runs.other)));
    assert_true(fine(tern_graph_destroy(graph)));
    assert_true(fine(tern_chip_destroy(chip)));
}

static void wait_for_go(int64_t *args)
{
    while (atomic_load((_Atomic int *)pointer(args[0])) == 0) {
        sleep_ns(MS);
    }
}

// In the child; 0: each call that would use the chip was refused.
static int use_in_a_fork(tern_chip *chip, tern_graph *graph)
{
    CHECK(tern_chip_launch(chip, graph) == TERN_ERR_STATE && said("is a fork of process"));
    CHECK(tern_chip_synchronize(chip) == TERN_ERR_STATE && said("is a fork of process"));
    CHECK(tern_graph_run(graph) == TERN_ERR_STATE);
    return 0;
}

static void a_fork_does_not_use_a_chip_that_runs(void **state)
{
    tern_chip *chip = chip_of(0, 1);
    tern_graph *graph;
    _Atomic int go = 0;
    int status = -1;
    assert_true(fine(tern_graph_create(&graph)));
    assert_int_equal(add_task(graph, "held", wait_for_go, TERN_CORE_AIV, word(&go), 0), 0);
    assert_true(fine(tern_chip_launch(chip, graph)));
    const pid_t child = fork();
    if (child == 0) {
        alarm(20);
        _exit(use_in_a_fork(chip, graph));
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    atomic_store(&go, 1);
    assert_true(fine(tern_chip_synchronize(chip)));
    assert_true(fine(tern_chip_launch(chip, graph))); // the parent goes on
    assert_true(fine(tern_chip_synchronize(chip)));
    assert_true(fine(tern_graph_destroy(graph)));
    assert_true(fine(tern_chip_destroy(chip)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_orchestration_knows_its_run),
        cmocka_unit_test(a_fork_does_not_use_a_chip_that_runs),
        cmocka_unit_test(an_orchestration_need_not_have_a_sentence),
        cmocka_unit_test(a_failure_of_a_peer_is_no_wrong_argument),
        cmocka_unit_test(an_output_is_not_used_behind_its_scope),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
