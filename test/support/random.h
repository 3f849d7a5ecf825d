// SPDX-License-Identifier: Apache-2.0
// Random numbers for tests: the same seed gives the same test everywhere.
#ifndef TERN_TEST_RANDOM_H
#define TERN_TEST_RANDOM_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "base/random.h"

// Numbers drawn one after the other; processes that begin with the same state draw the same.
static inline uint64_t random_next(uint64_t *state)
{
    return tern__random_next(state);
}

static inline uint64_t random_below(uint64_t *state, uint64_t limit)
{
    return tern__random_below(state, limit);
}

// The seed of this run, printed; TERN_TEST_SEED=N repeats it.
static inline uint64_t random_seed(void)
{
    const char *given = getenv("TERN_TEST_SEED");
    uint64_t mixed = (uint64_t)time(NULL) * 1000003 + (uint64_t)getpid();
    uint64_t seed = given != NULL ? strtoull(given, NULL, 10) : random_next(&mixed) >> 32;
    printf("TERN_TEST_SEED=%llu\n", (unsigned long long)seed);
    fflush(stdout);
    return seed;
}

#endif
