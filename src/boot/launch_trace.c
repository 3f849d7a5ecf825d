// SPDX-License-Identifier: Apache-2.0
// Regions for the ranks.

#include "boot/launch_trace.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "mem/memfd.h"

struct tern__traces {
    int first, count;  // ranks
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

int tern__traces_create(int first, int count, struct tern__traces **traces)
{
    struct tern__traces *made = calloc(1, sizeof *made);
    if (made == NULL) {
        return tern__fail(TERN_ERR_MEMORY, "tern_launch: no memory for a trace");
    }
    size_t share = TERN__LAUNCH_TRACE_BYTES / (size_t)count / 4 / sizeof(struct tern__trace_event);
    made->first = first;
    made->count = count;
    made->capacity =
        share < TERN__LAUNCH_TRACE_EVENTS_MAX ? (uint32_t)share : TERN__LAUNCH_TRACE_EVENTS_MAX;
    made->bytes = tern__round_up(tern__trace_region_bytes(made->capacity), tern__page_bytes());
    memset(made->fds, -1, sizeof made->fds);
    for (int rank = first; rank < first + count; rank++) {
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
    for (int i = 0; traces != NULL && i < traces->count; i++) {
        int rank = traces->first + i;
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

struct tern__trace_rank tern__traces_rank(const struct tern__traces *traces, int rank,
                                          uint32_t *lost_threads)
{
    struct tern__trace_region *region = traces->regions[rank];
    uint32_t used = tern__observe(&region->used); // partner: make_track
    *lost_threads = tern__peek(&region->lost_threads);
    return (struct tern__trace_rank){
        .tracks = tern__trace_region_track(region, traces->capacity, 0),
        .count = used < TERN__TRACE_TRACKS_MAX ? used : TERN__TRACE_TRACKS_MAX,
        .capacity = traces->capacity,
    };
}

int tern__traces_save(const struct tern__traces *traces, const char *path,
                      const int status[TERN_RANKS_MAX])
{
    struct tern__trace_job job = {.nranks = traces->count, .capacity = traces->capacity};
    for (int rank = 0; rank < traces->count; rank++) {
        job.ranks[rank] = tern__traces_rank(traces, rank, &job.lost_threads[rank]);
    }
    return tern__trace_save(&job, path, status);
}
