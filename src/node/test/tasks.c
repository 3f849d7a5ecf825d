// SPDX-License-Identifier: Apache-2.0
// ctest-timeout: 120, ctest-machines: 2
// Tasks for chips: their order follows from ranges of tensors, also between chips and the host;
// outputs from heaps, back-pressure, orchestrations of chips, waits, domains that are used again.
#include "support/cmocka.h"
#include <stdlib.h>

#include "kit.h"
#include "tern/graph.h"

#define KERNELS TERN_TEST_KERNEL_DIR "/node_minus.so"

// region += scalar, by each element
static void add_to_all(int64_t *args)
{
    float *data = data_of(args[0]);
    uint64_t count = tern_region_count(region_of(args[0]));
    for (uint64_t i = 0; i < count; i++) {
        data[i] += (float)args[1];
    }
}

// to[i] = from[i] * 2
static void twice(int64_t *args)
{
    const float *from = data_of(args[0]);
    float *to = data_of(args[1]);
    uint64_t count = tern_region_count(region_of(args[1]));
    for (uint64_t i = 0; i < count; i++) {
        to[i] = from[i] * 2;
    }
}

// to[0] += from[0]
static void add_first(int64_t *args)
{
    *data_of(args[1]) += *data_of(args[0]);
}

// Meets the task of another chip: tells args[1], a word of its chip, and waits for args[0].
static void meet(int64_t *args)
{
    if (notify_at(data_of(args[1])) != TERN_OK || wait_at(data_of(args[0]), 1) != TERN_OK) {
        tern_kernel_fail("%s", tern_last_error());
    }
}

// A graph on the chip's cores: adds 1 to each element args[1] times, one task after the other.
static void core_adds(int64_t *args)
{
    add_to_all((int64_t[2]){args[0], 1});
}

static int add_often(tern_graph *graph, void *arg)
{
    const int64_t *args = arg;
    tern_task_arg inside[] = {inout(region_of(args[0]))};
    tern_submission submission = {.task = {.name = "add 1",
                                           .kernel = core_adds,
                                           .core = TERN_CORE_AIV},
                                  .args = inside,
                                  .args_count = 1};
    for (int64_t i = 0; i < args[1]; i++) {
        int status = tern_graph_submit(graph, &submission, NULL);
        if (status != TERN_OK) {
            return status;
        }
    }
    return TERN_OK;
}

// A word of the host's, which a task waits for.
static void tell_host(int64_t *args)
{
    if (notify_at(data_of(args[0])) != TERN_OK) {
        tern_kernel_fail("%s", tern_last_error());
    }
}

static const tern_node_function functions[] = {{.name = "add_to_all", .kernel = add_to_all},
                                               {.name = "twice", .kernel = twice},
                                               {.name = "add_first", .kernel = add_first},
                                               {.name = "meet", .kernel = meet},
                                               {.name = "tell_host", .kernel = tell_host},
                                               {.name = "add_often", .orchestration = add_often}};

static int chips_graph_runs;

static void count_run(int64_t *args)
{
    chips_graph_runs++;
}

// How often the chip's graph has run, to[0].
static void tell_runs(int64_t *args)
{
    *data_of(args[0]) = (float)chips_graph_runs;
}

static int submit_graph(tern_graph *graph, void *arg)
{
    tern_region *told = arg;
    tern_task_arg args[] = {inout(told)};
    for (int i = 0; i < 3; i++) {
        CHECK(fine(submit_to(graph, 0, "whole", NULL, 0)));
    }
    CHECK(fine(submit_to(graph, 0, "tell_runs", args, 1)));
    return TERN_OK;
}

static int host_of_graph(tern_node *node, void *arg)
{
    tern_domain *domain;
    float seen;
    CHECK(fine(tern_domain_create(node, (int[]){0}, 1, 64, &domain)));
    tern_region told = floats(tern_domain_address(domain, 0), 1);
    CHECK(fine(tern_node_run(node, submit_graph, &told)));
    CHECK(fine(tern_domain_read(domain, 0, 0, &seen, sizeof seen)));
    CHECK(seen == 6); // two tasks each time
    return 0;
}

