// SPDX-License-Identifier: Apache-2.0
// The data that calls and plans run on. Random bits become floats of a few binades, so that the
// order of a sum shows in its last bit; every 61st is a NaN, an infinity or a zero. Integers take
// all bits.

#include "data.h"

#include <string.h>

#include "data_type.h"

#define SPECIAL_EVERY 61

static const struct cli_type types[] = {
    {TERN_F32, 4, WIDE_FLOAT, 23, 127, 0x7fc00001, 0x7f800000},
    {TERN_F16, 2, WIDE_FLOAT, 10, 15, 0x7e01, 0x7c00},
    {TERN_BF16, 2, WIDE_FLOAT, 7, 127, 0x7fc1, 0x7f80},
    {TERN_F64, 8, WIDE_DOUBLE, 52, 1023, 0x7ff8000000000001, 0x7ff0000000000000},
    {TERN_I8, 1, WIDE_SIGNED, 0, 0, 0, 0},
    {TERN_I16, 2, WIDE_SIGNED, 0, 0, 0, 0},
    {TERN_I32, 4, WIDE_SIGNED, 0, 0, 0, 0},
    {TERN_I64, 8, WIDE_SIGNED, 0, 0, 0, 0},
    {TERN_U8, 1, WIDE_UNSIGNED, 0, 0, 0, 0},
    {TERN_U16, 2, WIDE_UNSIGNED, 0, 0, 0, 0},
    {TERN_U32, 4, WIDE_UNSIGNED, 0, 0, 0, 0},
    {TERN_U64, 8, WIDE_UNSIGNED, 0, 0, 0, 0},
    {TERN_BOOL, 1, WIDE_UNSIGNED, 0, 0, 0, 0}, // these are only moved
    {TERN_C64, 8, WIDE_UNSIGNED, 0, 0, 0, 0},
    {TERN_C128, 16, WIDE_UNSIGNED, 0, 0, 0, 0},
    {TERN_F8E4M3, 1, WIDE_UNSIGNED, 0, 0, 0, 0},
    {TERN_F8E5M2, 1, WIDE_UNSIGNED, 0, 0, 0, 0},
};

const struct cli_type *cli_type_of(const struct cli_data *data)
{
    size_t i = 0;
    while (i + 1 < sizeof types / sizeof types[0] && types[i].dtype != data->dtype) {
        i++;
    }
    return &types[i];
}

bool cli_is_pair(const struct cli_data *data)
{
    return data->reduces && (data->op == TERN_MINLOC || data->op == TERN_MAXLOC);
}

size_t cli_index_at(const struct cli_type *type)
{
    return type->size < 4 ? 4 : type->size;
}

// The finaliser of a 64-bit hash (murmur3's constants): all bits depend on all.
static uint64_t mix(uint64_t x)
{
    x = (x ^ (x >> 33)) * UINT64_C(0xff51afd7ed558ccd);
    x = (x ^ (x >> 33)) * UINT64_C(0xc4ceb9fe1a85ec53);
    return x ^ (x >> 33);
}

uint64_t cli_source(int rank, uint64_t run)
{
    return mix(mix(run + 1) + (uint64_t)rank);
}

// Random bits of element i, for cells of 8 bytes and for smaller ones: cheap, because the largest
// buffers have 2^28 elements, and in 32 bits so that compilers make vectors of it.
static uint64_t wide_bits_at(uint64_t source, uint64_t i)
{
    uint64_t x = source + i * UINT64_C(0x9e3779b97f4a7c15);
    return x ^ (x >> 29);
}

static uint32_t bits_at(uint64_t source, uint64_t i)
{
    uint32_t x = (uint32_t)source + (uint32_t)i * UINT32_C(0x9e3779b9);
    return x ^ (x >> 15);
}

bool cli_is_float(const struct cli_type *type)
{
    return type->mantissa > 0;
}

// The bit of a float's sign: no float has more than 8 bytes.
static uint64_t sign_of(const struct cli_type *type)
{
    return UINT64_C(1) << ((type->size < 8 ? type->size : 8) * 8 - 1);
}

// What turns random bits into a cell: (bits & keep) + (base + (bits >> shift & spread)) <<
// mantissa.
struct shape {
    uint64_t keep, base, spread;
    int mantissa, shift;
};

