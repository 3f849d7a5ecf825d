// SPDX-License-Identifier: Apache-2.0
// Makes the posts and waits of a plan anew, from what its transfers need (sync.h). Executors of
// chips say far more: all streams are released and collected in each phase, and each transfer is
// asked for and confirmed, whatever it moves. Transfers stay where they are, in their lanes.
//
// Ranks tell each other only where they did before, since there may be no link elsewhere: what goes
// to another rank is told on by ranks between. What tells and hears without moving anything has a
// lane of its own. Who hears of several others waits once, for one signal that all of them post;
// but what tells several lanes of a rank posts once, a signal of its own, for which each of them
// waits. Set-up path.

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "plan/ir.h"
#include "plan/steps.h"
#include "plan/sync.h"

struct resync {
    struct tern__sync sync;
    tern_plan *built;
    bool *posts;        // by rank and rank: the plan has a post from the one to the other
    int *before;        // by rank, of a search: whence it was reached, + 1
    int *queue;         // of a search
    uint32_t *signals;  // per rank, so far
    uint32_t *order;    // of the nodes, by when they happen
    uint32_t *heard;    // the edges by their ends: their numbers
    size_t *heard_from; // per node: its first one there, and one past the last
    size_t *told_from;  // per node: its first edge, which are sorted by their beginnings
};

static int no_memory(const struct resync *resync)
{
    return tern__fail(TERN_ERR_MEMORY, "no memory to make the posts and waits of '%s' anew",
                      resync->sync.plan->algorithm);
}

// Ways between ranks.

static int note_post(void *arg, int rank, int lane, const tern_plan_op *op)
{
    struct resync *resync = arg;
    (void)lane;
    if (op->kind == TERN_PLAN_POST) {
        resync->posts[(size_t)rank * (size_t)resync->sync.plan->spec.nranks + (size_t)op->peer] =
            true;
    }
    return TERN_OK;
}

// Fills `before` from a rank on; false when the other one is not reached.
static bool search(const struct resync *resync, int from, int to)
{
    int n = resync->sync.plan->spec.nranks;
    int queued = 1;
    memset(resync->before, 0, (size_t)n * sizeof *resync->before);
    resync->queue[0] = from;
    for (int at = 0; at < queued && resync->before[to] == 0; at++) {
        const bool *row = &resync->posts[(size_t)resync->queue[at] * (size_t)n];
        for (int next = 0; next < n; next++) {
            if (row[next] && next != from && resync->before[next] == 0) {
                resync->before[next] = resync->queue[at] + 1;
                resync->queue[queued++] = next;
            }
        }
    }
    return resync->before[to] != 0;
}

// Leads an edge over ranks that tell it on, backwards from its end.
static int lead(struct resync *resync, size_t number)
{
    struct tern__sync *sync = &resync->sync;
    struct tern__sync_edge edge = sync->edges[number];
    const struct tern__sync_node from = sync->nodes[edge.from];
    int rank = sync->nodes[edge.to].rank;
    if (!search(resync, from.rank, rank)) {
        return tern__fail(TERN_ERR_ARG,
                          "the plan '%s' has conflicting transfers of ranks %d and %d, and no "
                          "posts lead from the one to the other; tern_check_plan says more",
                          sync->plan->algorithm, from.rank, rank);
    }
    uint64_t hops = 0;
    for (int at = resync->before[rank] - 1; at != from.rank; at = resync->before[at] - 1) {
        hops++;
    }
    for (rank = resync->before[rank] - 1; rank != from.rank; rank = resync->before[rank] - 1) {
        struct tern__sync_node node = {.rank = rank,
                                       .lane = TERN__SYNC_RELAY,
                                       .when = from.when + hops--,
                                       .round = from.round};
        uint32_t relay = (uint32_t)sync->nodes_count;
        TERN_TRY(tern__sync_node_add(sync, &node));
        TERN_TRY(tern__sync_edge_add(sync, relay, edge.to));
        edge.to = relay;
    }
    sync->edges[number].to = edge.to;
    return TERN_OK;
}

static int find_ways(struct resync *resync)
{
    struct tern__sync *sync = &resync->sync;
    size_t n = (size_t)sync->plan->spec.nranks;
    resync->posts = calloc(n * n, sizeof *resync->posts);
    resync->before = calloc(n, sizeof *resync->before);
    resync->queue = calloc(n, sizeof *resync->queue);
    if (resync->posts == NULL || resync->before == NULL || resync->queue == NULL) {
        return no_memory(resync);
    }
    TERN_TRY(tern__plan_visit(sync->plan, note_post, resync));
    size_t count = sync->edges_count;
    for (size_t i = 0; i < count; i++) {
        size_t from = (size_t)sync->nodes[sync->edges[i].from].rank;
        size_t to = (size_t)sync->nodes[sync->edges[i].to].rank;
        TERN_TRY(from == to || resync->posts[from * n + to] ? TERN_OK : lead(resync, i));
    }
    return TERN_OK;
}

