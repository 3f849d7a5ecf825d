// SPDX-License-Identifier: Apache-2.0
// Areas (comm/area.h) of communicators with ranks on several machines: what a rank publishes in its
// own memory comes as a message, is stored in the copy that the ranks here read, and whoever may
// wait for it is woken.

#include <string.h>

#include "base/error.h"
#include "base/memcpy.h"
#include "net/state.h"
#include "sync/bell.h"

// Up to so many bytes a line and a payload are one message, which is copied once more where it
// comes; a longer payload goes straight to where it belongs.
#define TOGETHER_BYTES 4096

_Static_assert(TERN__NET_TOGETHER_BYTES / 2 <= TOGETHER_BYTES,
               "what comes twice is one message each time");

// key: where the line is, and in the upper half how many bytes of it come first in the payload.
// more: where the counter is, and in the upper half what it was.
static struct tern__net_message message_of(const struct tern__net_area *area)
{
    return (struct tern__net_message){.kind = TERN__NET_AREA,
                                      .slot = area->slot,
                                      .number = area->number,
                                      .generation = area->generation,
                                      .rank = area->rank,
                                      .value = area->run,
                                      .word = area->then};
}

// A line and its payload, or several: so many bytes, of which the line comes first.
static void send_line(struct tern__net *net, int to, const struct tern__net_area *area,
                      struct tern__net_message *message, const char *bytes, uint64_t count)
{
    message->word = area->then;
    message->bytes = count;
    message->key = area->line | (uint64_t)area->line_bytes << 32;
    message->more = area->counter | (uint64_t)area->counted << 32;
    tern_status_ignore(tern__net_send(net, to, message, bytes));
}

static char *append(char *to, const char *from, uint64_t bytes)
{
    if (bytes > 0) {
        tern__memcpy(to, from, bytes);
    }
    return to + bytes;
}

void tern__net_area_send(struct tern__net *net, int to, const struct tern__net_area *area,
                         const char *payload, const char *line)
{
    char together[TOGETHER_BYTES];
    struct tern__net_message message = message_of(area);
    uint64_t bytes = area->bytes;
    message.offset = area->offset;
    message.bytes = bytes;
    if (area->then == 0 || bytes + area->line_bytes > sizeof together) {
        message.word = 0;
        tern_status_ignore(tern__net_send(net, to, &message, payload));
        bytes = 0;
    }
    if (area->then != 0) {
        char *end = append(append(together, line, area->line_bytes), payload, bytes);
        send_line(net, to, area, &message, together, (uint64_t)(end - together));
    }
}

void tern__net_area_send_all(struct tern__net *net, int to, const struct tern__net_area *area,
                             const char *parts, size_t stride, uint64_t ranks)
{
    char together[sizeof ranks + TERN__NET_TOGETHER_BYTES];
    struct tern__net_area all = *area;
    struct tern__net_message message = message_of(area);
    message.offset = area->offset;
    all.then |= TERN__NET_AREA_ALL;
    char *end = append(together, (const char *)&ranks, sizeof ranks);
    for (uint64_t left = ranks; left != 0; left &= left - 1) {
        const char *part = parts + stride * (size_t)__builtin_ctzll(left);
        end = append(end, part + area->line + sizeof(uint32_t), area->line_bytes);
        end = append(end, part + area->offset, area->bytes);
    }
    send_line(net, to, &all, &message, together, (uint64_t)(end - together));
}

// The window, if it is known here: it is made before anybody calls, and what comes after its end is
// of no use any more. False also when the message sticks out of it.
static bool find(struct tern__net *net, const struct tern__net_message *message,
                 struct tern__net_window *window)
{
    bool found = false;
    pthread_rwlock_rdlock(&net->windows_lock);
    for (uint32_t i = 0; i < net->windows_count && !found; i++) {
        const struct tern__net_window *at = &net->windows[i];
        found = at->slot == message->slot && at->number == message->number &&
                at->generation == message->generation;
        if (found) {
            *window = *at;
        }
    }
    pthread_rwlock_unlock(&net->windows_lock);
    uint64_t line = (uint32_t)message->key;
    uint64_t line_bytes = message->key >> 32;
    uint64_t counter = (uint32_t)message->more;
    return found && message->rank >= 0 && message->rank < window->nranks &&
           message->offset <= window->size_bytes && line_bytes <= message->bytes &&
           message->bytes - line_bytes <= window->size_bytes - message->offset &&
           line + TERN_CACHE_LINE <= window->size_bytes &&
           counter + TERN_CACHE_LINE <= window->size_bytes &&
           line_bytes <= TERN_CACHE_LINE - sizeof(uint32_t);
}

