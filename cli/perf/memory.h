// SPDX-License-Identifier: Apache-2.0
// The buffers of `tern perf`: two of the same size on every rank, touched.
#ifndef TERN_CLI_PERF_MEMORY_H
#define TERN_CLI_PERF_MEMORY_H

#include <stddef.h>
#include <stdint.h>

#include "perf/perf.h"
#include "tern/window.h"

struct perf_buffers {
    char *in, *out;
    enum perf_memory memory;
    tern_window *windows[2]; // of PERF_WINDOW
};

// Collective. A status.
int perf_buffers_open(tern_comm *comm, size_t bytes, enum perf_memory memory,
                      struct perf_buffers *buffers);
void perf_buffers_close(struct perf_buffers *buffers);

// Of malloc'ed buffers: gives the pages of their first bytes back, for others to be measured in,
// and touches them again. Others do nothing.
void perf_buffers_lend(const struct perf_buffers *buffers, size_t bytes);
void perf_buffers_take_back(const struct perf_buffers *buffers, size_t bytes);

// Bytes that the machine, and the cgroup this process is in, can still give.
uint64_t perf_available_bytes(void);

#endif
