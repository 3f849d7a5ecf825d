// SPDX-License-Identifier: Apache-2.0
// Chips: creating, launching and ending them in every order; what they cost when idle, and that
// they leave nothing.
#include "support/cmocka.h"
#include <dirent.h>
#include <malloc.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include "kit.h"

static void wait_for_flag(int64_t *args)
{
    while (atomic_load((_Atomic int *)pointer(args[0])) == 0) {
        sleep_ns(MS);
    }
}

static int entries(const char *path)
{
    int count = 0;
    DIR *folder = opendir(path);
    assert_non_null(folder);
    while (readdir(folder) != NULL) {
        count++;
    }
    closedir(folder);
    return count;
}

static tern_chip *new_chip(int aic, int aiv)
{
    tern_chip *chip = NULL;
    tern_chip_options options = {.aic_count = aic, .aiv_count = aiv, .timeout_ns = 20000 * MS};
    assert_true(fine(tern_chip_create(NULL, &options, &chip)));
    return chip;
}

// A graph with one task that counts its calls.
static tern_graph *counting_graph(_Atomic int *calls, tern_core core)
{
    tern_graph *graph = NULL;
    assert_true(fine(tern_graph_create(&graph)));
    assert_int_equal(add_task(graph, "count", count_call, core, word(calls), 0), 0);
    return graph;
}

static void impossible_chips_are_refused(void **state)
{
    tern_chip *chip = NULL;
    assert_true(says(tern_chip_create(NULL, NULL, NULL), TERN_ERR_ARG, "chip must not be NULL"));
    const tern_chip_options wrong[] = {
        {.aic_count = -1, .aiv_count = 1},
        {.aic_count = 1, .aiv_count = -1},
        {.aic_count = 200, .aiv_count = 57},
        {.aic_count = INT32_MAX, .aiv_count = INT32_MAX},
    };
    for (int i = 0; i < 4; i++) {
        assert_true(says(tern_chip_create(NULL, &wrong[i], &chip), TERN_ERR_ARG, "at most 256"));
    }
    tern_chip_options late = {.timeout_ns = -5};
    assert_true(says(tern_chip_create(NULL, &late, &chip), TERN_ERR_ARG, "timeout_ns is -5"));
    assert_null(chip);
    assert_int_equal(tern_chip_destroy(NULL), TERN_OK);
    assert_true(says(tern_chip_launch(NULL, NULL), TERN_ERR_ARG, "must not be NULL"));
    assert_true(says(tern_chip_synchronize(NULL), TERN_ERR_ARG, "chip must not be NULL"));
}

static void a_chip_has_one_core_of_each_kind_by_default(void **state)
{
    _Atomic int calls = 0;
    tern_chip *chip = new_chip(0, 0);
    for (int kind = 0; kind < 2; kind++) {
        tern_graph *graph = counting_graph(&calls, (tern_core)kind);
        assert_true(fine(tern_chip_launch(chip, graph)));
        assert_true(fine(tern_chip_synchronize(chip)));
        assert_true(fine(tern_graph_destroy(graph)));
    }
    assert_int_equal(calls, 2);
    assert_true(fine(tern_chip_destroy(chip)));
}

static void a_missing_kind_of_core_is_named(void **state)
{
    _Atomic int calls = 0;
    tern_chip *chip = new_chip(2, 0);
    tern_graph *graph = counting_graph(&calls, TERN_CORE_AIV);
    assert_true(says(tern_chip_launch(chip, graph), TERN_ERR_KERNEL,
                     "task 'count' needs an AIV core and the chip has none"));
    assert_true(fine(tern_chip_destroy(chip)));
    assert_true(fine(tern_graph_destroy(graph)));
    assert_int_equal(calls, 0);
}

static void an_empty_graph_runs(void **state)
{
    tern_graph *graph;
    tern_chip *chip = new_chip(1, 1);
    assert_true(fine(tern_graph_create(&graph)));
    for (int i = 0; i < 100; i++) {
        assert_true(fine(tern_chip_launch(chip, graph)));
        assert_true(fine(tern_chip_synchronize(chip)));
    }
    assert_true(fine(tern_chip_destroy(chip)));
    assert_true(fine(tern_graph_destroy(graph)));
}

