// SPDX-License-Identifier: Apache-2.0
// A host that synchronizes asks whether it shall go on: when it is told to end, the run ends as at
// its deadline, launches behind it do not start, the peers learn why, and the chip goes on.
#include "support/cmocka.h"

#include "rings_kit.h"
#include "tern/interrupt.h"

static _Atomic int asked, ended, late;

static int go_on_once(void)
{
    return atomic_fetch_add(&asked, 1) > 0;
}

// Returns a while after the program has said that it is enough.
static void until_interrupted(int64_t *args)
{
    while (atomic_load(&asked) < 6) {
        sleep_ns(MS);
    }
    atomic_fetch_add(&ended, 1);
}

static void come_late(int64_t *args)
{
    atomic_fetch_add(&late, 1);
}

static void forget(void)
{
    atomic_store(&asked, 0);
    atomic_store(&ended, 0);
    atomic_store(&late, 0);
}

static bool launch_both(tern_chip *chip, tern_graph **graph, tern_graph **behind)
{
    return fine(tern_graph_create(graph)) && fine(tern_graph_create(behind)) &&
           add_task(*graph, "long", until_interrupted, TERN_CORE_AIV, 0, 0) == 0 &&
           add_task(*graph, "late", come_late, TERN_CORE_AIV, 0, 0) == 1 &&
           add_task(*behind, "behind", come_late, TERN_CORE_AIV, 0, 0) == 0 &&
           fine(tern_graph_add_edge(*graph, 0, 1)) && fine(tern_chip_launch(chip, *graph)) &&
           fine(tern_chip_launch(chip, *behind));
}

static void a_run_ends_when_its_host_is_interrupted(void **state)
{
    tern_chip *chip = chip_of(0, 1);
    tern_graph *graph, *behind;
    forget();
    assert_null(tern_interrupt_set(go_on_once));
    assert_true(launch_both(chip, &graph, &behind));
    assert_int_equal(tern_chip_synchronize(chip), TERN_ERR_INTERRUPTED);
    assert_true(look_says("run 0 of the graph: it was interrupted; "));
    assert_true(look_says("task 'long'"));
    assert_true(look_says("1 launch behind it did not start"));
    // The kernel that ran has returned, and nothing else has begun.
    assert_int_equal(atomic_load(&ended), 1);
    assert_int_equal(atomic_load(&late), 0);
    assert_ptr_equal(tern_interrupt_set(NULL), go_on_once);
    assert_true(fine(tern_chip_launch(chip, behind)));
    assert_true(fine(tern_chip_synchronize(chip)));
    assert_int_equal(atomic_load(&late), 1);
    assert_true(fine(tern_graph_destroy(graph)) && fine(tern_graph_destroy(behind)));
    assert_true(fine(tern_chip_destroy(chip)));
}

static int interrupt_rank_1(int rank, const struct ranks *ranks, void *arg)
{
    tern_comm *comm = NULL;
    tern_chip *chip = NULL;
    tern_graph *graph = NULL, *behind = NULL;
    forget();
    CHECK(tern_init_at(rank, ranks->count, ranks->path, NULL, &comm) == TERN_OK);
    CHECK(tern_chip_create(comm, NULL, &chip) == TERN_OK);
    if (rank == 1) {
        CHECK(tern_interrupt_set(go_on_once) == NULL);
        CHECK(launch_both(chip, &graph, &behind));
        CHECK(tern_chip_synchronize(chip) == TERN_ERR_INTERRUPTED);
        CHECK(tern_interrupt_set(NULL) == go_on_once);
    } else {
        CHECK(tern_comm_barrier(comm) == TERN_ERR_INTERRUPTED);
        CHECK(look_says("run 0 of a graph on rank 1: it was interrupted"));
    }
    CHECK(tern_graph_destroy(graph) == TERN_OK && tern_graph_destroy(behind) == TERN_OK);
    CHECK(tern_chip_destroy(chip) == TERN_OK);
    CHECK(tern_comm_destroy(comm) == TERN_OK);
    return 0;
}

static void peers_learn_who_was_interrupted(void **state)
{
    assert_true(ranks_run(3, interrupt_rank_1, NULL, 30));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_run_ends_when_its_host_is_interrupted),
        cmocka_unit_test(peers_learn_who_was_interrupted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
