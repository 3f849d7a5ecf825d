// SPDX-License-Identifier: Apache-2.0
// Reads a topology file: JSON of exactly one schema (docs/topology.md), everything else refused
// with line and column (base/json.h).

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/json.h"
#include "topo/topo.h"

struct entry { // a link as stated
    int from;
    int to;
    bool both;
    tern_link link;
    const char *at;
};

struct reader {
    struct tern__json json;
    int size; // ranks
    struct entry *entries;
    size_t entry_count;
    size_t entry_room;
    struct entry entry; // being read
};

static int read_whole(struct tern__json *json, const char *name, int low, int *value)
{
    char text[32];
    const char *at = json->at;
    double number;
    bool whole = tern__topo_read_whole(&at, value);
    const char *other = json->at;
    if (!whole || !tern__topo_read_number(&other, &number) || other != at || *value < low ||
        *value > TERN_TOPO_RANKS_MAX - 1 + low) {
        return tern__json_wrong(json, json->at,
                                "\"%s\" must be a whole number from %d to %d, not %s", name, low,
                                TERN_TOPO_RANKS_MAX - 1 + low, tern__json_found(json, text));
    }
    json->at = at;
    return TERN_OK;
}

static int read_range(struct tern__json *json, const char *name, double low, double high,
                      double *value)
{
    char text[32];
    const char *at = json->at;
    if (!tern__topo_read_number(&at, value) || !(*value >= low && *value <= high)) {
        return tern__json_wrong(json, json->at, "\"%s\" must be a number from %g to %g, not %s",
                                name, low, high, tern__json_found(json, text));
    }
    json->at = at;
    return TERN_OK;
}

static int read_from(struct tern__json *json, const char *name)
{
    struct reader *reader = json->into;
    return read_whole(json, name, 0, &reader->entry.from);
}

static int read_to(struct tern__json *json, const char *name)
{
    struct reader *reader = json->into;
    return read_whole(json, name, 0, &reader->entry.to);
}

static int read_both(struct tern__json *json, const char *name)
{
    struct reader *reader = json->into;
    char text[32];
    bool yes = strncmp(json->at, "true", 4) == 0;
    if (!yes && strncmp(json->at, "false", 5) != 0) {
        return tern__json_wrong(json, json->at, "\"%s\" must be true or false, not %s", name,
                                tern__json_found(json, text));
    }
    json->at += yes ? 4 : 5;
    reader->entry.both = yes;
    return TERN_OK;
}

static int read_bandwidth(struct tern__json *json, const char *name)
{
    struct reader *reader = json->into;
    return read_range(json, name, TERN_TOPO_GBPS_MIN, TERN_TOPO_GBPS_MAX,
                      &reader->entry.link.bandwidth_GBps);
}

static int read_latency(struct tern__json *json, const char *name)
{
    struct reader *reader = json->into;
    return read_range(json, name, 0, TERN_TOPO_US_MAX, &reader->entry.link.latency_us);
}

static int read_ranks(struct tern__json *json, const char *name)
{
    struct reader *reader = json->into;
    return read_whole(json, name, 1, &reader->size);
}

static int read_links(struct tern__json *json, const char *name);

static const struct tern__json_field link_fields[] = {
    {"from", true, read_from},
    {"to", true, read_to},
    {"bandwidth_GBps", true, read_bandwidth},
    {"latency_us", true, read_latency},
    {"both", false, read_both},
    {NULL, false, NULL},
};
static const struct tern__json_field file_fields[] = {
    {"ranks", true, read_ranks},
    {"links", true, read_links},
    {NULL, false, NULL},
};

// Gb are gigabits, GB gigabytes.
static const char *hint(const char *name, size_t length)
{
    return length == 14 && memcmp(name, "bandwidth_gbps", length) == 0
               ? "; bandwidths are in GB/s, 10^9 bytes per second, not in gigabits"
               : NULL;
}

static const struct tern__json_object link_object = {"a link", link_fields, false, hint};
static const struct tern__json_object file_object = {"the file", file_fields, false, NULL};

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

static int read_link(struct tern__json *json)
{
    struct reader *reader = json->into;
    reader->entry = (struct entry){.at = json->at};
    TERN_TRY(tern__json_read_object(json, &link_object));
    return keep_entry(reader);
}

static int read_links(struct tern__json *json, const char *name)
{
    return tern__json_read_array(json, name, "a link", read_link);
}

static int add_link(const struct reader *reader, const struct entry *entry, int from, int to,
                    tern_topo *topo)
{
    if (tern_topo_link(topo, from, to, NULL)) {
        return tern__json_wrong(&reader->json, entry->at, "link %d>%d is stated twice", from, to);
    }
    tern__topo_add(topo, from, to, entry->link);
    return TERN_OK;
}

static int add_entry(const struct reader *reader, const struct entry *entry, tern_topo *topo)
{
    if (entry->from >= reader->size || entry->to >= reader->size) {
        return tern__json_wrong(&reader->json, entry->at,
                                "link %d>%d: \"ranks\" is %d, so ranks are 0 to %d", entry->from,
                                entry->to, reader->size, reader->size - 1);
    }
    if (entry->from == entry->to) {
        return tern__json_wrong(&reader->json, entry->at, "a rank needs no link to itself (%d>%d)",
                                entry->from, entry->to);
    }
    TERN_TRY(add_link(reader, entry, entry->from, entry->to, topo));
    return entry->both ? add_link(reader, entry, entry->to, entry->from, topo) : TERN_OK;
}

static int read_file(struct reader *reader, tern_topo **topo)
{
    TERN_TRY(tern__json_read_object(&reader->json, &file_object));
    TERN_TRY(tern__json_read_end(&reader->json));
    tern_topo *made = NULL;
    TERN_TRY(tern__topo_new(reader->json.name, reader->size, &made));
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
    struct reader reader = {.json = {.name = name, .text = text, .at = text, .end = text + size}};
    reader.json.into = &reader;
    int status = read_file(&reader, topo);
    free(reader.entries);
    return status;
}
