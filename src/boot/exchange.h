// SPDX-License-Identifier: Apache-2.0
// Joining a job that something else has started, on one machine or several: all that is asked of it
// is each process's rank, their number, and that everybody gets what everybody gives. Set-up path.
#ifndef TERN_BOOT_EXCHANGE_H
#define TERN_BOOT_EXCHANGE_H

#include <stddef.h>
#include <stdint.h>

#include "sync/job.h"

struct tern__exchange {
    const char *name; // for sentences: "mpirun"
    int rank;
    int nranks;
    uint32_t number; // of the exchanges of this process: names of values are used once
    void *state;
    // Everybody gives `bytes` bytes and gets those of all, in rank order, before the deadline
    // (tern__now_ns); errors have a sentence. Called once, then end.
    int (*gather)(struct tern__exchange *exchange, const void *mine, size_t bytes, void *all,
                  int64_t deadline_ns);
    void (*end)(struct tern__exchange *exchange);
};

// What started this process: 1 and *exchange; 0 when nothing did, or < 0 with a sentence.
int tern__exchange_find(struct tern__exchange *exchange);

// Processes are on one machine when they have the same kernel (its boot id), the same network
// namespace, and the same TERN_MACHINE, if that is set: a digest of these (TERN_ERR_SYSTEM for want
// of descriptors), and a name for people.
int tern__machine_digest(uint64_t *digest);
void tern__machine_name(char name[TERN__MACHINE_NAME_BYTES]);

// Where a rank is, as it says itself, and the machines that follow, as rank `rank` sees them;
// `machines` is zero before. Their names are those of their lowest ranks.
struct tern__seat {
    uint64_t machine; // tern__machine_digest
    const char *name; // TERN__MACHINE_NAME_BYTES, if no NUL comes before
    const struct tern__address *address;
};
void tern__machines_place(const struct tern__seat *seats, int rank, int nranks,
                          struct tern__machines *machines);

// Joins, and ends the exchange.
int tern__join_exchanged(struct tern__exchange *exchange, int64_t timeout_ns,
                         struct tern__job **job);

// exchange_folder.c. TERN_EXCHANGE=RANK:NRANKS:FOLDER, a folder that all processes see and that is
// empty, or not there, at the start and at the end. 1, 0 or < 0 as above.
int tern__exchange_folder(struct tern__exchange *exchange);

// exchange_pmi.c and exchange_pmix.c: processes that mpiexec or mpirun has started; likewise.
int tern__exchange_pmi(struct tern__exchange *exchange);
int tern__exchange_pmix(struct tern__exchange *exchange);

// exchange_root.c. A place at which ranks meet that nothing has started together: all join at it,
// and it serves one job. Either all know which rank will listen there. Or one begins to, before the
// others know of it: it has filled in the token, and an address of its machine; port 0: one of the
// kernel's choice. Of length 0: all addresses, and the one of tern__listen_address. What it listens
// at is filled in.
struct tern__root {
    uint8_t token[16];
    struct tern__address address;
    int32_t host; // the rank that listens when it joins; -1: somebody has begun to
};
int tern__root_listen(struct tern__root *root);

// TERN_ERR_ARG: there can be no such place. TERN_ERR_STATE: the parent of this process listens
// there.
int tern__exchange_root(const struct tern__root *root, int rank, int nranks,
                        struct tern__exchange *exchange);

#endif
