// SPDX-License-Identifier: Apache-2.0
// The header of a .npy file, parsed by hand: the small part of Python's grammar that numpy writes,
// a dict with the keys descr, fortran_order and shape, each once, in any order.
#include "npy_header.h"

#include <stdbool.h>
#include <string.h>

#include "npy.h"

// The rest of the header that is still to be parsed, and what has been found.
struct parser {
    const char *at;
    const char *end;
    const char *path;
    struct failure *failure;
    char descr[16];
    bool fortran_order;
    size_t shape[2];
    size_t dimensions;
    unsigned seen; // one bit per key
};

enum { SEEN_DESCR = 1, SEEN_ORDER = 2, SEEN_SHAPE = 4, SEEN_ALL = 7 };

static int bad_header(const struct parser *parser, const char *what)
{
    return fail(parser->failure, EXIT_FAILED, "%s: the .npy header is damaged: %s", parser->path,
                what);
}

static void skip_spaces(struct parser *parser)
{
    while (parser->at < parser->end && (*parser->at == ' ' || *parser->at == '\t')) {
        parser->at++;
    }
}

// Takes the character if it comes next, after spaces.
static bool take(struct parser *parser, char wanted)
{
    skip_spaces(parser);
    if (parser->at == parser->end || *parser->at != wanted) {
        return false;
    }
    parser->at++;
    return true;
}

static bool take_word(struct parser *parser, const char *word)
{
    size_t length = strlen(word);
    skip_spaces(parser);
    if ((size_t)(parser->end - parser->at) < length || memcmp(parser->at, word, length) != 0) {
        return false;
    }
    parser->at += length;
    return true;
}

// A quoted string without escapes.
static int parse_string(struct parser *parser, char *text, size_t text_bytes)
{
    char quote = '\'';
    if (!take(parser, quote)) {
        quote = '"';
        if (!take(parser, quote)) {
            return bad_header(parser, "a quoted string is missing");
        }
    }
    size_t length = 0;
    while (parser->at < parser->end && *parser->at != quote) {
        if (*parser->at == '\\' || length + 1 == text_bytes) {
            return bad_header(parser, "a string in it is none that numpy writes for a matrix");
        }
        text[length++] = *parser->at++;
    }
    text[length] = '\0';
    return take(parser, quote) ? 0 : bad_header(parser, "a quoted string has no end");
}

static int parse_size(struct parser *parser, size_t *size)
{
    skip_spaces(parser);
    size_t value = 0;
    const char *begin = parser->at;
    while (parser->at < parser->end && *parser->at >= '0' && *parser->at <= '9') {
        value = value * 10 + (size_t)(*parser->at++ - '0');
        if (value > NPY_SIDE_MAX) {
            return fail(parser->failure, EXIT_FAILED,
                        "%s: a dimension is larger than this program reads (%zu)", parser->path,
                        NPY_SIDE_MAX);
        }
    }
    if (parser->at == begin) {
        return bad_header(parser, "a number is missing in the shape");
    }
    *size = value;
    return 0;
}

// A tuple of numbers: (), (3,), (3, 4), (3, 4,)
static int parse_shape(struct parser *parser)
{
    if (!take(parser, '(')) {
        return bad_header(parser, "the shape is not a tuple");
    }
    while (!take(parser, ')')) {
        size_t size = 0;
        int status = parse_size(parser, &size);
        if (status != 0) {
            return status;
        }
        if (parser->dimensions < 2) {
            parser->shape[parser->dimensions] = size;
        }
        parser->dimensions++;
        bool comma = take(parser, ',');
        if (!comma && (parser->dimensions == 1 || parser->at == parser->end ||
                       *parser->at != ')')) { // (3) is no tuple
            return bad_header(parser, "the shape is not a tuple");
        }
    }
    return 0;
}

static int parse_entry(struct parser *parser)
{
    char key[16];
    int status = parse_string(parser, key, sizeof key);
    if (status != 0) {
        return status;
    }
    if (!take(parser, ':')) {
        return bad_header(parser, "a key has no value");
    }
    unsigned bit = 0;
    if (strcmp(key, "descr") == 0) {
        bit = SEEN_DESCR;
        skip_spaces(parser);
        if (parser->at < parser->end && *parser->at == '[') {
            return fail(parser->failure, EXIT_FAILED,
                        "%s: a structured dtype; wanted is '<f4' or '<f2'", parser->path);
        }
        status = parse_string(parser, parser->descr, sizeof parser->descr);
    } else if (strcmp(key, "fortran_order") == 0) {
        bit = SEEN_ORDER;
        parser->fortran_order = take_word(parser, "True");
        if (!parser->fortran_order && !take_word(parser, "False")) {
            status = bad_header(parser, "fortran_order is neither True nor False");
        }
    } else if (strcmp(key, "shape") == 0) {
        bit = SEEN_SHAPE;
        parser->dimensions = 0;
        status = parse_shape(parser);
    } else {
        return bad_header(parser, "it has a key that is none of descr, fortran_order, shape");
    }
    if (status == 0 && (parser->seen & bit) != 0) {
        status = bad_header(parser, "a key is there twice");
    }
    parser->seen |= bit;
    return status;
}

// The dict, then spaces, then one newline at the very end.
static int parse_dict(struct parser *parser)
{
    if (!take(parser, '{')) {
        return bad_header(parser, "it does not begin with '{'");
    }
    while (!take(parser, '}')) {
        int status = parse_entry(parser);
        if (status != 0) {
            return status;
        }
        if (!take(parser, ',')) {
            if (!take(parser, '}')) {
                return bad_header(parser, "entries are not separated by a comma");
            }
            break;
        }
    }
    if (parser->seen != SEEN_ALL) {
        return bad_header(parser, "one of descr, fortran_order, shape is missing");
    }
    if (!take(parser, '\n') || parser->at != parser->end) {
        return bad_header(parser, "it does not end with spaces and one newline");
    }
    return 0;
}

static int check_meaning(const struct parser *parser)
{
    struct failure *failure = parser->failure;
    if (strcmp(parser->descr, "<f4") != 0 && strcmp(parser->descr, "<f2") != 0) {
        return fail(failure, EXIT_FAILED,
                    "%s: the dtype is '%s', wanted is '<f4' or '<f2' (little-endian float32 or "
                    "float16)",
                    parser->path, parser->descr);
    }
    if (parser->fortran_order) {
        return fail(failure, EXIT_FAILED,
                    "%s: the matrix is in Fortran order, wanted is C order "
                    "(numpy.ascontiguousarray)",
                    parser->path);
    }
    if (parser->dimensions != 2) {
        return fail(failure, EXIT_FAILED,
                    "%s: the array has %zu dimension%s, wanted is a matrix (2)", parser->path,
                    parser->dimensions, parser->dimensions == 1 ? "" : "s");
    }
    if (parser->shape[0] == 0 || parser->shape[1] == 0) {
        return fail(failure, EXIT_FAILED, "%s: the matrix is empty (%zu x %zu)", parser->path,
                    parser->shape[0], parser->shape[1]);
    }
    return 0;
}

int npy_header_parse(const char *text, size_t length, const char *path, struct npy_header *header,
                     struct failure *failure)
{
    struct parser parser = {.at = text, .end = text + length, .path = path, .failure = failure};
    int status = parse_dict(&parser);
    if (status == 0) {
        status = check_meaning(&parser);
    }
    if (status != 0) {
        return status;
    }
    header->rows = parser.shape[0];
    header->cols = parser.shape[1];
    header->element_bytes = (size_t)(parser.descr[2] - '0');
    return 0;
}
