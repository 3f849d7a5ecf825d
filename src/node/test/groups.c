// SPDX-License-Identifier: Apache-2.0
// ctest-timeout: 120, ctest-machines: 2
// Groups: chips that start together, kernels that wait for each other, domains that overlap, and
// what a group that waits keeps from others.
#include "support/cmocka.h"

#include "kit.h"

enum { DATA = 256, ROUNDS = 5 }; // of a domain: first the words of its barrier, then data

static void *here(const tern_context *context, uint32_t rank, size_t offset)
{
    return (char *)(uintptr_t)context->windowsIn[rank] + offset;
}

// All members come to the barrier for the n-th time, n from 1 on: each has a word at each other.
static int meet_all(const tern_context *context, int32_t n)
{
    int status = TERN_OK;
    for (uint32_t peer = 0; peer < context->rankNum && status == TERN_OK; peer++) {
        status = notify_at(here(context, peer, 4 * context->rankId));
    }
    for (uint32_t peer = 0; peer < context->rankNum && status == TERN_OK; peer++) {
        status = wait_at(here(context, context->rankId, 4 * peer), n);
    }
    return status;
}

// args: how many floats each member has, which round this is, the data, the context. Sums it
// everywhere.
static void all_reduce(int64_t *args)
{
    const tern_context *context = (const tern_context *)(intptr_t)args[3];
    float *mine = data_of(args[2]);
    float sums[FLOATS] = {0};
    int status = meet_all(context, 2 * (int32_t)args[1] - 1);
    for (uint32_t peer = 0; peer < context->rankNum && status == TERN_OK; peer++) {
        float theirs[FLOATS] = {0};
        status = get_at(here(context, peer, DATA), theirs, (size_t)args[0] * sizeof(float));
        for (int64_t i = 0; i < args[0]; i++) {
            sums[i] += theirs[i];
        }
    }
    status = status == TERN_OK ? meet_all(context, 2 * (int32_t)args[1]) : status;
    memcpy(mine, sums, (size_t)args[0] * sizeof(float));
    if (status != TERN_OK) {
        tern_kernel_fail("%s", tern_last_error());
    }
}

// data[0] = the rank in the domain, data[1] = how many
static void who_am_i(int64_t *args)
{
    const tern_context *context = (const tern_context *)(intptr_t)args[0];
    float *mine = here(context, context->rankId, DATA);
    tern_node_args said;
    if (!tern_node_task_args(&said) || said.args_count != 0 || said.domains_count != 1 ||
        said.is_region != 0) {
        tern_kernel_fail("it has one context, and no more");
    }
    mine[0] = (float)context->rankId;
    mine[1] = (float)context->rankNum;
}

// args: what chip it is, then a word of chip 1's and a float of the own chip.
static void first_group(int64_t *args)
{
    if (args[0] == 1 && wait_at(data_of(args[1]), 1) != TERN_OK) {
        tern_kernel_fail("%s", tern_last_error());
    }
}

static void second_group(int64_t *args)
{
    *data_of(args[2]) = 1;
}

static void single(int64_t *args)
{
    if (args[0] == 0 && notify_at(data_of(args[1])) != TERN_OK) {
        tern_kernel_fail("%s", tern_last_error());
    }
    if (args[0] == 2) { // the second group has run here
        *data_of(args[2]) = *data_of(args[2]) == 1 ? 2 : -1;
    }
}

// Takes its time, then marks a word of another chip.
static void slow(int64_t *args)
{
    nanosleep(&(struct timespec){.tv_nsec = 30000000}, NULL);
    if (put_at(data_of(args[0]), &(float){1}, sizeof(float)) != TERN_OK) {
        tern_kernel_fail("%s", tern_last_error());
    }
}

// args: what chip it is, the mark: it must be there on chip 1 when this begins.
static void sees_mark(int64_t *args)
{
    if (args[0] == 1 && *data_of(args[1]) != 1) {
        tern_kernel_fail("chip 0 is not idle yet");
    }
}

