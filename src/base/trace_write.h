// SPDX-License-Identifier: Apache-2.0
// Events of all ranks as a Chrome trace: JSON as Perfetto reads it. Process r + 1 is rank r (0
// would be hidden), a track is a thread, what may overlap is a pair of async events, and an arrow
// leads from the event that notified to the event that waited.
#ifndef TERN_BASE_TRACE_WRITE_H
#define TERN_BASE_TRACE_WRITE_H

#include <stdio.h>

#include "base/clock_line.h"
#include "base/trace.h"

// The tracks of a rank, one after the other. Nothing in them is trusted: a rank may have been
// killed while it wrote, or have written where it should not.
struct tern__trace_rank {
    const struct tern__trace_track *tracks;
    uint32_t count;
    uint32_t capacity;  // of each; 0: each has as many events as its count says
    const char *ending; // "killed by signal 9", or NULL
};

// Its events; and the track behind it.
uint32_t tern__trace_rank_events(const struct tern__trace_rank *rank,
                                 const struct tern__trace_track *track);
const struct tern__trace_track *tern__trace_rank_next(const struct tern__trace_rank *rank,
                                                      const struct tern__trace_track *track);

// Of a job on several machines, whose clocks differ: times of events are those of one clock
// already, and the file says how they were found.
struct tern__trace_machine {
    const char *name;
    uint64_t ranks;                // bit r: rank r is on it
    struct tern__clock_line clock; // from its clock to that of the file
};
struct tern__trace_machines {
    int count;
    const char *clock_of; // "the head", whose clock that is
    const struct tern__trace_machine *list;
};

// The event with its times changed by a line to the other clock.
void tern__trace_move(struct tern__trace_event *event, const struct tern__clock_line *clock);

// Of a run that was simulated: its clock begins at 0, and it is known how much of links and
// resources was used when.
struct tern__trace_sample {
    int64_t at_ns;
    uint32_t share; // of what there is, in 1/100000, from then on
};
struct tern__trace_counter {
    const char *name;
    const struct tern__trace_sample *samples;
    size_t samples_count;
};
struct tern__trace_simulated {
    const char *process; // what stands above the counters
    const struct tern__trace_counter *counters;
    size_t counters_count;
};

// `machines` is NULL for one machine, `simulated` for a run that was none. TERN_ERR_MEMORY, or
// TERN_OK; whether the file could be written is the caller's to see.
int tern__trace_write(FILE *file, const struct tern__trace_rank *ranks, int nranks,
                      const struct tern__trace_machines *machines,
                      const struct tern__trace_simulated *simulated);

#endif
