// SPDX-License-Identifier: Apache-2.0
// What lies where in the window of each rank: 256 bytes that stay free, the signals, each in a
// cache line of its own, then a buffer of [tokens, hidden] elements. A chunk's rows of it hold what
// this rank adds to a, then a, then what it adds to y, then y: nobody needs one of them once the
// next is written, and a fourth of the memory stays in the caches for longer.
#ifndef TP_FFN_LAYOUT_H
#define TP_FFN_LAYOUT_H

#include "shape.h"

// The two AllReduces: after the Linear, and at the end.
enum stage { STAGE_A, STAGE_Y, STAGE_COUNT };

// ready: what a rank adds to a chunk lies in its window. done: a rank has stored the slice that it
// sums into this window. Each counts to the number of ranks in every run.
enum signal { SIGNAL_READY, SIGNAL_DONE, SIGNAL_COUNT };

// Signals count up with the runs of a variant, so each that communicates has its own.
enum signal_set { SIGNALS_FULL, SIGNALS_COMMUNICATION, SIGNAL_SET_COUNT };

struct layout {
    struct shape shape;
    size_t nranks;
    size_t row_bytes;
    size_t data; // offset of the buffer in bytes
    size_t data_bytes;
    size_t window_bytes;
};

void layout_create(struct layout *layout, const struct shape *shape, size_t nranks);

// The offset of a signal, in bytes.
size_t layout_signal(const struct layout *layout, enum signal_set set, enum stage stage,
                     enum signal signal, size_t chunk);

// The elements of a chunk that a rank sums, counted from the buffer's begin. May be empty.
struct range layout_slice(const struct layout *layout, size_t chunk, size_t rank);

#endif
