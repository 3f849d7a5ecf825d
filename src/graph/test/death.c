// SPDX-License-Identifier: Apache-2.0
// ctest-timeout: 180, ctest-machines: 2
// Ranks that are killed while graphs run: every survivor's run ends with TERN_ERR_PEER and the
// number of the killed rank, in time, and nothing is left.
#include "support/cmocka.h"
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>

#include "kit.h"

enum { RANKS_MAX = 5, ROUNDS_EACH = 22, NAPS = 1000 };

// Between the test and its ranks.
struct board {
    _Atomic int ready;
    _Atomic int victim;
    int64_t noticed_ns[RANKS_MAX];
    int runs[RANKS_MAX];
};

static struct board *board;

static int setup(void **state)
{
    board = ranks_shared(sizeof *board);
    return 0;
}

static void send_next(int64_t *args)
{
    tern_window *window = pointer(args[0]);
    if (tern_signal_notify(window, (int)args[1], 0, 1, TERN_NOTIFY_ADD) != TERN_OK) {
        tern_kernel_fail("%s", tern_last_error());
    }
}

static void wait_in_kernel(int64_t *args)
{
    tern_window *window = pointer(args[0]);
    int32_t wanted = tern_kernel_run() + 1;
    if (tern_signal_wait(window, 0, TERN_CMP_GE, wanted, TERN_TIMEOUT_DEFAULT) != TERN_OK) {
        tern_kernel_fail("%s", tern_last_error());
    }
}

// Each rank notifies the next one and waits for the one before; every second rank of an odd round
// waits inside a kernel instead of in the scheduler.
static int make_graph(tern_comm *comm, tern_window *window, bool in_kernel, tern_graph **graph)
{
    int next = (tern_comm_rank(comm) + 1) % tern_comm_size(comm);
    CHECK(fine(tern_graph_create(graph)));
    int send = add_task(*graph, "send", send_next, TERN_CORE_AIC, word(window), next);
    int work = add_task(*graph, "work", do_nothing, TERN_CORE_AIV, 0, 0);
    int last = add_task(*graph, "last", in_kernel ? wait_in_kernel : do_nothing, TERN_CORE_AIV,
                        word(window), 0);
    CHECK(send == 0 && fine(tern_graph_add_edge(*graph, work, last)));
    CHECK(in_kernel || fine(add_wait(*graph, work, window, 0, 1, 1)));
    return 0;
}

// Runs until a run fails; the sentence must name the victim.
static int survive(int rank, const struct ranks *ranks, void *arg)
{
    tern_comm *comm;
    tern_window *window;
    tern_chip *chip;
    tern_graph *graph;
    bool in_kernel = *(const int *)arg % 2 == 1 && rank % 2 == 1;
    CHECK(fine(ranks_join(rank, ranks, 0, &comm)));
    CHECK(fine(tern_window_create(comm, 64, NULL, &window)));
    CHECK(fine(tern_chip_create(comm, NULL, &chip)));
    CHECK(make_graph(comm, window, in_kernel, &graph) == 0);
    CHECK(fine(tern_comm_barrier(comm)));
    atomic_fetch_add(&board->ready, 1);
    int status = TERN_OK;
    while (status == TERN_OK) {
        status = tern_chip_launch(chip, graph);
        status = status == TERN_OK ? tern_chip_synchronize(chip) : status;
        board->runs[rank]++;
    }
    board->noticed_ns[rank] = clock_ns();
    int victim = board->victim;
    // Also when the failure came through a kernel, which reports what tern told it.
    CHECK(says_died(status, victim));
    CHECK(says_died(tern_comm_health(comm), victim));
    CHECK(says_died(tern_comm_barrier(comm), victim));
    CHECK(fine(tern_chip_destroy(chip)));
    CHECK(fine(tern_graph_destroy(graph)));
    CHECK(fine(tern_window_destroy(window)));
    CHECK(fine(tern_comm_destroy(comm)));
    return 0;
}

// One round; the longest time that a survivor needed to notice, in ns.
static int64_t kill_one(int count, int round, uint64_t *random)
{
    struct ranks ranks;
    int victim = (int)random_below(random, (uint32_t)count);
    int64_t delay_ns = (int64_t)random_below(random, 8000) * 1000;
    memset(board, 0, sizeof *board);
    board->victim = victim;
    ranks_begin(&ranks, count, survive, &round);
    int64_t deadline = clock_ns() + 20000 * MS;
    while (atomic_load(&board->ready) < count && clock_ns() < deadline) {
        sleep_ns(MS / 10);
    }
    assert_int_equal(board->ready, count);
    sleep_ns(delay_ns);
    int64_t killed_ns = clock_ns();
    kill(ranks.pids[victim], SIGKILL);
    assert_true(ranks_wait(&ranks, 40));
    int64_t longest = 0;
    for (int rank = 0; rank < count; rank++) {
        if (rank == victim) {
            assert_true(WIFSIGNALED(ranks.statuses[rank]));
            continue;
        }
        assert_int_equal(ranks.statuses[rank], 0);
        int64_t took = board->noticed_ns[rank] - killed_ns;
        longest = took > longest ? took : longest;
    }
    assert_true(ranks_end(&ranks));
    assert_true(waitpid(-1, NULL, WNOHANG) < 0); // no child is left
    return longest;
}

