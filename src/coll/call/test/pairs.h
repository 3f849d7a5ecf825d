// SPDX-License-Identifier: Apache-2.0
// A sample of a product of many dimensions that is too large to run whole: every two values of
// every two dimensions meet in it. Greedy, from a seed: each sample takes a pair that has not met
// yet and, of some random completions, the one with the most such pairs.
#ifndef TERN_COLL_CALL_TEST_PAIRS_H
#define TERN_COLL_CALL_TEST_PAIRS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "support/coll_ref.h"
#include "support/random.h"

#define PAIRS_DIMS 16

struct pairs {
    int dims;
    int sizes[PAIRS_DIMS];
    // Bit d: dimension d means something in this sample. 0: the sample makes no sense.
    uint32_t (*meaning)(const int *values);
    uint64_t state; // of the random numbers
    size_t begin[PAIRS_DIMS][PAIRS_DIMS];
    size_t count, cursor;
    uint8_t *met; // 1: has met; 2: cannot
};

static inline uint64_t pairs_draw(struct pairs *p, uint64_t below)
{
    return random_below(&p->state, below);
}

// sizes, dims, meaning and state are set.
static inline void pairs_begin(struct pairs *p)
{
    p->count = p->cursor = 0;
    for (int a = 0; a < p->dims; a++) {
        for (int b = a + 1; b < p->dims; b++) {
            p->begin[a][b] = p->count;
            p->count += (size_t)(p->sizes[a] * p->sizes[b]);
        }
    }
    p->met = calloc(p->count, 1);
    if (p->met == NULL) {
        abort();
    }
}

// How many pairs of the sample have not met yet; and says that they have.
static inline int pairs_meet(struct pairs *p, const int *values, uint32_t meaning, bool mark)
{
    int fresh = 0;
    for (int a = 0; a < p->dims; a++) {
        for (int b = a + 1; b < p->dims && (meaning >> a & 1) != 0; b++) {
            size_t at = p->begin[a][b] + (size_t)(values[a] * p->sizes[b] + values[b]);
            if ((meaning >> b & 1) != 0) {
                fresh += p->met[at] != 1;
                p->met[at] = mark ? 1 : p->met[at];
            }
        }
    }
    return fresh;
}

static inline void pairs_find(const struct pairs *p, size_t at, int *a, int *b)
{
    for (*a = 0; *a < p->dims; ++*a) {
        for (*b = *a + 1; *b < p->dims; ++*b) {
            if (at - p->begin[*a][*b] < (size_t)p->sizes[*a] * (size_t)p->sizes[*b]) {
                return;
            }
        }
    }
    abort();
}

// The next sample; false when all that can meet have.
static inline bool pairs_next(struct pairs *p, int *values)
{
    for (; p->cursor < p->count; p->cursor++) {
        if (p->met[p->cursor] != 0) {
            continue;
        }
        int a;
        int b;
        pairs_find(p, p->cursor, &a, &b);
        size_t within = p->cursor - p->begin[a][b];
        int best_fresh = 0;
        int sensible = 0;
        for (int attempt = 0; attempt < 3000 && sensible < 30; attempt++) {
            int tried[PAIRS_DIMS];
            for (int d = 0; d < p->dims; d++) {
                tried[d] = (int)pairs_draw(p, (uint64_t)p->sizes[d]);
            }
            tried[a] = (int)(within / (size_t)p->sizes[b]);
            tried[b] = (int)(within % (size_t)p->sizes[b]);
            uint32_t meaning = p->meaning(tried);
            if ((meaning >> a & 1) == 0 || (meaning >> b & 1) == 0) {
                continue;
            }
            sensible++;
            int fresh = pairs_meet(p, tried, meaning, false);
            if (fresh > best_fresh) {
                best_fresh = fresh;
                memcpy(values, tried, (size_t)p->dims * sizeof *values);
            }
        }
        if (best_fresh > 0) {
            pairs_meet(p, values, p->meaning(values), true);
            return true;
        }
        p->met[p->cursor] = 2;
    }
    return false;
}

static inline void pairs_end(struct pairs *p)
{
    free(p->met);
}

#endif
