// SPDX-License-Identifier: Apache-2.0
// Measuring over all ranks of a job. A board, a window that all ranks see, takes the times of every
// rank; rank 0 works out what counts. All functions are collective.
#ifndef TERN_CLI_PERF_CLOCK_H
#define TERN_CLI_PERF_CLOCK_H

#include "perf/meet.h"
#include "perf/perf.h"
#include "tern/window.h"

struct perf_board {
    tern_comm *comm;
    tern_window *window;
    int rank, nranks;
    struct perf_meet *meet; // NULL: they begin after a barrier, not at an instant
    struct perf_meeting meeting;
};

// Ranks on several machines have no clock that is exact enough, so they begin after a barrier.
int perf_board_open(tern_comm *comm, bool instant, struct perf_board *board);
void perf_board_close(struct perf_board *board);

// Rank 0's value becomes everybody's.
int perf_share_value(const struct perf_board *board, int64_t *value);

// The sum of all ranks' values, on rank 0.
int perf_sum_values(const struct perf_board *board, uint64_t own, uint64_t *sum);

// What is timed: a status.
typedef int perf_action(void *arg);

// `iterations` actions, `together` at a time: from the instant when all begin until the last rank
// has ended (or, after a barrier, what each rank's own took), divided by their number. The result
// is valid on rank 0.
int perf_time_action(struct perf_board *board, perf_action *action, void *arg, long iterations,
                     long together, struct perf_time *time);

// All ranks at once copy `bytes` in all, which counts reading and writing, between private memory,
// from and to `nbuffers` places in turn.
int perf_time_copy(struct perf_board *board, uint64_t bytes, long nbuffers, struct perf_time *time);

#endif
