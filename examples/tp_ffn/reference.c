// SPDX-License-Identifier: Apache-2.0
// The reference (reference.h). Beside each value goes the variance of its error, to first order and
// as if roundings were independent (Higham and Mary 2019: the error of a sum of K terms grows with
// sqrt(K) rather than K). For c = a b with K terms, u the roundoff of f32 and r that of the type
// that travels between ranks:
//
//     V(c) = sum_k (V(a) + (K u^2 + r^2) a^2) b^2  +  (K u^2 + 2 r^2) c^2
//
// The first sum has the error of a, the roundings of the accumulation and those of the ranks'
// partial sums; the last term has the accumulation towards a large c and the sum's own rounding.
// SwiGLU passes variances on through its derivatives. An element is right within SIGMAS standard
// deviations. That is a few hundredths of a typical element for bf16 and a few hundred thousandths
// for f32, while a rank whose part is missing changes it by about 1/sqrt(ranks): an eighth for 64
// ranks.
#include "reference.h"

#include <cblas.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "element.h"

#define SIGMAS 6.0
#define STEP_FLOPS 1e9 // of a product, between two looks at the progress

// What is computed from, and where its progress is counted.
struct work {
    const struct source *source;
    struct progress *progress; // or NULL
};

// A matrix and the variance of the error of each element.
struct estimate {
    double *value;
    double *variance;
    size_t rows;
    size_t cols;
};

static int estimate_create(struct estimate *estimate, size_t rows, size_t cols,
                           struct failure *failure)
{
    estimate->rows = rows;
    estimate->cols = cols;
    estimate->value = allocate(rows * cols, sizeof(double), failure);
    estimate->variance = allocate(rows * cols, sizeof(double), failure);
    bool complete = estimate->value != NULL && estimate->variance != NULL;
    return complete ? 0 : failure->exit_status;
}

static void estimate_free(struct estimate *estimate)
{
    free(estimate->value);
    free(estimate->variance);
}

// The matrix of the source as doubles, in memory to be given to free(). NULL after a failure.
static double *read_doubles(const struct source *source, enum matrix matrix,
                            struct failure *failure)
{
    float *floats = source_read_whole(source, matrix, failure);
    if (floats == NULL) {
        return NULL;
    }
    size_t count = matrix_rows(&source->shape, matrix) * matrix_cols(&source->shape, matrix);
    double *doubles = allocate(count, sizeof *doubles, failure);
    for (size_t i = 0; doubles != NULL && i < count; i++) {
        doubles[i] = (double)floats[i];
    }
    free(floats);
    return doubles;
}

// c = a b, some rows at a time.
static void multiply(const double *a, const double *b, double *c, const struct estimate *sizes,
                     size_t inner, struct progress *progress)
{
    blasint cols = (blasint)sizes->cols;
    double row_flops = 2.0 * (double)inner * (double)cols;
    size_t step = (size_t)(STEP_FLOPS / row_flops) + 64; // fewer rows would be slower
    for (size_t row = 0; row < sizes->rows; row += step) {
        size_t rows = sizes->rows - row < step ? sizes->rows - row : step;
        cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, (blasint)rows, cols, (blasint)inner,
                    1.0, a + row * inner, (blasint)inner, b, cols, 0.0, c + row * sizes->cols,
                    cols);
        progress_add(progress, row_flops * (double)rows);
    }
}

// product = factor * matrix. travels: the ranks' shares of it are stored and summed.
static int multiply_estimate(const struct work *work, const struct estimate *factor,
                             enum matrix matrix, bool travels, struct estimate *product,
                             struct failure *failure)
{
    const struct source *source = work->source;
    size_t inner = factor->cols;
    int status =
        estimate_create(product, factor->rows, matrix_cols(&source->shape, matrix), failure);
    double *b = status == 0 ? read_doubles(source, matrix, failure) : NULL;
    double *weights = allocate(factor->rows * inner, sizeof *weights, failure);
    if (b == NULL || weights == NULL) {
        free(b);
        free(weights);
        return failure->exit_status;
    }
    double u = element_roundoff(TERN_F32);
    double r = travels ? element_roundoff(source->shape.dtype) : 0;
    double summing = u * u * (double)inner;

    multiply(factor->value, b, product->value, product, inner, work->progress);
    for (size_t i = 0; i < factor->rows * inner; i++) {
        double a = factor->value[i];
        weights[i] = factor->variance[i] + (summing + r * r) * a * a;
    }
    for (size_t i = 0; i < inner * product->cols; i++) {
        b[i] *= b[i];
    }
    multiply(weights, b, product->variance, product, inner, work->progress);
    for (size_t i = 0; i < product->rows * product->cols; i++) {
        double c = product->value[i];
        product->variance[i] += (summing + 2 * r * r) * c * c;
    }
    free(b);
    free(weights);
    return 0;
}

