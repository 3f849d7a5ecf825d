// SPDX-License-Identifier: Apache-2.0
// Events of all ranks as a Chrome trace: JSON as Perfetto reads it. Process r + 1 is rank r (0
// would be hidden), a track is a thread, what may overlap is a pair of async events, and an arrow
// leads from the event that notified to the event that waited.
#ifndef TERN_BASE_TRACE_WRITE_H
#define TERN_BASE_TRACE_WRITE_H

#include <stdio.h>

#include "base/trace.h"

// The tracks of a rank, one after the other. Nothing in them is trusted: a rank may have been
// killed while it wrote, or have written where it should not.
struct tern__trace_rank {
    const struct tern__trace_track *tracks;
    uint32_t count;
    uint32_t capacity;  // of each; 0: each has as many events as its count says
    const char *ending; // "killed by signal 9", or NULL
};

// TERN_ERR_MEMORY, or TERN_OK; whether the file could be written is the caller's to see.
int tern__trace_write(FILE *file, const struct tern__trace_rank *ranks, int nranks);

#endif
