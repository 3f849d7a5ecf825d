// SPDX-License-Identifier: Apache-2.0
// The algorithm `optimal`: for every kind, order and sort of links its plan is proved, can run
// again, and is as quick in the simulator as the quickest of the table. Searches end when they are
// told to, and what nobody named is searched for only where it is worth it.
#include "support/cmocka.h"
#include <stdio.h>
#include <string.h>

#include "mesh.h"
#include "posts.h"
#include "support/interp.h"
#include "support/kinds.h"
#include "tern/algo.h"
#include "tern/check.h"
#include "tern/sim.h"

static double simulated_us(const tern_plan *plan, const tern_topo *topo)
{
    tern_sim *sim;
    assert_int_equal(tern_sim_run(plan, topo, NULL, &sim), TERN_OK);
    double us = tern_sim_get_facts(sim)->time_us;
    tern_sim_destroy(sim);
    return us;
}

static void prove(const tern_plan *plan, const tern_algo_request *request)
{
    tern_check *check;
    assert_int_equal(tern_check_plan(plan, request->topo, &check), TERN_OK);
    if (!tern_check_proved(check)) {
        tern_status_ignore(tern_check_print(check, stderr)); // the test fails anyway
        fail_msg("%s over %s, %llu bytes", tern_plan_kind_name(request->kind),
                 tern_topo_text(request->topo), (unsigned long long)request->bytes);
    }
    if (request->order == TERN_ORDER_RANK && tern_check_sum_order(check) != TERN_CHECK_ORDER_NONE) {
        tern_check_order order = tern_check_sum_order(check);
        bool chain = order == TERN_CHECK_ORDER_CHAIN && request->unit != 2;
        assert_true(order == TERN_CHECK_ORDER_RANK || chain);
    }
    tern_check_destroy(check);
}

// How many algorithms of the table can do it.
static int compare(const tern_algo_request *given)
{
    tern_algo_request request = *given;
    char why[256];
    tern_plan *plan;
    int fit = 0;
    request.algorithm = TERN_ALGO_OPTIMAL;
    int status = tern_algo_plan(&request, &plan);
    if (status == TERN_ERR_STATE) {
        print_message("no GLPK: %s\n", tern_last_error());
        skip();
    }
    if (status != TERN_OK) {
        fail_msg("%s over %s: %s", tern_plan_kind_name(request.kind), tern_topo_text(request.topo),
                 tern_last_error());
    }
    prove(plan, &request);
    check_posts_awaited(plan);
    if (!interp_run(plan, request.topo, request.bytes, why, sizeof why)) {
        fail_msg("%s over %s: %s", tern_plan_kind_name(request.kind), tern_topo_text(request.topo),
                 why);
    }
    double us = simulated_us(plan, request.topo);
    for (int i = 0; (request.algorithm = tern_algo_name(request.kind, i)) != NULL; i++) {
        tern_plan *other;
        if (tern_algo_plan(&request, &other) == TERN_OK) {
            assert_true(us <= simulated_us(other, request.topo) * (1 + 1e-6));
            tern_plan_destroy(other);
            fit++;
        }
    }
    tern_plan_destroy(plan);
    return fit;
}

static void every_kind_on_every_sort_of_links(void **state)
{
    static const char *const words[] = {"mesh:1",       "mesh:2",       "mesh:3",
                                        "mesh:5",       "ring:5",       "switch:3",
                                        "hosts:2x2@25", "machines:2+3", "random:5,3,one-way",
                                        "torus:2x3"};
    static const uint64_t elements[] = {0, 1, 7, 1001, 65536};
    int fit = 0;
    int alone = 0;
    for (size_t w = 0; w < sizeof words / sizeof words[0]; w++) {
        tern_topo *topo;
        assert_int_equal(tern_topo_create(words[w], &topo), TERN_OK);
        int n = tern_topo_size(topo);
        for (int k = 0; k < TERN_PLAN_KINDS * 2; k++) {
            tern_plan_kind kind = (tern_plan_kind)(k / 2);
            if (kind == TERN_PLAN_BARRIER) {
                continue;
            }
            size_t at = (w + (size_t)k) % 5;
            uint64_t bytes = elements[at] * 4 * (kind_has_shares(kind) ? (uint64_t)n : 1);
            int others =
                compare(&(tern_algo_request){.kind = kind,
                                             .topo = topo,
                                             .bytes = bytes,
                                             .unit = 4,
                                             .root = kind_has_root(kind) ? n - 1 : 0,
                                             .order = k % 2 ? TERN_ORDER_RANK : TERN_ORDER_ANY});
            fit += others > 0;
            alone += others == 0;
        }
        tern_topo_destroy(topo);
    }
    printf("%d beside others, %d alone\n", fit, alone);
    assert_true(fit > 50 && alone > 10);
}