// gate = silu(gate) * up
static void swiglu_estimate(struct estimate *gate, const struct estimate *up, tern_dtype dtype)
{
    double u = element_roundoff(TERN_F32);
    double r = element_roundoff(dtype);
    for (size_t i = 0; i < gate->rows * gate->cols; i++) {
        double g = gate->value[i];
        double sigmoid = 1 / (1 + exp(-g));
        double silu = g * sigmoid;
        double by_gate = sigmoid * (1 + g * (1 - sigmoid)) * up->value[i];
        double h = silu * up->value[i];
        gate->value[i] = h;
        gate->variance[i] = by_gate * by_gate * gate->variance[i] + silu * silu * up->variance[i] +
                            (16 * u * u + r * r) * h * h;
    }
}

static int ffn_estimate(const struct work *work, const struct estimate *a, struct estimate *y,
                        struct failure *failure)
{
    struct estimate gate = {0};
    struct estimate up = {0};
    int status = multiply_estimate(work, a, MATRIX_W_GATE, false, &gate, failure);
    if (status == 0) {
        status = multiply_estimate(work, a, MATRIX_W_UP, false, &up, failure);
    }
    if (status == 0) {
        swiglu_estimate(&gate, &up, work->source->shape.dtype);
        status = multiply_estimate(work, &gate, MATRIX_W_DOWN, true, y, failure);
    }
    estimate_free(&gate);
    estimate_free(&up);
    return status;
}

static int read_x(const struct source *source, struct estimate *x, struct failure *failure)
{
    x->rows = source->shape.tokens;
    x->cols = source->shape.hidden;
    x->value = read_doubles(source, MATRIX_X, failure);
    x->variance = allocate(x->rows * x->cols, sizeof(double), failure);
    if (x->value == NULL || x->variance == NULL) {
        return failure->exit_status;
    }
    memset(x->variance, 0, x->rows * x->cols * sizeof(double)); // the input is exact
    return 0;
}

double reference_flops(const struct shape *shape)
{
    return 2 * shape_flops(shape); // values and variances
}

int reference_create(struct reference *reference, const struct source *source,
                     struct progress *progress, struct failure *failure)
{
    struct work work = {.source = source, .progress = progress};
    *reference = (struct reference){.shape = source->shape};
    struct estimate x = {0};
    struct estimate a = {0};
    struct estimate y = {0};
    int status = read_x(source, &x, failure);
    if (status == 0) {
        status = multiply_estimate(&work, &x, MATRIX_W_LINEAR, true, &a, failure);
    }
    estimate_free(&x);
    if (status == 0) {
        status = ffn_estimate(&work, &a, &y, failure);
    }
    estimate_free(&a);
    reference->y = y.value;
    reference->tolerance = y.variance;
    if (status != 0) {
        return status;
    }
    for (size_t i = 0; i < y.rows * y.cols; i++) {
        // FLT_MIN: below it numbers have fewer digits.
        reference->tolerance[i] = SIGMAS * sqrt(y.variance[i]) + (double)FLT_MIN;
    }
    return 0;
}

void reference_free(struct reference *reference)
{
    free(reference->y);
    free(reference->tolerance);
}

int reference_check(const struct reference *reference, const void *y, struct deviation *deviation,
                    struct failure *failure)
{
    const struct shape *shape = &reference->shape;
    size_t element_bytes = tern_dtype_size(shape->dtype);
    for (size_t i = 0; i < shape->tokens * shape->hidden; i++) {
        float got;
        elements_unpack(shape->dtype, (const char *)y + i * element_bytes, &got, 1);
        double tolerance = reference->tolerance[i];
        double error = fabs((double)got - reference->y[i]);
        // Written so that a NaN on either side is wrong, and so is a tolerance without a bound.
        if (!(error <= tolerance) || !isfinite(tolerance)) {
            return fail(failure, EXIT_FAILED,
                        "wrong result: y[%zu, %zu] is %.9g, expected %.9g within %.2g",
                        i / shape->hidden, i % shape->hidden, (double)got, reference->y[i],
                        tolerance);
        }
        deviation->error = fmax(deviation->error, error);
        deviation->of_tolerance = fmax(deviation->of_tolerance, error / tolerance);
    }
    return 0;
}
