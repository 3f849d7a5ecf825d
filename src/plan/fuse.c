// SPDX-License-Identifier: Apache-2.0
// Fuses the ops of a sum. Executors of chips, whose engines have ops of one source and one
// destination, copy an input to a place, add the other inputs there, atomically, and copy the sum
// to those who want it: three passes over memory for each term. Here that is one reduce of all
// inputs, in rank order, to all of these places, where the first copy was. Signals, lanes, and what
// crosses each link stay as they are; only the rank that moves it may be another one. Ops of no
// bytes go.
//
// Which copy an add belongs to follows from counting: if a place begins n sums, one after the other
// in one lane, then every lane that adds there adds n times, and its k-th add is of the k-th sum.
// Whether what comes of it is right is for the checker to say: tern_check_plan. Set-up path.

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/public.h"
#include "plan/ir.h"
#include "plan/steps.h"

#define OPERANDS_MOST (TERN_PLAN_OPERANDS_MAX / 2) // of a fused op, of either sort

// An op of one source and one destination.
struct move {
    tern_plan_range from, to;
    uint64_t length;
    int rank, lane;
    bool copies, adds;    // a copy; an atomic reduce of an input
    bool dropped;         // another op does it
    bool passes;          // the first copy of a sum that nobody reads at its own place any more
    struct move *terms;   // of the first copy of a sum: its adds
    struct move *readers; // and the copies of the sum
    struct move *next;    // in either list
    uint32_t terms_count, readers_count;
};

struct fuse {
    const tern_plan *plan;
    tern_plan *built;
    struct move *moves; // in the order of the plan
    size_t count;
    struct move **sorted; // by destination
    struct move **firsts; // of a place: its sums, one after the other
    struct move *cursor;  // of a visit
    uint64_t scratch;     // that is still used
};

static bool is_move(const tern_plan_op *op)
{
    return (op->kind == TERN_PLAN_COPY || op->kind == TERN_PLAN_REDUCE) && op->length > 0 &&
           op->sources_count == 1 && op->destinations_count == 1;
}

static int count_move(void *arg, int rank, int lane, const tern_plan_op *op)
{
    size_t *count = arg;
    (void)rank;
    (void)lane;
    *count += is_move(op);
    return TERN_OK;
}

static int note_move(void *arg, int rank, int lane, const tern_plan_op *op)
{
    struct fuse *fuse = arg;
    if (is_move(op)) {
        bool atomic = (op->flags & TERN_PLAN_ATOMIC) != 0;
        fuse->sorted[fuse->count] = &fuse->moves[fuse->count];
        fuse->moves[fuse->count++] =
            (struct move){.from = op->sources[0],
                          .to = op->destinations[0],
                          .length = op->length,
                          .rank = rank,
                          .lane = lane,
                          .copies = op->kind == TERN_PLAN_COPY,
                          .adds = atomic && op->sources[0].buffer == TERN_PLAN_IN};
    }
    return TERN_OK;
}

static int compare_ranges(const tern_plan_range *a, const tern_plan_range *b)
{
    return a->rank != b->rank       ? (a->rank > b->rank) - (a->rank < b->rank)
           : a->buffer != b->buffer ? (a->buffer > b->buffer) - (a->buffer < b->buffer)
                                    : (a->offset > b->offset) - (a->offset < b->offset);
}

static int compare_places(const struct move *a, const struct move *b)
{
    int order = compare_ranges(&a->to, &b->to);
    return order != 0 ? order : (a->length > b->length) - (a->length < b->length);
}

static int compare(const void *a, const void *b)
{
    const struct move *x = *(struct move *const *)a;
    const struct move *y = *(struct move *const *)b;
    int order = compare_places(x, y);
    return order != 0 ? order : (x > y) - (x < y);
}

static bool same_lane(const struct move *a, const struct move *b)
{
    return a->rank == b->rank && a->lane == b->lane;
}

// The copies among all moves to a place, if they are of one lane and all others are adds, as many
// in each lane; else 0.
static size_t find_sums(const struct fuse *fuse, struct move *const *moves, size_t count)
{
    size_t sums = 0;
    for (size_t i = 0; i < count; i++) {
        if (moves[i]->copies) {
            fuse->firsts[sums++] = moves[i];
        }
        if (moves[i]->dropped || (!moves[i]->copies && !moves[i]->adds) ||
            (sums > 0 && moves[i]->copies && !same_lane(moves[i], fuse->firsts[0]))) {
            return 0;
        }
    }
    for (size_t i = 0; i < count && sums > 0;) {
        size_t adds = 0;
        const struct move *first = moves[i];
        for (; i < count && same_lane(moves[i], first); i++) {
            adds += moves[i]->adds;
        }
        if (adds != sums && (adds > 0 || !same_lane(first, fuse->firsts[0]))) {
            return 0;
        }
    }
    return sums;
}

