// SPDX-License-Identifier: Apache-2.0
// ctest-threads: none
// Sums on their way to a rank far away are the same bytes as those that go to a near one, for any
// length, alignment and element, in place or not; and who is near is not treated as far.
#include "support/cmocka.h"
#include <stdlib.h>
#include <string.h>

#include "isa/reduce_function.h"
#include "plan/exec/transfer.h"
#include "xport/expose.h"

enum { MOST = 3 * (int)TERN__EXPOSE_FROM + 4096, GUARD = 192, ROOM = MOST + 2 * GUARD };

static unsigned char inputs[2][ROOM];
static unsigned char scratch[2][ROOM]; // near, far
static unsigned char out[2][ROOM];

static void xor_elements(void *accumulator, const void *source, size_t count, void *arg)
{
    const size_t bytes = count * *(const size_t *)arg;
    for (size_t i = 0; i < bytes; i++) {
        ((unsigned char *)accumulator)[i] ^= ((const unsigned char *)source)[i];
    }
}

static void fill(void)
{
    for (int i = 0; i < ROOM; i++) {
        inputs[0][i] = (unsigned char)(i * 31 + 7);
        inputs[1][i] = (unsigned char)(i * 17 + (i >> 8));
        scratch[0][i] = scratch[1][i] = out[0][i] = out[1][i] = 0x5a;
    }
}

struct sum {
    uint64_t length;
    size_t shift;
    size_t element_bytes;
    bool to_out, in_place;
};

// Rank 0's sum of both inputs into its scratch, and its out where it has one.
static void sum_up(const struct sum *sum, struct tern__distance *distance)
{
    int far = distance != NULL && tern__goes_past(distance);
    char *own_out = (char *)out[far] + GUARD + sum->shift;
    struct tern__binding binding = {
        .rank = 0,
        .distance = distance,
        .element_bytes = sum->element_bytes,
        .function = xor_elements,
        .function_arg = (void *)(uintptr_t)&sum->element_bytes,
        .in = {(char *)inputs[0] + GUARD, (char *)inputs[1] + GUARD + 3 * sum->shift},
        .out = {own_out},
        .scratch = {(char *)scratch[far] + GUARD + 2 * sum->shift},
    };
    if (sum->element_bytes == 4) {
        binding.reduce = tern__reduce_find(TERN_F32, TERN_MAX);
    }
    if (sum->in_place) {
        memcpy(own_out, binding.in[0], sum->length);
        binding.in[0] = own_out;
    }
    tern_plan_range operands[4] = {{0, 0, TERN_PLAN_IN},
                                   {0, 1, TERN_PLAN_IN},
                                   {0, 0, TERN_PLAN_SCRATCH},
                                   {0, 0, TERN_PLAN_OUT}};
    struct tern__step step = {.kind = TERN__STEP_REDUCE,
                              .sources_count = 2,
                              .destinations_count = sum->to_out ? 2 : 1,
                              .operands = operands,
                              .length = sum->length};
    struct tern__unread unread;
    assert_true(tern__transfer(&binding, &tern__xport_shm, &step, &unread));
}

static void near_and_far(const struct sum *sum)
{
    _Atomic uint32_t votes = TERN__DISTANCE_VOTES;
    struct tern__distance far = {.votes = &votes, .past = true};
    fill();
    sum_up(sum, NULL);
    sum_up(sum, &far);
    assert_memory_equal(scratch[0], scratch[1], ROOM);
    assert_memory_equal(out[0], out[1], ROOM);
    // It was done at all, whole and not beyond.
    const unsigned char *begin = scratch[1] + GUARD + 2 * sum->shift;
    assert_int_equal(begin[-1], 0x5a);
    assert_int_equal(begin[sum->length], 0x5a);
    if (sum->element_bytes != 4) {
        for (uint64_t i = 0; i < sum->length; i++) {
            assert_int_equal(begin[i],
                             inputs[0][GUARD + i] ^ inputs[1][GUARD + 3 * sum->shift + i]);
        }
    }
}

static void sums_that_go_far_are_the_same_bytes(void **state)
{
    const uint64_t lengths[] = {TERN__EXPOSE_FROM - 12, TERN__EXPOSE_FROM, TERN__EXPOSE_FROM + 12,
                                2 * TERN__EXPOSE_FROM, MOST};
    const size_t elements[] = {1, 4, 12, TERN__REDUCE_FUNCTION_MAX};
    for (size_t l = 0; l < sizeof lengths / sizeof lengths[0]; l++) {
        for (size_t e = 0; e < sizeof elements / sizeof elements[0]; e++) {
            for (size_t shift = 0; shift <= 64; shift += 4) {
                for (int where = 0; where < 3; where++) {
                    near_and_far(&(struct sum){.length = lengths[l] / elements[e] * elements[e],
                                               .shift = shift < 64 ? shift : 63,
                                               .element_bytes = elements[e],
                                               .to_out = where > 0,
                                               .in_place = where > 1});
                }
            }
        }
    }
}

static void long_and_short_ways_take_turns(void **state)
{
    _Atomic uint32_t votes = 0;
    struct tern__distance distance = {.votes = &votes};
    for (int vote = 0; vote < 100; vote++) {
        tern__distance_vote(&distance, TERN__DISTANCE_TOO_LONG_NS);
        assert_false(tern__distance_is_long(&distance)); // an interrupt is no distance
        tern__distance_vote(&distance, vote % 8 == 0 ? TERN__DISTANCE_LONG_NS : 0);
        assert_false(tern__distance_is_long(&distance));
    }
    // One of two ranks of each of two processors finds lines that the other one has had.
    for (int vote = 0; vote < 100; vote++) {
        tern__distance_vote(&distance, vote % 3 == 0 ? TERN__DISTANCE_LONG_NS : 0);
        assert_true(vote < 20 || tern__distance_is_long(&distance));
    }
    for (int vote = 0; vote < TERN__DISTANCE_VOTES; vote++) {
        tern__distance_vote(&distance, TERN__DISTANCE_LONG_NS - 1);
    }
    assert_false(tern__distance_is_long(&distance));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums_that_go_far_are_the_same_bytes),
        cmocka_unit_test(long_and_short_ways_take_turns),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
