// SPDX-License-Identifier: Apache-2.0
// The ranks as one program: they agree on failures, so that all of them end with the same exit
// status and rank 0 prints the one sentence.
#ifndef TP_FFN_JOB_H
#define TP_FFN_JOB_H

#include <stdbool.h>

#include <tern/comm.h>
#include <tern/window.h>

#include "support.h"

struct job {
    tern_comm *comm;
    int rank;
    int nranks;
    tern_window *board; // where each rank posts its failure
    unsigned posts;
    bool agreed; // on a failure: every rank knows it and ends in order
};

// Joins. timeout_ns: the deadline of every wait, 0 for tern's own.
int job_begin(struct job *job, int64_t timeout_ns, struct failure *failure);

// Collective. Returns 0, with an empty failure, when no rank has failed; else *failure becomes that
// of the lowest rank that has. All ranks return the same, unless the communicator itself fails.
// What ranks wrote before it is visible to all after it.
int job_agree(struct job *job, struct failure *failure);

int job_barrier(struct job *job, struct failure *failure);

// Leaves. Harmless after a failed job_begin.
void job_end(struct job *job);

#endif
