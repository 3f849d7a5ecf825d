// SPDX-License-Identifier: Apache-2.0
// The end: what the outputs hold. One finding for each op that made something wrong first; what
// others passed on of it is counted.

#include <stdio.h>
#include <string.h>

#include "plan/check/check.h"

struct expectation {
    struct checking *checking;
    int rank;
    bool flat;    // all sums so far are in rank order
    bool ordered; // or taken in rank order by several reduces
    bool atomic;  // some sum is in an order left to chance
};

// A part of an output that holds one content, and what it should hold.
struct output {
    const struct checking *checking;
    uint64_t begin;
    struct content content;
    const struct node_facts *facts;
    struct wanted wanted;
    struct place culprit;
};

struct wanted tern__result_wanted(const tern_plan *plan, int rank, uint64_t position)
{
    uint64_t share = tern__plan_share(plan);
    uint64_t q = share > 0 ? position / share : 0;
    int64_t shares_before = (int64_t)(share * q);
    int64_t own = (int64_t)(share * (uint64_t)rank);
    struct wanted wanted = {.source = -1, .end = plan->spec.bytes};
    switch (plan->spec.kind) {
    case TERN_PLAN_REDUCE_SCATTER:
        wanted.delta = own;
        break;
    case TERN_PLAN_BROADCAST:
        wanted.source = plan->spec.root;
        break;
    case TERN_PLAN_ALL_GATHER:
    case TERN_PLAN_GATHER:
        wanted = (struct wanted){(int)q, -shares_before, share * (q + 1)};
        break;
    case TERN_PLAN_ALL_TO_ALL:
        wanted = (struct wanted){(int)q, own - shares_before, share * (q + 1)};
        break;
    case TERN_PLAN_SCATTER:
        wanted.source = plan->spec.root;
        wanted.delta = own;
        break;
    default: // all_reduce and reduce: byte i of the sum; of a barrier no byte is asked for
        break;
    }
    return wanted;
}

// "rank 5", "ranks 0..3, 5": those whose contributions are in a value, or are not.
static void list_ranks(const struct checking *checking, uint32_t node, bool held, char *text,
                       size_t size)
{
    int nranks = checking->plan->spec.nranks;
    int count = 0;
    for (int rank = 0; rank < nranks; rank++) {
        count += tern__value_has(checking, node, rank) == held;
    }
    size_t used = (size_t)snprintf(text, size, count == 1 ? "rank " : "ranks ");
    bool first = true;
    for (int rank = 0; rank < nranks && used + 24 < size; rank++, first = false) {
        while (rank < nranks && tern__value_has(checking, node, rank) != held) {
            rank++;
        }
        int last = rank;
        while (last + 1 < nranks && tern__value_has(checking, node, last + 1) == held) {
            last++;
        }
        if (rank < nranks) {
            used += (size_t)snprintf(text + used, size - used, "%s%d", first ? "" : ", ", rank);
        }
        if (last > rank) {
            used += (size_t)snprintf(text + used, size - used, "..%d", last);
        }
        rank = last;
    }
}

// "source 1, in+64 of rank 2": an operand of the op that made a mistake, where it was made.
static void operand_text(const struct checking *checking, const struct mistake *mistake,
                         uint32_t term, char *text, size_t size)
{
    const struct tern__op *op = tern__place_op(checking, mistake->maker);
    const tern_plan_range *range = &tern__op_operands(checking->plan, op)[term];
    snprintf(text, size, "%s %u, %s+%llu of rank %u",
             term < op->sources_count ? "source" : "destination",
             term < op->sources_count ? term : term - op->sources_count,
             tern__buffer_name((tern_plan_buffer)range->buffer),
             (unsigned long long)range->offset + mistake->from, range->rank);
}

// A sum that was wrong when it was made.
static void mistake_text(const struct output *output, char *text, size_t size)
{
    const struct checking *checking = output->checking;
    struct mistake mistake = *tern__value_mistake(checking, output->facts->mistake);
    // Where the terms that were taken to be right lie, relative to where they should: if the other
    // one is right there, they are wrong.
    int64_t rest = output->content.delta + output->facts->mistake_delta - output->wanted.delta;
    if (mistake.kind == MISTAKE_SHIFTED && rest != 0 && rest + mistake.shift == 0) {
        mistake.term = mistake.rest;
        mistake.node = mistake.rest_node;
        mistake.shift = rest;
    }
    char operand[64];
    char ranks[60];
    operand_text(checking, &mistake, mistake.term, operand, sizeof operand);
    long long position = (long long)output->begin + output->wanted.delta;
    switch (mistake.kind) {
    case MISTAKE_UNDEFINED:
        snprintf(text, size, "a sum of bytes that nobody has written (%s)", operand);
        break;
    case MISTAKE_TWICE:
        snprintf(text, size, "the contribution of rank %d from in+%lld twice (%s)", mistake.rank,
                 position, operand);
        break;
    case MISTAKE_SHIFTED:
        list_ranks(checking, mistake.node, true, ranks, sizeof ranks);
        snprintf(text, size,
                 "the contribution of %s from in+%lld instead of in+%lld, shifted by %lld (%s)",
                 ranks, position + (long long)mistake.shift, position, (long long)mistake.shift,
                 operand);
        break;
    }
}

