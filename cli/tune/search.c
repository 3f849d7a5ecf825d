// SPDX-License-Identifier: Apache-2.0
// Whether `optimal` is a candidate. A call by it searches for its plan anew for each size, every
// rank for itself, so how long that takes is looked at before, by all ranks at once.

#include <math.h>

#include "timing.h"
#include "tern/algo.h"
#include "tern/coll.h"
#include "tune/tune.h"

// Seconds that a search takes here, or INFINITY: there is no plan. That of the largest size takes
// longest: the more bytes, the more rounds are worth a look.
static int time_search(const struct tune_bench *bench, double limit_s, tern_plan_kind kind,
                       double *seconds)
{
    char word[16];
    tern_topo *topo = NULL;
    tern_plan *plan = NULL;
    snprintf(word, sizeof word, "mesh:%d", bench->nranks);
    int status = tern_topo_create(word, &topo);
    if (status != TERN_OK) {
        return status;
    }
    size_t element = sizeof(float) * (size_t)bench->nranks; // of whole shares
    const tern_search search = {.seconds = limit_s};
    const tern_algo_request request = {.kind = kind,
                                       .topo = topo,
                                       .bytes = bench->bytes_max / element * element,
                                       .unit = sizeof(float),
                                       .algorithm = TERN_ALGO_OPTIMAL,
                                       .search = &search};
    double begin_us = cli_now_us();
    bool found = tern_algo_plan(&request, &plan) == TERN_OK;
    *seconds = found ? (cli_now_us() - begin_us) * 1e-6 : INFINITY;
    tern_plan_destroy(plan);
    tern_topo_destroy(topo);
    return TERN_OK;
}

int tune_look_at_search(const struct tune_bench *bench, const struct tune_wish *wish,
                        tern_plan_kind kind, bool *optimal)
{
    double own;
    double most;
    *optimal = false;
    if (!wish->optimal || kind == TERN_PLAN_BARRIER) {
        return TERN_OK;
    }
    int status = time_search(bench, wish->search_s, kind, &own);
    status = status == TERN_OK ? tern_all_reduce(bench->control, &own, &most, 1, TERN_F64, TERN_MAX)
                               : status;
    if (status != TERN_OK) {
        return status;
    }
    *optimal = most < wish->search_s;
    if (bench->rank != 0) {
        return TERN_OK;
    }
    fprintf(stderr, "%s, %d ranks: optimal is %s: ", tern_plan_kind_name(kind), bench->nranks,
            *optimal ? "tried" : "not tried");
    if (*optimal) {
        fprintf(stderr, "it plans %d KiB in %.3g s\n", (int)(bench->bytes_max >> 10), most);
    } else if (isinf(own) && tern_last_error()[0] != '\0') {
        fprintf(stderr, "%s\n", tern_last_error());
    } else {
        fprintf(stderr, "it does not plan %d KiB in %g s (--search)\n",
                (int)(bench->bytes_max >> 10), wish->search_s);
    }
    return TERN_OK;
}
