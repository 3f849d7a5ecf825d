// SPDX-License-Identifier: Apache-2.0
// The machines of a job that runs on several: which ranks are on which, and where each rank can be
// reached. Whoever gathers a machine's ranks writes it into the control memory before anybody sees
// that; it stays as it is.
//
// What is called a machine here is a set of ranks that share memory: each has one control memory,
// and one memfd for its parts of a window.
#ifndef TERN_SYNC_MACHINES_H
#define TERN_SYNC_MACHINES_H

#include <stdint.h>

#include "tern/comm.h"

#define TERN__MACHINE_NAME_BYTES 64
#define TERN__ADDRESS_BYTES 28 // of a sockaddr_in or sockaddr_in6

struct tern__machine {
    char name[TERN__MACHINE_NAME_BYTES]; // for sentences
    uint64_t ranks;                      // bit r: rank r of the job is on it
    int32_t leader;                      // the lowest of them
};

// Where a rank listens.
struct tern__address {
    uint32_t length;
    unsigned char bytes[TERN__ADDRESS_BYTES];
};

struct tern__machines {
    int32_t count; // 0 or 1: all ranks are on one machine, and nothing else counts
    int32_t mine;  // whose memory this is in
    uint8_t of[TERN_RANKS_MAX];
    struct tern__machine list[TERN_RANKS_MAX];
    struct tern__address address[TERN_RANKS_MAX];
};

#endif
