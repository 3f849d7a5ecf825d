// SPDX-License-Identifier: Apache-2.0
// The simulator on plans so small that their time can be computed by hand: mesh has 25 GB/s and
// 2 us of latency, so 25000 bytes take 1 us more.
#include "support/cmocka.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kit.h"
#include "support/by_hand.h"
#include "tern/sim.h"
#include "tern/status.h"

#define US 25000 // bytes that a link of mesh carries in 1 us

static void assert_us(double is, double wanted)
{
    if (fabs(is - wanted) > 1e-6) {
        fail_msg("%.9f us, and by hand %.9f", is, wanted);
    }
}

static void assert_time(tern_sim *sim, double wanted_us)
{
    assert_us(tern_sim_get_facts(sim)->time_us, wanted_us);
    tern_sim_destroy(sim);
}

// The sentence of a plan that cannot be simulated contains `text`.
static void assert_refused(tern_plan *plan, tern_topo *topo, const tern_sim_options *options,
                           const char *text)
{
    tern_sim *sim = NULL;
    assert_int_equal(tern_plan_seal(plan), TERN_OK);
    assert_int_equal(tern_sim_run(plan, topo, options, &sim), TERN_ERR_ARG);
    assert_null(sim);
    if (strstr(tern_last_error(), text) == NULL) {
        fail_msg("'%s' does not say: %s", tern_last_error(), text);
    }
    tern_plan_destroy(plan);
    tern_topo_destroy(topo);
}

static tern_plan *of(int nranks)
{
    return hand_plan(TERN_PLAN_ALL_REDUCE, nranks, (uint64_t)nranks * US, 4);
}

static void copy(tern_plan *plan, int rank, int lane, int from, int to, uint64_t length)
{
    hand_copy(plan, rank, lane, hand_at(from, TERN_PLAN_IN, 0), hand_at(to, TERN_PLAN_OUT, 0),
              length);
}

static void ops_of_a_lane_are_serial_and_each_has_a_start_up(void **state)
{
    tern_plan *plan = of(2);
    copy(plan, 0, 0, 0, 1, US);
    copy(plan, 0, 0, 0, 1, 4 * US);
    tern_sim *sim = simulate(plan, "mesh:2", NULL);
    assert_us(tern_sim_rank_us(sim, 0), 2 + 1 + 2 + 4);
    assert_us(tern_sim_rank_us(sim, 1), 0);
    assert_us(tern_sim_rank_us(sim, 2), -1);
    assert_int_equal(tern_sim_get_facts(sim)->flows, 2);
    assert_time(sim, 9);
}

static void an_empty_plan_and_empty_ops_take_no_time(void **state)
{
    tern_plan *plan = of(3);
    copy(plan, 0, 0, 0, 1, 0);
    copy(plan, 1, 0, 1, 1, US);
    assert_time(simulate(plan, "mesh:3", NULL), 0);
}

// Two lanes on one link: 4 us of bytes each at half the rate, until one has gone.
static void lanes_share_a_link(void **state)
{
    tern_plan *plan = of(2);
    copy(plan, 0, 0, 0, 1, 4 * US);
    copy(plan, 0, 1, 0, 1, 6 * US);
    assert_time(simulate(plan, "mesh:2", NULL), 2 + 10);
    // One of them comes 5 us later: 5 us alone, then both at half until the first has gone.
    plan = of(2);
    copy(plan, 0, 0, 0, 1, 7 * US);
    copy(plan, 0, 1, 0, 1, 1 * US);
    copy(plan, 0, 1, 0, 1, 1 * US);
    // The second lane: 2..4 at half, then start-up to 6, then 6..8 at half. The first one has sent
    // 1 by 4, 3 by 6, 4 by 8 and 7 by 11.
    tern_sim *sim = simulate(plan, "mesh:2", NULL);
    tern_sim_use use;
    assert_true(tern_sim_get_use(sim, 0, &use));
    assert_string_equal(use.name, "link 0>1");
    assert_int_equal(use.bytes, 9 * US);
    assert_us(use.first_us, 2);
    assert_us(use.last_us, 11);
    assert_us(use.busy_us, 9);
    assert_us(use.least_us, 9);
    assert_time(sim, 11);
}

