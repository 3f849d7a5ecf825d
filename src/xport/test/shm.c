// SPDX-License-Identifier: Apache-2.0
// The table of transports, and shared memory as one of them, on plain memory of this process: exact
// bytes with guards around them, and additions of every element type by many threads at once.
#include "support/cmocka.h"
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/half.h"
#include "xport/xport.h"

static const struct tern__xport *const shm = &tern__xport_shm;

static void a_transport_is_found_by_its_name(void **state)
{
    assert_ptr_equal(tern__xport_find("shm"), shm);
    assert_null(tern__xport_find(""));
    assert_null(tern__xport_find("shm "));
    assert_null(tern__xport_find("sh"));
    assert_null(tern__xport_find("SHM"));
}

static void every_slot_is_filled(void **state)
{
    assert_string_equal(shm->name, "shm");
    assert_non_null(shm->put);
    assert_non_null(shm->get);
    assert_non_null(shm->put_block);
    assert_non_null(shm->get_block);
    assert_non_null(shm->put_add);
    assert_non_null(shm->notify);
}

enum { ROOM = 512, GUARD = 64 };

static unsigned char pattern(size_t i)
{
    return (unsigned char)(i * 37 + 11);
}

static void put_and_get_move_exactly_their_bytes(void **state)
{
    char remote[ROOM];
    char local[ROOM];
    char back[ROOM];
    for (size_t i = 0; i < ROOM; i++) {
        local[i] = (char)pattern(i);
    }
    for (size_t size = 0; size <= 130; size++) {
        for (size_t shift = 0; shift < 9; shift++) {
            memset(remote, 0x5a, ROOM);
            memset(back, 0x5a, ROOM);
            shm->put(remote + GUARD + shift, local + 3, size);
            shm->get(remote + GUARD + shift, back + GUARD, size);
            for (size_t i = 0; i < ROOM; i++) {
                size_t at = i - GUARD - shift;
                assert_int_equal((unsigned char)remote[i], at < size ? pattern(at + 3) : 0x5a);
                at = i - GUARD;
                assert_int_equal((unsigned char)back[i], at < size ? pattern(at + 3) : 0x5a);
            }
        }
    }
}

static void blocks_move_their_rows_and_leave_what_lies_between(void **state)
{
    static const tern_block blocks[] = {
        {1, 10, 0, 0}, {3, 5, 16, 5}, {3, 5, 5, 16}, {7, 1, 2, 3}, {4, 16, 16, 16}, {0, 9, 9, 9},
    };
    for (size_t b = 0; b < sizeof blocks / sizeof blocks[0]; b++) {
        const tern_block *block = &blocks[b];
        char local[ROOM];
        char remote[ROOM];
        char back[ROOM];
        char want_remote[ROOM];
        char want_back[ROOM];
        memset(remote, 0x5a, ROOM);
        memset(back, 0x5a, ROOM);
        memset(want_remote, 0x5a, ROOM);
        memset(want_back, 0x5a, ROOM);
        for (size_t i = 0; i < ROOM; i++) {
            local[i] = (char)pattern(i);
        }
        for (size_t row = 0; row < block->rows; row++) {
            for (size_t i = 0; i < block->row_bytes; i++) {
                size_t at = row * block->local_stride_bytes + i;
                want_remote[GUARD + row * block->window_stride_bytes + i] = local[at];
                want_back[GUARD + at] = local[at];
            }
        }
        shm->put_block(remote + GUARD, local, block);
        shm->get_block(remote + GUARD, back + GUARD, block);
        assert_memory_equal(remote, want_remote, ROOM);
        assert_memory_equal(back, want_back, ROOM);
    }
}

// One element of a type with a small whole value, as its bits.
static uint64_t element(tern_dtype dtype, int value)
{
    float f32 = (float)value;
    double f64 = value;
    uint64_t bits = (uint64_t)(int64_t)value;
    if (dtype == TERN_F32) {
        bits = tern__f32_to_bits(f32);
    } else if (dtype == TERN_F64) {
        memcpy(&bits, &f64, sizeof bits);
    } else if (dtype == TERN_F16) {
        bits = tern__f32_to_f16(f32);
    } else if (dtype == TERN_BF16) {
        bits = tern__f32_to_bf16(f32);
    }
    size_t size = tern_dtype_size(dtype);
    return size == 8 ? bits : bits & ((UINT64_C(1) << (8 * size)) - 1);
}

enum { ELEMENTS = 13, THREADS = 4, TIMES = 1500 };

struct adder {
    pthread_t thread;
    pthread_barrier_t *start;
    char *remote;
    tern_dtype dtype;
};

static void add_all(const struct adder *adder, int sign)
{
    char local[ELEMENTS * 8 + 1];
    size_t size = tern_dtype_size(adder->dtype);
    for (size_t i = 0; i < ELEMENTS; i++) {
        uint64_t bits = element(adder->dtype, sign * (int)(i % 3 + 1));
        memcpy(local + 1 + i * size, &bits, size); // unaligned on purpose
    }
    shm->put_add(adder->remote + GUARD, local + 1, ELEMENTS, adder->dtype);
}

// Adds and takes away, so that every intermediate sum is small and exact in every type; adds once
// more in the end.
static void *add_many_times(void *arg)
{
    const struct adder *adder = arg;
    pthread_barrier_wait(adder->start);
    for (int i = 0; i < TIMES; i++) {
        add_all(adder, 1);
        add_all(adder, -1);
    }
    add_all(adder, 1);
    return NULL;
}

