// SPDX-License-Identifier: Apache-2.0
// Gathering the events of all ranks into one Chrome trace: every rank puts its events into a
// window, rank 0 writes the file. On one machine the clock is the machine's, so no times need to be
// aligned; between machines see comm/trace_machines.h.

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/digest.h"
#include "base/error.h"
#include "base/public.h"
#include "base/trace_write.h"
#include "comm/comm.h"
#include "comm/trace_machines.h"
#include "tern/file.h"
#include "tern/trace.h"
#include "tern/window.h"

#define EVENTS_DEFAULT 65536
#define EVENTS_LIMIT ((size_t)1 << 26)

// The tracks of this rank, one after the other, as they will lie in the window.
struct collection {
    struct tern__trace_event *units; // a track's head is as large as an event
    size_t count;                    // units
    uint32_t tracks;
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
        return tern__fail(TERN_ERR_STATE,
                          "tern_trace_begin: recording is on already (by an earlier "
                          "tern_trace_begin, or by 'tern run --trace')");
    }
    return TERN_OK;
}

int tern_trace_begin(size_t events_max)
{
    return TERN__CALL(trace_begin(events_max));
}

static void collect(void *arg, const struct tern__trace_track *track)
{
    struct collection *all = arg;
    size_t units = 1 + (size_t)tern__peek(&track->count);
    struct tern__trace_event *grown = realloc(all->units, (all->count + units) * sizeof *grown);
    if (grown == NULL) {
        all->out_of_memory = true;
        return;
    }
    all->units = grown;
    memcpy((void *)(grown + all->count), (const void *)track, units * sizeof *grown);
    all->count += units;
    all->tracks++;
}

// What each rank says of itself; units is UINT64_MAX when it does not record.
struct offer {
    uint64_t units;
    uint64_t path; // a digest of it
    uint64_t tracks;
};

struct output {
    tern_window *window;
    int nranks;
    const struct offer *offers;
    struct tern__trace_clocks clocks;
    struct tern__trace_event *fetched[TERN_RANKS_MAX]; // of ranks on other machines
};

static int write_trace(FILE *file, void *arg)
{
    const struct output *output = arg;
    struct tern__trace_rank ranks[TERN_RANKS_MAX];
    for (int rank = 0; rank < output->nranks; rank++) {
        const void *tracks = output->fetched[rank] != NULL
                                 ? output->fetched[rank]
                                 : tern_window_address(output->window, rank);
        ranks[rank] = (struct tern__trace_rank){.tracks = tracks,
                                                .count = (uint32_t)output->offers[rank].tracks};
    }
    return tern__trace_write(file, ranks, output->nranks,
                             output->clocks.machines.count > 0 ? &output->clocks.machines : NULL,
                             NULL);
}

// On rank 0.
static int save(struct output *output, const char *path)
{
    int status = TERN_OK;
    for (int rank = 0; status == TERN_OK && rank < output->nranks; rank++) {
        if (!tern__window_is_mapped(output->window, rank)) {
            status = tern__trace_fetch(output->window, rank, output->offers[rank].units,
                                       &output->clocks, &output->fetched[rank]);
        }
    }
    if (status == TERN_OK) {
        status = tern_file_save(path, write_trace, output);
    }
    for (int rank = 0; rank < output->nranks; rank++) {
        free(output->fetched[rank]);
    }
    return status;
}

// A path in a sentence: its last part when it is long, for that is where paths differ.
struct told_path {
    char text[4 * TERN__CELL_BYTES];
};

static void tell_path(const char *path, struct told_path *told)
{
    size_t length = strlen(path);
    bool whole = length < sizeof told->text;
    memset(told, 0, sizeof *told);
    snprintf(told->text, sizeof told->text, "%s%s", whole ? "" : "...",
             whole ? path : path + length - (sizeof told->text - 4));
}

// On all ranks, when `odd` has another path than rank 0: names both.
static int different_paths(struct tern__group *group, const char *path, int odd)
{
    struct told_path mine;
    struct told_path first = {0};
    struct told_path other = {0};
    tell_path(path, &mine);
    for (size_t at = 0; at < sizeof mine.text; at += TERN__CELL_BYTES) {
        char all[TERN_RANKS_MAX][TERN__CELL_BYTES];
        TERN_TRY(tern__group_exchange(group, TERN__MEETING_TRACE, mine.text + at, TERN__CELL_BYTES,
                                      all));
        memcpy(first.text + at, all[0], TERN__CELL_BYTES);
        memcpy(other.text + at, all[odd], TERN__CELL_BYTES);
    }
    return tern__fail(TERN_ERR_MISMATCH,
                      "tern_trace_end: %s wants the trace in '%s', %s in '%s'; all ranks must pass "
                      "the same path",
                      tern__rank_name(group, 0).text, first.text, tern__rank_name(group, odd).text,
                      other.text);
}

// `recorded`: whether recording was on in this process.
static int gather(tern_comm *comm, const char *path, const struct collection *mine, bool recorded)
{
    struct tern__group *group = &comm->group;
    struct offer own = {recorded ? mine->count : UINT64_MAX,
                        tern__digest_add(TERN__DIGEST_EMPTY, path, strlen(path)), mine->tracks};
    struct offer offers[TERN_RANKS_MAX];
    uint64_t most = 1;
    TERN_TRY(tern__group_exchange(group, TERN__MEETING_TRACE, &own, sizeof own, offers));
    if (!recorded) {
        return tern__fail(TERN_ERR_STATE, "tern_trace_end: this rank does not record; call "
                                          "tern_trace_begin first");
    }
    for (int rank = 0; rank < group->size; rank++) {
        if (offers[rank].units == UINT64_MAX) {
            return tern__fail(
                TERN_ERR_STATE,
                "tern_trace_end: %s does not record; all ranks call tern_trace_begin first",
                tern__rank_name(group, rank).text);
        }
    }
    for (int rank = 1; rank < group->size; rank++) {
        if (offers[rank].path != offers[0].path) {
            return different_paths(group, path, rank);
        }
    }
    for (int rank = 0; rank < group->size; rank++) {
        most = offers[rank].units > most ? offers[rank].units : most;
    }
    tern_window *window;
    TERN_TRY(tern_window_create(comm, most * sizeof *mine->units, NULL, &window));
    if (mine->count > 0) {
        memcpy(tern_window_address(window, group->rank), mine->units,
               mine->count * sizeof *mine->units);
    }
    struct output output = {.window = window, .nranks = group->size, .offers = offers};
    int32_t status = tern__trace_clocks_measure(group, &output.clocks);
    if (status == TERN_OK) {
        status = tern__group_barrier(group, TERN__MEETING_TRACE);
    }
    if (status == TERN_OK && group->rank == 0) {
        status = save(&output, path);
    }
    int32_t statuses[TERN_RANKS_MAX];
    int exchanged =
        tern__group_exchange(group, TERN__MEETING_TRACE, &status, sizeof status, statuses);
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
    free(mine.units);
    if (status == TERN_OK && mine.out_of_memory) {
        return tern__fail(TERN_ERR_MEMORY, "tern_trace_end: no memory for all events of this rank");
    }
    return status;
}

int tern_trace_end(tern_comm *comm, const char *path)
{
    return TERN__CALL_OF_CALLS(trace_end(comm, path));
}
