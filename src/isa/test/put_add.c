// SPDX-License-Identifier: Apache-2.0
// Adding into windows: all ranks into one target at once give the exact sum, for every element
// type; sources may be unaligned, targets may not; what is refused changes nothing.
#include "support/cmocka.h"
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "base/half.h"
#include "support/machines.h"
#include "support/ranks.h"
#include "tern/put.h"

enum { GUARD = 64, ELEMENTS = 29, DTYPES = TERN_U64 + 1, TIMES = 40, TIMES_BF16 = 5 };

static bool is_float(tern_dtype dtype)
{
    return dtype == TERN_F32 || dtype == TERN_F64 || dtype == TERN_F16 || dtype == TERN_BF16;
}

// A float type's bits of `whole` / 4: exact in all of them while |whole| is below 2^8 (bf16), 2^11.
static uint64_t float_bits(tern_dtype dtype, int64_t whole)
{
    double value = (double)whole / 4;
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    switch (dtype) {
    case TERN_F32:
        return tern__f32_to_bits((float)value);
    case TERN_F16:
        return tern__f32_to_f16((float)value);
    case TERN_BF16:
        return tern__f32_to_bf16((float)value);
    default:
        return bits;
    }
}

// What rank `rank` adds to element i. Floats: small whole numbers, in quarters, never negative, so
// that no intermediate sum is larger than the last. Integers: any bits, so that sums wrap around.
static uint64_t addend(tern_dtype dtype, int rank, size_t i)
{
    if (is_float(dtype)) {
        return ((uint64_t)rank + i) % 4;
    }
    return ((uint64_t)rank + 1) * (i + 3) * UINT64_C(0x9e3779b97f4a7c15);
}

static int times_of(tern_dtype dtype)
{
    return dtype == TERN_BF16 ? TIMES_BF16 : TIMES;
}

static uint64_t expected(tern_dtype dtype, int ranks, size_t i)
{
    uint64_t sum = 0;
    for (int rank = 0; rank < ranks; rank++) {
        sum += addend(dtype, rank, i) * (uint64_t)times_of(dtype);
    }
    return is_float(dtype) ? float_bits(dtype, (int64_t)sum) : sum;
}

static size_t offset_of(tern_dtype dtype)
{
    return GUARD + (size_t)dtype * (GUARD + ELEMENTS * 8) + tern_dtype_size(dtype);
}

static size_t total_bytes(void)
{
    return offset_of((tern_dtype)DTYPES) + GUARD;
}

static int add_of(tern_window *window, tern_dtype dtype, int target)
{
    int rank = (int)tern_window_context(window)->rankId;
    size_t size = tern_dtype_size(dtype);
    unsigned char local[ELEMENTS * 8 + 1];
    for (size_t i = 0; i < ELEMENTS; i++) {
        uint64_t bits = addend(dtype, rank, i);
        bits = is_float(dtype) ? float_bits(dtype, (int64_t)bits) : bits;
        memcpy(local + 1 + i * size, &bits, size); // unaligned
    }
    for (int i = 0; i < times_of(dtype); i++) {
        CHECK(tern_put_add(window, target, offset_of(dtype), local + 1, ELEMENTS, dtype) ==
              TERN_OK);
    }
    return 0;
}

// All dtypes, all ranks, into one target; then every byte of it is what it must be.
static int add_into_one(tern_comm *comm, void *arg)
{
    tern_window *window;
    int rank = tern_comm_rank(comm);
    int size = tern_comm_size(comm);
    CHECK(tern_window_create(comm, total_bytes(), NULL, &window) == TERN_OK);
    for (int target = 0; target<size; target += size> 1 ? size - 1 : 1) { // the first, the last
        for (tern_dtype dtype = TERN_F32; dtype <= TERN_U64; dtype++) {
            CHECK(tern_comm_barrier(comm) == TERN_OK); // all start together
            CHECK(add_of(window, dtype, target) == 0);
        }
    }
    CHECK(tern_comm_barrier(comm) == TERN_OK);
    bool hit = rank == 0 || rank == size - 1;
    unsigned char want[16384] = {0};
    CHECK(total_bytes() <= sizeof want);
    for (tern_dtype dtype = TERN_F32; hit && dtype <= TERN_U64; dtype++) {
        for (size_t i = 0; i < ELEMENTS; i++) {
            uint64_t bits = expected(dtype, size, i);
            memcpy(want + offset_of(dtype) + i * tern_dtype_size(dtype), &bits,
                   tern_dtype_size(dtype));
        }
    }
    CHECK(memcmp(tern_window_address(window, rank), want, total_bytes()) == 0);
    CHECK(tern_window_destroy(window) == TERN_OK);
    return 0;
}

static void all_ranks_adding_into_one_target_give_the_exact_sum(void **state)
{
    assert_true(ranks_run_counts(1, 16, add_into_one, NULL, 60));
    assert_true(machines_run_comm("abcab", add_into_one, NULL, 60));
}

