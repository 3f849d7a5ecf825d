// SPDX-License-Identifier: Apache-2.0
// Between the text form (print.c, parse.c) and files (file.c): both directions work on a stream, so
// that a file costs no memory beside its plan, whatever its size.
#ifndef TERN_PLAN_TEXT_H
#define TERN_PLAN_TEXT_H

#include <stdio.h>

#include "plan/ir.h"

// Writes a sealed plan to a file and flushes it; `name` is for the sentence.
int tern__plan_write(const tern_plan *plan, FILE *file, const char *name);

struct tern__plan_parser;

// A parser is created, fed all lines without their line feeds, and finished. `name` is kept, not
// copied. After a failure it can only be destroyed.
int tern__plan_parser_create(const char *name, struct tern__plan_parser **parser);
int tern__plan_parser_feed(struct tern__plan_parser *parser, const char *line, size_t length,
                           bool terminated);
int tern__plan_parser_finish(struct tern__plan_parser *parser, tern_plan **plan);
void tern__plan_parser_destroy(struct tern__plan_parser *parser);

#endif
