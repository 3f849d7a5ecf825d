// SPDX-License-Identifier: Apache-2.0
// ctest-timeout: 240, ctest-machines: 2
// What fails: kernels, members of groups, orchestrations, arguments; a deadline; a chip that dies.
// Each has its sentence, what does not depend on it goes on, and nothing hangs.
#include "support/cmocka.h"
#include <stdlib.h>

#include "kit.h"

static void count(int64_t *args)
{
    *data_of(args[0]) += 1;
}

static void fails(int64_t *args)
{
    tern_kernel_fail("wanted %d apples", 3);
}

// The member with args[0] = 1 fails; the others wait for what it never says.
static void fails_in_group(int64_t *args)
{
    if (args[0] == 1) {
        tern_kernel_fail("no apples");
    } else if (wait_at(data_of(args[1]), 1) != TERN_OK) {
        tern_kernel_fail("%s", tern_last_error());
    }
}

static void waits(int64_t *args)
{
    if (wait_at(data_of(args[0]), 1) != TERN_OK) {
        tern_kernel_fail("%s", tern_last_error());
    }
}

// Does not wait in tern's calls, so nobody can tell it to end.
static void deaf_in_group(int64_t *args)
{
    if (args[0] == 1) {
        tern_kernel_fail("no apples");
    } else {
        nanosleep(&(struct timespec){.tv_sec = 3}, NULL);
    }
}

static void dies(int64_t *args)
{
    _exit(0);
}

static int fails_to_build(tern_graph *graph, void *arg)
{
    tern_submission submission = {
        .task = {.name = "inner", .kernel = fails, .core = TERN_CORE_AIV}};
    return tern_graph_submit(graph, &submission, NULL);
}

static const tern_node_function functions[] = {
    {.name = "count", .kernel = count},
    {.name = "fails", .kernel = fails},
    {.name = "fails_in_group", .kernel = fails_in_group},
    {.name = "deaf_in_group", .kernel = deaf_in_group},
    {.name = "waits", .kernel = waits},
    {.name = "dies", .kernel = dies},
    {.name = "fails_to_build", .orchestration = fails_to_build},
};

static bool runs_with(int least, int most, int (*host)(tern_node *, void *),
                      const tern_node_options *options, int serve_status)
{
    struct node_test test = {.host = host,
                             .options = options,
                             .functions = functions,
                             .functions_count = sizeof functions / sizeof *functions,
                             .serve_status = serve_status};
    return ranks_run_counts(least, most, node_body, &test, 60);
}

struct scene {
    tern_node *node;
    tern_domain *domain;
    const char *function; // that fails
    int chip;
};

static void *word_of(const struct scene *scene, int at)
{
    return (char *)tern_domain_address(scene->domain, TERN_NODE_HOST) + 64 * at;
}

// Word 0: tasks before and after the one that fails; word 1: independent ones.
static int submit_failing(tern_graph *graph, void *arg)
{
    const struct scene *scene = arg;
    int chips = tern_node_chips(scene->node);
    tern_region first = floats(word_of(scene, 0), 1), second = floats(word_of(scene, 1), 1);
    tern_task_arg along[] = {inout(&first)}, apart[] = {inout(&second)};
    CHECK(fine(submit_to(graph, 0, "count", along, 1)));
    CHECK(fine(submit_to(graph, scene->chip, scene->function, along, 1)));
    for (int i = 0; i < 20; i++) {
        int status = submit_to(graph, i % chips, "count", along, 1);
        status = status == TERN_OK ? submit_to(graph, i % chips, "count", apart, 1) : status;
        if (status != TERN_OK) { // the run has failed already
            return status;
        }
    }
    return TERN_OK;
}

static bool fails_with(struct scene *scene, const char *function, const char *words)
{
    float seen[17];
    scene->function = function;
    scene->chip = tern_node_chips(scene->node) - 1;
    char where[64];
    snprintf(where, sizeof where, "on chip %d (rank %d)", scene->chip, scene->chip + 1);
    bool well = says(tern_node_run(scene->node, submit_failing, scene), TERN_ERR_KERNEL, words) &&
                look_says(where) &&
                fine(tern_domain_read(scene->domain, TERN_NODE_HOST, 0, seen, sizeof seen));
    // Only the first task on the first word; how many of the others had been submitted is chance.
    return well && seen[0] == 1 && seen[16] >= 0 && seen[16] <= 20;
}

