// SPDX-License-Identifier: Apache-2.0
// ctest-threads: none
// Reduce kernels against a naive loop, bit for bit: every level this processor has, every element
// type and operation, odd counts, odd addresses, every shape of operands; NaN, infinity, -0,
// subnormals and ties included.
#include "support/cmocka.h"
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "isa/reduce.h"
#include "isa/test/reduce_naive.h"

enum { SOURCES = 19, DESTINATIONS = 11, BYTES = 20032, GUARD = 2 * TERN__REDUCE_PAST_ALIGN };

static char inputs[SOURCES][BYTES + 2 * GUARD];
static _Alignas(TERN__REDUCE_PAST_ALIGN) char outputs[DESTINATIONS][BYTES + 2 * GUARD];
_Static_assert(sizeof outputs[0] % TERN__REDUCE_PAST_ALIGN == 0, "of all at the same place");
static char expected[BYTES];

static void fill_inputs(tern_dtype dtype, tern_reduce_op op)
{
    size_t size = tern_reduce_element_bytes(dtype, op);
    for (int s = 0; s < SOURCES; s++) {
        for (size_t at = 0; at + size <= sizeof inputs[s]; at += size) {
            put_element(&inputs[s][at], dtype, op);
        }
    }
}

static void expect(tern_dtype dtype, tern_reduce_op op, const char *const *from, int n,
                   size_t count)
{
    size_t size = tern_reduce_element_bytes(dtype, op);
    for (size_t i = 0; i < count; i++) {
        const char *elements[SOURCES];
        for (int s = 0; s < n; s++) {
            elements[s] = from[s] + i * size;
        }
        naive_reduce(dtype, op, elements, n, &expected[i * size]);
    }
}

struct shape {
    int n, m;
    size_t count;
    size_t shift; // bytes past an aligned address; each operand one more
    int in_place; // this source is the first destination; -1: none
    bool past;    // the caches
};

static void check_shape(enum tern__reduce_level level, tern_dtype dtype, tern_reduce_op op,
                        const struct shape *shape)
{
    tern__reduce_fn *reduce = tern__reduce_at(level, dtype, op);
    assert_non_null(reduce);
    const char *from[SOURCES];
    char *to[DESTINATIONS];
    size_t bytes = shape->count * tern_reduce_element_bytes(dtype, op);
    for (int s = 0; s < shape->n; s++) {
        from[s] = inputs[s] + (shape->shift != 0 ? shape->shift + (size_t)s : 0);
    }
    for (int d = 0; d < shape->m; d++) {
        to[d] = outputs[d] + GUARD / 2 + (shape->shift != 0 ? shape->shift + (size_t)d : 0);
        memset(to[d] - GUARD / 2, 0x5a, bytes + GUARD);
    }
    expect(dtype, op, from, shape->n, shape->count);
    if (shape->in_place >= 0) {
        memcpy(to[0], from[shape->in_place], bytes);
        from[shape->in_place] = to[0];
    }
    reduce(to, shape->m, from, shape->n, shape->count, shape->past);
    for (int d = 0; d < shape->m; d++) {
        if (memcmp(to[d], expected, bytes) != 0) {
            size_t i = 0;
            while (to[d][i] == expected[i]) {
                i++;
            }
            fail_msg(
                "level %d, %s, op %d, %d sources, %d destinations, %zu elements, shift %zu, in "
                "place %d: destination %d differs at byte %zu",
                (int)level, tern_dtype_name(dtype), (int)op, shape->n, shape->m, shape->count,
                shape->shift, shape->in_place, d, i);
        }
        for (size_t i = 0; i < GUARD / 2; i++) {
            if (to[d][bytes + i] != 0x5a || to[d][-1 - (ptrdiff_t)i] != 0x5a) {
                fail_msg("level %d, %s, op %d: wrote beside its %zu bytes", (int)level,
                         tern_dtype_name(dtype), (int)op, bytes);
            }
        }
    }
}

typedef void (*shape_user)(enum tern__reduce_level level, tern_dtype dtype, tern_reduce_op op);