// Signals.

struct told {
    struct tern__sync_edge edge;
    int rank;
};

static int compare_told(const void *a, const void *b)
{
    const struct told *x = a;
    const struct told *y = b;
    return x->edge.from != y->edge.from
               ? (x->edge.from > y->edge.from) - (x->edge.from < y->edge.from)
           : x->rank != y->rank ? (x->rank > y->rank) - (x->rank < y->rank)
                                : (x->edge.to > y->edge.to) - (x->edge.to < y->edge.to);
}

// By what tells, and the rank that is told.
static int sort_edges(struct resync *resync)
{
    struct tern__sync *sync = &resync->sync;
    struct told *sorted = calloc(sync->edges_count + 1, sizeof *sorted);
    if (sorted == NULL) {
        return no_memory(resync);
    }
    for (size_t i = 0; i < sync->edges_count; i++) {
        sorted[i].edge = sync->edges[i];
        sorted[i].rank = sync->nodes[sync->edges[i].to].rank;
    }
    qsort(sorted, sync->edges_count, sizeof *sorted, compare_told);
    for (size_t i = 0; i < sync->edges_count; i++) {
        sync->edges[i] = sorted[i].edge;
    }
    free(sorted);
    return TERN_OK;
}

// The edges from `begin` on that tell of the same, at the same rank.
static size_t end_of_telling(const struct tern__sync *sync, size_t begin)
{
    const struct tern__sync_edge *edges = sync->edges;
    size_t end = begin + 1;
    while (end < sync->edges_count && edges[end].from == edges[begin].from &&
           sync->nodes[edges[end].to].rank == sync->nodes[edges[begin].to].rank) {
        end++;
    }
    return end;
}

static int number_signals(struct resync *resync)
{
    struct tern__sync *sync = &resync->sync;
    TERN_TRY(sort_edges(resync));
    resync->signals = calloc((size_t)sync->plan->spec.nranks, sizeof *resync->signals);
    if (resync->signals == NULL) {
        return no_memory(resync);
    }
    for (size_t begin = 0, end; begin < sync->edges_count; begin = end) {
        struct tern__sync_node *to = &sync->nodes[sync->edges[begin].to];
        end = end_of_telling(sync, begin);
        if (end - begin == 1) {
            to->signal = to->count++ == 0 ? resync->signals[to->rank]++ : to->signal;
            sync->edges[begin].signal = to->signal;
            continue;
        }
        for (size_t i = begin; i < end; i++) {
            sync->edges[i].signal = resync->signals[to->rank];
        }
        resync->signals[to->rank]++;
    }
    return TERN_OK;
}

// Building.

struct moment {
    uint64_t when;
    uint32_t node;
};

static int compare_moments(const void *a, const void *b)
{
    const struct moment *x = a;
    const struct moment *y = b;
    return x->when != y->when ? (x->when > y->when) - (x->when < y->when)
                              : (x->node > y->node) - (x->node < y->node);
}

static int sort_nodes(struct resync *resync)
{
    const struct tern__sync *sync = &resync->sync;
    struct moment *sorted = calloc(sync->nodes_count + 1, sizeof *sorted);
    resync->order = calloc(sync->nodes_count + 1, sizeof *resync->order);
    if (sorted == NULL || resync->order == NULL) {
        free(sorted);
        return no_memory(resync);
    }
    for (uint32_t i = 0; i < sync->nodes_count; i++) {
        sorted[i] = (struct moment){.when = sync->nodes[i].when, .node = i};
    }
    qsort(sorted, sync->nodes_count, sizeof *sorted, compare_moments);
    for (size_t i = 0; i < sync->nodes_count; i++) {
        resync->order[i] = sorted[i].node;
    }
    free(sorted);
    return TERN_OK;
}

