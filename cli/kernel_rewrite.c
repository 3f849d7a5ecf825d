// SPDX-License-Identifier: Apache-2.0
// Launches in a preprocessed source, as C++: see kernel_cc.h. Comments and macros are gone by then,
// and line markers say where each line is from, so strings are all that must be passed over.

#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "kernel_cc.h"

struct out {
    char *data;
    size_t count, room;
    bool failed;
};

static void put(struct out *out, const char *text, size_t count)
{
    if (out->count + count > out->room) {
        size_t room = 2 * out->room + count + 256;
        char *data = realloc(out->data, room);
        if (data == NULL) {
            out->failed = true;
            return;
        }
        out->data = data;
        out->room = room;
    }
    if (count > 0) {
        memcpy(out->data + out->count, text, count);
    }
    out->count += count;
}

static bool is_word(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '$';
}

// Behind a string or character that begins at `at` with its quote.
static size_t skip_quoted(const char *text, size_t at, size_t count)
{
    char quote = text[at++];
    while (at < count && text[at] != quote && text[at] != '\n') {
        at += text[at] == '\\' ? 2 : 1;
    }
    return at < count ? at + 1 : count;
}

// Behind R"mark( … )mark", whose quote is at `at`.
static size_t skip_raw(const char *text, size_t at, size_t count)
{
    char end[32] = ")";
    size_t length = 1;
    for (at++; at < count && text[at] != '(' && length < sizeof end - 2; at++) {
        end[length++] = text[at];
    }
    end[length++] = '"';
    const char *found = at < count ? memmem(text + at, count - at, end, length) : NULL;
    return found != NULL ? (size_t)(found - text) + length : count;
}

// Whether the quote at `at` is the separator of digits in a number: 1'000.
static bool is_separator(const char *text, size_t at)
{
    size_t begin = at;
    while (begin > 0 && (is_word(text[begin - 1]) || text[begin - 1] == '\'')) {
        begin--;
    }
    return begin < at && isdigit((unsigned char)text[begin]);
}

static bool is_raw(const char *text, size_t at)
{
    size_t begin = at;
    while (begin > 0 && is_word(text[begin - 1])) {
        begin--;
    }
    size_t length = at - begin;
    return length > 0 && length <= 3 && text[at - 1] == 'R';
}

// What begins at `at` and is no code: returns where code goes on, `at` when it is code.
static size_t skip(const char *text, size_t at, size_t count)
{
    if (text[at] == '#' && (at == 0 || text[at - 1] == '\n')) { // a line marker
        const char *end = memchr(text + at, '\n', count - at);
        return end != NULL ? (size_t)(end - text) : count;
    }
    if (text[at] == '"') {
        return is_raw(text, at) ? skip_raw(text, at, count) : skip_quoted(text, at, count);
    }
    if (text[at] == '\'' && !is_separator(text, at)) {
        return skip_quoted(text, at, count);
    }
    return at;
}

static size_t skip_blanks(const char *text, size_t at, size_t count)
{
    while (at < count && isspace((unsigned char)text[at])) {
        at++;
    }
    return at;
}

// Whether there are three of them, of which a preprocessor may have put the last apart. Returns
// where it goes on, or 0.
static size_t three(const char *text, size_t at, size_t count, char c)
{
    if (at + 2 >= count || text[at] != c || text[at + 1] != c) {
        return 0;
    }
    size_t last = text[at + 2] == ' ' ? at + 3 : at + 2;
    return last < count && text[last] == c ? last + 1 : 0;
}

