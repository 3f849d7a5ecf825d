// SPDX-License-Identifier: Apache-2.0
// `tern perf --executor`: instead of calls, runs of the plans that an executor asks for.
#ifndef TERN_CLI_PERF_RECORD_H
#define TERN_CLI_PERF_RECORD_H

#include "perf/call.h"
#include "perf/sweep.h"

// What one size is run with.
struct perf_recorded {
    tern_plan *plan;
    tern_exec *runs[PERF_BUFFERS_MAX]; // for each pair of buffers
};

// Of the process that starts the ranks: compiles once for all of them. 0, or the exit status after
// a sentence. The second removes what was compiled.
int perf_record_prepare(struct perf_options *options);
void perf_record_clean(struct perf_options *options);

// Collective: records the plan for the size of the calls, one for each pair of buffers, and makes
// them run it; a status. Without --executor nothing.
int perf_record_open(struct perf_sweep *sweep, struct perf_call *calls,
                     struct perf_recorded *recorded);
void perf_record_close(struct perf_recorded *recorded);

#endif