// Both directions of a link, and reading and writing by one op, do not disturb each other.
static void directions_are_links_of_their_own(void **state)
{
    tern_plan *plan = of(3);
    copy(plan, 0, 0, 0, 1, 5 * US);
    copy(plan, 1, 0, 1, 0, 5 * US);
    copy(plan, 2, 0, 0, 1, 5 * US); // 0>2 and 2>1
    assert_time(simulate(plan, "mesh:3", NULL), 7);
}

static void a_reduce_ends_with_its_slowest_flow(void **state)
{
    tern_plan *plan = of(4);
    tern_plan_range from[] = {hand_at(0, TERN_PLAN_IN, 0), hand_at(1, TERN_PLAN_IN, 0),
                              hand_at(2, TERN_PLAN_IN, 0), hand_at(3, TERN_PLAN_IN, 0)};
    tern_plan_range to[] = {hand_at(0, TERN_PLAN_OUT, 0), hand_at(1, TERN_PLAN_OUT, 0)};
    tern_plan_op op = {.kind = TERN_PLAN_REDUCE,
                       .length = 3 * US,
                       .sources = from,
                       .sources_count = 4,
                       .destinations = to,
                       .destinations_count = 2};
    hand_must(tern_plan_add(plan, 0, 0, &op));
    copy(plan, 0, 1, 2, 0, 3 * US); // disturbs 2>0
    tern_sim *sim = simulate(plan, "mesh:4", NULL);
    assert_int_equal(tern_sim_get_facts(sim)->flows, 5);
    assert_time(sim, 2 + 6);
}

// Two machines of two ranks: 0.125 GB/s out and in, 100 us.
static void ports_of_machines_are_shared(void **state)
{
    tern_plan *plan = of(4);
    copy(plan, 0, 0, 0, 2, 125000); // 1000 us of a port
    copy(plan, 1, 0, 1, 3, 125000);
    tern_sim *sim = simulate(plan, "machines:2x2", NULL);
    tern_sim_use use;
    assert_true(tern_sim_get_use(sim, 0, &use));
    assert_us(use.least_us, 2000);
    assert_int_equal(use.from, -1);
    assert_true(tern_sim_get_use(sim, 3, &use));
    assert_us(use.least_us, 1000);
    assert_false(tern_sim_get_use(sim, 4, &use));
    assert_time(sim, 2100);
}

// Max-min: a and b leave machine 0, b and c enter machine 2. After a has gone c has as much as b.
static void shares_are_max_min_fair(void **state)
{
    tern_plan *plan = of(3);
    copy(plan, 0, 0, 0, 1, 62500);  // 500 us of a port
    copy(plan, 0, 1, 0, 2, 125000); // 1000 us
    copy(plan, 1, 0, 1, 2, 125000);
    // a, b, c at half: a ends after 1000, when b and c have 500 left, at half again.
    tern_sim *sim = simulate(plan, "machines:1+1+1", NULL);
    assert_us(tern_sim_rank_us(sim, 0), 2100);
    assert_us(tern_sim_rank_us(sim, 1), 2100);
    tern_sim_destroy(sim);
    // Two more out of machine 0: a, b, d, e have a quarter, so c has three quarters.
    plan = of(3);
    copy(plan, 0, 0, 0, 1, 125000);
    copy(plan, 0, 1, 0, 2, 125000);
    copy(plan, 0, 2, 0, 1, 125000);
    copy(plan, 0, 3, 0, 1, 125000);
    copy(plan, 1, 0, 1, 2, 750 * 125);
    sim = simulate(plan, "machines:1+1+1", NULL);
    assert_us(tern_sim_rank_us(sim, 1), 1100);
    assert_us(tern_sim_rank_us(sim, 0), 4100);
    tern_sim_destroy(sim);
}

