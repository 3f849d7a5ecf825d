// SPDX-License-Identifier: Apache-2.0
// The trace of a launch. Every rank records into memory that the launcher holds (base/trace.h), so
// what a rank has recorded is there however it ended. Set-up path.
#ifndef TERN_BOOT_LAUNCH_TRACE_H
#define TERN_BOOT_LAUNCH_TRACE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/trace_write.h"
#include "tern/comm.h"

// Events of a thread: at most this many, fewer when the job has many ranks.
#define TERN__LAUNCH_TRACE_EVENTS_MAX 131072
// What four threads of every rank take at most, together.
#define TERN__LAUNCH_TRACE_BYTES ((size_t)1 << 30)

struct tern__traces;

// One region for each of `count` ranks from `first` on. Nothing takes memory before somebody
// records.
int tern__traces_create(int first, int count, struct tern__traces **traces);
void tern__traces_destroy(struct tern__traces *traces); // NULL is allowed

// The descriptor that a rank inherits.
int tern__traces_fd(const struct tern__traces *traces, int rank);

// What a rank has recorded, and how many of its threads found no track.
struct tern__trace_rank tern__traces_rank(const struct tern__traces *traces, int rank,
                                          uint32_t *lost_threads);

// What is to be written.
struct tern__trace_job {
    int nranks;
    struct tern__trace_rank ranks[TERN_RANKS_MAX];
    uint32_t lost_threads[TERN_RANKS_MAX];
    uint32_t capacity;                           // events of a track
    const struct tern__trace_machines *machines; // NULL: one
    bool incomplete;                             // of which something has been said already
};

// Writes the file when all ranks have ended, with the status of each (waitpid), and says on
// standard error what the trace lacks. Returns the exit status that this alone would make: 0, or 1.
int tern__trace_save(struct tern__trace_job *job, const char *path,
                     const int status[TERN_RANKS_MAX]);

// The same of all ranks of one launch.
int tern__traces_save(const struct tern__traces *traces, const char *path,
                      const int status[TERN_RANKS_MAX]);

#endif
