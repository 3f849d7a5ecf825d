// SPDX-License-Identifier: Apache-2.0
// What a simulated run leaves for people: its ops, flows, posts and waits, and how much of links
// and resources was used when, recorded while it runs and written as a trace (base/trace_write.h).
// At most so many events are kept; from when there is no room nothing is recorded any more.
#ifndef TERN_PLAN_SIM_TRACE_H
#define TERN_PLAN_SIM_TRACE_H

#include <stdbool.h>
#include <stdint.h>

#include "tern/sim.h"

struct tern__engine;

// In ns; those of a lane, but for flows, follow one another without overlap.
struct tern__sim_record {
    int64_t begin_ns, end_ns;
    uint64_t index; // of the op
    uint64_t bytes;
    uint32_t lane; // numbered through
    uint32_t from, to;
    uint32_t signal;
    uint32_t post; // of a wait: the record of the post that ended it, + 1; 0: not known
    uint8_t kind;
    bool is_flow, goes_on; // goes_on: it never ended
};

// From at_us on `share` more of a resource is used.
struct tern__sim_change {
    double at_us, share;
    uint32_t resource;
};

struct tern__sim_trace {
    struct tern__sim_record *records;
    struct tern__sim_change *changes;
    uint32_t records_count, records_room, records_max;
    uint32_t changes_count, changes_room;
    int64_t *lane_ns; // when the last record of a lane ended
    uint32_t arrived; // the record of the post that has arrived, + 1
    double full_us;   // when there was no more room; infinite
    bool failed;      // no memory
};

// TERN_ERR_MEMORY, or TERN_ERR_LIMIT for too many events.
int tern__sim_trace_open(struct tern__sim_trace *trace, size_t events_max, uint32_t lanes);
void tern__sim_trace_close(struct tern__sim_trace *trace);

// What is told of the lane `at` (but posts); a post that is sent, whose record + 1 is returned; an
// op that never ends; and a share of a resource that was used.
void tern__sim_trace_tell(struct tern__sim_trace *trace, uint32_t at, const tern_sim_event *event);
uint32_t tern__sim_trace_post(struct tern__sim_trace *trace, uint32_t at,
                              const tern_sim_event *event);
void tern__sim_trace_stand(struct tern__sim_trace *trace, uint32_t at, const tern_sim_event *event);
void tern__sim_trace_use(struct tern__sim_trace *trace, uint32_t resource, double share,
                         double from_us, double to_us);

// trace_save.c: writes the file when the run is over, with what never ended. A status with a
// sentence.
int tern__sim_trace_save(struct tern__engine *engine, const char *path);

#endif
