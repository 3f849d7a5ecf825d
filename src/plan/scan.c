// SPDX-License-Identifier: Apache-2.0
// Words and numbers of one line. Nothing is read beyond the line, which need not end with a NUL.

#include "plan/scan.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"

#define SHOWN_MAX 40 // characters of a wrong word that a sentence shows

static int fail_at(const struct tern__scan *scan, int status, const char *at, const char *sentence)
{
    return tern__fail(status, "%.400s:%zu:%zu: %s", scan->name, scan->line,
                      (size_t)(at - scan->start) + 1, sentence);
}

int tern__scan_fail(const struct tern__scan *scan, int status, const char *at, const char *format,
                    ...)
{
    char sentence[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(sentence, sizeof sentence, format, arguments);
    va_end(arguments);
    return fail_at(scan, status, at, sentence);
}

int tern__scan_expected(const struct tern__scan *scan, int status, const char *at,
                        const char *format, ...)
{
    char sentence[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(sentence, sizeof sentence, format, arguments);
    va_end(arguments);
    size_t rest = (size_t)(scan->word + scan->word_length - at);
    size_t used = strlen(sentence);
    if (rest > 0) {
        snprintf(sentence + used, sizeof sentence - used, ", found '%.*s%s'",
                 (int)(rest < SHOWN_MAX ? rest : SHOWN_MAX), at, rest > SHOWN_MAX ? "..." : "");
    } else {
        snprintf(sentence + used, sizeof sentence - used, ", found the end of the %s",
                 scan->word_length > 0 ? "word" : "line");
    }
    char whole[640];
    snprintf(whole, sizeof whole, "expected %s", sentence);
    return fail_at(scan, status, at, whole);
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

// The first byte that is neither a blank nor a printable character, or the end.
static const char *skip_plain(const char *at, const char *end)
{
    while (at < end && ((*at >= ' ' && *at <= '~') || *at == '\t')) {
        at++;
    }
    return at;
}

int tern__scan_line(struct tern__scan *scan, const char *line, size_t length, bool terminated)
{
    scan->line++;
    scan->start = scan->at = scan->word = line;
    scan->end = line + (length <= TERN__PLAN_LINE_MAX ? length : TERN__PLAN_LINE_MAX);
    scan->word_length = 0;
    const char *strange = skip_plain(line, scan->end);
    if (strange < scan->end && *strange == '\r') {
        return tern__scan_fail(scan, TERN_ERR_ARG, strange,
                               "expected lines that end with a line feed alone, found a carriage "
                               "return");
    }
    if (strange < scan->end) {
        return tern__scan_fail(scan, TERN_ERR_ARG, strange,
                               "expected printable ASCII characters, blanks and line feeds, found "
                               "the byte 0x%02x",
                               (unsigned)(unsigned char)*strange);
    }
    if (length > TERN__PLAN_LINE_MAX) {
        return tern__scan_fail(scan, TERN_ERR_LIMIT, scan->end,
                               "expected the end of the line: a line has at most %d bytes",
                               TERN__PLAN_LINE_MAX);
    }
    if (!terminated) {
        return tern__scan_fail(scan, TERN_ERR_ARG, scan->end,
                               "expected a line feed, found the end of the text: it is cut off, or "
                               "its last line is not ended");
    }
    const char *comment = memchr(line, '#', length);
    scan->end = comment != NULL ? comment : scan->end;
    return TERN_OK;
}

bool tern__scan_next(struct tern__scan *scan)
{
    const char *at = scan->at;
    while (at < scan->end && is_blank(*at)) {
        at++;
    }
    scan->word = at;
    while (at < scan->end && !is_blank(*at)) {
        at++;
    }
    scan->at = at;
    scan->word_length = (size_t)(at - scan->word);
    return scan->word_length > 0;
}

bool tern__scan_is(const struct tern__scan *scan, const char *word)
{
    return strncmp(scan->word, word, scan->word_length) == 0 && word[scan->word_length] == '\0';
}

int tern__scan_word(struct tern__scan *scan, const char *word)
{
    if (!tern__scan_next(scan) || !tern__scan_is(scan, word)) {
        return tern__scan_expected(scan, TERN_ERR_ARG, scan->word, "'%s'", word);
    }
    return TERN_OK;
}

int tern__scan_end(struct tern__scan *scan)
{
    if (tern__scan_next(scan)) {
        return tern__scan_expected(scan, TERN_ERR_ARG, scan->word, "the end of the line");
    }
    return TERN_OK;
}

int tern__scan_digits(const struct tern__scan *scan, const char **at,
                      const struct tern__number *number, uint64_t *value)
{
    const char *first = *at;
    const char *end = scan->word + scan->word_length;
    const char *digit = first;
    uint64_t read = 0;
    bool huge = false;
    for (; digit < end && is_digit(*digit); digit++) {
        uint64_t more = (uint64_t)(*digit - '0');
        huge = huge || read > (UINT64_MAX - more) / 10;
        read = read * 10 + more;
    }
    bool zeros = digit - first > 1 && *first == '0';
    bool beyond = huge || read < number->low || read > number->high;
    if (digit == first || zeros || beyond) {
        int status = digit > first && !zeros ? number->status : TERN_ERR_ARG;
        return tern__scan_expected(scan, status, first, "%s (%llu to %llu%s)", number->what,
                                   (unsigned long long)number->low,
                                   (unsigned long long)number->high,
                                   zeros ? ", without leading zeros" : "");
    }
    *at = digit;
    *value = read;
    return TERN_OK;
}

int tern__scan_number(struct tern__scan *scan, const struct tern__number *number, uint64_t *value)
{
    tern__scan_next(scan);
    const char *at = scan->word;
    TERN_TRY(tern__scan_digits(scan, &at, number, value));
    if (at != scan->word + scan->word_length) {
        return tern__scan_expected(scan, TERN_ERR_ARG, scan->word, "%s (%llu to %llu)",
                                   number->what, (unsigned long long)number->low,
                                   (unsigned long long)number->high);
    }
    return TERN_OK;
}
