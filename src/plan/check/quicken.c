// SPDX-License-Identifier: Apache-2.0
// Steps from a proved plan to a proved plan of less work.

#include "base/error.h"
#include "base/public.h"
#include "plan/ir.h"
#include "plan/steps.h"
#include "tern/check.h"

static size_t signals_of(const tern_plan *plan)
{
    size_t signals = 0;
    for (int rank = 0; rank < plan->spec.nranks; rank++) {
        for (int lane = 0; lane < plan->ranks[rank].lanes_count; lane++) {
            const struct tern__lane *row = &plan->ranks[rank].lanes[lane];
            for (size_t i = 0; i < row->count; i++) {
                signals += !tern__op_is_transfer(&row->ops[i]);
            }
        }
    }
    return signals;
}

// Whether a plan is right, and whether it is so in place.
static int prove(const tern_plan *plan, const tern_topo *topo, bool *right, bool *in_place)
{
    tern_check *check;
    TERN_TRY(tern_check_plan_in_place(plan, topo, &check));
    *in_place = tern_check_proved(check);
    *right = true;
    for (int rule = 0; rule < TERN_CHECK_IN_PLACE; rule++) {
        *right = *right && tern_check_count(check, (tern_check_rule)rule) == 0;
    }
    return tern_check_destroy(check);
}

// Puts what a step has made in the place of the plan, if it is better and as right.
static int replace(tern_plan **plan, tern_plan *made, const tern_topo *topo, bool better)
{
    bool right = false;
    int status = better ? prove(made, topo, &right, &made->in_place) : TERN_OK;
    better = right && (made->in_place || !(*plan)->in_place);
    tern_plan_destroy(better ? *plan : made);
    *plan = better ? made : *plan;
    return status;
}

static int quicken(tern_plan **plan, const tern_topo *topo)
{
    bool right;
    tern_plan *made = NULL;
    if (plan == NULL || *plan == NULL) {
        return tern__fail(TERN_ERR_ARG, "tern_check_quicken: plan must not be NULL");
    }
    TERN_TRY(tern__plan_lives("tern_check_quicken", *plan));
    TERN_TRY(prove(*plan, topo, &right, &(*plan)->in_place));
    if (!right) {
        return tern__fail(TERN_ERR_ARG,
                          "tern_check_quicken: the plan '%s' is refuted; tern_check_plan says why",
                          (*plan)->algorithm);
    }
    TERN_TRY(tern_plan_fuse(*plan, &made));
    TERN_TRY(replace(plan, made, topo, made->ops_count < (*plan)->ops_count));
    int status = tern__plan_resync(*plan, (*plan)->in_place, &made);
    if (status != TERN_OK) { // a barrier, or too large for it
        return status == TERN_ERR_MEMORY ? status : TERN_OK;
    }
    return replace(plan, made, topo, signals_of(made) < signals_of(*plan));
}

int tern_check_quicken(tern_plan **plan, const tern_topo *topo)
{
    return TERN__CALL_OF_CALLS(quicken(plan, topo));
}
