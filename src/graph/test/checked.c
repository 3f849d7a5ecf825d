// SPDX-License-Identifier: Apache-2.0
// Tasks in checking mode: what a kernel stored last has happened when its task has ended, and a
// task whose kernel was reported has failed. On one machine, and on several.
#include "support/cmocka.h"
#include <stdlib.h>

#include "kit.h"
#include "support/machines.h"
#include "tern/block.h"
#include "tern/isa.h"

enum { COUNT = 64, SIGNAL = 0, DATA = 256 };

struct setting {
    tern_window *window;
    int ranks;
    bool orders; // a barrier stands between the store and the notify
    bool held;   // the graph waits for the notify, not the kernel
};

static void or_fail(int status)
{
    if (status < 0) {
        tern_kernel_fail("%s", tern_last_error());
    }
}

// In the part of rank 0.
static float *data_of(const struct setting *s)
{
    return (float *)(void *)((char *)machines_address(s->window, 0) + DATA);
}

static tern_tile tile_of(float *values)
{
    return (tern_tile){.data = values,
                       .dtype = TERN_F32,
                       .rows = 1,
                       .columns = COUNT,
                       .valid_rows = 1,
                       .valid_columns = COUNT};
}

// Rank 0 stores to its window and tells rank 1.
static void kernel_tell(int64_t *args)
{
    const struct setting *s = pointer(args[0]);
    static float values[COUNT] = {1, 2, 3};
    tern_tile tile = tile_of(values);
    tern_tensor to = tern_tensor_1d(data_of(s), TERN_F32, COUNT);
    or_fail(tern_tile_store(&to, &tile, TERN_ATOMIC_NONE));
    if (s->orders) {
        tern_pipe_barrier(TERN_PIPE_ALL);
    }
    if (s->ranks > 1) {
        or_fail(tern_signal_notify(s->window, 1, SIGNAL, 1, TERN_NOTIFY_ADD));
    }
}

// Of three ranks, rank 1 tells rank 2.
static void kernel_pass_on(int64_t *args)
{
    const struct setting *s = pointer(args[0]);
    or_fail(tern_signal_wait(s->window, SIGNAL, TERN_CMP_GE, 1, 30000 * MS));
    or_fail(tern_signal_notify(s->window, 2, SIGNAL, 1, TERN_NOTIFY_ADD));
}

// The last rank then loads it.
static void kernel_load(int64_t *args)
{
    const struct setting *s = pointer(args[0]);
    static float values[COUNT];
    tern_tile tile = tile_of(values);
    tern_tensor from = tern_tensor_1d(data_of(s), TERN_F32, COUNT);
    if (!s->held) {
        or_fail(tern_signal_wait(s->window, SIGNAL, TERN_CMP_GE, 1, 30000 * MS));
    }
    or_fail(tern_tile_load(&tile, &from));
}

// *status: of the run. What it says stays the last sentence.
static int run(tern_comm *comm, bool orders, bool held, int *status)
{
    tern_chip_options options = {.aiv_count = 1, .timeout_ns = 30000 * MS};
    struct setting s = {.ranks = tern_comm_size(comm), .orders = orders, .held = held};
    int rank = tern_comm_rank(comm);
    tern_kernel kernel = rank == 0            ? kernel_tell
                         : rank + 1 < s.ranks ? kernel_pass_on
                                              : kernel_load;
    tern_chip *chip;
    tern_graph *graph;
    CHECK(fine(tern_window_create(comm, 4096, NULL, &s.window)));
    CHECK(fine(tern_chip_create(comm, &options, &chip)));
    CHECK(fine(tern_graph_create(&graph)));
    int task = add_task(graph, "one", kernel, TERN_CORE_AIV, word(&s), 0);
    CHECK(task >= 0);
    CHECK(!held || kernel != kernel_load || fine(add_wait(graph, task, s.window, SIGNAL, 1, 0)));
    CHECK(fine(tern_chip_launch(chip, graph)));
    *status = tern_chip_synchronize(chip);
    CHECK(kernel != kernel_tell || *status != TERN_OK || data_of(&s)[2] == 3);
    CHECK(*status != TERN_ERR_KERNEL || said("checking mode"));
    tern_status_ignore(tern_chip_destroy(chip));
    CHECK(fine(tern_graph_destroy(graph)));
    tern_status_ignore(tern_window_destroy(s.window));
    return 0;
}

static int ordered(tern_comm *comm, void *arg)
{
    int status;
    CHECK(run(comm, true, false, &status) == 0);
    CHECK(fine(status));
    CHECK(run(comm, true, true, &status) == 0);
    CHECK(fine(status));
    return 0;
}

static void a_right_kernel_passes(void **state)
{
    assert_true(ranks_run_comm(2, ordered, NULL, 60));
    assert_true(machines_run_comm("ab", ordered, NULL, 60));
}

// What ranks of one machine know of each other may have come by way of another one.
static void a_right_kernel_passes_whoever_has_told_it(void **state)
{
    assert_true(machines_run_comm("aba", ordered, NULL, 60));
    assert_true(machines_run_comm("abc", ordered, NULL, 60));
}

static int by_luck(tern_comm *comm, void *arg)
{
    int status;
    CHECK(run(comm, false, false, &status) == 0);
    CHECK(tern_comm_rank(comm) + 1 < tern_comm_size(comm) || status == TERN_ERR_KERNEL);
    return 0;
}

static void a_kernel_that_works_by_luck_fails_its_task(void **state)
{
    assert_true(ranks_run_comm(2, by_luck, NULL, 60));
    assert_true(machines_run_comm("ab", by_luck, NULL, 60));
    assert_true(machines_run_comm("aba", by_luck, NULL, 60));
    assert_true(machines_run_comm("abc", by_luck, NULL, 60));
}

static int alone(tern_comm *comm, void *arg)
{
    int status;
    CHECK(run(comm, false, false, &status) == 0);
    CHECK(fine(status));
    return 0;
}

static void what_a_kernel_stores_last_has_happened_when_its_task_ends(void **state)
{
    assert_true(ranks_run_comm(1, alone, NULL, 60));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_right_kernel_passes),
        cmocka_unit_test(a_right_kernel_passes_whoever_has_told_it),
        cmocka_unit_test(a_kernel_that_works_by_luck_fails_its_task),
        cmocka_unit_test(what_a_kernel_stores_last_has_happened_when_its_task_ends),
    };
    setenv("TERN_ISA_CHECK", "1", 1); // before there are threads
    return cmocka_run_group_tests(tests, NULL, NULL);
}