// The n-th group that comes to a chip writes n there.
static void nth(int64_t *args)
{
    *data_of(args[1]) = *data_of(args[1]) * 10 + (float)args[0];
}

static const tern_node_function functions[] = {{.name = "all_reduce", .kernel = all_reduce},
                                               {.name = "who_am_i", .kernel = who_am_i},
                                               {.name = "first_group", .kernel = first_group},
                                               {.name = "second_group", .kernel = second_group},
                                               {.name = "single", .kernel = single},
                                               {.name = "slow", .kernel = slow},
                                               {.name = "sees_mark", .kernel = sees_mark},
                                               {.name = "nth", .kernel = nth}};

static bool runs_with(int least, int most, int (*host)(tern_node *, void *))
{
    struct node_test test = {.host = host,
                             .functions = functions,
                             .functions_count = sizeof functions / sizeof *functions};
    return ranks_run_counts(least, most, node_body, &test, 60);
}

static int all_chips(const tern_node *node, int *chips)
{
    for (int i = 0; i < tern_node_chips(node); i++) {
        chips[i] = i;
    }
    return tern_node_chips(node);
}

struct team {
    tern_node *node;
    tern_domain *domain;
    int chips[TERN_NODE_CHIPS_MAX];
    int count;
};

// A group of all members of a domain, which names the data of all of them.
static int submit_on(tern_graph *graph, tern_domain *domain, const int *chips, int count, int round)
{
    tern_region data[TERN_NODE_CHIPS_MAX];
    tern_task_arg args[3 * TERN_NODE_CHIPS_MAX];
    for (int i = 0; i < count; i++) {
        data[i] = floats((char *)tern_domain_address(domain, i) + DATA, FLOATS);
        args[3 * i] = scalar(FLOATS);
        args[3 * i + 1] = scalar((uint64_t)round);
        args[3 * i + 2] = inout(&data[i]);
    }
    tern_node_task task = {.function = "all_reduce",
                           .chips = chips,
                           .chips_count = count,
                           .args = args,
                           .args_count = 3,
                           .domains = &domain,
                           .domains_count = 1};
    return tern_node_submit(graph, &task, NULL);
}

static int reduce_in_rounds(tern_graph *graph, void *arg)
{
    struct team *team = arg;
    for (int round = 1; round <= ROUNDS; round++) {
        CHECK(fine(submit_on(graph, team->domain, team->chips, team->count, round)));
    }
    return TERN_OK;
}

static int host_reduces(tern_node *node, void *arg)
{
    struct team team = {.node = node, .count = all_chips(node, team.chips)};
    float expected = 0, seen[FLOATS];
    CHECK(fine(tern_domain_create(node, team.chips, team.count, 4096, &team.domain)));
    for (int i = 0; i < team.count; i++) {
        float value = (float)(i + 1);
        CHECK(fine(tern_domain_write(team.domain, i, DATA + 4, &value, sizeof value)));
        expected += value;
    }
    CHECK(fine(tern_node_run(node, reduce_in_rounds, &team)));
    for (int round = 1; round < ROUNDS; round++) {
        expected *= (float)team.count;
    }
    for (int i = 0; i < team.count; i++) {
        CHECK(fine(tern_domain_read(team.domain, i, DATA, seen, sizeof seen)));
        CHECK(seen[0] == 0 && seen[1] == expected && seen[2] == 0);
    }
    return 0;
}

static void kernels_of_a_group_wait_for_each_other(void **state)
{
    assert_true(runs_with(2, 8, host_reduces));
}

static const int pairs[3][2] = {{0, 1}, {1, 2}, {2, 0}};

