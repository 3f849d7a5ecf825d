// SPDX-License-Identifier: Apache-2.0
// Where the input comes from: a folder of .npy files, or a seed. Any block of any matrix can be had
// without the rest, so that a rank reads or makes only its own part; the numbers do not depend on
// how many ranks there are.
#ifndef TP_FFN_SOURCE_H
#define TP_FFN_SOURCE_H

#include <stdint.h>

#include "npy.h"
#include "options.h"
#include "shape.h"

enum matrix {
    MATRIX_X,        // [tokens, hidden]
    MATRIX_W_LINEAR, // [hidden, hidden]
    MATRIX_W_GATE,   // [hidden, intermediate]
    MATRIX_W_UP,     // [hidden, intermediate]
    MATRIX_W_DOWN,   // [intermediate, hidden]
    MATRIX_COUNT,
};

struct source {
    struct shape shape;
    const char *folder; // NULL: the seed
    uint64_t seed;
    struct npy files[MATRIX_COUNT];
};

// Opens the input that the options name and fills in the shape: from the files or the options. To
// be closed by source_close, also after a failure.
int source_open(struct source *source, const struct options *options, struct failure *failure);
void source_close(struct source *source);

const char *matrix_name(enum matrix matrix);
size_t matrix_rows(const struct shape *shape, enum matrix matrix);
size_t matrix_cols(const struct shape *shape, enum matrix matrix);

// values[rows][cols] = that block, rounded to the shape's dtype. A value that is not finite is a
// failure: nothing could be verified with it.
int source_read(const struct source *source, enum matrix matrix, const struct npy_block *block,
                float *values, struct failure *failure);

// The whole matrix, in memory to be given to free(). NULL after a failure.
float *source_read_whole(const struct source *source, enum matrix matrix, struct failure *failure);

// Whether both paths name the same folder. False when one does not exist.
bool source_same_folder(const char *one, const char *other);

#endif
