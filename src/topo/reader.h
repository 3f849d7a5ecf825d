// SPDX-License-Identifier: Apache-2.0
// What the reader of a topology file keeps while it reads: fields may come in any order, so that
// links, machines and resources are put together at the end. json.c reads files, links and
// machines, json_resource.c resources.
#ifndef TERN_TOPO_READER_H
#define TERN_TOPO_READER_H

#include "base/json.h"
#include "topo/topo.h"

#define TERN__TOPO_STATED_MAX 4096 // resources of a file

struct tern__topo_entry { // a link as stated
    int from;
    int to;
    bool both;
    tern_link link;
    int uses[TERN_TOPO_USES_MAX]; // in reader->named
    int uses_count;
    const char *at;
};

// Where a rank was put on a machine.
struct tern__topo_placed {
    int machine;
    const char *at; // NULL: nowhere
};

struct tern__topo_named { // a resource that is stated, or used and not yet stated
    tern_topo_resource resource;
    int index;      // among those stated; -1: not stated
    const char *at; // where it was first named
};

struct tern__topo_reader {
    struct tern__json json;
    int size; // ranks
    const char *machines_at;
    struct tern__topo_machine *machines;
    int machine_count, machine_room;
    struct tern__topo_placed placed[TERN_TOPO_RANKS_MAX];
    struct tern__topo_entry *entries;
    size_t entry_count;
    size_t entry_room;
    struct tern__topo_entry entry; // being read
    struct tern__topo_named *named;
    int named_count, named_room, stated_count;
    int slots[2 * TERN__TOPO_STATED_MAX]; // 1 + index in `named`, found by the digest of the name
    struct tern__topo_named stating;      // the resource being read
};

// reader.c: a number, a name; and a hint about gigabits.
int tern__reader_range(struct tern__json *json, const char *name, double low, double high,
                       double *value);
int tern__reader_name(struct tern__json *json, const char *name, char *string, size_t room);
const char *tern__reader_hint(const char *name, size_t length);

// json_resource.c: the fields "resources" of a file and "uses" of a link.
int tern__reader_resources(struct tern__json *json, const char *name);
int tern__reader_uses(struct tern__json *json, const char *name);
// Whether all that is used is stated; and, of[rank] being its machine, whether nothing that is
// stated is called as a port, and links have room for the ports.
int tern__reader_check_uses(const struct tern__topo_reader *reader);
int tern__reader_check_ports(const struct tern__topo_reader *reader, const int *of);
// Gives a topology the resources, and a link that it has what it uses.
int tern__reader_state(const struct tern__topo_reader *reader, tern_topo *topo);
void tern__reader_add_uses(const struct tern__topo_reader *reader,
                           const struct tern__topo_entry *entry, int from, int to, tern_topo *topo);

#endif
