// SPDX-License-Identifier: Apache-2.0
// Areas (comm/area.h) of communicators with ranks on several machines: what a rank publishes in its
// own memory comes as a message, is stored in the copy that the ranks here read, and whoever may
// wait for it is woken.

#include <string.h>

#include "base/error.h"
#include "net/state.h"
#include "sync/bell.h"

// Up to so many bytes a line and a payload are one message, which is copied once more where it
// comes; a longer payload goes straight to where it belongs.
#define TOGETHER_BYTES 4096

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
        if (area->line_bytes > 0) {
            memcpy(together, line, area->line_bytes);
        }
        if (bytes > 0) {
            memcpy(together + area->line_bytes, payload, bytes);
        }
        message.word = area->then;
        message.bytes = area->line_bytes + bytes;
        message.key = area->line | (uint64_t)area->line_bytes << 32;
        message.more = area->counter | (uint64_t)area->counted << 32;
        tern_status_ignore(tern__net_send(net, to, &message, together));
    }
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
    return message->word == 0 && find(net, message, &window)
               ? part_of(&window, message->rank) + message->offset
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

static void area_done(struct tern__net *net, int peer, const struct tern__net_message *message,
                      const char *payload)
{
    struct tern__net_window window;
    (void)peer;
    if (message->word == 0 || !find(net, message, &window)) {
        return; // it is stored; or of nobody
    }
    char *part = part_of(&window, message->rank);
    char *line = part + (uint32_t)message->key;
    uint64_t line_bytes = message->key >> 32;
    if (message->bytes > line_bytes) {
        memcpy(part + message->offset, payload + line_bytes, message->bytes - line_bytes);
    }
    if (line_bytes > 0) {
        memcpy(line + sizeof(uint32_t), payload, line_bytes);
    }
    // partner: whoever looks at lines of the area (is_published in coll/call/meet.c, is_ready in
    // pieces.c); releases what came before.
    tern__flag_store((_Atomic uint32_t *)(void *)line, (uint32_t)message->value);
    bool rings = (message->word & TERN__NET_AREA_RING) != 0;
    if ((message->word & TERN__NET_AREA_COUNT) != 0) {
        void *counter = part_of(&window, 0) + (uint32_t)message->more;
        uint32_t now = tern__flag_add(counter, 1) + 1; // partner: tern__arrive
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
