// SPDX-License-Identifier: Apache-2.0
// The end: what the outputs hold.

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
        if (expected->source >= 0 || facts->whole) {
            return false;
        }
        list_ranks(checking, content.node, false, missing, sizeof missing);
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

bool tern__check_result(struct checking *checking)
{
    const tern_plan *plan = checking->plan;
    struct expectation expected = {.checking = checking, .flat = true};
    for (int rank = 0; rank < plan->spec.nranks; rank++) {
        expected.rank = rank;
        check_output(&expected);
    }
    if (tern__kind_sums(plan->spec.kind)) {
        checking->check->order = expected.atomic ? TERN_CHECK_ORDER_ANY
                                 : expected.flat ? TERN_CHECK_ORDER_RANK
                                                 : TERN_CHECK_ORDER_FIXED;
    }
    return !checking->check->out_of_memory;
}
