// SPDX-License-Identifier: Apache-2.0
// A gathering of ranks that know each other's addresses, and that nothing has started together:
// all connect to rank 0, which gives each what all have given. Only there to be asked during the
// call; nobody has a thread. Set-up path.
//
// Who comes says rank 0's token first. Rank 0 also holds a connection to whoever has not come yet,
// and so learns at once when that process has ended or listens no more.
#ifndef TERN_BOOT_STAR_H
#define TERN_BOOT_STAR_H

#include <stddef.h>
#include <stdint.h>

#include "sync/machines.h"

struct tern__star {
    const char *what; // that they come to, for sentences: "the import of domain 7"
    int rank;
    int nranks;
    int listener;                          // of this rank; it does not block
    const struct tern__machines *machines; // where all listen
    const uint8_t *token;                  // 16 bytes, of rank 0
    int64_t silence_ns; // how long a rank that has come, or rank 0, may be silent
};

// Every rank gives `bytes` bytes and gets those of all, in rank order. On failure some may have
// got them. TERN_ERR_TIMEOUT names who has not come; TERN_ERR_PEER: one has ended, or cannot be
// reached; TERN_ERR_REFUSED: tokens differ, or what answers is no rank of this build.
int tern__star_gather(const struct tern__star *star, const void *mine, size_t bytes, void *all,
                      int64_t timeout_ns);

#endif