// A graph that the chip's program has built, launched again and again.
static int body_with_graph(tern_comm *comm, void *arg)
{
    tern_graph *graph;
    const tern_task task = {.name = "count", .kernel = count_run, .core = TERN_CORE_AIV};
    CHECK(fine(tern_graph_create(&graph)));
    CHECK(fine(tern_graph_add_task(graph, &task, NULL)));
    CHECK(fine(tern_graph_add_task(graph, &task, NULL)));
    CHECK(fine(tern_graph_add_edge(graph, 0, 1)));
    const tern_node_function both[] = {{.name = "whole", .graph = graph},
                                       {.name = "tell_runs", .kernel = tell_runs}};
    struct node_test test = {.host = host_of_graph, .functions = both, .functions_count = 2};
    CHECK(node_body(comm, &test) == 0);
    CHECK(fine(tern_graph_destroy(graph)));
    return 0;
}

static void chips_run_graphs_of_their_own(void **state)
{
    assert_true(ranks_run_counts(2, 3, body_with_graph, NULL, 60));
}

static bool runs_with(int least, int most, int (*host)(tern_node *, void *),
                      const tern_node_options *options)
{
    struct node_test test = {.host = host,
                             .options = options,
                             .functions = functions,
                             .functions_count = sizeof functions / sizeof *functions};
    return ranks_run_counts(least, most, node_body, &test, 60);
}

struct data {
    tern_node *node;
    tern_domain *domain;
    tern_region all;
};

// Each chip adds to its own range, then each to the next one's, then one to all.
static int add_in_turns(tern_graph *graph, void *arg)
{
    struct data *data = arg;
    int chips = tern_node_chips(data->node);
    for (int turn = 0; turn < 3; turn++) {
        for (int chip = 0; chip < chips; chip++) {
            uint32_t first = (uint32_t)((chip + turn) % chips) * FLOATS;
            tern_region range = part(&data->all, first, FLOATS);
            tern_task_arg args[] = {inout(&range), scalar((uint64_t)chip + 1)};
            CHECK(fine(submit_to(graph, chip, "add_to_all", args, 2)));
        }
    }
    tern_region doubled = floats(NULL, (uint32_t)chips * FLOATS);
    tern_task_arg args[] = {in(&data->all), out(&doubled)};
    CHECK(fine(submit_to(graph, chips - 1, "twice", args, 2)));
    for (uint32_t i = 0; i < (uint32_t)chips * FLOATS; i++) { // waits for the task
        uint64_t bits = 0;
        float seen;
        int home = (int)i / FLOATS, expected = 0;
        for (int turn = 0; turn < 3; turn++) {
            expected += ((home - turn) % chips + chips) % chips + 1;
        }
        CHECK(fine(tern_graph_get_element(graph, &doubled, &i, &bits)));
        memcpy(&seen, &bits, sizeof seen);
        CHECK(seen == 2 * (float)expected);
    }
    return TERN_OK;
}

static int host_adds(tern_node *node, void *arg)
{
    struct data data = {.node = node};
    uint32_t count = (uint32_t)tern_node_chips(node) * FLOATS;
    for (int run = 0; run < 3; run++) {
        CHECK(fine(tern_domain_create(node, NULL, 0, count * sizeof(float), &data.domain)));
        data.all = floats(tern_domain_address(data.domain, TERN_NODE_HOST), count);
        CHECK(fine(tern_node_run(node, add_in_turns, &data)));
        CHECK(fine(tern_domain_destroy(data.domain)));
    }
    return 0;
}

static void order_follows_from_ranges(void **state)
{
    assert_true(runs_with(2, 8, host_adds, NULL));
}

