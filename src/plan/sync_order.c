// SPDX-License-Identifier: Apache-2.0
// One execution of a plan. Signals only count up, so every other one gets equally far.

#include <stdlib.h>

#include "base/error.h"
#include "plan/sync.h"

#define SIGNALS_MAX ((uint64_t)1 << 26) // of all ranks

struct run {
    struct tern__sync *sync;
    uint32_t *posted; // by rank and signal
    size_t *signals;  // per rank: where its first one is
    size_t *done;     // per lane of all ranks
    size_t *lanes;    // per rank: where its first one is
    uint32_t *chains; // per lane: its number among those with transfers, + 1
    uint32_t *moved;  // per lane: transfers
};

int tern__sync_node_add(struct tern__sync *sync, const struct tern__sync_node *node)
{
    TERN_TRY(tern__plan_reserve((void **)&sync->nodes, &sync->nodes_room, sync->nodes_count + 1,
                                sizeof *sync->nodes));
    sync->nodes[sync->nodes_count++] = *node;
    return TERN_OK;
}

int tern__sync_edge_add(struct tern__sync *sync, uint32_t from, uint32_t to)
{
    TERN_TRY(tern__plan_reserve((void **)&sync->edges, &sync->edges_room, sync->edges_count + 1,
                                sizeof *sync->edges));
    sync->edges[sync->edges_count++] = (struct tern__sync_edge){.from = from, .to = to};
    return TERN_OK;
}

static int enter(struct run *run, int rank, int lane, const struct tern__op *op)
{
    struct tern__sync *sync = run->sync;
    size_t place = run->lanes[rank] + (size_t)lane;
    if (run->chains[place] == 0) {
        run->chains[place] = ++sync->chains;
    }
    struct tern__sync_node node = {.op = op,
                                   .when = (sync->nodes_count + 1) * TERN__SYNC_STEP,
                                   .rank = rank,
                                   .lane = lane,
                                   .round = op->round,
                                   .chain = run->chains[place] - 1,
                                   .index = ++run->moved[place]};
    return tern__sync_node_add(sync, &node);
}

// Executes a lane until it has to wait or has ended.
static int run_lane(struct run *run, int rank, int lane, bool *moved)
{
    const struct tern__lane *row = &run->sync->plan->ranks[rank].lanes[lane];
    size_t *done = &run->done[run->lanes[rank] + (size_t)lane];
    for (; *done < row->count; (*done)++) {
        const struct tern__op *op = &row->ops[*done];
        if (op->kind == TERN_PLAN_WAIT &&
            run->posted[run->signals[rank] + op->signal] < op->length) {
            return TERN_OK;
        }
        if (op->kind == TERN_PLAN_POST) {
            run->posted[run->signals[op->peer] + op->signal]++;
        } else if (tern__op_moves(op)) {
            TERN_TRY(enter(run, rank, lane, op));
        }
        *moved = true;
    }
    return TERN_OK;
}

static int run_all(struct run *run)
{
    const tern_plan *plan = run->sync->plan;
    bool moved = true;
    size_t stuck = 0;
    while (moved) {
        moved = false;
        stuck = 0;
        for (int rank = 0; rank < plan->spec.nranks; rank++) {
            for (int lane = 0; lane < plan->ranks[rank].lanes_count; lane++) {
                TERN_TRY(run_lane(run, rank, lane, &moved));
                stuck += run->done[run->lanes[rank] + (size_t)lane] <
                         plan->ranks[rank].lanes[lane].count;
            }
        }
    }
    return stuck == 0 ? TERN_OK
                      : tern__fail(TERN_ERR_ARG,
                                   "%zu lanes of the plan '%s' wait for what never comes; "
                                   "tern_check_plan says which",
                                   stuck, plan->algorithm);
}

static int prepare(struct run *run)
{
    const tern_plan *plan = run->sync->plan;
    size_t signals = 0;
    size_t lanes = 0;
    run->signals = calloc((size_t)plan->spec.nranks, sizeof *run->signals);
    run->lanes = calloc((size_t)plan->spec.nranks, sizeof *run->lanes);
    for (int rank = 0; run->signals != NULL && run->lanes != NULL && rank < plan->spec.nranks;
         rank++) {
        run->signals[rank] = signals;
        run->lanes[rank] = lanes;
        signals += plan->ranks[rank].signals;
        lanes += (size_t)plan->ranks[rank].lanes_count;
    }
    if (signals > SIGNALS_MAX) {
        return tern__fail(TERN_ERR_LIMIT,
                          "the plan '%s' has %zu signals; at most %llu can be made anew",
                          plan->algorithm, signals, (unsigned long long)SIGNALS_MAX);
    }
    run->posted = calloc(signals + 1, sizeof *run->posted);
    run->done = calloc(lanes + 1, sizeof *run->done);
    run->chains = calloc(lanes + 1, sizeof *run->chains);
    run->moved = calloc(lanes + 1, sizeof *run->moved);
    bool all = run->signals != NULL && run->lanes != NULL && run->posted != NULL &&
               run->done != NULL && run->chains != NULL && run->moved != NULL;
    return all ? TERN_OK : tern__fail(TERN_ERR_MEMORY, "no memory for a plan of %zu lanes", lanes);
}

int tern__sync_order(struct tern__sync *sync)
{
    struct run run = {.sync = sync};
    int status = prepare(&run);
    status = status == TERN_OK ? run_all(&run) : status;
    free(run.posted);
    free(run.signals);
    free(run.done);
    free(run.lanes);
    free(run.chains);
    free(run.moved);
    return status;
}
