// SPDX-License-Identifier: Apache-2.0
// How all ranks begin a measurement on one machine: they meet in shared memory, and the last to
// come names an instant of the clock, which all wait for. Then nothing depends on the order in
// which a system's own barrier lets its ranks go, and all systems begin in the same way. Hunold and
// Carpen-Amarie ("MPI Benchmarking Revisited", 2015) have the reasons and several such clocks.
//
// The program that measures an MPI is compiled with this, too (cli/perf/mpi.c).
#ifndef TERN_CLI_PERF_MEET_H
#define TERN_CLI_PERF_MEET_H

#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <unistd.h>

#include "timing.h"

#define PERF_MEET_AHEAD_US 1.0      // until the instant: all have seen it by then
#define PERF_MEET_PATIENCE_US 20000 // then who waits looks whether the others live

// In memory that all ranks share, zero at first.
struct perf_meet {
    _Alignas(64) _Atomic uint64_t arrived; // only counts up
    _Alignas(64) _Atomic double start_us;  // of the last meeting
};

// A rank's part.
struct perf_meeting {
    uint64_t count, nranks;
    double start_us;
    bool crowded; // more ranks than processors
};

static inline struct perf_meeting perf_meeting_of(int nranks)
{
    return (struct perf_meeting){.nranks = (uint64_t)nranks,
                                 .crowded = nranks > sysconf(_SC_NPROCESSORS_ONLN)};
}

static inline void perf_meet_arrive(struct perf_meet *meet, struct perf_meeting *own)
{
    own->count++;
    if (atomic_fetch_add(&meet->arrived, 1) + 1 == own->count * own->nranks) {
        atomic_store(&meet->start_us, cli_now_us() + PERF_MEET_AHEAD_US);
    }
}

// Waits until all have come, and for the instant, own->start_us; false when they have not come for
// a while: then it is called again.
static inline bool perf_meet_await(struct perf_meet *meet, struct perf_meeting *own)
{
    double give_up_us = cli_now_us() + PERF_MEET_PATIENCE_US;
    uint32_t looks_per_yield = own->crowded ? 16 : 4096;
    double start_us;
    for (uint32_t look = 1; (start_us = atomic_load(&meet->start_us)) <= own->start_us; look++) {
        if (look % looks_per_yield == 0) {
            if (cli_now_us() > give_up_us) {
                return false;
            }
            sched_yield();
        }
    }
    own->start_us = start_us;
    while (cli_now_us() < start_us) {
        if (own->crowded) {
            sched_yield();
        }
    }
    return true;
}

#endif
