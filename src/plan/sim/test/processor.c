// SPDX-License-Identifier: Apache-2.0
// Ranks that share processors, on plans whose time can be computed by hand: a copy of 12500 bytes
// reads and writes 25000, which takes a processor 1 us; a reduce goes at half that rate.
#include "support/cmocka.h"
#include <math.h>
#include <string.h>

#include "support/topo.h"
#include "support/by_hand.h"
#include "tern/sim.h"
#include "tern/status.h"

#define US 12500 // bytes that a processor copies in 1 us

static tern_sim_options with(int processors)
{
    return (tern_sim_options){.copy_GBps = 25,
                              .reduce_GBps = {12.5, 12.5, 12.5, 12.5},
                              .processors = processors};
}

static int run(tern_plan *plan, const char *word, const tern_sim_options *options, tern_sim **sim)
{
    tern_topo *topo = topo_make(word);
    assert_int_equal(tern_plan_seal(plan), TERN_OK);
    int status = tern_sim_run(plan, topo, options, sim);
    tern_plan_destroy(plan);
    tern_topo_destroy(topo);
    return status;
}

// The time, and that the parts of the critical path add up to it.
static void assert_time(tern_plan *plan, const char *word, const tern_sim_options *options,
                        double wanted_us)
{
    tern_sim *sim;
    tern_sim_part part;
    double sum_us = 0;
    if (run(plan, word, options, &sim) != TERN_OK) {
        fail_msg("%s", tern_last_error());
    }
    double us = tern_sim_get_facts(sim)->time_us;
    if (fabs(us - wanted_us) > 1e-3) {
        fail_msg("%.6f us, and by hand %.6f", us, wanted_us);
    }
    for (size_t i = 0; tern_sim_get_part(sim, i, &part); i++) {
        sum_us += part.us;
    }
    if (fabs(sum_us - us) > 1e-6) {
        fail_msg("the path has %.6f us of %.6f", sum_us, us);
    }
    tern_sim_destroy(sim);
}

// Every rank copies from the next one, in one lane or two.
static tern_plan *copies(int nranks, int lanes)
{
    tern_plan *plan = hand_plan(TERN_PLAN_ALL_REDUCE, nranks, (uint64_t)nranks * US, 4);
    for (int rank = 0; rank < nranks; rank++) {
        for (int lane = 0; lane < lanes; lane++) {
            hand_copy(plan, rank, lane, hand_at((rank + 1) % nranks, TERN_PLAN_IN, 0),
                      hand_at(rank, TERN_PLAN_OUT, (uint64_t)lane * US), US);
        }
    }
    return plan;
}

// Rank 0 tells rank 1, which tells rank 0.
static tern_plan *ping_pong(void)
{
    tern_plan *plan = hand_plan(TERN_PLAN_ALL_REDUCE, 3, UINT64_C(3) * US, 4);
    hand_post(plan, 0, 0, 1, 0);
    hand_wait(plan, 0, 0, 0, 1);
    hand_wait(plan, 1, 0, 0, 1);
    hand_post(plan, 1, 0, 0, 0);
    return plan;
}

static void an_op_takes_one_processor(void **state)
{
    tern_sim_options options = with(4);
    (void)state;
    assert_time(copies(2, 1), "mesh:2", &options, 1); // no link has a part in it
    options.op_us = 0.5;
    assert_time(copies(2, 1), "mesh:2", &options, 1.5);
}

static void more_ops_than_processors_share_them(void **state)
{
    tern_sim_options options = with(2);
    (void)state;
    assert_time(copies(3, 1), "mesh:3", &options, 1.5);
    assert_time(copies(3, 2), "mesh:3", &options, 3);
    options.op_us = 1; // of a processor
    assert_time(copies(3, 1), "mesh:3", &options, 3);
    options.machine_memory_GBps = 25; // half of what both processors move
    options.op_us = 0;
    assert_time(copies(3, 1), "mesh:3", &options, 3);
}

