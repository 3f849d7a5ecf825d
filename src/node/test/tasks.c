// SPDX-License-Identifier: Apache-2.0
// Tasks for chips: their order follows from ranges of tensors, also between chips and the host;
// outputs from heaps, back-pressure, orchestrations of chips, waits, domains that are used again.
#include "support/cmocka.h"
#include <stdlib.h>

#include "kit.h"
#include "tern/graph.h"

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

static const tern_node_function functions[] = {{.name = "add_to_all", .kernel = add_to_all},
                                               {.name = "twice", .kernel = twice},
                                               {.name = "meet", .kernel = meet},
                                               {.name = "add_often", .orchestration = add_often}};

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(order_follows_from_ranges),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
