// SPDX-License-Identifier: Apache-2.0
// Traces: what every rank did when, on one clock, as a Chrome trace (JSON) that Perfetto opens.
// Process r + 1 of the trace is rank r. Slices are calls ("all_reduce #3", with bytes, algorithm,
// way and peer), tasks on cores, waits, transfers, notifies and barriers; calls that are
// begun here and ended there are async slices, as are waits of graphs. Arrows lead from the rank
// that notified to the one that waited: from a notify, a post, a message, and from the last rank
// that came to a call or a barrier. Times count from the earliest event of all ranks, which was at
// otherData.zero_ns of CLOCK_MONOTONIC. Of ranks on several machines it is the clock of one of
// them, which otherData.clock_of names; otherData.machines has what was added to the times of each
// machine, and how far that may be off.
//
// Recording costs two looks at the clock an event; when it is off, a test of one flag. Small calls
// leave their shortest path while it is on.
#ifndef TERN_TRACE_H
#define TERN_TRACE_H

#include <stddef.h>

#include "tern/api.h"
#include "tern/comm.h"

TERN_BEGIN_DECLS

// Starts recording in this process, at most events_max events per thread (0: 65536; each 128
// bytes); later ones are counted as lost and reported in the file. TERN_ERR_STATE when already
// recording.
TERN_CALL int tern_trace_begin(size_t events_max);

// Stops recording and writes the events of all ranks of the communicator into one file, from rank
// 0. Collective; all ranks pass the same path, else TERN_ERR_MISMATCH on all ranks, which names two
// that differ. Between machines the clocks are compared here, and taken to have been as far apart
// all the time. TERN_ERR_SYSTEM, on all ranks, when the file cannot be written. After an error
// recording is off and what was recorded is lost.
TERN_CALL int tern_trace_end(tern_comm *comm, const char *path);

TERN_END_DECLS

#endif