static void a_post_takes_the_latency_and_a_wait_none(void **state)
{
    tern_plan *plan = of(3);
    copy(plan, 0, 0, 0, 1, US);
    hand_post(plan, 0, 0, 1, 7);
    copy(plan, 0, 0, 0, 1, US);
    hand_wait(plan, 1, 0, 7, 1);
    copy(plan, 1, 0, 1, 2, US);
    hand_post(plan, 1, 0, 1, 8); // to itself: at once
    hand_wait(plan, 1, 1, 8, 1);
    tern_sim *sim = simulate(plan, "mesh:3", NULL);
    assert_us(tern_sim_rank_us(sim, 0), 6); // a post takes no time of its lane
    assert_us(tern_sim_rank_us(sim, 1), 3 + 2 + 3);
    assert_int_equal(tern_sim_get_facts(sim)->ops, 7);
    tern_sim_part part;
    assert_true(tern_sim_get_part(sim, 0, &part));
    assert_string_equal(part.what, "start-up");
    assert_us(part.us, 6);
    assert_int_equal(part.steps, 3);
    tern_sim_step step;
    assert_true(tern_sim_get_step(sim, 1, &step));
    assert_int_equal(step.kind, TERN_PLAN_POST);
    assert_int_equal(step.index, 1);
    assert_us(step.begin_us, 3);
    assert_us(step.end_us, 5);
    assert_true(tern_sim_get_step(sim, 2, &step));
    assert_string_equal(step.what, "link 1>2");
    assert_int_equal(step.rank, 1);
    assert_us(step.start_us, 2);
    assert_false(tern_sim_get_step(sim, 3, &step));
    tern_sim_destroy(sim);
}

static void a_wait_waits_for_the_last_of_its_posts(void **state)
{
    tern_plan *plan = of(4);
    for (int rank = 1; rank < 4; rank++) {
        copy(plan, rank, 0, rank, 0, (uint64_t)rank * US);
        hand_post(plan, rank, 0, 0, 0);
    }
    hand_wait(plan, 0, 0, 0, 3);
    hand_wait(plan, 0, 1, 0, 2);
    copy(plan, 0, 1, 0, 1, US);
    // Posts arrive after 5, 6 and 7 us; two lanes wait for the same signal.
    assert_time(simulate(plan, "mesh:4", NULL), 6 + 3);
}

static void the_memory_of_a_rank_is_a_resource(void **state)
{
    tern_sim_options options = {.memory_GBps = 50};
    tern_plan *plan = of(2);
    copy(plan, 0, 0, 0, 0, 4 * US); // reads and writes 8 US, at twice the rate of a link
    copy(plan, 0, 1, 0, 0, 4 * US);
    copy(plan, 1, 0, 0, 1, 4 * US); // the link takes longer than its part of the memory
    tern_sim *sim = simulate(plan, "mesh:2", &options);
    assert_us(tern_sim_rank_us(sim, 0), 8);
    assert_us(tern_sim_rank_us(sim, 1), 6);
    tern_sim_destroy(sim);
    options = (tern_sim_options){.machine_memory_GBps = 50, .op_us = 3};
    plan = of(2);
    copy(plan, 0, 0, 0, 0, 4 * US);
    copy(plan, 1, 0, 1, 1, 4 * US);
    sim = simulate(plan, "mesh:2", &options);
    tern_sim_use use;
    assert_true(tern_sim_get_use(sim, 0, &use));
    assert_string_equal(use.name, "memory of the machine");
    assert_time(sim, 3 + 8);
    options = (tern_sim_options){.copy_GBps = 25, .reduce_GBps = {0, 0, 10, 0}};
    plan = of(2);
    copy(plan, 0, 0, 0, 0, 4 * US);
    assert_time(simulate(plan, "mesh:2", &options), 8);
}

static void jitter_is_the_same_for_the_same_seed(void **state)
{
    double us[3];
    for (int i = 0; i < 3; i++) {
        tern_sim_options options = {.jitter = 0.5, .seed = i == 2 ? 12 : 11};
        tern_plan *plan = of(2);
        copy(plan, 0, 0, 0, 1, 4 * US);
        tern_sim *sim = simulate(plan, "mesh:2", &options);
        us[i] = tern_sim_get_facts(sim)->time_us;
        tern_sim_use use;
        assert_true(tern_sim_get_use(sim, 0, &use));
        assert_int_equal(use.bytes, 4 * US);
        tern_sim_destroy(sim);
        assert_true(us[i] > 6 && us[i] < 9);
    }
    assert_true(us[0] == us[1]);
    assert_true(us[0] != us[2]);
}

