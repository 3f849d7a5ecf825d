// SPDX-License-Identifier: Apache-2.0
// The launcher of one machine of several, a branch: it gathers, watches and ends the ranks of its
// machine as a launcher of a whole job does, and says to the head what happens. When the head is
// gone, or is silent for too long, it ends them. Set-up path.
#ifndef TERN_BOOT_BRANCH_H
#define TERN_BOOT_BRANCH_H

#include <stdbool.h>
#include <stdint.h>

#include "base/clock_line.h"
#include "boot/assignment.h"
#include "boot/link.h"
#include "tern/api.h"

struct tern__launch;

struct tern__branch {
    const struct tern__assignment *assignment;
    struct tern__link link;
    int32_t generation; // how many gatherings have ended
    bool changed;       // who is here is to be said
    bool obeys;         // while it does what the head says
    // What is known of the head's clock at the start and at the end; and the question that waits.
    struct tern__clock_point clock[2];
    int at_end;
    int32_t questions; // the number of the last one
    int64_t asked_ns;  // when that was; 0: nothing was asked yet
};

// Connects to the head and says so.
int tern__branch_join(struct tern__branch *branch, const struct tern__assignment *assignment);

// For tern__hub_spread; the argument is the branch.
void tern__branch_changed(void *branch);

// Hears and does what the head says, and says what is to be said. Returns when to call it again.
int64_t tern__branch_turn(struct tern__launch *job);

// The head may go on without this branch's output.
bool tern__branch_is_lost(const struct tern__branch *branch);

// branch_say.c. Says which ranks are here.
void tern__branch_tell_present(struct tern__launch *job);

// Says that the job cannot go on here, or why it was ended here.
void tern__branch_fail(struct tern__branch *branch, int exit_status, const char *format, ...)
    TERN_PRINTF(3, 4);
void tern__branch_tell_cause(struct tern__launch *job);

// Says how a rank ended, and whom the ranks blamed then (-1: nobody).
void tern__branch_tell_end(struct tern__launch *job, int rank, int suspect);

// branch_trace.c. Asks for the head's clock; takes an answer, and asks again until there are
// enough.
void tern__branch_ask_clock(struct tern__branch *branch);
void tern__branch_hear_clock(struct tern__branch *branch, const struct tern__link_word *word);

// All ranks have ended: hands what they have recorded to the head. Ends early when the head is gone
// or silent, or there is a signal, also one that the head got.
void tern__branch_tell_trace(struct tern__launch *job);

// Nothing is left here. Says so, and waits until the head has heard it, within limits.
void tern__branch_leave(struct tern__branch *branch, const char *failure);

#endif
