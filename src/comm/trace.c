// SPDX-License-Identifier: Apache-2.0
// Gathering the events of all ranks into one Chrome trace: every rank puts its events into a window,
// rank 0 writes the file. The clock is the machine's, so no times need to be aligned.

#include "base/trace.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/public.h"
#include "base/error.h"
#include "comm/comm.h"
#include "tern/file.h"
#include "tern/trace.h"
#include "tern/window.h"

#define EVENTS_DEFAULT 65536
#define EVENTS_LIMIT ((size_t)1 << 26)

// An event with the track it belongs to, as it lies in the window.
struct record {
    char track[TERN__TRACE_TRACK_BYTES];
    struct tern__trace_event event;
};

struct collection {
    struct record *records;
    size_t count;
    size_t room;
    bool out_of_memory;
};

static int trace_begin(size_t events_max)
{
    size_t events = events_max == 0 ? EVENTS_DEFAULT : events_max;
    if (events > EVENTS_LIMIT) {
        return tern__fail(TERN_ERR_LIMIT, "tern_trace_begin: %zu events per thread; at most %zu",
                          events_max, EVENTS_LIMIT);
    }
    if (!tern__trace_begin(events)) {
        return tern__fail(TERN_ERR_STATE, "tern_trace_begin: recording is on already");
    }
    return TERN_OK;
}

int tern_trace_begin(size_t events_max)
{
    return TERN__CALL(trace_begin(events_max));
}

static void collect(void *arg, const char *track, const struct tern__trace_event *event)
{
    struct collection *all = arg;
    if (all->count == all->room) {
        size_t room = all->room == 0 ? 1024 : 2 * all->room;
        struct record *grown = realloc(all->records, room * sizeof *grown);
        if (grown == NULL) {
            all->out_of_memory = true;
            return;
        }
        all->records = grown;
        all->room = room;
    }
    struct record *record = &all->records[all->count++];
    memcpy(record->track, track, sizeof record->track);
    record->event = *event;
}

// Bytes of the UTF-8 character that begins here: 2..4, or 0 when it is none. Names are any bytes and
// may have been cut inside a character.
static size_t utf8_bytes(const char *text)
{
    const unsigned char *c = (const unsigned char *)text;
    size_t bytes = c[0] >= 0xc2 && c[0] <= 0xdf   ? 2
                   : c[0] >= 0xe0 && c[0] <= 0xef ? 3
                   : c[0] >= 0xf0 && c[0] <= 0xf4 ? 4
                                                  : 0;
    for (size_t i = 1; i < bytes; i++) {
        if ((c[i] & 0xc0) != 0x80) { // also the end of the text
            return 0;
        }
    }
    bool overlong = (c[0] == 0xe0 && c[1] < 0xa0) || (c[0] == 0xf0 && c[1] < 0x90);
    bool beyond = (c[0] == 0xed && c[1] > 0x9f) || (c[0] == 0xf4 && c[1] > 0x8f);
    return overlong || beyond ? 0 : bytes;
}

// A JSON string without its quotes.
static void write_escaped(FILE *file, const char *text)
{
    for (; *text != '\0'; text++) {
        unsigned char c = (unsigned char)*text;
        size_t bytes = c >= 0x80 ? utf8_bytes(text) : 1;
        if (c == '"' || c == '\\') {
            fprintf(file, "\\%c", c);
        } else if (c < 0x20) {
            fprintf(file, "\\u%04x", c);
        } else if (bytes == 0) {
            fputs("\\ufffd", file);
        } else {
            fwrite(text, 1, bytes, file);
            text += bytes - 1;
        }
    }
}

// Microseconds; not with %f, whose decimal point is the locale's.
static void write_time(FILE *file, const char *key, int64_t time_ns)
{
    fprintf(file, ",\"%s\":%" PRId64 ".%03d", key, time_ns / 1000, (int)(time_ns % 1000));
}

// The number of a track among those of its rank; names a new one in the file.
static int track_number(FILE *file, int rank, const char *track,
                        char known[][TERN__TRACE_TRACK_BYTES], int *count, int most)
{
    for (int i = 0; i < *count; i++) {
        if (strncmp(known[i], track, TERN__TRACE_TRACK_BYTES) == 0) {
            return i;
        }
    }
    if (*count == most) {
        return most - 1;
    }
    memcpy(known[*count], track, TERN__TRACE_TRACK_BYTES);
    fprintf(file,
            ",\n{\"ph\":\"M\",\"pid\":%d,\"tid\":%d,\"name\":\"thread_name\",\"args\":{"
            "\"name\":\"",
            rank, *count);
    write_escaped(file, track);
    fprintf(file, "\"}}");
    return (*count)++;
}

