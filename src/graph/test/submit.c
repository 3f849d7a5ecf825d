// SPDX-License-Identifier: Apache-2.0
// The builders that run while tasks run: orders that follow from edges and from regions, rings that
// are used again, scopes, elements, and what ends a run.
#include "support/cmocka.h"

#include <stdlib.h>

#include "rings_kit.h"

static void add_elements(int64_t *args)
{
    const tern_region *a = pointer(args[0]);
    const tern_region *b = pointer(args[1]);
    const tern_region *out = pointer(args[2]);
    const float *x = tern_region_data(a);
    const float *y = tern_region_data(b);
    float *z = tern_region_data(out);
    for (int64_t i = 0; i < args[3]; i++) {
        z[i] = x[i] + y[i];
    }
}

static void multiply_elements(int64_t *args)
{
    const float *x = tern_region_data(pointer(args[0]));
    const float *y = tern_region_data(pointer(args[1]));
    float *z = tern_region_data(pointer(args[2]));
    for (int64_t i = 0; i < args[3]; i++) {
        z[i] = x[i] * y[i];
    }
}

static void add_scalar(int64_t *args)
{
    const float *x = tern_region_data(pointer(args[0]));
    float *z = tern_region_data(pointer(args[1]));
    for (int64_t i = 0; i < args[3]; i++) {
        z[i] = x[i] + (float)args[2];
    }
}

enum { LENGTH = 16384 };

static int submit3(tern_graph *graph, tern_kernel kernel, tern_region *a, tern_region *b,
                   tern_region *out, tern_access access)
{
    tern_task_arg args[] = {{.access = TERN_IN, .region = a},
                            {.access = TERN_IN, .region = b},
                            {.access = access, .region = out},
                            {.access = TERN_SCALAR, .scalar = LENGTH}};
    return tern_graph_submit(graph,
                             &(tern_submission){.task = {.kernel = kernel, .core = TERN_CORE_AIV},
                                                .args = args,
                                                .args_count = 4},
                             NULL);
}

static int submit_scalar(tern_graph *graph, tern_region *a, tern_region *out, uint64_t scalar)
{
    tern_task_arg args[] = {{.access = TERN_IN, .region = a},
                            {.access = TERN_OUT, .region = out},
                            {.access = TERN_SCALAR, .scalar = scalar},
                            {.access = TERN_SCALAR, .scalar = LENGTH}};
    return tern_graph_submit(graph,
                             &(tern_submission){.task = {.kernel = add_scalar,
                                                         .core = TERN_CORE_AIV},
                                                .args = args,
                                                .args_count = 4},
                             NULL);
}

struct vectors {
    float *a, *b, *f;
};

// c = a + b; in a scope d = c + 1, e = c + 2, g = d * e; f = g + c.
static int vector_example(tern_graph *graph, void *arg)
{
    const struct vectors *vectors = arg;
    const uint32_t shape[] = {LENGTH};
    tern_region a;
    tern_region b;
    tern_region f;
    tern_region made[4];
    TRY(tern_region_make(&a, vectors->a, shape, 1, TERN_REGION_F32));
    TRY(tern_region_make(&b, vectors->b, shape, 1, TERN_REGION_F32));
    TRY(tern_region_make(&f, vectors->f, shape, 1, TERN_REGION_F32));
    for (int i = 0; i < 4; i++) {
        TRY(tern_region_make(&made[i], NULL, shape, 1, TERN_REGION_F32));
    }
    TRY(submit3(graph, add_elements, &a, &b, &made[0], TERN_OUT));
    TRY(tern_graph_scope_begin(graph, TERN_SCOPE_AUTO));
    TRY(submit_scalar(graph, &made[0], &made[1], 1));
    TRY(submit_scalar(graph, &made[0], &made[2], 2));
    TRY(submit3(graph, multiply_elements, &made[1], &made[2], &made[3], TERN_OUT));
    TRY(submit3(graph, add_elements, &made[3], &made[0], &f, TERN_OUT_EXISTING));
    return tern_graph_scope_end(graph);
}

