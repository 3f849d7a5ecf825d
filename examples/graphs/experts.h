// SPDX-License-Identifier: Apache-2.0
// What the two files of experts.c share: what lies where in the windows, who goes where, and the
// kernels.
#ifndef GRAPHS_EXPERTS_H
#define GRAPHS_EXPERTS_H

#include "kit.h"

enum { LINE = 64, RANKS_MAX = 8, EXPERTS_MAX = 64 };

struct experts {
    const struct job *job;
    int tokens, width, per_rank, choices; // of a rank; of a token; experts of a rank; of a token
    int round;
    float *x, *y;     // [tokens][width]
    float *weights;   // [per_rank][width][width], of this rank's experts
    size_t box_bytes; // how many tokens are for each expert, then the tokens
};

// Both kinds of boxes are in every window: for the tokens from a rank, and for what it returns.
enum box { INBOX, OUTBOX };

// The first byte of the tokens in the box of a rank; they are rows of `width` numbers, those of the
// first expert first.
size_t experts_rows_at(const struct experts *all, enum box box, int rank);

// Holds when the rank has filled its box here, in this round.
tern_condition experts_came(const struct experts *all, enum box box, int rank);

// The expert that a token of a rank goes to by one of its choices, all different; and how much that
// counts.
int experts_chosen(const struct experts *all, int rank, int token, int choice);
float experts_share(int token, int choice);

// The arguments of all: the address of the experts, a rank, then regions. Of the second and third
// the last region is the products, [tokens * choices, width].
void kernel_dispatch(int64_t *args); // AIV
void kernel_compute(int64_t *args);  // AIC
void kernel_return(int64_t *args);   // AIV
void kernel_combine(int64_t *args);  // AIV

#endif