// The edges of each node, those it hears and those it tells.
static int index_edges(struct resync *resync)
{
    const struct tern__sync *sync = &resync->sync;
    resync->heard = calloc(sync->edges_count + 1, sizeof *resync->heard);
    resync->heard_from = calloc(sync->nodes_count + 2, sizeof *resync->heard_from);
    resync->told_from = calloc(sync->nodes_count + 2, sizeof *resync->told_from);
    if (resync->heard == NULL || resync->heard_from == NULL || resync->told_from == NULL) {
        return no_memory(resync);
    }
    for (size_t i = 0; i < sync->edges_count; i++) {
        resync->heard_from[sync->edges[i].to + 2]++;
        resync->told_from[sync->edges[i].from + 1]++;
    }
    for (size_t i = 1; i < sync->nodes_count + 2; i++) {
        resync->heard_from[i] += resync->heard_from[i - 1];
        resync->told_from[i] += resync->told_from[i - 1];
    }
    for (size_t i = 0; i < sync->edges_count; i++) {
        resync->heard[resync->heard_from[sync->edges[i].to + 1]++] = (uint32_t)i;
    }
    return TERN_OK;
}

static int lane_of(const struct resync *resync, const struct tern__sync_node *node)
{
    return node->op != NULL                 ? node->lane
           : node->lane == TERN__SYNC_RELAY ? resync->sync.plan->ranks[node->rank].lanes_count
                                            : 0;
}

static int add_waits(const struct resync *resync, uint32_t number)
{
    const struct tern__sync *sync = &resync->sync;
    const struct tern__sync_node *node = &sync->nodes[number];
    tern_plan_op op = {.kind = TERN_PLAN_WAIT, .round = node->round, .count = 1};
    int lane = lane_of(resync, node);
    for (size_t i = resync->heard_from[number]; i < resync->heard_from[number + 1]; i++) {
        op.signal = sync->edges[resync->heard[i]].signal;
        if (node->count == 0 || op.signal != node->signal) {
            TERN_TRY(tern_plan_add(resync->built, node->rank, lane, &op));
        }
    }
    op.signal = node->signal;
    op.count = node->count;
    return node->count > 0 ? tern_plan_add(resync->built, node->rank, lane, &op) : TERN_OK;
}

static int add_posts(const struct resync *resync, uint32_t number)
{
    const struct tern__sync *sync = &resync->sync;
    const struct tern__sync_node *node = &sync->nodes[number];
    tern_plan_op op = {.kind = TERN_PLAN_POST, .round = node->round};
    for (size_t i = resync->told_from[number], end; i < resync->told_from[number + 1]; i = end) {
        end = end_of_telling(sync, i);
        op.peer = sync->nodes[sync->edges[i].to].rank;
        op.signal = sync->edges[i].signal;
        TERN_TRY(tern_plan_add(resync->built, node->rank, lane_of(resync, node), &op));
    }
    return TERN_OK;
}

static int add_nodes(struct resync *resync)
{
    const struct tern__sync *sync = &resync->sync;
    TERN_TRY(tern_plan_need_scratch(resync->built, sync->plan->scratch_bytes));
    for (size_t i = 0; i < sync->nodes_count; i++) {
        const struct tern__sync_node *node = &sync->nodes[resync->order[i]];
        tern_plan_op op;
        TERN_TRY(add_waits(resync, resync->order[i]));
        if (node->op != NULL) {
            tern__plan_read_op(sync->plan, node->op, &op);
            TERN_TRY(tern_plan_add(resync->built, node->rank, node->lane, &op));
        }
        TERN_TRY(add_posts(resync, resync->order[i]));
    }
    return TERN_OK;
}

static int build(struct resync *resync, tern_plan **made)
{
    TERN_TRY(tern__sync_order(&resync->sync));
    TERN_TRY(tern__sync_need(&resync->sync));
    TERN_TRY(find_ways(resync));
    TERN_TRY(number_signals(resync));
    TERN_TRY(sort_nodes(resync));
    TERN_TRY(index_edges(resync));
    TERN_TRY(tern_plan_create(&resync->sync.plan->spec, &resync->built));
    return tern__plan_finish(add_nodes(resync), resync->built, made);
}

int tern__plan_resync(const tern_plan *sealed, bool in_place, tern_plan **made)
{
    if (sealed->spec.kind == TERN_PLAN_BARRIER) {
        return tern__fail(TERN_ERR_ARG,
                          "a barrier moves nothing that needs the posts and waits of '%s'",
                          sealed->algorithm);
    }
    struct resync resync = {.sync = {.plan = sealed, .in_place = in_place}};
    int status = build(&resync, made);
    free(resync.sync.nodes);
    free(resync.sync.edges);
    free(resync.posts);
    free(resync.before);
    free(resync.queue);
    free(resync.signals);
    free(resync.order);
    free(resync.heard);
    free(resync.heard_from);
    free(resync.told_from);
    return status;
}
