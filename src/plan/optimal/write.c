// SPDX-License-Identifier: Apache-2.0
// Lane 0 of a rank has its own copies, the sums of which it is the root, and the waits at the end;
// each edge out of it has a lane. Signals are numbered by who posts; a root tells its other lanes
// of its sums on its own number.

#include <string.h>

#include "base/error.h"
#include "plan/optimal/write.h"
#include "plan/optimal/lane.h"

// The inputs of ranks first to last - 1 where they lie on a rank, in rank order: as they are, and a
// sum that a child made of the first ones.
static void add_inputs(const struct tern__writer *w, struct tern__net_move *move, int range,
                       int rank, int first, int last, uint64_t element)
{
    const struct tern__net_tree *tree = tern__writer_tree(w, range);
    for (int whose = first; whose < last; whose++) {
        int child = whose == rank ? -1 : tern__place_child(tree, rank, whose);
        if (child < 0 || tern__tree_goes_alone(&w->s->aim, tree, child, whose)) {
            move->from[move->sources_count++] =
                child < 0 ? tern__place_in(w, range, rank, element)
                          : tern__place_slot(w, range, rank, whose, element);
        }
    }
}

// The parts of an inward task in a round: of raw inputs one move for each origin.
static void take_inward(struct tern__net_lane *lane, int range, uint64_t begin, uint64_t end)
{
    const struct tern__writer *w = lane->w;
    const struct tern__net_tree *tree = tern__writer_tree(w, range);
    int rank = lane->rank;
    int next = tree->in_to[rank];
    struct tern__net_move *move = &lane->moves[lane->count];
    if (!w->s->aim.raw) {
        move->length = (end - begin) * w->unit;
        move->sources_count = 0;
        move->from[move->sources_count++] = tern__place_in(w, range, rank, begin);
        for (int v = 0; v < w->n; v++) {
            if (tree->in_to[v] == rank) {
                move->from[move->sources_count++] = tern__place_slot(w, range, rank, v, begin);
            }
        }
        move->to = tern__place_slot(w, range, next, rank, begin);
        move->needs_count = tern__need_of(w, range, rank, end, -1, move->needs);
        tern__lane_take(lane);
        return;
    }
    for (int whose = 0; whose < w->n; whose++) {
        int child = whose == rank ? -1 : tern__place_child(tree, rank, whose);
        if ((whose != rank && child < 0) || !tern__tree_goes_alone(&w->s->aim, tree, rank, whose)) {
            continue;
        }
        bool grows = whose == 0 && w->s->aim.prefixes;
        move = &lane->moves[lane->count];
        move->length = (end - begin) * w->unit;
        move->sources_count = 0;
        add_inputs(w, move, range, rank, whose, grows ? tree->head[rank] : whose + 1, begin);
        move->to = tern__place_slot(w, range, next, whose, begin);
        bool own = whose == rank && move->sources_count == 1;
        bool all = move->sources_count > 1;
        move->needs_count =
            own ? 0 : tern__need_of(w, range, rank, end, all ? -1 : child, move->needs);
        tern__lane_take(lane);
    }
}

static void take_outward(struct tern__net_lane *lane, int range, int to, uint64_t begin,
                         uint64_t end)
{
    const struct tern__writer *w = lane->w;
    struct tern__net_move *move = &lane->moves[lane->count];
    move->length = (end - begin) * w->unit;
    move->sources_count = 1;
    move->from[0] = tern__place_out(w, range, lane->rank, begin);
    move->to = tern__place_out(w, range, to, begin);
    move->needs_count = tern__need_of(w, range, w->n + to, end, -1, move->needs);
    tern__lane_take(lane);
}

// What an edge sends in a round.
static int write_round(struct tern__net_lane *lane, int edge)
{
    const struct tern__writer *w = lane->w;
    int to = w->graph->edges[edge].to;
    for (int range = 0; range < w->s->count; range++) {
        const struct tern__net_tree *tree = tern__writer_tree(w, range);
        const uint64_t *inward = tern__schedule_sent(w->s, range, lane->rank);
        const uint64_t *outward = tern__schedule_sent(w->s, range, w->n + to);
        int at = lane->round;
        if (tree->in_to[lane->rank] == to && inward[at] > inward[at - 1]) {
            take_inward(lane, range, inward[at - 1], inward[at]);
        }
        if (tree->out_from[to] == lane->rank && outward[at] > outward[at - 1]) {
            take_outward(lane, range, to, outward[at - 1], outward[at]);
        }
    }
    return tern__lane_flush(lane);
}

