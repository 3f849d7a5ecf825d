// SPDX-License-Identifier: Apache-2.0
// The trace of a simulated run: what ops, flows, posts and waits become, how much of links is used
// when, and what happens when it does not hold everything. Mesh has 25 GB/s and 2 us of latency, so
// 25000 bytes take 1 us more.
#include "support/cmocka.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kit.h"
#include "support/by_hand.h"
#include "tern/program.h"
#include "tern/sim.h"
#include "tern/status.h"

#define US 25000 // bytes that a link of mesh carries in 1 us

static char path[] = "/tmp/tern-test-sim-trace-XXXXXX";

// Whether the file is a trace of so many ranks, for which the expressions hold: test/support.
static void assert_trace(int nranks, const char *expressions)
{
    char command[2048];
    snprintf(command, sizeof command,
             "python3 " TERN_SOURCE_DIR "/test/support/trace_check.py %s %d %s", path, nranks,
             expressions);
    assert_int_equal(system(command), 0); // NOLINT: words of this test
}

static void copy(tern_plan *plan, int rank, int lane, int from, int to, uint64_t length)
{
    hand_copy(plan, rank, lane, hand_at(from, TERN_PLAN_IN, 0), hand_at(to, TERN_PLAN_OUT, 0),
              length);
}

// Two lanes share a link; a post to another rank, and one to a lane of the same rank.
static tern_plan *shared_link(void)
{
    tern_plan *plan = hand_plan(TERN_PLAN_ALL_REDUCE, 3, 9 * US, 4);
    copy(plan, 0, 0, 0, 1, 2 * US); // 2..6 at half the rate
    hand_post(plan, 0, 0, 1, 7);    // at 6, there at 8
    copy(plan, 0, 1, 0, 1, 3 * US); // 2..7
    hand_wait(plan, 1, 0, 7, 1);
    hand_post(plan, 1, 0, 1, 8);
    copy(plan, 1, 0, 1, 2, US); // 8..11
    hand_wait(plan, 1, 1, 8, 1);
    return plan;
}

static void events_and_use_are_in_the_trace(void **state)
{
    tern_sim_options options = {.trace = path};
    tern_sim *sim = simulate(shared_link(), "mesh:3", &options);
    assert_true(isinf(tern_sim_get_facts(sim)->traced_us));
    assert_int_equal(tern_sim_get_facts(sim)->traced, 10);
    tern_sim_destroy(sim);
    // The ns between 8000 and 8002 are those of a wait that ends inside of it, and of a post.
    assert_trace(
        3, "'[(rank(e), e[\"name\"], ns(e[\"ts\"]), ns(e[\"dur\"])) for e in X] == "
           "[(0, \"copy #0\", 0, 6000), (0, \"post #1\", 6000, 1), (0, \"copy #0\", 0, 7000), "
           "(1, \"wait #0\", 0, 8000), (1, \"post #1\", 8000, 1), (1, \"copy #2\", 8001, 2999), "
           "(1, \"wait #0\", 0, 8002)]' "
           "'[(a[\"name\"], b[\"name\"]) for a, b in arrows] == [(\"post #1\", \"wait #0\")]' "
           "'len([e for e in E if e[\"ph\"] == \"s\" and e[\"name\"] == \"after\"]) == 1' "
           "'sorted((e[\"name\"], ns(e[\"ts\"]), e[\"args\"][\"bytes\"]) for e in A) == "
           "[(\"0>1\", 0, 50000), (\"0>1\", 0, 75000), (\"1>2\", 8000, 25000)]' "
           "'use(\"link 0>1\") == [(0, 0), (2000, 100), (7000, 0)]' "
           "'use(\"link 1>2\") == [(0, 0), (10000, 100), (11000, 0)]' "
           "'counters == [\"link 0>1\", \"link 1>2\"]'");
}

// Three machines of a rank each, whose links share ports of 0.125 GB/s, 100 us away.
static void shares_of_resources_are_exact(void **state)
{
    tern_plan *plan = hand_plan(TERN_PLAN_ALL_REDUCE, 3, 1 << 20, 4);
    copy(plan, 0, 0, 0, 1, 62500);  // 500 us of a port
    copy(plan, 0, 1, 0, 2, 125000); // 1000 us
    copy(plan, 1, 0, 1, 2, 125000);
    // All at half until 1100, when the first has gone.
    tern_sim_destroy(simulate(plan, "machines:1+1+1", &(tern_sim_options){.trace = path}));
    assert_trace(3, "'use(\"a.out\") == [(0, 0), (100000, 100), (1100000, 50), (2100000, 0)]' "
                    "'use(\"c.in\") == [(0, 0), (100000, 100), (2100000, 0)]' "
                    "'use(\"b.in\") == [(0, 0), (100000, 50), (1100000, 0)]'");
}