// What is wrong with a part of an output, in `text` and *cause; false when nothing is.
static bool wrong(const struct output *output, tern_check_cause *cause, char *text, size_t size)
{
    const struct node_facts *facts = output->facts;
    int source = output->wanted.source;
    long long wanted = (long long)output->begin + output->wanted.delta;
    long long found = (long long)output->begin + output->content.delta;
    char ranks[120];
    if (facts->undefined) {
        *cause = TERN_CHECK_UNWRITTEN;
        snprintf(text, size, "what nobody has written");
    } else if (source >= 0 && facts->sum) {
        *cause = TERN_CHECK_NOT_COPIED;
        snprintf(text, size, "a sum instead of in+%lld of rank %d", wanted, source);
    } else if (source >= 0 && facts->rank != source) {
        *cause = TERN_CHECK_WRONG_SOURCE;
        snprintf(text, size, "in+%lld of rank %d instead of in+%lld of rank %d", found, facts->rank,
                 wanted, source);
    } else if (facts->mistake != 0) {
        *cause = TERN_CHECK_WRONG_SUM;
        mistake_text(output, text, size);
    } else if (found != wanted && facts->sum) {
        *cause = TERN_CHECK_MISPLACED;
        snprintf(text, size, "the sum of in+%lld instead of in+%lld, shifted by %lld", found,
                 wanted, found - wanted);
    } else if (found != wanted) {
        *cause = TERN_CHECK_MISPLACED;
        snprintf(text, size, "in+%lld of rank %d instead of in+%lld, shifted by %lld", found,
                 facts->rank, wanted, found - wanted);
    } else if (source < 0 && !facts->whole) {
        *cause = TERN_CHECK_MISSING;
        list_ranks(output->checking, output->content.node, false, ranks, sizeof ranks);
        snprintf(text, size, "%s without %s", facts->sum ? "a sum" : "one input", ranks);
    } else {
        return false;
    }
    return true;
}

static struct place culprit_of(const struct output *output, struct place writer)
{
    const struct node_facts *facts = output->facts;
    if (facts->mistake != 0 && output->wanted.source < 0) {
        return tern__value_mistake(output->checking, facts->mistake)->maker;
    }
    if (tern__is_place(output->content.wrong_by)) {
        return output->content.wrong_by;
    }
    return facts->sum ? facts->maker : writer;
}

static void report(const struct expectation *expected, struct output *output, uint64_t end,
                   tern_check_cause cause, const char *text)
{
    struct tern_check *check = expected->checking->check;
    struct place culprit = output->culprit;
    char where[96] = "";
    if (tern__is_place(culprit)) {
        if (tern__check_follows(check, TERN_CHECK_RESULT,
                                (uint64_t)culprit.lane << 32 | culprit.index)) {
            return;
        }
        tern__place_text(expected->checking, culprit, where, sizeof where);
    }
    tern__check_add(check, TERN_CHECK_RESULT, "out of rank %d, bytes %llu..%llu: %s%s%s",
                    expected->rank, (unsigned long long)output->begin, (unsigned long long)end,
                    text, where[0] != '\0' ? ", made by " : "", where);
    tern__check_mark(expected->checking, TERN_CHECK_RESULT, cause, culprit, TERN__NO_PLACE);
}

static void look(void *arg, uint64_t begin, uint64_t end, struct content content,
                 struct place writer)
{
    struct expectation *expected = arg;
    struct output output = {.checking = expected->checking, .content = content};
    output.facts = tern__value_facts(expected->checking, content.node);
    expected->flat = expected->flat && output.facts->flat;
    expected->ordered =
        expected->ordered && output.facts->ordered == expected->checking->plan->spec.nranks;
    expected->atomic = expected->atomic || output.facts->atomic;
    while (begin < end) {
        char text[256];
        tern_check_cause cause;
        output.begin = begin;
        output.wanted = tern__result_wanted(expected->checking->plan, expected->rank, begin);
        begin = end < output.wanted.end ? end : output.wanted.end;
        if (wrong(&output, &cause, text, sizeof text)) {
            output.culprit = culprit_of(&output, writer);
            report(expected, &output, begin, cause, text);
        }
    }
}

bool tern__check_result(struct checking *checking)
{
    const tern_plan *plan = checking->plan;
    struct expectation expected = {.checking = checking, .flat = true, .ordered = true};
    for (int rank = 0; rank < plan->spec.nranks; rank++) {
        expected.rank = rank;
        tern__memory_visit(checking, rank, TERN_PLAN_OUT, look, &expected);
    }
    if (tern__kinds[plan->spec.kind].sums) {
        checking->check->order = expected.atomic    ? TERN_CHECK_ORDER_ANY
                                 : expected.flat    ? TERN_CHECK_ORDER_RANK
                                 : expected.ordered ? TERN_CHECK_ORDER_CHAIN
                                                    : TERN_CHECK_ORDER_FIXED;
    }
    return !checking->check->out_of_memory;
}
