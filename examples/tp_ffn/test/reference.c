// SPDX-License-Identifier: Apache-2.0
// Whether the verification verifies. The ranks' arithmetic is done here in one process, for 1 to 64
// ranks and both dtypes: what it gives must pass, and each way of getting it wrong must not.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "element.h"
#include "layer.h"
#include "reference.h"

// Last, because it defines a macro called fail.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cblas.h>
#include <cmocka.h>

enum fault {
    FAULT_NONE,
    DROP_A,        // the first sum lacks the last rank
    DROP_Y,        // so does the second
    TWICE_Y,       // the second sum has rank 0 twice
    DROP_A_CHUNK,  // the first sum lacks the last rank, in one chunk only
    DROP_Y_CHUNK,  //
    SWAP_CHUNKS_A, // two chunks of a are exchanged
    SWAP_CHUNKS_Y,
    STALE_CHUNK_Y, // a chunk of y was never written (zero)
    SWAP_GATE_UP,  // the weights of gate and up of one rank are exchanged
    FAULT_COUNT,
};

enum { TOKENS = 12, CHUNKS = 4, HIDDEN = 192, INTERMEDIATE = 320, RANKS_MAX = 64 };

struct job {
    struct source source;
    size_t nranks;
    struct layer layers[RANKS_MAX];
    struct scratch scratch[RANKS_MAX];
    char *partial[RANKS_MAX];
    char *a;
    char *y;
    float *sums;
};

static void job_create(struct job *job, size_t nranks, tern_dtype dtype, int64_t seed)
{
    struct failure failure = {0};
    struct options options = {.tokens = TOKENS,
                              .hidden = HIDDEN,
                              .intermediate = INTERMEDIATE,
                              .chunks = CHUNKS,
                              .dtype = dtype,
                              .seed = seed};
    assert_int_equal(source_open(&job->source, &options, &failure), 0);
    job->nranks = nranks;
    for (size_t rank = 0; rank < nranks; rank++) {
        assert_int_equal(layer_load(&job->layers[rank], &job->source, rank, nranks, &failure), 0);
        assert_int_equal(scratch_create(&job->scratch[rank], &job->layers[rank], &failure), 0);
        job->partial[rank] = allocate(TOKENS * HIDDEN, sizeof(float), &failure);
        assert_non_null(job->partial[rank]);
    }
    job->a = allocate(TOKENS * HIDDEN, sizeof(float), &failure);
    job->y = allocate(TOKENS * HIDDEN, sizeof(float), &failure);
    job->sums = allocate(TOKENS * HIDDEN, sizeof(float), &failure);
    assert_true(job->a != NULL && job->y != NULL && job->sums != NULL);
}

static void job_free(struct job *job)
{
    for (size_t rank = 0; rank < job->nranks; rank++) {
        layer_free(&job->layers[rank]);
        scratch_free(&job->scratch[rank]);
        free(job->partial[rank]);
    }
    free(job->a);
    free(job->y);
    free(job->sums);
}

static size_t row_bytes(const struct job *job)
{
    return HIDDEN * tern_dtype_size(job->source.shape.dtype);
}

// sum = the partial sums of all ranks, faulty in the given way.
static void all_reduce(struct job *job, char *sum, bool drop, bool drop_chunk, bool twice)
{
    tern_dtype dtype = job->source.shape.dtype;
    for (size_t chunk = 0; chunk < CHUNKS; chunk++) {
        struct range rows = shape_chunk(&job->source.shape, chunk);
        size_t skipped = rows.begin * row_bytes(job);
        bool short_by_one = drop || (drop_chunk && chunk == 1);
        memset(job->sums, 0, rows.count * HIDDEN * sizeof(float));
        for (size_t rank = 0; rank < job->nranks - (short_by_one ? 1 : 0); rank++) {
            elements_add(dtype, job->sums, job->partial[rank] + skipped, rows.count * HIDDEN);
        }
        if (twice) {
            elements_add(dtype, job->sums, job->partial[0] + skipped, rows.count * HIDDEN);
        }
        elements_pack(dtype, job->sums, sum + skipped, rows.count * HIDDEN);
    }
}

// Exchanges the first two chunks (CHUNKS divides TOKENS, so they are equally long).
static void swap_chunks(struct job *job, char *buffer)
{
    size_t chunk_bytes = TOKENS / CHUNKS * row_bytes(job);
    memcpy(job->sums, buffer, chunk_bytes);
    memcpy(buffer, buffer + chunk_bytes, chunk_bytes);
    memcpy(buffer + chunk_bytes, job->sums, chunk_bytes);
}

