// SPDX-License-Identifier: Apache-2.0
// The ops of a plan's text.

#include <string.h>

#include "base/error.h"
#include "plan/parse.h"

// "RANK.BUFFER+OFFSET", the word just taken.
static int read_range(struct tern__plan_parser *parser, tern_plan_range *range)
{
    const struct tern__scan *scan = &parser->scan;
    const struct tern__number rank_number =
        tern__parse_rank_of(parser, "an operand such as 0.in+0, of a rank");
    const struct tern__number offset_number = {"an offset", 0, TERN_PLAN_BYTES_MAX, TERN_ERR_LIMIT};
    const char *at = scan->word;
    const char *end = scan->word + scan->word_length;
    uint64_t rank = 0;
    uint64_t offset = 0;
    TERN_TRY(tern__scan_digits(scan, &at, &rank_number, &rank));
    if (at == end || *at != '.') {
        return tern__scan_expected(scan, TERN_ERR_ARG, at, "'.' and a buffer");
    }
    at++;
    int buffer = TERN_PLAN_IN;
    size_t length = 0;
    for (; buffer <= TERN_PLAN_SCRATCH; buffer++) {
        const char *name = tern__buffer_name((tern_plan_buffer)buffer);
        length = strlen(name);
        if ((size_t)(end - at) > length && memcmp(at, name, length) == 0 && at[length] == '+') {
            break;
        }
    }
    if (buffer > TERN_PLAN_SCRATCH) {
        return tern__scan_expected(scan, TERN_ERR_ARG, at, "'in+', 'out+' or 'scratch+'");
    }
    at += length + 1;
    TERN_TRY(tern__scan_digits(scan, &at, &offset_number, &offset));
    if (at != end) {
        return tern__scan_expected(scan, TERN_ERR_ARG, at, "a blank after the offset");
    }
    *range =
        (tern_plan_range){.offset = offset, .rank = (uint16_t)rank, .buffer = (uint16_t)buffer};
    return TERN_OK;
}

// Operands from the next word up to `stop`, or to the end of the line; they become
// operands[first…].
static int read_ranges(struct tern__plan_parser *parser, const char *stop, int first, int *count)
{
    struct tern__scan *scan = &parser->scan;
    *count = 0;
    while (tern__scan_next(scan) && (stop == NULL || !tern__scan_is(scan, stop))) {
        if (first + *count >= TERN_PLAN_OPERANDS_MAX) {
            return tern__scan_expected(scan, TERN_ERR_LIMIT, scan->word,
                                       "at most %d operands of an op", TERN_PLAN_OPERANDS_MAX);
        }
        TERN_TRY(read_range(parser, &parser->operands[first + *count]));
        ++*count;
    }
    if (*count == 0) {
        return tern__scan_expected(scan, TERN_ERR_ARG, scan->word, "an operand such as 0.in+0");
    }
    if (stop != NULL && scan->word_length == 0) {
        return tern__scan_expected(scan, TERN_ERR_ARG, scan->word, "an operand or '%s'", stop);
    }
    return TERN_OK;
}

static int read_transfer(struct tern__plan_parser *parser, tern_plan_op *op)
{
    struct tern__scan *scan = &parser->scan;
    const struct tern__number length = {"a length", 0, TERN_PLAN_BYTES_MAX, TERN_ERR_LIMIT};
    bool reduce = op->kind == TERN_PLAN_REDUCE;
    TERN_TRY(tern__scan_number(scan, &length, &op->length));
    tern__scan_next(scan);
    if (reduce && tern__scan_is(scan, "atomic")) {
        op->flags = TERN_PLAN_ATOMIC;
        TERN_TRY(tern__scan_word(scan, ":"));
    } else if (!tern__scan_is(scan, ":")) {
        return tern__scan_expected(scan, TERN_ERR_ARG, scan->word, "%s",
                                   reduce ? "':' or 'atomic'" : "':'");
    }
    op->sources = parser->operands;
    if (reduce) {
        TERN_TRY(read_ranges(parser, "->", 0, &op->sources_count));
    } else {
        tern__scan_next(scan);
        TERN_TRY(read_range(parser, &parser->operands[0]));
        op->sources_count = 1;
        TERN_TRY(tern__scan_word(scan, "->"));
    }
    op->destinations = parser->operands + op->sources_count;
    return read_ranges(parser, NULL, op->sources_count, &op->destinations_count);
}

int tern__parse_named(struct tern__scan *scan, const char *word, const struct tern__number *number,
                      uint64_t *value)
{
    TERN_TRY(tern__scan_word(scan, word));
    return tern__scan_number(scan, number, value);
}

static int read_signal(struct tern__plan_parser *parser, tern_plan_op *op)
{
    struct tern__scan *scan = &parser->scan;
    const struct tern__number rank = tern__parse_rank_of(parser, "a rank");
    const struct tern__number signals = {"a signal", 0, TERN_PLAN_SIGNALS_MAX - 1, TERN_ERR_LIMIT};
    const struct tern__number counts = {"a count", 1, INT32_MAX, TERN_ERR_LIMIT};
    uint64_t peer = 0;
    uint64_t signal = 0;
    uint64_t count = 0;
    if (op->kind == TERN_PLAN_POST) {
        TERN_TRY(tern__parse_named(scan, "rank", &rank, &peer));
    }
    TERN_TRY(tern__parse_named(scan, "signal", &signals, &signal));
    if (op->kind == TERN_PLAN_WAIT) {
        TERN_TRY(tern__parse_named(scan, "count", &counts, &count));
    }
    op->peer = (int)peer;
    op->signal = (uint32_t)signal;
    op->count = (uint32_t)count;
    return tern__scan_end(scan);
}

static int read_round(struct tern__scan *scan, int *round)
{
    const struct tern__number number = {"a round", 0, TERN_PLAN_ROUNDS_MAX, TERN_ERR_LIMIT};
    tern__scan_next(scan);
    if (scan->word_length == 0 || *scan->word != '@') {
        return tern__scan_expected(scan, TERN_ERR_ARG, scan->word, "'@' and a round");
    }
    const char *at = scan->word + 1;
    uint64_t value = 0;
    TERN_TRY(tern__scan_digits(scan, &at, &number, &value));
    if (at != scan->word + scan->word_length) {
        return tern__scan_expected(scan, TERN_ERR_ARG, at, "a blank after the round");
    }
    *round = (int)value;
    return TERN_OK;
}

int tern__parse_op(struct tern__plan_parser *parser, tern_plan_op_kind kind)
{
    struct tern__scan *scan = &parser->scan;
    const char *name = scan->word;
    tern_plan_op op = {.kind = kind};
    TERN_TRY(read_round(scan, &op.round));
    if (kind == TERN_PLAN_COPY || kind == TERN_PLAN_REDUCE) {
        TERN_TRY(read_transfer(parser, &op));
    } else {
        TERN_TRY(read_signal(parser, &op));
    }
    int status = tern_plan_add(parser->plan, parser->rank, parser->lane, &op);
    return status == TERN_OK ? TERN_OK
                             : tern__scan_fail(scan, status, name, "%s", tern_last_error());
}
