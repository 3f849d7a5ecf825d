// SPDX-License-Identifier: Apache-2.0
// Generators: algorithms that say what an op is when its lane reaches it. Nothing of a lane is kept
// but its place, so a program for 65536 ranks takes no memory. Each is proved by making it a plan
// for few ranks (src/plan/sim/test/generate.c). All of them push, but for the sum inside a group,
// which reads: what a rank reads of another is its input.
#ifndef TERN_PLAN_SIM_GENERATE_H
#define TERN_PLAN_SIM_GENERATE_H

#include "plan/program.h"

// exchange.c: a sum inside each group of ranks, an exchange between those with the same place in
// their groups, around a ring or by halving and doubling, then everybody's part to its group.
extern const struct tern__program_sort tern__generate_ring;
extern const struct tern__program_sort tern__generate_halving;
// pipeline.c: up a tree to rank 0 and down again, in pieces. program->group is the number of
// children; 1 is a chain.
extern const struct tern__program_sort tern__generate_tree;

// Where part `index` of `parts` begins, in bytes: whole units, as even as they can be.
static inline uint64_t tern__generate_begin(const tern_program *program, uint64_t index,
                                            uint64_t parts)
{
    uint64_t units = program->spec.bytes / program->spec.unit;
    return (units / parts * index + units % parts * index / parts) * program->spec.unit;
}

// How often `count` can be halved, rounded up.
static inline int tern__generate_rounds(int count)
{
    int rounds = 0;
    while (1 << rounds < count) {
        rounds++;
    }
    return rounds;
}

#endif
