// SPDX-License-Identifier: Apache-2.0
// Resources of a topology file: read by name, in any order, and put together by number.

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/digest.h"
#include "base/error.h"
#include "topo/reader.h"

// The slot of a name, or the free one where it would go. There are twice as many as names.
static int slot_of(const struct tern__topo_reader *reader, const char *name)
{
    size_t slots = sizeof reader->slots / sizeof reader->slots[0];
    size_t slot = tern__digest_add(TERN__DIGEST_EMPTY, name, strlen(name)) % slots;
    while (reader->slots[slot] != 0 &&
           strcmp(reader->named[reader->slots[slot] - 1].resource.name, name) != 0) {
        slot = (slot + 1) % slots;
    }
    return (int)slot;
}

// The number of a name among those named, which grow when it is new; below 0: an error.
static int number_of(struct tern__topo_reader *reader, const char *name, const char *at)
{
    int slot = slot_of(reader, name);
    if (reader->slots[slot] != 0) {
        return reader->slots[slot] - 1;
    }
    if (reader->named_count == TERN__TOPO_STATED_MAX) {
        return tern__json_wrong(&reader->json, at, "there are more than %d resources",
                                TERN__TOPO_STATED_MAX);
    }
    if (reader->named_count == reader->named_room) {
        int room = reader->named_room > 0 ? 2 * reader->named_room : 16;
        struct tern__topo_named *named = realloc(reader->named, (size_t)room * sizeof *named);
        if (named == NULL) {
            return tern__fail(TERN_ERR_MEMORY, "no memory for %d resources", room);
        }
        reader->named = named;
        reader->named_room = room;
    }
    struct tern__topo_named *named = &reader->named[reader->named_count++];
    *named = (struct tern__topo_named){.index = -1, .at = at};
    snprintf(named->resource.name, sizeof named->resource.name, "%s", name);
    reader->slots[slot] = reader->named_count;
    return reader->named_count - 1;
}

// A name of a resource begins with a letter: a link to slow begins with a digit.
static int read_resource_name(struct tern__json *json, const char *field,
                              char name[TERN_TOPO_RESOURCE_NAME_BYTES])
{
    const char *at = json->at;
    TERN_TRY(tern__reader_name(json, field, name, TERN_TOPO_RESOURCE_NAME_BYTES));
    return isalpha((unsigned char)name[0])
               ? TERN_OK
               : tern__json_wrong(json, at, "\"%s\" must begin with a letter", field);
}

static int read_name(struct tern__json *json, const char *name)
{
    struct tern__topo_reader *reader = json->into;
    return read_resource_name(json, name, reader->stating.resource.name);
}

static int read_bandwidth(struct tern__json *json, const char *name)
{
    struct tern__topo_reader *reader = json->into;
    return tern__reader_range(json, name, TERN_TOPO_GBPS_MIN, TERN_TOPO_GBPS_MAX,
                              &reader->stating.resource.GBps);
}

static const struct tern__json_field resource_fields[] = {
    {"name", true, read_name},
    {"bandwidth_GBps", true, read_bandwidth},
    {NULL, false, NULL},
};

static const struct tern__json_object resource_object = {"a resource", resource_fields, false,
                                                         tern__reader_hint};

static int read_resource(struct tern__json *json)
{
    struct tern__topo_reader *reader = json->into;
    const char *at = json->at;
    TERN_TRY(tern__json_read_object(json, &resource_object));
    int number = number_of(reader, reader->stating.resource.name, at);
    TERN_TRY(number);
    struct tern__topo_named *named = &reader->named[number];
    if (named->index >= 0) {
        return tern__json_wrong(json, at, "two resources have the name %s", named->resource.name);
    }
    named->index = reader->stated_count++;
    named->at = at;
    named->resource = reader->stating.resource;
    return TERN_OK;
}

int tern__reader_resources(struct tern__json *json, const char *name)
{
    return tern__json_read_array(json, name, "a resource", read_resource);
}

static int read_use(struct tern__json *json)
{
    struct tern__topo_reader *reader = json->into;
    struct tern__topo_entry *entry = &reader->entry;
    char name[TERN_TOPO_RESOURCE_NAME_BYTES];
    const char *at = json->at;
    TERN_TRY(read_resource_name(json, "a name of uses", name));
    if (entry->uses_count == TERN_TOPO_USES_MAX) {
        return tern__json_wrong(json, at, "a link uses more than %d resources", TERN_TOPO_USES_MAX);
    }
    int number = number_of(reader, name, at);
    TERN_TRY(number);
    for (int i = 0; i < entry->uses_count; i++) {
        if (entry->uses[i] == number) {
            return tern__json_wrong(json, at, "\"uses\" has %s twice", name);
        }
    }
    entry->uses[entry->uses_count++] = number;
    return TERN_OK;
}

int tern__reader_uses(struct tern__json *json, const char *name)
{
    return tern__json_read_array(json, name, "a name", read_use);
}

int tern__reader_check_uses(const struct tern__topo_reader *reader)
{
    for (int i = 0; i < reader->named_count; i++) {
        if (reader->named[i].index < 0) {
            return tern__json_wrong(&reader->json, reader->named[i].at,
                                    "\"resources\" has none with the name %s",
                                    reader->named[i].resource.name);
        }
    }
    return TERN_OK;
}

int tern__reader_check_ports(const struct tern__topo_reader *reader, const int *of)
{
    for (int port = 0; port < 2 * reader->machine_count; port++) {
        char name[TERN_TOPO_RESOURCE_NAME_BYTES];
        snprintf(name, sizeof name, "%s.%s", reader->machines[port / 2].name,
                 port % 2 == 0 ? "out" : "in");
        int taken = reader->slots[slot_of(reader, name)];
        if (taken != 0) {
            return tern__json_wrong(&reader->json, reader->named[taken - 1].at,
                                    "%s is the name of the port of machine %s", name,
                                    reader->machines[port / 2].name);
        }
    }
    for (size_t i = 0; i < reader->entry_count; i++) {
        const struct tern__topo_entry *entry = &reader->entries[i];
        if (of[entry->from] != of[entry->to] && entry->uses_count > TERN_TOPO_USES_MAX - 2) {
            return tern__json_wrong(&reader->json, entry->at,
                                    "link %d>%d uses %d resources and the ports of two machines; "
                                    "there may be %d in all",
                                    entry->from, entry->to, entry->uses_count, TERN_TOPO_USES_MAX);
        }
    }
    return TERN_OK;
}

int tern__reader_state(const struct tern__topo_reader *reader, tern_topo *topo)
{
    topo->stated = calloc((size_t)reader->stated_count + 1, sizeof topo->stated[0]);
    if (topo->stated == NULL) {
        return tern__fail(TERN_ERR_MEMORY, "no memory for %d resources", reader->stated_count);
    }
    for (int i = 0; i < reader->named_count; i++) {
        topo->stated[reader->named[i].index] = reader->named[i].resource;
    }
    topo->stated_count = reader->stated_count;
    return TERN_OK;
}

static int by_number(const void *one, const void *other)
{
    return (int)*(const uint16_t *)one - (int)*(const uint16_t *)other;
}

void tern__reader_add_uses(const struct tern__topo_reader *reader,
                           const struct tern__topo_entry *entry, int from, int to, tern_topo *topo)
{
    uint16_t *uses = tern__topo_cell(topo, from, to)->uses;
    for (int i = 0; i < entry->uses_count; i++) {
        uses[i] = (uint16_t)(reader->named[entry->uses[i]].index + 1);
    }
    qsort(uses, (size_t)entry->uses_count, sizeof *uses, by_number);
}
