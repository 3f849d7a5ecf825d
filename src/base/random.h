// SPDX-License-Identifier: Apache-2.0
// Random numbers that are the same everywhere for the same seed: splitmix64 (Steele, Lea, Flood
// 2014).
#ifndef TERN_BASE_RANDOM_H
#define TERN_BASE_RANDOM_H

#include <stdint.h>

// The next number; the state begins as the seed.
static inline uint64_t tern__random_next(uint64_t *state)
{
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

// One below `limit`, above 0. Small limits are as good as even.
static inline uint64_t tern__random_below(uint64_t *state, uint64_t limit)
{
    return tern__random_next(state) % limit;
}

#endif
