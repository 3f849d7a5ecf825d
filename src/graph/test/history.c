// SPDX-License-Identifier: Apache-2.0
// What TERN_GRAPH_RECORD leaves: tasks, edges, the critical path, arguments; on all builders.
#include "support/cmocka.h"

#include <stdlib.h>

#include "kit.h"
#include "tern/submit.h"

static char prefix[64];

static void spin_us(int64_t *args)
{
    int64_t begin = clock_ns();
    while (clock_ns() - begin < args[0] * 1000) {
    }
}

// The text of a file of the record; the caller frees it.
static char *read_file(const char *ending)
{
    char path[96];
    char *text = calloc(1, 65536);
    snprintf(path, sizeof path, "%s-rank0.%s", prefix, ending);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    assert_true(fread(text, 1, 65535, file) > 0);
    fclose(file);
    unlink(path);
    return text;
}

static void assert_has(const char *text, const char *part)
{
    if (strstr(text, part) == NULL) {
        fail_msg("there is no %s in:\n%s", part, text);
    }
}

// How long a task of the record took.
static double span_of(const char *json, int id)
{
    char key[32];
    double span_us = 0;
    snprintf(key, sizeof key, "{\"id\":\"%d\"", id);
    const char *task = strstr(json, key);
    assert_non_null(task);
    assert_int_equal(sscanf(strstr(task, "\"span_us\":"), "\"span_us\":%lf", &span_us), 1);
    return span_us;
}

// The longest path goes through the longer one of the first two tasks: on a busy machine that may
// be the short one.
static void assert_critical(const char *json)
{
    assert_true(span_of(json, 0) >= 2000 && span_of(json, 1) >= 20); // as long as they spin
    assert_has(json, span_of(json, 0) >= span_of(json, 1) ? "\"critical\":[\"0\",\"2\"]"
                                                          : "\"critical\":[\"1\",\"2\"]");
}

static int add_diamond(tern_graph *graph, void *arg)
{
    add_task(graph, "long", spin_us, TERN_CORE_AIV, 2000, 0);
    add_task(graph, "short", spin_us, TERN_CORE_AIV, 20, 0);
    add_task(graph, "last", spin_us, TERN_CORE_AIV, 50, 0);
    int status = tern_graph_add_edge(graph, 0, 2);
    status = status == TERN_OK ? tern_graph_add_edge(graph, 1, 2) : status;
    for (int i = 0; i < 3 && status == TERN_OK && arg != NULL; i++) {
        status = tern_graph_publish(graph, i);
    }
    return status;
}

static int submit_one(tern_graph *graph, const char *name, uint64_t us, tern_region *in,
                      tern_region *other, tern_region *out)
{
    tern_task_arg args[] = {{.access = TERN_SCALAR, .scalar = us},
                            {.access = TERN_OUT, .region = out},
                            {.access = TERN_IN, .region = in},
                            {.access = TERN_IN, .region = other}};
    tern_submission task = {.task = {.name = name, .kernel = spin_us, .core = TERN_CORE_AIV},
                            .args = args,
                            .args_count = in != NULL    ? 4
                                          : out != NULL ? 2
                                                        : 1};
    return tern_graph_submit(graph, &task, NULL);
}

static int submit_diamond(tern_graph *graph, void *arg)
{
    tern_region made[3];
    for (int i = 0; i < 3; i++) {
        int status = tern_region_make(&made[i], NULL, (uint32_t[]){16}, 1, TERN_REGION_F32);
        if (status != TERN_OK) {
            return status;
        }
    }
    int status = submit_one(graph, "long", 2000, NULL, NULL, &made[0]);
    status = status == TERN_OK ? submit_one(graph, "short", 20, NULL, NULL, &made[1]) : status;
    return status == TERN_OK ? submit_one(graph, "last", 50, &made[0], &made[1], &made[2]) : status;
}

static tern_chip *make_chip(void)
{
    tern_chip *chip = NULL;
    setenv("TERN_GRAPH_RECORD", prefix, 1);
    setenv("TERN_GRAPH_ARGS", "other,long", 1);
    assert_true(fine(tern_chip_create(NULL, &(tern_chip_options){.aiv_count = 2}, &chip)));
    unsetenv("TERN_GRAPH_RECORD");
    unsetenv("TERN_GRAPH_ARGS");
    return chip;
}

static void end(tern_chip *chip, tern_graph *graph)
{
    assert_true(fine(tern_chip_synchronize(chip)));
    assert_true(fine(tern_chip_destroy(chip)));
    assert_true(fine(tern_graph_destroy(graph)));
}

static void a_graph_built_on_the_host_is_recorded(void **state)
{
    tern_graph *graph;
    tern_chip *chip = make_chip();
    assert_true(fine(tern_graph_create(&graph)));
    assert_true(fine(add_diamond(graph, NULL)));
    assert_true(fine(tern_chip_launch(chip, graph)));
    assert_true(fine(tern_chip_synchronize(chip)));
    char *json = read_file("json"); // of the first run
    assert_has(json, "{\"run\":0,");
    assert_has(json, "\"args\":[2000,0]");
    free(json);
    assert_true(fine(tern_chip_launch(chip, graph)));
    end(chip, graph);
    json = read_file("json");
    assert_has(json, "{\"run\":1,");
    assert_critical(json);
    assert_has(json, "\"after\":[\"1\",\"0\"]");
    free(json);
    char *dot = read_file("dot");
    char *table = read_file("txt");
    assert_has(dot, "digraph run1 {");
    assert_has(dot, "[label=\"long");
    assert_has(dot, "\"0\" -> \"2\";");
    assert_has(dot, "color=red");
    assert_has(table, "3 tasks in ");
    assert_has(table, "critical path 2 tasks");
    assert_has(table, "\nshort");
    free(dot);
    free(table);
}

static void one_built_on_the_chip_is_recorded(void **state)
{
    tern_graph *graph;
    tern_chip *chip = make_chip();
    assert_true(fine(tern_graph_create(&graph)));
    assert_true(fine(tern_chip_orchestrate(chip, graph, add_diamond, graph, NULL)));
    end(chip, graph);
    char *json = read_file("json");
    assert_critical(json);
    free(json);
    free(read_file("dot"));
    free(read_file("txt"));
}

static void one_from_tensors_is_recorded(void **state)
{
    tern_graph *graph;
    tern_chip *chip = make_chip();
    assert_true(fine(tern_graph_create_rings(NULL, &graph)));
    assert_true(fine(tern_chip_orchestrate(chip, graph, submit_diamond, NULL, NULL)));
    end(chip, graph);
    char *json = read_file("json");
    assert_critical(json);
    assert_has(json, "\"after\":[\"0\",\"1\"]");
    assert_has(json,
               "\"args\":[2000,{\"dtype\":0,\"shape\":[16],\"offset\":[0],\"first_bytes\":\"");
    free(json);
    free(read_file("dot"));
    free(read_file("txt"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_graph_built_on_the_host_is_recorded),
        cmocka_unit_test(one_built_on_the_chip_is_recorded),
        cmocka_unit_test(one_from_tensors_is_recorded),
    };
    snprintf(prefix, sizeof prefix, "/tmp/tern-history-%d", (int)getpid());
    return cmocka_run_group_tests(tests, NULL, NULL);
}
