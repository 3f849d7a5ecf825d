// SPDX-License-Identifier: Apache-2.0
// Tasks of several ranks that wait for each other in a circle, as far as they say what they notify:
// in the sentence of a missed deadline, and in the record of a run.
#include "support/cmocka.h"

#include <stdlib.h>

#include "comm/comm.h"
#include "rings_kit.h"
#include "support/machines.h"
#include "sync/doing.h"

struct part {
    tern_window *window;
    int rank, size;
};

static tern_notice notice(const struct part *part)
{
    const int next = (part->rank + 1) % part->size;
    return (tern_notice){part->window, next, 8 * (size_t)next};
}

static tern_condition condition(const struct part *part)
{
    return (tern_condition){part->window, 8 * (size_t)part->rank, TERN_CMP_GE, 1};
}

// "wait R" for a signal of the rank before, then two tasks, of which the second, "tell R", says
// that it notifies the rank behind.
static int add_three(tern_graph *graph, const struct part *part, bool publish)
{
    char names[2][16];
    int tasks[3];
    snprintf(names[0], sizeof names[0], "wait %d", part->rank);
    snprintf(names[1], sizeof names[1], "tell %d", part->rank);
    tern_notice said = notice(part);
    tern_condition waited = condition(part);
    tern_task tell = {.name = names[1],
                      .kernel = do_nothing,
                      .core = TERN_CORE_AIV,
                      .notices = &said,
                      .notices_count = 1};
    tasks[0] = add_task(graph, names[0], do_nothing, TERN_CORE_AIV, 0, 0);
    tasks[1] = add_task(graph, "between", do_nothing, TERN_CORE_AIV, 0, 0);
    TRY(tern_graph_add_task(graph, &tell, &tasks[2]));
    TRY(tern_graph_add_wait(graph, tasks[0], &waited, 0));
    TRY(tern_graph_add_edge(graph, tasks[0], tasks[1]));
    TRY(tern_graph_add_edge(graph, tasks[1], tasks[2]));
    for (int i = 0; i < 3 && publish; i++) {
        TRY(tern_graph_publish(graph, tasks[i]));
    }
    return TERN_OK;
}

static int build_on_chip(tern_graph *graph, void *arg)
{
    return add_three(graph, arg, true);
}

// The one that waits notifies, too.
static int build_from_tensors(tern_graph *graph, void *arg)
{
    tern_notice said = notice(arg);
    tern_condition waited = condition(arg);
    tern_submission both = {.task = {.name = "both",
                                     .kernel = do_nothing,
                                     .core = TERN_CORE_AIV,
                                     .notices = &said,
                                     .notices_count = 1},
                            .waits = &waited,
                            .waits_count = 1};
    return tern_graph_submit(graph, &both, NULL);
}

static void await_waiting(tern_comm *comm, int rank)
{
    struct tern__doing doing = {.life = TERN__LIFE_ABSENT};
    while (!doing.for_signals) {
        sleep_ns(MS);
        tern__doing_look(comm->group.job->ctl, rank, &doing);
    }
}

// A file of the record has this part; it is gone then.
static bool record_has(const char *prefix, int rank, const char *ending, const char *const *parts)
{
    static char text[65536];
    char path[96];
    snprintf(path, sizeof path, "%s-rank%d.%s", prefix, rank, ending);
    FILE *file = fopen(path, "r");
    const size_t length = file != NULL ? fread(text, 1, sizeof text - 1, file) : 0;
    text[length] = '\0';
    if (file != NULL) {
        fclose(file);
        unlink(path);
    }
    for (int i = 0; i < 2; i++) {
        if (strstr(text, parts[i]) == NULL) {
            fprintf(stderr, "there is no %s in %s:\n%s", parts[i], path, text);
            return false;
        }
    }
    return true;
}

static int check_records(const struct part *part, const char *prefix)
{
    char waits[2][128], notifies[2][128];
    const int next = (part->rank + 1) % part->size;
    snprintf(waits[0], sizeof waits[0], "  \"rank %d: byte %d of window 0\" -> \"", part->rank,
             8 * part->rank);
    snprintf(notifies[0], sizeof notifies[0],
             "\" -> \"rank %d: byte %d of window 0\" [style=dashed];", next, 8 * next);
    snprintf(waits[1], sizeof waits[1],
             "],\"waits\":[{\"window\":0,\"rank\":%d,\"byte\":%d,\"cmp\":\">=\",\"value\":1}]",
             part->rank, 8 * part->rank);
    snprintf(notifies[1], sizeof notifies[1],
             "],\"notifies\":[{\"window\":0,\"rank\":%d,\"byte\":%d}]}", next, 8 * next);
    for (int i = 0; i < 2; i++) {
        const char *const parts[] = {waits[i], notifies[i]};
        CHECK(record_has(prefix, part->rank, i == 0 ? "dot" : "json", parts));
    }
    CHECK(record_has(prefix, part->rank, "txt", (const char *const[]){"run 0", "critical"}));
    return 0;
}

