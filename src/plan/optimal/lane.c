// SPDX-License-Identifier: Apache-2.0
// The ops of a lane. Lane 0 of a rank tells the others what it has made, and so also what it has
// seen: one wait for that can take the place of several.

#include <string.h>

#include "base/error.h"
#include "plan/optimal/lane.h"

enum { N = TERN__NET_RANKS_MAX };

static int add_op(struct tern__net_lane *lane, tern_plan_op op)
{
    op.round = lane->round > 0 ? lane->round - 1 : 0;
    lane->ops++;
    return lane->plan == NULL ? TERN_OK : tern_plan_add(lane->plan, lane->rank, lane->lane, &op);
}

int tern__lane_post(struct tern__net_lane *lane, int peer)
{
    return add_op(lane, (tern_plan_op){.kind = TERN_PLAN_POST,
                                       .peer = peer,
                                       .signal = (uint32_t)lane->rank});
}

int tern__lane_wait(struct tern__net_lane *lane, struct tern__net_need need)
{
    if (need.count <= lane->seen[need.signal]) {
        return TERN_OK;
    }
    lane->seen[need.signal] = need.count;
    for (int v = 0; v < lane->w->n && need.signal == lane->rank; v++) {
        int known = lane->words[need.count - 1].seen[v];
        lane->seen[v] = known > lane->seen[v] ? known : lane->seen[v];
    }
    return add_op(lane, (tern_plan_op){.kind = TERN_PLAN_WAIT,
                                       .signal = (uint32_t)need.signal,
                                       .count = (uint32_t)need.count});
}

int tern__lane_tell(struct tern__net_lane *lane)
{
    struct tern__net_word *word = &lane->words[lane->words_count++];
    word->round = lane->round;
    memcpy(word->seen, lane->seen, sizeof word->seen);
    return tern__lane_post(lane, lane->rank);
}

int tern__lane_copy(struct tern__net_lane *lane, const struct tern__net_move *move, int sources,
                    const tern_plan_range *to)
{
    return add_op(lane, (tern_plan_op){.kind = sources > 1 ? TERN_PLAN_REDUCE : TERN_PLAN_COPY,
                                       .length = move->length,
                                       .sources = move->from,
                                       .sources_count = sources,
                                       .destinations = to,
                                       .destinations_count = 1});
}

// A rank does not sum into the memory of another machine: it sums into a slot of its own, then
// copies that.
static int add_move(struct tern__net_lane *lane, const struct tern__net_move *move)
{
    const tern_topo *topo = lane->w->graph->topo;
    bool apart =
        tern_topo_machine_of(topo, lane->rank) != tern_topo_machine_of(topo, move->to.rank);
    if (!apart || move->sources_count == 1) {
        return tern__lane_copy(lane, move, move->sources_count, &move->to);
    }
    int slot = move->sources_count - 1;
    while (move->from[slot].buffer != TERN_PLAN_SCRATCH) {
        slot--;
    }
    const tern_plan_range *own = &move->from[slot];
    struct tern__net_move second = {.length = move->length, .from = {*own}};
    TERN_TRY(tern__lane_copy(lane, move, move->sources_count, own));
    return tern__lane_copy(lane, &second, 1, &move->to);
}

static bool follows(const tern_plan_range *a, const tern_plan_range *b, uint64_t length)
{
    return a->rank == b->rank && a->buffer == b->buffer && a->offset + length == b->offset;
}

// Makes one move of two neighbours; false if they are none.
static bool join(struct tern__net_move *a, const struct tern__net_move *b)
{
    bool joins = a->sources_count == b->sources_count && follows(&a->to, &b->to, a->length);
    for (int i = 0; joins && i < a->sources_count; i++) {
        joins = follows(&a->from[i], &b->from[i], a->length);
    }
    if (!joins) {
        return false;
    }
    a->length += b->length;
    for (int i = 0; i < b->needs_count; i++) {
        int at = 0;
        while (at < a->needs_count && a->needs[at].signal != b->needs[i].signal) {
            at++;
        }
        if (at == a->needs_count) {
            a->needs[a->needs_count++] = b->needs[i];
        } else if (a->needs[at].count < b->needs[i].count) {
            a->needs[at].count = b->needs[i].count;
        }
    }
    return true;
}

void tern__lane_take(struct tern__net_lane *lane)
{
    if (lane->count == 0 || !join(&lane->moves[lane->count - 1], &lane->moves[lane->count])) {
        lane->count++;
    }
}

// How many waits a move would add.
static int new_waits(const struct tern__net_lane *lane, const struct tern__net_move *move)
{
    int count = 0;
    for (int i = 0; i < move->needs_count; i++) {
        count += move->needs[i].count > lane->seen[move->needs[i].signal];
    }
    return count;
}

// How many a move would add behind a word of lane 0, with the wait for that.
static int new_waits_behind(const struct tern__net_lane *lane, const struct tern__net_move *move,
                            int word)
{
    int count = 1;
    for (int i = 0; i < move->needs_count; i++) {
        const struct tern__net_need *need = &move->needs[i];
        int seen = lane->seen[need->signal];
        int known = need->signal == lane->rank ? word + 1 : lane->words[word].seen[need->signal];
        count += need->count > (known > seen ? known : seen);
    }
    return count;
}

// The waits of a move; first that for what lane 0 has told in the rounds before, where it saves
// others.
static int add_waits(struct tern__net_lane *lane, const struct tern__net_move *move)
{
    int least = new_waits(lane, move);
    int best = -1;
    for (int i = lane->seen[lane->rank]; i < lane->words_count && lane->lane > 0; i++) {
        if (lane->words[i].round < lane->round && new_waits_behind(lane, move, i) < least) {
            least = new_waits_behind(lane, move, i);
            best = i;
        }
    }
    if (best >= 0) {
        struct tern__net_need told = {.signal = lane->rank, .count = best + 1};
        TERN_TRY(tern__lane_wait(lane, told));
    }
    for (int i = 0; i < move->needs_count; i++) {
        TERN_TRY(tern__lane_wait(lane, move->needs[i]));
    }
    return TERN_OK;
}

int tern__lane_flush(struct tern__net_lane *lane)
{
    while (lane->count > 0) {
        int at = 0;
        for (int i = 1; i < lane->count; i++) {
            if (new_waits(lane, &lane->moves[i]) < new_waits(lane, &lane->moves[at])) {
                at = i;
            }
        }
        TERN_TRY(add_waits(lane, &lane->moves[at]));
        TERN_TRY(add_move(lane, &lane->moves[at]));
        lane->count--;
        memmove(&lane->moves[at], &lane->moves[at + 1],
                (size_t)(lane->count - at) * sizeof *lane->moves);
    }
    return TERN_OK;
}
