// SPDX-License-Identifier: Apache-2.0
// What the host of a node and its chips say to each other, through one window that all of them
// have. Only put and notify, and offsets instead of pointers, so a chip may be on another machine.
//
// Each chip has a row of TERN__NODE_SLOTS slots in its part. The host puts message n (from 0) into
// slot n % TERN__NODE_SLOTS and adds 1 to `sent`; the chip does what it says and adds 1 to its word
// of `done` in the host's part. The host is never more messages ahead than there are slots. What
// went wrong with message n the chip puts into report n % TERN__NODE_SLOTS before it counts; a
// report with another number is an old one.
#ifndef TERN_NODE_WIRE_H
#define TERN_NODE_WIRE_H

#include "tern/node.h"

enum {
    TERN__NODE_SLOTS = 8,
    TERN__NODE_SLOT_BYTES = 8192,
    TERN__NODE_REPORT_BYTES = 512,
    // Words of a chip's part.
    TERN__NODE_SENT = 0,
    TERN__NODE_ENDED = 64, // the number + 1 of the message whose waits end: its group has failed
    // In the host's part a cache line for each chip.
    TERN__NODE_DONE = 4096,
    TERN__NODE_SLOTS_AT = 8192,   // of a chip's part
    TERN__NODE_REPORTS_AT = 8192, // of the host's part; of each chip
    TERN__NODE_MAIL_BYTES = 8192 + TERN_RANKS_MAX * TERN__NODE_SLOTS * TERN__NODE_REPORT_BYTES,
};
_Static_assert(TERN__NODE_SLOTS *TERN__NODE_SLOT_BYTES <= TERN__NODE_MAIL_BYTES - 8192,
               "the slots have room");

static inline size_t tern__node_done_at(int chip)
{
    return TERN__NODE_DONE + 64 * (size_t)chip;
}

static inline size_t tern__node_slot_at(uint32_t number)
{
    return TERN__NODE_SLOTS_AT + number % TERN__NODE_SLOTS * (size_t)TERN__NODE_SLOT_BYTES;
}

static inline size_t tern__node_report_at(int chip, uint32_t number)
{
    return TERN__NODE_REPORTS_AT +
           ((size_t)chip * TERN__NODE_SLOTS + number % TERN__NODE_SLOTS) * TERN__NODE_REPORT_BYTES;
}

// What the host tells all chips first.
#define TERN__NODE_MAGIC UINT64_C(0x7465726e6e6f6431)
struct tern__node_hello {
    uint64_t window_bytes;
    uint64_t magic; // TERN__NODE_MAGIC: of this layout
};

enum tern__node_kind { TERN__NODE_RUN = 1, TERN__NODE_LOAD = 2, TERN__NODE_END = 3 };

// Of a context: rank i is the part of the window of rank ranks[i], from `offset` on.
struct tern__node_domain {
    uint64_t offset, bytes;
    uint32_t count;
    uint8_t ranks[TERN_NODE_CHIPS_MAX + 1];
    uint32_t number; // for sentences
};

// Of TERN__NODE_RUN behind it: the domains, the regions, then the args. An argument that is a
// region is the index of it. A region's address is its offset in the window, all parts of which lie
// one behind the other. Of TERN__NODE_LOAD: the path.
struct tern__node_message {
    uint32_t kind;
    uint8_t args_count, regions_count, domains_count, orchestrates;
    uint64_t is_region;                      // a bit for each argument
    uint8_t access[TERN_SUBMIT_REGIONS_MAX]; // of each region; a filled TERN_OUT is TERN_INOUT
    char function[TERN_NODE_NAME_BYTES];
    char name[40];
};

#define TERN__NODE_MESSAGE_MOST                                                                    \
    (sizeof(struct tern__node_message) +                                                           \
     TERN_NODE_DOMAINS_MAX * sizeof(struct tern__node_domain) +                                    \
     TERN_SUBMIT_REGIONS_MAX * sizeof(tern_region) + TERN_TASK_ARGS_MAX * sizeof(int64_t))
_Static_assert(TERN__NODE_MESSAGE_MOST <= TERN__NODE_SLOT_BYTES, "the largest message has room");

struct tern__node_report {
    uint32_t number; // of the message, + 1
    int32_t status;
    char text[TERN__NODE_REPORT_BYTES - 8];
};

#endif
