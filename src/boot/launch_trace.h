// SPDX-License-Identifier: Apache-2.0
// The trace of a launch. Every rank records into memory that the launcher holds (base/trace.h), so
// what a rank has recorded is there however it ended. Set-up path.
#ifndef TERN_BOOT_LAUNCH_TRACE_H
#define TERN_BOOT_LAUNCH_TRACE_H

#include "tern/comm.h"

// Events of a thread: at most this many, fewer when the job has many ranks.
#define TERN__LAUNCH_TRACE_EVENTS_MAX 131072
// What four threads of every rank take at most, together.
#define TERN__LAUNCH_TRACE_BYTES ((size_t)1 << 30)

struct tern__traces;

// One region for each rank. Nothing takes memory before somebody records.
int tern__traces_create(int nranks, struct tern__traces **traces);
void tern__traces_destroy(struct tern__traces *traces); // NULL is allowed

// The descriptor that a rank inherits.
int tern__traces_fd(const struct tern__traces *traces, int rank);

// Writes the file when all ranks have ended, with the status of each (waitpid), and says on
// standard error what the trace lacks. Returns the exit status that this alone would make: 0, or 1.
int tern__traces_save(const struct tern__traces *traces, const char *path,
                      const int status[TERN_RANKS_MAX]);

#endif
