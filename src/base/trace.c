// SPDX-License-Identifier: Apache-2.0
// The recorder. A buffer belongs to one thread, which alone appends; its count is published so that
// the draining thread sees whole events. Buffers of ended threads live until they are drained.

#include "base/trace.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "base/options.h"

struct trace_buffer {
    struct trace_buffer *next;
    uint32_t generation;                  // of the recording its events belong to
    _Atomic uint32_t orphaned;            // its thread has ended
    char wanted[TERN__TRACE_TRACK_BYTES]; // the name its thread asked for
    struct tern__trace_track *track;      // NULL: no memory for it
};

_Atomic uint32_t tern__trace_on; // the generation that is recording, or 0

static pthread_mutex_t buffers_lock = PTHREAD_MUTEX_INITIALIZER; // guards what follows
static struct trace_buffer *buffers;
static uint32_t last_generation;
static size_t events_per_thread;
static struct tern__trace_region *region; // where tracks are, when the launcher records

static pthread_once_t orphan_once = PTHREAD_ONCE_INIT;
static pthread_key_t orphan_key;
static _Thread_local struct trace_buffer *own_buffer;
static _Thread_local char own_track[TERN__TRACE_TRACK_BYTES] = "host";
static _Thread_local int64_t own_last_ns;

int64_t tern__trace_clock(void)
{
    int64_t now = tern__now_ns();
    own_last_ns = now > own_last_ns ? now : own_last_ns + 1;
    return own_last_ns;
}

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
    uint32_t count = other->track != NULL ? tern__peek(&other->track->count) : 0;
    const struct tern__trace_event *events = tern__trace_events(other->track);
    return count > 0 && events[count - 1].begin_ns + events[count - 1].duration_ns > begin_ns;
}

// Names the buffer's track after this thread, whose first event begins at begin_ns; "host #2" when
// events of a thread with that name overlap with it. Under the lock.
static void name_track(struct trace_buffer *buffer, int64_t begin_ns)
{
    char *name = buffer->track->name;
    snprintf(buffer->wanted, sizeof buffer->wanted, "%s", own_track);
    snprintf(name, TERN__TRACE_TRACK_BYTES, "%s", own_track);
    int number = 1;
    const struct trace_buffer *other = buffers;
    while (other != NULL) {
        if (other != buffer && other->track != NULL && strcmp(other->track->name, name) == 0 &&
            overlaps(other, begin_ns)) {
            snprintf(name, TERN__TRACE_TRACK_BYTES, "%.9s #%d", own_track, ++number);
            other = buffers;
        } else {
            other = other->next;
        }
    }
}

void tern__trace_name_thread(const char *track)
{
    snprintf(own_track, sizeof own_track, "%s", track);
    if (own_buffer != NULL && own_buffer->track != NULL) {
        pthread_mutex_lock(&buffers_lock);
        name_track(own_buffer, tern__now_ns());
        pthread_mutex_unlock(&buffers_lock);
    }
}

// Under the lock: the track of a thread that has ended, of this thread's name and with room.
static struct trace_buffer *adopt_buffer(uint32_t generation)
{
    for (struct trace_buffer *buffer = buffers; buffer != NULL; buffer = buffer->next) {
        if (tern__observe(&buffer->orphaned) != 0 && buffer->generation == generation && // partner:
            strcmp(buffer->wanted, own_track) == 0 && buffer->track != NULL && // orphan_buffer
            tern__peek(&buffer->track->count) < buffer->track->capacity) {
            tern__poke(&buffer->orphaned, 0);
            return buffer;
        }
    }
    return NULL;
}

// Under the lock: memory for a track, in the region or of this process.
static struct tern__trace_track *make_track(void)
{
    if (region == NULL) {
        struct tern__trace_track *track =
            calloc(events_per_thread + 1, sizeof(struct tern__trace_event));
        if (track != NULL) {
            track->capacity = (uint32_t)events_per_thread;
        }
        return track;
    }
    uint32_t used = tern__peek(&region->used);
    if (used == TERN__TRACE_TRACKS_MAX) {
        tern__poke(&region->lost_threads, tern__peek(&region->lost_threads) + 1);
        return NULL;
    }
    struct tern__trace_track *track = tern__trace_region_track(region, region->capacity, used);
    track->capacity = region->capacity;
    tern__publish(&region->used, used + 1); // partner: whoever reads the region
    return track;
}

static struct trace_buffer *make_buffer(void)
{
    struct trace_buffer *buffer = calloc(1, sizeof *buffer);
    if (buffer != NULL) {
        buffer->next = buffers;
        buffers = buffer;
    }
    return buffer;
}

// The calling thread's track, emptied for this generation; NULL when memory lacks.
static struct tern__trace_track *track_for(uint32_t generation, int64_t begin_ns)
{
    struct trace_buffer *buffer = own_buffer;
    if (buffer != NULL && buffer->generation == generation) {
        return buffer->track;
    }
    pthread_once(&orphan_once, make_orphan_key);
    pthread_mutex_lock(&buffers_lock);
    if (buffer == NULL) {
        buffer = region != NULL ? adopt_buffer(generation) : NULL;
        buffer = buffer != NULL ? buffer : make_buffer();
        own_buffer = buffer;
        pthread_setspecific(orphan_key, buffer);
    }
    if (buffer != NULL && buffer->generation != generation) {
        bool fits =
            region == NULL && buffer->track != NULL && buffer->track->capacity == events_per_thread;
        if (!fits) {
            free(buffer->track); // of an earlier recording, so not in the region
            buffer->track = make_track();
        }
        buffer->generation = generation;
        if (buffer->track != NULL) {
            tern__poke(&buffer->track->count, 0);
            tern__poke(&buffer->track->lost, 0);
            name_track(buffer, begin_ns);
        }
    }
    pthread_mutex_unlock(&buffers_lock);
    return buffer != NULL ? buffer->track : NULL;
}

