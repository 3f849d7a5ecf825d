// SPDX-License-Identifier: Apache-2.0
// The data of `tern perf` and `tern exec`, and what must come of them. Element i of a rank's input
// in a run is a function of (rank, run, i), so that any rank can say what any other had. The
// reference is naive and shares nothing with the library: sources in rank order, f16 and bf16 in
// f32, rounded once.
#ifndef TERN_CLI_DATA_H
#define TERN_CLI_DATA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tern/dtype.h"
#include "tern/op.h"

struct cli_data {
    tern_dtype dtype;
    bool reduces;
    tern_reduce_op op;    // when it reduces
    size_t element_bytes; // of a pair for minloc and maxloc
    bool exact;           // whole numbers: sums are the same in any order
};

// The source of a rank's input in a run.
uint64_t cli_source(int rank, uint64_t run);

// Writes elements [first, first + count) of a source.
void cli_fill(const struct cli_data *data, uint64_t source, uint64_t first, uint64_t count,
              void *to);

// How many of `count` elements at `have` are not, bit for bit, the sources' elements from `first`
// on, combined in their order. A single source is copied.
uint64_t cli_wrong(const struct cli_data *data, const uint64_t *sources, int nsources,
                   uint64_t first, uint64_t count, const void *have);

#endif
