// SPDX-License-Identifier: Apache-2.0
// Transfers: exact bytes, whatever the size and alignment, with guards around them; blocks with
// strides; arguments that are refused without a byte being moved; and all ranks to all ranks.
#include "support/cmocka.h"
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "support/machines.h"
#include "support/ranks.h"
#include "tern/put.h"

static tern_comm *comm; // of one rank
static tern_window *window;
static unsigned char *base;
static size_t window_bytes;

static unsigned char pattern(size_t i)
{
    return (unsigned char)(i * 167 + i / 251 + 13);
}

static int open_window(void **state)
{
    bool open = tern_init(NULL, &comm) == TERN_OK &&
                tern_window_create(comm, 8192, NULL, &window) == TERN_OK;
    base = open ? tern_window_address(window, 0) : NULL;
    window_bytes = open ? tern_window_size(window) : 0;
    return open ? 0 : -1;
}

static int close_window(void **state)
{
    return tern_window_destroy(window) == TERN_OK && tern_comm_destroy(comm) == TERN_OK ? 0 : -1;
}

static void check_window(size_t offset, size_t size, size_t source)
{
    for (size_t i = 0; i < window_bytes; i++) {
        bool inside = i >= offset && i - offset < size;
        assert_int_equal(base[i], inside ? pattern(i - offset + source) : 0x5a);
    }
}

static const size_t sizes[] = {0, 1, 2, 3, 7, 8, 9, 31, 63, 64, 65, 1000, 4095, 4096, 4097};
enum { SIZES = sizeof sizes / sizeof sizes[0] };

static void a_put_stores_exactly_its_bytes(void **state)
{
    unsigned char local[4200];
    for (size_t i = 0; i < sizeof local; i++) {
        local[i] = pattern(i);
    }
    for (size_t i = 0; i < SIZES; i++) {
        for (size_t shift = 0; shift < 3; shift++) {
            memset(base, 0x5a, window_bytes);
            assert_int_equal(tern_put(window, 0, 61 + shift, local + 5 - shift, sizes[i]), TERN_OK);
            check_window(61 + shift, sizes[i], 5 - shift);
        }
    }
}

static void a_get_reads_exactly_its_bytes(void **state)
{
    for (size_t i = 0; i < window_bytes; i++) {
        base[i] = pattern(i);
    }
    for (size_t i = 0; i < SIZES; i++) {
        unsigned char local[4300];
        memset(local, 0x5a, sizeof local);
        assert_int_equal(tern_get(window, 0, 77, local + 3, sizes[i]), TERN_OK);
        for (size_t at = 0; at < sizeof local; at++) {
            bool inside = at >= 3 && at - 3 < sizes[i];
            assert_int_equal(local[at], inside ? pattern(at - 3 + 77) : 0x5a);
        }
    }
}

static void the_whole_window_and_its_end_can_be_reached(void **state)
{
    unsigned char *all = malloc(window_bytes);
    assert_non_null(all);
    for (size_t i = 0; i < window_bytes; i++) {
        all[i] = pattern(i);
    }
    assert_int_equal(tern_put(window, 0, 0, all, window_bytes), TERN_OK);
    assert_memory_equal(base, all, window_bytes);
    assert_int_equal(tern_put(window, 0, window_bytes - 1, "x", 1), TERN_OK);
    assert_int_equal(base[window_bytes - 1], 'x');
    assert_int_equal(tern_put(window, 0, window_bytes, "x", 0), TERN_OK);
    free(all);
}

static void zero_bytes_need_no_memory(void **state)
{
    const tern_block no_rows = {0, 8, 8, 8};
    const tern_block empty_rows = {SIZE_MAX, 0, SIZE_MAX, SIZE_MAX};
    memset(base, 0x5a, window_bytes);
    assert_int_equal(tern_put(window, 0, 8, NULL, 0), TERN_OK);
    assert_int_equal(tern_get(window, 0, 8, NULL, 0), TERN_OK);
    assert_int_equal(tern_put_block(window, 0, 8, NULL, &no_rows), TERN_OK);
    assert_int_equal(tern_get_block(window, 0, 8, NULL, &no_rows), TERN_OK);
    assert_int_equal(tern_put_block(window, 0, 8, NULL, &empty_rows), TERN_OK);
    assert_int_equal(tern_get_block(window, 0, 8, NULL, &empty_rows), TERN_OK);
    assert_int_equal(tern_put_add(window, 0, 8, NULL, 0, TERN_F32), TERN_OK);
    check_window(0, 0, 0);
}

