// SPDX-License-Identifier: Apache-2.0
// The hosts of a job: "a:2,b:2". Each entry is a machine of the job, also when two name one host.
// Set-up path.
#ifndef TERN_BOOT_HOSTS_H
#define TERN_BOOT_HOSTS_H

#include "sync/machines.h"

#define TERN__HOST_BYTES 256

struct tern__host {
    char address[TERN__HOST_BYTES];      // what the agent is told: "user@b"
    char name[TERN__MACHINE_NAME_BYTES]; // for sentences: "b", and "b#2" for a second entry of it
    int first;                           // its ranks are first .. first + count - 1
    int count;
};

struct tern__hosts {
    int count;
    int nranks; // of all
    struct tern__host list[TERN_RANKS_MAX];
};

// Reads them: a host with the number of its ranks behind a colon, or without one for one rank; an
// IPv6 address stands in brackets. TERN_ERR_ARG with a sentence.
int tern__hosts_read(const char *text, struct tern__hosts *hosts);

// "rank 2", "ranks 2-3".
struct tern__host_ranks {
    char text[32];
};
struct tern__host_ranks tern__host_ranks(const struct tern__host *host);

// Its ranks, as bits.
static inline uint64_t tern__host_mask(const struct tern__host *host)
{
    return UINT64_MAX >> (64 - host->count) << host->first;
}

// The host of a rank.
int tern__hosts_of(const struct tern__hosts *hosts, int rank);

#endif