static int write_edge(struct tern__net_lane *lane, int edge)
{
    const struct tern__writer *w = lane->w;
    memset(lane->seen, 0, sizeof lane->seen);
    for (lane->round = 1; lane->round <= w->s->rounds; lane->round++) {
        TERN_TRY(write_round(lane, edge));
        if (tern__writer_marks(w, w->told, edge)[lane->round]) {
            TERN_TRY(tern__lane_post(lane, w->graph->edges[edge].to));
        }
    }
    return TERN_OK;
}

// A root's sum of what has come since its last one.
static void take_sum(struct tern__net_lane *lane, int range)
{
    const struct tern__writer *w = lane->w;
    const struct tern__net_tree *tree = tern__writer_tree(w, range);
    const bool *summed = tern__writer_marks(w, w->summed, range);
    int last = lane->round - 1;
    while (last > 0 && !summed[last]) {
        last--;
    }
    uint64_t begin = last > 0 ? tern__need_arrived(w, range, last) : 0;
    uint64_t end = tern__need_arrived(w, range, lane->round);
    struct tern__net_move *move = &lane->moves[lane->count];
    move->length = (end - begin) * w->unit;
    move->sources_count = 0;
    if (w->s->aim.raw) {
        add_inputs(w, move, range, tree->root, 0, w->n, begin);
    } else {
        move->from[move->sources_count++] = tern__place_in(w, range, tree->root, begin);
    }
    for (int v = 0; v < w->n && !w->s->aim.raw; v++) {
        if (tree->in_to[v] == tree->root) {
            move->from[move->sources_count++] = tern__place_slot(w, range, tree->root, v, begin);
        }
    }
    move->to = tern__place_out(w, range, tree->root, begin);
    move->needs_count = tern__need_of(w, range, -1, end, -1, move->needs);
    tern__lane_take(lane);
}

// Waits for all that comes to the rank by the end of a round.
static int wait_for_all(struct tern__net_lane *lane, int round)
{
    const struct tern__writer *w = lane->w;
    for (int edge = 0; edge < w->graph->edges_count; edge++) {
        if (w->graph->edges[edge].to == lane->rank) {
            struct tern__net_need all = {.signal = w->graph->edges[edge].from,
                                         .count = tern__need_posts(w, edge, round)};
            TERN_TRY(tern__lane_wait(lane, all));
        }
    }
    return TERN_OK;
}

static int write_sums(struct tern__net_lane *lane)
{
    const struct tern__writer *w = lane->w;
    for (lane->round = 1; lane->round <= w->s->rounds; lane->round++) {
        for (int range = 0; range < w->s->count; range++) {
            if (tern__writer_tree(w, range)->root == lane->rank &&
                tern__writer_marks(w, w->summed, range)[lane->round]) {
                take_sum(lane, range);
            }
        }
        TERN_TRY(tern__lane_flush(lane));
        if (tern__writer_marks(w, w->meets, lane->rank)[lane->round]) {
            TERN_TRY(wait_for_all(lane, lane->round));
        }
        if (tern__writer_marks(w, w->self, lane->rank)[lane->round]) {
            TERN_TRY(tern__lane_tell(lane));
        }
    }
    return TERN_OK;
}