static void blocks_keep_to_their_rows(void **state)
{
    static const tern_block blocks[] = {{1, 100, 0, 0}, {1, 100, 3, 5}, {5, 7, 16, 9},
                                        {5, 7, 9, 16},  {9, 8, 8, 8},   {3, 1, 1000, 2},
                                        {64, 3, 5, 4}};
    for (size_t b = 0; b < sizeof blocks / sizeof blocks[0]; b++) {
        const tern_block *block = &blocks[b];
        unsigned char local[600];
        unsigned char back[600];
        unsigned char want[600];
        memset(base, 0x5a, window_bytes);
        memset(back, 0x5a, sizeof back);
        memset(want, 0x5a, sizeof want);
        for (size_t i = 0; i < sizeof local; i++) {
            local[i] = pattern(i);
        }
        assert_int_equal(tern_put_block(window, 0, 129, local + 1, block), TERN_OK);
        for (size_t row = 0; row < block->rows; row++) {
            size_t at = row * block->local_stride_bytes;
            memcpy(want + 2 + at, local + 1 + at, block->row_bytes);
            unsigned char *there = base + 129 + row * block->window_stride_bytes;
            assert_memory_equal(there, local + 1 + at, block->row_bytes);
        }
        assert_int_equal(tern_get_block(window, 0, 129, back + 2, block), TERN_OK);
        assert_memory_equal(back, want, sizeof back);
        for (size_t row = 0; row < block->rows; row++) {
            memset(base + 129 + row * block->window_stride_bytes, 0x5a, block->row_bytes);
        }
        check_window(0, 0, 0); // nothing but the rows was written
    }
}

static void a_last_row_may_end_with_the_window(void **state)
{
    const tern_block block = {3, 16, 1024, 16};
    char local[48] = {0};
    size_t last = window_bytes - 2 * 1024 - 16;
    assert_int_equal(tern_put_block(window, 0, last, local, &block), TERN_OK);
    assert_int_equal(tern_put_block(window, 0, last + 1, local, &block), TERN_ERR_ARG);
    assert_int_equal(tern_get_block(window, 0, last, local, &block), TERN_OK);
    assert_int_equal(tern_get_block(window, 0, last + 1, local, &block), TERN_ERR_ARG);
}

static void ranges_that_stick_out_are_refused(void **state)
{
    const struct {
        size_t offset;
        size_t size;
    } bad[] = {{window_bytes, 1},     {window_bytes + 1, 0}, {0, window_bytes + 1}, {SIZE_MAX, 1},
               {SIZE_MAX, SIZE_MAX},  {1, SIZE_MAX},         {0, SIZE_MAX},         {SIZE_MAX, 0},
               {window_bytes - 1, 2}, {8, SIZE_MAX - 7},     {8, SIZE_MAX - 15}};
    char local[16] = "unchanged";
    memset(base, 0x5a, window_bytes);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        assert_int_equal(tern_put(window, 0, bad[i].offset, local, bad[i].size), TERN_ERR_ARG);
        assert_non_null(strstr(tern_last_error(), "tern_put: "));
        assert_int_equal(tern_get(window, 0, bad[i].offset, local, bad[i].size), TERN_ERR_ARG);
        assert_non_null(strstr(tern_last_error(), "tern_get: "));
    }
    assert_string_equal(local, "unchanged");
    check_window(0, 0, 0);
}

static void blocks_that_overflow_or_overlap_are_refused(void **state)
{
    static const tern_block bad[] = {
        {2, 8, 7, 8},        // rows overlap in the window
        {2, 8, 8, 7},        // rows overlap in memory
        {2, 8, 0, 0},        //
        {SIZE_MAX, 1, 1, 1}, // more rows than fit
        {SIZE_MAX, SIZE_MAX, SIZE_MAX, SIZE_MAX},
        {2, 8, SIZE_MAX, 8},            // the span overflows in the window
        {2, 8, SIZE_MAX - 7, 8},        // and wraps to zero
        {3, 8, (SIZE_MAX >> 1) + 1, 8}, // and its product wraps to zero
        {2, 8, 8, SIZE_MAX},            // the span overflows in memory
        {2, 8, 8, SIZE_MAX - 7},        //
        {3, 8, 8, (SIZE_MAX >> 1) + 1}, //
        {1, SIZE_MAX, 0, 0},
    };
    char local[64] = "unchanged";
    memset(base, 0x5a, window_bytes);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        assert_int_equal(tern_put_block(window, 0, 8, local, &bad[i]), TERN_ERR_ARG);
        assert_non_null(strstr(tern_last_error(), "tern_put_block: "));
        assert_int_equal(tern_get_block(window, 0, 8, local, &bad[i]), TERN_ERR_ARG);
        assert_non_null(strstr(tern_last_error(), "tern_get_block: "));
    }
    assert_string_equal(local, "unchanged");
    check_window(0, 0, 0);
}

