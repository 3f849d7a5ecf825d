// SPDX-License-Identifier: Apache-2.0
// ctest-threads: none
// Sums on their way to a rank far away are the same bytes as those that go to a near one, for any
// length, alignment and element, in place or not; and who is near is not treated as far. So are
// sums of what lies in other processes; and what cannot be read there is said.
#include "support/cmocka.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "isa/reduce_function.h"
#include "plan/exec/transfer.h"
#include "support/quickest.h"
#include "xport/copy.h"
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

enum { SOURCES = 4, FETCHED = 300000, FETCHED_ROOM = FETCHED + 2 * GUARD };

static unsigned char fetched_in[FETCHED_ROOM];
static unsigned char fetched_out[2][FETCHED_ROOM];

// Four ranks, all in this process: which of the inputs are read as if they were elsewhere.
static bool sum_from_afar(const struct sum *sum, uint64_t far, char *to,
                          struct tern__unread *unread)
{
    static struct tern__job job;
    static char room[256 << 10];
    struct tern__group group = {.job = &job, .size = SOURCES, .members = {0, 1, 2, 3}};
    assert_true(tern__fetch_room(SOURCES) <= sizeof room);
    job.ctl = calloc(1, sizeof *job.ctl);
    assert_non_null(job.ctl);
    for (int rank = 0; rank < SOURCES; rank++) {
        job.pidfd[rank] = (int)syscall(SYS_pidfd_open, getpid(), 0);
        job.ctl->ranks[rank].pid = (uint32_t)getpid();
    }
    char *first = (char *)fetched_in;
    struct tern__binding binding = {
        .far = far,
        .room = room,
        .group = &group,
        .element_bytes = sum->element_bytes,
        .function = xor_elements,
        .function_arg = (void *)(uintptr_t)&sum->element_bytes,
        .in = {first + sum->shift, first + 7, first, first + 19},
        .out = {to},
    };
    tern_plan_range operands[SOURCES + 1] = {{0, 0, TERN_PLAN_IN},
                                             {0, 1, TERN_PLAN_IN},
                                             {0, 2, TERN_PLAN_IN},
                                             {0, 3, TERN_PLAN_IN}};
    operands[SOURCES] = (tern_plan_range){0, 0, TERN_PLAN_OUT};
    if (unread != NULL && unread->from != 0) { // there is nothing
        binding.in[3] = (const char *)(uintptr_t)unread->from;
    }
    struct tern__step step = {.kind = TERN__STEP_REDUCE,
                              .sources_count = SOURCES,
                              .destinations_count = 1,
                              .operands = operands,
                              .length = sum->length};
    struct tern__unread why;
    bool done = tern__transfer(&binding, &tern__xport_shm, &step, unread != NULL ? unread : &why);
    for (int rank = 0; rank < SOURCES; rank++) {
        close(job.pidfd[rank]);
    }
    free(job.ctl);
    return done;
}

static void sums_of_other_processes_are_the_same_bytes(void **state)
{
    const uint64_t block = tern__fetch_block(3);
    const uint64_t lengths[] = {4096, block - 12, block, block + 4096, 2 * block + 100000};
    const size_t elements[] = {1, 4, 12, TERN__REDUCE_FUNCTION_MAX};
    const uint64_t fars[] = {2, 14, 11, 15};
    assert_true(lengths[4] <= FETCHED);
    for (size_t i = 0; i < FETCHED_ROOM; i++) {
        fetched_in[i] = (unsigned char)(i * i / 3 + (i >> 7));
    }
    for (int i = 0; i < 5 * 4 * 4 * 3; i++) {
        size_t element_bytes = elements[i / 5 % 4];
        struct sum sum = {.length = lengths[i % 5] / element_bytes * element_bytes,
                          .shift = (size_t)(i / 80 * 31),
                          .element_bytes = element_bytes};
        memset(fetched_out, 0x5a, sizeof fetched_out);
        assert_true(sum_from_afar(&sum, 0, (char *)fetched_out[0], NULL));
        assert_true(sum_from_afar(&sum, fars[i / 20 % 4], (char *)fetched_out[1], NULL));
        assert_memory_equal(fetched_out[0], fetched_out[1], FETCHED_ROOM);
        assert_int_equal(fetched_out[1][sum.length], 0x5a);
        assert_int_equal(fetched_out[1][sum.length - 1],
                         fetched_in[sum.shift + sum.length - 1] ^ fetched_in[sum.length + 6] ^
                             fetched_in[sum.length - 1] ^ fetched_in[sum.length + 18]);
    }
}

