// SPDX-License-Identifier: Apache-2.0
// tern_algo_plan: the plan of an algorithm of the table, of the planner, or of an executor. Set-up
// path.

#include <string.h>

#include "base/error.h"
#include "base/handle.h"
#include "base/public.h"
#include "coll/algo.h"
#include "coll/executor.h"
#include "coll/optimal.h"
#include "coll/select.h"

static int algo_plan(const tern_algo_request *request, tern_plan **plan)
{
    if (request == NULL || plan == NULL) {
        return tern__fail(TERN_ERR_ARG, "tern_algo_plan: request and plan must not be NULL");
    }
    TERN_TRY(tern__handle_check("tern_algo_plan", request->topo, TERN__TOPO));
    if (request->order != TERN_ORDER_RANK && request->order != TERN_ORDER_ANY) {
        return tern__fail(TERN_ERR_ARG, "tern_algo_plan: %d is no order of sums",
                          (int)request->order);
    }
    TERN_TRY(tern__select_check(request)); // before anybody calculates with what it says
    const char *name = request->algorithm;
    if (name != NULL && tern__algo_is_beyond(request->kind, name)) {
        return strcmp(name, TERN_ALGO_OPTIMAL) == 0 ? tern__optimal_plan(request, plan)
                                                    : tern__executor_plan(request, plan);
    }
    tern_plan *made = NULL;
    int status = tern__select_plan(request, &made);
    if (name == NULL && request->search != NULL && !tern__select_is_memory(request->topo)) {
        status = tern__optimal_better(request, status, &made);
    }
    *plan = status == TERN_OK ? made : *plan;
    return status;
}

int tern_algo_plan(const tern_algo_request *request, tern_plan **plan)
{
    return TERN__CALL_OF_CALLS(algo_plan(request, plan));
}
