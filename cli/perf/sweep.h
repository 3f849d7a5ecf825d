// SPDX-License-Identifier: Apache-2.0
// The measurement as one rank of the job makes it.
#ifndef TERN_CLI_PERF_SWEEP_H
#define TERN_CLI_PERF_SWEEP_H

#include "perf/perf.h"
#include "perf/clock.h"
#include "perf/memory.h"
#include "perf/peers.h"
#include "tern/comm.h"

struct perf_sweep {
    const struct perf_options *options;
    tern_comm *comm;
    int rank, nranks;
    struct perf_board board;
    struct perf_buffers buffers;
    struct perf_peer peers[PERF_PEERS];
    bool too_slow[PERF_PEERS]; // a peer, for a kind: greater sizes are not tried
    enum perf_kind too_slow_kind[PERF_PEERS];
    bool kinds[PERF_KINDS]; // which are measured
    uint64_t bytes_max;     // sizes above are left out
    long done, all;         // lines
    bool told;              // why it ends has been said already
    bool failed;            // a wrong result, or a peer that failed
    struct perf_row *rows;  // all lines, on rank 0
    long nrows;
};

// Measures and prints everything. The exit status: 0 when all was right.
int perf_sweep(tern_comm *comm, const struct perf_options *options);

// Measures one size of a kind, prints its lines on rank 0, and keeps them. Collective; a status.
int perf_measure_size(struct perf_sweep *sweep, enum perf_kind kind, uint64_t total);

#endif
