// SPDX-License-Identifier: Apache-2.0
// A plan as a rank of a communicator runs it: this rank's scripts, and what the plan as a whole
// asks of memory. Plans whose ranges are whole slices or shares are emitted once, with one byte for
// each, and run at any size; others are emitted for their size.
#ifndef TERN_COLL_CALL_PROGRAM_H
#define TERN_COLL_CALL_PROGRAM_H

#include <stdbool.h>
#include <stdint.h>

#include "plan/exec/script.h"
#include "tern/algo.h"
#include "tern/comm.h"
#include "tern/plan.h"

struct tern__program {
    // The plan; and, for runs in which all that others read is in the slot, without some of its ops
    // (plan/steps.h). NULL, unless they were to be kept.
    tern_plan *plan, *trimmed;
    bool scaled;   // one byte for each slice or share
    bool pull;     // ranks read others' in and scratch, and write nothing of others
    bool in_place; // right also when in and out of any of the ranks overlap, as the kind allows
    uint64_t scratch_bytes;
    uint64_t in_shared, out_shared; // bit r: other ranks touch rank r's in (out)
    uint64_t exposed;               // scaled: bit u: others touch unit u of this rank's in
    bool own_share;                 // of its own in, the rank reads the unit of its number alone
    bool own_scratch;               // of each rank's scratch, the unit of its number alone is used
    struct tern__script whole, staged; // of the plan; of the trimmed one, if it pulls
    bool plain; // staged: one lane, no signals, operands whole inputs or shares of them
    // staged: bit r: it takes bytes of rank r; all other ranks when it has signals.
    uint64_t gates;

    // Of the list that keeps it.
    struct tern__program *next;
    char algorithm[32];
    int index; // of it, in the kind's row of tern_algo_name
    int root;
    uint64_t bytes; // 0 of one that is scaled
    uint32_t unit;
    uint32_t users; // calls that have not ended
};

struct tern__program_key {
    tern_plan_kind kind;
    const char *algorithm;
    tern_order order;
    int root;
    bool scaled; // serves all sizes; then bytes is 0. Others may be for 0 bytes, too
    uint64_t bytes;
    uint32_t unit;
    int rank, nranks;
    const tern_topo *topo;
    bool far;   // ranks are on several machines, and the plan reaches them
    bool keeps; // the plans, which are of all ranks: a call needs its own rank's steps
};

int tern__program_create(const struct tern__program_key *key, struct tern__program **program);
void tern__program_destroy(struct tern__program *program);

#endif