// All levels and operations on the elements there are now: pairs or plain ones.
static void for_elements(shape_user use, tern_dtype dtype, bool pairs)
{
    for (int op = 0; op < TERN__REDUCE_OPS; op++) {
        if (is_pair((tern_reduce_op)op) != pairs ||
            tern_reduce_element_bytes(dtype, (tern_reduce_op)op) == 0) {
            continue;
        }
        for (int level = 0; level < TERN__REDUCE_LEVELS; level++) {
            if (tern__reduce_at((enum tern__reduce_level)level, TERN_F32, TERN_SUM) != NULL) {
                use((enum tern__reduce_level)level, dtype, (tern_reduce_op)op);
            }
        }
    }
}

static void for_all(shape_user use)
{
    for (int dtype = 0; dtype < TERN__REDUCE_DTYPES; dtype++) {
        fill_inputs((tern_dtype)dtype, TERN_SUM);
        for_elements(use, (tern_dtype)dtype, false);
        fill_inputs((tern_dtype)dtype, TERN_MINLOC);
        for_elements(use, (tern_dtype)dtype, true);
    }
}

static void use_counts(enum tern__reduce_level level, tern_dtype dtype, tern_reduce_op op)
{
    for (size_t count = 0; count <= 70; count++) {
        struct shape shape = {.n = 2, .m = 2, .count = count, .shift = count % 5, .in_place = -1};
        check_shape(level, dtype, op, &shape);
        shape.past = count % 2 == 0;
        shape.n = 1 + (int)(count % SOURCES);
        shape.m = 1 + (int)(count % DESTINATIONS);
        check_shape(level, dtype, op, &shape);
    }
}

static void counts_from_0_to_70(void **state)
{
    for_all(use_counts);
}

static void use_operands(enum tern__reduce_level level, tern_dtype dtype, tern_reduce_op op)
{
    static const int ns[] = {1, 2, 3, 4, 5, 7, 8, 9, 16, 17, SOURCES};
    static const int ms[] = {1, 2, 3, 4, 8, 9, DESTINATIONS};
    for (size_t n = 0; n < sizeof ns / sizeof ns[0]; n++) {
        for (size_t m = 0; m < sizeof ms / sizeof ms[0]; m++) {
            struct shape shape = {.n = ns[n], .m = ms[m], .count = 131, .shift = 3, .in_place = -1};
            check_shape(level, dtype, op, &shape);
            shape.past = true;
            check_shape(level, dtype, op, &shape);
            shape.shift = 0;
            check_shape(level, dtype, op, &shape);
        }
    }
}

static void every_number_of_operands(void **state)
{
    for_all(use_operands);
}

static void use_large(enum tern__reduce_level level, tern_dtype dtype, tern_reduce_op op)
{
    size_t all = BYTES / tern_reduce_element_bytes(dtype, op);
    struct shape shapes[] = {
        {.n = 2, .m = 2, .count = all, .shift = 0, .in_place = 0},
        {.n = 2, .m = 1, .count = all - 1, .shift = 7, .in_place = 1},
        {.n = SOURCES, .m = 3, .count = all - 5, .shift = 1, .in_place = SOURCES - 1},
        {.n = 6, .m = DESTINATIONS, .count = all - 3, .shift = 0, .in_place = 2},
        {.n = 8, .m = 8, .count = all - 2, .shift = 5, .in_place = 7},
        {.n = 1, .m = 2, .count = all - 7, .shift = 5, .in_place = 0},
        {.n = 2, .m = 2, .count = all - 3, .shift = 0, .in_place = -1, .past = true},
        {.n = 2, .m = 2, .count = all - 1, .shift = 0, .in_place = 1, .past = true},
        {.n = 8, .m = 8, .count = all, .shift = 0, .in_place = 7, .past = true},
        {.n = 3, .m = 1, .count = all - 3, .shift = 9, .in_place = 0, .past = true},
    };
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
        check_shape(level, dtype, op, &shapes[i]);
    }
}

static void many_blocks_and_in_place(void **state)
{
    for_all(use_large);
}

int main(void)
{
    for (int level = 0; level < TERN__REDUCE_LEVELS; level++) {
        if (tern__reduce_at((enum tern__reduce_level)level, TERN_F32, TERN_SUM) == NULL) {
            print_message("this processor has not got level %d: left out\n", level);
        }
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counts_from_0_to_70),
        cmocka_unit_test(every_number_of_operands),
        cmocka_unit_test(many_blocks_and_in_place),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