static void wrong_pointers_and_ranks_are_refused(void **state)
{
    static const int ranks[] = {-1, 1, INT_MAX, INT_MIN};
    const tern_block block = {2, 2, 2, 2};
    char local[4] = {0};
    assert_int_equal(tern_put(NULL, 0, 0, local, 4), TERN_ERR_ARG);
    assert_int_equal(tern_get(NULL, 0, 0, local, 4), TERN_ERR_ARG);
    assert_int_equal(tern_put(window, 0, 0, NULL, 4), TERN_ERR_ARG);
    assert_int_equal(tern_get(window, 0, 0, NULL, 4), TERN_ERR_ARG);
    assert_int_equal(tern_put_block(NULL, 0, 0, local, &block), TERN_ERR_ARG);
    assert_int_equal(tern_get_block(NULL, 0, 0, local, &block), TERN_ERR_ARG);
    assert_int_equal(tern_put_block(window, 0, 0, NULL, &block), TERN_ERR_ARG);
    assert_int_equal(tern_get_block(window, 0, 0, NULL, &block), TERN_ERR_ARG);
    assert_int_equal(tern_put_block(window, 0, 0, local, NULL), TERN_ERR_ARG);
    assert_int_equal(tern_get_block(window, 0, 0, local, NULL), TERN_ERR_ARG);
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(tern_put(window, ranks[i], 0, local, 4), TERN_ERR_ARG);
        assert_int_equal(tern_get(window, ranks[i], 0, local, 4), TERN_ERR_ARG);
        assert_int_equal(tern_put_block(window, ranks[i], 0, local, &block), TERN_ERR_ARG);
        assert_int_equal(tern_get_block(window, ranks[i], 0, local, &block), TERN_ERR_ARG);
    }
    assert_int_equal(tern_comm_health(comm), TERN_OK);
}

// Every rank writes an odd number of bytes to every rank, gets them back, and all is as it was
// sent.
static int all_to_all(tern_comm *ranks, void *arg)
{
    enum { PART = 77 };
    tern_window *shared;
    int rank = tern_comm_rank(ranks);
    size_t size = (size_t)tern_comm_size(ranks);
    unsigned char local[PART];
    CHECK(tern_window_create(ranks, size * PART + 1, NULL, &shared) == TERN_OK);
    for (size_t peer = 0; peer < size; peer++) {
        for (size_t i = 0; i < PART; i++) {
            local[i] = pattern(i + (size_t)rank * 1000 + peer * 100000);
        }
        CHECK(tern_put(shared, (int)peer, 1 + (size_t)rank * PART, local, PART) == TERN_OK);
    }
    CHECK(tern_comm_barrier(ranks) == TERN_OK);
    for (size_t peer = 0; peer < size; peer++) {
        const unsigned char *mine = (unsigned char *)tern_window_address(shared, rank) + 1;
        CHECK(tern_get(shared, (int)peer, 1 + (size_t)rank * PART, local, PART) == TERN_OK);
        for (size_t i = 0; i < PART; i++) {
            CHECK(mine[peer * PART + i] == pattern(i + peer * 1000 + (size_t)rank * 100000));
            CHECK(local[i] == pattern(i + (size_t)rank * 1000 + peer * 100000));
        }
    }
    CHECK(*(unsigned char *)tern_window_address(shared, rank) == 0); // the guard in front
    CHECK(tern_put(shared, (int)size, 0, local, 1) == TERN_ERR_ARG);
    CHECK(tern_window_destroy(shared) == TERN_OK);
    return 0;
}

static void all_ranks_reach_all_ranks(void **state)
{
    assert_true(ranks_run_counts(1, 16, all_to_all, NULL, 60));
    assert_true(machines_run_comm("aabba", all_to_all, NULL, 60));
}

#define WITH_WINDOW(test) cmocka_unit_test_setup_teardown(test, open_window, close_window)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_WINDOW(a_put_stores_exactly_its_bytes),
        WITH_WINDOW(a_get_reads_exactly_its_bytes),
        WITH_WINDOW(the_whole_window_and_its_end_can_be_reached),
        WITH_WINDOW(zero_bytes_need_no_memory),
        WITH_WINDOW(blocks_keep_to_their_rows),
        WITH_WINDOW(a_last_row_may_end_with_the_window),
        WITH_WINDOW(ranges_that_stick_out_are_refused),
        WITH_WINDOW(blocks_that_overflow_or_overlap_are_refused),
        WITH_WINDOW(wrong_pointers_and_ranks_are_refused),
        cmocka_unit_test(all_ranks_reach_all_ranks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