static void write_rank(FILE *file, int rank, const struct record *records, size_t count)
{
    static const char *const kinds[] = {"task", "wait", "transfer", "barrier", "lost"};
    enum { TRACKS_MAX = 1024 };
    char(*tracks)[TERN__TRACE_TRACK_BYTES] = calloc(TRACKS_MAX, sizeof *tracks);
    int tracks_count = 0;
    fprintf(file,
            "%s{\"ph\":\"M\",\"pid\":%d,\"name\":\"process_name\",\"args\":{\"name\":\"rank "
            "%d\"}}",
            rank == 0 ? "" : ",\n", rank, rank);
    for (size_t i = 0; tracks != NULL && i < count; i++) {
        const struct tern__trace_event *event = &records[i].event;
        int track = track_number(file, rank, records[i].track, tracks, &tracks_count, TRACKS_MAX);
        const char *kind = event->kind < sizeof kinds / sizeof kinds[0] ? kinds[event->kind] : "?";
        // Waits of the scheduler overlap one another: async events of their own.
        bool overlaps =
            event->kind == TERN__TRACE_WAIT && strncmp(records[i].track, "scheduler", 9) == 0;
        fprintf(file, ",\n{\"ph\":\"%s\",\"pid\":%d,\"tid\":%d,\"cat\":\"%s\"",
                overlaps ? "b" : "X", rank, track, kind);
        write_time(file, "ts", event->begin_ns);
        fprintf(file, ",\"name\":\"");
        write_escaped(file, event->name);
        if (!overlaps) {
            fprintf(file, "\"");
            write_time(file, "dur", event->duration_ns);
            fprintf(file, ",\"args\":{\"bytes\":%" PRIu64 "}}", event->bytes);
            continue;
        }
        // Readers take ids of all processes together, hence the rank in it.
        fprintf(file,
                "\",\"id\":\"%d.%zu\"},\n{\"ph\":\"e\",\"pid\":%d,\"tid\":%d,\"cat\":\"%s\","
                "\"id\":\"%d.%zu\"",
                rank, i, rank, track, kind, rank, i);
        write_time(file, "ts", event->begin_ns + event->duration_ns);
        fprintf(file, ",\"name\":\"");
        write_escaped(file, event->name);
        fprintf(file, "\"}");
    }
    free(tracks);
}

struct output {
    tern_window *window;
    int nranks;
    const uint64_t *counts;
};

static int write_trace(FILE *file, void *arg)
{
    const struct output *output = arg;
    fprintf(file, "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n");
    for (int rank = 0; rank < output->nranks; rank++) {
        write_rank(file, rank, tern_window_address(output->window, rank), output->counts[rank]);
    }
    fprintf(file, "\n]}\n");
    return TERN_OK;
}

// `recorded`: whether recording was on in this process.
static int gather(tern_comm *comm, const char *path, const struct collection *mine, bool recorded)
{
    struct tern__group *group = &comm->group;
    uint64_t count = recorded ? mine->count : UINT64_MAX;
    uint64_t counts[TERN_RANKS_MAX];
    uint64_t most = 1;
    TERN_TRY(tern__group_exchange(group, "tern_trace_end", &count, sizeof count, counts));
    if (!recorded) {
        return tern__fail(TERN_ERR_STATE, "tern_trace_end: recording is not on; call "
                                          "tern_trace_begin first");
    }
    for (int rank = 0; rank < group->size; rank++) {
        if (counts[rank] == UINT64_MAX) {
            return tern__fail(TERN_ERR_STATE, "tern_trace_end: recording is not on on rank %d",
                              rank);
        }
    }
    for (int rank = 0; rank < group->size; rank++) {
        most = counts[rank] > most ? counts[rank] : most;
    }
    tern_window *window;
    TERN_TRY(tern_window_create(comm, most * sizeof(struct record), NULL, &window));
    if (count > 0) {
        memcpy(tern_window_address(window, group->rank), mine->records,
               count * sizeof *mine->records);
    }
    int32_t status = tern__group_barrier(group, "tern_trace_end");
    if (status == TERN_OK && group->rank == 0) {
        struct output output = {window, group->size, counts};
        status = tern_file_save(path, write_trace, &output);
    }
    int32_t statuses[TERN_RANKS_MAX];
    int exchanged = tern__group_exchange(group, "tern_trace_end", &status, sizeof status, statuses);
    tern_window_destroy(window);
    TERN_TRY(exchanged);
    if (statuses[0] != TERN_OK && group->rank != 0) {
        return tern__fail(statuses[0], "tern_trace_end: rank 0 could not write '%s'", path);
    }
    return status;
}

static int trace_end(tern_comm *comm, const char *path)
{
    TERN_TRY(tern__comm_lives("tern_trace_end", comm));
    if (path == NULL) {
        return tern__fail(TERN_ERR_ARG, "tern_trace_end: path must not be NULL");
    }
    struct collection mine = {0};
    bool recorded = tern__trace_stop();
    if (recorded) {
        tern__trace_drain(collect, &mine);
    }
    int status = gather(comm, path, &mine, recorded);
    free(mine.records);
    if (status == TERN_OK && mine.out_of_memory) {
        return tern__fail(TERN_ERR_MEMORY, "tern_trace_end: no memory for all events of this rank");
    }
    return status;
}

int tern_trace_end(tern_comm *comm, const char *path)
{
    return TERN__CALL_OF_CALLS(trace_end(comm, path));
}