static void job_run(struct job *job, enum fault fault)
{
    const struct shape *shape = &job->source.shape;
    for (size_t rank = 0; rank < job->nranks; rank++) {
        for (size_t chunk = 0; chunk < CHUNKS; chunk++) {
            struct range rows = shape_chunk(shape, chunk);
            layer_linear(&job->layers[rank], rows, &job->scratch[rank],
                         job->partial[rank] + rows.begin * row_bytes(job));
        }
    }
    all_reduce(job, job->a, fault == DROP_A, fault == DROP_A_CHUNK, false);
    if (fault == SWAP_CHUNKS_A) {
        swap_chunks(job, job->a);
    }
    for (size_t rank = 0; rank < job->nranks; rank++) {
        struct layer layer = job->layers[rank];
        if (fault == SWAP_GATE_UP && rank == 0) {
            layer.w_gate = job->layers[rank].w_up;
            layer.w_up = job->layers[rank].w_gate;
        }
        for (size_t chunk = 0; chunk < CHUNKS; chunk++) {
            struct range rows = shape_chunk(shape, chunk);
            size_t skipped = rows.begin * row_bytes(job);
            layer_ffn(&layer, job->a + skipped, rows.count, &job->scratch[rank],
                      job->partial[rank] + skipped);
        }
    }
    all_reduce(job, job->y, fault == DROP_Y, fault == DROP_Y_CHUNK, fault == TWICE_Y);
    if (fault == SWAP_CHUNKS_Y) {
        swap_chunks(job, job->y);
    } else if (fault == STALE_CHUNK_Y) {
        memset(job->y, 0, TOKENS / CHUNKS * row_bytes(job));
    }
}

static int check_y(const struct reference *reference, const void *y, struct deviation *deviation)
{
    struct failure failure = {0};
    *deviation = (struct deviation){0};
    return reference_check(reference, y, deviation, &failure);
}

static const size_t rank_counts[] = {1, 2, 4, 8, 16, 64};
static const tern_dtype dtypes[] = {TERN_F32, TERN_BF16};

static void for_all_jobs(void (*check)(struct job *, const struct reference *))
{
    for (size_t i = 0; i < sizeof rank_counts / sizeof rank_counts[0]; i++) {
        for (size_t j = 0; j < 2; j++) {
            for (int64_t seed = 1; seed <= 5; seed++) {
                static struct job job;
                struct reference reference;
                struct failure failure = {0};
                job_create(&job, rank_counts[i], dtypes[j], seed);
                assert_int_equal(reference_create(&reference, &job.source, NULL, &failure), 0);
                check(&job, &reference);
                reference_free(&reference);
                job_free(&job);
            }
        }
    }
}

static void check_right(struct job *job, const struct reference *reference)
{
    struct deviation deviation;
    job_run(job, FAULT_NONE);
    assert_int_equal(check_y(reference, job->y, &deviation), 0);
    // Room for luck: a right result is not near the bound.
    assert_true(deviation.of_tolerance > 0 && deviation.of_tolerance < 0.6);
}

static void right_results_pass(void **state)
{
    (void)state;
    for_all_jobs(check_right);
}

static void check_faults(struct job *job, const struct reference *reference)
{
    for (enum fault fault = DROP_A; fault < FAULT_COUNT; fault++) {
        struct deviation deviation;
        job_run(job, fault);
        if (check_y(reference, job->y, &deviation) == 0) {
            fail_msg("fault %d passes with %zu ranks of %s (%g of the tolerance)", fault,
                     job->nranks, tern_dtype_name(job->source.shape.dtype), deviation.of_tolerance);
        }
    }
}

static void faults_fail(void **state)
{
    (void)state;
    for_all_jobs(check_faults);
}

// Each single element: one that is not a number, is off by a quarter of what is typical for y, or
// is its neighbour's, if that differs by as much.
static void check_elements(struct job *job, const struct reference *reference)
{
    tern_dtype dtype = job->source.shape.dtype;
    size_t element_bytes = tern_dtype_size(dtype);
    size_t count = TOKENS * HIDDEN;
    double squares = 0;
    for (size_t i = 0; i < count; i++) {
        squares += reference->y[i] * reference->y[i];
    }
    float quarter = (float)(0.25 * sqrt(squares / (double)count));
    job_run(job, FAULT_NONE);
    for (size_t i = 0; i < count; i += 37) {
        char *element = job->y + i * element_bytes;
        float right;
        elements_unpack(dtype, element, &right, 1);
        const float wrong[] = {NAN, INFINITY, -INFINITY, right + quarter, right - quarter};
        for (size_t j = 0; j < sizeof wrong / sizeof wrong[0]; j++) {
            struct deviation deviation;
            elements_pack(dtype, &wrong[j], element, 1);
            assert_int_equal(check_y(reference, job->y, &deviation), EXIT_FAILED);
        }
        elements_pack(dtype, &right, element, 1);
    }
    struct deviation deviation;
    assert_int_equal(check_y(reference, job->y, &deviation), 0);
}

