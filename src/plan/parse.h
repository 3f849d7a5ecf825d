// SPDX-License-Identifier: Apache-2.0
// What parse.c (headers, lanes) and parse_op.c (ops) share.
#ifndef TERN_PLAN_PARSE_H
#define TERN_PLAN_PARSE_H

#include "plan/scan.h"
#include "plan/text.h"

enum header { VERSION, KIND, RANKS, BYTES, UNIT, ALGORITHM, ROOT, SCRATCH, SLOTS, HEADERS };

struct tern__plan_parser {
    struct tern__scan scan;
    int next_header; // HEADERS: all are read, and there is a plan
    unsigned seen;   // a bit per header
    tern_plan_spec spec;
    char algorithm[32];
    uint64_t scratch_bytes;
    size_t bytes_line, bytes_column; // of the value, for what only shows when all headers are known
    tern_plan *plan;
    int rank, lane; // of the ops that follow; -1 before the first
    bool ended;
    tern_plan_range operands[TERN_PLAN_OPERANDS_MAX]; // of the op
};

// A rank of this plan, as a number of `what`.
static inline struct tern__number tern__parse_rank_of(const struct tern__plan_parser *parser,
                                                      const char *what)
{
    return (struct tern__number){what, 0, (uint64_t)parser->spec.nranks - 1, TERN_ERR_ARG};
}

// Takes "WORD NUMBER".
int tern__parse_named(struct tern__scan *scan, const char *word, const struct tern__number *number,
                      uint64_t *value);

// Takes the rest of an op, whose name is the word just taken, and adds it to the plan.
int tern__parse_op(struct tern__plan_parser *parser, tern_plan_op_kind kind);

#endif