static void cuts_that_nothing_else_can_go_around(void **state)
{
    static const char *const cuts[2][2] = {{"0-1", "0-2"}, {"0-1", "3>2"}};
    for (int i = 0; i < 4; i++) {
        tern_topo *topo = mesh(i < 2 ? 6 : 4, cuts[i / 2][0]);
        assert_int_equal(tern_topo_cut(topo, cuts[i / 2][1]), TERN_OK);
        (void)compare(&(tern_algo_request){.kind = TERN_PLAN_ALL_REDUCE,
                                           .topo = topo,
                                           .bytes = 1 << 20,
                                           .unit = 2,
                                           .order = (tern_order)(i % 2)});
        tern_topo_destroy(topo);
    }
}

struct watcher {
    int asked, stop_after;
    int told;
    tern_search_news last;
};

static bool stop(void *context)
{
    struct watcher *watcher = context;
    return ++watcher->asked > watcher->stop_after;
}

static void take_news(void *context, const tern_search_news *news)
{
    struct watcher *watcher = context;
    assert_true(news->plans >= watcher->last.plans);
    assert_true(watcher->last.plans == 0 || news->best_us <= watcher->last.best_us);
    watcher->last = *news;
    watcher->told++;
}

static int search(tern_algo_request request, const tern_search *how, tern_plan **plan)
{
    request.search = how;
    return tern_algo_plan(&request, plan);
}

static void same(const tern_plan *a, const tern_plan *b)
{
    char *text[2] = {NULL, NULL};
    size_t length[2];
    assert_int_equal(tern_plan_print(a, &text[0], &length[0]), TERN_OK);
    assert_int_equal(tern_plan_print(b, &text[1], &length[1]), TERN_OK);
    assert_string_equal(text[0], text[1]);
    free(text[0]);
    free(text[1]);
}

static void searches_are_watched_and_end(void **state)
{
    tern_topo *topo = mesh(5, "0-1");
    tern_algo_request request = {.kind = TERN_PLAN_ALL_REDUCE,
                                 .topo = topo,
                                 .bytes = 64 << 20,
                                 .unit = 4,
                                 .order = TERN_ORDER_ANY,
                                 .algorithm = TERN_ALGO_OPTIMAL};
    struct watcher watcher = {.stop_after = 1000000};
    tern_search how = {.stop = stop, .progress = take_news, .context = &watcher, .seed = 5};
    tern_plan *plans[3];
    if (search(request, &how, &plans[0]) == TERN_ERR_STATE) {
        skip();
    }
    watcher = (struct watcher){.stop_after = 1000000};
    assert_int_equal(search(request, &how, &plans[1]), TERN_OK);
    same(plans[0], plans[1]); // the same seed, the same plan
    assert_true(watcher.told > watcher.last.plans && watcher.last.plans > 5);
    assert_true(watcher.last.bound_us > 0 && watcher.last.best_us >= watcher.last.bound_us);
    assert_string_equal(watcher.last.best, tern_plan_get_spec(plans[0])->algorithm);
    assert_true(watcher.asked > 0);
    // Stopped before it has any plan of its own, it takes one of the table.
    watcher = (struct watcher){0};
    assert_int_equal(search(request, &how, &plans[2]), TERN_OK);
    assert_string_not_equal(tern_plan_get_spec(plans[2])->algorithm, TERN_ALGO_OPTIMAL);
    tern_plan_destroy(plans[2]);
    how = (tern_search){.seconds = 1e-9};
    assert_int_equal(search(request, &how, &plans[2]), TERN_OK);
    assert_string_not_equal(tern_plan_get_spec(plans[2])->algorithm, TERN_ALGO_OPTIMAL);
    for (int i = 0; i < 3; i++) {
        tern_plan_destroy(plans[i]);
    }
    tern_topo_destroy(topo);
}

