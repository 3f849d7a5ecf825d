// SPDX-License-Identifier: Apache-2.0
// Reads a topology file: JSON of exactly one schema (docs/topology.md), everything else refused
// with line and column. The schema drives the reader, so nesting is at most its own three deep,
// whatever the file holds. Why no library: those at hand (cJSON, Jansson) forget where a value
// stood, so a wrong value could not be shown, and this one place would be the library's only
// dependency beyond libc.

#include <limits.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "topo/topo.h"

struct entry { // a link as stated
    int from;
    int to;
    bool both;
    tern_link link;
    const char *at;
};

struct reader {
    const char *name;
    const char *text;
    const char *at;
    const char *end; // *end is 0
    int size;        // ranks
    struct entry *entries;
    size_t entry_count;
    size_t entry_room;
    struct entry entry; // being read
};

struct field {
    const char *name;
    bool needed;
    int (*read)(struct reader *reader, const char *name);
};

// Fails with "file:line:column: sentence". Columns are bytes, from 1.
TERN_PRINTF(3, 4)
static int wrong(const struct reader *reader, const char *at, const char *format, ...)
{
    int line = 1;
    const char *start = reader->text;
    for (const char *seen = reader->text; seen < at; seen++) {
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
    return tern__fail(TERN_ERR_ARG, "%.300s:%d:%td: %s", reader->name, line, at - start + 1,
                      sentence);
}

// What stands at the reader, for a sentence.
static const char *found(const struct reader *reader, char text[32])
{
    unsigned char c = (unsigned char)*reader->at;
    if (reader->at == reader->end) {
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
        if (strncmp(reader->at, literals[i], strlen(literals[i])) == 0) {
            return literals[i];
        }
    }
    if (c == '-' || (c >= '0' && c <= '9')) {
        int digits = (int)strspn(reader->at, "-+.0123456789eE");
        snprintf(text, 32, "%.*s%s", digits > 20 ? 20 : digits, reader->at,
                 digits > 20 ? "..." : "");
    } else {
        snprintf(text, 32, c > ' ' && c < 127 ? "'%c'" : "byte 0x%02x", c);
    }
    return text;
}

static void skip_blanks(struct reader *reader)
{
    while (*reader->at == ' ' || *reader->at == '\t' || *reader->at == '\n' ||
           *reader->at == '\r') {
        reader->at++;
    }
}

// Steps over blanks and the character; says where it should have been.
static int expect(struct reader *reader, char wanted, const char *where)
{
    char text[32];
    skip_blanks(reader);
    if (*reader->at != wanted) {
        return wrong(reader, reader->at, "'%c' expected %s, found %s", wanted, where,
                     found(reader, text));
    }
    reader->at++;
    return TERN_OK;
}

// Whether a list goes on after a value; the reader then stands behind the comma.
static int more(struct reader *reader, char closing, const char *what, bool *goes_on)
{
    char text[32];
    skip_blanks(reader);
    if (*reader->at != ',' && *reader->at != closing) {
        return wrong(reader, reader->at, "',' or '%c' expected after %s, found %s", closing, what,
                     found(reader, text));
    }
    *goes_on = *reader->at++ == ',';
    return TERN_OK;
}

static int read_whole(struct reader *reader, const char *name, int low, int *value)
{
    char text[32];
    const char *at = reader->at;
    double number;
    bool whole = tern__topo_read_whole(&at, value);
    const char *other = reader->at;
    if (!whole || !tern__topo_read_number(&other, &number) || other != at || *value < low ||
        *value > TERN_TOPO_RANKS_MAX - 1 + low) {
        return wrong(reader, reader->at, "\"%s\" must be a whole number from %d to %d, not %s",
                     name, low, TERN_TOPO_RANKS_MAX - 1 + low, found(reader, text));
    }
    reader->at = at;
    return TERN_OK;
}

static int read_range(struct reader *reader, const char *name, double low, double high,
                      double *value)
{
    char text[32];
    const char *at = reader->at;
    if (!tern__topo_read_number(&at, value) || !(*value >= low && *value <= high)) {
        return wrong(reader, reader->at, "\"%s\" must be a number from %g to %g, not %s", name, low,
                     high, found(reader, text));
    }
    reader->at = at;
    return TERN_OK;
}

static int read_from(struct reader *reader, const char *name)
{
    return read_whole(reader, name, 0, &reader->entry.from);
}

static int read_to(struct reader *reader, const char *name)
{
    return read_whole(reader, name, 0, &reader->entry.to);
}

static int read_both(struct reader *reader, const char *name)
{
    char text[32];
    bool yes = strncmp(reader->at, "true", 4) == 0;
    if (!yes && strncmp(reader->at, "false", 5) != 0) {
        return wrong(reader, reader->at, "\"%s\" must be true or false, not %s", name,
                     found(reader, text));
    }
    reader->at += yes ? 4 : 5;
    reader->entry.both = yes;
    return TERN_OK;
}

static int read_bandwidth(struct reader *reader, const char *name)
{
    return read_range(reader, name, TERN_TOPO_GBPS_MIN, TERN_TOPO_GBPS_MAX,
                      &reader->entry.link.bandwidth_GBps);
}

static int read_latency(struct reader *reader, const char *name)
{
    return read_range(reader, name, 0, TERN_TOPO_US_MAX, &reader->entry.link.latency_us);
}

static int read_ranks(struct reader *reader, const char *name)
{
    return read_whole(reader, name, 1, &reader->size);
}

static int read_links(struct reader *reader, const char *name);

#define FIELDS_MAX 8
static const struct field link_fields[] = {
    {"from", true, read_from},
    {"to", true, read_to},
    {"bandwidth_GBps", true, read_bandwidth},
    {"latency_us", true, read_latency},
    {"both", false, read_both},
    {NULL, false, NULL},
};
static const struct field file_fields[] = {
    {"ranks", true, read_ranks},
    {"links", true, read_links},
    {NULL, false, NULL},
};

// Reads `"name":` and finds the field. Names have no escapes here: no name of the schema needs one.
static int read_name(struct reader *reader, const struct field *fields, const char *what,
                     int *index)
{
    skip_blanks(reader);
    const char *start = reader->at;
    TERN_TRY(expect(reader, '"', "before a name"));
    size_t length = 0;
    while ((unsigned char)reader->at[length] >= ' ' && reader->at[length] != '"' &&
           reader->at[length] != '\\') {
        length++;
    }
    char known[128] = "";
    for (int i = 0; fields[i].name != NULL; i++) {
        if (strlen(fields[i].name) == length && reader->at[length] == '"' &&
            memcmp(fields[i].name, reader->at, length) == 0) {
            reader->at += length + 1;
            *index = i;
            return expect(reader, ':', "after a name");
        }
        size_t used = strlen(known);
        snprintf(known + used, sizeof known - used, "%s%s", i == 0 ? "" : ", ", fields[i].name);
    }
    // Gb are gigabits, GB gigabytes.
    bool units = length == 14 && memcmp(reader->at, "bandwidth_gbps", length) == 0;
    return wrong(reader, start, "\"%.*s\" is no field of %s; there are %s%s",
                 length < 60 ? (int)length : 60, reader->at, what, known,
                 units ? "; bandwidths are in GB/s, 10^9 bytes per second, not in gigabits" : "");
}

static int check_needed(const struct reader *reader, const char *start, const struct field *fields,
                        const char *what, const bool *seen)
{
    for (int i = 0; fields[i].name != NULL; i++) {
        if (fields[i].needed && !seen[i]) {
            return wrong(reader, start, "%s has no \"%s\"", what, fields[i].name);
        }
    }
    return TERN_OK;
}

static int read_object(struct reader *reader, const struct field *fields, const char *what)
{
    char text[32];
    bool seen[FIELDS_MAX] = {false};
    skip_blanks(reader);
    const char *start = reader->at;
    if (*start != '{') {
        return wrong(reader, start, "%s must be an object, not %s", what, found(reader, text));
    }
    reader->at++;
    skip_blanks(reader);
    bool goes_on = *reader->at != '}';
    reader->at += goes_on ? 0 : 1;
    while (goes_on) {
        int index = 0;
        skip_blanks(reader);
        const char *name_at = reader->at;
        TERN_TRY(read_name(reader, fields, what, &index));
        if (seen[index]) {
            return wrong(reader, name_at, "\"%s\" is stated twice", fields[index].name);
        }
        seen[index] = true;
        skip_blanks(reader);
        TERN_TRY(fields[index].read(reader, fields[index].name));
        TERN_TRY(more(reader, '}', "a value", &goes_on));
    }
    return check_needed(reader, start, fields, what, seen);
}

static int keep_entry(struct reader *reader)
{
    if (reader->entry_count == reader->entry_room) {
        size_t room = reader->entry_room > 0 ? 2 * reader->entry_room : 64;
        struct entry *entries = realloc(reader->entries, room * sizeof *entries);
        if (entries == NULL) {
            return tern__fail(TERN_ERR_MEMORY, "no memory for %zu links", room);
        }
        reader->entries = entries;
        reader->entry_room = room;
    }
    reader->entries[reader->entry_count++] = reader->entry;
    return TERN_OK;
}

static int read_links(struct reader *reader, const char *name)
{
    char text[32];
    if (*reader->at != '[') {
        return wrong(reader, reader->at, "\"%s\" must be an array of links, not %s", name,
                     found(reader, text));
    }
    reader->at++;
    skip_blanks(reader);
    bool goes_on = *reader->at != ']';
    reader->at += goes_on ? 0 : 1;
    while (goes_on) {
        skip_blanks(reader);
        reader->entry = (struct entry){.at = reader->at};
        TERN_TRY(read_object(reader, link_fields, "a link"));
        TERN_TRY(keep_entry(reader));
        TERN_TRY(more(reader, ']', "a link", &goes_on));
    }
    return TERN_OK;
}

static int add_link(const struct reader *reader, const struct entry *entry, int from, int to,
                    tern_topo *topo)
{
    if (tern_topo_link(topo, from, to, NULL)) {
        return wrong(reader, entry->at, "link %d>%d is stated twice", from, to);
    }
    tern__topo_add(topo, from, to, entry->link);
    return TERN_OK;
}

static int add_entry(const struct reader *reader, const struct entry *entry, tern_topo *topo)
{
    if (entry->from >= reader->size || entry->to >= reader->size) {
        return wrong(reader, entry->at, "link %d>%d: \"ranks\" is %d, so ranks are 0 to %d",
                     entry->from, entry->to, reader->size, reader->size - 1);
    }
    if (entry->from == entry->to) {
        return wrong(reader, entry->at, "a rank needs no link to itself (%d>%d)", entry->from,
                     entry->to);
    }
    TERN_TRY(add_link(reader, entry, entry->from, entry->to, topo));
    return entry->both ? add_link(reader, entry, entry->to, entry->from, topo) : TERN_OK;
}

static int read_file(struct reader *reader, tern_topo **topo)
{
    char text[32];
    TERN_TRY(read_object(reader, file_fields, "the file"));
    skip_blanks(reader);
    if (reader->at != reader->end) {
        return wrong(reader, reader->at, "the file must end after its object, but there is %s",
                     found(reader, text));
    }
    tern_topo *made = NULL;
    TERN_TRY(tern__topo_new(reader->name, reader->size, &made));
    for (size_t i = 0; i < reader->entry_count; i++) {
        int status = add_entry(reader, &reader->entries[i], made);
        if (status != TERN_OK) {
            tern_topo_destroy(made);
            return status;
        }
    }
    *topo = made;
    return TERN_OK;
}

int tern__topo_from_json(const char *name, const char *text, size_t size, tern_topo **topo)
{
    struct reader reader = {.name = name, .text = text, .at = text, .end = text + size};
    int status = read_file(&reader, topo);
    free(reader.entries);
    return status;
}
