// SPDX-License-Identifier: Apache-2.0
// The words and numbers of a tune file: one row a line, words separated by blanks, '#' to the end
// of a line is a comment.

#include "coll/tune_reader.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "tern/status.h"

int tern__tune_wrong(const struct tern__tune_reader *r, const char *where, const char *format, ...)
{
    char sentence[700];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(sentence, sizeof sentence, format, arguments);
    va_end(arguments);
    return tern__fail(TERN_ERR_ARG, "%s:%d:%d: %s", r->name, r->line,
                      (int)(where - r->line_begin) + 1, sentence);
}

bool tern__tune_at_line_end(const struct tern__tune_reader *r)
{
    return r->at == r->end || *r->at == '\n' || *r->at == '#';
}

void tern__tune_skip_blanks(struct tern__tune_reader *r)
{
    while (r->at < r->end && (*r->at == ' ' || *r->at == '\t')) {
        r->at++;
    }
}

bool tern__tune_next_row(struct tern__tune_reader *r)
{
    for (;;) {
        tern__tune_skip_blanks(r);
        if (r->at < r->end && *r->at == '#') {
            while (r->at < r->end && *r->at != '\n') {
                r->at++;
            }
        }
        if (r->at == r->end) {
            return false;
        }
        if (*r->at != '\n') {
            return true;
        }
        r->line_begin = ++r->at;
        r->line++;
    }
}

int tern__tune_read_word(struct tern__tune_reader *r, const char *expected)
{
    tern__tune_skip_blanks(r);
    if (tern__tune_at_line_end(r)) {
        return tern__tune_wrong(r, r->at, "the line ends; expected: %s", expected);
    }
    r->word = r->at;
    while (!tern__tune_at_line_end(r) && *r->at != ' ' && *r->at != '\t') {
        unsigned char c = (unsigned char)*r->at;
        if (c < 0x21 || c > 0x7e) {
            return tern__tune_wrong(r, r->at, "byte 0x%02x does not belong into a tune file", c);
        }
        r->at++;
    }
    r->length = (size_t)(r->at - r->word);
    return TERN_OK;
}

int tern__tune_shown(const struct tern__tune_reader *r)
{
    return r->length > 40 ? 40 : (int)r->length;
}

bool tern__tune_is_word(const struct tern__tune_reader *r, const char *word)
{
    return strlen(word) == r->length && memcmp(r->word, word, r->length) == 0;
}

int tern__tune_read_keyword(struct tern__tune_reader *r, const char *keyword)
{
    TERN_TRY(tern__tune_read_word(r, keyword));
    if (!tern__tune_is_word(r, keyword)) {
        return tern__tune_wrong(r, r->word, "expected '%s', not '%.*s'", keyword,
                                tern__tune_shown(r), r->word);
    }
    return TERN_OK;
}

int tern__tune_read_number(struct tern__tune_reader *r, const char *what, uint64_t low,
                           uint64_t high, uint64_t unit, uint64_t *number)
{
    uint64_t value = 0;
    TERN_TRY(tern__tune_read_word(r, what));
    bool good = r->length <= 18;
    for (size_t i = 0; good && i < r->length; i++) {
        good = r->word[i] >= '0' && r->word[i] <= '9';
        value = value * 10 + (uint64_t)(good ? r->word[i] - '0' : 0);
    }
    if (!good || value < low || value > high || value % unit != 0) {
        char multiple[60] = "";
        if (unit > 1) {
            snprintf(multiple, sizeof multiple, " and a multiple of %llu",
                     (unsigned long long)unit);
        }
        return tern__tune_wrong(r, r->word, "expected %s from %llu to %llu%s, not '%.*s'", what,
                                (unsigned long long)low, (unsigned long long)high, multiple,
                                tern__tune_shown(r), r->word);
    }
    *number = value;
    return TERN_OK;
}
