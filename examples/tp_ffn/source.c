// SPDX-License-Identifier: Apache-2.0
// Input from files or from a seed (source.h). The seed's numbers are a function of seed, matrix and
// index (the mixing function of SplitMix64, Steele, Lea and Flood 2014), so any block can be made
// anywhere. They are uniform, with the variance 1 for x and 1/rows for weights, which keeps every
// intermediate near 1.
#include "source.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "element.h"

// Many tokens and small matrices, so that communication is a visible part of the layer.
enum { DEFAULT_TOKENS = 8192, DEFAULT_HIDDEN = 128, DEFAULT_INTERMEDIATE = 256 };

// A chunk reads all weights, and OpenBLAS packs them anew: with fewer rows that costs more than
// overlapping gains.
enum { DEFAULT_CHUNK_ROWS = 64, DEFAULT_CHUNKS_MAX = 8 };

static const char *const names[MATRIX_COUNT] = {"x", "w_linear", "w_gate", "w_up", "w_down"};

const char *matrix_name(enum matrix matrix)
{
    return names[matrix];
}

size_t matrix_rows(const struct shape *shape, enum matrix matrix)
{
    switch (matrix) {
    case MATRIX_X:
        return shape->tokens;
    case MATRIX_W_DOWN:
        return shape->intermediate;
    default:
        return shape->hidden;
    }
}

size_t matrix_cols(const struct shape *shape, enum matrix matrix)
{
    bool to_intermediate = matrix == MATRIX_W_GATE || matrix == MATRIX_W_UP;
    return to_intermediate ? shape->intermediate : shape->hidden;
}

// Takes a size from a file, unless the options say another one.
static int size_from_file(const struct npy *file, size_t there, int64_t wanted, const char *option,
                          size_t *size, struct failure *failure)
{
    if (wanted != 0 && (size_t)wanted != there) {
        return fail(failure, EXIT_USAGE, "%s %lld contradicts %s, which says %zu", option,
                    (long long)wanted, file->path, there);
    }
    *size = there;
    return 0;
}

static int shape_from_files(struct source *source, const struct options *options,
                            struct failure *failure)
{
    struct shape *shape = &source->shape;
    const struct npy *x = &source->files[MATRIX_X];
    const struct npy *down = &source->files[MATRIX_W_DOWN];
    int status = size_from_file(x, x->rows, options->tokens, "--tokens", &shape->tokens, failure);
    if (status == 0) {
        status = size_from_file(x, x->cols, options->hidden, "--hidden", &shape->hidden, failure);
    }
    if (status == 0) {
        status = size_from_file(down, down->rows, options->intermediate, "--intermediate",
                                &shape->intermediate, failure);
    }
    for (enum matrix m = 0; m < MATRIX_COUNT && status == 0; m++) {
        const struct npy *file = &source->files[m];
        size_t rows = matrix_rows(shape, m);
        size_t cols = matrix_cols(shape, m);
        if (file->rows != rows || file->cols != cols) {
            status =
                fail(failure, EXIT_FAILED,
                     "%s: the matrix is %zu x %zu; with the other files it should be %zu x %zu",
                     file->path, file->rows, file->cols, rows, cols);
        }
    }
    return status;
}

static int open_files(struct source *source, struct failure *failure)
{
    for (enum matrix m = 0; m < MATRIX_COUNT; m++) {
        char path[NPY_PATH_MAX];
        int length = snprintf(path, sizeof path, "%s/%s.npy", source->folder, names[m]);
        if (length < 0 || (size_t)length >= sizeof path) {
            return fail(failure, EXIT_FAILED, "the path of --in is longer than %d bytes",
                        NPY_PATH_MAX - 1);
        }
        int status = npy_open(&source->files[m], path, failure);
        if (status != 0) {
            return status;
        }
    }
    return 0;
}

static size_t default_chunks(size_t tokens)
{
    size_t chunks = tokens / DEFAULT_CHUNK_ROWS;
    chunks = chunks < DEFAULT_CHUNKS_MAX ? chunks : DEFAULT_CHUNKS_MAX;
    return chunks != 0 ? chunks : 1;
}

