// SPDX-License-Identifier: Apache-2.0
// On which machines a plan can run: whose memory its ops need, and what to say to who has others.

#include <stdio.h>
#include <string.h>

#include "exec/exec.h"

// Ranks that share memory follow one another on a machine: split[r]: rank r may begin another one.
struct shares {
    int nranks;
    bool split[TERN_RANKS_MAX + 1];
    const tern_topo *topo; // or NULL: one machine
    bool fits;             // there
};

// An op of one rank that needs the memory of another.
static void share(struct shares *shares, int one, int other)
{
    int low = one < other ? one : other;
    int high = one < other ? other : one;
    for (int rank = low + 1; rank <= high; rank++) {
        shares->split[rank] = false;
    }
    shares->fits =
        shares->fits && (shares->topo == NULL || tern_topo_machine_of(shares->topo, low) ==
                                                     tern_topo_machine_of(shares->topo, high));
}

static void look_at(struct shares *shares, int rank, const tern_plan_op *op)
{
    bool moves = (op->kind == TERN_PLAN_COPY || op->kind == TERN_PLAN_REDUCE) && op->length > 0;
    for (int i = 0; moves && i < op->sources_count; i++) {
        share(shares, rank, op->sources[i].rank);
    }
    for (int i = 0; moves && op->kind == TERN_PLAN_REDUCE && i < op->destinations_count; i++) {
        share(shares, rank, op->destinations[i].rank);
    }
}

static void find_shares(const tern_plan *plan, struct shares *shares)
{
    tern_plan_op op;
    memset(shares->split, 1, sizeof shares->split);
    for (int rank = 0; rank < shares->nranks; rank++) {
        for (int lane = 0; lane < tern_plan_lane_count(plan, rank); lane++) {
            for (size_t i = 0; tern_plan_get_op(plan, rank, lane, i, &op) == TERN_OK; i++) {
                look_at(shares, rank, &op);
                if (i + 1 == tern_plan_op_count(plan, rank, lane)) {
                    break;
                }
            }
        }
    }
}

bool exec_fits(const tern_plan *plan, const tern_topo *topo, char *text, size_t size)
{
    struct shares shares = {.nranks = tern_plan_get_spec(plan)->nranks, .topo = topo, .fits = true};
    int machines = 0;
    int begin = 0;
    size_t used;
    if (shares.nranks > TERN_RANKS_MAX) {
        snprintf(text, size, "a job has at most %d ranks", TERN_RANKS_MAX);
        return false;
    }
    find_shares(plan, &shares);
    used = (size_t)snprintf(text, size, "--hosts ");
    for (int rank = 1; rank <= shares.nranks && used < size; rank++) {
        if (rank < shares.nranks && !shares.split[rank]) {
            continue;
        }
        used += (size_t)snprintf(text + used, size - used, "%s%.1s%c:%d", machines > 0 ? "," : "",
                                 machines < 26 ? "" : "a", 'a' + machines % 26, rank - begin);
        begin = rank;
        machines++;
    }
    if (machines == 1) {
        snprintf(text, size, "one machine, -n %d, would fit", shares.nranks);
    } else if (used + 32 < size) {
        snprintf(text + used, size - used, " would fit");
    } else {
        snprintf(text, size, "%d machines would fit", machines);
    }
    return shares.fits;
}