static int compare_times(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a;
    int64_t y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static void survivors_name_the_killed_rank_in_time(void **state)
{
    static const int counts[3] = {2, 3, 5};
    int64_t times[3 * ROUNDS_EACH];
    size_t rounds = 0;
    uint64_t random = 20260301;
    for (int i = 0; i < 3; i++) {
        for (int round = 0; round < ROUNDS_EACH; round++) {
            times[rounds++] = kill_one(counts[i], round, &random);
        }
    }
    qsort(times, rounds, sizeof times[0], compare_times);
    size_t middle = rounds / 2;
    size_t late = rounds * 9 / 10;
    printf("%zu kills; noticed by all survivors after: least %.1f, median %.1f, 90%% %.1f, most "
           "%.1f ms\n",
           rounds, (double)times[0] * 1e-6, (double)times[middle] * 1e-6,
           (double)times[late] * 1e-6, (double)times[rounds - 1] * 1e-6);
    assert_true(times[rounds - 1] < RANKS_SOON_NS);
}

static _Atomic int naps;

static void nap(int64_t *args)
{
    (void)args;
    naps++;
    sleep_ns(10 * MS);
}

// Rank 0 has many short tasks and waits for rank 1, which is dead: tasks that come and go must not
// keep it from looking.
static int busy_survivor(int rank, const struct ranks *ranks, void *arg)
{
    tern_comm *comm;
    tern_window *window;
    tern_chip *chip;
    tern_graph *graph;
    CHECK(fine(ranks_join(rank, ranks, 0, &comm)));
    CHECK(fine(tern_window_create(comm, 64, NULL, &window)));
    CHECK(fine(tern_comm_barrier(comm)));
    if (rank == 1) {
        raise(SIGKILL);
    }
    CHECK(fine(tern_chip_create(comm, NULL, &chip)));
    CHECK(fine(tern_graph_create(&graph)));
    for (int i = 0; i < NAPS; i++) {
        add_task(graph, "short", nap, TERN_CORE_AIV, 0, 0);
    }
    int task = add_task(graph, "waits", do_nothing, TERN_CORE_AIC, 0, 0);
    CHECK(fine(add_wait(graph, task, window, 0, 1, 0)));
    int status = tern_chip_launch(chip, graph);
    status = status == TERN_OK ? tern_chip_synchronize(chip) : status;
    CHECK(says_died(status, 1));
    CHECK(naps < NAPS);
    CHECK(fine(tern_chip_destroy(chip)));
    CHECK(fine(tern_graph_destroy(graph)));
    CHECK(fine(tern_window_destroy(window)));
    CHECK(fine(tern_comm_destroy(comm)));
    return 0;
}

static void a_busy_scheduler_notices_a_death(void **state)
{
    struct ranks ranks;
    ranks_begin(&ranks, 2, busy_survivor, NULL);
    assert_true(ranks_wait(&ranks, 20));
    assert_int_equal(ranks.statuses[0], 0);
    assert_true(ranks_end(&ranks));
}

// Rank 2 dies outside the part {0, 1} that the chips are on; rank 0's task waits for it in a window
// of the whole job.
static int split_survivor(int rank, const struct ranks *ranks, void *arg)
{
    tern_comm *comm;
    tern_comm *part;
    tern_window *window;
    CHECK(fine(ranks_join(rank, ranks, 0, &comm)));
    CHECK(fine(tern_window_create(comm, 64, NULL, &window)));
    CHECK(fine(tern_comm_split(comm, rank == 2 ? -1 : 0, 0, &part)));
    if (rank == 2) { // when both wait
        CHECK(fine(tern_signal_wait(window, 4, TERN_CMP_GE, 2, 15000 * MS)));
        sleep_ns(50 * MS);
        raise(SIGKILL);
    }
    tern_chip *chip;
    tern_graph *graph;
    tern_chip_options options = {.timeout_ns = 12000 * MS};
    CHECK(fine(tern_chip_create(part, &options, &chip)));
    CHECK(fine(tern_graph_create(&graph)));
    int task = add_task(graph, "waits", do_nothing, TERN_CORE_AIC, 0, 0);
    CHECK(fine(add_wait(graph, task, window, 0, 1, 0)));
    CHECK(fine(tern_chip_launch(chip, graph)));
    CHECK(fine(tern_signal_notify(window, 2, 4, 1, TERN_NOTIFY_ADD)));
    CHECK(says_died(tern_chip_synchronize(chip), 2));
    CHECK(fine(tern_chip_destroy(chip)));
    CHECK(fine(tern_graph_destroy(graph)));
    CHECK(fine(tern_window_destroy(window)));
    CHECK(fine(tern_comm_destroy(part)));
    CHECK(fine(tern_comm_destroy(comm)));
    return 0;
}

static void a_death_in_the_communicator_of_a_waited_window_counts(void **state)
{
    struct ranks ranks;
    ranks_begin(&ranks, 3, split_survivor, NULL);
    assert_true(ranks_wait(&ranks, 20));
    assert_int_equal(ranks.statuses[0], 0);
    assert_int_equal(ranks.statuses[1], 0);
    assert_true(ranks_end(&ranks));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(survivors_name_the_killed_rank_in_time),
        cmocka_unit_test(a_busy_scheduler_notices_a_death),
        cmocka_unit_test(a_death_in_the_communicator_of_a_waited_window_counts),
    };
    return cmocka_run_group_tests(tests, setup, NULL);
}
