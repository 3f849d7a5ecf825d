// SPDX-License-Identifier: Apache-2.0
// What a task costs: prints microseconds per empty task of a chain and of a fan-out. It asserts
// only that they run; bench/ measures with care.
#include "support/cmocka.h"

#include "kit.h"

enum { TASKS = 5000, RUNS = 3 };

static void measure(const char *name, bool chain, int cores)
{
    tern_chip *chip;
    tern_graph *graph;
    int64_t best = INT64_MAX;
    assert_true(fine(tern_chip_create(NULL, &(tern_chip_options){.aiv_count = cores}, &chip)));
    assert_true(fine(tern_graph_create(&graph)));
    for (int i = 0; i < TASKS; i++) {
        assert_int_equal(add_task(graph, NULL, do_nothing, TERN_CORE_AIV, 0, 0), i);
        if (i > 0) {
            assert_true(fine(tern_graph_add_edge(graph, chain ? i - 1 : 0, i)));
        }
    }
    for (int run = 0; run < RUNS; run++) {
        int64_t begin = clock_ns();
        assert_true(fine(tern_chip_launch(chip, graph)));
        assert_true(fine(tern_chip_synchronize(chip)));
        int64_t took = clock_ns() - begin;
        best = took < best ? took : best;
    }
    assert_true(fine(tern_chip_destroy(chip)));
    assert_true(fine(tern_graph_destroy(graph)));
    printf("%s on %d cores: %.2f us per empty task\n", name, cores, (double)best * 1e-3 / TASKS);
}

static void a_chain_of_empty_tasks(void **state)
{
    measure("chain", true, 1);
    measure("chain", true, 4);
}

static void a_fan_out_of_empty_tasks(void **state)
{
    measure("fan-out", false, 1);
    measure("fan-out", false, 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_chain_of_empty_tasks),
        cmocka_unit_test(a_fan_out_of_empty_tasks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
