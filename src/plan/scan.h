// SPDX-License-Identifier: Apache-2.0
// One line of a plan's text as words, and the sentence for what is wrong in it. A word is what
// stands between blanks; a '#' ends the line's words. Columns count bytes, from 1.
#ifndef TERN_PLAN_SCAN_H
#define TERN_PLAN_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tern/status.h"

#define TERN__PLAN_LINE_MAX 131072 // bytes of a line; the longest that is printed has 60 KiB

struct tern__scan {
    const char *name; // of the text, for sentences
    size_t line;      // from 1
    const char *start, *end;
    const char *at;     // behind the word
    const char *word;   // or where it was looked for
    size_t word_length; // 0: there is none
};

// What a number must be.
struct tern__number {
    const char *what; // "a round"
    uint64_t low, high;
    int status; // of a number out of range
};

// Goes to the next line, which has `length` bytes. Refuses bytes that do not belong into a plan,
// too long lines, and a line that its text does not end with '\n'.
int tern__scan_line(struct tern__scan *scan, const char *line, size_t length, bool terminated);

// Fails with "NAME:LINE:COLUMN: " before the sentence; `at` is in the line. The second form says
// "expected WHAT, found 'REST'", with the rest of the word from `at`.
int tern__scan_fail(const struct tern__scan *scan, int status, const char *at, const char *format,
                    ...) TERN_PRINTF(4, 5);
int tern__scan_expected(const struct tern__scan *scan, int status, const char *at,
                        const char *format, ...) TERN_PRINTF(4, 5);

// Takes the next word; false at the end of the line.
bool tern__scan_next(struct tern__scan *scan);

// Whether the word is this one.
bool tern__scan_is(const struct tern__scan *scan, const char *word);

// Takes the next word, which must be this one; takes the end of the line.
int tern__scan_word(struct tern__scan *scan, const char *word);
int tern__scan_end(struct tern__scan *scan);

// Takes the next word, which must be this number.
int tern__scan_number(struct tern__scan *scan, const struct tern__number *number, uint64_t *value);

// Reads a number inside the word, from *at, and leaves *at behind it.
int tern__scan_digits(const struct tern__scan *scan, const char **at,
                      const struct tern__number *number, uint64_t *value);

#endif
