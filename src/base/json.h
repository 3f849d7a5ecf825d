// SPDX-License-Identifier: Apache-2.0
// A strict reader of JSON that a schema drives: every object is read by the list of its fields, and
// what is wrong is told with line and column. The schema's nesting bounds the recursion. Strings
// have no escapes and names of fields neither: no schema here needs one.
//
// Why no library: those at hand (cJSON, Jansson) forget where a value stood.
#ifndef TERN_BASE_JSON_H
#define TERN_BASE_JSON_H

#include <stdbool.h>
#include <stddef.h>

#include "tern/status.h"

#define TERN__JSON_FIELDS_MAX 12 // of an object
#define TERN__JSON_DEPTH_MAX 64  // of a value that is skipped

struct tern__json {
    const char *name; // of the file, for sentences
    const char *text;
    const char *at;
    const char *end; // *end is 0
    void *into;      // of the schema
};

// Reads the value of a field, where json->at stands.
struct tern__json_field {
    const char *name; // NULL ends the list
    bool needed;
    int (*read)(struct tern__json *json, const char *name);
};

struct tern__json_object {
    const char *what; // for sentences: "a link"
    const struct tern__json_field *fields;
    bool open; // fields that are not listed are skipped; else refused
    // What to say more about a name that is refused; NULL, or it answers NULL: nothing.
    const char *(*hint)(const char *name, size_t length);
};

// Fails with "file:line:column: sentence", TERN_ERR_ARG. Columns are bytes, from 1.
int tern__json_wrong(const struct tern__json *json, const char *at, const char *format, ...)
    TERN_PRINTF(3, 4);

// What stands at the reader, for a sentence.
const char *tern__json_found(const struct tern__json *json, char text[32]);

int tern__json_read_object(struct tern__json *json, const struct tern__json_object *object);

// Calls `read` for each value of an array; `what` names one of them, `name` the array.
int tern__json_read_array(struct tern__json *json, const char *name, const char *what,
                          int (*read)(struct tern__json *json));

// A string of less than `room` bytes.
int tern__json_read_string(struct tern__json *json, const char *name, char *string, size_t room);

// Any value.
int tern__json_skip(struct tern__json *json);

// Nothing but blanks is left.
int tern__json_read_end(struct tern__json *json);

#endif