// Rank 0 has a graph that was built on the host, rank 1 one built on the chip, and rank 2 one from
// tensors; rank 0 misses its deadline. `arg`: where records are to go, or NULL.
static int wait_in_a_circle(tern_comm *comm, void *arg)
{
    struct part part = {.rank = tern_comm_rank(comm), .size = tern_comm_size(comm)};
    tern_chip_options options = {.timeout_ns = part.rank == 0 ? 200 * MS : 60000 * MS};
    tern_chip *chip;
    tern_graph *graph;
    if (arg != NULL) {
        setenv("TERN_GRAPH_RECORD", arg, 1);
    }
    CHECK(fine(tern_window_create(comm, 64, NULL, &part.window)));
    CHECK(fine(tern_chip_create(comm, &options, &chip)));
    CHECK(fine(part.rank == 2 ? tern_graph_create_rings(NULL, &graph) : tern_graph_create(&graph)));
    for (int rank = 1; rank < part.size && part.rank == 0; rank++) {
        await_waiting(comm, rank);
    }
    if (part.rank == 0) {
        CHECK(fine(add_three(graph, &part, false)));
        CHECK(fine(tern_chip_launch(chip, graph)));
    } else {
        tern_orchestration build = part.rank == 1 ? build_on_chip : build_from_tensors;
        CHECK(fine(tern_chip_orchestrate(chip, graph, build, &part, NULL)));
    }
    CHECK(says(tern_chip_synchronize(chip), TERN_ERR_TIMEOUT,
               "; ranks 0..2 wait for each other, as none of them runs a task that could notify; "
               "task 'wait 0' of rank 0 waits for byte 0 of window 0, which task 'both' of rank 2 "
               "notifies; 'both' waits for byte 16 of window 0, which task 'tell 1' of rank 1 "
               "notifies; 'tell 1' comes after 'wait 1', which"));
    CHECK(part.rank != 0 || said(" 'wait 1', which waits for byte 8 of window 0, which task "
                                 "'tell 0' of rank 0 notifies; 'tell 0' comes after 'wait 0'; "
                                 "rank 1 waits in run 0 of a graph, task 'wait 1'"));
    CHECK(fine(tern_chip_destroy(chip)));
    CHECK(arg == NULL || check_records(&part, arg) == 0);
    CHECK(fine(tern_graph_destroy(graph)));
    CHECK(fine(tern_window_destroy(part.window)));
    return 0;
}

static void tasks_of_ranks_that_wait_in_a_circle_are_named(void **state)
{
    char prefix[64];
    snprintf(prefix, sizeof prefix, "/tmp/tern-test-circle-%d", (int)getpid());
    assert_true(ranks_run_comm(3, wait_in_a_circle, prefix, 30));
}

static void also_of_ranks_on_several_machines(void **state)
{
    assert_true(machines_run_comm("aba", wait_in_a_circle, NULL, 30));
}

static void end_with_signal(int64_t *args)
{
    tern_condition ends = {pointer(args[0]), 16, TERN_CMP_GE, 1};
    if (tern_kernel_defer(&ends) != TERN_OK) {
        tern_kernel_fail("%s", tern_last_error());
    }
}

