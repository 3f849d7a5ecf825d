// SPDX-License-Identifier: Apache-2.0
// Streams as lists, and a list of those that are not empty.

#include "wires.h"

#include <stdlib.h>
#include <string.h>

struct stream {
    struct wires_message *first, *last;
};

struct wires {
    int nranks;
    struct stream *streams; // [from * nranks + to]
    size_t *busy;
    size_t busy_count;
};

struct wires *wires_create(int nranks)
{
    size_t pairs = (size_t)nranks * (size_t)nranks;
    struct wires *wires = calloc(1, sizeof *wires);
    if (wires == NULL) {
        return NULL;
    }
    wires->nranks = nranks;
    wires->streams = calloc(pairs, sizeof *wires->streams);
    wires->busy = calloc(pairs, sizeof *wires->busy);
    if (wires->streams == NULL || wires->busy == NULL) {
        wires_destroy(wires);
        return NULL;
    }
    return wires;
}

void wires_destroy(struct wires *wires)
{
    while (wires != NULL && wires->busy_count > 0) {
        free(wires_take(wires, 0, 0));
    }
    if (wires != NULL) {
        free(wires->streams);
        free(wires->busy);
        free(wires);
    }
}

static bool send(struct wires *wires, const struct wires_message *head, const int64_t *data)
{
    size_t pair = (size_t)head->from * (size_t)wires->nranks + (size_t)head->to;
    struct stream *stream = &wires->streams[pair];
    struct wires_message *made = malloc(sizeof *made + head->count * sizeof *data);
    if (made == NULL) {
        return false;
    }
    *made = *head;
    if (data != NULL) {
        memcpy(made->data, data, head->count * sizeof *data);
    }
    if (stream->first == NULL) {
        wires->busy[wires->busy_count++] = pair;
        stream->first = made;
    } else {
        stream->last->next = made;
    }
    stream->last = made;
    return true;
}

bool wires_put(struct wires *wires, int from, int to, int64_t *place, const int64_t *data,
               uint64_t count)
{
    struct wires_message message = {.from = from, .to = to, .place = place, .count = count};
    return count == 0 || send(wires, &message, data);
}

bool wires_post(struct wires *wires, int from, int to, uint32_t signal)
{
    struct wires_message message = {.from = from, .to = to, .signal = signal};
    return send(wires, &message, NULL);
}

size_t wires_busy(const struct wires *wires)
{
    return wires != NULL ? wires->busy_count : 0;
}

static bool is_slow(size_t pair, uint64_t slow)
{
    return ((pair + 1) * (slow | 1) * UINT64_C(0x9e3779b97f4a7c15) >> 62) == 0;
}

struct wires_message *wires_take(struct wires *wires, uint64_t random, uint64_t slow)
{
    size_t at = random % wires->busy_count;
    for (size_t i = 0; i < wires->busy_count && random >> 60 != 0; i++) {
        if (!is_slow(wires->busy[at], slow)) {
            break;
        }
        at = (at + 1) % wires->busy_count;
    }
    struct stream *stream = &wires->streams[wires->busy[at]];
    struct wires_message *message = stream->first;
    stream->first = message->next;
    if (stream->first == NULL) {
        wires->busy[at] = wires->busy[--wires->busy_count];
    }
    return message;
}
