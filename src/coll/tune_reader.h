// SPDX-License-Identifier: Apache-2.0
// Reading a tune file word by word. Statuses with a sentence that names file, line and column.
#ifndef TERN_COLL_TUNE_READER_H
#define TERN_COLL_TUNE_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tern/api.h"

// A place in the text. `word` is the last word that was read.
struct tern__tune_reader {
    const char *name;
    const char *at, *end;
    const char *line_begin;
    int line;
    const char *word;
    size_t length;
    bool reads; // the algorithm that was read last only reads inputs of other ranks
};

// Fails, with a place and a sentence about it.
int tern__tune_wrong(const struct tern__tune_reader *r, const char *where, const char *format, ...)
    TERN_PRINTF(3, 4);

// To the first word of the next line that has one; false at the end.
bool tern__tune_next_row(struct tern__tune_reader *r);
void tern__tune_skip_blanks(struct tern__tune_reader *r);
bool tern__tune_at_line_end(const struct tern__tune_reader *r);

// The next word of the line; `expected` is said when there is none.
int tern__tune_read_word(struct tern__tune_reader *r, const char *expected);
int tern__tune_read_keyword(struct tern__tune_reader *r, const char *keyword);
int tern__tune_read_number(struct tern__tune_reader *r, const char *what, uint64_t low,
                           uint64_t high, uint64_t unit, uint64_t *number);

// Of the word that was read last: whether it is this one; how much of it sentences show.
bool tern__tune_is_word(const struct tern__tune_reader *r, const char *word);
int tern__tune_shown(const struct tern__tune_reader *r);

#endif