static int reduce_in_pairs(tern_graph *graph, void *arg)
{
    tern_domain **domains = arg;
    for (int p = 0; p < 3; p++) {
        CHECK(fine(submit_on(graph, domains[p], pairs[p], 2, 1)));
    }
    for (int i = 1; i >= 0; i--) {
        tern_node_task task = {.function = "who_am_i",
                               .chips = &pairs[2][i],
                               .chips_count = 1,
                               .domains = &domains[3],
                               .domains_count = 1};
        CHECK(fine(tern_node_submit(graph, &task, NULL)));
    }
    return TERN_OK;
}

// Three domains of two chips each, whose ranks differ from the chips' numbers.
static int host_pairs(tern_node *node, void *arg)
{
    tern_domain *domains[4];
    float value;
    for (int p = 0; p < 4; p++) {
        CHECK(fine(tern_domain_create(node, pairs[p < 3 ? p : 2], 2, 4096, &domains[p])));
        for (int i = 0; i < 2; i++) {
            value = (float)(100 * p + 10 * i + 1);
            CHECK(fine(tern_domain_write(domains[p], i, DATA, &value, sizeof value)));
        }
    }
    CHECK(fine(tern_node_run(node, reduce_in_pairs, domains)));
    for (int p = 0; p < 3; p++) {
        for (int i = 0; i < 2; i++) {
            CHECK(fine(tern_domain_read(domains[p], i, DATA, &value, sizeof value)));
            CHECK(value == (float)(200 * p + 12));
        }
    }
    for (int i = 0; i < 2; i++) {
        CHECK(fine(tern_domain_read(domains[3], i, DATA, &value, sizeof value)));
        CHECK(value == (float)i);
        CHECK(fine(tern_domain_read(domains[3], i, DATA + 4, &value, sizeof value)));
        CHECK(value == 2);
    }
    return 0;
}

static void domains_overlap_and_have_ranks_of_their_own(void **state)
{
    assert_true(runs_with(5, 5, host_pairs));
}

// The first group of chips 0 and 1 ends on chip 1 only when the single task of chip 0 has run. The
// second group waits for chip 1, and chip 2, which is idle, waits for the second group.
static int submit_reservation(tern_graph *graph, void *arg)
{
    tern_domain *domain = arg;
    static const int first[] = {0, 1}, second[] = {1, 2}, alone[] = {0, 2};
    tern_region word = floats(tern_domain_address(domain, 1), 1);
    tern_region marks[3];
    tern_task_arg args[3][3];
    for (int chip = 0; chip < 3; chip++) {
        marks[chip] = floats((char *)tern_domain_address(domain, chip) + DATA, 1);
        args[chip][0] = scalar((uint64_t)chip);
        args[chip][1] = (tern_task_arg){.access = TERN_NO_DEP, .region = &word};
        args[chip][2] = (tern_task_arg){.access = TERN_NO_DEP, .region = &marks[chip]};
    }
    tern_node_task task = {.chips_count = 2, .args_count = 3};
    task.function = "first_group";
    task.chips = first;
    task.args = args[0];
    CHECK(fine(tern_node_submit(graph, &task, NULL)));
    task.function = "second_group";
    task.chips = second;
    task.args = args[1];
    CHECK(fine(tern_node_submit(graph, &task, NULL)));
    CHECK(fine(submit_to(graph, alone[0], "single", args[0], 3)));
    CHECK(fine(submit_to(graph, alone[1], "single", args[2], 3)));
    return TERN_OK;
}

static int host_reserves(tern_node *node, void *arg)
{
    tern_domain *domain;
    float marks[3];
    for (int run = 0; run < 20; run++) {
        CHECK(fine(tern_domain_create(node, (int[]){0, 1, 2}, 3, 4096, &domain)));
        CHECK(fine(tern_node_run(node, submit_reservation, domain)));
        for (int i = 0; i < 3; i++) {
            CHECK(fine(tern_domain_read(domain, i, DATA, &marks[i], sizeof *marks)));
        }
        CHECK(marks[0] == 0 && marks[1] == 1 && marks[2] == 2);
        CHECK(fine(tern_domain_destroy(domain)));
    }
    return 0;
}

