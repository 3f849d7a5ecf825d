// SPDX-License-Identifier: Apache-2.0
// Joining at a place that one of the ranks has made, on one machine or several.
#ifndef TERN_START_ROOT_H
#define TERN_START_ROOT_H

#include "boot/exchange.h"

// A place at this address of this machine, as a text without a port; NULL: the one that ranks of
// other machines reach this one at. This process is to join at it.
int tern__root_make(const char *address, struct tern__root *root);

// The place at this address of rank 0's machine, which will listen there. All agree on it.
int tern__root_agreed(const char *address, uint32_t port, const uint8_t token[16],
                      struct tern__root *root);

// Both in nanoseconds, above 0.
struct tern__deadlines {
    int64_t start_ns; // until all have come
    int64_t waits_ns; // of every wait from then on that is not given its own
};

// As tern_init_at; at a path, and at a place (boot/exchange.h) instead of one.
int tern__init_path(const char *path, int rank, int nranks, const struct tern__deadlines *deadlines,
                    tern_comm **comm);
int tern__init_root(const struct tern__root *root, int rank, int nranks,
                    const struct tern__deadlines *deadlines, tern_comm **comm);

#endif
