// SPDX-License-Identifier: Apache-2.0
// The words of `tern example rank` that have parts: buffers, tensors and scalars.

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "example/rank.h"
#include "numbers.h"

#define DTYPES                                                                                     \
    "float16, bfloat16, float32, float64, int8, int16, int32, int64, uint8, uint16, uint32, uint64"

// Canaries: quiet NaNs with a payload that no instruction makes; of whole numbers the byte a5.
static const struct rank_type types[] = {
    {"float32", 4, 0xffe5a5a5, TERN_REGION_F32}, {"float16", 2, 0xfea5, TERN_REGION_F16},
    {"bfloat16", 2, 0xffe5, TERN_REGION_BF16},   {"float64", 8, 0xfffda5a5a5a5a5a5, -1},
    {"int8", 1, 0xa5, TERN_REGION_I8},           {"int16", 2, 0xa5a5, TERN_REGION_I16},
    {"int32", 4, 0xa5a5a5a5, TERN_REGION_I32},   {"int64", 8, 0xa5a5a5a5a5a5a5a5, TERN_REGION_I64},
    {"uint8", 1, 0xa5, TERN_REGION_U8},          {"uint16", 2, 0xa5a5, TERN_REGION_U16},
    {"uint32", 4, 0xa5a5a5a5, TERN_REGION_U32},  {"uint64", 8, 0xa5a5a5a5a5a5a5a5, TERN_REGION_U64},
};

// Takes what is before the next ':' into `part`. False: it is empty or too long.
static bool take_part(const char **rest, char *part, size_t size)
{
    size_t length = strcspn(*rest, ":");
    if (length == 0 || length >= size) {
        return false;
    }
    memcpy(part, *rest, length);
    part[length] = '\0';
    *rest += length;
    *rest += **rest == ':' ? 1 : 0;
    return true;
}

// "256" or "16x16".
static bool parse_shape(const char *text, struct rank_buffer *buffer)
{
    buffer->count = 1;
    for (const char *at = text; buffer->ndims < TERN_REGION_DIMS_MAX;) {
        char digits[16];
        long extent;
        size_t length = strcspn(at, "x");
        if (length >= sizeof digits) {
            return false;
        }
        memcpy(digits, at, length);
        digits[length] = '\0';
        if (!cli_read_number(digits, 1, UINT32_MAX, &extent) ||
            buffer->count > RANK_COUNT_MAX / (uint64_t)extent) {
            return false;
        }
        buffer->shape[buffer->ndims++] = (uint32_t)extent;
        buffer->count *= (uint64_t)extent;
        if (at[length] == '\0') {
            return true;
        }
        at += length + 1;
    }
    return false;
}

// Names become names of files.
static bool is_name(const char *name)
{
    return strchr(name, '/') == NULL && name[0] != '.';
}

static int parse_direction(const char *option, const char *word, const char *direction,
                           struct rank_buffer *buffer)
{
    buffer->loads = strcmp(direction, "in") == 0 || strcmp(direction, "inout") == 0;
    buffer->saves = strcmp(direction, "out") == 0 || strcmp(direction, "inout") == 0;
    return buffer->loads || buffer->saves
               ? -1
               : cli_refuse(&rank_command, "%s '%s' ends with in, out or inout, not '%s'", option,
                            word, direction);
}

int rank_parse_buffer(const char *option, const char *word, enum rank_place place,
                      struct rank_buffer *buffer)
{
    const char *form = place == RANK_HOST ? "name:dtype:count:in|out|inout" : "name:dtype:count";
    const char *rest = word;
    char dtype[RANK_NAME_BYTES];
    char count[RANK_NAME_BYTES];
    *buffer = (struct rank_buffer){.place = place};
    if (!take_part(&rest, buffer->name, sizeof buffer->name) ||
        !take_part(&rest, dtype, sizeof dtype) || !take_part(&rest, count, sizeof count) ||
        (*rest != '\0') != (place == RANK_HOST)) {
        return cli_refuse(&rank_command, "%s takes %s, not '%s'", option, form, word);
    }
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        buffer->type = strcmp(dtype, types[i].name) == 0 ? &types[i] : buffer->type;
    }
    if (!is_name(buffer->name)) {
        return cli_refuse(&rank_command, "%s '%s': a name has no '/' and does not begin with '.'",
                          option, word);
    }
    if (buffer->type == NULL) {
        return cli_refuse(&rank_command, "%s '%s': there is no dtype '%s', but " DTYPES, option,
                          word, dtype);
    }
    if (!parse_shape(count, buffer)) {
        return cli_refuse(&rank_command,
                          "%s '%s': the count is a number from 1, or up to %d of them as in 16x16, "
                          "not '%s'",
                          option, word, TERN_REGION_DIMS_MAX, count);
    }
    buffer->bytes = buffer->count * buffer->type->bytes;
    return place == RANK_HOST ? parse_direction(option, word, rest, buffer) : -1;
}

