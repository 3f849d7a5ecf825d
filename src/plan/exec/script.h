// SPDX-License-Identifier: Apache-2.0
// From a sealed plan to what one rank does of it: its script. The steps name ranges of the plan;
// which addresses these are is said by the binding of a run (transfer.h).
#ifndef TERN_PLAN_EXEC_SCRIPT_H
#define TERN_PLAN_EXEC_SCRIPT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/order.h"
#include "tern/plan.h"

enum tern__step_kind {
    TERN__STEP_COPY,
    TERN__STEP_REDUCE,
    TERN__STEP_ADD, // atomically
    TERN__STEP_POST,
    TERN__STEP_WAIT,
    TERN__STEP_ARRIVE, // posts of a signal to all other ranks, where all ranks do the same
    TERN__STEP_MEET,   // and the wait for those of all others
};

struct tern__step {
    uint8_t kind; // enum tern__step_kind
    uint16_t sources_count, destinations_count;
    uint32_t index; // in the plan's lane
    uint64_t gates; // bit r: it touches memory or signals of rank r, which must have begun the run
    union {
        struct {
            const tern_plan_range *operands; // sources, then destinations
            uint64_t length;                 // of each, as in the plan
        };
        struct {
            uint32_t word;  // of the rank's signals, four bytes each
            uint32_t count; // wait: posts wanted in this run
            uint16_t peer;  // post
            uint32_t signal;
        };
    };
};

struct tern__steps {
    const struct tern__step *begin, *end;
    int lane; // of the plan
};

struct tern__script {
    struct tern__steps *lanes; // those with steps
    struct tern__step *steps;
    tern_plan_range *operands; // of all of them
    uint32_t lanes_count;
    uint32_t *posts;      // to each of this rank's signals, in a run
    uint64_t *posters;    // and by whom: bit r: rank r
    uint32_t posts_count; // length of these arrays; 0: nobody waits
    uint32_t meets;       // bit s: all ranks meet at signal s, which then has no posts
    bool packed;          // signals: four bytes apart, else a line
};

struct tern__lowering {
    const tern_plan *plan; // sealed
    int rank;
    uint32_t meets_max; // all ranks may meet at a counter instead of signals below this, up to 32
    uint32_t lines_max; // signals of a rank that get a line each; with more they are packed
};

// Set-up path. A script that could not be made is freed like one that was.
int tern__script_create(const struct tern__lowering *how, struct tern__script *script);
void tern__script_free(struct tern__script *script);

// The word of a signal.
static inline uint32_t tern__script_word(const struct tern__script *script, uint32_t signal)
{
    return signal * (script->packed ? 1 : TERN_CACHE_LINE / 4);
}

#endif