static void a_group_that_waits_keeps_its_chips_and_no_others(void **state)
{
    assert_true(runs_with(5, 5, host_reserves));
}

static int submit_busy(tern_graph *graph, void *arg)
{
    tern_domain *domain = arg;
    tern_region mark = floats(tern_domain_address(domain, 1), 1);
    tern_task_arg apart = {.access = TERN_NO_DEP, .region = &mark};
    tern_task_arg both[] = {scalar(0), apart, scalar(1), apart};
    tern_node_task task = {.function = "sees_mark",
                           .chips = (int[]){0, 1},
                           .chips_count = 2,
                           .args = both,
                           .args_count = 2};
    CHECK(fine(submit_to(graph, 0, "slow", &apart, 1)));
    CHECK(fine(tern_node_submit(graph, &task, NULL)));
    return TERN_OK;
}

static int host_is_busy(tern_node *node, void *arg)
{
    tern_domain *domain;
    CHECK(fine(tern_domain_create(node, (int[]){0, 1}, 2, 4096, &domain)));
    CHECK(fine(tern_node_run(node, submit_busy, domain)));
    return 0;
}

static void a_group_starts_when_all_its_chips_are_idle(void **state)
{
    assert_true(runs_with(3, 5, host_is_busy));
}

// Groups 1, 2, 3 of chips 0 and 1, 1 and 2, 2 and 3. The first does not end before the single task
// of chip 0 has run, and the third must not pass the second on chip 2.
static int submit_row(tern_graph *graph, void *arg)
{
    tern_domain *domain = arg;
    tern_region word = floats(tern_domain_address(domain, 1), 1), marks[4];
    tern_task_arg args[4][3];
    for (int chip = 0; chip < 4; chip++) {
        marks[chip] = floats((char *)tern_domain_address(domain, chip) + DATA, 1);
        args[chip][0] = scalar((uint64_t)chip);
        args[chip][1] = (tern_task_arg){.access = TERN_NO_DEP, .region = &word};
        args[chip][2] = (tern_task_arg){.access = TERN_NO_DEP, .region = &marks[chip]};
    }
    for (int group = 0; group < 3; group++) {
        tern_task_arg number[] = {scalar((uint64_t)group + 1), args[group][2],
                                  scalar((uint64_t)group + 1), args[group + 1][2]};
        tern_node_task task = {.function = group == 0 ? "first_group" : "nth",
                               .chips = (int[]){group, group + 1},
                               .chips_count = 2,
                               .args = group == 0 ? args[0] : number,
                               .args_count = group == 0 ? 3 : 2};
        CHECK(fine(tern_node_submit(graph, &task, NULL)));
    }
    CHECK(fine(submit_to(graph, 0, "single", args[0], 3)));
    return TERN_OK;
}

static int host_of_row(tern_node *node, void *arg)
{
    static const float wanted[4] = {0, 2, 23, 3};
    tern_domain *domain;
    CHECK(fine(tern_domain_create(node, (int[]){0, 1, 2, 3}, 4, 4096, &domain)));
    CHECK(fine(tern_node_run(node, submit_row, domain)));
    for (int chip = 0; chip < 4; chip++) {
        float mark;
        CHECK(fine(tern_domain_read(domain, chip, DATA, &mark, sizeof mark)));
        CHECK(mark == wanted[chip]);
    }
    return 0;
}

static void groups_do_not_pass_each_other(void **state)
{
    assert_true(runs_with(5, 8, host_of_row));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kernels_of_a_group_wait_for_each_other),
        cmocka_unit_test(domains_overlap_and_have_ranks_of_their_own),
        cmocka_unit_test(a_group_that_waits_keeps_its_chips_and_no_others),
        cmocka_unit_test(a_group_starts_when_all_its_chips_are_idle),
        cmocka_unit_test(groups_do_not_pass_each_other),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