int source_open(struct source *source, const struct options *options, struct failure *failure)
{
    *source = (struct source){.folder = options->in, .seed = (uint64_t)options->seed};
    for (enum matrix m = 0; m < MATRIX_COUNT; m++) {
        source->files[m].fd = -1;
    }
    struct shape *shape = &source->shape;
    if (source->folder != NULL) {
        int status = open_files(source, failure);
        if (status == 0) {
            status = shape_from_files(source, options, failure);
        }
        if (status != 0) {
            return status;
        }
    } else {
        shape->tokens = options->tokens != 0 ? (size_t)options->tokens : DEFAULT_TOKENS;
        shape->hidden = options->hidden != 0 ? (size_t)options->hidden : DEFAULT_HIDDEN;
        shape->intermediate =
            options->intermediate != 0 ? (size_t)options->intermediate : DEFAULT_INTERMEDIATE;
    }
    shape->dtype = options->dtype;
    shape->chunks = options->chunks != 0 ? (size_t)options->chunks : default_chunks(shape->tokens);
    return 0;
}

void source_close(struct source *source)
{
    for (enum matrix m = 0; m < MATRIX_COUNT; m++) {
        npy_close(&source->files[m]);
    }
}

static uint64_t mix(uint64_t bits)
{
    bits = (bits ^ (bits >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    bits = (bits ^ (bits >> 27)) * UINT64_C(0x94d049bb133111eb);
    return bits ^ (bits >> 31);
}

static void make_block(const struct source *source, enum matrix matrix,
                       const struct npy_block *block, float *values)
{
    const uint64_t golden = UINT64_C(0x9e3779b97f4a7c15);
    uint64_t stream = mix(source->seed + golden * ((uint64_t)matrix + 1));
    size_t matrix_width = matrix_cols(&source->shape, matrix);
    double variance = matrix == MATRIX_X ? 1.0 : 1.0 / (double)matrix_rows(&source->shape, matrix);
    float scale = (float)(sqrt(3.0 * variance) * 0x1p-23); // of integers in [-2^23, 2^23)
    for (size_t row = 0; row < block->rows; row++) {
        uint64_t first = (uint64_t)((block->row + row) * matrix_width + block->col);
        for (size_t col = 0; col < block->cols; col++) {
            uint64_t bits = mix(stream + golden * (first + col + 1));
            values[row * block->cols + col] = (float)((int32_t)(bits >> 40) - 0x800000) * scale;
        }
    }
}

static int check_finite(enum matrix matrix, const struct npy_block *block, const float *values,
                        struct failure *failure)
{
    for (size_t i = 0; i < block->rows * block->cols; i++) {
        if (!isfinite(values[i])) {
            return fail(failure, EXIT_FAILED, "%s[%zu, %zu] is not a finite number", names[matrix],
                        block->row + i / block->cols, block->col + i % block->cols);
        }
    }
    return 0;
}

int source_read(const struct source *source, enum matrix matrix, const struct npy_block *block,
                float *values, struct failure *failure)
{
    assert(block->row + block->rows <= matrix_rows(&source->shape, matrix));
    assert(block->col + block->cols <= matrix_cols(&source->shape, matrix));
    if (source->folder == NULL) {
        make_block(source, matrix, block, values);
    } else {
        int status = npy_read(&source->files[matrix], block, values, failure);
        if (status != 0) {
            return status;
        }
    }
    elements_round(source->shape.dtype, values, block->rows * block->cols);
    return check_finite(matrix, block, values, failure);
}

float *source_read_whole(const struct source *source, enum matrix matrix, struct failure *failure)
{
    struct npy_block block = {.rows = matrix_rows(&source->shape, matrix),
                              .cols = matrix_cols(&source->shape, matrix)};
    float *values = allocate(block.rows * block.cols, sizeof *values, failure);
    if (values != NULL && source_read(source, matrix, &block, values, failure) != 0) {
        free(values);
        values = NULL;
    }
    return values;
}

bool source_same_folder(const char *one, const char *other)
{
    struct stat first;
    struct stat second;
    return stat(one, &first) == 0 && stat(other, &second) == 0 && first.st_dev == second.st_dev &&
           first.st_ino == second.st_ino;
}