static void a_full_trace_says_until_when(void **state)
{
    tern_plan *plan = hand_plan(TERN_PLAN_ALL_REDUCE, 2, 2 * US, 4);
    for (int i = 0; i < 10; i++) {
        copy(plan, 0, 0, 0, 1, US);
    }
    // Each copy is a flow and an op.
    tern_sim *sim = simulate(plan, "mesh:2", &(tern_sim_options){.trace = path, .trace_events = 6});
    assert_true(fabs(tern_sim_get_facts(sim)->traced_us - 12) < 1e-6);
    assert_int_equal(tern_sim_get_facts(sim)->traced, 6);
    assert_true(fabs(tern_sim_get_facts(sim)->time_us - 30) < 1e-6);
    tern_sim_destroy(sim);
    assert_trace(2, "'len(X) == 3 and len(A) == 3' 'use(\"link 0>1\")[-1] == (12000, 0)'");
}

static void what_never_ends_is_in_the_trace(void **state)
{
    tern_sim_options options = {.fails = {"0>1@4"}, .fails_count = 1, .trace = path};
    tern_plan *plan = hand_plan(TERN_PLAN_ALL_REDUCE, 2, 8 * US, 4);
    copy(plan, 0, 0, 0, 1, 4 * US);
    hand_post(plan, 0, 0, 1, 0);
    hand_wait(plan, 1, 0, 0, 1);
    tern_sim *sim = simulate(plan, "mesh:2", &options);
    assert_non_null(tern_sim_stuck(sim));
    tern_sim_destroy(sim);
    assert_trace(2,
                 "'[e[\"name\"] for e in X] == [\"copy #0, never ends\", \"wait #0, never ends\"]' "
                 "'[ns(e[\"dur\"]) for e in X] == [4000, 4000]' "
                 "'use(\"link 0>1\") == [(0, 0), (2000, 100), (4000, 0)]'");
}

// A program leaves the same as the plan made of it.
static void a_program_has_a_trace_too(void **state)
{
    tern_program_request request = {.kind = TERN_PLAN_ALL_REDUCE,
                                    .nranks = 5,
                                    .bytes = 4 * 1003,
                                    .unit = 4,
                                    .algorithm = "ring"};
    static char text[2][1 << 20];
    tern_topo *topo = topo_make("ring:5");
    tern_sim_options options = {.trace = path, .jitter = 0.2};
    tern_program *program;
    tern_plan *plan;
    assert_int_equal(tern_program_create(&request, &program), TERN_OK);
    assert_int_equal(tern_program_plan(program, &plan), TERN_OK);
    for (int i = 0; i < 2; i++) {
        tern_sim *sim = NULL;
        assert_int_equal(i == 0 ? tern_sim_run(plan, topo, &options, &sim)
                                : tern_sim_run_program(program, topo, &options, &sim),
                         TERN_OK);
        tern_sim_destroy(sim);
        FILE *file = fopen(path, "r");
        assert_non_null(file);
        size_t bytes = fread(text[i], 1, sizeof text[i] - 1, file);
        assert_true(bytes > 1000);
        fclose(file);
    }
    assert_string_equal(text[0], text[1]);
    assert_trace(5, "'len(arrows) > 10 and len(counters) == 5'");
    tern_program_destroy(program);
    tern_plan_destroy(plan);
    tern_topo_destroy(topo);
}

static void what_cannot_be_is_a_sentence(void **state)
{
    tern_topo *topo = topo_make("mesh:2");
    tern_plan *plan = hand_plan(TERN_PLAN_ALL_REDUCE, 2, 2 * US, 4);
    copy(plan, 0, 0, 0, 1, US);
    hand_must(tern_plan_seal(plan));
    tern_sim *sim = NULL;
    tern_sim_options options = {.trace = "/nowhere/trace.json"};
    assert_int_equal(tern_sim_run(plan, topo, &options, &sim), TERN_ERR_SYSTEM);
    assert_non_null(strstr(tern_last_error(), "/nowhere"));
    options = (tern_sim_options){.trace = path, .trace_events = (size_t)TERN_SIM_TRACE_MAX + 1};
    assert_int_equal(tern_sim_run(plan, topo, &options, &sim), TERN_ERR_LIMIT);
    assert_non_null(strstr(tern_last_error(), "up to 67108864 events, not 67108865"));
    assert_null(sim);
    tern_plan_destroy(plan);
    tern_topo_destroy(topo);
}

static int make_file(void **state)
{
    int file = mkstemp(path);
    return file < 0 ? -1 : close(file);
}

static int remove_file(void **state)
{
    return unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(events_and_use_are_in_the_trace),
        cmocka_unit_test(shares_of_resources_are_exact),
        cmocka_unit_test(a_full_trace_says_until_when),
        cmocka_unit_test(what_never_ends_is_in_the_trace),
        cmocka_unit_test(a_program_has_a_trace_too),
        cmocka_unit_test(what_cannot_be_is_a_sentence),
    };
    return cmocka_run_group_tests(tests, make_file, remove_file);
}
