// SPDX-License-Identifier: Apache-2.0
// Regions for the ranks, and the file made of them.

#include "boot/launch_trace.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "base/trace_write.h"
#include "boot/launch_job.h"
#include "mem/memfd.h"
#include "tern/file.h"

struct tern__traces {
    int nranks;
    uint32_t capacity; // events of a track
    size_t bytes;      // of a region
    int fds[TERN_RANKS_MAX];
    struct tern__trace_region *regions[TERN_RANKS_MAX];
};

static int make_region(struct tern__traces *traces, int rank)
{
    void *base;
    TERN_TRY(tern__memfd_create("tern-trace", traces->bytes, false, &traces->fds[rank]));
    TERN_TRY(tern__memfd_map(traces->fds[rank], traces->bytes, &base));
    traces->regions[rank] = base;
    traces->regions[rank]->magic = TERN__TRACE_MAGIC;
    traces->regions[rank]->capacity = traces->capacity;
    return TERN_OK;
}

int tern__traces_create(int nranks, struct tern__traces **traces)
{
    struct tern__traces *made = calloc(1, sizeof *made);
    if (made == NULL) {
        return tern__fail(TERN_ERR_MEMORY, "tern_launch: no memory for a trace");
    }
    size_t share = TERN__LAUNCH_TRACE_BYTES / (size_t)nranks / 4 / sizeof(struct tern__trace_event);
    made->nranks = nranks;
    made->capacity =
        share < TERN__LAUNCH_TRACE_EVENTS_MAX ? (uint32_t)share : TERN__LAUNCH_TRACE_EVENTS_MAX;
    made->bytes = tern__round_up(tern__trace_region_bytes(made->capacity), tern__page_bytes());
    memset(made->fds, -1, sizeof made->fds);
    for (int rank = 0; rank < nranks; rank++) {
        int status = make_region(made, rank);
        if (status != TERN_OK) {
            tern__traces_destroy(made);
            return status;
        }
    }
    *traces = made;
    return TERN_OK;
}

void tern__traces_destroy(struct tern__traces *traces)
{
    for (int rank = 0; traces != NULL && rank < traces->nranks; rank++) {
        tern__memfd_unmap(traces->regions[rank], traces->bytes);
        if (traces->fds[rank] >= 0) {
            close(traces->fds[rank]);
        }
    }
    free(traces);
}

int tern__traces_fd(const struct tern__traces *traces, int rank)
{
    return traces->fds[rank];
}

static uint32_t tracks_of(const struct tern__trace_region *region)
{
    uint32_t used = tern__observe(&region->used); // partner: make_track
    return used < TERN__TRACE_TRACKS_MAX ? used : TERN__TRACE_TRACKS_MAX;
}

struct output {
    const struct tern__traces *traces;
    char endings[TERN_RANKS_MAX][32];
};

static int write_trace(FILE *file, void *arg)
{
    struct output *output = arg;
    const struct tern__traces *traces = output->traces;
    struct tern__trace_rank ranks[TERN_RANKS_MAX];
    for (int rank = 0; rank < traces->nranks; rank++) {
        struct tern__trace_region *region = traces->regions[rank];
        const char *ending = output->endings[rank];
        ranks[rank] = (struct tern__trace_rank){
            .tracks = tern__trace_region_track(region, traces->capacity, 0),
            .count = tracks_of(region),
            .capacity = traces->capacity,
            .ending = ending[0] != '\0' ? ending : NULL,
        };
    }
    return tern__trace_write(file, ranks, traces->nranks);
}

// What a rank has recorded and lost; threads that found no track count as one event.
static void count_events(const struct tern__traces *traces, int rank, uint64_t *events,
                         uint64_t *lost)
{
    struct tern__trace_region *region = traces->regions[rank];
    *lost = tern__peek(&region->lost_threads);
    *events = 0;
    for (uint32_t i = 0; i < tracks_of(region); i++) {
        const struct tern__trace_track *track =
            tern__trace_region_track(region, traces->capacity, i);
        *events += tern__peek(&track->count);
        *lost += tern__peek(&track->lost);
    }
}

static void say_what_lacks(const struct tern__traces *traces)
{
    uint64_t all = 0;
    uint64_t lost = 0;
    int most = 0;
    uint64_t most_lost = 0;
    for (int rank = 0; rank < traces->nranks; rank++) {
        uint64_t events;
        uint64_t own;
        count_events(traces, rank, &events, &own);
        all += events;
        lost += own;
        most = own > most_lost ? rank : most;
        most_lost = own > most_lost ? own : most_lost;
    }
    if (all == 0) {
        tern__launch_say("the trace is empty: no rank has called tern_init\n");
    } else if (lost > 0) {
        tern__launch_say("the trace lacks the last %" PRIu64 " events, %" PRIu64
                         " of them of rank %d: it holds %u of a thread\n",
                         lost, most_lost, most, traces->capacity);
    }
}

int tern__traces_save(const struct tern__traces *traces, const char *path,
                      const int status[TERN_RANKS_MAX])
{
    struct output output = {.traces = traces};
    for (int rank = 0; rank < traces->nranks; rank++) {
        char *ending = output.endings[rank];
        if (WIFSIGNALED(status[rank])) {
            snprintf(ending, sizeof output.endings[0], "killed by signal %d",
                     WTERMSIG(status[rank]));
        } else if (WEXITSTATUS(status[rank]) != 0) {
            snprintf(ending, sizeof output.endings[0], "exit status %d", WEXITSTATUS(status[rank]));
        }
    }
    if (tern_file_save(path, write_trace, &output) != TERN_OK) {
        tern__launch_say("--trace: %s\n", tern_last_error());
        return 1;
    }
    say_what_lacks(traces);
    return 0;
}