static char *part_of(const struct tern__net_window *window, int rank)
{
    return window->base + window->size_bytes * (size_t)rank;
}

static char *area_place(struct tern__net *net, int peer, const struct tern__net_message *message)
{
    struct tern__net_window window;
    (void)peer;
    bool alone = message->word == 0 && message->key >> 32 == 0; // there is no line in it
    return alone && find(net, message, &window) ? part_of(&window, message->rank) + message->offset
                                                : NULL;
}

static void ring_here(const struct tern__net *net, const struct tern__net_window *window)
{
    for (int rank = 0; rank < window->nranks; rank++) {
        int member = window->members[rank];
        if (tern__job_is_here(net->job, member)) {
            tern__bell_ring(&net->job->ctl->ranks[member].bell);
        }
    }
}

// A line and what comes behind it: false if it has come before (coll/call/area.h).
static bool store(const struct tern__net_window *window, const struct tern__net_message *message,
                  int rank, const char *bytes, uint64_t count)
{
    char *part = part_of(window, rank);
    char *line = part + (uint32_t)message->key;
    uint64_t line_bytes = message->key >> 32;
    _Atomic uint32_t *number = (_Atomic uint32_t *)(void *)line;
    bool counts = (message->word & TERN__NET_AREA_COUNT) != 0;
    if (counts && tern__reached(tern__flag_load(number), (uint32_t)message->value)) {
        return false;
    }
    if (count > line_bytes) {
        tern__memcpy(part + message->offset, bytes + line_bytes, count - line_bytes);
    }
    if (line_bytes > 0) {
        memcpy(line + sizeof(uint32_t), bytes, line_bytes);
    }
    // partner: whoever looks at lines of the area (is_published in coll/call/meet.c, is_ready in
    // pieces.c); releases what came before.
    tern__flag_store(number, (uint32_t)message->value);
    return true;
}

// How many were new.
static uint32_t store_all(const struct tern__net_window *window,
                          const struct tern__net_message *message, const char *payload)
{
    uint64_t ranks = 0;
    uint32_t stored = 0;
    if (message->bytes > sizeof ranks) {
        memcpy(&ranks, payload, sizeof ranks);
    }
    bool known = ranks != 0 && (window->nranks >= 64 || ranks >> window->nranks == 0);
    uint64_t count = known ? (uint64_t)__builtin_popcountll(ranks) : 1;
    uint64_t each = (message->bytes - sizeof ranks) / count;
    if (!known || each < message->key >> 32) {
        return 0; // partner: tern__net_area_send_all
    }
    const char *at = payload + sizeof ranks;
    for (uint64_t left = ranks; left != 0; left &= left - 1, at += each) {
        stored += store(window, message, __builtin_ctzll(left), at, each) ? 1 : 0;
    }
    return stored;
}

static void area_done(struct tern__net *net, int peer, const struct tern__net_message *message,
                      const char *payload)
{
    struct tern__net_window window;
    (void)peer;
    if (message->word == 0 || !find(net, message, &window)) {
        return; // it is stored; or of nobody
    }
    uint32_t stored;
    if ((message->word & TERN__NET_AREA_ALL) != 0) {
        stored = store_all(&window, message, payload);
    } else {
        stored = store(&window, message, message->rank, payload, message->bytes) ? 1 : 0;
    }
    bool rings = (message->word & TERN__NET_AREA_RING) != 0;
    if ((message->word & TERN__NET_AREA_COUNT) != 0 && stored > 0) {
        void *counter = part_of(&window, 0) + (uint32_t)message->more;
        uint32_t now = tern__flag_add(counter, stored) + stored; // partner: tern__arrive
        rings = rings || now - (uint32_t)(message->more >> 32) == (uint32_t)window.nranks;
    }
    if (rings) {
        ring_here(net, &window);
    } else if ((message->word & TERN__NET_AREA_RING_ONE) != 0) {
        tern__bell_ring(&net->job->ctl->ranks[net->job->rank].bell);
    }
}

void tern__net_area_start(struct tern__net *net)
{
    tern__net_handle(net, TERN__NET_AREA,
                     (struct tern__net_handler){.place = area_place,
                                                .done = area_done,
                                                .awaited = true});
}
