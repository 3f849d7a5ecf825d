// SPDX-License-Identifier: Apache-2.0
// Recording: one record for an event, and two changes for a stretch of time in which a flow had one
// rate.

#include "plan/sim/trace.h"

#include <math.h>
#include <stdlib.h>

#include "base/error.h"
#include "plan/sim/queue.h"

#define CHANGES_PER_EVENT 4
#define NS_MAX 4e18 // of a time

int tern__sim_trace_open(struct tern__sim_trace *trace, size_t events_max, uint32_t lanes)
{
    if (events_max > TERN_SIM_TRACE_MAX) {
        return tern__fail(TERN_ERR_LIMIT, "a trace holds up to %u events, not %zu",
                          TERN_SIM_TRACE_MAX, events_max);
    }
    *trace = (struct tern__sim_trace){
        .records_max = events_max > 0 ? (uint32_t)events_max : TERN_SIM_TRACE_EVENTS,
        .lane_ns = calloc((size_t)lanes + 1, sizeof *trace->lane_ns),
        .full_us = INFINITY,
    };
    return trace->lane_ns != NULL
               ? TERN_OK
               : tern__fail(TERN_ERR_MEMORY, "no memory for a trace of %u lanes", lanes);
}

void tern__sim_trace_close(struct tern__sim_trace *trace)
{
    free(trace->records);
    free(trace->changes);
    free(trace->lane_ns);
    *trace = (struct tern__sim_trace){0};
}

static int64_t ns_of(double us)
{
    double ns = us * 1e3;
    return ns < NS_MAX ? (int64_t)(ns + 0.5) : (int64_t)NS_MAX;
}

// NULL when there is no room, and from then on.
static struct tern__sim_record *new_record(struct tern__sim_trace *trace, double now_us)
{
    if (trace->records_count == trace->records_max && isinf(trace->full_us)) {
        trace->full_us = now_us;
    }
    if (!isinf(trace->full_us) || trace->failed) {
        return NULL;
    }
    if (trace->records_count == trace->records_room &&
        !tern__sim_grow((void **)&trace->records, &trace->records_room, sizeof *trace->records)) {
        trace->failed = true;
        return NULL;
    }
    return &trace->records[trace->records_count++];
}

// Slices of a lane do not overlap and last at least 1 ns: what takes no time moves what follows it,
// by as much as the next one that takes time makes up for.
static void place(struct tern__sim_trace *trace, struct tern__sim_record *record, int64_t least_ns)
{
    int64_t *last_ns = &trace->lane_ns[record->lane];
    record->begin_ns = record->begin_ns > *last_ns ? record->begin_ns : *last_ns;
    record->end_ns = record->end_ns > record->begin_ns ? record->end_ns : record->begin_ns + 1;
    record->end_ns = record->end_ns > least_ns ? record->end_ns : least_ns;
    *last_ns = record->end_ns;
}

static struct tern__sim_record *add(struct tern__sim_trace *trace, uint32_t at,
                                    const tern_sim_event *event)
{
    struct tern__sim_record *record = new_record(trace, event->end_us);
    if (record != NULL) {
        *record = (struct tern__sim_record){.begin_ns = ns_of(event->begin_us),
                                            .end_ns = ns_of(event->end_us),
                                            .index = event->index,
                                            .bytes = event->bytes,
                                            .lane = at,
                                            .from = (uint32_t)event->from,
                                            .to = (uint32_t)event->to,
                                            .signal = event->signal,
                                            .kind = (uint8_t)event->kind,
                                            .is_flow = event->is_flow};
    }
    return record;
}

void tern__sim_trace_tell(struct tern__sim_trace *trace, uint32_t at, const tern_sim_event *event)
{
    struct tern__sim_record *record =
        event->kind != TERN_PLAN_POST ? add(trace, at, event) : NULL; // it has one
    if (record == NULL) {
        return;
    }
    if (record->is_flow) {
        record->end_ns = record->end_ns > record->begin_ns ? record->end_ns : record->begin_ns + 1;
        return;
    }
    int64_t least_ns = 0;
    if (record->kind == TERN_PLAN_WAIT && trace->arrived > 0) {
        record->post = trace->arrived;
        // An arrow ends inside the wait, later than it begins.
        least_ns = trace->records[record->post - 1].begin_ns + 2;
    }
    place(trace, record, least_ns);
}

uint32_t tern__sim_trace_post(struct tern__sim_trace *trace, uint32_t at,
                              const tern_sim_event *event)
{
    struct tern__sim_record *record = add(trace, at, event);
    if (record == NULL) {
        return 0;
    }
    place(trace, record, 0);
    return (uint32_t)(record - trace->records) + 1;
}

void tern__sim_trace_stand(struct tern__sim_trace *trace, uint32_t at, const tern_sim_event *event)
{
    struct tern__sim_record *record = add(trace, at, event);
    if (record != NULL) {
        record->goes_on = true;
        place(trace, record, 0);
    }
}

static void change(struct tern__sim_trace *trace, uint32_t resource, double at_us, double share)
{
    if (trace->changes_count == trace->changes_room &&
        !tern__sim_grow((void **)&trace->changes, &trace->changes_room, sizeof *trace->changes)) {
        trace->failed = true;
        return;
    }
    trace->changes[trace->changes_count++] = (struct tern__sim_change){at_us, share, resource};
}

// What began before the trace was full is in it until then.
void tern__sim_trace_use(struct tern__sim_trace *trace, uint32_t resource, double share,
                         double from_us, double to_us)
{
    uint64_t most = (uint64_t)trace->records_max * CHANGES_PER_EVENT;
    if (trace->changes_count >= most && isinf(trace->full_us)) {
        trace->full_us = to_us;
    }
    to_us = to_us < trace->full_us ? to_us : trace->full_us;
    if (from_us < to_us && share > 0 && !trace->failed) {
        change(trace, resource, from_us, share);
        change(trace, resource, to_us, -share);
    }
}
