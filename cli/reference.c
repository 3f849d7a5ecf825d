// SPDX-License-Identifier: Apache-2.0
// The naive reference: goes through blocks that stay in the first-level cache; the cells
// (elements as they lie in memory) of each source are made, widened, combined, and at the end
// narrowed and compared.

#include <math.h>
#include <string.h>

#include "data_type.h"

#define BLOCK 512

static float float_of_bits(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static float float_of_half(uint16_t cell)
{
    uint32_t sign = (cell & 0x8000u) << 16;
    uint32_t magnitude = cell & 0x7fffu;
    if (magnitude >= 0x7c00u) {
        return float_of_bits(sign | 0x7f800000u | magnitude << 13);
    }
    if (magnitude < 0x400u) {
        float value = (float)magnitude * 0x1p-24f;
        return sign != 0 ? -value : value;
    }
    return float_of_bits(sign | ((magnitude << 13) + (112u << 23)));
}

// Rounds to nearest even by quantum: 2^-24 below 2^-14, else 2^-10 of the binade.
static uint16_t half_of_float(float value)
{
    uint16_t sign = signbit(value) ? 0x8000u : 0;
    double magnitude = fabs((double)value);
    if (magnitude >= 65520.0) {
        return sign | 0x7c00u;
    }
    int exponent = magnitude < 0x1p-14 ? -14 : ilogb(magnitude);
    double quanta = nearbyint(ldexp(magnitude, 10 - exponent));
    // A carry out of the mantissa goes where it belongs; below 2^-14 there is no hidden bit.
    uint32_t hidden = magnitude < 0x1p-14 ? 0 : (uint32_t)(exponent + 14) << 10;
    return (uint16_t)(sign | (hidden + (uint32_t)quanta));
}

static uint16_t brain_of_float(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    uint32_t below = bits & 0xffffu;
    uint32_t kept = bits >> 16;
    return (uint16_t)(kept + (below > 0x8000u || (below == 0x8000u && (kept & 1) != 0)));
}

// A block of wide values; which member is used follows from the type.
union wide {
    float f[BLOCK];
    double d[BLOCK];
    int64_t i[BLOCK];
    uint64_t u[BLOCK];
};

#define WIDEN(cell_type, member, wide_type, convert)                                               \
    do {                                                                                           \
        const cell_type *from = (const cell_type *)cells;                                          \
        for (size_t k = 0; k < count; k++) {                                                       \
            wide->member[k] = (wide_type)convert(from[k]);                                         \
        }                                                                                          \
    } while (0)

static float float_of_brain(uint16_t cell)
{
    return float_of_bits((uint32_t)cell << 16);
}

static void widen(tern_dtype dtype, const void *cells, size_t count, union wide *wide)
{
    switch (dtype) {
    case TERN_F32:
        WIDEN(float, f, float, );
        break;
    case TERN_F16:
        WIDEN(uint16_t, f, float, float_of_half);
        break;
    case TERN_BF16:
        WIDEN(uint16_t, f, float, float_of_brain);
        break;
    case TERN_F64:
        WIDEN(double, d, double, );
        break;
    case TERN_I8:
        WIDEN(int8_t, i, int64_t, );
        break;
    case TERN_I16:
        WIDEN(int16_t, i, int64_t, );
        break;
    case TERN_I32:
        WIDEN(int32_t, i, int64_t, );
        break;
    case TERN_I64:
        WIDEN(int64_t, i, int64_t, );
        break;
    case TERN_U8:
        WIDEN(uint8_t, u, uint64_t, );
        break;
    case TERN_U16:
        WIDEN(uint16_t, u, uint64_t, );
        break;
    case TERN_U32:
        WIDEN(uint32_t, u, uint64_t, );
        break;
    case TERN_U64:
        WIDEN(uint64_t, u, uint64_t, );
        break;
    default: // only moved
        break;
    }
}

#define EACH(expression)                                                                           \
    for (size_t k = 0; k < count; k++) {                                                           \
        acc[k] = (expression);                                                                     \
    }                                                                                              \
    break

// A NaN stays, and a NaN that comes replaces what is there; of equal zeros the earlier stays.
#define COMBINE_FLOATS(name, type)                                                                 \
    static void name(tern_reduce_op op, type *acc, const type *next, size_t count)                 \
    {                                                                                              \
        switch (op) {                                                                              \
        case TERN_PROD:                                                                            \
            EACH(acc[k] * next[k]);                                                                \
        case TERN_MAX:                                                                             \
            EACH(next[k] > acc[k] || next[k] != next[k] ? next[k] : acc[k]);                       \
        case TERN_MIN:                                                                             \
            EACH(next[k] < acc[k] || next[k] != next[k] ? next[k] : acc[k]);                       \
        default:                                                                                   \
            EACH(acc[k] + next[k]);                                                                \
        }                                                                                          \
    }

// Sums and products in 64 bits have the same low bits as in the type.
#define COMBINE_INTEGERS(name, type)                                                               \
    static void name(tern_reduce_op op, type *acc, const type *next, size_t count)                 \
    {                                                                                              \
        switch (op) {                                                                              \
        case TERN_PROD:                                                                            \
            EACH((type)((uint64_t)acc[k] * (uint64_t)next[k]));                                    \
        case TERN_MAX:                                                                             \
            EACH(next[k] > acc[k] ? next[k] : acc[k]);                                             \
        case TERN_MIN:                                                                             \
            EACH(next[k] < acc[k] ? next[k] : acc[k]);                                             \
        case TERN_AND:                                                                             \
            EACH(acc[k] & next[k]);                                                                \
        case TERN_OR:                                                                              \
            EACH(acc[k] | next[k]);                                                                \
        case TERN_XOR:                                                                             \
            EACH(acc[k] ^ next[k]);                                                                \
        default:                                                                                   \
            EACH((type)((uint64_t)acc[k] + (uint64_t)next[k]));                                    \
        }                                                                                          \
    }

COMBINE_FLOATS(combine_float, float)
COMBINE_FLOATS(combine_double, double)
COMBINE_INTEGERS(combine_signed, int64_t)
COMBINE_INTEGERS(combine_unsigned, uint64_t)

static void combine(const struct cli_type *type, tern_reduce_op op, union wide *acc,
                    const union wide *next, size_t count)
{
    switch (type->wide) {
    case WIDE_FLOAT:
        combine_float(op, acc->f, next->f, count);
        break;
    case WIDE_DOUBLE:
        combine_double(op, acc->d, next->d, count);
        break;
    case WIDE_SIGNED:
        combine_signed(op, acc->i, next->i, count);
        break;
    case WIDE_UNSIGNED:
        combine_unsigned(op, acc->u, next->u, count);
        break;
    }
}

// One result as a cell. A NaN is the one without a payload.
static uint64_t narrow(const struct cli_type *type, const union wide *acc, size_t k, int divisor)
{
    uint64_t cell = 0;
    if (type->wide == WIDE_SIGNED) {
        return (uint64_t)(acc->i[k] / divisor);
    }
    if (type->wide == WIDE_UNSIGNED) {
        return acc->u[k] / (uint64_t)divisor;
    }
    if (type->wide == WIDE_DOUBLE) {
        double value = divisor > 1 ? acc->d[k] / divisor : acc->d[k];
        memcpy(&cell, &value, sizeof value);
        return value == value ? cell : type->nan & ~UINT64_C(1);
    }
    float value = divisor > 1 ? acc->f[k] / (float)divisor : acc->f[k];
    if (value != value) {
        return type->nan & ~UINT64_C(1);
    }
    if (type->dtype == TERN_F16) {
        return half_of_float(value);
    }
    if (type->dtype == TERN_BF16) {
        return brain_of_float(value);
    }
    memcpy(&cell, &value, sizeof value);
    return cell;
}

static void reduce_block(const struct cli_data *data, const uint64_t *sources, int nsources,
                         uint64_t first, size_t count, void *cells)
{
    const struct cli_type *type = cli_type_of(data);
    union wide acc;
    union wide next;
    memset(&acc, 0, sizeof acc);
    for (int source = 0; source < nsources; source++) {
        cli_fill(data, sources[source], first, count, cells);
        widen(type->dtype, cells, count, source == 0 ? &acc : &next);
        if (source > 0) {
            combine(type, data->op, &acc, &next, count);
        }
    }
    int divisor = data->op == TERN_AVG ? nsources : 1;
    float *floats = cells;
    for (size_t k = 0; type->dtype == TERN_F32 && divisor == 1 && k < count;
         k++) { // the usual case
        floats[k] = acc.f[k] == acc.f[k] ? acc.f[k] : float_of_bits(0x7fc00000);
    }
    for (size_t k = 0; (type->dtype != TERN_F32 || divisor > 1) && k < count; k++) {
        uint64_t cell = narrow(type, &acc, k, divisor); // little endian: the low bytes
        memcpy((char *)cells + k * type->size, &cell, type->size);
    }
}

// Whether `pair` takes the place of `best`: a better value, or the same with a lower index.
static bool takes_over(const struct cli_data *data, const struct cli_type *type, const char *pair,
                       const char *best)
{
    uint64_t values[2] = {0, 0}; // positive, so the cells are ordered as the values
    int32_t indices[2];
    memcpy(&values[0], pair, type->size);
    memcpy(&values[1], best, type->size);
    memcpy(&indices[0], pair + cli_index_at(type), sizeof indices[0]);
    memcpy(&indices[1], best + cli_index_at(type), sizeof indices[1]);
    bool nans[2] = {cli_is_float(type) && values[0] == type->nan,
                    cli_is_float(type) && values[1] == type->nan};
    if (values[0] == values[1]) {
        return indices[0] < indices[1];
    }
    if (nans[0] || nans[1]) { // less than all for minloc, greater than all for maxloc
        return nans[0];
    }
    return (values[0] < values[1]) == (data->op == TERN_MINLOC);
}

static void locate_block(const struct cli_data *data, const uint64_t *sources, int nsources,
                         uint64_t first, size_t count, char *pairs)
{
    const struct cli_type *type = cli_type_of(data);
    char next[BLOCK * 16];
    cli_fill(data, sources[0], first, count, pairs);
    for (int source = 1; source < nsources; source++) {
        cli_fill(data, sources[source], first, count, next);
        for (size_t k = 0; k < count * data->element_bytes; k += data->element_bytes) {
            if (takes_over(data, type, next + k, pairs + k)) {
                memcpy(pairs + k, next + k, data->element_bytes);
            }
        }
    }
}

// Padding inside pairs is nobody's.
static bool same(const struct cli_data *data, const char *have, const char *want)
{
    if (!cli_is_pair(data)) {
        return memcmp(have, want, data->element_bytes) == 0;
    }
    const struct cli_type *type = cli_type_of(data);
    return memcmp(have, want, type->size) == 0 &&
           memcmp(have + cli_index_at(type), want + cli_index_at(type), sizeof(int32_t)) == 0;
}

uint64_t cli_wrong(const struct cli_data *data, const uint64_t *sources, int nsources,
                   uint64_t first, uint64_t count, const void *have)
{
    union {
        uint64_t alignment;
        char bytes[BLOCK * 16];
    } want;
    uint64_t wrong = 0;
    size_t part;
    for (uint64_t at = 0; at < count; at += part) {
        part = count - at < BLOCK ? (size_t)(count - at) : BLOCK;
        const char *block = (const char *)have + at * data->element_bytes;
        if (cli_is_pair(data)) {
            locate_block(data, sources, nsources, first + at, part, want.bytes);
        } else if (nsources == 1) {
            cli_fill(data, sources[0], first + at, part, want.bytes);
        } else {
            reduce_block(data, sources, nsources, first + at, part, want.bytes);
        }
        if (!cli_is_pair(data) && memcmp(block, want.bytes, part * data->element_bytes) == 0) {
            continue;
        }
        for (size_t k = 0; k < part * data->element_bytes; k += data->element_bytes) {
            wrong += !same(data, block + k, want.bytes + k);
        }
    }
    return wrong;
}