// A text of at most `size` bytes; what is left is zero, for it goes to other processes.
static void copy_text(char *to, size_t size, const char *text)
{
    strncpy(to, text, size - 1);
    to[size - 1] = '\0';
}

void tern__trace_name(struct tern__trace_event *event, const char *name)
{
    copy_text(event->name, sizeof event->name, name);
}

void tern__trace_put(struct tern__trace_event *event)
{
    uint32_t generation = tern__peek(&tern__trace_on);
    if (event->begin_ns == 0 || generation == 0) {
        return;
    }
    event->duration_ns = tern__trace_clock() - event->begin_ns;
    struct tern__trace_track *track = track_for(generation, event->begin_ns);
    if (track == NULL) {
        return;
    }
    uint32_t count = tern__peek(&track->count);
    if (count >= track->capacity) {
        tern__poke(&track->lost, tern__peek(&track->lost) + 1);
        return;
    }
    tern__trace_events(track)[count] = *event;
    tern__publish(&track->count, count + 1); // partner: tern__trace_drain, tern__trace_write
}

void tern__trace_add(enum tern__trace_kind kind, const char *name, int64_t begin_ns, uint64_t bytes)
{
    if (begin_ns == 0) {
        return;
    }
    struct tern__trace_event event = {.begin_ns = begin_ns, .bytes = bytes, .kind = (uint16_t)kind};
    tern__trace_name(&event, name);
    tern__trace_put(&event);
}

uint64_t tern__trace_arrow(enum tern__trace_thing thing, int comm_slot, uint64_t which,
                           uint64_t where)
{
    const uint64_t parts[] = {(uint64_t)thing << 32 | (uint32_t)comm_slot, which, where};
    uint64_t hash = 0;
    for (int i = 0; i < 3; i++) {
        hash = (hash ^ parts[i]) * UINT64_C(0x9e3779b97f4a7c15);
        hash ^= hash >> 29;
        hash *= UINT64_C(0xbf58476d1ce4e5b9);
        hash ^= hash >> 32;
    }
    return hash != 0 ? hash : 1;
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
    bool was_on = tern__peek(&tern__trace_on) != 0 && region == NULL;
    if (was_on) {
        tern__publish(&tern__trace_on, 0);
    }
    pthread_mutex_unlock(&buffers_lock);
    return was_on;
}

void tern__trace_drain(tern__trace_visitor visit, void *arg)
{
    pthread_mutex_lock(&buffers_lock);
    struct trace_buffer **link = &buffers;
    while (*link != NULL) {
        struct trace_buffer *buffer = *link;
        struct tern__trace_track *track = buffer->track;
        if (buffer->generation == last_generation && track != NULL &&
            tern__observe(&track->count) > 0) { // partner: tern__trace_put
            visit(arg, track);
        }
        if (track != NULL) {
            tern__poke(&track->count, 0);
        }
        if (tern__observe(&buffer->orphaned) != 0) { // partner: orphan_buffer
            *link = buffer->next;
            free(track);
            free(buffer);
        } else {
            link = &buffer->next;
        }
    }
    pthread_mutex_unlock(&buffers_lock);
}

// Memory that a launcher reads.

size_t tern__trace_region_bytes(uint32_t capacity)
{
    return (1 + TERN__TRACE_TRACKS_MAX * ((size_t)capacity + 1)) * sizeof(struct tern__trace_event);
}

struct tern__trace_track *tern__trace_region_track(struct tern__trace_region *from,
                                                   uint32_t capacity, uint32_t index)
{
    struct tern__trace_track *first = (struct tern__trace_track *)(void *)(from + 1);
    return first + (size_t)index * ((size_t)capacity + 1);
}

// In a child of fork: the tracks are its parent's.
static void stop_in_child(void)
{
    tern__poke(&tern__trace_on, 0);
    own_buffer = NULL;
}

bool tern__trace_attach(int fd)
{
    struct stat state;
    if (fstat(fd, &state) != 0 || state.st_size < (off_t)sizeof *region) {
        return false;
    }
    struct tern__trace_region *map =
        mmap(NULL, (size_t)state.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (map == MAP_FAILED) {
        return false;
    }
    if (map->magic != TERN__TRACE_MAGIC ||
        tern__trace_region_bytes(map->capacity) > (size_t)state.st_size) {
        munmap(map, (size_t)state.st_size);
        return false;
    }
    pthread_mutex_lock(&buffers_lock);
    bool idle = tern__peek(&tern__trace_on) == 0 && region == NULL;
    if (idle) {
        region = map;
        last_generation++;
        tern__publish(&tern__trace_on, last_generation);
    }
    pthread_mutex_unlock(&buffers_lock);
    if (!idle) {
        munmap(map, (size_t)state.st_size);
        return false;
    }
    pthread_atfork(NULL, NULL, stop_in_child);
    return true;
}

void tern__trace_join(void)
{
    long fd;
    if (tern__parse_integer(getenv(TERN_ENV_TRACE_FD), 0, INT32_MAX, &fd) == 0 &&
        tern__trace_attach((int)fd)) { // else the descriptor may be something else by now
        fcntl((int)fd, F_SETFD, FD_CLOEXEC);
    }
}