static void attach(struct move **list, uint32_t *count, struct move *move)
{
    move->dropped = true;
    move->next = *list;
    *list = move;
    (*count)++;
}

// The adds to a place become terms of its sums.
static void take_terms(const struct fuse *fuse, struct move *const *moves, size_t count)
{
    size_t number = 0;
    for (size_t i = 0; i < count; i++) {
        number = i > 0 && same_lane(moves[i - 1], moves[i]) ? number : 0;
        if (moves[i]->adds) {
            struct move *first = fuse->firsts[number++];
            attach(&first->terms, &first->terms_count, moves[i]);
        }
    }
}

static bool reads_sum(const struct move *move, const struct move *sum)
{
    return move->copies && !move->dropped && move->terms == NULL && move->length == sum->length &&
           compare_ranges(&move->from, &sum->to) == 0;
}

// How often a lane, from its first move on, copies from the place of the sums; *end: its last move
// and one more.
static size_t count_reads(const struct fuse *fuse, size_t begin, size_t *end)
{
    size_t reads = 0;
    size_t i = begin;
    for (; i < fuse->count && same_lane(&fuse->moves[i], &fuse->moves[begin]); i++) {
        reads += reads_sum(&fuse->moves[i], fuse->firsts[0]);
    }
    *end = i;
    return reads;
}

// The copies of the sums of a place become their destinations, if every lane that copies from there
// copies each of them equally often.
static void take_readers(const struct fuse *fuse, size_t sums)
{
    size_t end;
    for (size_t begin = 0; begin < fuse->count; begin = end) {
        if (count_reads(fuse, begin, &end) % sums != 0) {
            return;
        }
    }
    for (size_t begin = 0; begin < fuse->count; begin = end) {
        size_t reads = count_reads(fuse, begin, &end);
        size_t number = 0;
        for (size_t i = begin; i < end && reads > 0; i++) {
            struct move *move = &fuse->moves[i];
            if (reads_sum(move, fuse->firsts[0])) {
                struct move *first = fuse->firsts[number++ / (reads / sums)];
                attach(&first->readers, &first->readers_count, move);
            }
        }
    }
}

struct search {
    struct fuse *fuse;
    const struct move *sum;
    bool found;
};

// Whether an op that stays reads any byte of a sum's own place.
static int look_for_reader(void *arg, int rank, int lane, const tern_plan_op *op)
{
    struct search *search = arg;
    const struct move *sum = search->sum;
    bool dropped = is_move(op) && (search->fuse->cursor++)->dropped;
    (void)rank;
    (void)lane;
    for (int i = 0; !dropped && op->length > 0 && i < op->sources_count; i++) {
        const tern_plan_range *range = &op->sources[i];
        search->found =
            search->found || (range->rank == sum->to.rank && range->buffer == sum->to.buffer &&
                              range->offset < sum->to.offset + sum->length &&
                              sum->to.offset < range->offset + op->length);
    }
    return TERN_OK;
}

static int fuse_place(struct fuse *fuse, struct move *const *moves, size_t count)
{
    size_t sums = find_sums(fuse, moves, count);
    if (sums == 0 || sums == count || count / sums > OPERANDS_MOST) {
        return TERN_OK;
    }
    take_terms(fuse, moves, count);
    take_readers(fuse, sums);
    struct move *first = fuse->firsts[0];
    if (first->readers_count == 0 || first->readers_count >= OPERANDS_MOST ||
        first->to.buffer != TERN_PLAN_SCRATCH) {
        return TERN_OK;
    }
    struct search search = {.fuse = fuse, .sum = first};
    fuse->cursor = fuse->moves;
    TERN_TRY(tern__plan_visit(fuse->plan, look_for_reader, &search));
    for (size_t i = 0; i < sums; i++) {
        fuse->firsts[i]->passes = !search.found;
    }
    return TERN_OK;
}

static int find(struct fuse *fuse)
{
    qsort((void *)fuse->sorted, fuse->count, sizeof(void *), compare);
    for (size_t begin = 0, end; begin < fuse->count; begin = end) {
        for (end = begin + 1;
             end < fuse->count && compare_places(fuse->sorted[begin], fuse->sorted[end]) == 0;
             end++) {
        }
        TERN_TRY(fuse_place(fuse, fuse->sorted + begin, end - begin));
    }
    return TERN_OK;
}

