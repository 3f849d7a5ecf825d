// SPDX-License-Identifier: Apache-2.0
// The end: what the outputs hold, and whether anybody may still touch a rank's buffers when its
// lanes have ended.

#include <stdlib.h>
#include <string.h>

#include "plan/check/check.h"

struct expectation {
    struct checking *checking;
    int rank;
    uint64_t begin, end; // of the part looked at
    int source;          // whose input it must be; -1: the sum of all
    int64_t delta;       // input position - output position
    bool flat;           // all sums so far are in rank order
    bool atomic;         // some sum is in an order left to chance
};

// "ranks 0..3, 5"
static void list_ranks(const struct checking *checking, uint32_t node, bool held, char *text,
                       size_t size)
{
    size_t used = 0;
    int nranks = checking->plan->spec.nranks;
    text[0] = '\0';
    for (int rank = 0; rank < nranks && used + 24 < size; rank++) {
        if (tern__value_has(checking, node, rank) != held) {
            continue;
        }
        int last = rank;
        while (last + 1 < nranks && tern__value_has(checking, node, last + 1) == held) {
            last++;
        }
        used += (size_t)snprintf(text + used, size - used, "%s%d", used == 0 ? "" : ", ", rank);
        if (last > rank) {
            used += (size_t)snprintf(text + used, size - used, "..%d", last);
        }
        rank = last;
    }
}

// What is wrong with a stretch of output, in `text`; false when nothing is.
static bool wrong(const struct expectation *expected, struct content content, char *text,
                  size_t size)
{
    const struct checking *checking = expected->checking;
    const struct node_facts *facts = tern__value_facts(checking, content.node);
    char missing[120];
    if (facts->undefined) {
        snprintf(text, size,
                 facts->sum ? "a sum of bytes that nobody has written" : "what nobody has written");
    } else if (expected->source >= 0 && facts->sum) {
        snprintf(text, size, "a sum instead of the input of rank %d", expected->source);
    } else if (expected->source >= 0 && facts->rank != expected->source) {
        snprintf(text, size, "the input of rank %d instead of rank %d's", facts->rank,
                 expected->source);
    } else if (facts->twice) {
        snprintf(text, size, "a sum with some rank's contribution twice");
    } else if (facts->skewed) {
        snprintf(text, size, "a sum of contributions from different positions");
    } else if (content.delta != expected->delta) {
        snprintf(text, size, "the right thing of %lld bytes further on",
                 (long long)(content.delta - expected->delta));
    } else {
        list_ranks(checking, content.node, false, missing, sizeof missing);
        if (expected->source >= 0 || missing[0] == '\0') {
            return false;
        }
        snprintf(text, size, "a sum without rank %s", missing);
    }
    if (facts->sum) {
        char where[96];
        size_t used = strlen(text);
        tern__place_text(checking, facts->maker, where, sizeof where);
        snprintf(text + used, size - used, ", made by %s", where);
    }
    return true;
}

static void look(void *arg, uint64_t begin, uint64_t end, struct content content)
{
    struct expectation *expected = arg;
    begin = begin > expected->begin ? begin : expected->begin;
    end = end < expected->end ? end : expected->end;
    if (begin >= end) {
        return;
    }
    char text[256];
    const struct node_facts *facts = tern__value_facts(expected->checking, content.node);
    expected->flat = expected->flat && facts->flat;
    expected->atomic = expected->atomic || facts->atomic;
    if (wrong(expected, content, text, sizeof text)) {
        tern__check_add(expected->checking->check, TERN_CHECK_RESULT,
                        "out of rank %d, bytes %llu..%llu: %s", expected->rank,
                        (unsigned long long)begin, (unsigned long long)end, text);
    }
}

static void expect(struct expectation *expected, uint64_t begin, uint64_t end, int source,
                   int64_t delta)
{
    expected->begin = begin;
    expected->end = end;
    expected->source = source;
    expected->delta = delta;
    tern__memory_visit(expected->checking, expected->rank, TERN_PLAN_OUT, look, expected);
}