static void what_cannot_be_read_is_said(void **state)
{
    struct sum sum = {.length = 4096, .element_bytes = 4};
    struct tern__unread unread = {.from = 64};
    assert_false(sum_from_afar(&sum, 8, (char *)fetched_out[0], &unread));
    assert_true(unread.rank == 3 && unread.error == EFAULT && unread.from == 64);
}

enum { LONG = 9000004 };

static void long_step(enum tern__step_kind kind, int sources, int destinations, size_t shift,
                      enum tern__written way)
{
    static char from[3][LONG + 2 * GUARD];
    static char to[3][LONG + 2 * GUARD];
    static float expected[LONG / 4];
    struct tern__binding binding = {.element_bytes = 4,
                                    .reduce = tern__reduce_find(TERN_F32, TERN_SUM)};
    tern_plan_range operands[6];
    struct tern__step step = {.kind = (uint8_t)kind,
                              .sources_count = (uint16_t)sources,
                              .destinations_count = (uint16_t)destinations,
                              .operands = operands,
                              .length = LONG};
    for (int s = 0; s < sources; s++) {
        binding.in[s] = from[s] + GUARD + 4 * s;
        operands[s] = (tern_plan_range){0, (uint16_t)s, TERN_PLAN_IN};
    }
    for (int d = 0; d < destinations; d++) {
        binding.out[d] = to[d] + GUARD + shift;
        operands[sources + d] = (tern_plan_range){0, (uint16_t)d, TERN_PLAN_OUT};
    }
    memset(to, 0x5a, sizeof to);
    for (int i = 0; i < LONG / 4; i++) {
        expected[i] = 0;
        for (int s = 0; s < sources; s++) {
            float value = (float)(i * (s + 3) % 1009);
            memcpy(from[s] + GUARD + 4 * s + 4 * (size_t)i, &value, 4);
            expected[i] += value;
        }
    }
    prefer_way(tern__copy_known, way == TERN__PAST ? TERN__COPY_PAST : TERN__COPY_WHOLE);
    prefer_way(tern__spread_known, (int)way);
    prefer_way(tern__reduce_known, (int)way);
    struct tern__unread unread;
    assert_true(tern__transfer(&binding, &tern__xport_shm, &step, &unread));
    assert_int_equal(went_way(tern__spread_known, (int)way),
                     kind == TERN__STEP_COPY && destinations > 1);
    assert_int_equal(went_way(tern__reduce_known, (int)way), kind == TERN__STEP_REDUCE);
    for (int d = 0; d < destinations; d++) {
        assert_memory_equal(binding.out[d], expected, LONG);
        for (int i = 1; i <= GUARD / 2; i++) {
            assert_int_equal(binding.out[d][-i], 0x5a);
            assert_int_equal(binding.out[d][LONG - 1 + i], 0x5a);
        }
    }
}

static void long_steps_are_the_same_bytes_by_every_way(void **state)
{
    for (int way = 0; way < TERN__WRITTEN_WAYS; way++) {
        for (size_t shift = 0; shift < 64; shift += 28) {
            long_step(TERN__STEP_COPY, 1, 1, shift, (enum tern__written)way);
            long_step(TERN__STEP_COPY, 1, 3, shift, (enum tern__written)way);
            long_step(TERN__STEP_REDUCE, 2, 2, shift, (enum tern__written)way);
            long_step(TERN__STEP_REDUCE, 3, 1, shift, (enum tern__written)way);
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
        cmocka_unit_test(sums_of_other_processes_are_the_same_bytes),
        cmocka_unit_test(what_cannot_be_read_is_said),
        cmocka_unit_test(long_steps_are_the_same_bytes_by_every_way),
        cmocka_unit_test(long_and_short_ways_take_turns),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