// Into a list in the order of the ranks.
static void insert(tern_plan_range *ranges, int *count, tern_plan_range range)
{
    int at = (*count)++;
    for (; at > 0 && ranges[at - 1].rank > range.rank; at--) {
        ranges[at] = ranges[at - 1];
    }
    ranges[at] = range;
}

static int add(struct fuse *fuse, int rank, int lane, const tern_plan_op *op)
{
    for (int i = 0; i < op->sources_count + op->destinations_count; i++) {
        const tern_plan_range *range =
            i < op->sources_count ? &op->sources[i] : &op->destinations[i - op->sources_count];
        uint64_t end = range->buffer == TERN_PLAN_SCRATCH ? range->offset + op->length : 0;
        fuse->scratch = end > fuse->scratch ? end : fuse->scratch;
    }
    return tern_plan_add(fuse->built, rank, lane, op);
}

static int add_sum(struct fuse *fuse, int rank, int lane, const tern_plan_op *op,
                   const struct move *first)
{
    tern_plan_range sources[OPERANDS_MOST + 1];
    tern_plan_range destinations[OPERANDS_MOST + 1];
    tern_plan_op sum = *op;
    sum.kind = TERN_PLAN_REDUCE;
    sum.sources = sources;
    sum.destinations = destinations;
    sum.sources_count = sum.destinations_count = 0;
    insert(sources, &sum.sources_count, first->from);
    for (const struct move *term = first->terms; term != NULL; term = term->next) {
        insert(sources, &sum.sources_count, term->from);
    }
    if (!first->passes) {
        insert(destinations, &sum.destinations_count, first->to);
    }
    for (const struct move *reader = first->readers; reader != NULL; reader = reader->next) {
        insert(destinations, &sum.destinations_count, reader->to);
    }
    return add(fuse, rank, lane, &sum);
}

static int add_op(void *arg, int rank, int lane, const tern_plan_op *op)
{
    struct fuse *fuse = arg;
    const struct move *move = is_move(op) ? fuse->cursor++ : NULL;
    bool empty = op->sources_count > 0 && op->length == 0;
    if (empty || (move != NULL && move->dropped)) {
        return TERN_OK;
    }
    return move != NULL && move->terms != NULL ? add_sum(fuse, rank, lane, op, move)
                                               : add(fuse, rank, lane, op);
}

static int build(struct fuse *fuse, tern_plan **made)
{
    TERN_TRY(tern_plan_create(&fuse->plan->spec, &fuse->built));
    fuse->cursor = fuse->moves;
    int status = tern__plan_visit(fuse->plan, add_op, fuse);
    status = status == TERN_OK ? tern_plan_need_scratch(fuse->built, fuse->scratch) : status;
    return tern__plan_finish(status, fuse->built, made);
}

static int fuse_plan(const tern_plan *plan, tern_plan **made)
{
    struct fuse fuse = {.plan = plan};
    size_t count = 0;
    TERN_TRY(tern__plan_lives("tern_plan_fuse", plan));
    if (!plan->sealed || made == NULL) {
        return tern__fail(TERN_ERR_ARG, "tern_plan_fuse: the plan must be sealed, and the place of "
                                        "the new one not NULL");
    }
    TERN_TRY(tern__plan_visit(plan, count_move, &count));
    fuse.moves = calloc(count + 1, sizeof *fuse.moves);
    fuse.sorted = calloc(count + 1, sizeof(void *));
    fuse.firsts = calloc(count + 1, sizeof(void *));
    int status = TERN_OK;
    if (fuse.moves == NULL || fuse.sorted == NULL || fuse.firsts == NULL) {
        status = tern__fail(TERN_ERR_MEMORY, "no memory to fuse a plan of %zu copies", count);
    }
    status = status == TERN_OK ? tern__plan_visit(plan, note_move, &fuse) : status;
    status = status == TERN_OK ? find(&fuse) : status;
    status = status == TERN_OK ? build(&fuse, made) : status;
    free(fuse.moves);
    free((void *)fuse.sorted);
    free((void *)fuse.firsts);
    return status;
}

int tern_plan_fuse(const tern_plan *plan, tern_plan **made)
{
    return TERN__CALL_OF_CALLS(fuse_plan(plan, made));
}
