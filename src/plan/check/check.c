// SPDX-License-Identifier: Apache-2.0
// The check as a whole.

#include <stdlib.h>

#include "base/public.h"
#include "base/error.h"
#include "plan/check/check.h"

// Of the tables that have an entry per lane, in all files together.
#define TERN__CHECK_LANE_BYTES 64

static bool number_lanes(struct checking *checking)
{
    const tern_plan *plan = checking->plan;
    struct lanes *lanes = &checking->lanes;
    lanes->first = calloc((size_t)plan->spec.nranks + 1, sizeof *lanes->first);
    if (lanes->first == NULL) {
        return false;
    }
    for (int rank = 0; rank < plan->spec.nranks; rank++) {
        lanes->first[rank + 1] = lanes->first[rank] + (uint32_t)plan->ranks[rank].lanes_count;
    }
    lanes->count = lanes->first[plan->spec.nranks];
    lanes->rank = calloc((size_t)lanes->count + 1, sizeof *lanes->rank);
    for (int rank = 0; lanes->rank != NULL && rank < plan->spec.nranks; rank++) {
        for (uint32_t lane = lanes->first[rank]; lane < lanes->first[rank + 1]; lane++) {
            lanes->rank[lane] = (uint16_t)rank;
        }
    }
    return lanes->rank != NULL;
}

static void clean_up(struct checking *checking)
{
    tern__order_destroy(checking);
    tern__clock_pool_destroy(&checking->pool);
    free(checking->clocks);
    free(checking->position);
    free(checking->unfit);
    free(checking->unfit_first);
    tern__memory_destroy(checking);
    tern__network_destroy(checking);
    tern__values_destroy(checking);
    free(checking->lanes.first);
    free(checking->lanes.rank);
}

// What every lane and op takes, whatever the plan does.
static bool reserve_tables(struct checking *checking)
{
    uint64_t lanes = checking->lanes.count;
    uint64_t ops = checking->plan->ops_count;
    return tern__budget_take(&checking->budget,
                             lanes * TERN__CHECK_LANE_BYTES + ops * sizeof *checking->unfit);
}

static bool run_passes(struct checking *checking)
{
    tern_check *check = checking->check;
    if (!number_lanes(checking) || !reserve_tables(checking) || !tern__values_create(checking) ||
        !tern__memory_create(checking) || !tern__network_create(checking) ||
        !tern__check_shapes(checking) || !tern__check_reach(checking) ||
        !tern__check_order(checking)) {
        return false;
    }
    // A wrong operand was left out and a stuck lane has not finished: then the values say nothing.
    check->unchecked[TERN_CHECK_RESULT] =
        check->rules[TERN_CHECK_BOUNDS].count > 0 || check->rules[TERN_CHECK_DEADLOCK].count > 0 ||
        check->rules[TERN_CHECK_RACE].count > 0 || check->rules[TERN_CHECK_REACH].count > 0;
    // Nor does a stuck rank have an end that others could outlast.
    check->unchecked[TERN_CHECK_RACE] = check->rules[TERN_CHECK_DEADLOCK].count > 0;
    check->unchecked[TERN_CHECK_REACH] = check->machines > 0 && check->unchecked[TERN_CHECK_RACE];
    if ((!check->unchecked[TERN_CHECK_RACE] && !tern__check_ends(checking)) ||
        (!check->unchecked[TERN_CHECK_RESULT] && !tern__check_result(checking))) {
        return false;
    }
    // A plan that is wrong with in and out apart is not right in place either.
    for (int rule = 0; rule < TERN_CHECK_IN_PLACE; rule++) {
        check->unchecked[TERN_CHECK_IN_PLACE] |= check->rules[rule].count > 0;
    }
    if (check->unchecked[TERN_CHECK_IN_PLACE]) {
        tern__check_forget(check, TERN_CHECK_IN_PLACE);
    }
    return true;
}

static int fail_limit(const struct checking *checking, uint64_t bytes_max)
{
    return tern__fail(TERN_ERR_LIMIT,
                      "a check may take %g MiB, and that of a plan of %d ranks, %u lanes and %zu "
                      "ops takes more: fewer ranks, lanes or separate ranges would fit",
                      (double)bytes_max / (1 << 20), checking->plan->spec.nranks,
                      checking->lanes.count, checking->plan->ops_count);
}

static int check_plan(const char *name, const tern_plan *plan, const tern_topo *topo, bool in_place,
                      uint64_t bytes_max, tern_check **check)
{
    TERN_TRY(tern__plan_lives(name, plan));
    TERN_TRY(topo != NULL ? tern__handle_check(name, topo, TERN__TOPO) : TERN_OK);
    if (check == NULL) {
        return tern__fail(TERN_ERR_ARG, "%s: check must not be NULL", name);
    }
    if (!plan->sealed) {
        return tern__fail(TERN_ERR_ARG, "%s: the plan is not sealed yet", name);
    }
    if (topo != NULL && tern_topo_size(topo) != plan->spec.nranks) {
        return tern__fail(TERN_ERR_ARG, "%s: the plan is for %d ranks, and %s has %d", name,
                          plan->spec.nranks, tern_topo_text(topo), tern_topo_size(topo));
    }
    tern_check *made = tern__handle_new(TERN__CHECK, sizeof *made);
    if (made == NULL) {
        return tern__fail(TERN_ERR_MEMORY, "no memory for a check");
    }
    made->nranks = plan->spec.nranks;
    made->slots = plan->spec.slots;
    made->ops = plan->ops_count;
    made->in_place = in_place;
    made->machines = tern_topo_machine_count(topo);
    struct checking checking = {.plan = plan, .topo = topo, .check = made};
    checking.in_place_reported[0].lane = UINT32_MAX;
    checking.budget.left_bytes = bytes_max;
    checking.pool.budget = &checking.budget;
    bool good = run_passes(&checking);
    tern__check_finish(made);
    good = good && !made->out_of_memory;
    clean_up(&checking);
    if (!good) {
        tern_check_destroy(made);
        return checking.budget.exceeded
                   ? fail_limit(&checking, bytes_max)
                   : tern__fail(TERN_ERR_MEMORY,
                                "no memory to check a plan of %d ranks and %zu ops",
                                plan->spec.nranks, plan->ops_count);
    }
    *check = made;
    return TERN_OK;
}

int tern_check_plan(const tern_plan *plan, const tern_topo *topo, tern_check **check)
{
    return TERN__CALL_OF_CALLS(
        check_plan("tern_check_plan", plan, topo, false, TERN_CHECK_BYTES_MAX, check));
}

int tern_check_plan_in_place(const tern_plan *plan, const tern_topo *topo, tern_check **check)
{
    return TERN__CALL_OF_CALLS(
        check_plan("tern_check_plan_in_place", plan, topo, true, TERN_CHECK_BYTES_MAX, check));
}

int tern__check_plan_within(const tern_plan *plan, const tern_topo *topo, uint64_t bytes_max,
                            tern_check **check)
{
    return check_plan("tern_check_plan", plan, topo, false, bytes_max, check);
}