static void nobody_waits_for_what_is_not_worth_it(void **state)
{
    static const struct {
        const char *word;
        tern_order order;
        bool searched;
    } cases[] = {{"mesh:5", TERN_ORDER_ANY, false},
                 {"ring:5", TERN_ORDER_ANY, true},
                 {"ring:5", TERN_ORDER_RANK, true}, // nothing of the table can
                 {"this:5", TERN_ORDER_RANK, false}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct watcher watcher = {.stop_after = 1000000};
        tern_search how = {.stop = stop, .progress = take_news, .context = &watcher};
        tern_topo *topo;
        tern_plan *plan;
        bool is_this = strcmp(cases[i].word, "this:5") == 0;
        assert_int_equal(tern_topo_create(is_this ? "this" : cases[i].word, &topo), TERN_OK);
        tern_algo_request request = {.kind = TERN_PLAN_ALL_REDUCE,
                                     .topo = topo,
                                     .bytes = 1 << 24,
                                     .unit = 4,
                                     .order = cases[i].order};
        int status = search(request, &how, &plan);
        if (cases[i].searched && watcher.asked == 0) {
            print_message("no GLPK\n");
            skip();
        }
        assert_int_equal(status, TERN_OK);
        assert_int_equal(watcher.told > 0, cases[i].searched);
        assert_int_equal(strcmp(tern_plan_get_spec(plan)->algorithm, TERN_ALGO_OPTIMAL) == 0,
                         cases[i].searched);
        tern_plan_destroy(plan);
        // Without leave to search, it does not.
        status = search(request, NULL, &plan);
        assert_int_equal(status, cases[i].order == TERN_ORDER_RANK && cases[i].searched
                                     ? TERN_ERR_ARG
                                     : TERN_OK);
        if (status == TERN_OK) {
            assert_string_not_equal(tern_plan_get_spec(plan)->algorithm, TERN_ALGO_OPTIMAL);
            tern_plan_destroy(plan);
        }
        tern_topo_destroy(topo);
    }
}

static void assert_refused(const char *word, tern_plan_kind kind, const tern_search *how,
                           int wanted, const char *sentence)
{
    tern_topo *topo;
    tern_plan *plan = NULL;
    assert_int_equal(tern_topo_create(word, &topo), TERN_OK);
    tern_algo_request request = {.kind = kind,
                                 .topo = topo,
                                 .bytes = kind == TERN_PLAN_BARRIER ? 0 : 6500,
                                 .unit = 4,
                                 .algorithm = TERN_ALGO_OPTIMAL};
    int status = search(request, how, &plan);
    if (status != TERN_ERR_STATE) {
        assert_int_equal(status, wanted);
        assert_string_equal(tern_last_error(), sentence);
    }
    assert_null(plan);
    tern_topo_destroy(topo);
}

static void what_it_refuses(void **state)
{
    assert_refused("mesh:3", TERN_PLAN_BARRIER, NULL, TERN_ERR_ARG,
                   "there is no algorithm 'optimal' for barrier; there are dissemination, direct, "
                   "tree, one");
    assert_refused("mesh:65", TERN_PLAN_ALL_REDUCE, NULL, TERN_ERR_LIMIT,
                   "the planner is for 1 to 64 ranks, not 65");
    assert_refused("mesh:3", TERN_PLAN_ALL_REDUCE, &(tern_search){.seconds = -1}, TERN_ERR_ARG,
                   "tern_algo_plan: a search of -1 seconds; it is 0, for no limit, or a number "
                   "above 0");
    assert_refused("ring:5", TERN_PLAN_ALL_TO_ALL, &(tern_search){.seconds = 1e-9},
                   TERN_ERR_TIMEOUT, "no plan of all_to_all on ring:5 was found in 1e-09 s");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_kind_on_every_sort_of_links),
        cmocka_unit_test(cuts_that_nothing_else_can_go_around),
        cmocka_unit_test(searches_are_watched_and_end),
        cmocka_unit_test(nobody_waits_for_what_is_not_worth_it),
        cmocka_unit_test(what_it_refuses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
