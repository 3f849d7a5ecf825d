// SPDX-License-Identifier: Apache-2.0
// Reads a topology file: JSON of exactly one schema (docs/topology.md), everything else refused
// with line and column (base/json.h).

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/json.h"
#include "topo/reader.h"

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

static int read_from(struct tern__json *json, const char *name)
{
    struct tern__topo_reader *reader = json->into;
    return read_whole(json, name, 0, &reader->entry.from);
}

static int read_to(struct tern__json *json, const char *name)
{
    struct tern__topo_reader *reader = json->into;
    return read_whole(json, name, 0, &reader->entry.to);
}

static int read_both(struct tern__json *json, const char *name)
{
    struct tern__topo_reader *reader = json->into;
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
    struct tern__topo_reader *reader = json->into;
    return tern__reader_range(json, name, TERN_TOPO_GBPS_MIN, TERN_TOPO_GBPS_MAX,
                              &reader->entry.link.bandwidth_GBps);
}

static int read_latency(struct tern__json *json, const char *name)
{
    struct tern__topo_reader *reader = json->into;
    return tern__reader_range(json, name, 0, TERN_TOPO_US_MAX, &reader->entry.link.latency_us);
}

static int read_ranks(struct tern__json *json, const char *name)
{
    struct tern__topo_reader *reader = json->into;
    return read_whole(json, name, 1, &reader->size);
}

static int read_links(struct tern__json *json, const char *name);
static int read_machines(struct tern__json *json, const char *name);

// The machine being read.
static struct tern__topo_machine *machine_of(struct tern__json *json)
{
    struct tern__topo_reader *reader = json->into;
    return &reader->machines[reader->machine_count];
}

static int read_port(struct tern__json *json, const char *name)
{
    return tern__reader_range(json, name, TERN_TOPO_GBPS_MIN, TERN_TOPO_GBPS_MAX,
                              &machine_of(json)->port_GBps);
}

static int read_machine_latency(struct tern__json *json, const char *name)
{
    return tern__reader_range(json, name, 0, TERN_TOPO_US_MAX, &machine_of(json)->latency_us);
}

static int read_name(struct tern__json *json, const char *name)
{
    struct tern__topo_machine *machine = machine_of(json);
    return tern__reader_name(json, name, machine->name, sizeof machine->name);
}

static int read_placed(struct tern__json *json)
{
    struct tern__topo_reader *reader = json->into;
    const char *at = json->at;
    int rank;
    TERN_TRY(read_whole(json, "a rank of a machine", 0, &rank));
    if (reader->placed[rank].at != NULL) {
        return tern__json_wrong(json, at, "rank %d is on a machine already, number %d of them",
                                rank, reader->placed[rank].machine + 1);
    }
    reader->placed[rank] = (struct tern__topo_placed){reader->machine_count, at};
    machine_of(json)->count++;
    return TERN_OK;
}

static int read_machine_ranks(struct tern__json *json, const char *name)
{
    return tern__json_read_array(json, name, "a rank", read_placed);
}

static const struct tern__json_field machine_fields[] = {
    {"ranks", true, read_machine_ranks},
    {"name", false, read_name},
    {"port_gbytes_per_s", true, read_port},
    {"latency_us", true, read_machine_latency},
    {NULL, false, NULL},
};

static const struct tern__json_field link_fields[] = {
    {"from", true, read_from},
    {"to", true, read_to},
    {"bandwidth_GBps", true, read_bandwidth},
    {"latency_us", true, read_latency},
    {"both", false, read_both},
    {"uses", false, tern__reader_uses},
    {NULL, false, NULL},
};
static const struct tern__json_field file_fields[] = {
    {"ranks", true, read_ranks},
    {"links", true, read_links},
    {"machines", false, read_machines},
    {"resources", false, tern__reader_resources},
    {NULL, false, NULL},
};

static const struct tern__json_object link_object = {"a link", link_fields, false,
                                                     tern__reader_hint};
static const struct tern__json_object machine_object = {"a machine", machine_fields, false, NULL};
static const struct tern__json_object file_object = {"the file", file_fields, false, NULL};

