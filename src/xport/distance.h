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

// From so long on, others read faster what was written past the caches (xport/expose.h).
#define TERN__DISTANCE_LONG_NS 75

// Zeroed: nothing was measured, and all are near. Belongs to one thread at a time.
struct tern__distance {
    uint32_t votes;
    uint32_t calls; // of tern__distance_measure
};

enum { TERN__DISTANCE_VOTES = 8 }; // at most; half of them decide

static inline bool tern__distance_is_long(const struct tern__distance *distance)
{
    return distance->votes >= TERN__DISTANCE_VOTES / 2;
}

// One vote: what a line took.
static inline void tern__distance_vote(struct tern__distance *distance, int64_t ns)
{
    if (ns >= TERN__DISTANCE_LONG_NS) {
        distance->votes += distance->votes < TERN__DISTANCE_VOTES;
    } else {
        distance->votes -= distance->votes > 0;
    }
}

// Every fourth time: loads one byte of a line that another processor has just stored into its
// cache, and that this one has not read since; and votes. Some 75 ns beside what the line takes.
void tern__distance_measure(struct tern__distance *distance, const void *line);

#endif