// One rank and a task that has run: what it notifies has come, what comes after it has not. In the
// second run nothing after it notifies that signal.
static int wait_for_oneself(tern_comm *comm, void *arg)
{
    tern_chip_options options = {.timeout_ns = 50 * MS};
    tern_window *window;
    tern_chip *chip;
    tern_graph *graph;
    const bool circle = arg != NULL;
    int after;
    CHECK(fine(tern_window_create(comm, 64, NULL, &window)));
    CHECK(fine(tern_chip_create(comm, &options, &chip)));
    CHECK(fine(tern_graph_create(&graph)));
    tern_notice said_first = {window, 0, 16};
    tern_notice said_after[2] = {{window, 0, 8}, {window, -1, circle ? 16 : 24}};
    const int64_t word_of_window = word(window);
    tern_task first = {.name = "ends late",
                       .kernel = end_with_signal,
                       .core = TERN_CORE_AIV,
                       .args = &word_of_window,
                       .args_count = 1,
                       .notices = &said_first,
                       .notices_count = 1};
    tern_task second = {.name = "two", .core = TERN_CORE_AIV, .blocks = 2, .kernel = do_nothing};
    second.notices = said_after;
    second.notices_count = 2;
    CHECK(fine(tern_graph_add_task(graph, &first, NULL)));
    CHECK(fine(tern_graph_add_task(graph, &second, &after)));
    CHECK(fine(tern_graph_add_edge(graph, 0, after)));
    CHECK(fine(tern_chip_launch(chip, graph)));
    CHECK(says(tern_chip_synchronize(chip), TERN_ERR_TIMEOUT,
               "task 'ends late' has run and ends with the signal at byte 16"));
    CHECK(circle ==
          (strstr(tern_last_error(),
                  "; task 'ends late' of rank 0 waits for byte 16 of window 0, which "
                  "task 'two' of rank 0 notifies; 'two' comes after 'ends late'") != NULL));
    CHECK(circle == (strstr(tern_last_error(), "notifies") != NULL));
    CHECK(tern_last_error()[strlen(tern_last_error()) - 1] != ' ');
    CHECK(fine(tern_chip_destroy(chip)));
    CHECK(fine(tern_graph_destroy(graph)));
    CHECK(fine(tern_window_destroy(window)));
    return 0;
}

static void a_rank_may_wait_for_itself(void **state)
{
    assert_true(ranks_run_comm(1, wait_for_oneself, "", 30));
    assert_true(ranks_run_comm(1, wait_for_oneself, NULL, 30));
}

static int wrong_notices(tern_comm *comm, void *arg)
{
    tern_window *window;
    tern_chip *chip;
    tern_graph *graph;
    tern_notice given = {0};
    tern_task task = {.name = "t", .kernel = do_nothing, .core = TERN_CORE_AIV, .notices = &given};
    CHECK(fine(tern_window_create(comm, 64, NULL, &window)));
    CHECK(fine(tern_graph_create(&graph)));
    task.notices_count = TERN_TASK_NOTICES_MAX + 1;
    CHECK(says(tern_graph_add_task(graph, &task, NULL), TERN_ERR_ARG, "task 't': 5 notices at"));
    task.notices_count = 1;
    CHECK(says(tern_graph_add_task(graph, &task, NULL), TERN_ERR_ARG, "window must not be NULL"));
    given = (tern_notice){window, 1, 0};
    CHECK(says(tern_graph_add_task(graph, &task, NULL), TERN_ERR_ARG, "rank is 1"));
    given = (tern_notice){window, -1, 1 << 20};
    CHECK(says(tern_graph_add_task(graph, &task, NULL), TERN_ERR_ARG, "1048576"));
    given = (tern_notice){window, 0, 2};
    CHECK(says(tern_graph_add_task(graph, &task, NULL), TERN_ERR_ARG, "not 4-byte aligned"));
    given = (tern_notice){window, 0, 4};
    tern_task none = {.name = "none", .core = TERN_CORE_NONE, .notices = &given};
    none.notices_count = 1;
    CHECK(says(tern_graph_add_task(graph, &none, NULL), TERN_ERR_ARG, "which notifies nobody"));
    CHECK(fine(tern_graph_add_task(graph, &task, NULL)));
    CHECK(fine(tern_chip_create(NULL, NULL, &chip)));
    CHECK(says(tern_chip_launch(chip, graph), TERN_ERR_ARG,
               "task 't' names a signal of another job than the chip's"));
    CHECK(fine(tern_chip_destroy(chip)));
    CHECK(fine(tern_graph_destroy(graph)));
    CHECK(fine(tern_window_destroy(window)));
    return 0;
}

static void wrong_notices_are_refused(void **state)
{
    assert_true(ranks_run_comm(1, wrong_notices, NULL, 30));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tasks_of_ranks_that_wait_in_a_circle_are_named),
        cmocka_unit_test(also_of_ranks_on_several_machines),
        cmocka_unit_test(a_rank_may_wait_for_itself),
        cmocka_unit_test(wrong_notices_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