// Two neighbouring ranges of one buffer: their tasks are not ordered, as each waits for the other.
static int submit_meeting(tern_graph *graph, void *arg)
{
    struct data *data = arg;
    for (int chip = 0; chip < 2; chip++) {
        tern_region range = part(&data->all, (uint32_t)chip * FLOATS, FLOATS);
        tern_region own = floats(tern_domain_address(data->domain, chip), 1);
        tern_region other = floats(tern_domain_address(data->domain, 1 - chip), 1);
        tern_task_arg args[] = {{.access = TERN_NO_DEP, .region = &own},
                                {.access = TERN_NO_DEP, .region = &other},
                                inout(&range)};
        CHECK(fine(submit_to(graph, chip, "meet", args, 3)));
    }
    return TERN_OK;
}

static int host_meets(tern_node *node, void *arg)
{
    struct data data = {.node = node};
    CHECK(fine(tern_domain_create(node, (int[]){0, 1}, 2, 4096, &data.domain)));
    data.all = floats((char *)tern_domain_address(data.domain, TERN_NODE_HOST), 2 * FLOATS);
    CHECK(fine(tern_node_run(node, submit_meeting, &data)));
    CHECK(fine(tern_domain_destroy(data.domain)));
    return 0;
}

static void ranges_of_one_buffer_run_together(void **state)
{
    assert_true(runs_with(3, 8, host_meets, NULL));
}

// Many outputs in a heap of a few, and more tasks than rows: whoever submits waits.
static int make_many(tern_graph *graph, void *arg)
{
    struct data *data = arg;
    int chips = tern_node_chips(data->node);
    for (int i = 0; i < 400; i++) {
        tern_region made = floats(NULL, 1024), range = part(&data->all, (uint32_t)(i % 7), 1);
        tern_task_arg fill[] = {{.access = TERN_OUT, .region = &made, .filled = true, .fill = 0},
                                scalar(3)};
        tern_task_arg add[] = {in(&made), inout(&range)};
        CHECK(fine(tern_graph_scope_begin(graph, TERN_SCOPE_AUTO)));
        CHECK(fine(submit_to(graph, i % chips, "add_to_all", fill, 2)));
        CHECK(fine(submit_to(graph, -1, "add_first", add, 2)));
        CHECK(fine(tern_graph_scope_end(graph)));
    }
    return TERN_OK;
}

static int host_makes_many(tern_node *node, void *arg)
{
    struct data data = {.node = node};
    float sums[7];
    CHECK(fine(tern_domain_create(node, NULL, 0, sizeof sums, &data.domain)));
    data.all = floats(tern_domain_address(data.domain, TERN_NODE_HOST), 7);
    CHECK(fine(tern_node_run(node, make_many, &data)));
    CHECK(fine(tern_domain_read(data.domain, TERN_NODE_HOST, 0, sums, sizeof sums)));
    for (int i = 0; i < 7; i++) {
        int adders = 400 / 7 + (i < 400 % 7);
        CHECK(sums[i] == (float)(3 * adders));
    }
    return 0;
}

static void outputs_of_a_small_heap_are_waited_for(void **state)
{
    assert_true(
        runs_with(2, 5, host_makes_many, &(tern_node_options){.window = 8, .heap_bytes = 16384}));
}

// On the host: args[1] = the first element of args[0], as the task before has left it.
static void look(int64_t *args)
{
    *(float *)(intptr_t)args[1] = *data_of(args[0]);
}

struct mixed {
    struct data data;
    float seen;
};

// Whether a pointer of this process leads to the memory.
static bool is_near(const tern_region *region)
{
    tern_window *window;
    int rank;
    size_t offset;
    return fine(tern_window_find(tern_region_data(region), &window, &rank, &offset)) &&
           tern_window_is_local(window, rank);
}

