// SPDX-License-Identifier: Apache-2.0
// Element types from the one table.

#include "base/dtype.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"

static const struct dtype_row {
    tern_dtype dtype;
    const char *word;
    size_t size_bytes;
    bool number;
} dtype_rows[] = {
#define TERN_DTYPE(name, word, number, size_bytes) {TERN_##name, word, size_bytes, true},
#define TERN_DTYPE_MOVED(name, word, number, size_bytes) {TERN_##name, word, size_bytes, false},
#include "tern/dtype.def"
#undef TERN_DTYPE
};

enum { DTYPE_COUNT = sizeof dtype_rows / sizeof dtype_rows[0] };

static const struct dtype_row *find_row(tern_dtype dtype)
{
    for (size_t i = 0; i < DTYPE_COUNT; i++) {
        if (dtype_rows[i].dtype == dtype) {
            return &dtype_rows[i];
        }
    }
    return NULL;
}

size_t tern_dtype_size(tern_dtype dtype)
{
    const struct dtype_row *row = find_row(dtype);
    return row != NULL ? row->size_bytes : 0;
}

const char *tern_dtype_name(tern_dtype dtype)
{
    const struct dtype_row *row = find_row(dtype);
    return row != NULL ? row->word : "unknown dtype";
}

bool tern__dtype_is_number(tern_dtype dtype)
{
    const struct dtype_row *row = find_row(dtype);
    return row != NULL && row->number;
}

int tern__dtype_check_number(const char *call, const char *name, tern_dtype dtype)
{
    const struct dtype_row *row = find_row(dtype);
    if (row == NULL) {
        return tern__fail(TERN_ERR_ARG, "%s: %d, the dtype of %s, is none", call, (int)dtype, name);
    }
    return row->number
               ? TERN_OK
               : tern__fail(TERN_ERR_ARG,
                            "%s: %s, the dtype of %s, is only moved, by collective calls and "
                            "messages: there is no arithmetic on it",
                            call, row->word, name);
}

int tern_dtype_parse(const char *word, tern_dtype *dtype)
{
    if (word == NULL || dtype == NULL) {
        return tern__fail(TERN_ERR_ARG, "tern_dtype_parse: word and dtype must not be NULL");
    }
    char known[160] = "";
    for (size_t i = 0; i < DTYPE_COUNT; i++) {
        if (strcmp(word, dtype_rows[i].word) == 0) {
            *dtype = dtype_rows[i].dtype;
            return TERN_OK;
        }
        size_t used = strlen(known);
        snprintf(known + used, sizeof known - used, "%s%s", i == 0 ? "" : ", ", dtype_rows[i].word);
    }
    return tern__fail(TERN_ERR_ARG, "'%s' is no dtype; there are %s", word, known);
}