static void check_output(struct expectation *expected)
{
    const tern_plan *plan = expected->checking->plan;
    uint64_t bytes = plan->spec.bytes;
    uint64_t share = tern__plan_share(plan);
    tern_plan_kind kind = plan->spec.kind;
    bool root = expected->rank == plan->spec.root;
    switch (kind) {
    case TERN_PLAN_ALL_REDUCE:
        expect(expected, 0, bytes, -1, 0);
        break;
    case TERN_PLAN_REDUCE_SCATTER:
        expect(expected, 0, share, -1, (int64_t)(share * (uint64_t)expected->rank));
        break;
    case TERN_PLAN_BROADCAST:
        expect(expected, 0, bytes, plan->spec.root, 0);
        break;
    case TERN_PLAN_ALL_GATHER:
    case TERN_PLAN_GATHER:
        for (int q = 0; q < plan->spec.nranks && (root || kind == TERN_PLAN_ALL_GATHER); q++) {
            uint64_t begin = share * (uint64_t)q;
            expect(expected, begin, begin + share, q, -(int64_t)begin);
        }
        break;
    case TERN_PLAN_ALL_TO_ALL:
        for (int q = 0; q < plan->spec.nranks; q++) {
            uint64_t begin = share * (uint64_t)q;
            int64_t from = (int64_t)(share * (uint64_t)expected->rank);
            expect(expected, begin, begin + share, q, from - (int64_t)begin);
        }
        break;
    case TERN_PLAN_REDUCE_TO_ROOT:
        expect(expected, 0, root ? bytes : 0, -1, 0);
        break;
    case TERN_PLAN_SCATTER:
        expect(expected, 0, share, plan->spec.root, (int64_t)(share * (uint64_t)expected->rank));
        break;
    case TERN_PLAN_BARRIER:
        break;
    }
}

// What must have happened before the end of a rank: the join of its lanes' clocks.
static void end_clock(const struct checking *checking, int rank, uint32_t *done)
{
    memset(done, 0, checking->lanes.count * sizeof *done);
    for (uint32_t lane = checking->lanes.first[rank]; lane < checking->lanes.first[rank + 1];
         lane++) {
        for (uint32_t i = 0; i < checking->lanes.count; i++) {
            uint32_t other = checking->clocks[lane]->done[i];
            done[i] = other > done[i] ? other : done[i];
        }
        done[lane] = checking->position[lane];
    }
}

// The last op of a lane that touches a rank's buffers must happen before that rank ends.
static void check_last_touch(struct checking *checking, uint32_t lane, int rank,
                             const uint32_t *done)
{
    for (uint32_t index = checking->position[lane]; index > done[lane]; index--) {
        struct place place = {.lane = lane, .index = index - 1};
        const struct tern__op *op = tern__place_op(checking, place);
        const tern_plan_range *operands = tern__op_operands(checking->plan, op);
        int count = op->length > 0 ? op->sources_count + op->destinations_count : 0;
        for (int i = 0; i < count; i++) {
            if (operands[i].rank == rank) {
                char where[96];
                tern__place_text(checking, place, where, sizeof where);
                tern__check_add(checking->check, TERN_CHECK_RACE,
                                "%s %s %s of rank %d, whose lanes "
                                "may have ended before: it does not wait for that op",
                                where, i < op->sources_count ? "reads" : "writes",
                                tern__buffer_name((tern_plan_buffer)operands[i].buffer), rank);
                return;
            }
        }
    }
}

// For a barrier: every other rank has begun before this one ends.
static void check_met(struct checking *checking, int rank, const uint32_t *done)
{
    for (int other = 0; other < checking->plan->spec.nranks; other++) {
        bool begun = other == rank;
        for (uint32_t lane = checking->lanes.first[other]; lane < checking->lanes.first[other + 1];
             lane++) {
            begun = begun || done[lane] > 0;
        }
        if (!begun) {
            tern__check_add(checking->check, TERN_CHECK_RESULT,
                            "rank %d may end before rank %d has begun", rank, other);
        }
    }
}

bool tern__check_result(struct checking *checking)
{
    const tern_plan *plan = checking->plan;
    tern_check *check = checking->check;
    uint32_t *done = calloc((size_t)checking->lanes.count + 1, sizeof *done);
    if (done == NULL) {
        return false;
    }
    struct expectation expected = {.checking = checking, .flat = true};
    bool ends = !check->unchecked[TERN_CHECK_RACE];
    for (int rank = 0; rank < plan->spec.nranks; rank++) {
        end_clock(checking, rank, done);
        for (uint32_t lane = 0; ends && lane < checking->lanes.count; lane++) {
            if (checking->lanes.rank[lane] != rank) {
                check_last_touch(checking, lane, rank, done);
            }
        }
        if (ends && plan->spec.kind == TERN_PLAN_BARRIER) {
            check_met(checking, rank, done);
        }
        expected.rank = rank;
        if (!check->unchecked[TERN_CHECK_RESULT]) {
            check_output(&expected);
        }
    }
    if (tern__kind_sums(plan->spec.kind)) {
        check->order = expected.atomic ? TERN_CHECK_ORDER_ANY
                       : expected.flat ? TERN_CHECK_ORDER_RANK
                                       : TERN_CHECK_ORDER_FIXED;
    }
    free(done);
    return !check->out_of_memory;
}