static struct shape shape_of(const struct cli_data *data, const struct cli_type *type)
{
    if (!cli_is_float(type)) {
        return (struct shape){.keep = UINT64_MAX};
    }
    uint64_t sign = sign_of(type);
    uint64_t mantissa = (UINT64_C(1) << type->mantissa) - 1;
    struct shape shape = {.mantissa = type->mantissa, .shift = type->size == 8 ? 55 : 27};
    bool product = data->reduces && data->op == TERN_PROD;
    // 1/8 … 2 keeps 64 sums below the largest f16; 1/2 … 2 keeps products about 1.
    shape.base = type->bias - (product ? 1 : 3);
    shape.spread = product ? 1 : 3;
    shape.keep = sign | mantissa;
    if (data->exact && product) { // powers of two that 64 factors keep in range; of f16 1, -1
        shape.spread = type->bias >= 64 ? (type->bias + 1) / 64 * 2 - 1 : 0;
        shape.base = type->bias - (shape.spread + 1) / 2;
        shape.keep = sign;
    } else if (data->exact && type->mantissa > 6) { // whole numbers: 64 add up without a loss
        int digits = type->mantissa - 6;
        shape.base = type->bias + (uint64_t)digits;
        shape.spread = 0;
        shape.keep = sign | (mantissa & ~(mantissa >> digits));
    }
    return shape;
}

static uint64_t special(const struct cli_data *data, const struct cli_type *type, uint64_t bits)
{
    uint64_t sign = sign_of(type);
    switch (bits >> 60) {
    case 0:
        return type->nan;
    case 1:
        return type->infinity;
    case 2:
        return type->infinity | sign;
    default: // zeros: which one a maximum takes depends on the order
        return data->exact ? type->bias << type->mantissa : (bits & sign);
    }
}

#define MAKE_CELLS(cell_type, word, bits_of)                                                       \
    do {                                                                                           \
        cell_type *cells = to;                                                                     \
        word keep = (word)shape.keep;                                                              \
        word base = (word)shape.base;                                                              \
        word spread = (word)shape.spread;                                                          \
        for (uint64_t i = 0; i < count; i++) {                                                     \
            word bits = bits_of(source, first + i);                                                \
            word exponent = base + (bits >> shape.shift & spread);                                 \
            cells[i] = (cell_type)((bits & keep) | exponent << shape.mantissa);                    \
        }                                                                                          \
    } while (0)

// `to` is aligned as the type.
static void make_cells(const struct cli_data *data, uint64_t source, uint64_t first, uint64_t count,
                       void *to)
{
    const struct cli_type *type = cli_type_of(data);
    struct shape shape = shape_of(data, type);
    switch (type->size) {
    case 1:
        MAKE_CELLS(uint8_t, uint32_t, bits_at);
        break;
    case 2:
        MAKE_CELLS(uint16_t, uint32_t, bits_at);
        break;
    case 4:
        MAKE_CELLS(uint32_t, uint32_t, bits_at);
        break;
    case 16: // two cells each
        first *= 2;
        count *= 2;
        MAKE_CELLS(uint64_t, uint64_t, wide_bits_at);
        break;
    default:
        MAKE_CELLS(uint64_t, uint64_t, wide_bits_at);
    }
    uint64_t skip = (source + first) % SPECIAL_EVERY;
    for (uint64_t i = skip > 0 ? SPECIAL_EVERY - skip : 0; cli_is_float(type) && i < count;
         i += SPECIAL_EVERY) {
        uint64_t cell = special(data, type, mix(source + first + i));
        memcpy((char *)to + i * type->size, &cell, type->size);
    }
}

// Pairs of few values and few indices, so that both often tie.
static void make_pairs(const struct cli_data *data, uint64_t source, uint64_t first, uint64_t count,
                       void *to)
{
    const struct cli_type *type = cli_type_of(data);
    memset(to, 0, count * data->element_bytes);
    for (uint64_t i = 0; i < count; i++) {
        uint64_t bits = wide_bits_at(source, first + i);
        uint64_t value = bits >> 55 & 3;
        if (cli_is_float(type)) {
            value = value == 3 && (bits >> 50 & 7) == 0 ? type->nan
                                                        : (type->bias + value) << type->mantissa;
        }
        int32_t index = (int32_t)(bits >> 40 & 15);
        char *pair = (char *)to + i * data->element_bytes;
        memcpy(pair, &value, type->size);
        memcpy(pair + cli_index_at(type), &index, sizeof index);
    }
}

void cli_fill(const struct cli_data *data, uint64_t source, uint64_t first, uint64_t count,
              void *to)
{
    if (cli_is_pair(data)) {
        make_pairs(data, source, first, count, to);
    } else {
        make_cells(data, source, first, count, to);
    }
}