static int submit_mixed(tern_graph *graph, void *arg)
{
    struct mixed *mixed = arg;
    tern_region *all = &mixed->data.all;
    tern_region word = floats(tern_domain_address(mixed->data.domain, TERN_NODE_HOST), 1);
    tern_condition told = {.cmp = TERN_CMP_GE, .value = 1};
    int rank;
    tern_task_arg often[] = {inout(all), scalar(5)};
    tern_task_arg minus[] = {inout(all), scalar(2)};
    tern_task_arg tell[] = {{.access = TERN_NO_DEP, .region = &word}};
    tern_task_arg seen[] = {in(all), scalar((uint64_t)(uintptr_t)&mixed->seen)};
    tern_submission looks = {.task = {.name = "look", .kernel = look, .core = TERN_CORE_AIV},
                             .args = seen,
                             .args_count = 2};
    int last = tern_node_chips(mixed->data.node) - 1;
    tern_node_task minus_both = {.function = "tern_test_minus",
                                 .chips = &last,
                                 .chips_count = 1,
                                 .args = minus,
                                 .args_count = 2,
                                 .waits = &told,
                                 .waits_count = 1};
    CHECK(fine(tern_window_find(tern_region_data(&word), &told.window, &rank, &told.offset_bytes)));
    CHECK(fine(submit_to(graph, 0, "add_often", often, 2)));
    CHECK(fine(tern_node_submit(graph, &minus_both, NULL)));
    if (is_near(all)) {
        CHECK(fine(tern_graph_submit(graph, &looks, NULL)));
    }
    CHECK(fine(submit_to(graph, 0, "add_to_all", often, 2)));
    CHECK(fine(submit_to(graph, 0, "tell_host", tell, 1)));
    minus_both.function = "tern_test_build";
    minus_both.orchestrates = true;
    CHECK(fine(tern_node_submit(graph, &minus_both, NULL)));
    return TERN_OK;
}

// Cores of a chip, objects that are loaded, the host's own threads, and a signal of the host.
static int host_mixes(tern_node *node, void *arg)
{
    struct mixed mixed = {.data.node = node};
    float left[FLOATS];
    CHECK(says(tern_node_load(node, "/nowhere.so"), TERN_ERR_KERNEL, "chip 0 (rank 1)"));
    CHECK(fine(tern_node_load(node, KERNELS)));
    CHECK(fine(tern_domain_create(node, (int[]){0}, 1, 4096, &mixed.data.domain)));
    mixed.data.all = floats(tern_domain_address(mixed.data.domain, 0), FLOATS);
    CHECK(fine(tern_node_run(node, submit_mixed, &mixed)));
    CHECK(mixed.seen == 3 || !is_near(&mixed.data.all));
    CHECK(fine(tern_domain_read(mixed.data.domain, 0, 0, left, sizeof left)));
    for (int i = 0; i < FLOATS; i++) {
        CHECK(left[i] == 6);
    }
    return 0;
}

static void chips_cores_objects_and_host_work_together(void **state)
{
    assert_true(runs_with(2, 5, host_mixes, NULL));
}

// Elements of every chip's memory, between tasks; and a task of the host where they are far.
static int use_elements(tern_graph *graph, void *arg)
{
    struct mixed *mixed = arg;
    tern_region *all = &mixed->data.all;
    const int chips = tern_node_chips(mixed->data.node);
    tern_task_arg add[] = {inout(all), scalar(4)};
    uint64_t bits;
    float value = 1.5F;
    memcpy(&bits, &value, sizeof value);
    bits &= UINT32_MAX;
    CHECK(fine(tern_graph_set_element(graph, all, &(uint32_t){3}, bits)));
    CHECK(fine(submit_to(graph, chips - 1, "add_to_all", add, 2)));
    CHECK(fine(submit_to(graph, 0, "add_to_all", add, 2)));
    CHECK(fine(tern_graph_get_element(graph, all, &(uint32_t){3}, &bits)));
    memcpy(&mixed->seen, &bits, sizeof mixed->seen);
    return TERN_OK;
}

