// SPDX-License-Identifier: Apache-2.0
// A recorded run as the file: records go into tracks, a lane each, as a run of programs has them
// (base/trace.h); changes become counters, a link or a resource each.

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/trace_write.h"
#include "plan/sim/engine.h"
#include "plan/sim/trace.h"
#include "tern/file.h"

struct picture {
    const struct tern__engine *engine;
    const struct tern__sim_trace *trace;
    struct tern__trace_event *units; // tracks and their events
    struct tern__trace_rank *ranks;
    struct tern__trace_counter *counters;
    size_t counters_count;
    struct tern__trace_sample *samples;
    size_t samples_count;
    char (*names)[TERN_SIM_NAME_BYTES];
};

// Lanes that stand at an op for ever.
static void add_what_goes_on(struct tern__engine *engine)
{
    for (uint32_t at = 0; at < engine->lanes_count; at++) {
        const struct tern__sim_lane *lane = &engine->lanes[at];
        if (!lane->ended) {
            tern__sim_trace_stand(engine->trace, at,
                                  &(tern_sim_event){.kind = (tern_plan_op_kind)lane->kind,
                                                    .index = lane->index,
                                                    .from = (int)lane->rank,
                                                    .to = (int)lane->rank,
                                                    .begin_us = lane->begin_us,
                                                    .end_us = engine->now_us,
                                                    .signal = lane->signal});
        }
    }
}

static void set_peer(struct tern__trace_event *event, uint32_t peer)
{
    if (peer <= INT16_MAX) {
        event->peer = (int16_t)peer;
        event->has |= TERN__TRACE_HAS_PEER;
    }
}

static void fill_event(const struct picture *picture, const struct tern__sim_record *record,
                       struct tern__trace_event *event)
{
    static const char *const words[] = {"copy", "reduce", "post", "wait"};
    const struct tern__sim_lane *lane = &picture->engine->lanes[record->lane];
    *event = (struct tern__trace_event){.begin_ns = record->begin_ns,
                                        .duration_ns = record->end_ns - record->begin_ns,
                                        .bytes = record->bytes,
                                        .kind = TERN__TRACE_TRANSFER};
    if (record->is_flow) {
        event->has = TERN__TRACE_OVERLAPS;
        if (record->from == record->to) {
            snprintf(event->name, sizeof event->name, "memory");
            return;
        }
        snprintf(event->name, sizeof event->name, "%" PRIu32 ">%" PRIu32, record->from, record->to);
        set_peer(event, record->from == lane->rank ? record->to : record->from);
        return;
    }
    snprintf(event->name, sizeof event->name, "%s #%" PRIu64 "%s", words[record->kind],
             record->index, record->goes_on ? ", never ends" : "");
    if (record->kind == TERN_PLAN_POST || record->kind == TERN_PLAN_WAIT) {
        event->signal = record->signal;
        event->has = TERN__TRACE_HAS_SIGNAL;
        event->kind = TERN__TRACE_WAIT;
    }
    if (record->kind == TERN_PLAN_POST) {
        event->kind = TERN__TRACE_NOTIFY;
        event->out = (uint64_t)(record - picture->trace->records) + 1;
        set_peer(event, record->to);
    } else if (record->post > 0) {
        const struct tern__sim_record *post = &picture->trace->records[record->post - 1];
        event->in = record->post;
        event->has |= post->to == picture->engine->lanes[post->lane].rank ? TERN__TRACE_IN_HERE : 0;
    }
}

static bool fill_tracks(struct picture *picture)
{
    const struct tern__engine *engine = picture->engine;
    const struct tern__sim_trace *trace = picture->trace;
    uint32_t lanes = engine->lanes_count;
    uint32_t *first = calloc((size_t)lanes + 2, sizeof *first); // unit of a lane's track
    picture->units = calloc((size_t)lanes + trace->records_count + 1, sizeof *picture->units);
    picture->ranks = calloc(engine->ranks, sizeof *picture->ranks);
    if (first == NULL || picture->units == NULL || picture->ranks == NULL) {
        free(first);
        return false;
    }
    for (uint32_t i = 0; i < trace->records_count; i++) {
        first[trace->records[i].lane + 1]++;
    }
    for (uint32_t at = 0; at < lanes; at++) {
        first[at + 1] += first[at] + 1;
        struct tern__trace_track *track = (struct tern__trace_track *)&picture->units[first[at]];
        snprintf(track->name, sizeof track->name, "lane %u", engine->lanes[at].lane);
    }
    for (uint32_t i = 0; i < trace->records_count; i++) {
        uint32_t unit = first[trace->records[i].lane];
        struct tern__trace_track *track = (struct tern__trace_track *)&picture->units[unit];
        uint32_t count = tern__peek(&track->count);
        fill_event(picture, &trace->records[i], &picture->units[unit + 1 + count]);
        tern__poke(&track->count, count + 1);
    }
    for (uint32_t rank = 0; rank < engine->ranks; rank++) {
        uint32_t at = engine->first_lane[rank];
        picture->ranks[rank] = (struct tern__trace_rank){
            .tracks = (const struct tern__trace_track *)&picture->units[first[at]],
            .count = engine->first_lane[rank + 1] - at};
    }
    free(first);
    return true;
}

