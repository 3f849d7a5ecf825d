// SPDX-License-Identifier: Apache-2.0
// The JSON of a trace. Two passes over the events: the first collects where arrows may begin,
// sorted, so that the second finds for each end the last beginning before it.

#include "base/trace_write.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/trace_text.h"

enum { TRACKS_MAX = 1024 }; // names of a rank; tids are rank by rank
_Static_assert(TERN__TRACE_NAME_BYTES <= TERN__TRACE_TEXT_MAX, "names of events are strings");

// Where an arrow may begin.
struct origin {
    uint64_t key;
    int64_t begin_ns;
    int rank;
    int track;
};

struct writer {
    FILE *file;
    struct origin *origins;
    size_t origins_count, origins_room;
    uint64_t arrows, pairs; // ids given
    int64_t zero_ns;        // where the file's time begins: its earliest event
    bool out_of_memory;
    const struct tern__trace_machines *machines; // NULL: one
    // Of the rank that is being written:
    int rank;
    char (*names)[TERN__TRACE_TRACK_BYTES];
    int names_count;
};

uint32_t tern__trace_rank_events(const struct tern__trace_rank *rank,
                                 const struct tern__trace_track *track)
{
    uint32_t count = tern__observe(&track->count); // partner: tern__trace_put
    return rank->capacity > 0 && count > rank->capacity ? rank->capacity : count;
}

const struct tern__trace_track *tern__trace_rank_next(const struct tern__trace_rank *rank,
                                                      const struct tern__trace_track *track)
{
    return track + 1 + (rank->capacity > 0 ? rank->capacity : tern__trace_rank_events(rank, track));
}

// The number of a track among those of its rank; a name that is new gets the next one. Tracks of
// one name are one: their events do not overlap.
static int track_number(struct writer *writer, const struct tern__trace_track *track, bool *is_new)
{
    *is_new = false;
    for (int i = 0; i < writer->names_count; i++) {
        if (strncmp(writer->names[i], track->name, TERN__TRACE_TRACK_BYTES) == 0) {
            return i;
        }
    }
    if (writer->names_count == TRACKS_MAX) {
        return TRACKS_MAX - 1;
    }
    *is_new = true;
    memcpy(writer->names[writer->names_count], track->name, TERN__TRACE_TRACK_BYTES);
    return writer->names_count++;
}

static int tid_of(int rank, int track)
{
    return (rank + 1) * TRACKS_MAX + track;
}

// Since the earliest event. Readers keep times as doubles, which have no room for nanoseconds
// beside the uptime of a machine that has been up for years.
static void write_moment(const struct writer *writer, int64_t time_ns)
{
    tern__trace_time(writer->file, "ts", time_ns - writer->zero_ns);
}

// `{"ph":P,"pid":...,"tid":...`
static void write_place(struct writer *writer, const char *phase, int rank, int track)
{
    fprintf(writer->file, ",\n{\"ph\":\"%s\",\"pid\":%d,\"tid\":%d", phase, rank + 1,
            tid_of(rank, track));
}

static void write_name(FILE *file, const struct tern__trace_event *event)
{
    fputs(",\"name\":\"", file);
    tern__trace_text(file, event->name, sizeof event->name);
    if (event->number > 0) {
        fprintf(file, " #%" PRIu64, event->number);
    }
    fputc('"', file);
}

static void write_args(FILE *file, const struct tern__trace_event *event)
{
    const char *between = "";
    fputs(",\"args\":{", file);
    if (event->bytes > 0 || event->kind == TERN__TRACE_TRANSFER ||
        event->kind == TERN__TRACE_CALL) {
        fprintf(file, "\"bytes\":%" PRIu64, event->bytes);
        between = ",";
    }
    if (event->algorithm[0] != '\0') {
        fprintf(file, "%s\"algorithm\":\"", between);
        tern__trace_text(file, event->algorithm, sizeof event->algorithm);
        fputc('"', file);
        between = ",";
    }
    if (event->way[0] != '\0') {
        fprintf(file, "%s\"way\":\"", between);
        tern__trace_text(file, event->way, sizeof event->way);
        fputc('"', file);
        between = ",";
    }
    if ((event->has & TERN__TRACE_HAS_PEER) != 0) {
        fprintf(file, "%s\"peer\":%d", between, event->peer);
        between = ",";
    }
    if ((event->has & TERN__TRACE_HAS_SIGNAL) != 0) {
        fprintf(file, "%s\"signal\":%" PRIu64, between, event->signal);
    }
    fputs("}}", file);
}

