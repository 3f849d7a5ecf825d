// SPDX-License-Identifier: Apache-2.0
// Tasks that end with words, for which nobody rings: they are seen soon, and while a task waits for
// one, peers may die and the deadline may pass.
#include "support/cmocka.h"

#include <signal.h>

#include "rings_kit.h"

enum { DEFERRALS = 400 };

static _Atomic int deferred;
static _Atomic uint32_t word_of_all;

static void nap(int64_t *args)
{
    sleep_ns(args[0]);
}

static void defer_to_next(int64_t *args)
{
    uint32_t number = (uint32_t)atomic_fetch_add(&deferred, 1) + 1;
    if (tern_kernel_defer_word((const uint32_t *)&word_of_all, number) != TERN_OK) {
        tern_kernel_fail("%s", tern_last_error());
    }
}

// Words come when all threads of the chip sleep. If each were seen at the next look at the peers
// only, 0.1 s later, the run would not end in time.
static void words_that_come_late_are_seen_soon(void **state)
{
    tern_chip *chip = chip_within(0, 1, 20000 * MS);
    tern_graph *graph;
    int64_t end_ns = clock_ns() + 20000 * MS;
    assert_true(fine(tern_graph_create(&graph)));
    assert_true(add_task(graph, "naps", nap, TERN_CORE_AIV, 20 * MS, 0) == 0);
    for (int i = 1; i <= DEFERRALS; i++) {
        assert_true(add_task(graph, "defers", defer_to_next, TERN_CORE_AIV, 0, 0) == i);
        assert_true(fine(tern_graph_add_edge(graph, i - 1, i)));
    }
    assert_true(fine(tern_chip_launch(chip, graph)));
    for (int i = 1; i <= DEFERRALS; i++) {
        while (atomic_load(&deferred) < i && clock_ns() < end_ns) {
            sleep_ns(MS / 10);
        }
        sleep_ns(MS);
        atomic_store(&word_of_all, (uint32_t)i);
    }
    assert_true(fine(tern_chip_synchronize(chip)));
    assert_true(fine(tern_graph_destroy(graph)));
    assert_true(fine(tern_chip_destroy(chip)));
}

static void defer_for_ever(int64_t *args)
{
    static uint32_t never;
    sleep_ns(args[0]);
    if (tern_kernel_defer_word(&never, 1) != TERN_OK) {
        tern_kernel_fail("%s", tern_last_error());
    }
}

// The word is waited for from the beginning of the run, and from the middle of it.
static void the_deadline_passes(void **state)
{
    for (int64_t ms = 0; ms < 60; ms += 50) {
        tern_chip *chip = chip_within(0, 1, 300 * MS);
        tern_graph *graph;
        assert_true(fine(tern_graph_create(&graph)));
        assert_true(add_task(graph, "defers", defer_for_ever, TERN_CORE_AIV, ms * MS, 0) == 0);
        assert_true(fine(tern_chip_launch(chip, graph)));
        assert_true(says(tern_chip_synchronize(chip), TERN_ERR_TIMEOUT,
                         "task 'defers' has run and ends with the word at"));
        assert_true(fine(tern_graph_destroy(graph)));
        assert_true(fine(tern_chip_destroy(chip)));
    }
}

// Rank 0 dies, and with it who would tell of deaths: rank 1 must look itself.
static int survive(int rank, const struct ranks *ranks, void *arg)
{
    const int64_t *nap_ns = arg;
    tern_comm *comm;
    tern_chip *chip;
    tern_graph *graph;
    CHECK(fine(ranks_join(rank, ranks, 60000 * MS, &comm)));
    CHECK(fine(tern_comm_barrier(comm)));
    if (rank == 0) {
        sleep_ns(100 * MS);
        raise(SIGKILL);
    }
    tern_chip_options options = {.aiv_count = 1, .timeout_ns = 60000 * MS};
    CHECK(fine(tern_chip_create(comm, &options, &chip)));
    CHECK(fine(tern_graph_create(&graph)));
    CHECK(add_task(graph, "defers", defer_for_ever, TERN_CORE_AIV, *nap_ns, 0) == 0);
    CHECK(fine(tern_chip_launch(chip, graph)));
    int64_t begin_ns = clock_ns();
    CHECK(says(tern_chip_synchronize(chip), TERN_ERR_PEER, "rank 0 died"));
    CHECK(clock_ns() - begin_ns < 30000 * MS);
    CHECK(fine(tern_chip_destroy(chip)));
    CHECK(fine(tern_graph_destroy(graph)));
    CHECK(fine(tern_comm_destroy(comm)));
    return 0;
}

static void a_death_is_seen(void **state)
{
    for (int64_t ms = 0; ms < 60; ms += 50) {
        struct ranks ranks;
        int64_t nap_ns = ms * MS;
        ranks_begin(&ranks, 2, survive, &nap_ns);
        assert_true(ranks_wait(&ranks, 60));
        assert_int_equal(ranks.statuses[1], 0);
        assert_true(ranks_end(&ranks));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words_that_come_late_are_seen_soon),
        cmocka_unit_test(the_deadline_passes),
        cmocka_unit_test(a_death_is_seen),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
