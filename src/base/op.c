// SPDX-License-Identifier: Apache-2.0
// Operations of reductions from the one table.

#include "tern/op.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/dtype.h"
#include "base/error.h"

static const struct op_row {
    tern_reduce_op op;
    const char *word;
} op_rows[] = {
#define TERN_REDUCE_OP(name, word, number) {TERN_##name, word},
#include "tern/op.def"
#undef TERN_REDUCE_OP
};

enum { OP_COUNT = sizeof op_rows / sizeof op_rows[0] };

static const struct op_row *find_row(tern_reduce_op op)
{
    for (size_t i = 0; i < OP_COUNT; i++) {
        if (op_rows[i].op == op) {
            return &op_rows[i];
        }
    }
    return NULL;
}

const char *tern_reduce_op_name(tern_reduce_op op)
{
    const struct op_row *row = find_row(op);
    return row != NULL ? row->word : "unknown op";
}

int tern_reduce_op_parse(const char *word, tern_reduce_op *op)
{
    if (word == NULL || op == NULL) {
        return tern__fail(TERN_ERR_ARG, "tern_reduce_op_parse: word and op must not be NULL");
    }
    char known[128] = "";
    for (size_t i = 0; i < OP_COUNT; i++) {
        if (strcmp(word, op_rows[i].word) == 0) {
            *op = op_rows[i].op;
            return TERN_OK;
        }
        size_t used = strlen(known);
        snprintf(known + used, sizeof known - used, "%s%s", i == 0 ? "" : ", ", op_rows[i].word);
    }
    return tern__fail(TERN_ERR_ARG, "'%s' is no operation; there are %s", word, known);
}

static bool is_float(tern_dtype dtype)
{
    return dtype == TERN_F32 || dtype == TERN_F16 || dtype == TERN_BF16 || dtype == TERN_F64;
}

// The pairs of minloc and maxloc, as C lays them out: the index is aligned to its own size, the
// pair to the larger of the two.
static size_t pair_bytes(size_t value_bytes)
{
    struct small {
        int32_t value, index;
    };
    struct large {
        int64_t value;
        int32_t index;
    };
    return value_bytes > sizeof(int32_t) ? sizeof(struct large) : sizeof(struct small);
}

size_t tern_reduce_element_bytes(tern_dtype dtype, tern_reduce_op op)
{
    size_t value_bytes = tern_dtype_size(dtype);
    if (value_bytes == 0 || find_row(op) == NULL ||
        (!tern__dtype_is_number(dtype) && op != TERN_FUNCTION)) {
        return 0;
    }
    switch (op) {
    case TERN_AND:
    case TERN_OR:
    case TERN_XOR:
        return is_float(dtype) ? 0 : value_bytes;
    case TERN_MINLOC:
    case TERN_MAXLOC:
        return pair_bytes(value_bytes);
    default:
        return value_bytes;
    }
}
