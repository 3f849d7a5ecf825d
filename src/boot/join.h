// SPDX-License-Identifier: Apache-2.0
// Becoming a rank of a job, and leaving it. Set-up path.
#ifndef TERN_BOOT_JOIN_H
#define TERN_BOOT_JOIN_H

#include <stdbool.h>
#include <stdint.h>

#include "sync/job.h"

// Whether `tern run` started this process.
bool tern__join_is_launched(void);

// Joins through the launcher's hub, through a rendezvous path, or alone as the one rank of a job.
int tern__join_launched(int64_t timeout_ns, struct tern__job **job);
int tern__join_at(int rank, int nranks, const char *path, int64_t timeout_ns,
                  struct tern__job **job);
int tern__join_alone(int64_t timeout_ns, struct tern__job **job);

// Says HELLO on a connected socket and waits for the answer. pump: called with the time until which
// it may wait, while there is no answer; NULL: just wait. *progress: how far it came.
enum tern__join_progress {
    TERN__JOIN_UNHEARD,  // the hub went away before it took this rank in, or cannot be reached
    TERN__JOIN_ACCEPTED, // it took this rank in, and then went away
    TERN__JOIN_ANSWERED, // it answered: with a job or with a refusal
};
struct tern__place {
    int rank;
    int nranks;
    int64_t timeout_ns;
    int64_t whole_ns; // of which timeout_ns is left; 0: all of it
    uint8_t token[16];
    bool launched;
    int listener; // > 0: the socket that ranks of other machines connect to, at this port
    uint32_t port;
    const char *host; // where the hub is, for sentences: "the launcher"
};
int tern__join_through(int fd, const struct tern__place *place,
                       void (*pump)(void *arg, int64_t until_ns), void *arg,
                       enum tern__join_progress *progress, struct tern__job **job);

// As tern__join_at for the ranks of one of several machines: they meet at a path there, where the
// lowest of them is the hub. processes: pidfds by rank, -1: not known; one that ends before all
// have met is missed at once. The path is for this meeting alone.
#define TERN__JOIN_GONE (-2) // its process has ended already
int tern__join_machine(struct tern__place *place, const char *path,
                       const struct tern__machines *machines, const int *processes,
                       struct tern__job **job);

// Leaves: peers see that this rank has left, which is no failure. Frees the job.
void tern__job_leave(struct tern__job *job);

// In the child of a fork of a rank: frees the child's copy, which touches nobody. Parcels are not
// looked at: another thread of the rank may have been changing them.
void tern__job_let_go(struct tern__job *job);

#endif
