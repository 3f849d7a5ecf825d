// SPDX-License-Identifier: Apache-2.0
// The reader of JSON. Set-up path.

#include "base/json.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"

int tern__json_wrong(const struct tern__json *json, const char *at, const char *format, ...)
{
    int line = 1;
    const char *start = json->text;
    for (const char *seen = json->text; seen < at; seen++) {
        if (*seen == '\n') {
            line++;
            start = seen + 1;
        }
    }
    char sentence[400];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(sentence, sizeof sentence, format, arguments);
    va_end(arguments);
    return tern__fail(TERN_ERR_ARG, "%.300s:%d:%td: %s", json->name, line, at - start + 1,
                      sentence);
}

const char *tern__json_found(const struct tern__json *json, char text[32])
{
    unsigned char c = (unsigned char)*json->at;
    if (json->at == json->end) {
        return "the end of the file";
    }
    switch (c) {
    case '{':
        return "an object";
    case '[':
        return "an array";
    case '"':
        return "a string";
    default:
        break;
    }
    static const char *const literals[] = {"true", "false", "null"};
    for (size_t i = 0; i < sizeof literals / sizeof literals[0]; i++) {
        if (strncmp(json->at, literals[i], strlen(literals[i])) == 0) {
            return literals[i];
        }
    }
    if (c == '-' || (c >= '0' && c <= '9')) {
        int digits = (int)strspn(json->at, "-+.0123456789eE");
        snprintf(text, 32, "%.*s%s", digits > 20 ? 20 : digits, json->at, digits > 20 ? "..." : "");
    } else {
        snprintf(text, 32, c > ' ' && c < 127 ? "'%c'" : "byte 0x%02x", c);
    }
    return text;
}

static void skip_blanks(struct tern__json *json)
{
    while (*json->at == ' ' || *json->at == '\t' || *json->at == '\n' || *json->at == '\r') {
        json->at++;
    }
}

// Steps over blanks and the character; says where it should have been.
static int expect(struct tern__json *json, char wanted, const char *where)
{
    char text[32];
    skip_blanks(json);
    if (*json->at != wanted) {
        return tern__json_wrong(json, json->at, "'%c' expected %s, found %s", wanted, where,
                                tern__json_found(json, text));
    }
    json->at++;
    return TERN_OK;
}

// Whether a list goes on after a value; the reader then stands behind the comma.
static int more(struct tern__json *json, char closing, const char *what, bool *goes_on)
{
    char text[32];
    skip_blanks(json);
    if (*json->at != ',' && *json->at != closing) {
        return tern__json_wrong(json, json->at, "',' or '%c' expected after %s, found %s", closing,
                                what, tern__json_found(json, text));
    }
    *goes_on = *json->at++ == ',';
    return TERN_OK;
}

// Steps into a list; whether there is anything in it.
static bool enter(struct tern__json *json, char closing)
{
    json->at++;
    skip_blanks(json);
    bool goes_on = *json->at != closing;
    json->at += goes_on ? 0 : 1;
    return goes_on;
}

// Of what stands behind the opening quote: up to a quote, an escape, or what no string has.
static size_t plain_length(const struct tern__json *json)
{
    size_t length = 0;
    while ((unsigned char)json->at[length] >= ' ' && json->at[length] != '"' &&
           json->at[length] != '\\') {
        length++;
    }
    return length;
}

// Reads `"name":` and finds the field; *index is that of the NULL for one that is skipped.
static int read_name(struct tern__json *json, const struct tern__json_object *object, int *index)
{
    const struct tern__json_field *fields = object->fields;
    skip_blanks(json);
    const char *start = json->at;
    TERN_TRY(expect(json, '"', "before a name"));
    size_t length = plain_length(json);
    bool whole = json->at[length] == '"';
    char known[160] = "";
    int i = 0;
    for (; fields[i].name != NULL; i++) {
        if (strlen(fields[i].name) == length && whole &&
            memcmp(fields[i].name, json->at, length) == 0) {
            break;
        }
        size_t used = strlen(known);
        snprintf(known + used, sizeof known - used, "%s%s", i == 0 ? "" : ", ", fields[i].name);
    }
    if (fields[i].name != NULL || (object->open && whole)) {
        json->at += length + 1;
        *index = i;
        return expect(json, ':', "after a name");
    }
    if (json->at[length] == '\0') {
        json->at += length;
        return tern__json_wrong(json, json->at, "the text ends in the middle of a name");
    }
    const char *hint = object->hint != NULL ? object->hint(json->at, length) : NULL;
    return tern__json_wrong(json, start, "\"%.*s\" is no field of %s; there are %s%s",
                            length < 60 ? (int)length : 60, json->at, object->what, known,
                            hint != NULL ? hint : "");
}

