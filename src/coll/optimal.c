// SPDX-License-Identifier: Apache-2.0
// The algorithm `optimal`. The planner shows plans of more and more rounds: few rounds have little
// start-up, many come close to the bound, and at some sizes an algorithm of the table is better
// than all of them. So all are timed by the simulator at this size, and the quickest is taken; of
// equals, the first, and the table comes first.

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "coll/optimal.h"
#include "coll/select.h"
#include "plan/optimal/optimal.h"
#include "tern/sim.h"
#include "tern/summary.h"

// Without being asked for by name: where the estimate reaches less of the bound.
#define REACHED 0.9
// What a plan of more rounds must be able to gain.
#define GAIN 1e-3
enum { RANKS_MAX_UNASKED = 16 };

#define SECONDS_MAX 1e9

struct search {
    const tern_algo_request *request;
    tern_search how;
    tern_search_news news;
    tern_plan *best;
    int64_t deadline_ns;
    double latency_us; // the least of all links
};

static void tell(struct search *s)
{
    if (s->how.progress != NULL) {
        s->how.progress(s->how.context, &s->news);
    }
}

// Takes the plan when it is the quickest so far, and then sets it to NULL.
static int compare(struct search *s, tern_plan **plan)
{
    tern_sim *sim;
    const tern_sim_options options = {.without_path = true, .without_bound = true};
    TERN_TRY(tern_sim_run(*plan, s->request->topo, &options, &sim));
    double us = tern_sim_get_facts(sim)->time_us;
    TERN_TRY(tern_sim_destroy(sim));
    s->news.plans++;
    if (s->best == NULL || us < s->news.best_us * (1 - 1e-9)) {
        s->news.best_us = us;
        snprintf(s->news.best, sizeof s->news.best, "%s", tern_plan_get_spec(*plan)->algorithm);
        TERN_TRY(tern_plan_destroy(s->best));
        s->best = *plan;
        *plan = NULL;
    }
    tell(s);
    return TERN_OK;
}

static int compare_table(struct search *s)
{
    tern_algo_request request = *s->request;
    request.search = NULL;
    for (int i = 0; (request.algorithm = tern_algo_name(request.kind, i)) != NULL; i++) {
        tern_plan *plan = NULL;
        if (s->best != NULL && s->deadline_ns > 0 && tern__now_ns() >= s->deadline_ns) {
            return TERN_OK;
        }
        int status = tern__select_plan(&request, &plan);
        status = status == TERN_OK ? compare(s, &plan) : status;
        TERN_TRY(tern_plan_destroy(plan));
        if (status != TERN_OK && status != TERN_ERR_ARG) { // it does not fit
            return status;
        }
    }
    return TERN_OK;
}

static bool shall_stop(void *context)
{
    struct search *s = context;
    return s->how.stop != NULL && s->how.stop(s->how.context);
}

static double least_latency_us(const tern_topo *topo)
{
    int n = tern_topo_size(topo);
    double least = INFINITY;
    for (int i = 0; i < n * n; i++) {
        tern_link link;
        if (i / n != i % n && tern_topo_link(topo, i / n, i % n, &link)) {
            least = fmin(least, link.latency_us);
        }
    }
    return isfinite(least) ? least : 0;
}

// In each round something is sent, and a post says so before the next.
static bool is_worth(void *context, int rounds)
{
    const struct search *s = context;
    double least_us = s->news.bound_us + (2 * rounds - 1) * s->latency_us;
    return s->best == NULL || least_us < s->news.best_us * (1 - GAIN);
}

static void take_news(void *context, const struct tern__optimal_news *news)
{
    struct search *s = context;
    s->news.bound_us = news->bound_us;
    s->news.rounds = news->rounds;
    tell(s);
}

// Above 0: it is no better.
static int take_plan(void *context, tern_plan **plan, double us)
{
    (void)us; // without start-up
    TERN_TRY(compare(context, plan));
    return *plan != NULL;
}

static int compare_planned(struct search *s)
{
    struct tern__optimal_goal goal = tern__optimal_goal_of(s->request, s->how.seed);
    struct tern__optimal_watch watch = {.deadline_ns = s->deadline_ns,
                                        .stop = shall_stop,
                                        .worth = is_worth,
                                        .progress = take_news,
                                        .context = s};
    struct tern__optimal *optimal;
    TERN_TRY(tern__optimal_create(&goal, &watch, &optimal));
    s->news.bound_us = tern__optimal_bound_us(optimal);
    int status = tern__optimal_search(optimal, &watch, take_plan, s);
    tern__optimal_destroy(optimal);
    return status;
}

int tern__optimal_plan(const tern_algo_request *request, tern_plan **plan)
{
    struct search s = {.request = request, .latency_us = least_latency_us(request->topo)};
    if (request->search != NULL) {
        s.how = *request->search;
    }
    if (!(s.how.seconds >= 0 && s.how.seconds <= SECONDS_MAX)) {
        return tern__fail(TERN_ERR_ARG,
                          "tern_algo_plan: a search of %g seconds; it is 0, for no "
                          "limit, or a number above 0",
                          s.how.seconds);
    }
    if (s.how.seconds > 0) {
        s.deadline_ns = tern__now_ns() + (int64_t)(s.how.seconds * 1e9);
    }
    int status = compare_table(&s);
    status = status == TERN_OK ? compare_planned(&s) : status;
    bool enough = s.best != NULL && (status == TERN_ERR_TIMEOUT || status == TERN_ERR_INTERRUPTED);
    if (status == TERN_ERR_TIMEOUT && !enough) {
        return tern__fail(TERN_ERR_TIMEOUT, "no plan of %s on %.300s was found in %g s",
                          tern_plan_kind_name(request->kind), tern_topo_text(request->topo),
                          s.how.seconds);
    }
    if (status != TERN_OK && !enough) {
        (void)tern_plan_destroy(s.best);
        return status;
    }
    *plan = s.best;
    return TERN_OK;
}

int tern__optimal_better(const tern_algo_request *request, int status, tern_plan **plan)
{
    tern_summary summary;
    int n = tern_topo_size(request->topo);
    bool none = status == TERN_ERR_ARG;
    if ((status != TERN_OK && !none) || request->kind == TERN_PLAN_BARRIER || n < 2 ||
        n > RANKS_MAX_UNASKED) {
        return status;
    }
    if (!none) {
        TERN_TRY(tern_summary_make(*plan, request->topo, &summary));
        if (summary.reached >= REACHED) {
            return TERN_OK;
        }
    }
    char why[TERN_ERROR_BYTES]; // of the table's refusal
    snprintf(why, sizeof why, "%s", tern_last_error());
    tern_plan *found;
    if (tern__optimal_plan(request, &found) != TERN_OK) {
        tern__set_error("%s", why);
        return status;
    }
    (void)tern_plan_destroy(*plan);
    *plan = found;
    return TERN_OK;
}
