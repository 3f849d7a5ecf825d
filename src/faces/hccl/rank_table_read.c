// SPDX-License-Identifier: Apache-2.0
// Reads rank tables. Set-up path.

#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/json.h"
#include "base/options.h"
#include "faces/hccl/rank_table.h"

enum { DEVICE_MAX = 1 << 20, WORD_BYTES = 128 };

struct reader {
    struct tern__hccl_table *table;
    bool known[TERN_RANKS_MAX]; // ranks
    int count;                  // of devices so far
    int rank, device;           // of the device being read
    long server_count;          // as stated; -1: not
    const char *server_count_at;
    char status[WORD_BYTES], version[WORD_BYTES];
};

// A number, in quotes as the format has it, or without.
static int read_number(struct tern__json *json, const char *name, long most, long *number)
{
    char word[WORD_BYTES] = "";
    const char *start = json->at;
    if (*start == '"') {
        TERN_TRY(tern__json_read_string(json, name, word, sizeof word));
    } else {
        size_t digits = strspn(start, "-0123456789");
        memcpy(word, start, digits < sizeof word ? digits : 0);
        json->at += digits;
    }
    if (tern__parse_integer(word, 0, most, number) != 0) {
        char text[32];
        json->at = start;
        return tern__json_wrong(json, start, "\"%s\" must be a number from 0 to %ld, not %s%s%s",
                                name, most, *start == '"' ? "\"" : "",
                                *start == '"' ? word : tern__json_found(json, text),
                                *start == '"' ? "\"" : "");
    }
    return TERN_OK;
}

static int read_rank(struct tern__json *json, const char *name)
{
    struct reader *reader = json->into;
    const char *start = json->at;
    long rank;
    TERN_TRY(read_number(json, name, TERN_RANKS_MAX - 1, &rank));
    if (reader->known[rank]) {
        return tern__json_wrong(json, start, "rank %ld is stated twice", rank);
    }
    reader->known[rank] = true;
    reader->rank = (int)rank;
    return TERN_OK;
}

static int read_device_id(struct tern__json *json, const char *name)
{
    struct reader *reader = json->into;
    long device;
    TERN_TRY(read_number(json, name, DEVICE_MAX, &device));
    reader->device = (int)device;
    return TERN_OK;
}

static int read_server_id(struct tern__json *json, const char *name)
{
    struct reader *reader = json->into;
    struct tern__hccl_table *table = reader->table;
    const char *start = json->at;
    char *id = table->server_ids[table->servers];
    TERN_TRY(tern__json_read_string(json, name, id, TERN__HCCL_SERVER_ID_BYTES));
    for (int i = 0; i < table->servers; i++) {
        if (strcmp(table->server_ids[i], id) == 0) {
            return tern__json_wrong(json, start, "server \"%s\" is stated twice", id);
        }
    }
    return TERN_OK;
}

static const struct tern__json_field device_fields[] = {
    {"device_id", true, read_device_id},
    {"rank_id", true, read_rank},
    {NULL, false, NULL},
};
static const struct tern__json_object device_object = {"a device", device_fields, true, NULL};

static int read_device(struct tern__json *json)
{
    struct reader *reader = json->into;
    struct tern__hccl_table *table = reader->table;
    const char *start = json->at;
    TERN_TRY(tern__json_read_object(json, &device_object));
    for (int rank = 0; rank < TERN_RANKS_MAX; rank++) {
        if (rank != reader->rank && table->server_of[rank] == table->servers &&
            table->device_of[rank] == reader->device) {
            return tern__json_wrong(json, start, "device %d of this server is of rank %d already",
                                    reader->device, rank);
        }
    }
    table->server_of[reader->rank] = table->servers;
    table->device_of[reader->rank] = reader->device;
    reader->count++;
    return TERN_OK;
}

static int read_devices(struct tern__json *json, const char *name)
{
    return tern__json_read_array(json, name, "a device", read_device);
}

static const struct tern__json_field server_fields[] = {
    {"server_id", true, read_server_id},
    {"device", true, read_devices},
    {NULL, false, NULL},
};
static const struct tern__json_object server_object = {"a server", server_fields, true, NULL};

static int read_server(struct tern__json *json)
{
    struct reader *reader = json->into;
    const char *start = json->at;
    if (reader->table->servers == TERN_RANKS_MAX) {
        return tern__json_wrong(json, start, "there are at most %d servers", TERN_RANKS_MAX);
    }
    int before = reader->count;
    TERN_TRY(tern__json_read_object(json, &server_object));
    if (reader->count == before) {
        return tern__json_wrong(json, start, "this server has no device");
    }
    reader->table->servers++;
    return TERN_OK;
}

static int read_servers(struct tern__json *json, const char *name)
{
    return tern__json_read_array(json, name, "a server", read_server);
}

static int read_server_count(struct tern__json *json, const char *name)
{
    struct reader *reader = json->into;
    reader->server_count_at = json->at;
    return read_number(json, name, INT_MAX, &reader->server_count);
}

static int read_status(struct tern__json *json, const char *name)
{
    struct reader *reader = json->into;
    const char *start = json->at;
    TERN_TRY(tern__json_read_string(json, name, reader->status, sizeof reader->status));
    if (strcmp(reader->status, "completed") != 0) {
        return tern__json_wrong(json, start,
                                "the table's status is \"%s\"; it can be used when it is "
                                "\"completed\"",
                                reader->status);
    }
    return TERN_OK;
}

static int read_version(struct tern__json *json, const char *name)
{
    struct reader *reader = json->into;
    const char *start = json->at;
    TERN_TRY(tern__json_read_string(json, name, reader->version, sizeof reader->version));
    if (strcmp(reader->version, "1.0") != 0 && strcmp(reader->version, "1.1") != 0 &&
        strcmp(reader->version, "1.2") != 0) {
        return tern__json_wrong(json, start, "version \"%s\"; there are \"1.0\", \"1.1\", \"1.2\"",
                                reader->version);
    }
    return TERN_OK;
}

static const struct tern__json_field table_fields[] = {
    {"status", true, read_status},
    {"version", false, read_version},
    {"server_count", false, read_server_count},
    {"server_list", true, read_servers},
    {NULL, false, NULL},
};
static const struct tern__json_object table_object = {"a rank table", table_fields, true, NULL};

int tern__hccl_table_read(const char *name, const char *text, size_t size,
                          struct tern__hccl_table *table)
{
    struct reader reader = {.table = table, .server_count = -1};
    struct tern__json json = {
        .name = name, .text = text, .at = text, .end = text + size, .into = &reader};
    memset(table, 0, sizeof *table);
    memset(table->server_of, 0xff, sizeof table->server_of); // -1
    TERN_TRY(tern__json_read_object(&json, &table_object));
    TERN_TRY(tern__json_read_end(&json));
    table->ranks = reader.count;
    if (reader.count == 0) {
        return tern__json_wrong(&json, text, "the table has no server");
    }
    for (int rank = 0; rank < reader.count; rank++) {
        if (!reader.known[rank]) {
            return tern__json_wrong(&json, text,
                                    "the table has %d devices, but no rank %d; ranks are 0 to %d",
                                    reader.count, rank, reader.count - 1);
        }
    }
    if (reader.server_count >= 0 && reader.server_count != table->servers) {
        return tern__json_wrong(&json, reader.server_count_at,
                                "\"server_count\" is %ld, but \"server_list\" has %d servers",
                                reader.server_count, table->servers);
    }
    return TERN_OK;
}
