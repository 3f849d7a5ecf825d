// SPDX-License-Identifier: Apache-2.0
// Traces: what every rank did when, on one clock, as a Chrome trace (JSON) that Perfetto opens.
// Recorded are tasks on cores, waits, transfers and barriers. Recording costs two clock reads an
// event; when it is off, a test of one flag.
#ifndef TERN_TRACE_H
#define TERN_TRACE_H

#include <stddef.h>

#include "tern/api.h"
#include "tern/comm.h"

TERN_BEGIN_DECLS

// Starts recording in this process, at most events_max events per thread (0: 65536; each 64 bytes);
// later ones are counted as lost and reported in the file. TERN_ERR_STATE when already recording.
TERN_CALL int tern_trace_begin(size_t events_max);

// Stops recording and writes the events of all ranks of the communicator into one file, from rank
// 0. Collective; all ranks pass the same path. TERN_ERR_SYSTEM, on all ranks, when the file cannot be
// written.
TERN_CALL int tern_trace_end(tern_comm *comm, const char *path);

TERN_END_DECLS

#endif