// What a rank keeps of its own input.
static int write_own(struct tern__net_lane *lane)
{
    const struct tern__writer *w = lane->w;
    const tern_kind_facts *facts = tern_coll_kind_facts(w->s->aim.kind);
    uint64_t bytes = w->s->elements * w->unit;
    uint64_t rank = (uint64_t)lane->rank;
    bool all = facts->in == TERN_KIND_ONE && facts->out == TERN_KIND_ONE;
    bool has = facts->root == TERN_KIND_ROOT_NONE || lane->rank == w->s->aim.root;
    if (!has || (facts->sums && w->n > 1)) { // sums are the roots'
        return TERN_OK;
    }
    struct tern__net_move move = {.length = all ? bytes : w->share};
    move.from[0] = (tern_plan_range){
        .rank = (uint16_t)rank,
        .buffer = TERN_PLAN_IN,
        .offset = facts->in == TERN_KIND_ALL ? rank * w->share : 0,
    };
    tern_plan_range to = {.rank = (uint16_t)rank,
                          .buffer = TERN_PLAN_OUT,
                          .offset = facts->out == TERN_KIND_ALL ? rank * w->share : 0};
    return move.length > 0 ? tern__lane_copy(lane, &move, 1, &to) : TERN_OK;
}

static int write_rank(struct tern__net_lane *lane)
{
    const struct tern__writer *w = lane->w;
    lane->lane = 0;
    lane->round = 0;
    lane->ops = 0;
    lane->words_count = 0;
    memset(lane->seen, 0, sizeof lane->seen);
    TERN_TRY(write_own(lane));
    TERN_TRY(write_sums(lane));
    lane->round = w->s->rounds;
    TERN_TRY(wait_for_all(lane, w->s->rounds));
    for (int edge = 0; edge < w->graph->edges_count; edge++) {
        if (w->graph->edges[edge].from == lane->rank &&
            tern__need_posts(w, edge, w->s->rounds) > 0) {
            lane->lane++;
            TERN_TRY(write_edge(lane, edge));
        }
    }
    return TERN_OK;
}

// After which rounds it saves waits that lane 0 of a rank waits for all that has come, and says so:
// each is tried.
static int choose_meets(struct tern__net_lane *lane)
{
    const struct tern__writer *w = lane->w;
    bool *meets = tern__writer_marks(w, w->meets, lane->rank);
    bool *self = tern__writer_marks(w, w->self, lane->rank);
    tern_plan *plan = lane->plan;
    lane->plan = NULL;
    TERN_TRY(write_rank(lane));
    int least = lane->ops;
    for (int round = 1; round < w->s->rounds; round++) {
        bool told = self[round];
        meets[round] = true;
        self[round] = true;
        TERN_TRY(write_rank(lane));
        if (lane->ops < least) {
            least = lane->ops;
        } else {
            meets[round] = false;
            self[round] = told;
        }
    }
    lane->plan = plan;
    return TERN_OK;
}

static int write_ranks(struct tern__writer *w, tern_plan *plan)
{
    struct tern__net_lane lane = {.w = w, .plan = plan};
    int room = w->s->count * (w->s->aim.raw ? w->n : 1) + 1;
    TERN__ARENA_TAKE(w->arena, lane.moves, 2 * room);
    TERN__ARENA_TAKE(w->arena, lane.words, w->s->rounds + 1);
    if (w->scratch > 0) {
        TERN_TRY(tern_plan_need_scratch(plan, w->scratch));
    }
    for (lane.rank = 0; lane.rank < w->n; lane.rank++) {
        TERN_TRY(choose_meets(&lane));
        TERN_TRY(write_rank(&lane));
    }
    return tern_plan_seal(plan);
}

int tern__schedule_write(struct tern__arena *arena, const struct tern__schedule *schedule,
                         uint32_t unit, tern_plan **plan)
{
    const struct tern__aim *aim = &schedule->aim;
    struct tern__writer writer = {.arena = arena,
                                  .s = schedule,
                                  .graph = aim->graph,
                                  .unit = unit,
                                  .n = aim->graph->n,
                                  .share = schedule->elements / (uint64_t)aim->graph->n * unit};
    TERN_TRY(tern__place_slots(&writer));
    TERN_TRY(tern__need_mark(&writer));
    tern_plan_spec spec = {.kind = aim->kind,
                           .nranks = writer.n,
                           .bytes = schedule->elements * unit,
                           .unit = unit,
                           .root = aim->root,
                           .algorithm = "optimal"};
    tern_plan *made;
    TERN_TRY(tern_plan_create(&spec, &made));
    int status = write_ranks(&writer, made);
    if (status != TERN_OK) {
        (void)tern_plan_destroy(made);
        return status;
    }
    *plan = made;
    return TERN_OK;
}