static void states_are_kept_apart(void **state)
{
    _Atomic int go = 0;
    tern_graph *graph;
    tern_chip *chip = new_chip(1, 1);
    tern_chip *other = new_chip(1, 1);
    assert_true(says(tern_chip_synchronize(chip), TERN_ERR_STATE, "nothing was launched"));
    assert_true(fine(tern_graph_create(&graph)));
    add_task(graph, "held", wait_for_flag, TERN_CORE_AIV, word(&go), 0);
    assert_true(fine(tern_chip_launch(chip, graph)));
    assert_true(says(tern_chip_launch(other, graph), TERN_ERR_STATE, "runs on another chip"));
    assert_true(says(tern_graph_destroy(graph), TERN_ERR_STATE, "the graph is running"));
    go = 1;
    assert_true(fine(tern_chip_synchronize(chip)));
    assert_true(says(tern_chip_synchronize(chip), TERN_ERR_STATE, "nothing was launched"));
    assert_true(fine(tern_chip_launch(other, graph)));
    assert_true(fine(tern_chip_destroy(other))); // finishes the run first
    assert_true(fine(tern_chip_destroy(chip)));
    assert_true(fine(tern_graph_destroy(graph)));
}

static void destroying_a_chip_finishes_its_run(void **state)
{
    _Atomic int calls = 0;
    for (int i = 1; i <= 50; i++) {
        tern_chip *chip = new_chip(1, 2);
        tern_graph *graph = counting_graph(&calls, TERN_CORE_AIV);
        assert_true(fine(tern_chip_launch(chip, graph)));
        assert_true(fine(tern_chip_destroy(chip)));
        assert_int_equal(calls, i);
        assert_true(fine(tern_graph_destroy(graph)));
    }
}

static void several_chips_run_at_once_in_one_process(void **state)
{
    enum { CHIPS = 5 };
    _Atomic int go = 0;
    tern_chip *chips[CHIPS];
    tern_graph *graphs[CHIPS];
    for (int i = 0; i < CHIPS; i++) {
        chips[i] = new_chip(1, 1);
        assert_true(fine(tern_graph_create(&graphs[i])));
        add_task(graphs[i], "held", wait_for_flag, TERN_CORE_AIC, word(&go), 0);
    }
    for (int i = 0; i < CHIPS; i++) {
        assert_true(fine(tern_chip_launch(chips[i], graphs[i])));
    }
    go = 1;
    for (int i = 0; i < CHIPS; i++) {
        assert_true(fine(tern_chip_synchronize(chips[i])));
        assert_true(fine(tern_chip_destroy(chips[i])));
        assert_true(fine(tern_graph_destroy(graphs[i])));
    }
}

// Chip 0's task waits for what chip 1's task notifies, on one communicator.
static void notify(int64_t *args)
{
    if (tern_signal_notify(pointer(args[0]), 0, 0, 1, TERN_NOTIFY_ADD) != TERN_OK) {
        tern_kernel_fail("%s", tern_last_error());
    }
}

static int two_chips(tern_comm *comm, void *arg)
{
    tern_window *window;
    tern_chip *chips[2];
    tern_graph *graphs[2];
    CHECK(fine(tern_window_create(comm, 64, NULL, &window)));
    for (int i = 0; i < 2; i++) {
        CHECK(fine(tern_chip_create(comm, NULL, &chips[i])));
        CHECK(fine(tern_graph_create(&graphs[i])));
        add_task(graphs[i], "t", i == 0 ? do_nothing : notify, TERN_CORE_AIV, word(window), 0);
    }
    CHECK(fine(add_wait(graphs[0], 0, window, 0, 1, 1)));
    CHECK(says(tern_comm_destroy(comm), TERN_ERR_STATE,
               "1 window, 2 chips of it have not ended; destroy what was made from it first"));
    for (int run = 0; run < 100; run++) {
        CHECK(fine(tern_chip_launch(chips[0], graphs[0])));
        CHECK(fine(tern_chip_launch(chips[1], graphs[1])));
        CHECK(fine(tern_chip_synchronize(chips[0])));
        CHECK(fine(tern_chip_synchronize(chips[1])));
    }
    for (int i = 0; i < 2; i++) {
        CHECK(fine(tern_chip_destroy(chips[i])));
        CHECK(fine(tern_graph_destroy(graphs[i])));
    }
    CHECK(fine(tern_window_destroy(window)));
    return 0;
}

