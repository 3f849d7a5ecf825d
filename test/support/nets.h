// SPDX-License-Identifier: Apache-2.0
// Ranks for tests of the network alone: forked processes, each on a "machine" of its own, with a
// job made by hand and one window, over loopback.
#ifndef TERN_TEST_NETS_H
#define TERN_TEST_NETS_H

#include <stdatomic.h>

#include "net/net.h"
#include "ranks.h"

struct net_rank {
    struct tern__job job;
    struct tern__machines machines;
    char *base; // of rank 0's part; only one's own can be touched
    size_t size_bytes;
    struct nets_shared *shared;
};

// Memory that the processes share in fact: where they meet, and words for tests.
struct nets_shared {
    _Atomic uint32_t arrived;
    _Atomic uint32_t words[16];
};

typedef int (*net_body)(struct net_rank *self, void *arg);

// Runs `body` on `count` ranks, between tern__net_start and tern__net_stop. True when each returned
// 0, in time.
bool nets_run(int count, size_t size_bytes, net_body body, void *arg, double deadline_s);

// The same, and one of them is killed.
bool nets_run_killed(int count, size_t size_bytes, net_body body, void *arg, double deadline_s,
                     int killed);

// Where a rank's part is, or would be.
char *nets_at(const struct net_rank *self, int rank, size_t offset);

// Meets the others, past the network.
void nets_meet(struct net_rank *self);

// Waits until a word of one's own part has a value; false after 20 s.
bool nets_await(const struct net_rank *self, size_t offset, uint32_t value);

#endif
