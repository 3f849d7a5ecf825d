// SPDX-License-Identifier: Apache-2.0
// The element types as the data and the reference of `tern perf` see them.
#ifndef TERN_CLI_DATA_TYPE_H
#define TERN_CLI_DATA_TYPE_H

#include "data.h"

struct cli_type {
    tern_dtype dtype;
    size_t size;
    // What elements are widened to before they are combined.
    enum { WIDE_FLOAT, WIDE_DOUBLE, WIDE_SIGNED, WIDE_UNSIGNED } wide;
    // Of floats: bits of the mantissa, the exponent of 1, a NaN with a payload, infinity.
    int mantissa;
    uint64_t bias, nan, infinity;
};

const struct cli_type *cli_type_of(const struct cli_data *data);
bool cli_is_float(const struct cli_type *type);

// Whether elements are pairs of a value and an index, and where in a pair the index is.
bool cli_is_pair(const struct cli_data *data);
size_t cli_index_at(const struct cli_type *type);

#endif