static int submit_look(tern_graph *graph, void *arg)
{
    struct mixed *mixed = arg;
    tern_task_arg seen[] = {in(&mixed->data.all), scalar((uint64_t)(uintptr_t)&mixed->seen)};
    tern_submission looks = {.task = {.name = "look", .kernel = look, .core = TERN_CORE_AIV},
                             .args = seen,
                             .args_count = 2};
    return tern_graph_submit(graph, &looks, NULL);
}

static int host_uses_elements(tern_node *node, void *arg)
{
    struct mixed mixed = {.data.node = node};
    int last = tern_node_chips(node) - 1;
    CHECK(fine(tern_domain_create(node, &last, 1, 4096, &mixed.data.domain)));
    mixed.data.all = floats(tern_domain_address(mixed.data.domain, 0), FLOATS);
    CHECK(fine(tern_node_run(node, use_elements, &mixed)));
    CHECK(mixed.seen == 9.5F);
    if (is_near(&mixed.data.all)) {
        CHECK(fine(tern_node_run(node, submit_look, &mixed)));
        CHECK(mixed.seen == 8);
    } else {
        CHECK(says(tern_node_run(node, submit_look, &mixed), TERN_ERR_ARG,
                   "where a task of the host cannot load from it"));
        CHECK(fine(tern_node_run(node, use_elements, &mixed))); // the node works on
    }
    return 0;
}

static void the_host_uses_elements_of_all_chips(void **state)
{
    assert_true(runs_with(2, 5, host_uses_elements, NULL));
}

static int leave_domain(tern_graph *graph, void *arg)
{
    struct data *data = arg;
    tern_domain *brief;
    CHECK(fine(tern_domain_create(data->node, (int[]){0}, 1, 12 << 10, &brief)));
    tern_region mine = floats(tern_domain_address(brief, 0), FLOATS);
    tern_task_arg args[] = {inout(&mine), scalar(9)};
    CHECK(fine(submit_to(graph, 0, "add_to_all", args, 2)));
    CHECK(fine(tern_domain_destroy(brief))); // the task uses it still
    CHECK(says(tern_domain_create(data->node, NULL, 0, 12 << 10, &brief), TERN_ERR_MEMORY,
               "at most 4096 in a piece"));
    return TERN_OK;
}

static int host_uses_again(tern_node *node, void *arg)
{
    struct data data = {.node = node};
    for (int run = 0; run < 3; run++) {
        char bytes[8192], host[8192];
        CHECK(fine(tern_node_run(node, leave_domain, &data)));
        CHECK(fine(tern_domain_create(node, (int[]){0}, 1, sizeof bytes, &data.domain)));
        CHECK(fine(tern_domain_read(data.domain, 0, 0, bytes, sizeof bytes)));
        for (size_t i = 0; i < sizeof bytes; i++) {
            CHECK(bytes[i] == 0);
        }
        memset(host, 7, sizeof host);
        CHECK(fine(tern_domain_write(data.domain, TERN_NODE_HOST, 0, host, sizeof host)));
        CHECK(fine(tern_domain_destroy(data.domain)));
        CHECK(says(tern_domain_destroy(data.domain), TERN_ERR_ARG, "has been destroyed"));
    }
    return 0;
}

static void domains_are_used_again_after_the_run(void **state)
{
    assert_true(runs_with(2, 3, host_uses_again, &(tern_node_options){.memory_bytes = 16384}));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(order_follows_from_ranges),
        cmocka_unit_test(ranges_of_one_buffer_run_together),
        cmocka_unit_test(outputs_of_a_small_heap_are_waited_for),
        cmocka_unit_test(chips_cores_objects_and_host_work_together),
        cmocka_unit_test(the_host_uses_elements_of_all_chips),
        cmocka_unit_test(domains_are_used_again_after_the_run),
        cmocka_unit_test(chips_run_graphs_of_their_own),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