static void two_chips_of_one_communicator_wake_each_other(void **state)
{
    assert_true(ranks_run_comm(1, two_chips, NULL, 30));
}

// Instead of glibc's: counts the threads that go to a processor.
static _Atomic int gone_to[CPU_SETSIZE];

__attribute__((visibility("default"))) int sched_setaffinity(pid_t pid, size_t size,
                                                             const cpu_set_t *mask)
{
    for (int cpu = 0; cpu < CPU_SETSIZE && CPU_COUNT(mask) == 1; cpu++) {
        gone_to[cpu] += CPU_ISSET((size_t)cpu, mask);
    }
    return (int)syscall(SYS_sched_setaffinity, pid, size, mask);
}

// As many cores as there are processors, on each of 2 ranks.
static int spread_cores(tern_comm *comm, void *arg)
{
    (void)arg;
    cpu_set_t mask;
    CHECK(sched_getaffinity(0, sizeof mask, &mask) == 0);
    int cpus = CPU_COUNT(&mask);
    if (cpus < 2 || cpus > 64) {
        fprintf(stderr, "%d processors: cores are not spread over them here\n", cpus);
        return 0;
    }
    memset(gone_to, 0, sizeof gone_to);
    tern_chip *chip;
    CHECK(fine(tern_chip_create(comm, &(tern_chip_options){.aiv_count = cpus}, &chip)));
    CHECK(fine(tern_chip_destroy(chip)));
    int left[64] = {0};
    for (int core = 0; core < cpus; core++) {
        left[(2 * core + tern_comm_rank(comm)) % cpus]++;
    }
    for (int cpu = 0, nth = 0; cpu < CPU_SETSIZE; cpu++) {
        CHECK(gone_to[cpu] == (CPU_ISSET((size_t)cpu, &mask) ? left[nth++] : 0));
    }
    return 0;
}

static void cores_of_all_ranks_begin_spread_over_the_processors(void **state)
{
    assert_true(ranks_run_comm(2, spread_cores, NULL, 30));
}

static void create_run_destroy(void)
{
    _Atomic int calls = 0;
    tern_chip *chip = new_chip(2, 2);
    tern_graph *graph = counting_graph(&calls, TERN_CORE_AIC);
    assert_true(fine(tern_chip_launch(chip, graph)));
    assert_true(fine(tern_chip_synchronize(chip)));
    assert_true(fine(tern_chip_destroy(chip)));
    assert_true(fine(tern_graph_destroy(graph)));
}

static void a_hundred_chips_leave_nothing(void **state)
{
    for (int i = 0; i < 10; i++) {
        create_run_destroy();
    }
    int threads = entries("/proc/self/task");
    int descriptors = entries("/proc/self/fd");
    size_t memory = mallinfo2().uordblks;
    for (int i = 0; i < 100; i++) {
        create_run_destroy();
    }
    // A thread that has been joined may be there for a moment longer, and may have been counted.
    for (int i = 0; i < 10000 && entries("/proc/self/task") > threads; i++) {
        sleep_ns(MS);
    }
    assert_in_range(entries("/proc/self/task"), 1, threads);
    assert_int_equal(entries("/proc/self/fd"), descriptors);
    if (!SANITIZED) { // those look for leaks themselves
        assert_in_range(mallinfo2().uordblks, 0, memory + 1024);
    }
}

static int64_t cpu_ns(void)
{
    struct timespec used;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    return (int64_t)used.tv_sec * 1000000000 + used.tv_nsec;
}

