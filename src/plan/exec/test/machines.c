// SPDX-License-Identifier: Apache-2.0
// ctest-timeout: 300
// Runs of plans between machines: every algorithm of the all_reduces that goes there, many runs in
// a row with ranks that come late, bit for bit; plans that need another machine's memory; ranks
// that leave, never begin, or die.
#include <signal.h>

#include "plan/exec/test/kit.h"
#include "support/look.h"
#include "support/machines.h"
#include "tern/algo.h"

enum { RUNS = 25, COUNT = 3001 };

static tern_plan *plan_of(tern_comm *comm, const char *algorithm)
{
    tern_topo *topo;
    tern_plan *plan = NULL;
    hand_must(tern_comm_topo(comm, &topo));
    tern_algo_request request = {.kind = TERN_PLAN_ALL_REDUCE,
                                 .topo = topo,
                                 .bytes = COUNT * sizeof(float),
                                 .unit = sizeof(float),
                                 .order = TERN_ORDER_ANY,
                                 .algorithm = algorithm};
    if (tern_algo_plan(&request, &plan) != TERN_OK) {
        plan = NULL; // needs memory elsewhere, or ranks in order
    }
    hand_must(tern_topo_destroy(topo));
    return plan;
}

static int run_one(tern_comm *comm, const tern_plan *plan)
{
    int n = tern_comm_size(comm);
    int rank = tern_comm_rank(comm);
    struct kit_bench bench;
    tern_exec_options options = {.dtype = TERN_F32, .flags = TERN_EXEC_COUNT_LINKS};
    if (kit_open(comm, plan, options, &bench) != 0) {
        return 1;
    }
    for (int run = 0; run < RUNS; run++) {
        kit_fill(&bench, run, rank, COUNT, true);
        kit_dawdle(run, rank);
        CHECK(tern_exec_run(bench.exec) == TERN_OK);
        CHECK(kit_compare(&bench, run, n, COUNT, true) == 0);
    }
    for (int peer = 0; peer < n; peer++) { // to a rank of another machine it goes by put
        bool here = tern_window_is_local(bench.in, peer) == 1;
        CHECK(here || tern_exec_link_bytes(bench.exec, peer, rank) == 0);
    }
    return kit_close(&bench);
}

static int run_all(tern_comm *comm, void *arg)
{
    int ran = 0;
    (void)arg;
    for (int i = 0; tern_algo_name(TERN_PLAN_ALL_REDUCE, i) != NULL; i++) {
        tern_plan *plan = plan_of(comm, tern_algo_name(TERN_PLAN_ALL_REDUCE, i));
        if (plan != NULL) {
            CHECK(run_one(comm, plan) == 0);
            ran++;
        }
        tern_plan_destroy(plan);
    }
    CHECK(ran >= 4);
    return 0;
}

static void plans_between_machines_are_right(void **state)
{
    assert_true(machines_run_all(run_all, NULL, 120));
}

// A group whose ranks have other numbers than in the job, on machines of which one is left out.
static int run_part(tern_comm *world, void *arg)
{
    int rank = tern_comm_rank(world);
    tern_comm *part;
    (void)arg;
    CHECK(tern_comm_split(world, rank < 2 ? 1 : 0, -rank, &part) == TERN_OK);
    tern_plan *plan = plan_of(part, "one");
    CHECK((plan != NULL) == (rank >= 2));
    CHECK(plan == NULL || run_one(part, plan) == 0);
    tern_plan_destroy(plan);
    return tern_comm_destroy(part);
}

static void parts_of_a_job_run_plans(void **state)
{
    assert_true(machines_run_comm("aabcc", run_part, NULL, 60));
}