static void the_vector_example_is_right(void **state)
{
    struct vectors vectors = {malloc(LENGTH * 4), malloc(LENGTH * 4), malloc(LENGTH * 4)};
    for (int first = 0; first < 2; first++) {
        tern_chip *chip = chip_of(0, 3);
        for (int i = 0; i < LENGTH; i++) {
            vectors.a[i] = 2;
            vectors.b[i] = 3;
            vectors.f[i] = -1;
        }
        assert_int_equal(run_rings(chip, NULL, vector_example, &vectors, first), TERN_OK);
        for (int i = 0; i < LENGTH; i++) {
            assert_true(vectors.f[i] == 47.0f);
        }
        assert_true(fine(tern_chip_destroy(chip)));
    }
    free(vectors.a);
    free(vectors.b);
    free(vectors.f);
}

static void count_up(int64_t *args)
{
    uint64_t *counter = tern_region_data(pointer(args[0]));
    *counter = *counter * 3 + (uint64_t)args[1];
}

// Many tasks through a small ring: a chain by INOUT.
enum { MANY = 100000 };
static int many(tern_graph *graph, void *arg)
{
    const uint32_t shape[] = {1};
    tern_region counter;
    TRY(tern_region_make(&counter, arg, shape, 1, TERN_REGION_I64));
    for (int i = 0; i < MANY; i++) {
        tern_task_arg args[] = {{.access = TERN_INOUT, .region = &counter},
                                {.access = TERN_SCALAR, .scalar = (uint64_t)i}};
        TRY(tern_graph_scope_begin(graph, TERN_SCOPE_AUTO));
        TRY(tern_graph_submit(graph,
                              &(tern_submission){.task = {.kernel = count_up,
                                                          .core = TERN_CORE_AIV},
                                                 .args = args,
                                                 .args_count = 2},
                              NULL));
        TRY(tern_graph_scope_end(graph));
    }
    return TERN_OK;
}

static void more_tasks_than_rows_run_in_their_order(void **state)
{
    int64_t counter = 0;
    uint64_t expected = 0;
    tern_chip *chip = chip_of(0, 4);
    for (int i = 0; i < MANY; i++) {
        expected = expected * 3 + (uint64_t)i;
    }
    tern_ring_options options = {.window = {8}, .heap = {4096}, .edges = {16}, .regions = {16}};
    assert_int_equal(run_rings(chip, &options, many, &counter, false), TERN_OK);
    assert_true((uint64_t)counter == expected);
    assert_true(fine(tern_chip_destroy(chip)));
}

static void compare_addresses(int64_t *args)
{
    *(bool *)pointer(args[2]) =
        tern_region_data(pointer(args[0])) == tern_region_data(pointer(args[1]));
}

static int name_output_twice(tern_graph *graph, void *arg)
{
    float elements[4];
    tern_region region = row_of(elements, 4, TERN_REGION_F32);
    tern_task_arg args[] = {region_arg(TERN_OUT, &region), region_arg(TERN_IN, &region),
                            scalar_arg(word(arg))};
    return submit(graph, &(tern_task){.kernel = compare_addresses, .core = TERN_CORE_AIV}, args, 3,
                  NULL);
}

static void a_reader_of_an_output_of_the_same_task_has_its_memory(void **state)
{
    bool same = false;
    tern_chip *chip = chip_of(0, 1);
    assert_int_equal(run_rings(chip, NULL, name_output_twice, &same, false), TERN_OK);
    assert_true(same);
    assert_true(fine(tern_chip_destroy(chip)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_vector_example_is_right),
        cmocka_unit_test(more_tasks_than_rows_run_in_their_order),
        cmocka_unit_test(a_reader_of_an_output_of_the_same_task_has_its_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
