// SPDX-License-Identifier: Apache-2.0
// The area of a communicator: shared memory that its collective calls meet in, made with it so that
// no call has to wait for memory. Sparse: what no call touches takes none. Each rank's part:
//
//     heads      a pair of lines for each run that may have lines, of which the first one is used:
//                what the rank publishes at the beginning of a run
//     letters    likewise: what a v-collective of two ranks says to the other one
//     help       likewise, for each slot: a copy that this rank makes out of another one's memory,
//                with its help
//     arrivals   rank 0's are used, by all ranks: counters of a run, a line each
//     together   likewise, by the ranks of a machine, a line for each run
//     signals    of the plan that runs in a slot
//     locks      a line each; of atomic reduces of any plan
//     votes      rank 0's line is used, by all ranks: how far they are from each other
//     small      payloads of runs that have lines and no slot
//     payloads   of a slot: inputs, scratch and outputs that are staged
//     mailboxes  one for each sender: lines of a ring of messages, and their payloads
//     wide       payloads of slots, in jobs of several machines: of plans that reach them
//
// Who writes what and when: src/coll/call/area.h.
#ifndef TERN_COMM_AREA_H
#define TERN_COMM_AREA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/order.h"

enum {
    TERN__SLOTS = 8,         // runs of a communicator that may be in shared memory at a time
    TERN__LINES = 64,        // the same of those that are small
    TERN__SLOT_ARRIVALS = 3, // of a run's beginning, and of signals 0 and 1 of its plan
    TERN__SLOT_SIGNALS = 64, // lines of signals of a slot
    TERN__AREA_LOCKS_COUNT = 64,
    TERN__SLOT_BYTES = 256 << 10,
    TERN__SMALL_BYTES = 1 << 10, // of the input of a small run
    TERN__SMALL_SHARE = 96,      // with counts: of each rank a row, and what rounding adds to it
    TERN__MAIL_SLOTS = 4,        // messages from one sender that may be on their way
    TERN__MAIL_BYTES = 32 << 10, // of one of them
    TERN__MAIL_RING = 32,        // of few ranks: payloads that are used in turn
    TERN__MAIL_RING_RANKS = 4,
    TERN__WIDE_BYTES = 8 << 20,
};

// Processors fetch lines in pairs: a reader of one gets its neighbour, too, out of the cache of the
// rank that is about to write there. So lines that are written at different times lie this far from
// each other.
#define TERN__LINE_PAIR ((size_t)2 * TERN_CACHE_LINE)

#define TERN__AREA_HEADS 0
#define TERN__AREA_LETTERS (TERN__LINES * TERN__LINE_PAIR)
#define TERN__AREA_HELP (TERN__AREA_LETTERS + TERN__LINES * TERN__LINE_PAIR)
#define TERN__AREA_ARRIVALS (TERN__AREA_HELP + TERN__SLOTS * TERN__LINE_PAIR)
#define TERN__AREA_TOGETHER                                                                        \
    (TERN__AREA_ARRIVALS + (size_t)TERN__LINES * TERN__SLOT_ARRIVALS * TERN_CACHE_LINE)
#define TERN__AREA_SIGNALS (TERN__AREA_TOGETHER + (size_t)TERN__LINES * TERN_CACHE_LINE)
#define TERN__AREA_LOCKS                                                                           \
    (TERN__AREA_SIGNALS + (size_t)TERN__SLOTS * TERN__SLOT_SIGNALS * TERN_CACHE_LINE)
#define TERN__AREA_VOTES (TERN__AREA_LOCKS + (size_t)TERN__AREA_LOCKS_COUNT * TERN_CACHE_LINE)
#define TERN__AREA_MAIL (TERN__AREA_VOTES + TERN_CACHE_LINE)
#define TERN__MAIL_LINES (TERN__MAIL_SLOTS + 2) // heads, and those of acknowledgements and help
#define TERN__AREA_ALIGN ((size_t)4096)

// What a small run has: input, and rows of all ranks, in whole lines. And from one to the next: an
// odd number of lines, so that those of many runs are in different sets of a cache.
static inline size_t tern__area_small_bytes(int nranks)
{
    return TERN__SMALL_BYTES + TERN_CACHE_LINE + (size_t)nranks * TERN__SMALL_SHARE;
}

static inline size_t tern__area_small_stride(int nranks)
{
    size_t lines = (tern__area_small_bytes(nranks) + TERN_CACHE_LINE - 1) / TERN_CACHE_LINE;
    return (lines | 1) * TERN_CACHE_LINE;
}

// Where the small payloads, those of slots, and those of messages, begin; and the size of a part.
static inline size_t tern__area_small(int nranks)
{
    return TERN__AREA_MAIL + (size_t)nranks * TERN__MAIL_LINES * TERN_CACHE_LINE;
}

static inline size_t tern__area_payloads(int nranks)
{
    size_t lines = tern__area_small(nranks) + TERN__LINES * tern__area_small_stride(nranks);
    return (lines + TERN__AREA_ALIGN - 1) / TERN__AREA_ALIGN * TERN__AREA_ALIGN;
}

static inline size_t tern__area_mail_payloads(int nranks)
{
    return tern__area_payloads(nranks) + (size_t)TERN__SLOTS * TERN__SLOT_BYTES;
}

// Payloads from one sender. Few ranks have more than may be on their way: one that comes around
// again has left the receiver's caches, and to write lines that are in another cache takes long.
static inline uint32_t tern__area_mail_ring(int nranks)
{
    return nranks <= TERN__MAIL_RING_RANKS ? TERN__MAIL_RING : TERN__MAIL_SLOTS;
}

static inline size_t tern__area_wide(int nranks)
{
    return tern__area_mail_payloads(nranks) +
           (size_t)nranks * tern__area_mail_ring(nranks) * TERN__MAIL_BYTES;
}

// far: in a job of several machines.
static inline size_t tern__area_bytes(int nranks, bool far)
{
    return tern__area_wide(nranks) + (far ? (size_t)TERN__SLOTS * TERN__WIDE_BYTES : 0);
}

#endif