static void additions_of_many_threads_lose_nothing(void **state)
{
    for (tern_dtype dtype = TERN_F32; dtype <= TERN_U64; dtype++) {
        _Alignas(64) char remote[2 * GUARD + ELEMENTS * 8];
        struct adder adders[THREADS];
        pthread_barrier_t start;
        size_t size = tern_dtype_size(dtype);
        memset(remote, 0, sizeof remote);
        pthread_barrier_init(&start, NULL, THREADS);
        for (int i = 0; i < THREADS; i++) {
            adders[i] = (struct adder){.start = &start, .remote = remote, .dtype = dtype};
            assert_int_equal(pthread_create(&adders[i].thread, NULL, add_many_times, &adders[i]),
                             0);
        }
        for (int i = 0; i < THREADS; i++) {
            pthread_join(adders[i].thread, NULL);
        }
        pthread_barrier_destroy(&start);
        char want[sizeof remote] = {0};
        for (size_t i = 0; i < ELEMENTS; i++) {
            uint64_t bits = element(dtype, THREADS * (int)(i % 3 + 1));
            memcpy(want + GUARD + i * size, &bits, size);
        }
        assert_memory_equal(remote, want, sizeof remote);
    }
}

static void one_addition_rounds_once_to_nearest_even(void **state)
{
    static const struct {
        tern_dtype dtype;
        uint16_t a;
        uint16_t b;
        uint16_t sum;
    } sums[] = {
        {TERN_F16, 0x6800, 0x3c00, 0x6800},  // 2048 + 1: a tie, to even
        {TERN_F16, 0x6800, 0x4200, 0x6802},  // 2048 + 3: a tie, to even
        {TERN_F16, 0x7bff, 0x7bff, 0x7c00},  // overflows to infinity
        {TERN_F16, 0x0001, 0x0001, 0x0002},  // subnormals are kept
        {TERN_F16, 0x3c00, 0xbc00, 0x0000},  // 1 - 1 = +0
        {TERN_BF16, 0x4380, 0x3f80, 0x4380}, // 256 + 1: a tie, to even
        {TERN_BF16, 0x4380, 0x4040, 0x4382}, // 256 + 3: a tie, to even
        {TERN_BF16, 0x7f7f, 0x7f7f, 0x7f80}, {TERN_BF16, 0x0001, 0x0001, 0x0002},
    };
    for (size_t i = 0; i < sizeof sums / sizeof sums[0]; i++) {
        _Alignas(8) uint16_t word = sums[i].a;
        shm->put_add((char *)&word, (const char *)&sums[i].b, 1, sums[i].dtype);
        assert_int_equal(word, sums[i].sum);
    }
}

static void integers_wrap_around(void **state)
{
    for (tern_dtype dtype = TERN_I8; dtype <= TERN_U64; dtype++) {
        _Alignas(8) uint64_t words[2] = {0, UINT64_C(0x5a5a5a5a5a5a5a5a)};
        size_t size = tern_dtype_size(dtype);
        uint64_t minus_one = UINT64_MAX;
        uint64_t two = 2;
        shm->put_add((char *)words, (const char *)&minus_one, 1, dtype); // the largest unsigned
        shm->put_add((char *)words, (const char *)&two, 1, dtype);
        assert_true(words[0] == 1);                        // nothing is carried into the neighbour
        uint64_t most = UINT64_MAX >> (64 - 8 * size + 1); // the largest signed
        words[0] = most;
        uint64_t one = 1;
        shm->put_add((char *)words, (const char *)&one, 1, dtype);
        assert_true(words[0] == most + 1); // the lowest signed, as bits
        assert_true(words[1] == UINT64_C(0x5a5a5a5a5a5a5a5a));
    }
}

static void adding_zero_elements_does_nothing(void **state)
{
    for (tern_dtype dtype = TERN_F32; dtype <= TERN_U64; dtype++) {
        _Alignas(8) uint64_t word = 77;
        shm->put_add((char *)&word, NULL, 0, dtype);
        assert_true(word == 77);
    }
}

static void notify_adds_with_wrap_and_sets(void **state)
{
    _Alignas(8) int32_t words[3] = {1, INT32_MAX, 2};
    shm->notify((char *)&words[1], 1, TERN_NOTIFY_ADD);
    assert_int_equal(words[1], INT32_MIN);
    shm->notify((char *)&words[1], -1, TERN_NOTIFY_ADD);
    assert_int_equal(words[1], INT32_MAX);
    shm->notify((char *)&words[1], -5, TERN_NOTIFY_SET);
    assert_int_equal(words[1], -5);
    shm->notify((char *)&words[1], INT32_MIN, TERN_NOTIFY_ADD);
    assert_int_equal(words[1], INT32_MAX - 4);
    assert_int_equal(words[0], 1);
    assert_int_equal(words[2], 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_transport_is_found_by_its_name),
        cmocka_unit_test(every_slot_is_filled),
        cmocka_unit_test(put_and_get_move_exactly_their_bytes),
        cmocka_unit_test(blocks_move_their_rows_and_leave_what_lies_between),
        cmocka_unit_test(additions_of_many_threads_lose_nothing),
        cmocka_unit_test(one_addition_rounds_once_to_nearest_even),
        cmocka_unit_test(integers_wrap_around),
        cmocka_unit_test(adding_zero_elements_does_nothing),
        cmocka_unit_test(notify_adds_with_wrap_and_sets),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