static void a_wait_without_posts_is_a_sentence(void **state)
{
    tern_plan *plan = of(3);
    hand_post(plan, 0, 0, 1, 5);
    hand_wait(plan, 1, 0, 5, 2);
    hand_post(plan, 1, 0, 2, 0);
    hand_wait(plan, 2, 1, 0, 1);
    assert_refused(plan, topo_make("mesh:3"), NULL,
                   "rank 1, lane 0, op 0 (wait) waits for 2 posts of signal 5, and 1 ever comes; 1 "
                   "more lane stands");
}

static void a_link_that_is_not_there_is_a_sentence(void **state)
{
    tern_plan *plan = of(3);
    copy(plan, 0, 0, 0, 2, US);
    copy(plan, 2, 1, 0, 2, US);
    assert_refused(plan, topo_make_cut("mesh:3", "0-2"), NULL,
                   "rank 0, lane 0, op 0 (copy) writes to rank 2, and mesh:3 --cut 0-2 has no link "
                   "0>2");
    plan = of(3);
    hand_post(plan, 1, 0, 0, 0);
    assert_refused(plan, topo_make_cut("mesh:3", "1>0"), NULL,
                   "rank 1, lane 0, op 0 (post) posts to");
}

static void options_out_of_range_are_sentences(void **state)
{
    static const struct {
        tern_sim_options options;
        const char *text;
    } wrong[] = {{{.memory_GBps = -1}, "the rate of a memory"},
                 {{.memory_GBps = NAN}, "the rate of a memory"},
                 {{.copy_GBps = 1e10}, "the rate of a copy"},
                 {{.reduce_GBps = {0, INFINITY, 0, 0}}, "the rate of a reduce"},
                 {{.op_us = -1}, "the start of an op"},
                 {{.jitter = 101}, "jitter is from 0 to 100"},
                 {{.fails = {"0-1"}, .fails_count = 1}, "0-1@100 or 0>1@100, not '0-1'"},
                 {{.fails = {"0-1@x"}, .fails_count = 1}, "not '0-1@x'"},
                 {{.fails = {"0-9@1"}, .fails_count = 1}, "'0-9@1': mesh:2 has no such link"},
                 {{.fails = {NULL}, .fails_count = 1}, "not ''"},
                 {{.fails_count = -1}, "-1 links fail"}};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        tern_plan *plan = of(2);
        copy(plan, 0, 0, 0, 1, US);
        assert_refused(plan, topo_make("mesh:2"), &wrong[i].options, wrong[i].text);
    }
    tern_plan *plan = of(2);
    assert_refused(plan, topo_make("mesh:3"), NULL, "the plan is for 2 ranks, and mesh:3");
}

static void a_link_that_fails_leaves_ranks_that_never_end(void **state)
{
    tern_sim_options options = {.fails = {"0>1@4", "2-0@100"}, .fails_count = 2};
    tern_plan *plan = of(3);
    copy(plan, 0, 0, 0, 1, 4 * US);
    hand_post(plan, 0, 0, 1, 0);
    hand_wait(plan, 1, 0, 0, 1);
    copy(plan, 2, 0, 2, 0, 4 * US);
    tern_sim *sim = simulate(plan, "mesh:3", &options);
    assert_string_equal(tern_sim_stuck(sim),
                        "rank 0, lane 0, op 0 (copy) never ends, over link 0>1, which has failed "
                        "with 50000 of 100000 bytes to go; 1 more lane stands");
    assert_true(isinf(tern_sim_rank_us(sim, 0)));
    assert_true(isinf(tern_sim_rank_us(sim, 1)));
    assert_us(tern_sim_rank_us(sim, 2), 6);
    assert_false(tern_sim_get_loss(sim, &(tern_sim_loss){0}));
    tern_sim_destroy(sim);
    // A link that nobody uses any more.
    options = (tern_sim_options){.fails = {"0-1@4"}, .fails_count = 1};
    plan = of(2);
    copy(plan, 0, 0, 0, 1, US);
    sim = simulate(plan, "mesh:2", &options);
    assert_null(tern_sim_stuck(sim));
    assert_time(sim, 3);
}

