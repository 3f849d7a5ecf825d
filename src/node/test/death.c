// SPDX-License-Identifier: Apache-2.0
// ctest-timeout: 240, ctest-machines: 2
// Chips, and the host, that are killed at some moment of many runs: everybody else learns whom, in
// time, and nothing is left.
#include "support/cmocka.h"
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/wait.h>

#include "kit.h"
#include "support/random.h"
#include "support/sanitized.h"

enum { TASKS = 40, ROUNDS_EACH = ROUNDS_OF(12) };

// Between the test and its ranks.
struct board {
    _Atomic int ready;
    int victim;
};

static struct board *board;

static int setup(void **state)
{
    board = ranks_shared(sizeof *board);
    return 0;
}

static void add_one(int64_t *args)
{
    *data_of(args[0]) += 1;
}

// (own word, the next member's word, how often): tells the next, waits for the one before.
static void pass_on(int64_t *args)
{
    if (notify_at(data_of(args[1])) != TERN_OK ||
        wait_at(data_of(args[0]), (int32_t)args[2]) != TERN_OK) {
        tern_kernel_fail("%s", tern_last_error());
    }
}

static const tern_node_function functions[] = {{.name = "add_one", .kernel = add_one},
                                               {.name = "pass_on", .kernel = pass_on}};

struct scene {
    tern_node *node;
    tern_domain *domain;
    int chips[TERN_NODE_CHIPS_MAX];
    int groups; // so far
};

static int submit_mixed(tern_graph *graph, void *arg)
{
    struct scene *scene = arg;
    const int count = tern_node_chips(scene->node);
    for (int i = 0; i < TASKS; i++) {
        tern_region sum = floats((char *)tern_domain_address(scene->domain, i % count) + 64, 1);
        tern_task_arg args[] = {inout(&sum)};
        int status = submit_to(graph, (i + 1) % count, "add_one", args, 1);
        if (status != TERN_OK) {
            return status;
        }
    }
    tern_region words[8];
    tern_task_arg args[24];
    scene->groups++;
    for (int i = 0; i < count; i++) {
        words[i] = floats(tern_domain_address(scene->domain, i), 1);
    }
    for (int i = 0; i < count; i++) {
        args[3 * i] = inout(&words[i]);
        args[3 * i + 1] = (tern_task_arg){.access = TERN_NO_DEP, .region = &words[(i + 1) % count]};
        args[3 * i + 2] = scalar((uint64_t)scene->groups);
    }
    tern_node_task task = {.function = "pass_on",
                           .chips = scene->chips,
                           .chips_count = count,
                           .args = args,
                           .args_count = 3};
    return tern_node_submit(graph, &task, NULL);
}

static int host(tern_comm *comm)
{
    struct scene scene = {0};
    CHECK(fine(tern_node_create(comm, NULL, &scene.node)));
    for (int i = 0; i < tern_node_chips(scene.node); i++) {
        scene.chips[i] = i;
    }
    CHECK(fine(tern_domain_create(scene.node, scene.chips, tern_node_chips(scene.node), 128,
                                  &scene.domain)));
    atomic_fetch_add(&board->ready, 1);
    int status;
    do {
        status = tern_node_run(scene.node, submit_mixed, &scene);
    } while (status == TERN_OK);
    CHECK(says_died(status, board->victim));
    CHECK(fine(tern_node_destroy(scene.node)));
    return 0;
}

static int survive(int rank, const struct ranks *ranks, void *arg)
{
    tern_comm *comm;
    CHECK(fine(ranks_join(rank, ranks, 0, &comm)));
    if (rank == 0) {
        CHECK(host(comm) == 0);
    } else {
        tern_serve_options options = {.functions = functions, .functions_count = 2};
        CHECK(says_died(tern_node_serve(comm, &options), board->victim));
    }
    CHECK(says_died(tern_comm_health(comm), board->victim));
    CHECK(fine(tern_comm_destroy(comm)));
    return 0;
}

static void kill_one(int count, uint64_t *random)
{
    struct ranks ranks;
    memset(board, 0, sizeof *board);
    board->victim = (int)random_below(random, (uint32_t)count);
    ranks_begin(&ranks, count, survive, NULL);
    for (int i = 0; i < 200000 && atomic_load(&board->ready) == 0; i++) {
        nanosleep(&(struct timespec){.tv_nsec = 100000}, NULL);
    }
    assert_int_equal(atomic_load(&board->ready), 1);
    nanosleep(&(struct timespec){.tv_nsec = (long)random_below(random, 8000) * 1000}, NULL);
    kill(ranks.pids[board->victim], SIGKILL);
    assert_true(ranks_wait(&ranks, 20));
    for (int rank = 0; rank < count; rank++) {
        assert_true(rank == board->victim ? WIFSIGNALED(ranks.statuses[rank])
                                          : ranks.statuses[rank] == 0);
    }
    assert_true(ranks_end(&ranks));
    assert_true(waitpid(-1, NULL, WNOHANG) < 0); // no child is left
}

static void survivors_name_the_killed_rank(void **state)
{
    static const int counts[] = {2, 3, 6};
    uint64_t random = random_seed();
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        for (int round = 0; round < ROUNDS_EACH; round++) {
            kill_one(counts[i], &random);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(survivors_name_the_killed_rank),
    };
    return cmocka_run_group_tests(tests, setup, NULL);
}
