// SPDX-License-Identifier: Apache-2.0
// Ranks that would run different algorithms are found out: the first rank of a communicator to
// select for a kind of collective leaves a digest of its choice, every other one compares. The
// first of each machine tells the other machines.
#ifndef TERN_SYNC_PICKS_H
#define TERN_SYNC_PICKS_H

#include "sync/group.h"

#define TERN__SELECTED_BITS 56 // of a digest that count

// A rank's choice, as it is told.
struct tern__selected {
    uint32_t kind;      // < TERN__SELECTED
    int32_t rank;       // of the communicator
    uint64_t digest;    // of TERN__SELECTED_BITS
    char kind_name[32]; // for the sentence
    char rank_name[40];
    char source[160]; // whose choice it is: a file, a word
};

// TERN_OK when it is that of the others, as far as they have said; else the group fails.
int tern__group_selected(struct tern__group *group, uint32_t kind, const char *kind_name,
                         uint64_t digest, const char *source);

// For what comes from another machine, about a communicator that is locked: the same.
void tern__ctl_selected(struct tern__ctl *ctl, int slot, const struct tern__selected *selected);

#endif
