// SPDX-License-Identifier: Apache-2.0
// The lanes of a script in a run: what has been done, what can be done next, and where they stand.
// The signals are words that only count up, in each rank's part of a window: what a wait wants is
// what earlier runs have counted and the posts of this one, compared as a difference, so words may
// wrap around.
#ifndef TERN_PLAN_EXEC_LANES_H
#define TERN_PLAN_EXEC_LANES_H

#include <stdatomic.h>

#include "comm/window.h"
#include "plan/exec/transfer.h"

struct tern__lanes {
    const struct tern__script *script; // NULL: there is nothing to do
    const struct tern__binding *binding;
    tern_window *window;
    char *signals;          // word 0 of rank 0's signals, in the window
    uint32_t *counted;      // by word: posts to this rank's signals in runs that have ended
    char *arrivals;         // where all ranks meet: a counter for each signal, a line apart
    const uint32_t *passed; // by signal: arrivals there in runs that have ended
    const char
        *heads; // the word of rank 0 that says which run it has begun last; each rank's likewise,
    const _Atomic uint32_t *told; // but of ranks of other machines these, by rank
    uint64_t begun; // bit r: rank r is known to have begun the run; all, where that is sure before
    uint32_t run;   // its number
    uint32_t open_count;
    uint16_t *open;                 // the lanes that have not ended
    const struct tern__step **next; // of each lane
    uint32_t *added;                // of each lane: stripes of an atomic reduce that are done
    bool failed;                    // a transfer could not be done, and nothing goes on:
    struct tern__unread unread;     // why
    // A step that is over, but a transfer; called only while a trace is recorded. owner: whose
    // lanes these are, for it.
    const void *owner;
    void (*trace)(const struct tern__lanes *lanes, const struct tern__step *step, int64_t begin_ns);
};

// Room for scripts of so many lanes; the rest is set by whoever runs them. Set-up path.
int tern__lanes_create(struct tern__lanes *lanes, size_t count);
void tern__lanes_free(struct tern__lanes *lanes);

// Data path from here on: no allocation, lock, system call or log.

// All lanes are at their beginning.
void tern__lanes_begin(struct tern__lanes *lanes);

// Goes once round the lanes and does what is ready, one transfer a lane, so that a long one does
// not hold up a post that others wait for. True when anything was done.
bool tern__lanes_sweep(struct tern__lanes *lanes);

// Whether a sweep would do something.
bool tern__lanes_ready(struct tern__lanes *lanes);

// When all have ended: counts the posts of this run as those of an earlier one.
void tern__lanes_end(struct tern__lanes *lanes);

// A step at which they stand, and its lane in the plan; NULL when all have ended.
const struct tern__step *tern__lanes_stand(const struct tern__lanes *lanes, int *lane);

// Whether a rank has begun the run; where there are heads.
bool tern__lanes_begun(const struct tern__lanes *lanes, int rank);

// A word of a rank's signals.
char *tern__lanes_word(const struct tern__lanes *lanes, int rank, uint32_t word);

// How often the signal of a wait has been posted in this run.
uint32_t tern__lanes_seen(const struct tern__lanes *lanes, const struct tern__step *step);

// This rank has come to a point where all ranks of the window meet: a counter, and what it was
// before this run. With two ranks a bell is as good.
void tern__arrive(const tern_window *window, _Atomic uint32_t *counter, uint32_t before);

// Wakes the others that sleep, after a change that they may wait for.
void tern__ring_others(const tern_window *window);

#endif
