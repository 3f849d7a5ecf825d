// SPDX-License-Identifier: Apache-2.0
// ctest-timeout: 240
// Random tasks over random ranges, on random chips, groups, any chip and the host: whatever runs at
// the same time, each word ends as if the tasks had run one after the other.
#include "support/cmocka.h"

#include "kit.h"
#include "support/random.h"

enum { WORDS = 96, TASKS = 1000, RUNS = 5, GROUP_MOST = 3 };

// (to, from, number): to = 3 to + the sum of from + number, each by itself; the second may be
// missing, as 0.
static void mix(int64_t *args)
{
    uint32_t *to = tern_region_data(region_of(args[0])), sum = (uint32_t)args[2];
    for (uint64_t i = 0; args[1] != 0 && i < tern_region_count(region_of(args[1])); i++) {
        sum += ((const uint32_t *)tern_region_data(region_of(args[1])))[i];
    }
    for (uint64_t i = 0; i < tern_region_count(region_of(args[0])); i++) {
        to[i] = 3 * to[i] + sum;
    }
}

// (to, number): the same without a second.
static void mix_one(int64_t *args)
{
    mix((int64_t[3]){args[0], 0, args[1]});
}

static const tern_node_function functions[] = {{.name = "mix", .kernel = mix},
                                               {.name = "mix_one", .kernel = mix_one}};

struct scene {
    tern_node *node;
    tern_domain *domain;
    uint64_t *drawn;
    uint32_t model[WORDS];
};

struct range {
    uint32_t first, count;
};

static uint32_t below(struct scene *scene, uint32_t end)
{
    return (uint32_t)random_below(scene->drawn, end);
}

static struct range draw(struct scene *scene, uint32_t begin, uint32_t end)
{
    const uint32_t first = begin + below(scene, end - begin);
    return (struct range){first, 1 + below(scene, end - first < 20 ? end - first : 20)};
}

static tern_region words_of(const struct scene *scene, struct range range)
{
    tern_region whole, view = {0};
    if (tern_region_make(&whole, tern_domain_address(scene->domain, TERN_NODE_HOST),
                         (uint32_t[]){WORDS}, 1, TERN_REGION_U32) != TERN_OK ||
        tern_region_view(&whole, &range.count, &range.first, &view) != TERN_OK) {
        fprintf(stderr, "%s\n", tern_last_error());
    }
    return view;
}

static void mix_model(struct scene *scene, struct range to, struct range from, uint32_t number)
{
    for (uint32_t i = from.first; i < from.first + from.count; i++) {
        number += scene->model[i];
    }
    for (uint32_t i = to.first; i < to.first + to.count; i++) {
        scene->model[i] = 3 * scene->model[i] + number;
    }
}

// Members have a third of the words each.
static int submit_group(tern_graph *graph, struct scene *scene, int chips, uint32_t number)
{
    const int count = chips < GROUP_MOST ? chips : GROUP_MOST;
    const int first = (int)below(scene, (uint32_t)chips);
    tern_region to[GROUP_MOST];
    tern_task_arg args[2 * GROUP_MOST];
    int where[GROUP_MOST];
    for (int i = 0; i < count; i++) {
        const uint32_t begin = (uint32_t)i * WORDS / GROUP_MOST;
        const struct range range = draw(scene, begin, begin + WORDS / GROUP_MOST);
        to[i] = words_of(scene, range);
        args[2 * i] = inout(&to[i]);
        args[2 * i + 1] = scalar(number);
        where[i] = (first + i) % chips;
        mix_model(scene, range, (struct range){0, 0}, number);
    }
    tern_node_task task = {
        .function = "mix_one", .chips = where, .chips_count = count, .args = args, .args_count = 2};
    return tern_node_submit(graph, &task, NULL);
}

// One range is in the first half of the words, the other in the second.
static int submit_random(tern_graph *graph, struct scene *scene, uint32_t number)
{
    const int chips = tern_node_chips(scene->node);
    const uint32_t sort = below(scene, 8);
    if (sort == 0) {
        return submit_group(graph, scene, chips, number);
    }
    const struct range ranges[] = {draw(scene, 0, WORDS / 2), draw(scene, WORDS / 2, WORDS)};
    const uint32_t which = below(scene, 2);
    tern_region to = words_of(scene, ranges[which]), from = words_of(scene, ranges[1 - which]);
    tern_task_arg args[] = {inout(&to), in(&from), scalar(number)};
    mix_model(scene, ranges[which], ranges[1 - which], number);
    if (sort == 1) {
        tern_submission task = {.task = {.name = "mix", .kernel = mix, .core = TERN_CORE_AIV},
                                .args = args,
                                .args_count = 3};
        return tern_graph_submit(graph, &task, NULL);
    }
    return submit_to(graph, sort == 2 ? -1 : (int)below(scene, (uint32_t)chips), "mix", args, 3);
}

static int submit_all(tern_graph *graph, void *arg)
{
    struct scene *scene = arg;
    for (int i = 0; i < TASKS; i++) {
        const bool scoped = below(scene, 4) == 0;
        CHECK(!scoped || fine(tern_graph_scope_begin(graph, TERN_SCOPE_AUTO)));
        CHECK(fine(submit_random(graph, scene, (uint32_t)i)));
        CHECK(!scoped || fine(tern_graph_scope_end(graph)));
    }
    return TERN_OK;
}

static int host_draws(tern_node *node, void *arg)
{
    struct scene scene = {.node = node, .drawn = arg};
    uint32_t seen[WORDS];
    CHECK(fine(tern_domain_create(node, NULL, 0, sizeof seen, &scene.domain)));
    for (int run = 0; run < RUNS; run++) {
        CHECK(fine(tern_node_run(node, submit_all, &scene)));
        CHECK(fine(tern_domain_read(scene.domain, TERN_NODE_HOST, 0, seen, sizeof seen)));
        CHECK(memcmp(seen, scene.model, sizeof seen) == 0);
    }
    return 0;
}

static void tasks_end_as_if_one_after_the_other(void **state)
{
    uint64_t drawn = random_seed();
    struct node_test test = {.host = host_draws,
                             .arg = &drawn,
                             .options = &(tern_node_options){.host_threads = 2},
                             .functions = functions,
                             .functions_count = sizeof functions / sizeof *functions};
    assert_true(ranks_run_counts(2, 16, node_body, &test, 200));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tasks_end_as_if_one_after_the_other),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