static int host_of_failures(tern_node *node, void *arg)
{
    static const char *const cases[][2] = {
        {"fails", "task 'fails' failed"},
        {"fails", "wanted 3 apples"},
        {"nobody", "there is no function 'nobody': neither in the 7"},
        {"fails_to_build", "task 'inner' failed: wanted 3 apples"},
        {"count", NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct scene scene = {.node = node};
        float seen[17];
        CHECK(fine(tern_domain_create(node, NULL, 0, 4096, &scene.domain)));
        if (cases[i][1] != NULL) {
            CHECK(fails_with(&scene, cases[i][0], cases[i][1]));
        } else { // the node works still
            scene.function = cases[i][0];
            CHECK(fine(tern_node_run(node, submit_failing, &scene)));
            CHECK(fine(tern_domain_read(scene.domain, TERN_NODE_HOST, 0, seen, sizeof seen)));
            CHECK(seen[0] == 22 && seen[16] == 20);
        }
        CHECK(fine(tern_domain_destroy(scene.domain)));
    }
    return 0;
}

static void a_kernel_that_fails_poisons_what_follows(void **state)
{
    assert_true(runs_with(2, 5, host_of_failures, NULL, TERN_OK));
}

static int submit_group(tern_graph *graph, void *arg)
{
    const struct scene *scene = arg;
    int chips[] = {0, 1, 2}, count = tern_node_chips(scene->node) < 3 ? 2 : 3;
    tern_region words[3];
    tern_task_arg args[6];
    for (int i = 0; i < count; i++) {
        words[i] = floats((char *)tern_domain_address(scene->domain, i), 1);
        args[2 * i] = scalar((uint64_t)i);
        args[2 * i + 1] = in(&words[i]);
    }
    tern_node_task task = {.function = scene->function,
                           .chips = chips,
                           .chips_count = count,
                           .args = args,
                           .args_count = 2};
    CHECK(fine(tern_node_submit(graph, &task, NULL)));
    return TERN_OK;
}

static int host_of_group(tern_node *node, void *arg)
{
    struct scene scene = {.node = node, .function = "fails_in_group"};
    int chips[] = {0, 1, 2}, count = tern_node_chips(node) < 3 ? 2 : 3;
    CHECK(fine(tern_domain_create(node, chips, count, 4096, &scene.domain)));
    for (int run = 0; run < 3; run++) {
        CHECK(says(tern_node_run(node, submit_group, &scene), TERN_ERR_KERNEL,
                   "task 'fails_in_group' failed on chip 1 (rank 2): no apples"));
    }
    CHECK(fine(tern_domain_destroy(scene.domain)));
    return host_of_failures(node, arg);
}

static void waits_in_a_group_that_failed_end(void **state)
{
    assert_true(runs_with(3, 5, host_of_group, NULL, TERN_OK));
}

static int host_of_deaf_group(tern_node *node, void *arg)
{
    struct scene scene = {.node = node, .function = "deaf_in_group"};
    CHECK(fine(tern_domain_create(node, (int[]){0, 1}, 2, 4096, &scene.domain)));
    CHECK(says(tern_node_run(node, submit_group, &scene), TERN_ERR_KERNEL, "no apples"));
    CHECK(says(tern_node_run(node, submit_group, &scene), TERN_ERR_KERNEL,
               "other chips of its group do not come back"));
    return 0;
}

static void a_group_that_does_not_come_back_ends_the_node(void **state)
{
    assert_true(runs_with(3, 3, host_of_deaf_group, NULL, TERN_ERR_KERNEL));
}

static int submit_one(tern_graph *graph, void *arg)
{
    const struct scene *scene = arg;
    tern_region word = floats(tern_domain_address(scene->domain, 0), 1);
    tern_task_arg args[] = {inout(&word)};
    CHECK(fine(submit_to(graph, 0, scene->function, args, 1)));
    CHECK(fine(submit_to(graph, 0, "count", args, 1)));
    return TERN_OK;
}

static int host_of_deadline(tern_node *node, void *arg)
{
    struct scene scene = {.node = node, .function = "waits"};
    CHECK(fine(tern_domain_create(node, (int[]){0}, 1, 4096, &scene.domain)));
    CHECK(says(tern_node_run(node, submit_one, &scene), TERN_ERR_TIMEOUT,
               "task 'waits' is running on chip 0 (rank 1)"));
    CHECK(look_says("running-stalled"));
    CHECK(says(tern_node_run(node, submit_one, &scene), TERN_ERR_TIMEOUT, "waits"));
    return 0;
}

// A group waits for chip 0, and keeps chip 1 meanwhile.
static int submit_behind(tern_graph *graph, void *arg)
{
    const struct scene *scene = arg;
    tern_region word = floats(tern_domain_address(scene->domain, 0), 1);
    tern_task_arg args[] = {{.access = TERN_NO_DEP, .region = &word}};
    tern_node_task group = {.name = "behind",
                            .function = "count",
                            .chips = (int[]){0, 1},
                            .chips_count = 2,
                            .args = (tern_task_arg[]){args[0], args[0]},
                            .args_count = 1};
    CHECK(fine(submit_to(graph, 0, "waits", args, 1)));
    CHECK(fine(tern_node_submit(graph, &group, NULL)));
    return TERN_OK;
}

static int host_of_reserved(tern_node *node, void *arg)
{
    struct scene scene = {.node = node};
    CHECK(fine(tern_domain_create(node, (int[]){0}, 1, 4096, &scene.domain)));
    CHECK(says(tern_node_run(node, submit_behind, &scene), TERN_ERR_TIMEOUT,
               "task 'behind' keeps chip 1 until chip 0 is idle"));
    return 0;
}

static void a_run_ends_at_its_deadline(void **state)
{
    assert_true(runs_with(3, 3, host_of_reserved, &(tern_node_options){.timeout_ns = 300000000},
                          TERN_ERR_TIMEOUT));
    assert_true(runs_with(2, 3, host_of_deadline, &(tern_node_options){.timeout_ns = 300000000},
                          TERN_ERR_TIMEOUT));
}

static int host_of_death(tern_node *node, void *arg)
{
    struct scene scene = {.node = node, .function = "dies"};
    CHECK(fine(tern_domain_create(node, (int[]){0}, 1, 4096, &scene.domain)));
    CHECK(says(tern_node_run(node, submit_one, &scene), TERN_ERR_PEER, "rank 1"));
    CHECK(look_says("task 'dies' is running on chip 0 (rank 1)"));
    CHECK(says(tern_node_run(node, submit_one, &scene), TERN_ERR_PEER, "rank 1"));
    return 0;
}

static void a_chip_that_dies_ends_the_run(void **state)
{
    assert_true(runs_with(2, 5, host_of_death, NULL, TERN_ERR_PEER));
}

// A wrong submission ends its run with this sentence, too.
struct wrong {
    struct scene scene;
    tern_node_task task;
    const char *words;
    int status;
};

static int submit_wrong(tern_graph *graph, void *arg)
{
    const struct wrong *wrong = arg;
    tern_task_id id = 7;
    CHECK(says(tern_node_submit(graph, &wrong->task, &id), wrong->status, wrong->words));
    CHECK(id == 7);
    return TERN_OK;
}

static bool refuses(tern_node *node, tern_node_task task, int status, const char *words)
{
    struct wrong wrong = {.task = task, .status = status, .words = words};
    return says(tern_node_run(node, submit_wrong, &wrong), status, words);
}

static int host_of_arguments(tern_node *node, void *arg)
{
    tern_domain *domain, *none;
    tern_node *other;
    float mine[FLOATS] = {0};
    CHECK(fine(tern_domain_create(node, (int[]){0}, 1, 4096, &domain)));
    tern_region outside = floats(mine, FLOATS);
    tern_region past = floats((char *)tern_domain_address(domain, 0) + 4096, 1 << 24);
    tern_task_arg bad[] = {in(&outside)}, long_one[] = {in(&past)}, none_at_all[] = {in(NULL)};
    tern_node_task task = {.function = "count", .chips = (int[]){0}, .chips_count = 1};
    task.args_count = 1;
    task.args = bad;
    CHECK(refuses(node, task, TERN_ERR_ARG, "chips do not reach its memory"));
    task.args = long_one;
    CHECK(refuses(node, task, TERN_ERR_ARG, "chips do not reach its memory"));
    task.args = none_at_all;
    CHECK(refuses(node, task, TERN_ERR_ARG, "region must not be NULL"));
    task.args_count = TERN_TASK_ARGS_MAX + 1;
    CHECK(refuses(node, task, TERN_ERR_ARG, "49 arguments"));
    task.args_count = 0;
    task.chips = (int[]){2};
    CHECK(refuses(node, task, TERN_ERR_ARG, "chips[0] is 2"));
    task.chips = (int[]){1, 1};
    task.chips_count = 2;
    CHECK(refuses(node, task, TERN_ERR_ARG, "chips[1] is 1"));
    task.chips_count = 3;
    CHECK(refuses(node, task, TERN_ERR_ARG, "for 3 chips"));
    task.chips_count = 1;
    task.domains = &domain;
    task.domains_count = 1;
    CHECK(refuses(node, task, TERN_ERR_ARG, "chip 1 is no member of domain 0"));
    task.chips_count = 0;
    CHECK(refuses(node, task, TERN_ERR_ARG, "may run on any chip"));
    task.function = NULL;
    CHECK(refuses(node, task, TERN_ERR_ARG, "1 to 63 characters"));
    CHECK(says(tern_domain_create(node, (int[]){0, 0}, 2, 64, &none), TERN_ERR_ARG, "chips[1]"));
    CHECK(says(tern_domain_create(node, NULL, 0, 0, &none), TERN_ERR_ARG, "must have a byte"));
    CHECK(says(tern_domain_write(domain, 1, 0, mine, 4), TERN_ERR_ARG, "no member 1"));
    CHECK(says(tern_domain_write(domain, 0, 4092, mine, 8), TERN_ERR_ARG, "bytes 4092 to 4100"));
    CHECK(tern_domain_address(domain, 5) == NULL && look_says("no member 5"));
    CHECK(says(tern_node_load(node, ""), TERN_ERR_ARG, "path"));
    CHECK(says(tern_node_synchronize(node), TERN_ERR_STATE, "nothing was launched"));
    CHECK(says(tern_node_create(NULL, NULL, &other), TERN_ERR_ARG, "comm"));
    CHECK(says(tern_node_submit(NULL, &task, NULL), TERN_ERR_ARG, "graph"));
    return host_of_failures(node, arg);
}

static void wrong_arguments_have_sentences(void **state)
{
    assert_true(runs_with(3, 3, host_of_arguments, NULL, TERN_OK));
}

// Serving and making on the wrong side, and functions that are none.
static int wrong_sides(tern_comm *comm, void *arg)
{
    tern_node *node;
    tern_node_function both = {.name = "both"};
    if (tern_comm_rank(comm) == 0) {
        CHECK(says(tern_node_serve(comm, NULL), TERN_ERR_ARG, "rank 0 is the host"));
        if (tern_comm_size(comm) > 1) {
            tern_node_options options = {.host_threads = -1};
            CHECK(says(tern_node_create(comm, &options, &node), TERN_ERR_ARG, "-1 threads"));
            options = (tern_node_options){.window = 5}; // found when the chips are there already
            CHECK(says(tern_node_create(comm, &options, &node), TERN_ERR_ARG, "power of two"));
            return 0;
        }
    }
    if (tern_comm_rank(comm) != 0 || tern_comm_size(comm) == 1) {
        CHECK(says(tern_node_create(comm, NULL, &node), TERN_ERR_ARG, "the host is rank 0"));
    }
    if (tern_comm_rank(comm) != 0) {
        tern_serve_options options = {.functions = &both, .functions_count = 1};
        CHECK(says(tern_node_serve(comm, &options), TERN_ERR_ARG,
                   "function 0, 'both', must have a name, and a kernel, an"));
        CHECK(says(tern_node_serve(comm, NULL), TERN_ERR_ARG, "power of two"));
    }
    return 0;
}

// A chip that gives up before it has begun.
static int no_rings(tern_comm *comm, void *arg)
{
    struct scene scene = {.function = "count"};
    if (tern_comm_rank(comm) == 1) {
        setenv("TERN_RING_WINDOW", "5", 1);
        CHECK(says(tern_node_serve(comm, NULL), TERN_ERR_ARG, "power of two"));
    } else if (tern_comm_rank(comm) != 0) {
        CHECK(says(tern_node_serve(comm, NULL), TERN_ERR_ARG, "chip 0 (rank 1)"));
    } else {
        CHECK(fine(tern_node_create(comm, NULL, &scene.node)));
        int status = tern_domain_create(scene.node, (int[]){0}, 1, 64, &scene.domain);
        status = status == TERN_OK ? tern_node_run(scene.node, submit_one, &scene) : status;
        CHECK(says(status, TERN_ERR_ARG, "chip 0 (rank 1)") && look_says("power of two"));
        CHECK(fine(tern_node_destroy(scene.node)));
    }
    CHECK(fine(tern_comm_barrier(comm)));
    return 0;
}

static void both_sides_say_what_is_wrong(void **state)
{
    assert_true(ranks_run_counts(2, 3, no_rings, NULL, 60));
    assert_true(ranks_run_counts(1, 3, wrong_sides, NULL, 60));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_kernel_that_fails_poisons_what_follows),
        cmocka_unit_test(waits_in_a_group_that_failed_end),
        cmocka_unit_test(a_group_that_does_not_come_back_ends_the_node),
        cmocka_unit_test(a_run_ends_at_its_deadline),
        cmocka_unit_test(a_chip_that_dies_ends_the_run),
        cmocka_unit_test(wrong_arguments_have_sentences),
        cmocka_unit_test(both_sides_say_what_is_wrong),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