static void wrong_elements_fail(void **state)
{
    (void)state;
    for_all_jobs(check_elements);
}

static void unbounded_tolerance_fails(void **state)
{
    (void)state;
    const float y = 1;
    double value = 1;
    double tolerance = INFINITY;
    struct reference reference = {.shape = {.tokens = 1, .hidden = 1, .dtype = TERN_F32},
                                  .y = &value,
                                  .tolerance = &tolerance};
    struct deviation deviation;
    assert_int_equal(check_y(&reference, &y, &deviation), EXIT_FAILED);
    tolerance = NAN;
    assert_int_equal(check_y(&reference, &y, &deviation), EXIT_FAILED);
    tolerance = 0.5;
    assert_int_equal(check_y(&reference, &y, &deviation), 0);
}

// The reference against the formula written out, for a few elements.
static void reference_is_the_formula(void **state)
{
    (void)state;
    static struct job job;
    struct reference reference;
    struct failure failure = {0};
    float *w[MATRIX_COUNT];
    job_create(&job, 1, TERN_F32, 7);
    assert_int_equal(reference_create(&reference, &job.source, NULL, &failure), 0);
    for (enum matrix m = 0; m < MATRIX_COUNT; m++) {
        w[m] = source_read_whole(&job.source, m, &failure);
        assert_non_null(w[m]);
    }
    for (size_t t = 0; t < TOKENS; t += 5) {
        double a[HIDDEN] = {0};
        double y[HIDDEN] = {0};
        for (size_t i = 0; i < HIDDEN; i++) {
            for (size_t k = 0; k < HIDDEN; k++) {
                a[i] += (double)w[MATRIX_X][t * HIDDEN + k] *
                        (double)w[MATRIX_W_LINEAR][k * HIDDEN + i];
            }
        }
        for (size_t j = 0; j < INTERMEDIATE; j++) {
            double gate = 0;
            double up = 0;
            for (size_t k = 0; k < HIDDEN; k++) {
                gate += a[k] * (double)w[MATRIX_W_GATE][k * INTERMEDIATE + j];
                up += a[k] * (double)w[MATRIX_W_UP][k * INTERMEDIATE + j];
            }
            for (size_t i = 0; i < HIDDEN; i++) {
                y[i] += gate / (1 + exp(-gate)) * up * (double)w[MATRIX_W_DOWN][j * HIDDEN + i];
            }
        }
        for (size_t i = 0; i < HIDDEN; i++) {
            assert_true(fabs(y[i] - reference.y[t * HIDDEN + i]) < 1e-12);
        }
    }
    for (enum matrix m = 0; m < MATRIX_COUNT; m++) {
        free(w[m]);
    }
    reference_free(&reference);
    job_free(&job);
}

// A block made from the seed is that block of the whole, so any number of ranks has the same input.
static void seed_blocks_are_parts_of_the_whole(void **state)
{
    (void)state;
    static struct job job;
    struct failure failure = {0};
    job_create(&job, 4, TERN_F32, 3);
    float *whole = source_read_whole(&job.source, MATRIX_W_GATE, &failure);
    assert_non_null(whole);
    for (size_t rank = 0; rank < 4; rank++) {
        for (size_t row = 0; row < HIDDEN; row++) {
            assert_memory_equal(job.layers[rank].w_gate + row * INTERMEDIATE / 4,
                                whole + row * INTERMEDIATE + rank * INTERMEDIATE / 4,
                                INTERMEDIATE / 4 * sizeof(float));
        }
    }
    free(whole);
    job_free(&job);
}

int main(void)
{
    // As blas_begin does; and ThreadSanitizer does not know what orders OpenBLAS's threads.
    openblas_set_num_threads(1);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(right_results_pass),
        cmocka_unit_test(faults_fail),
        cmocka_unit_test(wrong_elements_fail),
        cmocka_unit_test(unbounded_tolerance_fails),
        cmocka_unit_test(reference_is_the_formula),
        cmocka_unit_test(seed_blocks_are_parts_of_the_whole),
    };
    return cmocka_run_group_tests_name("reference", tests, NULL, NULL);
}