static int keep_entry(struct tern__topo_reader *reader)
{
    if (reader->entry_count == reader->entry_room) {
        size_t room = reader->entry_room > 0 ? 2 * reader->entry_room : 64;
        struct tern__topo_entry *entries = realloc(reader->entries, room * sizeof *entries);
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
    struct tern__topo_reader *reader = json->into;
    reader->entry = (struct tern__topo_entry){.at = json->at};
    TERN_TRY(tern__json_read_object(json, &link_object));
    return keep_entry(reader);
}

static int read_links(struct tern__json *json, const char *name)
{
    return tern__json_read_array(json, name, "a link", read_link);
}

static int read_machine(struct tern__json *json)
{
    struct tern__topo_reader *reader = json->into;
    const char *at = json->at;
    if (reader->machine_count == TERN_TOPO_RANKS_MAX) {
        return tern__json_wrong(json, at, "there are more than %d machines", TERN_TOPO_RANKS_MAX);
    }
    if (reader->machine_count == reader->machine_room) {
        int room = reader->machine_room > 0 ? 2 * reader->machine_room : 16;
        struct tern__topo_machine *machines =
            realloc(reader->machines, (size_t)room * sizeof *machines);
        if (machines == NULL) {
            return tern__fail(TERN_ERR_MEMORY, "no memory for %d machines", room);
        }
        reader->machines = machines;
        reader->machine_room = room;
    }
    struct tern__topo_machine *machine = machine_of(json);
    *machine = (struct tern__topo_machine){0};
    tern__topo_name_machine(machine->name, reader->machine_count);
    TERN_TRY(tern__json_read_object(json, &machine_object));
    if (machine->count == 0) {
        return tern__json_wrong(json, at, "machine %s has no ranks", machine->name);
    }
    for (int other = 0; other < reader->machine_count; other++) {
        if (strcmp(reader->machines[other].name, machine->name) == 0) {
            return tern__json_wrong(json, at, "two machines have the name %s", machine->name);
        }
    }
    reader->machine_count++;
    return TERN_OK;
}

static int read_machines(struct tern__json *json, const char *name)
{
    struct tern__topo_reader *reader = json->into;
    reader->machines_at = json->at;
    TERN_TRY(tern__json_read_array(json, name, "a machine", read_machine));
    return reader->machine_count > 0
               ? TERN_OK
               : tern__json_wrong(json, reader->machines_at, "there must be a machine");
}

// Every rank is on one machine, and no other is.
static int place(const struct tern__topo_reader *reader, tern_topo *topo)
{
    int of[TERN_TOPO_RANKS_MAX];
    for (int rank = 0; rank < TERN_TOPO_RANKS_MAX; rank++) {
        const struct tern__topo_placed *placed = &reader->placed[rank];
        if (placed->at != NULL && rank >= reader->size) {
            return tern__json_wrong(&reader->json, placed->at,
                                    "rank %d: \"ranks\" is %d, so ranks are 0 to %d", rank,
                                    reader->size, reader->size - 1);
        }
        if (placed->at == NULL && rank < reader->size) {
            return tern__json_wrong(&reader->json, reader->machines_at,
                                    "rank %d is on no machine; every rank must be on one", rank);
        }
        of[rank] = placed->machine;
    }
    TERN_TRY(tern__reader_check_ports(reader, of));
    return tern__topo_set_machines(topo, reader->machines, reader->machine_count, of);
}

static int add_link(const struct tern__topo_reader *reader, const struct tern__topo_entry *entry,
                    int from, int to, tern_topo *topo)
{
    if (tern_topo_link(topo, from, to, NULL)) {
        return tern__json_wrong(&reader->json, entry->at, "link %d>%d is stated twice", from, to);
    }
    tern__topo_add(topo, from, to, entry->link);
    tern__reader_add_uses(reader, entry, from, to, topo);
    return TERN_OK;
}

static int add_entry(const struct tern__topo_reader *reader, const struct tern__topo_entry *entry,
                     tern_topo *topo)
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

static int read_file(struct tern__topo_reader *reader, tern_topo **topo)
{
    TERN_TRY(tern__json_read_object(&reader->json, &file_object));
    TERN_TRY(tern__json_read_end(&reader->json));
    tern_topo *made = NULL;
    TERN_TRY(tern__reader_check_uses(reader));
    TERN_TRY(tern__topo_new(reader->json.name, reader->size, &made));
    int status = tern__reader_state(reader, made);
    for (size_t i = 0; i < reader->entry_count && status == TERN_OK; i++) {
        status = add_entry(reader, &reader->entries[i], made);
    }
    if (status == TERN_OK && reader->machine_count > 0) {
        status = place(reader, made);
    }
    if (status != TERN_OK) {
        tern_topo_destroy(made);
        return status;
    }
    *topo = made;
    return TERN_OK;
}

int tern__topo_from_json(const char *name, const char *text, size_t size, tern_topo **topo)
{
    struct tern__topo_reader *reader = calloc(1, sizeof *reader);
    if (reader == NULL) {
        return tern__fail(TERN_ERR_MEMORY, "no memory to read %.100s", name);
    }
    reader->json = (struct tern__json){
        .name = name, .text = text, .at = text, .end = text + size, .into = reader};
    int status = read_file(reader, topo);
    free(reader->entries);
    free(reader->machines);
    free(reader->named);
    free(reader);
    return status;
}
