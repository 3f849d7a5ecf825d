// SPDX-License-Identifier: Apache-2.0
// A network between ranks, for the interpreter of plans: a stream for each pair, in order, and no
// order between streams. What is sent stays on its way until somebody takes it.
#ifndef TERN_TEST_WIRES_H
#define TERN_TEST_WIRES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct wires;

// Numbers for a place, or without numbers a post of a signal.
struct wires_message {
    int from, to;
    int64_t *place;
    uint64_t count;
    uint32_t signal;
    struct wires_message *next;
    int64_t data[];
};

struct wires *wires_create(int nranks); // NULL: no memory
void wires_destroy(struct wires *wires);

// False: no memory.
bool wires_put(struct wires *wires, int from, int to, int64_t *place, const int64_t *data,
               uint64_t count);
bool wires_post(struct wires *wires, int from, int to, uint32_t signal);

// How many streams have something on its way; and the first message of one of them, to be freed.
// `slow` chooses streams that are passed over, most of the time, while there are others.
size_t wires_busy(const struct wires *wires);
struct wires_message *wires_take(struct wires *wires, uint64_t random, uint64_t slow);

#endif