struct seen {
    int flows, copies, posts, waits;
    double last_us;
};

static void see(const tern_sim_event *event, void *arg)
{
    struct seen *seen = arg;
    assert_true(event->begin_us <= event->end_us);
    assert_true(event->end_us >= seen->last_us);
    seen->last_us = event->end_us;
    seen->flows += event->is_flow;
    seen->copies += !event->is_flow && event->kind == TERN_PLAN_COPY;
    seen->posts += event->kind == TERN_PLAN_POST;
    seen->waits += event->kind == TERN_PLAN_WAIT;
    if (event->is_flow) {
        assert_int_equal(event->from, 0);
        assert_int_equal(event->to, 1);
        assert_us(event->active_us - event->begin_us, 2);
    }
}

static void what_happens_is_told(void **state)
{
    struct seen seen = {0};
    tern_sim_options options = {.see = see,
                                .see_arg = &seen,
                                .without_path = true,
                                .without_bound = true};
    tern_plan *plan = of(2);
    copy(plan, 0, 0, 0, 1, US);
    hand_post(plan, 0, 0, 1, 0);
    hand_wait(plan, 1, 0, 0, 1);
    tern_sim *sim = simulate(plan, "mesh:2", &options);
    assert_false(tern_sim_get_step(sim, 0, NULL));
    assert_true(tern_sim_get_facts(sim)->bound_us < 0);
    tern_sim_destroy(sim);
    assert_int_equal(seen.flows, 1);
    assert_int_equal(seen.copies, 1);
    assert_int_equal(seen.posts, 1);
    assert_int_equal(seen.waits, 1);
    assert_us(seen.last_us, 5);
}

static void what_is_lost_sums_up_to_the_time(void **state)
{
    tern_plan *plan = of(2); // all_reduce of 2 us: no plan takes less
    copy(plan, 0, 0, 0, 1, US);
    copy(plan, 0, 0, 0, 1, 3 * US);
    hand_post(plan, 0, 0, 1, 0);
    hand_wait(plan, 1, 0, 0, 1);
    tern_sim *sim = simulate(plan, "mesh:2", NULL);
    tern_sim_loss loss;
    assert_true(tern_sim_get_loss(sim, &loss));
    assert_us(loss.bound_us, 2);
    assert_us(loss.load_us, 2);
    assert_us(loss.before_us, 2);
    assert_us(loss.slow_us, 0);
    assert_us(loss.idle_us, 2);
    assert_us(loss.after_us, 2);
    assert_us(tern_sim_get_facts(sim)->bound_us, 2);
    assert_time(sim, 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ops_of_a_lane_are_serial_and_each_has_a_start_up),
        cmocka_unit_test(an_empty_plan_and_empty_ops_take_no_time),
        cmocka_unit_test(lanes_share_a_link),
        cmocka_unit_test(directions_are_links_of_their_own),
        cmocka_unit_test(a_reduce_ends_with_its_slowest_flow),
        cmocka_unit_test(ports_of_machines_are_shared),
        cmocka_unit_test(shares_are_max_min_fair),
        cmocka_unit_test(a_post_takes_the_latency_and_a_wait_none),
        cmocka_unit_test(a_wait_waits_for_the_last_of_its_posts),
        cmocka_unit_test(the_memory_of_a_rank_is_a_resource),
        cmocka_unit_test(jitter_is_the_same_for_the_same_seed),
        cmocka_unit_test(a_wait_without_posts_is_a_sentence),
        cmocka_unit_test(a_link_that_is_not_there_is_a_sentence),
        cmocka_unit_test(options_out_of_range_are_sentences),
        cmocka_unit_test(a_link_that_fails_leaves_ranks_that_never_end),
        cmocka_unit_test(what_happens_is_told),
        cmocka_unit_test(what_is_lost_sums_up_to_the_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