// Scalars.

// The words of the types of scalars, as ctypes has them (with or without c_) and as dtypes.
static const struct scalar_type {
    const char *names[4];
    enum { SIGNED, UNSIGNED, FLOAT, DOUBLE } kind;
    int64_t least; // of whole numbers
    uint64_t most;
} scalar_types[] = {
    {{"float", "float32"}, FLOAT, 0, 0},
    {{"double", "float64"}, DOUBLE, 0, 0},
    {{"bool"}, UNSIGNED, 0, 1},
    {{"int8", "byte"}, SIGNED, INT8_MIN, INT8_MAX},
    {{"int16", "short"}, SIGNED, INT16_MIN, INT16_MAX},
    {{"int32", "int"}, SIGNED, INT32_MIN, INT32_MAX},
    {{"int64", "long", "longlong", "ssize_t"}, SIGNED, INT64_MIN, INT64_MAX},
    {{"uint8", "ubyte"}, UNSIGNED, 0, UINT8_MAX},
    {{"uint16", "ushort"}, UNSIGNED, 0, UINT16_MAX},
    {{"uint32", "uint"}, UNSIGNED, 0, UINT32_MAX},
    {{"uint64", "ulong", "ulonglong", "size_t"}, UNSIGNED, 0, UINT64_MAX},
};

static const struct scalar_type *scalar_type_of(const char *word)
{
    word += strncmp(word, "c_", 2) == 0 ? 2 : 0;
    for (size_t i = 0; i < sizeof scalar_types / sizeof scalar_types[0]; i++) {
        for (size_t k = 0; k < 4 && scalar_types[i].names[k] != NULL; k++) {
            if (strcmp(word, scalar_types[i].names[k]) == 0) {
                return &scalar_types[i];
            }
        }
    }
    return NULL;
}

static bool parse_real(const char *text, const struct scalar_type *type, uint64_t *bits)
{
    char *end;
    double value = strtod(text, &end);
    float single = (float)value;
    if (end == text || *end != '\0' || isspace((unsigned char)text[0])) {
        return false;
    }
    *bits = 0;
    if (type->kind == FLOAT) {
        memcpy(bits, &single, sizeof single);
    } else {
        memcpy(bits, &value, sizeof value);
    }
    return true;
}

static bool parse_whole(const char *text, const struct scalar_type *type, uint64_t *bits)
{
    char *end;
    bool negative = text[0] == '-';
    if (!isdigit((unsigned char)text[negative ? 1 : 0]) || (negative && type->kind == UNSIGNED)) {
        return false;
    }
    errno = 0;
    if (type->kind == UNSIGNED) {
        *bits = strtoull(text, &end, 0);
        return errno == 0 && *end == '\0' && *bits <= type->most;
    }
    int64_t value = strtoll(text, &end, 0);
    *bits = (uint64_t)value;
    return errno == 0 && *end == '\0' && value >= type->least && value <= (int64_t)type->most;
}

int rank_parse_scalar(const char *option, const char *word, uint64_t *bits)
{
    const char *rest = word;
    char name[RANK_NAME_BYTES];
    char type_word[RANK_NAME_BYTES];
    if (!take_part(&rest, name, sizeof name) || !take_part(&rest, type_word, sizeof type_word) ||
        *rest == '\0') {
        return cli_refuse(&rank_command, "%s takes name:type:value, not '%s'", option, word);
    }
    const struct scalar_type *type = scalar_type_of(type_word);
    if (type == NULL) {
        return cli_refuse(&rank_command,
                          "%s '%s': there is no type '%s', but those of ctypes, such as c_float "
                          "and c_int64",
                          option, word, type_word);
    }
    bool fits = type->kind == FLOAT || type->kind == DOUBLE ? parse_real(rest, type, bits)
                                                            : parse_whole(rest, type, bits);
    return fits ? -1
                : cli_refuse(&rank_command, "%s '%s': '%s' is no value of %s", option, word, rest,
                             type_word);
}