// One chip that has run something, one whose only task waits.
static int idle(tern_comm *comm, void *arg)
{
    tern_window *window;
    tern_chip *chips[2];
    tern_graph *graph;
    tern_chip_options options = {.aic_count = 2, .aiv_count = 4};
    CHECK(fine(tern_window_create(comm, 64, NULL, &window)));
    CHECK(fine(tern_chip_create(comm, &options, &chips[0])));
    CHECK(fine(tern_chip_create(NULL, &options, &chips[1])));
    CHECK(fine(tern_graph_create(&graph)));
    add_task(graph, "waits", do_nothing, TERN_CORE_AIV, 0, 0);
    CHECK(fine(add_wait(graph, 0, window, 0, 1, 0)));
    CHECK(fine(tern_chip_launch(chips[0], graph)));
    sleep_ns(100 * MS);
    int64_t begin = cpu_ns();
    sleep_ns(2000 * MS);
    int64_t used = cpu_ns() - begin;
    printf("idle and waiting chips: %.2f ms of processor time in 2 s\n", (double)used * 1e-6);
    fflush(stdout);
    CHECK(used < 50 * MS);
    CHECK(fine(tern_signal_notify(window, 0, 0, 1, TERN_NOTIFY_ADD)));
    CHECK(fine(tern_chip_synchronize(chips[0])));
    CHECK(fine(tern_chip_destroy(chips[0])));
    CHECK(fine(tern_chip_destroy(chips[1])));
    CHECK(fine(tern_graph_destroy(graph)));
    CHECK(fine(tern_window_destroy(window)));
    return 0;
}

static void idle_and_waiting_chips_use_no_processor_time(void **state)
{
    assert_true(ranks_run_comm(1, idle, NULL, 30));
}

static size_t address_space(void)
{
    size_t pages = 0;
    FILE *file = fopen("/proc/self/statm", "re");
    if (file == NULL || fscanf(file, "%zu", &pages) != 1) {
        pages = 0;
    }
    if (file != NULL) {
        fclose(file);
    }
    return pages * (size_t)sysconf(_SC_PAGESIZE);
}

// Room for a few stacks of threads, not for 64.
static int no_threads(tern_comm *comm, void *arg)
{
    tern_chip *chip = NULL;
    tern_chip_options options = {.aiv_count = 64};
    struct rlimit before;
    CHECK(getrlimit(RLIMIT_AS, &before) == 0);
    int threads = entries("/proc/self/task");
    struct rlimit narrow = {.rlim_cur = address_space() + (16 << 20), .rlim_max = before.rlim_max};
    CHECK(setrlimit(RLIMIT_AS, &narrow) == 0);
    int status = tern_chip_create(comm, &options, &chip);
    CHECK(setrlimit(RLIMIT_AS, &before) == 0);
    CHECK(says(status, TERN_ERR_SYSTEM, "cannot start a thread"));
    CHECK(chip == NULL && entries("/proc/self/task") == threads);
    CHECK(fine(tern_chip_create(comm, &options, &chip))); // with room it can
    CHECK(fine(tern_chip_destroy(chip)));
    return 0;
}

static void threads_that_cannot_start_are_an_error(void **state)
{
    if (SANITIZED) {
        skip(); // their shadow memory knows no limit of the address space
    }
    assert_true(ranks_run_comm(1, no_threads, NULL, 30));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(impossible_chips_are_refused),
        cmocka_unit_test(a_chip_has_one_core_of_each_kind_by_default),
        cmocka_unit_test(a_missing_kind_of_core_is_named),
        cmocka_unit_test(an_empty_graph_runs),
        cmocka_unit_test(states_are_kept_apart),
        cmocka_unit_test(destroying_a_chip_finishes_its_run),
        cmocka_unit_test(several_chips_run_at_once_in_one_process),
        cmocka_unit_test(two_chips_of_one_communicator_wake_each_other),
        cmocka_unit_test(cores_of_all_ranks_begin_spread_over_the_processors),
        cmocka_unit_test(a_hundred_chips_leave_nothing),
        cmocka_unit_test(idle_and_waiting_chips_use_no_processor_time),
        cmocka_unit_test(threads_that_cannot_start_are_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
