// SPDX-License-Identifier: Apache-2.0
// Matrix products of tiles: by OpenBLAS when the machine has it, else by loops. It is loaded when
// it is first needed, so tern does not depend on it. Data path: the operands in f32 are kept by the
// thread; no lock or log.

#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/public.h"
#include "isa/check.h"
#include "isa/view.h"
#include "isa/wide.h"
#include "tern/tile.h"

typedef void sgemm_fn(int order, int transpose_a, int transpose_b, int m, int n, int k, float alpha,
                      const float *a, int lda, const float *b, int ldb, float beta, float *c,
                      int ldc);

enum { BLAS_ROW_MAJOR = 101, BLAS_COLUMN_MAJOR = 102, BLAS_PLAIN = 111, BLAS_TRANSPOSED = 112 };

static sgemm_fn *sgemm;

// Blocks are the threads: OpenBLAS must not start its own.
static void load_blas(void)
{
    void *library = dlopen("libopenblas.so.0", RTLD_NOW | RTLD_LOCAL);
    void (*set_threads)(int);
    if (library == NULL) {
        return;
    }
    *(void **)&set_threads = dlsym(library, "openblas_set_num_threads");
    *(void **)&sgemm = dlsym(library, "cblas_sgemm");
    if (set_threads != NULL && sgemm != NULL) {
        set_threads(1);
    }
}

struct matrix {
    const float *data;
    int stride; // from one row (column) to the next
    bool by_rows;
};

// Memory of the thread, for operand 0 or 1.
static float *scratch(int which, size_t count)
{
    static _Thread_local struct {
        float *data;
        size_t count;
    } kept[2];
    if (kept[which].count < count) {
        free(kept[which].data);
        kept[which].data = malloc(count * sizeof(float));
        kept[which].count = kept[which].data != NULL ? count : 0;
    }
    return kept[which].data;
}

// A tile of f32 as it is, others converted, all of what its order keeps together.
static int as_matrix(const tern_tile *tile, int which, struct matrix *matrix)
{
    bool by_rows = tile->order == TERN_TILE_ROW_MAJOR;
    int stride = by_rows ? tile->columns : tile->rows;
    *matrix = (struct matrix){tile->data, stride, by_rows};
    if (tile->dtype == TERN_F32) {
        return TERN_OK;
    }
    size_t lines = (size_t)(by_rows ? tile->valid_rows : tile->valid_columns);
    size_t length = (size_t)(by_rows ? tile->valid_columns : tile->valid_rows);
    float *to = scratch(which, lines * length);
    if (to == NULL) {
        return tern__fail(TERN_ERR_MEMORY, "tern_tile_matmul: no memory for %zu elements",
                          lines * length);
    }
    for (size_t line = 0; line < lines; line++) {
        const uint16_t *from = (const uint16_t *)tile->data + line * (size_t)stride;
        tern__floats_from_halves(to + line * length, tile->dtype, from, length);
    }
    *matrix = (struct matrix){to, (int)length, by_rows};
    return TERN_OK;
}

static float element(const struct matrix *matrix, int row, int column)
{
    return matrix->by_rows ? matrix->data[(size_t)row * (size_t)matrix->stride + (size_t)column]
                           : matrix->data[(size_t)column * (size_t)matrix->stride + (size_t)row];
}

static void multiply(const tern_tile *to, const struct matrix *a, const struct matrix *b, int depth,
                     bool accumulate)
{
    int64_t row_stride;
    int64_t element_stride;
    tern__tile_strides(to, &row_stride, &element_stride);
    for (int row = 0; row < to->valid_rows; row++) {
        for (int column = 0; column < to->valid_columns; column++) {
            float *at = (float *)to->data + row * row_stride + column * element_stride;
            float sum = accumulate ? *at : 0;
            for (int k = 0; k < depth; k++) {
                sum += element(a, row, k) * element(b, k, column);
            }
            *at = sum;
        }
    }
}