static int compare_origins(const void *a, const void *b)
{
    const struct origin *x = a;
    const struct origin *y = b;
    if (x->key != y->key) {
        return x->key < y->key ? -1 : 1;
    }
    return (x->begin_ns > y->begin_ns) - (x->begin_ns < y->begin_ns);
}

static void add_origin(struct writer *writer, struct origin origin)
{
    if (writer->origins_count == writer->origins_room) {
        size_t room = writer->origins_room == 0 ? 1024 : 2 * writer->origins_room;
        struct origin *grown = realloc(writer->origins, room * sizeof *grown);
        if (grown == NULL) {
            writer->out_of_memory = true;
            return;
        }
        writer->origins = grown;
        writer->origins_room = room;
    }
    writer->origins[writer->origins_count++] = origin;
}

static void collect_origins(struct writer *writer, const struct tern__trace_rank *rank)
{
    const struct tern__trace_track *track = rank->tracks;
    for (uint32_t t = 0; t < rank->count; t++, track = tern__trace_rank_next(rank, track)) {
        bool is_new;
        int number = track_number(writer, track, &is_new);
        const struct tern__trace_event *events = tern__trace_events(track);
        for (uint32_t i = 0; i < tern__trace_rank_events(rank, track); i++) {
            if (events[i].begin_ns < writer->zero_ns) {
                writer->zero_ns = events[i].begin_ns;
            }
            if (events[i].out != 0 && (events[i].has & TERN__TRACE_OVERLAPS) == 0) {
                add_origin(writer, (struct origin){events[i].out, events[i].begin_ns, writer->rank,
                                                   number});
            }
        }
    }
}

