// SPDX-License-Identifier: Apache-2.0
// A gathering of ranks that nothing has started together: all connect to one of them, the host,
// which gives each what all have given. Only there to be asked during the call; nobody has a
// thread. Set-up path.
//
// Who comes says the host's token first. Where all know each other's addresses, the host also holds
// a connection to whoever has not come yet, and so learns at once when that process has ended or
// listens no more; and those that it has not answered look after the others.
#ifndef TERN_BOOT_STAR_H
#define TERN_BOOT_STAR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sync/machines.h"

struct tern__star {
    const char *what; // that they come to, for sentences: "the import of domain 7"
    int rank;
    int nranks;
    int host;                       // -1: only where it listens is known
    bool begins_later;              // it may not listen yet when another one comes
    int listener;                   // of this rank; it does not block. Only the host's is used
    const struct tern__address *at; // where the host listens
    const struct tern__machines *machines; // where all listen; NULL: not known
    const uint8_t *token;                  // 16 bytes, of the host
    int64_t silence_ns; // how long a rank that has come, or the host, may be silent
};

// Every rank gives `bytes` bytes and gets those of all, in rank order. On failure some may have
// got them. TERN_ERR_TIMEOUT names who has not come; TERN_ERR_PEER: one has ended, or cannot be
// reached; TERN_ERR_REFUSED: tokens differ, or what answers is no rank of this build.
int tern__star_gather(const struct tern__star *star, const void *mine, size_t bytes, void *all,
                      int64_t timeout_ns);

#endif
