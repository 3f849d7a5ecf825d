// SPDX-License-Identifier: Apache-2.0
// The recorder. A buffer belongs to one thread, which alone appends; its count is published so that
// the draining thread sees whole events. Buffers of ended threads live until they are drained.

#include "base/trace.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct trace_buffer {
    struct trace_buffer *next;
    uint32_t generation; // of the recording its events belong to
    _Atomic uint32_t count;
    _Atomic uint32_t lost;
    _Atomic uint32_t orphaned;           // its thread has ended
    char track[TERN__TRACE_TRACK_BYTES]; // no other thread's of the same time
    size_t capacity;
    struct tern__trace_event *events;
};

_Atomic uint32_t tern__trace_on; // the generation that is recording, or 0

static pthread_mutex_t buffers_lock = PTHREAD_MUTEX_INITIALIZER; // guards what follows
static struct trace_buffer *buffers;
static uint32_t last_generation;
static size_t events_per_thread;

static pthread_once_t orphan_once = PTHREAD_ONCE_INIT;
static pthread_key_t orphan_key;
static _Thread_local struct trace_buffer *own_buffer;
static _Thread_local char own_track[TERN__TRACE_TRACK_BYTES] = "host";

static void orphan_buffer(void *buffer)
{
    own_buffer = NULL; // another destructor of this thread may record after this one
    tern__publish(&((struct trace_buffer *)buffer)->orphaned, 1); // partner: tern__trace_drain
}

static void make_orphan_key(void)
{
    if (pthread_key_create(&orphan_key, orphan_buffer) != 0) {
        abort(); // only when the process has used up all of its keys
    }
}

// Whether a thread's events may still come, or the last one ended after begin_ns.
static bool overlaps(const struct trace_buffer *other, int64_t begin_ns)
{
    if (tern__observe(&other->orphaned) == 0) { // partner: orphan_buffer
        return true;
    }
    uint32_t count = tern__peek(&other->count);
    const struct tern__trace_event *last = other->events + count - 1;
    return count > 0 && last->begin_ns + last->duration_ns > begin_ns;
}

// Names the buffer's track after this thread, whose first event begins at begin_ns; "host #2" when
// events of a thread with that name overlap with it. Under the lock.
static void name_track(struct trace_buffer *buffer, int64_t begin_ns)
{
    snprintf(buffer->track, sizeof buffer->track, "%s", own_track);
    int number = 1;
    const struct trace_buffer *other = buffers;
    while (other != NULL) {
        if (other != buffer && strcmp(other->track, buffer->track) == 0 &&
            overlaps(other, begin_ns)) {
            snprintf(buffer->track, sizeof buffer->track, "%.9s #%d", own_track, ++number);
            other = buffers;
        } else {
            other = other->next;
        }
    }
}

void tern__trace_name_thread(const char *track)
{
    snprintf(own_track, sizeof own_track, "%s", track);
    if (own_buffer != NULL) {
        pthread_mutex_lock(&buffers_lock);
        name_track(own_buffer, tern__now_ns());
        pthread_mutex_unlock(&buffers_lock);
    }
}

// The calling thread's buffer, emptied for this generation; NULL when memory lacks.
static struct trace_buffer *buffer_for(uint32_t generation, int64_t begin_ns)
{
    struct trace_buffer *buffer = own_buffer;
    if (buffer != NULL && buffer->generation == generation) {
        return buffer;
    }
    pthread_once(&orphan_once, make_orphan_key);
    pthread_mutex_lock(&buffers_lock);
    if (buffer == NULL) {
        buffer = calloc(1, sizeof *buffer);
        if (buffer != NULL) {
            name_track(buffer, begin_ns);
            buffer->next = buffers;
            buffers = buffer;
            own_buffer = buffer;
            pthread_setspecific(orphan_key, buffer);
        }
    }
    if (buffer != NULL) {
        if (buffer->capacity != events_per_thread) {
            free(buffer->events);
            buffer->events = calloc(events_per_thread, sizeof *buffer->events);
            buffer->capacity = buffer->events != NULL ? events_per_thread : 0;
        }
        buffer->generation = generation;
        tern__poke(&buffer->count, 0);
        tern__poke(&buffer->lost, 0);
    }
    pthread_mutex_unlock(&buffers_lock);
    return buffer;
}

void tern__trace_add(enum tern__trace_kind kind, const char *name, int64_t begin_ns, uint64_t bytes)
{
    uint32_t generation = tern__peek(&tern__trace_on);
    if (begin_ns == 0 || generation == 0) {
        return;
    }
    int64_t end_ns = tern__now_ns();
    struct trace_buffer *buffer = buffer_for(generation, begin_ns);
    if (buffer == NULL) {
        return;
    }
    uint32_t count = tern__peek(&buffer->count);
    if (count >= buffer->capacity) {
        tern__poke(&buffer->lost, tern__peek(&buffer->lost) + 1);
        return;
    }
    struct tern__trace_event *event = &buffer->events[count];
    event->begin_ns = begin_ns;
    event->duration_ns = end_ns - begin_ns;
    event->bytes = bytes;
    event->kind = (uint32_t)kind;
    snprintf(event->name, sizeof event->name, "%s", name);
    tern__publish(&buffer->count, count + 1); // partner: tern__trace_drain
}

bool tern__trace_begin(size_t events_max)
{
    pthread_mutex_lock(&buffers_lock);
    bool idle = tern__peek(&tern__trace_on) == 0;
    if (idle) {
        events_per_thread = events_max;
        last_generation++;
        tern__publish(&tern__trace_on, last_generation);
    }
    pthread_mutex_unlock(&buffers_lock);
    return idle;
}

bool tern__trace_stop(void)
{
    pthread_mutex_lock(&buffers_lock);
    bool was_on = tern__peek(&tern__trace_on) != 0;
    tern__publish(&tern__trace_on, 0);
    pthread_mutex_unlock(&buffers_lock);
    return was_on;
}

static void visit_buffer(const struct trace_buffer *buffer, tern__trace_visitor visit, void *arg)
{
    uint32_t count = tern__observe(&buffer->count); // partner: tern__trace_add
    for (uint32_t i = 0; i < count; i++) {
        visit(arg, buffer->track, &buffer->events[i]);
    }
    uint32_t lost = tern__peek(&buffer->lost);
    if (lost > 0) {
        struct tern__trace_event event = {.kind = TERN__TRACE_LOST, .bytes = lost};
        event.begin_ns = count > 0 ? buffer->events[count - 1].begin_ns : tern__now_ns();
        snprintf(event.name, sizeof event.name, "%u events lost", lost);
        visit(arg, buffer->track, &event);
    }
}

void tern__trace_drain(tern__trace_visitor visit, void *arg)
{
    pthread_mutex_lock(&buffers_lock);
    struct trace_buffer **link = &buffers;
    while (*link != NULL) {
        struct trace_buffer *buffer = *link;
        if (buffer->generation == last_generation) {
            visit_buffer(buffer, visit, arg);
        }
        tern__poke(&buffer->count, 0);
        tern__poke(&buffer->lost, 0);
        if (tern__observe(&buffer->orphaned) != 0) { // partner: orphan_buffer
            *link = buffer->next;
            free(buffer->events);
            free(buffer);
        } else {
            link = &buffer->next;
        }
    }
    pthread_mutex_unlock(&buffers_lock);
}
