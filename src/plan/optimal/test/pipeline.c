// SPDX-License-Identifier: Apache-2.0
// Plans of rounds that are alike: proved, as quick as they promise, for all forms of trees; run on
// processes, right; and where one link is left of most, in rank order, quicker than what programs
// have found.
#include "support/cmocka.h"

#include "nets.h"
#include "plan/exec/test/kit.h"
#include "plan/optimal/pipeline.h"
#include "plan/optimal/write.h"
#include "tern/check.h"

struct setting {
    struct tern__arena arena;
    tern_topo *topo;
    struct tern__net_graph graph;
    struct tern__aim aim;
    struct tern__master master;
    int depth; // of the deepest tree that is used
};

static void set_up(struct setting *s, const char *net, tern_plan_kind kind, tern_order order,
                   bool in_sequence)
{
    memset(s, 0, sizeof *s);
    s->topo = net_of(net);
    assert_int_equal(tern__net_graph_make(&s->arena, s->topo, &s->graph), TERN_OK);
    assert_int_equal(tern__aim_make(&s->arena, &s->graph, kind, 0, order, &s->aim), TERN_OK);
    s->aim.in_sequence = in_sequence;
    s->aim.prefixes = s->aim.raw;
    assert_int_equal(tern__master_solve(&s->arena, &s->aim, 1, NULL, &s->master), TERN_OK);
    for (int j = 0; j < s->master.trees.count; j++) {
        int depth = s->master.share[j] > 1e-9 ? s->master.trees.at[j]->depth : 0;
        s->depth = depth > s->depth ? depth : s->depth;
    }
}

static void tear_down(struct setting *s)
{
    tern__arena_free(&s->arena);
    tern_topo_destroy(s->topo);
}

enum { ELEMENTS = 480 << 13 }; // each rank can have as many

// The plan of so many rounds, proved, and its time over the least of its trees.
static tern_plan *make(struct setting *s, int count, uint64_t elements, double *over)
{
    struct tern__rounds rounds;
    struct tern__schedule schedule;
    tern_plan *plan = NULL;
    tern_check *check = NULL;
    assert_int_equal(tern__pipeline_make(&s->arena, &s->aim, &s->master, count, &rounds), TERN_OK);
    assert_int_equal(tern__schedule_make(&s->arena, &s->aim, &rounds, elements, &schedule),
                     TERN_OK);
    assert_int_equal(tern__schedule_write(&s->arena, &schedule, 4, &plan), TERN_OK);
    assert_int_equal(tern_check_plan(plan, s->topo, &check), TERN_OK);
    assert_true(tern_check_proved(check));
    double time = tern__schedule_time(&schedule) / (double)elements / (s->aim.in_sequence ? 2 : 1);
    assert_true(time <= rounds.time * (1 + 1e-3) || elements < ELEMENTS); // elements are whole
    tern_check_destroy(check);
    *over = time / s->master.time;
    return plan;
}

static double over(struct setting *s, int count)
{
    double over;
    tern_plan_destroy(make(s, count, ELEMENTS, &over));
    return over;
}

static void they_take_no_longer_than_they_promise(void **state)
{
    static const struct {
        const char *net;
        tern_plan_kind kind;
        tern_order order;
        bool in_sequence;
    } cases[] = {{"mesh:5 0-1 0-2", TERN_PLAN_ALL_REDUCE, TERN_ORDER_ANY, false},
                 {"mesh:5 0-1 0-2", TERN_PLAN_ALL_REDUCE, TERN_ORDER_RANK, false},
                 {"mesh:4 0-1=0.3", TERN_PLAN_ALL_REDUCE, TERN_ORDER_ANY, true},
                 {"hosts:2x2@25", TERN_PLAN_REDUCE_SCATTER, TERN_ORDER_ANY, false},
                 {"ring:5", TERN_PLAN_ALL_TO_ALL, TERN_ORDER_ANY, false},
                 {"mesh:5 0>1", TERN_PLAN_BROADCAST, TERN_ORDER_ANY, false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct setting s;
        struct tern__rounds rounds;
        set_up(&s, cases[i].net, cases[i].kind, cases[i].order, cases[i].in_sequence);
        double few = over(&s, s.depth + 1);
        assert_true(over(&s, s.depth + 12) <= few * (1 + 1e-3));
        assert_int_equal(tern__pipeline_make(&s.arena, &s.aim, &s.master, s.depth - 1, &rounds),
                         TERN_ERR_LIMIT);
        assert_int_equal(tern__pipeline_make(&s.arena, &s.aim, &s.master, 1 << 20, &rounds),
                         TERN_ERR_LIMIT);
        tear_down(&s);
    }
}

enum { FEW = 12007, RUNS = 3 }; // elements

static int run(tern_comm *comm, void *plan)
{
    struct kit_bench bench;
    int n = tern_comm_size(comm);
    CHECK(kit_open(comm, plan, (tern_exec_options){.dtype = TERN_F32}, &bench) == 0);
    for (int i = 0; i < RUNS; i++) {
        bool whole = i > 0; // of the first run also the bits of sums in rank order
        kit_fill(&bench, i, tern_comm_rank(comm), FEW, whole);
        kit_dawdle(i, tern_comm_rank(comm));
        CHECK(tern_exec_run(bench.exec) == TERN_OK);
        CHECK(kit_compare(&bench, i, n, FEW, whole) == 0);
    }
    return kit_close(&bench);
}

static void they_run_on_processes(void **state)
{
    static const char *const nets[] = {"mesh:5 0-1 0-2", "ring:4", "random:6,1"};
    for (size_t i = 0; i < sizeof nets / sizeof *nets; i++) {
        struct setting s;
        double over;
        set_up(&s, nets[i], TERN_PLAN_ALL_REDUCE, TERN_ORDER_RANK, false);
        tern_plan *plan = make(&s, s.depth + 12, FEW, &over);
        assert_true(ranks_run_comm(s.graph.n, run, plan, 100));
        tern_plan_destroy(plan);
        tear_down(&s);
    }
}

static void three_links_left_of_a_rank_in_rank_order(void **state)
{
    struct setting s;
    set_up(&s, "mesh:8 0-1 0-2 0-3 0-4", TERN_PLAN_ALL_REDUCE, TERN_ORDER_RANK, false);
    assert_true(over(&s, 40) <= 1 / 0.95);
    tear_down(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(they_take_no_longer_than_they_promise),
        cmocka_unit_test(they_run_on_processes),
        cmocka_unit_test(three_links_left_of_a_rank_in_rank_order),
    };
    return cmocka_run_group_tests(tests, without_solver, NULL);
}
