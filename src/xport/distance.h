// SPDX-License-Identifier: Apache-2.0
// How long lines take from the processors that write them. Cores that share a cache hand one
// another a line in 10 to 50 ns; from another die, socket or cluster it takes 110 and more, and
// many of them are slower than from memory. Which of the two holds is measured while data is moved:
// nothing that the system says is reliable in a virtual machine, and there it changes while a
// program runs.
#ifndef TERN_XPORT_DISTANCE_H
#define TERN_XPORT_DISTANCE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/order.h"

// From so long on they are far from each other.
#define TERN__DISTANCE_LONG_NS 75

// What takes so long was no line: the thread was interrupted.
#define TERN__DISTANCE_TOO_LONG_NS 2000

// Belongs to one thread at a time; the votes are those of all ranks that read each other's lines,
// since who writes them need not read any. Votes of 0: nothing was measured, and all are near.
struct tern__distance {
    _Atomic uint32_t *votes; // in memory of all these ranks
    uint32_t calls;          // of tern__distance_measure
    bool past;               // tern__past_is_quicker
};

// At most; half of them decide. A long one counts for several short ones: of the ranks that share a
// processor most find a line where another one of them has had it.
enum { TERN__DISTANCE_VOTES = 16, TERN__DISTANCE_LONG_COUNTS = 4 };

static inline bool tern__distance_is_long(const struct tern__distance *distance)
{
    return tern__peek(distance->votes) >= TERN__DISTANCE_VOTES / 2;
}

// One vote: what a line took. Of two ranks that vote at a time one may not be counted.
static inline void tern__distance_vote(struct tern__distance *distance, int64_t ns)
{
    uint32_t votes = tern__peek(distance->votes);
    uint32_t more = votes + TERN__DISTANCE_LONG_COUNTS;
    uint32_t less = votes > 0 ? votes - 1 : 0;
    more = more < TERN__DISTANCE_VOTES ? more : TERN__DISTANCE_VOTES;
    uint32_t now = ns >= TERN__DISTANCE_LONG_NS ? more : less;
    if (ns < TERN__DISTANCE_TOO_LONG_NS && now != votes) {
        tern__poke(distance->votes, now);
    }
}

// Every 16th time: loads one byte of a line that another processor has just stored into its
// cache, and that this one has not read since; and votes. Some 75 ns beside what the line takes.
void tern__distance_measure(struct tern__distance *distance, const void *line);

#endif
