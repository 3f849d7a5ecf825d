// SPDX-License-Identifier: Apache-2.0
// Order: random acyclic graphs on chips of many shapes. Every task checks that all of its
// predecessors have finished and that it sees their plain writes; the host checks that every task
// ran exactly once, on a core of its kind, with its own arguments.
#include "support/cmocka.h"
#include <pthread.h>
#include <stdlib.h>

#include "kit.h"

enum { TASKS_MAX = 2000, FANIN_MAX = 8, CORES_MAX = 6, RUNS = 3 };

// What a task leaves for those after it: plain memory.
struct node {
    uint64_t value;
    int calls;
    int fanin;
    uint32_t predecessors[FANIN_MAX];
    tern_core core;
};

// What the tasks of one core share: plain memory, since a core runs one task at a time.
struct seat {
    pthread_t thread;
    int tasks;
};

static struct node nodes[TASKS_MAX];
static struct seat seats[2][CORES_MAX];
static int seats_count[2];

static uint64_t mix(uint64_t a, uint64_t b)
{
    uint64_t state = a * 31 + b;
    return random_next(&state);
}

// What the task must compute in a run, from its predecessors' values.
static uint64_t value_of(uint32_t index, int run)
{
    uint64_t value = mix(index, (uint64_t)run);
    for (int i = 0; i < nodes[index].fanin; i++) {
        value = mix(value, nodes[nodes[index].predecessors[i]].value);
    }
    return value;
}

static bool take_seat(const struct node *node)
{
    int core = tern_kernel_core();
    if (core < 0 || core >= seats_count[node->core]) {
        tern_kernel_fail("core %d of kind %d does not exist", core, (int)node->core);
        return false;
    }
    struct seat *seat = &seats[node->core][core];
    if (seat->tasks++ == 0) {
        seat->thread = pthread_self();
    }
    if (!pthread_equal(seat->thread, pthread_self())) {
        tern_kernel_fail("core %d of kind %d is two threads", core, (int)node->core);
        return false;
    }
    return true;
}

static void visit(int64_t *args)
{
    uint32_t index = (uint32_t)args[0];
    struct node *node = &nodes[index];
    int run = tern_kernel_run();
    if (!take_seat(node)) {
        return;
    }
    if (args[1] != args[0] * 3 + 1) {
        tern_kernel_fail("task %u has the arguments of another or of an earlier run", index);
        return;
    }
    args[1] = -1; // the copy is this run's own
    if (node->calls != run) {
        tern_kernel_fail("task %u starts its call %d in run %d", index, node->calls, run);
        return;
    }
    for (int i = 0; i < node->fanin; i++) {
        uint32_t before = node->predecessors[i];
        if (nodes[before].calls != run + 1) {
            tern_kernel_fail("task %u starts before task %u has finished", index, before);
            return;
        }
    }
    node->value = value_of(index, run);
    node->calls++;
}

// Edges only go from lower to higher ranks of a random order of the ids.
static tern_graph *random_graph(uint64_t *state, uint32_t count, int kinds)
{
    static uint32_t order[TASKS_MAX];
    tern_graph *graph;
    assert_true(fine(tern_graph_create(&graph)));
    memset(nodes, 0, sizeof nodes);
    for (uint32_t i = 0; i < count; i++) {
        nodes[i].core = kinds == 2 ? (tern_core)random_below(state, 2) : TERN_CORE_AIV;
        assert_int_equal(add_task(graph, NULL, visit, nodes[i].core, i, i * 3 + 1), i);
        order[i] = i;
    }
    for (uint32_t i = count - 1; i > 0; i--) {
        uint32_t other = (uint32_t)random_below(state, i + 1);
        uint32_t swap = order[i];
        order[i] = order[other];
        order[other] = swap;
    }
    uint32_t reach = 1 + (uint32_t)random_below(state, random_below(state, 2) ? 10 : count);
    for (uint32_t i = 1; i < count; i++) {
        struct node *node = &nodes[order[i]];
        int fanin = (int)random_below(state, FANIN_MAX + 1);
        for (int edge = 0; edge < fanin; edge++) {
            uint32_t back = 1 + (uint32_t)random_below(state, reach < i ? reach : i);
            node->predecessors[node->fanin++] = order[i - back]; // some of them twice
            assert_true(fine(tern_graph_add_edge(graph, (int)order[i - back], (int)order[i])));
        }
    }
    return graph;
}

static void check_run(uint32_t count, int run)
{
    for (uint32_t i = 0; i < count; i++) {
        assert_int_equal(nodes[i].calls, run + 1);
        assert_true(nodes[i].value == value_of(i, run));
    }
    for (int kind = 0; kind < 2; kind++) {
        for (int i = 0; i < seats_count[kind]; i++) {
            for (int other = 0; other < i; other++) {
                assert_true(seats[kind][i].tasks == 0 || seats[kind][other].tasks == 0 ||
                            !pthread_equal(seats[kind][i].thread, seats[kind][other].thread));
            }
        }
    }
}