static int ask(tern_comm *comm, void *arg)
{
    struct kit_bench bench = {0};
    int n = tern_comm_size(comm);
    tern_plan *fused = kit_fused(n, COUNT, sizeof(float), 1);
    tern_exec_options options = {.dtype = TERN_F32};
    (void)arg;
    CHECK(tern_window_create(comm, COUNT * sizeof(float), NULL, &options.in) == TERN_OK);
    CHECK(tern_window_create(comm, COUNT * sizeof(float), NULL, &options.out) == TERN_OK);
    CHECK(tern_exec_create(comm, fused, &options, &bench.exec) == TERN_ERR_ARG);
    CHECK(
        look_says("rank 0, lane 0, op 0 (reduce) reads in of rank 2, which is on machine b and not "
                  "on a; who has it can copy it there"));
    CHECK(bench.exec == NULL);
    tern_plan *into = hand_plan(TERN_PLAN_REDUCE_TO_ROOT, n, sizeof(float), sizeof(float));
    tern_plan_range ranges[] = {hand_at(3, TERN_PLAN_IN, 0), hand_at(0, TERN_PLAN_OUT, 0)};
    tern_plan_op op = {.kind = TERN_PLAN_REDUCE,
                       .flags = TERN_PLAN_ATOMIC,
                       .length = sizeof(float),
                       .sources = &ranges[0],
                       .sources_count = 1,
                       .destinations = &ranges[1],
                       .destinations_count = 1};
    hand_must(tern_plan_add(into, 3, 0, &op));
    hand_must(tern_plan_seal(into));
    CHECK(tern_exec_create(comm, into, &options, &bench.exec) == TERN_ERR_ARG);
    CHECK(
        look_says("reduces into out of rank 0, which is on machine a and not on b; only copies go "
                  "from machine to machine"));
    CHECK(tern_comm_barrier(comm) == TERN_OK); // which is as good as before
    CHECK(tern_window_destroy(options.in) == TERN_OK);
    CHECK(tern_window_destroy(options.out) == TERN_OK);
    return tern_plan_destroy(into) + tern_plan_destroy(fused);
}

static void memory_of_another_machine_is_refused(void **state)
{
    assert_true(machines_run_comm("aabb", ask, NULL, 60));
}

enum ending { LEAVES, IS_LATE, DIES };

struct end {
    enum ending ending;
    int status;        // of the others
    const char *words; // one of these two
    const char *or_words;
};

// The last rank ends so after three runs.
static int end_so(int rank, const struct ranks *ranks, void *arg)
{
    const struct end *end = arg;
    tern_comm *comm;
    struct kit_bench bench;
    setenv("TERN_TIMEOUT", end->ending == IS_LATE ? "2" : "60", 1);
    CHECK(machines_join(rank, ranks, "aabb", &comm) == TERN_OK);
    tern_plan *plan = plan_of(comm, "one_sums");
    if (kit_open(comm, plan, (tern_exec_options){.dtype = TERN_F32}, &bench) != 0) {
        return 1;
    }
    for (int run = 0; run < 3; run++) {
        CHECK(tern_exec_run(bench.exec) == TERN_OK);
    }
    if (rank == 3 && end->ending == DIES) {
        raise(SIGKILL);
    }
    if (rank == 3 && end->ending == IS_LATE) {
        CHECK(tern_comm_barrier(comm) < 0); // until the others have given up
    } else if (rank != 3) {
        CHECK(tern_exec_run(bench.exec) == end->status);
        CHECK(look_says(end->words) || look_says(end->or_words));
    }
    CHECK(kit_close(&bench) == 0);
    CHECK(tern_plan_destroy(plan) == TERN_OK);
    return tern_comm_destroy(comm) != TERN_OK;
}

static void a_rank_that_does_not_come_is_named(void **state)
{
    static const struct end ends[] = {
        {LEAVES, TERN_ERR_LEFT,
         "rank 3 has left the communicator (tern_comm_destroy) without "
         "beginning run 4",
         "rank 3 has left"},
        {IS_LATE, TERN_ERR_TIMEOUT, "in run 4 of the all_reduce 'one_sums' of 12004 bytes",
         "rank 3"},
        {DIES, TERN_ERR_PEER, "rank 3 ", "rank 3 "},
    };
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
        struct ranks ranks;
        ranks_begin(&ranks, 4, end_so, (void *)(uintptr_t)&ends[i]);
        assert_true(ranks_wait(&ranks, 60));
        for (int rank = 0; rank < 4; rank++) {
            assert_int_equal(ranks.statuses[rank],
                             rank == 3 && ends[i].ending == DIES ? SIGKILL : 0);
        }
        machines_clean(&ranks);
        assert_true(ranks_end(&ranks));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plans_between_machines_are_right),
        cmocka_unit_test(parts_of_a_job_run_plans),
        cmocka_unit_test(memory_of_another_machine_is_refused),
        cmocka_unit_test(a_rank_that_does_not_come_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
