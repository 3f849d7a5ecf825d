// SPDX-License-Identifier: Apache-2.0
// Scratch has its price, too: a row for each rank, and what a byte rests for there is rent, which
// the search for trees adds to the links that lead to it.

#include "base/error.h"
#include "plan/optimal/generating.h"

static double scratch_of(const struct tern__generating *g, int rank)
{
    double sum = 0;
    for (int i = 0; i < g->columns.count; i++) {
        sum += tern__lp_column(g->lp, tern__generating_column(g, i)) *
               tern__tree_slots(g->aim, g->columns.at[i].tree, rank);
    }
    return sum;
}

double tern__generating_scratch(const struct tern__generating *g)
{
    double most = 0;
    for (int rank = 0; rank < g->n; rank++) {
        double scratch = scratch_of(g, rank);
        most = scratch > most ? scratch : most;
    }
    return most;
}

// From now on the program minimises what the rank with the most scratch has beyond enough, in next
// to no more time.
static int add_rent_rows(struct tern__generating *g)
{
    struct tern__lp_entry *entries;
    TERN__ARENA_TAKE(g->arena, entries, g->k + g->columns.count + 1);
    for (int t = 0; t < g->k; t++) {
        entries[t] = (struct tern__lp_entry){.at = t, .value = 1};
        tern__lp_set_cost(g->lp, t, 1e-3);
    }
    tern__lp_set_cost(g->lp, g->k, 1);
    TERN_TRY(tern__lp_add_row(g->lp, TERN__LP_AT_MOST, g->time * (1 + 1e-5), entries, g->k));
    for (int rank = 0; rank < g->n; rank++) {
        int count = 0;
        entries[count++] = (struct tern__lp_entry){.at = g->k, .value = -1};
        for (int i = 0; i < g->columns.count; i++) {
            int slots = tern__tree_slots(g->aim, g->columns.at[i].tree, rank);
            if (slots > 0) {
                entries[count++] =
                    (struct tern__lp_entry){.at = tern__generating_column(g, i), .value = slots};
            }
        }
        TERN_TRY(tern__lp_add_row(g->lp, TERN__LP_AT_MOST, TERN__SCRATCH_ENOUGH, entries, count));
    }
    g->sparing = true;
    return TERN_OK;
}

int tern__generating_spare(struct tern__generating *g)
{
    enum { LOOKS = 12 };
    TERN_TRY(add_rent_rows(g));
    TERN_TRY(tern__lp_solve_afresh(g->lp, g->how->patience));
    for (int i = 0, added = 1; i < LOOKS && added > 0; i++) {
        if (tern__lp_column(g->lp, g->k) <= 0.1 * TERN__SCRATCH_ENOUGH) {
            break;
        }
        tern__generating_duals(g);
        TERN_TRY(added = tern__generating_look(g, g->dual));
        TERN_TRY(tern__generating_solve(g));
    }
    g->time = 0;
    for (int t = 0; t < g->k; t++) {
        g->time += tern__lp_column(g->lp, t);
    }
    return TERN_OK;
}
