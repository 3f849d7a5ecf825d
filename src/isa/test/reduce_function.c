// SPDX-License-Identifier: Apache-2.0
// Reductions with a caller's function: the order of the sources, blocks of whole elements, what the
// function may rely on, unaligned operands, and a destination that is one of the sources.
#include "support/cmocka.h"
#include <string.h>

#include "isa/reduce_function.h"

enum { SOURCES = 16, DESTINATIONS = 5, BYTES = 20000, GUARD = 64 };

_Alignas(64) static char inputs[SOURCES][BYTES + 2 * GUARD];
_Alignas(64) static char outputs[DESTINATIONS][BYTES + 2 * GUARD];
static char expected[BYTES];

struct calls {
    size_t element_bytes;
    size_t count;   // elements of all calls
    size_t longest; // bytes of a call
};

// acc = 3 * acc + source, modulo 256, for each byte: neither commutative nor associative.
static void mix(void *accumulator, const void *source, size_t count, void *arg)
{
    struct calls *calls = arg;
    uint8_t *acc = accumulator;
    const uint8_t *next = source;
    size_t bytes = count * calls->element_bytes;
    assert_int_equal((uintptr_t)accumulator % calls->element_bytes, 0);
    assert_int_equal((uintptr_t)source % calls->element_bytes, 0);
    assert_true(count > 0);
    for (size_t i = 0; i < bytes; i++) {
        acc[i] = (uint8_t)(3 * acc[i] + next[i]);
    }
    calls->count += count;
    calls->longest = bytes > calls->longest ? bytes : calls->longest;
}

static void fill_inputs(void)
{
    uint32_t seed = 1;
    for (int s = 0; s < SOURCES; s++) {
        for (size_t i = 0; i < sizeof inputs[s]; i++) {
            seed = seed * 1664525u + 1013904223u;
            inputs[s][i] = (char)(seed >> 24);
        }
    }
}

static void check(size_t element_bytes, int n, int m, size_t count, size_t shift, int in_place)
{
    const char *from[SOURCES];
    char *to[DESTINATIONS];
    size_t bytes = element_bytes * count;
    fill_inputs();
    for (int s = 0; s < n; s++) {
        from[s] = inputs[s] + shift * (size_t)s;
    }
    for (int d = 0; d < m; d++) {
        to[d] = outputs[d] + GUARD + shift * (size_t)d;
        memset(outputs[d], 0x5a, sizeof outputs[d]);
    }
    for (size_t i = 0; i < bytes; i++) {
        uint8_t acc = (uint8_t)from[0][i];
        for (int s = 1; s < n; s++) {
            acc = (uint8_t)(3 * acc + (uint8_t)from[s][i]);
        }
        expected[i] = (char)acc;
    }
    if (in_place >= 0) {
        memcpy(to[m - 1], from[in_place], bytes);
        from[in_place] = to[m - 1];
    }
    struct calls calls = {.element_bytes = element_bytes};
    tern__reduce_function(mix, &calls, element_bytes, to, m, from, n, count);
    for (int d = 0; d < m; d++) {
        assert_memory_equal(to[d], expected, bytes);
        for (size_t i = 1; i <= GUARD / 2; i++) {
            assert_int_equal(to[d][bytes + i - 1], 0x5a);
            assert_int_equal(to[d][-(ptrdiff_t)i], 0x5a);
        }
    }
    assert_int_equal(calls.count, count * (size_t)(n - 1));
    assert_true(calls.longest <= 4096);
}

static void sources_are_taken_in_their_order(void **state)
{
    static const int ns[] = {1, 2, 3, 5, 8, 16};
    for (int i = 0; i < 6; i++) {
        for (size_t size = 1; size <= 8; size *= 2) {
            check(size, ns[i], 1 + i % DESTINATIONS, 77, 0, -1);
        }
    }
}

static void any_count_goes_in_blocks_of_whole_elements(void **state)
{
    static const size_t sizes[] = {1, 2, 4, 8, 16};
    for (int i = 0; i < 5; i++) {
        size_t block = 4096 / sizes[i];
        const size_t counts[] = {0, 1, block - 1, block, block + 1, 3 * block + 5};
        for (int c = 0; c < 6; c++) {
            size_t most = BYTES / sizes[i];
            check(sizes[i], 3, 2, counts[c] < most ? counts[c] : most, 0, -1);
        }
    }
}

static void unaligned_operands_reach_the_function_aligned(void **state)
{
    for (size_t size = 1; size <= 8; size *= 2) {
        check(size, 5, 3, 1237, 1, -1);
        check(size, 5, 3, 1237, 3, -1);
    }
}

static void a_destination_may_be_any_of_the_sources(void **state)
{
    for (int in_place = 0; in_place < 3; in_place++) {
        check(4, 3, 2, 2500, 0, in_place);
        check(4, 3, 1, 2500, 1, in_place);
    }
    check(2, 1, 1, 5000, 0, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sources_are_taken_in_their_order),
        cmocka_unit_test(any_count_goes_in_blocks_of_whole_elements),
        cmocka_unit_test(unaligned_operands_reach_the_function_aligned),
        cmocka_unit_test(a_destination_may_be_any_of_the_sources),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