static void run_random(uint64_t seed, uint32_t count)
{
    uint64_t state = seed;
    int aic = (int)random_below(&state, CORES_MAX + 1);
    int aiv = 1 + (int)random_below(&state, CORES_MAX);
    tern_chip *chip;
    tern_graph *graph = random_graph(&state, count, aic > 0 ? 2 : 1);
    memset(seats, 0, sizeof seats);
    seats_count[TERN_CORE_AIC] = aic;
    seats_count[TERN_CORE_AIV] = aiv;
    tern_chip_options options = {.aic_count = aic, .aiv_count = aiv};
    assert_true(fine(tern_chip_create(NULL, &options, &chip)));
    for (int run = 0; run < RUNS; run++) {
        assert_true(fine(tern_chip_launch(chip, graph)));
        int status = tern_chip_synchronize(chip);
        if (status != TERN_OK) {
            print_message("seed %llu\n", (unsigned long long)seed);
        }
        assert_true(fine(status));
        check_run(count, run);
    }
    assert_true(fine(tern_chip_destroy(chip)));
    assert_true(fine(tern_graph_destroy(graph)));
}

static void small_random_graphs_run_in_order(void **state)
{
    for (uint64_t seed = 1; seed <= 120; seed++) {
        run_random(seed, 1 + (uint32_t)seed % 60);
    }
}

static void large_random_graphs_run_in_order(void **state)
{
    for (uint64_t seed = 1001; seed <= 1010; seed++) {
        run_random(seed, seed == 1010 ? TASKS_MAX : 500 + 150 * (uint32_t)(seed % 10));
    }
}

// Sums all arguments and overwrites them.
static void use_args(int64_t *args)
{
    int64_t sum = 0;
    for (int i = 0; i < TERN_TASK_ARGS_MAX - 1; i++) {
        sum += args[i];
        args[i] = INT64_MIN;
    }
    *(int64_t *)pointer(args[TERN_TASK_ARGS_MAX - 1]) += sum;
    args[TERN_TASK_ARGS_MAX - 1] = 0;
}

static void arguments_are_a_private_copy_for_each_run(void **state)
{
    enum { TASKS = 20, LAUNCHES = 10 };
    int64_t sums[TASKS] = {0};
    int64_t args[TERN_TASK_ARGS_MAX];
    tern_graph *graph;
    tern_chip *chip;
    assert_true(fine(tern_graph_create(&graph)));
    for (int task = 0; task < TASKS; task++) {
        for (int i = 0; i < TERN_TASK_ARGS_MAX - 1; i++) {
            args[i] = task * 1000 + i;
        }
        args[TERN_TASK_ARGS_MAX - 1] = word(&sums[task]);
        assert_true(fine(tern_graph_add_task(
            graph, &(tern_task){.kernel = use_args, .args = args, .args_count = 48}, NULL)));
        memset(args, 0xff, sizeof args); // they have been copied
    }
    assert_true(fine(tern_chip_create(NULL, NULL, &chip)));
    for (int run = 0; run < LAUNCHES; run++) {
        assert_true(fine(tern_chip_launch(chip, graph)));
        assert_true(fine(tern_chip_synchronize(chip)));
    }
    assert_true(fine(tern_chip_destroy(chip)));
    assert_true(fine(tern_graph_destroy(graph)));
    for (int task = 0; task < TASKS; task++) {
        assert_int_equal(sums[task], LAUNCHES * (47 * 1000 * task + 46 * 47 / 2));
    }
}

// All cores of a kind must be inside at the same time.
static void meet(int64_t *args)
{
    _Atomic int *inside = pointer(args[0]);
    int64_t deadline = clock_ns() + 20000 * MS;
    atomic_fetch_add(inside, 1);
    while (atomic_load(inside) < args[1]) {
        if (clock_ns() > deadline) {
            tern_kernel_fail("only %d of %d are here", atomic_load(inside), (int)args[1]);
            return;
        }
        sleep_ns(MS / 10);
    }
}

static void all_cores_work_at_once(void **state)
{
    _Atomic int inside = 0;
    tern_graph *graph;
    tern_chip *chip;
    assert_true(fine(tern_graph_create(&graph)));
    for (int i = 0; i < 11; i++) {
        add_task(graph, NULL, meet, i < 5 ? TERN_CORE_AIC : TERN_CORE_AIV, word(&inside), 11);
    }
    tern_chip_options options = {.aic_count = 5, .aiv_count = 6};
    assert_true(fine(tern_chip_create(NULL, &options, &chip)));
    assert_true(fine(tern_chip_launch(chip, graph)));
    assert_true(fine(tern_chip_synchronize(chip)));
    assert_true(fine(tern_chip_destroy(chip)));
    assert_true(fine(tern_graph_destroy(graph)));
}

static void outside_a_kernel_there_is_no_core(void **state)
{
    assert_int_equal(tern_kernel_core(), 0);
    assert_int_equal(tern_kernel_run(), 0);
    tern_kernel_fail("nobody hears this");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(small_random_graphs_run_in_order),
        cmocka_unit_test(large_random_graphs_run_in_order),
        cmocka_unit_test(arguments_are_a_private_copy_for_each_run),
        cmocka_unit_test(all_cores_work_at_once),
        cmocka_unit_test(outside_a_kernel_there_is_no_core),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