static int by_resource_and_time(const void *a, const void *b)
{
    const struct tern__sim_change *x = a;
    const struct tern__sim_change *y = b;
    if (x->resource != y->resource) {
        return x->resource < y->resource ? -1 : 1;
    }
    if (x->at_us != y->at_us) {
        return x->at_us < y->at_us ? -1 : 1;
    }
    return (x->share > y->share) - (x->share < y->share);
}

static void add_sample(struct picture *picture, struct tern__trace_counter *counter, int64_t at_ns,
                       double share)
{
    uint32_t value = share > 0 ? (uint32_t)(share * 1e5 + 0.5) : 0;
    struct tern__trace_sample *sample = &picture->samples[picture->samples_count];
    bool more = counter->samples_count > 0;
    if (more && sample[-1].at_ns == at_ns) { // less than 1 ns apart: the last one stays
        sample[-1].share = value;
    } else if (!more || sample[-1].share != value) {
        *sample = (struct tern__trace_sample){at_ns, value};
        picture->samples_count++;
        counter->samples_count++;
    }
}

// At each change of a resource its sum so far; a counter begins with nothing.
static bool fill_counters(struct picture *picture)
{
    struct tern__sim_trace *trace = picture->engine->trace;
    size_t resources = picture->engine->shares.resources_count;
    picture->counters = calloc(resources + 1, sizeof *picture->counters);
    picture->names = calloc(resources + 1, sizeof *picture->names);
    picture->samples = calloc(trace->changes_count + resources + 1, sizeof *picture->samples);
    if (picture->counters == NULL || picture->names == NULL || picture->samples == NULL) {
        return false;
    }
    if (trace->changes_count > 0) {
        qsort(trace->changes, trace->changes_count, sizeof *trace->changes, by_resource_and_time);
    }
    struct tern__trace_counter *counter = NULL;
    double share = 0;
    for (uint32_t i = 0; i < trace->changes_count; i++) {
        const struct tern__sim_change *change = &trace->changes[i];
        if (i == 0 || change->resource != change[-1].resource) {
            char *name = picture->names[picture->counters_count];
            tern__engine_name(picture->engine, change->resource, name, sizeof picture->names[0]);
            counter = &picture->counters[picture->counters_count++];
            *counter =
                (struct tern__trace_counter){.name = name,
                                             .samples = &picture->samples[picture->samples_count]};
            share = 0;
            add_sample(picture, counter, 0, 0);
        }
        share += change->share;
        if (i + 1 == trace->changes_count || change[1].resource != change->resource ||
            change[1].at_us > change->at_us) {
            add_sample(picture, counter, (int64_t)(change->at_us * 1e3 + 0.5), share);
        }
    }
    return true;
}

static int write_picture(FILE *file, void *arg)
{
    const struct picture *picture = arg;
    struct tern__trace_simulated simulated = {.process = "resources",
                                              .counters = picture->counters,
                                              .counters_count = picture->counters_count};
    return tern__trace_write(file, picture->ranks, (int)picture->engine->ranks, NULL, &simulated);
}

int tern__sim_trace_save(struct tern__engine *engine, const char *path)
{
    struct picture picture = {.engine = engine, .trace = engine->trace};
    add_what_goes_on(engine);
    bool made = !engine->trace->failed && fill_tracks(&picture) && fill_counters(&picture);
    int status =
        made ? tern_file_save(path, write_picture, &picture)
             : tern__fail(TERN_ERR_MEMORY, "no memory for the trace of %u ranks", engine->ranks);
    free(picture.units);
    free(picture.ranks);
    free(picture.counters);
    free(picture.samples);
    free(picture.names);
    return status;
}