static int rise_and_fall(tern_comm *comm, void *arg)
{
    tern_window *window;
    int rank = tern_comm_rank(comm);
    int size = tern_comm_size(comm);
    CHECK(tern_window_create(comm, 4096, NULL, &window) == TERN_OK);
    // Every second rank takes away what the others add; an odd one out adds nothing.
    int sign = rank % 2 == 0 ? (rank + 1 < size) : -1;
    float f32 = (float)sign;
    double f64 = sign;
    int32_t i32 = sign;
    for (int i = 0; i < 1000; i++) {
        int target = i % size;
        CHECK(tern_put_add(window, target, 0, &f32, 1, TERN_F32) == TERN_OK);
        CHECK(tern_put_add(window, target, 8, &f64, 1, TERN_F64) == TERN_OK);
        CHECK(tern_put_add(window, target, 16, &i32, 1, TERN_I32) == TERN_OK);
        CHECK(tern_put_add(window, target, 24, &i32, 1, TERN_U32) == TERN_OK);
    }
    CHECK(tern_comm_barrier(comm) == TERN_OK);
    const char *mine = tern_window_address(window, rank);
    CHECK(*(const float *)(const void *)mine == 0.0f);
    CHECK(*(const double *)(const void *)(mine + 8) == 0.0);
    CHECK(*(const int32_t *)(const void *)(mine + 16) == 0);
    CHECK(*(const uint32_t *)(const void *)(mine + 24) == 0);
    CHECK(tern_window_destroy(window) == TERN_OK);
    return 0;
}

static void what_is_added_and_taken_away_leaves_zero(void **state)
{
    assert_true(ranks_run_counts(1, 16, rise_and_fall, NULL, 60));
    assert_true(machines_run_comm("aab", rise_and_fall, NULL, 60));
}

static tern_comm *alone;
static tern_window *own;

static int open_window(void **state)
{
    bool open = tern_init(NULL, &alone) == TERN_OK &&
                tern_window_create(alone, 4096, NULL, &own) == TERN_OK;
    return open ? 0 : -1;
}

static int close_window(void **state)
{
    return tern_window_destroy(own) == TERN_OK && tern_comm_destroy(alone) == TERN_OK ? 0 : -1;
}

static void a_target_must_be_aligned_to_its_element(void **state)
{
    for (tern_dtype dtype = TERN_F32; dtype <= TERN_U64; dtype++) {
        size_t size = tern_dtype_size(dtype);
        uint64_t zero = 0;
        for (size_t offset = 0; offset <= 16; offset++) {
            int want = offset % size == 0 ? TERN_OK : TERN_ERR_ARG;
            assert_int_equal(tern_put_add(own, 0, offset, &zero, 1, dtype), want);
            if (want != TERN_OK) {
                assert_non_null(strstr(tern_last_error(), tern_dtype_name(dtype)));
            }
        }
    }
}

static void counts_that_stick_out_are_refused(void **state)
{
    uint64_t ones[2] = {UINT64_MAX, UINT64_MAX};
    size_t room = tern_window_size(own);
    for (tern_dtype dtype = TERN_F32; dtype <= TERN_U64; dtype++) {
        size_t size = tern_dtype_size(dtype);
        const struct {
            size_t offset;
            size_t count;
        } bad[] = {{room, 1},
                   {room - size, 2},
                   {0, room / size + 1},
                   {0, SIZE_MAX},
                   {8, SIZE_MAX / size},
                   {0, SIZE_MAX / size + (size > 1)},
                   {SIZE_MAX - size + 1, 1}};
        for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
            assert_int_equal(tern_put_add(own, 0, bad[i].offset, ones, bad[i].count, dtype),
                             TERN_ERR_ARG);
            assert_non_null(strstr(tern_last_error(), "tern_put_add: "));
        }
        assert_int_equal(tern_put_add(own, 0, room, ones, 0, dtype), TERN_OK);
    }
    const unsigned char *bytes = tern_window_address(own, 0);
    for (size_t i = 0; i < room; i++) {
        assert_int_equal(bytes[i], 0);
    }
}

static void what_is_no_dtype_rank_window_or_source_is_refused(void **state)
{
    static const int ranks[] = {-1, 1, INT_MAX, INT_MIN};
    int32_t one = 1;
    assert_int_equal(tern_put_add(own, 0, 0, &one, 1, (tern_dtype)-1), TERN_ERR_ARG);
    assert_int_equal(tern_put_add(own, 0, 0, &one, 1, (tern_dtype)17), TERN_ERR_ARG);
    assert_non_null(strstr(tern_last_error(), "17, the dtype of local, is none"));
    assert_int_equal(tern_put_add(own, 0, 0, &one, 1, TERN_BOOL), TERN_ERR_ARG);
    assert_non_null(strstr(tern_last_error(), "bool"));
    assert_int_equal(tern_put_add(own, 0, 0, &one, 0, (tern_dtype)DTYPES), TERN_ERR_ARG);
    assert_int_equal(tern_put_add(own, 0, 0, NULL, 1, TERN_I32), TERN_ERR_ARG);
    assert_int_equal(tern_put_add(NULL, 0, 0, &one, 1, TERN_I32), TERN_ERR_ARG);
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(tern_put_add(own, ranks[i], 0, &one, 1, TERN_I32), TERN_ERR_ARG);
    }
    assert_int_equal(*(int32_t *)tern_window_address(own, 0), 0);
}

#define WITH_WINDOW(test) cmocka_unit_test_setup_teardown(test, open_window, close_window)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_ranks_adding_into_one_target_give_the_exact_sum),
        cmocka_unit_test(what_is_added_and_taken_away_leaves_zero),
        WITH_WINDOW(a_target_must_be_aligned_to_its_element),
        WITH_WINDOW(counts_that_stick_out_are_refused),
        WITH_WINDOW(what_is_no_dtype_rank_window_or_source_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
