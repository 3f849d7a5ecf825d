// SPDX-License-Identifier: Apache-2.0
// Conversions that round as they are told: what does not fit becomes a value of the dtype by
// arithmetic here, which the store then has nothing to round of. Data path: no allocation, lock,
// system call or log.

#include <math.h>

#include "base/public.h"
#include "isa/tile_side.h"

// Digits of a dtype, and the exponent of its least place.
struct format {
    int digits, least;
    double most; // the largest finite value
};

static struct format format_of(tern_dtype dtype)
{
    switch (dtype) {
    case TERN_F32:
        return (struct format){24, -149, 0x1.fffffep127};
    case TERN_F16:
        return (struct format){11, -24, 65504};
    case TERN_BF16:
        return (struct format){8, -133, 0x1.fep127};
    case TERN_F64:
        return (struct format){53, -1074, 0x1.fffffffffffffp1023};
    default: // an integer: the store puts what is too large at its end
        return (struct format){.digits = 1100, .least = 0, .most = INFINITY};
    }
}

static double round_number(double value, tern_rounding rounding)
{
    double zero = trunc(value);
    switch (rounding) {
    case TERN_ROUND_AWAY:
        return round(value);
    case TERN_ROUND_DOWN:
        return floor(value);
    case TERN_ROUND_UP:
        return ceil(value);
    case TERN_ROUND_ZERO:
        return zero;
    case TERN_ROUND_ODD:
        return zero != value && fmod(zero, 2) == 0 ? zero + copysign(1, value) : zero;
    default:
        return nearbyint(value);
    }
}

static bool goes_to_infinity(double value, tern_rounding rounding)
{
    return rounding == TERN_ROUND_EVEN || rounding == TERN_ROUND_AWAY ||
           (rounding == TERN_ROUND_UP && value > 0) || (rounding == TERN_ROUND_DOWN && value < 0);
}

static double round_float(double value, const struct format *to, tern_rounding rounding)
{
    int exponent;
    if (!isfinite(value) || value == 0) {
        return value;
    }
    frexp(value, &exponent);
    int place = exponent - to->digits > to->least ? exponent - to->digits : to->least;
    double rounded = scalbn(round_number(scalbn(value, -place), rounding), place);
    if (fabs(rounded) > to->most) {
        rounded = copysign(goes_to_infinity(value, rounding) ? INFINITY : to->most, value);
    }
    return copysign(rounded, value); // also a zero
}

// An integer, below 0 or not, as floating point of that many digits.
static double round_integer(uint64_t size, bool below, const struct format *to,
                            tern_rounding rounding)
{
    int bits = size != 0 ? 64 - __builtin_clzll(size) : 0;
    int cut = bits > to->digits ? bits - to->digits : 0;
    uint64_t kept = size >> cut;
    uint64_t rest = size - (kept << cut);
    uint64_t half = cut > 0 ? UINT64_C(1) << (cut - 1) : 0;
    bool odd = (kept & 1) != 0;
    bool more = rest != 0 && (rounding == TERN_ROUND_AWAY   ? rest >= half
                              : rounding == TERN_ROUND_DOWN ? below
                              : rounding == TERN_ROUND_UP   ? !below
                              : rounding == TERN_ROUND_ODD  ? !odd
                              : rounding == TERN_ROUND_EVEN ? rest > half || (rest == half && odd)
                                                            : false);
    double value = ldexp((double)(kept + more), cut);
    value = below ? -value : value;
    return fabs(value) > to->most && !goes_to_infinity(value, rounding) ? copysign(to->most, value)
                                                                        : value;
}

// The elements become floating point that the dtype `to` has, or that it is an integer of.
static void round_all(union tern__wide *wide, enum tern__wide_kind kind, size_t count,
                      const struct format *to, tern_rounding rounding)
{
    for (size_t n = 0; n < count; n++) {
        if (kind == TERN__WIDE_FLOAT) {
            wide->f[n] = round_float(wide->f[n], to, rounding);
        } else {
            bool below = kind == TERN__WIDE_SIGNED && wide->i[n] < 0;
            uint64_t size = below ? 0 - wide->u[n] : wide->u[n];
            wide->f[n] = round_integer(size, below, to, rounding);
        }
    }
}

static int convert(const tern_tile *to, const tern_tile *from, tern_rounding rounding)
{
    const char *call = "tern_tile_convert_rounded";
    if ((unsigned)rounding > TERN_ROUND_ODD) {
        return tern__fail(TERN_ERR_ARG, "%s: there is no rounding %d", call, (int)rounding);
    }
    TERN_TRY(tern__side_check(call, "to", to));
    TERN_TRY(tern__side_check_source(call, "from", from, to->valid_rows, to->valid_columns));
    enum tern__wide_kind kind = tern__wide_kind(from->dtype);
    bool integers = kind != TERN__WIDE_FLOAT && tern__wide_kind(to->dtype) != TERN__WIDE_FLOAT;
    if (rounding == TERN_ROUND_EVEN || to->dtype == from->dtype || integers) {
        return tern_tile_convert(to, from); // which rounds so, or nothing
    }
    if (to->data == from->data) {
        return tern__fail(TERN_ERR_ARG, "%s: 'to' and 'from' are the same memory", call);
    }
    tern__side_use(to, from, NULL);
    struct tern__side sides[2] = {tern__side_of(to), tern__side_of(from)};
    const struct format format = format_of(to->dtype);
    for (int64_t row = 0; row < to->valid_rows; row++) {
        for (int64_t column = 0; column < to->valid_columns; column += TERN__WIDE_COUNT) {
            size_t count = tern__side_chunk(column, to->valid_columns);
            union tern__wide wide;
            tern__wide_load(&wide, from->dtype, tern__side_at(&sides[1], row, column),
                            sides[1].element, count);
            round_all(&wide, kind, count, &format, rounding);
            tern__wide_store(&wide, TERN__WIDE_FLOAT, to->dtype,
                             tern__side_at(&sides[0], row, column), sides[0].element, count);
        }
    }
    return TERN_OK;
}

int tern_tile_convert_rounded(const tern_tile *to, const tern_tile *from, tern_rounding rounding)
{
    return TERN__CALL(convert(to, from, rounding));
}