static void a_reduce_and_a_copy_take_turns_by_time(void **state)
{
    tern_sim_options options = with(1);
    tern_plan *plan = hand_plan(TERN_PLAN_ALL_REDUCE, 2, UINT64_C(2) * US, 4);
    tern_plan_range sources[2] = {hand_at(0, TERN_PLAN_IN, 0), hand_at(1, TERN_PLAN_IN, 0)};
    tern_plan_range to = hand_at(0, TERN_PLAN_OUT, 0);
    tern_plan_op reduce = {.kind = TERN_PLAN_REDUCE,
                           .length = US,
                           .sources = sources,
                           .sources_count = 2,
                           .destinations = &to,
                           .destinations_count = 1};
    (void)state;
    assert_int_equal(tern_plan_add(plan, 0, 0, &reduce), TERN_OK); // 3 operands: 3 us
    hand_copy(plan, 1, 0, hand_at(0, TERN_PLAN_IN, 0), hand_at(1, TERN_PLAN_OUT, 0), US);
    assert_time(plan, "mesh:2", &options, 4);
}

// Rank 0 reads rank 1's input and scratch, then its own scratch.
static void what_another_rank_has_written_is_slower(void **state)
{
    tern_sim_options options = with(2);
    tern_plan *plan = hand_plan(TERN_PLAN_ALL_REDUCE, 2, UINT64_C(2) * US, 4);
    (void)state;
    options.fresh_GBps = 6.25;
    assert_int_equal(tern_plan_need_scratch(plan, US), TERN_OK);
    hand_copy(plan, 0, 0, hand_at(1, TERN_PLAN_IN, 0), hand_at(0, TERN_PLAN_OUT, 0), US);
    hand_copy(plan, 0, 0, hand_at(1, TERN_PLAN_SCRATCH, 0), hand_at(0, TERN_PLAN_OUT, 0), US);
    hand_copy(plan, 0, 0, hand_at(0, TERN_PLAN_SCRATCH, 0), hand_at(0, TERN_PLAN_OUT, 0), US);
    assert_time(plan, "mesh:2", &options, 1 + 2.5 + 1);
}

static void posts_and_the_beginning_have_a_time_of_their_own(void **state)
{
    tern_sim_options options = with(3);
    (void)state;
    options.post_us = 0.25;
    options.begin_us = 2;
    options.meet_us = 1;
    assert_time(ping_pong(), "mesh:3", &options, 3.5);
}

static void ranks_without_a_processor_have_to_be_woken(void **state)
{
    tern_sim_options options = with(1);
    (void)state;
    options.wake_us = 2;
    // Ranks 0 and 1 share it for 4 us until they have begun, then each waits for the other.
    assert_time(ping_pong(), "mesh:3", &options, 4 + 2);
    // Two lanes of a rank that is awake already.
    assert_time(copies(3, 2), "mesh:3", &options, 6 + 6);
    options.processors = 3;
    assert_time(copies(3, 2), "mesh:3", &options, 2);
}

static void between_machines_there_are_links(void **state)
{
    tern_sim_options options = with(1);
    tern_plan *plan = hand_plan(TERN_PLAN_ALL_REDUCE, 2, UINT64_C(2) * US, 4);
    (void)state;
    options.op_us = 3;
    hand_copy(plan, 0, 0, hand_at(0, TERN_PLAN_IN, 0), hand_at(1, TERN_PLAN_OUT, 0), US);
    // 100 us of latency and the op's 3; then 12500 bytes at 0.125 GB/s.
    assert_time(plan, "machines:2x1", &options, 203);
}

static void processors_need_rates(void **state)
{
    tern_sim *sim = NULL;
    tern_sim_options options = with(1);
    (void)state;
    options.reduce_GBps[1] = 0;
    assert_int_equal(run(copies(2, 1), "mesh:2", &options, &sim), TERN_ERR_ARG);
    assert_non_null(strstr(tern_last_error(), "at which rate?"));
    options = with(1);
    options.wake_us = -1;
    assert_int_equal(run(copies(2, 1), "mesh:2", &options, &sim), TERN_ERR_ARG);
    assert_non_null(strstr(tern_last_error(), "0 or more"));
    options = with(-1);
    assert_int_equal(run(copies(2, 1), "mesh:2", &options, &sim), TERN_ERR_ARG);
    assert_null(sim);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_op_takes_one_processor),
        cmocka_unit_test(more_ops_than_processors_share_them),
        cmocka_unit_test(a_reduce_and_a_copy_take_turns_by_time),
        cmocka_unit_test(what_another_rank_has_written_is_slower),
        cmocka_unit_test(posts_and_the_beginning_have_a_time_of_their_own),
        cmocka_unit_test(ranks_without_a_processor_have_to_be_woken),
        cmocka_unit_test(between_machines_there_are_links),
        cmocka_unit_test(processors_need_rates),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