static int multiply_floats(const tern_tile *to, const tern_tile *a, const tern_tile *b,
                           bool accumulate)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    struct matrix left;
    struct matrix right;
    pthread_once(&once, load_blas);
    TERN_TRY(as_matrix(a, 0, &left));
    TERN_TRY(as_matrix(b, 1, &right));
    if (sgemm == NULL) {
        multiply(to, &left, &right, a->valid_columns, accumulate);
        return TERN_OK;
    }
    bool by_rows = to->order == TERN_TILE_ROW_MAJOR;
    sgemm(by_rows ? BLAS_ROW_MAJOR : BLAS_COLUMN_MAJOR,
          left.by_rows == by_rows ? BLAS_PLAIN : BLAS_TRANSPOSED,
          right.by_rows == by_rows ? BLAS_PLAIN : BLAS_TRANSPOSED, to->valid_rows,
          to->valid_columns, a->valid_columns, 1.0F, left.data, left.stride, right.data,
          right.stride, accumulate ? 1.0F : 0.0F, to->data, by_rows ? to->columns : to->rows);
    return TERN_OK;
}

static void multiply_bytes(const tern_tile *to, const tern_tile *a, const tern_tile *b,
                           bool accumulate)
{
    int64_t row_stride[3];
    int64_t element_stride[3];
    tern__tile_strides(to, &row_stride[0], &element_stride[0]);
    tern__tile_strides(a, &row_stride[1], &element_stride[1]);
    tern__tile_strides(b, &row_stride[2], &element_stride[2]);
    for (int row = 0; row < to->valid_rows; row++) {
        for (int column = 0; column < to->valid_columns; column++) {
            int32_t *at = (int32_t *)to->data + row * row_stride[0] + column * element_stride[0];
            uint32_t sum = accumulate ? (uint32_t)*at : 0;
            const int8_t *x = (const int8_t *)a->data + row * row_stride[1];
            const int8_t *y = (const int8_t *)b->data + column * element_stride[2];
            for (int k = 0; k < a->valid_columns; k++) {
                sum += (uint32_t)(x[k * element_stride[1]] * y[k * row_stride[2]]);
            }
            *at = (int32_t)sum;
        }
    }
}

static int check(const char *call, const tern_tile *to, const tern_tile *a, const tern_tile *b)
{
    bool bytes = a != NULL && a->dtype == TERN_I8;
    bool floats =
        a != NULL && (a->dtype == TERN_F32 || a->dtype == TERN_F16 || a->dtype == TERN_BF16);
    if (!bytes && !floats) {
        return tern__fail(TERN_ERR_ARG, "%s: a has %s; there are f16, bf16, f32 and i8", call,
                          a != NULL ? tern_dtype_name(a->dtype) : "no tile");
    }
    TERN_TRY(tern__tile_check(call, "a", a, a->dtype));
    TERN_TRY(tern__tile_check(call, "b", b, a->dtype));
    TERN_TRY(tern__tile_check(call, "to", to, bytes ? TERN_I32 : TERN_F32));
    if (a->valid_rows != to->valid_rows || b->valid_columns != to->valid_columns ||
        a->valid_columns != b->valid_rows) {
        return tern__fail(TERN_ERR_ARG,
                          "%s: a has %d valid rows of %d elements, b %d of %d, and 'to' %d of %d; "
                          "expected M of K, K of N, M of N",
                          call, a->valid_rows, a->valid_columns, b->valid_rows, b->valid_columns,
                          to->valid_rows, to->valid_columns);
    }
    return TERN_OK;
}

static int matmul(const tern_tile *to, const tern_tile *a, const tern_tile *b, bool accumulate)
{
    TERN_TRY(check("tern_tile_matmul", to, a, b));
    if (tern__checking()) {
        tern__watch_tile("TMATMUL", a, false);
        tern__watch_tile("TMATMUL", b, false);
        if (accumulate) {
            tern__watch_tile("TMATMUL_ACC", to, false);
        }
        tern__watch_tile("TMATMUL", to, true);
    }
    if (a->dtype == TERN_I8) {
        multiply_bytes(to, a, b, accumulate);
        return TERN_OK;
    }
    return multiply_floats(to, a, b, accumulate);
}

int tern_tile_matmul(const tern_tile *to, const tern_tile *a, const tern_tile *b, int accumulate)
{
    return TERN__CALL(matmul(to, a, b, accumulate != 0));
}
