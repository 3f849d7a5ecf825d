// SPDX-License-Identifier: Apache-2.0
// The plan of a call, simulated with what ops cost on this machine.

#include "perf/predict.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cost.h"
#include "perf/perf.h"
#include "tern/sim.h"
#include "timing.h"

bool perf_predict_ready(const struct perf_options *options, int nranks)
{
    tern_tune_cost cost;
    if (options->sim && tern_tune_get_cost(nranks, &cost) != TERN_OK) {
        perf_say("--compare sim: %s", tern_last_error());
        return false;
    }
    return true;
}

static tern_plan *plan_of(const struct perf_call *call, const struct perf_row *row,
                          const tern_topo *topo)
{
    uint64_t element = call->data.element_bytes;
    bool slot = strcmp(row->way, "line") == 0 || strcmp(row->way, "slot") == 0;
    bool either = strcmp(row->way, "staged/direct") == 0;
    tern_algo_request request = {.kind = (tern_plan_kind)perf_shapes[call->kind].number,
                                 .topo = topo,
                                 .bytes = call->total * element,
                                 .unit = (uint32_t)element,
                                 .root = call->root,
                                 .order = call->coll.order,
                                 .algorithm = call->coll.algorithm};
    tern_plan *plan = NULL;
    bool planned = call->kind != PERF_SEND_RECV && !perf_has(call->kind, PERF_UNEVEN) &&
                   tern_coll_plan(&request,
                                  slot     ? "slot"
                                  : either ? "staged"
                                           : row->way,
                                  &plan) == TERN_OK;
    return planned ? plan : NULL;
}

static double simulate(const tern_plan *plan, const tern_topo *topo, long nbuffers)
{
    tern_tune_cost cost;
    tern_sim *sim = NULL;
    double us = 0;
    tern_sim_options options = {.without_path = true};
    if (tern_tune_get_cost(tern_topo_size(topo), &cost) == TERN_OK) {
        cli_cost_apply(&cost, cli_cost_at_hand(plan) * (uint64_t)nbuffers, &options);
        if (tern_sim_run(plan, topo, &options, &sim) == TERN_OK) {
            us = tern_sim_get_facts(sim)->time_us;
        }
    }
    tern_sim_destroy(sim);
    return us;
}

void perf_predict(const struct perf_options *options, const struct perf_call *call,
                  const tern_plan *plan, struct perf_row *row)
{
    char word[32];
    tern_topo *topo = NULL;
    tern_plan *made = NULL;
    snprintf(word, sizeof word, "mesh:%d", call->nranks);
    if (options->sim && tern_topo_create(word, &topo) == TERN_OK) {
        made = plan == NULL ? plan_of(call, row, topo) : NULL;
        plan = plan == NULL ? made : plan;
    }
    if (plan != NULL && topo != NULL) {
        // Of a call in pieces the plan is the first one's.
        uint64_t bytes = tern_plan_get_spec(plan)->bytes;
        double pieces = bytes > 0 && bytes < row->bytes ? (double)row->bytes / (double)bytes : 1;
        row->sim_us = simulate(plan, topo, options->nbuffers) * pieces;
    }
    tern_plan_destroy(made);
    tern_topo_destroy(topo);
}

double perf_predict_error(const struct perf_row *rows, long nrows)
{
    double *errors = calloc((size_t)nrows + 1, sizeof *errors);
    long count = 0;
    for (long i = 0; errors != NULL && i < nrows; i++) {
        if (rows[i].sim_us > 0 && rows[i].time.median_us > 0) {
            errors[count++] = fabs(rows[i].sim_us / rows[i].time.median_us - 1) * 100;
        }
    }
    double median = count > 0 ? cli_median(errors, count) : -1;
    free(errors);
    return median;
}
