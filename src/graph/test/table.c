// SPDX-License-Identifier: Apache-2.0
// The task table: rows that stay where they are, edges of admitted tasks, and a table that one
// thread fills while another runs it.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "graph/chip.h"
#include "kit.h"

enum { MANY = 5000, GROWN = 20000, PREDECESSORS = 3 };

static struct tern__graph_task *add(struct tern__table *table, tern_kernel kernel, const char *name,
                                    int64_t first, int64_t second)
{
    const int64_t args[2] = {first, second};
    const struct tern__kernel_call call = {
        .kernel = kernel, .args = args, .name = name, .args_count = 2, .core = TERN_CORE_AIV};
    struct tern__graph_task *task = NULL;
    return tern__table_add(table, &call, &task) == TERN_OK ? task : NULL;
}

static void rows_stay_where_they_are_with_what_they_have(void **state)
{
    static struct tern__table table;
    static struct tern__graph_task *tasks[MANY];
    char name[32];
    for (int i = 0; i < MANY; i++) {
        snprintf(name, sizeof name, "t%d", i);
        tasks[i] = add(&table, do_nothing, name, i, -i);
        assert_non_null(tasks[i]);
    }
    for (int i = 0; i < MANY; i++) {
        snprintf(name, sizeof name, "t%d", i);
        assert_ptr_equal(tern__table_at(&table, (uint32_t)i), tasks[i]);
        assert_string_equal(tasks[i]->call.name, name);
        assert_int_equal(tasks[i]->call.args[0], i);
        assert_int_equal(tasks[i]->call.args[1], -i);
    }
    tern__table_free(&table);
}

static void only_published_tasks_are_admitted(void **state)
{
    static struct tern__table table;
    struct tern__graph_task *a = add(&table, do_nothing, "a", 0, 0);
    assert_null(tern__table_admit(&table));
    tern__table_publish(&table);
    assert_ptr_equal(tern__table_admit(&table), a);
    assert_null(tern__table_admit(&table));
    struct tern__graph_task *b = add(&table, do_nothing, "b", 0, 0);
    assert_null(tern__table_admit(&table));
    tern__table_publish(&table);
    assert_ptr_equal(tern__table_admit(&table), b);
    assert_false(tern__table_is_closed(&table));
    tern__table_close(&table);
    assert_true(tern__table_is_closed(&table));
    tern__table_free(&table);
}

static void an_admitted_task_waits_for_what_has_not_finished(void **state)
{
    static struct tern__table table;
    struct tern__graph_task *done = add(&table, do_nothing, "done", 0, 0);
    struct tern__graph_task *open = add(&table, do_nothing, "open", 0, 0);
    tern__table_publish(&table);
    while (tern__table_admit(&table) != NULL) {
    }
    done->pending = TERN__TASK_FINISHED;
    struct tern__graph_task *late = add(&table, do_nothing, "late", 0, 0);
    for (int i = 0; i < 2; i++) { // twice is the same as once
        assert_int_equal(tern__table_add_edge(&table, done, late), TERN_OK);
        assert_int_equal(tern__table_add_edge(&table, open, late), TERN_OK);
    }
    assert_null(open->after); // a note in the later row only
    tern__table_publish(&table);
    assert_ptr_equal(tern__table_admit(&table), late);
    assert_int_equal(late->pending, 1); // in this run
    assert_int_equal(late->fanin, 2);   // in the next one
    assert_ptr_equal(open->after->to, late);
    assert_null(open->after->next_after);
    tern__table_free(&table);
}

// Tasks check that what they come after has run: args are their number and where the table says so.
static _Atomic uint32_t ran[GROWN];
static uint32_t came_after[GROWN][PREDECESSORS];
static _Atomic uint32_t too_early;

static void check_order(int64_t *args)
{
    for (int i = 0; i < PREDECESSORS; i++) {
        uint32_t before = came_after[args[0]][i];
        if (before != UINT32_MAX && tern__observe(&ran[before]) == 0) {
            tern__flag_add(&too_early, 1);
        }
    }
    tern__flag_add(&ran[args[0]], 1);
}

struct builder {
    tern_graph *graph;
    tern_chip *chip;
    bool failed;
};

// Publishes tasks a few at a time, each after some older ones, finished or not.
static void *build_while_it_runs(void *arg)
{
    struct builder *builder = arg;
    struct tern__table *table = &builder->graph->table;
    uint64_t seed = 7;
    for (uint32_t i = 0; i < GROWN; i++) {
        struct tern__graph_task *task = add(table, check_order, "grown", i, 0);
        builder->failed = builder->failed || task == NULL;
        for (int p = 0; p < PREDECESSORS; p++) {
            came_after[i][p] = UINT32_MAX;
            if (i > 0 && random_below(&seed, 4) > 0) {
                uint32_t reach = i < 50 ? i : 50;
                came_after[i][p] = i - 1 - (uint32_t)random_below(&seed, reach);
                builder->failed =
                    tern__table_add_edge(table, tern__table_at(table, came_after[i][p]), task) !=
                        TERN_OK ||
                    builder->failed;
            }
        }
        if (random_below(&seed, 8) == 0) {
            tern__table_publish(table);
            tern__bell_ring(tern__cores_bell(&builder->chip->cores));
        }
    }
    tern__table_publish(table);
    tern__table_close(table);
    tern__bell_ring(tern__cores_bell(&builder->chip->cores));
    return NULL;
}

static void a_table_grows_while_it_runs(void **state)
{
    struct builder builder = {0};
    pthread_t thread;
    assert_true(fine(tern_chip_create(NULL, &(tern_chip_options){.aiv_count = 3}, &builder.chip)));
    assert_true(fine(tern_graph_create(&builder.graph)));
    assert_true(fine(tern__chip_start(builder.chip, builder.graph)));
    assert_int_equal(pthread_create(&thread, NULL, build_while_it_runs, &builder), 0);
    assert_true(fine(tern_chip_synchronize(builder.chip)));
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_false(builder.failed);
    assert_int_equal(too_early, 0);
    for (int i = 0; i < GROWN; i++) {
        assert_int_equal(ran[i], 1);
    }
    assert_true(
        fine(tern_chip_launch(builder.chip, builder.graph))); // now it is a graph like others
    assert_true(fine(tern_chip_synchronize(builder.chip)));
    for (int i = 0; i < GROWN; i++) {
        assert_int_equal(ran[i], 2);
    }
    assert_true(fine(tern_chip_destroy(builder.chip)));
    assert_true(fine(tern_graph_destroy(builder.graph)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_stay_where_they_are_with_what_they_have),
        cmocka_unit_test(only_published_tasks_are_admitted),
        cmocka_unit_test(an_admitted_task_waits_for_what_has_not_finished),
        cmocka_unit_test(a_table_grows_while_it_runs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