// The first origin that is not before (key, time).
static size_t lower_bound(const struct writer *writer, uint64_t key, int64_t time_ns)
{
    size_t low = 0;
    size_t high = writer->origins_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const struct origin *origin = &writer->origins[middle];
        if (origin->key < key || (origin->key == key && origin->begin_ns < time_ns)) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

// What this arrow comes from; NULL when that is not in the trace.
static const struct origin *find_origin(const struct writer *writer, uint64_t key, uint16_t nth,
                                        int64_t end_ns, bool here)
{
    size_t low = lower_bound(writer, key, end_ns);
    size_t wanted = nth > 0 ? lower_bound(writer, key, INT64_MIN) + nth - 1 : low;
    if (wanted < low && (writer->origins[wanted].rank == writer->rank) == here) {
        return &writer->origins[wanted];
    }
    while (low > 0 && writer->origins[low - 1].key == key) {
        low--;
        if ((writer->origins[low].rank == writer->rank) == here) {
            return &writer->origins[low];
        }
    }
    return NULL;
}

// Both ends lie within their slices, and the end is later than the beginning.
static void write_arrow(struct writer *writer, int track, const struct tern__trace_event *event)
{
    bool at_begin = (event->has & TERN__TRACE_IN_AT_BEGIN) != 0;
    int64_t end_ns = event->begin_ns + (at_begin ? 0 : event->duration_ns - 1);
    const struct origin *origin =
        find_origin(writer, event->in, event->nth, end_ns, (event->has & TERN__TRACE_IN_HERE) != 0);
    if (origin == NULL) {
        return;
    }
    uint64_t id = ++writer->arrows;
    write_place(writer, "s", origin->rank, origin->track);
    write_moment(writer, origin->begin_ns);
    const char *name = (event->has & TERN__TRACE_IN_HERE) != 0 ? "after" : "notify";
    fprintf(writer->file, ",\"cat\":\"arrow\",\"name\":\"%s\",\"id\":%" PRIu64 "}", name, id);
    write_place(writer, "f", writer->rank, track);
    write_moment(writer, end_ns);
    fprintf(writer->file, ",\"bp\":\"e\",\"cat\":\"arrow\",\"name\":\"%s\",\"id\":%" PRIu64 "}",
            name, id);
}

static void write_event(struct writer *writer, int track, const struct tern__trace_event *event)
{
    static const char *const kinds[] = {"task", "wait", "transfer", "barrier", "call", "notify"};
    const char *kind = event->kind < sizeof kinds / sizeof kinds[0] ? kinds[event->kind] : "?";
    FILE *file = writer->file;
    bool overlaps = (event->has & TERN__TRACE_OVERLAPS) != 0;
    write_place(writer, overlaps ? "b" : "X", writer->rank, track);
    fprintf(file, ",\"cat\":\"%s\"", kind);
    write_moment(writer, event->begin_ns);
    write_name(file, event);
    if (!overlaps) {
        tern__trace_time(file, "dur", event->duration_ns);
        write_args(file, event);
        if (event->in != 0) {
            write_arrow(writer, track, event);
        }
        return;
    }
    // Readers take ids of all processes together.
    uint64_t id = ++writer->pairs;
    fprintf(file, ",\"id\":\"pair %" PRIu64 "\"", id);
    write_args(file, event);
    write_place(writer, "e", writer->rank, track);
    fprintf(file, ",\"cat\":\"%s\",\"id\":\"pair %" PRIu64 "\"", kind, id);
    write_moment(writer, event->begin_ns + event->duration_ns);
    write_name(file, event);
    fputc('}', file);
}

static void write_lost(struct writer *writer, int track, int64_t when_ns, uint32_t lost)
{
    write_place(writer, "i", writer->rank, track);
    write_moment(writer, when_ns);
    fprintf(writer->file,
            ",\"s\":\"t\",\"cat\":\"lost\",\"name\":\"%u events lost\",\"args\":{\"lost\":%u}}",
            lost, lost);
}

static void write_track(struct writer *writer, const struct tern__trace_rank *rank,
                        const struct tern__trace_track *track)
{
    bool is_new;
    int number = track_number(writer, track, &is_new);
    if (is_new) {
        write_place(writer, "M", writer->rank, number);
        fputs(",\"name\":\"thread_name\",\"args\":{\"name\":\"", writer->file);
        tern__trace_text(writer->file, track->name, sizeof track->name);
        fputs("\"}}", writer->file);
    }
    const struct tern__trace_event *events = tern__trace_events(track);
    uint32_t count = tern__trace_rank_events(rank, track);
    for (uint32_t i = 0; i < count; i++) {
        write_event(writer, number, &events[i]);
    }
    uint32_t lost = tern__peek(&track->lost);
    if (lost > 0 && count > 0) {
        write_lost(writer, number, events[count - 1].begin_ns, lost);
    }
}

static const struct tern__trace_machine *machine_of(const struct writer *writer, int rank)
{
    for (int i = 0; writer->machines != NULL && i < writer->machines->count; i++) {
        if ((writer->machines->list[i].ranks >> rank & 1) != 0) {
            return &writer->machines->list[i];
        }
    }
    return NULL;
}

// "on b, killed by signal 9", as far as there is something to say.
static void write_labels(struct writer *writer, const char *ending)
{
    const struct tern__trace_machine *machine = machine_of(writer, writer->rank);
    if (machine == NULL && ending == NULL) {
        return;
    }
    fprintf(writer->file,
            ",\n{\"ph\":\"M\",\"pid\":%d,\"name\":\"process_labels\",\"args\":{\"labels\":\"",
            writer->rank + 1);
    if (machine != NULL) {
        fputs("on ", writer->file);
        tern__trace_text(writer->file, machine->name, TERN__TRACE_TEXT_MAX);
        fputs(ending != NULL ? ", " : "", writer->file);
    }
    tern__trace_text(writer->file, ending != NULL ? ending : "", TERN__TRACE_TEXT_MAX);
    fputs("\"}}", writer->file);
}

static void write_rank(struct writer *writer, const struct tern__trace_rank *rank)
{
    fprintf(writer->file,
            "%s{\"ph\":\"M\",\"pid\":%d,\"name\":\"process_name\",\"args\":{\"name\":\"rank "
            "%d\"}},\n{\"ph\":\"M\",\"pid\":%d,\"name\":\"process_sort_index\",\"args\":{"
            "\"sort_index\":%d}}",
            writer->rank == 0 ? "" : ",\n", writer->rank + 1, writer->rank, writer->rank + 1,
            writer->rank);
    write_labels(writer, rank->ending);
    const struct tern__trace_track *track = rank->tracks;
    for (uint32_t t = 0; t < rank->count; t++, track = tern__trace_rank_next(rank, track)) {
        write_track(writer, rank, track);
    }
}

static void write_point(FILE *file, const char *before, const struct tern__clock_point *point)
{
    // As strings: readers keep numbers as doubles.
    fprintf(file,
            "%s{\"at_ns\":\"%" PRId64 "\",\"offset_ns\":\"%" PRId64 "\",\"error_ns\":\"%" PRId64
            "\"}",
            before, point->at_ns, point->offset_ns, point->error_ns);
}

// Whose clock it is, and what was added to the times of each machine.
static void write_machines(const struct writer *writer)
{
    FILE *file = writer->file;
    const struct tern__trace_machines *machines = writer->machines;
    if (machines == NULL) {
        return;
    }
    fputs("\"clock_of\":\"", file);
    tern__trace_text(file, machines->clock_of, TERN__TRACE_TEXT_MAX);
    fputs("\",\"machines\":[", file);
    for (int i = 0; i < machines->count; i++) {
        const struct tern__trace_machine *machine = &machines->list[i];
        const char *before = "";
        fprintf(file, "%s\n{\"machine\":\"", i > 0 ? "," : "");
        tern__trace_text(file, machine->name, TERN__TRACE_TEXT_MAX);
        fputs("\",\"ranks\":[", file);
        for (uint64_t ranks = machine->ranks; ranks != 0; ranks &= ranks - 1) {
            fprintf(file, "%s%d", before, __builtin_ctzll(ranks));
            before = ",";
        }
        fputs("],\"clock\":[", file);
        if (tern__clock_line_known(&machine->clock)) {
            write_point(file, "", &machine->clock.begin);
            write_point(file, ",", &machine->clock.end);
        }
        fputs("]}", file);
    }
    fputs("],", file);
}

void tern__trace_move(struct tern__trace_event *event, const struct tern__clock_line *clock)
{
    int64_t end_ns = tern__clock_line_map(clock, event->begin_ns + event->duration_ns);
    event->begin_ns = tern__clock_line_map(clock, event->begin_ns);
    event->duration_ns = end_ns > event->begin_ns ? end_ns - event->begin_ns : 1;
}

int tern__trace_write(FILE *file, const struct tern__trace_rank *ranks, int nranks,
                      const struct tern__trace_machines *machines,
                      const struct tern__trace_simulated *simulated)
{
    struct writer writer = {.file = file,
                            .machines = machines,
                            .names = calloc(TRACKS_MAX, sizeof *writer.names),
                            .zero_ns = INT64_MAX};
    for (writer.rank = 0; writer.names != NULL && writer.rank < nranks; writer.rank++) {
        writer.names_count = 0;
        collect_origins(&writer, &ranks[writer.rank]);
    }
    if (writer.names == NULL || writer.out_of_memory) {
        free(writer.names);
        free(writer.origins);
        return tern__fail(TERN_ERR_MEMORY, "no memory for the arrows of a trace");
    }
    if (writer.origins_count > 0) {
        qsort(writer.origins, writer.origins_count, sizeof *writer.origins, compare_origins);
    }
    writer.zero_ns = writer.zero_ns == INT64_MAX || simulated != NULL ? 0 : writer.zero_ns;
    fprintf(file, "{\"displayTimeUnit\":\"ns\",\"otherData\":{\"clock\":\"%s\",",
            simulated != NULL ? "simulated" : "CLOCK_MONOTONIC");
    write_machines(&writer);
    fprintf(file, "\"zero_ns\":\"%" PRId64 "\"},\"traceEvents\":[\n", writer.zero_ns);
    for (writer.rank = 0; writer.rank < nranks; writer.rank++) {
        writer.names_count = 0;
        write_rank(&writer, &ranks[writer.rank]);
    }
    if (simulated != NULL) {
        tern__trace_write_counters(file, simulated, nranks + 1);
    }
    fputs("\n]}\n", file);
    free(writer.names);
    free(writer.origins);
    return TERN_OK;
}