int tern__json_read_object(struct tern__json *json, const struct tern__json_object *object)
{
    char text[32];
    bool seen[TERN__JSON_FIELDS_MAX] = {false};
    const struct tern__json_field *fields = object->fields;
    skip_blanks(json);
    const char *start = json->at;
    if (*start != '{') {
        return tern__json_wrong(json, start, "%s must be an object, not %s", object->what,
                                tern__json_found(json, text));
    }
    bool goes_on = enter(json, '}');
    while (goes_on) {
        int index = 0;
        skip_blanks(json);
        const char *name_at = json->at;
        TERN_TRY(read_name(json, object, &index));
        skip_blanks(json);
        if (fields[index].name == NULL) {
            TERN_TRY(tern__json_skip(json));
        } else if (seen[index]) {
            return tern__json_wrong(json, name_at, "\"%s\" is stated twice", fields[index].name);
        } else {
            seen[index] = true;
            TERN_TRY(fields[index].read(json, fields[index].name));
        }
        TERN_TRY(more(json, '}', "a value", &goes_on));
    }
    for (int i = 0; fields[i].name != NULL; i++) {
        if (fields[i].needed && !seen[i]) {
            return tern__json_wrong(json, start, "%s has no \"%s\"", object->what, fields[i].name);
        }
    }
    return TERN_OK;
}

int tern__json_read_array(struct tern__json *json, const char *name, const char *what,
                          int (*read)(struct tern__json *json))
{
    char text[32];
    if (*json->at != '[') {
        return tern__json_wrong(json, json->at, "\"%s\" must be an array of %ss, not %s", name,
                                strchr(what, ' ') != NULL ? strchr(what, ' ') + 1 : what,
                                tern__json_found(json, text));
    }
    bool goes_on = enter(json, ']');
    while (goes_on) {
        skip_blanks(json);
        TERN_TRY(read(json));
        TERN_TRY(more(json, ']', what, &goes_on));
    }
    return TERN_OK;
}

int tern__json_read_string(struct tern__json *json, const char *name, char *string, size_t room)
{
    char text[32];
    if (*json->at != '"') {
        return tern__json_wrong(json, json->at, "\"%s\" must be a string, not %s", name,
                                tern__json_found(json, text));
    }
    const char *start = json->at++;
    size_t length = plain_length(json);
    if (json->at[length] != '"') {
        json->at += length;
        return tern__json_wrong(json, json->at, "\"%s\" must be a string without escapes, found %s",
                                name, tern__json_found(json, text));
    }
    if (length >= room) {
        return tern__json_wrong(json, start, "\"%s\" has %zu bytes; there may be %zu", name, length,
                                room - 1);
    }
    memcpy(string, json->at, length);
    string[length] = '\0';
    json->at += length + 1;
    return TERN_OK;
}

// A string with escapes, or a number or word. Not more than its end is looked at.
static int skip_plain(struct tern__json *json)
{
    char text[32];
    const char *start = json->at;
    if (*start == '"') {
        for (json->at++; json->at != json->end && *json->at != '"'; json->at++) {
            json->at += *json->at == '\\' && json->at + 1 != json->end ? 1 : 0;
        }
        if (json->at == json->end) {
            return tern__json_wrong(json, start, "this string has no end");
        }
        json->at++;
        return TERN_OK;
    }
    size_t length = strspn(start, "+-.0123456789abcdefghijklmnopqrstuvwxyzE");
    if (length == 0) {
        return tern__json_wrong(json, start, "a value expected, found %s",
                                tern__json_found(json, text));
    }
    json->at += length;
    return TERN_OK;
}

int tern__json_skip(struct tern__json *json)
{
    char closing[TERN__JSON_DEPTH_MAX];
    int depth = 0;
    for (;;) {
        skip_blanks(json);
        bool opens = *json->at == '{' || *json->at == '[';
        if (opens && depth == TERN__JSON_DEPTH_MAX) {
            return tern__json_wrong(json, json->at, "nested more than %d deep", depth);
        }
        if (opens) {
            closing[depth] = *json->at == '{' ? '}' : ']';
            if (enter(json, closing[depth])) {
                depth++;
            } else {
                opens = false;
            }
        } else {
            TERN_TRY(skip_plain(json));
        }
        bool goes_on = opens;
        while (depth > 0 && !goes_on) {
            TERN_TRY(more(json, closing[depth - 1], "a value", &goes_on));
            depth -= goes_on ? 0 : 1;
        }
        if (depth == 0) {
            return TERN_OK;
        }
        if (closing[depth - 1] == '}') {
            skip_blanks(json);
            if (*json->at != '"') {
                return expect(json, '"', "before a name");
            }
            TERN_TRY(skip_plain(json));
            TERN_TRY(expect(json, ':', "after a name"));
        }
    }
}

int tern__json_read_end(struct tern__json *json)
{
    char text[32];
    skip_blanks(json);
    return json->at == json->end
               ? TERN_OK
               : tern__json_wrong(json, json->at,
                                  "the file must end after its object, but there is %s",
                                  tern__json_found(json, text));
}