// Where the three that end a launch begin: what comes before has the two commas of a launch, and
// what comes after are the arguments. `count` when there are none.
static size_t find_end(const char *text, size_t at, size_t count, size_t *behind)
{
    int depth = 0;
    int commas = 0;
    while (at < count && depth >= 0 && (depth > 0 || text[at] != ';')) {
        size_t next = skip(text, at, count);
        if (next != at) {
            at = next;
            continue;
        }
        depth += text[at] == '(' || text[at] == '{' || text[at] == '[';
        depth -= text[at] == ')' || text[at] == '}' || text[at] == ']';
        commas += depth == 0 && text[at] == ',';
        *behind = three(text, at, count, '>');
        if (depth == 0 && commas >= 2 && *behind != 0 &&
            text[skip_blanks(text, *behind, count)] == '(') {
            return at;
        }
        at++;
    }
    return count;
}

// The kernel's name at the end of what has been written: a qualified name, maybe with arguments of
// a template. Returns where it begins, the count when there is none.
static size_t find_kernel(const struct out *out)
{
    size_t at = out->count;
    while (at > 0 && isspace((unsigned char)out->data[at - 1])) {
        at--;
    }
    size_t end = at;
    if (at > 0 && out->data[at - 1] == '>') {
        int depth = 0;
        do {
            at--;
            depth += out->data[at] == '>';
            depth -= out->data[at] == '<';
        } while (at > 0 && depth > 0);
    }
    while (at > 0 && (is_word(out->data[at - 1]) || out->data[at - 1] == ':')) {
        at--;
    }
    return at < end ? at : out->count;
}

// Blanks instead of a cast to void that ends at `at`: a launch is void, and a cast would hold for
// the kernel alone.
static void drop_cast(struct out *out, size_t at)
{
    static const char *const words[] = {")", "void", "("};
    size_t begin = at;
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        size_t length = strlen(words[i]);
        while (begin > 0 && isspace((unsigned char)out->data[begin - 1])) {
            begin--;
        }
        if (begin < length || memcmp(out->data + begin - length, words[i], length) != 0) {
            return;
        }
        begin -= length;
    }
    for (size_t i = begin; i < at; i++) {
        out->data[i] = out->data[i] == '\n' ? '\n' : ' ';
    }
}

// The name as a string: blanks as one, no quotes.
static void put_name(struct out *out, size_t from)
{
    char name[128];
    size_t length = 0;
    for (size_t at = from; at < out->count && length < sizeof name; at++) {
        char c = out->data[at];
        bool blank = isspace((unsigned char)c);
        if (c != '"' && c != '\\' && !(blank && (length == 0 || name[length - 1] == ' '))) {
            name[length++] = blank ? ' ' : c;
        }
    }
    while (length > 0 && name[length - 1] == ' ') {
        length--;
    }
    put(out, " % ::pto_launch(\"", 17);
    put(out, length > 0 ? name : "kernel", length > 0 ? length : 6);
    put(out, "\",", 2);
}

static bool follows_operator(const struct out *out)
{
    size_t at = out->count;
    while (at > 0 && isspace((unsigned char)out->data[at - 1])) {
        at--;
    }
    return at >= 8 && memcmp(out->data + at - 8, "operator", 8) == 0;
}

static void rewrite(struct out *out, const char *text, size_t at, size_t count)
{
    while (at < count) {
        size_t next = skip(text, at, count);
        if (next != at) {
            put(out, text + at, next - at);
            at = next;
            continue;
        }
        size_t inside = three(text, at, count, '<');
        size_t behind = 0;
        size_t end =
            inside != 0 && !follows_operator(out) ? find_end(text, inside, count, &behind) : count;
        if (end == count) {
            put(out, text + at++, 1);
            continue;
        }
        size_t kernel = find_kernel(out);
        drop_cast(out, kernel);
        put_name(out, kernel);
        rewrite(out, text, inside, end); // a launch within is not one of C++'s, but no harm
        put(out, ")", 1);
        at = behind;
    }
}

char *kernel_rewrite(const char *text, size_t count, size_t *result_count)
{
    struct out out = {0};
    rewrite(&out, text, 0, count);
    put(&out, "", 1); // not NULL, also when empty
    *result_count = out.count - 1;
    if (out.failed) {
        free(out.data);
        return NULL;
    }
    return out.data;
}
