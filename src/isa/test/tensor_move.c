// SPDX-License-Identifier: Apache-2.0
// Put and get of every shape, between ranks in a ring: whole, nothing else touched, whatever the
// strides; tiles afterwards; atomic additions; rows whose first element says that they are there.
#include "isa/test/tensor_cases.h"
#include "support/sanitized.h"

#include <stdatomic.h>

static int move_ring(struct case_bench *b, const struct tensor_case *c, bool puts, int64_t in_gap,
                     int64_t out_gap)
{
    int next = (b->rank + 1) % b->n;
    int before = (b->rank + b->n - 1) % b->n;
    tern_tensor in = case_tensor(case_area(b, b->rank, CASE_IN), c->dtype, c->shape, in_gap);
    tern_tensor out = case_tensor(case_area(b, b->rank, CASE_OUT), c->dtype, c->shape, out_gap);
    tern_tile ping = case_tile(b, c, 0);
    tern_tile pong = case_tile(b, c, 1);
    tern_tile *second = c->two_tiles ? &pong : NULL;
    case_begin(b, (size_t)case_count(c->shape) * tern_dtype_size(c->dtype));
    memset(case_area(b, b->rank, CASE_IN), 0, b->area);
    memset(case_area(b, b->rank, CASE_OUT), POISON, b->area);
    case_fill(&in, 10000 * b->rank);
    CHECK(tern_comm_barrier(b->comm) == TERN_OK);
    if (puts) { // the extent of `to` does not count
        tern_tensor to = case_tensor(case_area(b, before, CASE_OUT), c->dtype, c->shape, out_gap);
        memset(to.shape, 0, sizeof to.shape);
        CHECK(tern_tensor_put(&to, &in, &ping, second, TERN_ATOMIC_NONE) == TERN_OK);
    } else {
        tern_tensor from = case_tensor(case_area(b, next, CASE_IN), c->dtype, c->shape, in_gap);
        tern_tensor to = out;
        memset(to.shape, 0x3f, sizeof to.shape);
        CHECK(tern_tensor_get(&to, &from, &ping, second) == TERN_OK);
    }
    CHECK(tern_comm_barrier(b->comm) == TERN_OK);
    return case_compare(b, &out, 10000 * (int64_t)next);
}

static int move_all(tern_comm *comm, void *arg)
{
    struct case_bench b;
    CHECK(case_open(comm, &b) == 0);
    for (int i = 0; i < TENSOR_CASES; i++) {
        for (int64_t gaps = 0; gaps < 4; gaps++) {
            bool large = case_count(tensor_cases[i].shape) > 30000;
            if (!large || gaps == 0) {
                CHECK(move_ring(&b, &tensor_cases[i], true, gaps & 1, gaps & 2) == 0);
                CHECK(move_ring(&b, &tensor_cases[i], false, gaps & 1, gaps & 2) == 0);
            }
        }
    }
    return case_close(&b);
}

static void every_shape_arrives(void **state)
{
    const int counts[] = {1, 2, 3, 4, 8};
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        assert_true(ranks_run_comm(counts[i], move_all, NULL, 120));
    }
    assert_true(machines_run_comm("ab", move_all, NULL, 120));
    assert_true(machines_run_comm("aab", move_all, NULL, 120));
}

// Columns: the elements of a row are not one after the other.
static void elements_may_be_apart(void **state)
{
    int32_t in[6 * 7];
    int32_t out[4 * 9 * 2];
    int32_t memory[12];
    tern_tile tile = tern_tile_2d(memory, TERN_I32, 3, 4);
    tern_tensor from = {in, TERN_I32, {1, 1, 1, 3, 4}, {0, 0, 0, 1, 7}}; // columns of 7 x 6
    tern_tensor to = {out, TERN_I32, {1, 1, 1, 3, 4}, {0, 0, 0, 9, 2}};
    for (int i = 0; i < 6 * 7; i++) {
        in[i] = i;
    }
    for (int add = 0; add < 2; add++) {
        memset(out, 0, sizeof out);
        assert_int_equal(tern_tensor_put(&to, &from, &tile, NULL,
                                         add ? TERN_ATOMIC_ADD : TERN_ATOMIC_NONE),
                         0);
        for (int r = 0; r < 4; r++) {
            for (int c = 0; c < 18; c++) {
                int wanted = r < 3 && c < 8 && c % 2 == 0 && r * 9 + c < 27 ? r + 7 * (c / 2) : 0;
                if (c < 9) {
                    assert_int_equal(out[r * 9 + c], wanted);
                }
            }
        }
    }
    assert_int_equal(tern_tile_load(&tile, &from), 0);
    for (int r = 0; r < 3; r++) {
        for (int c = 0; c < 4; c++) {
            assert_int_equal(memory[r * 4 + c], r + 7 * c);
        }
    }
}

// The same with elements of every size: bytes 0, 1, 2, … at every other element.
static void elements_of_any_size_may_be_apart(void **state)
{
    const tern_dtype dtypes[] = {TERN_U8, TERN_BF16, TERN_F32, TERN_I64};
    for (size_t d = 0; d < sizeof dtypes / sizeof dtypes[0]; d++) {
        size_t element = tern_dtype_size(dtypes[d]);
        alignas(8) unsigned char in[10 * 8];
        alignas(8) unsigned char out[2][30 * 8];
        alignas(8) char memory[10 * 8];
        for (size_t i = 0; i < sizeof in; i++) {
            in[i] = (unsigned char)(i + 1);
        }
        memset(out, POISON, sizeof out);
        tern_tile tile = tern_tile_2d(memory, dtypes[d], 1, 5);
        tern_tensor from = {in, dtypes[d], {1, 1, 1, 1, 5}, {0, 0, 0, 0, 2}};
        tern_tensor to = {out[0], dtypes[d], {1, 1, 1, 1, 5}, {0, 0, 0, 0, 3}};
        assert_int_equal(tern_tensor_get(&to, &from, &tile, NULL), 0);
        for (size_t i = 0; i < 5; i++) {
            memcpy(out[1] + 3 * i * element, in + 2 * i * element, element);
        }
        assert_memory_equal(out[0], out[1], sizeof out[0]);
    }
}

// What a dynamic tile says after the last piece; a static one stays as it is.
static void tiles_end_as_the_last_piece(void **state)
{
    static float in[65 * 104];
    static float out[65 * 104];
    float memory[2][16 * 32];
    tern_tensor from = tern_tensor_2d(in, TERN_F32, 65, 104, 104);
    tern_tensor to = tern_tensor_2d(out, TERN_F32, 65, 104, 104);
    tern_tile ping = tern_tile_2d(memory[0], TERN_F32, 16, 32);
    tern_tile pong = tern_tile_2d(memory[1], TERN_F32, 16, 32);
    ping.dynamic = pong.dynamic = TERN_TILE_ROWS | TERN_TILE_COLUMNS;
    assert_int_equal(tern_tensor_put(&to, &from, &ping, NULL, TERN_ATOMIC_NONE), 0);
    assert_true(ping.valid_rows == 1 && ping.valid_columns == 8);
    ping.valid_rows = 16;
    ping.valid_columns = 32;
    assert_int_equal(tern_tensor_put(&to, &from, &ping, &pong, TERN_ATOMIC_NONE), 0);
    assert_true(pong.valid_rows == 1 && pong.valid_columns == 8);  // of 20, the last one
    assert_true(ping.valid_rows == 1 && ping.valid_columns == 32); // the one before
    // The same tiles again, whose masks differ now.
    in[64 * 104 + 103] = 7;
    assert_int_equal(tern_tensor_put(&to, &from, &ping, &pong, TERN_ATOMIC_NONE), 0);
    assert_true(out[64 * 104 + 103] == 7);
    assert_true(pong.valid_rows == 1 && pong.valid_columns == 8);
    // Fits: nothing is cut.
    from = tern_tensor_2d(in, TERN_F32, 3, 5, 104);
    ping = tern_tile_2d(memory[0], TERN_F32, 16, 32);
    ping.dynamic = TERN_TILE_ROWS | TERN_TILE_COLUMNS;
    assert_int_equal(tern_tensor_get(&to, &from, &ping, NULL), 0);
    assert_true(ping.valid_rows == 16 && ping.valid_columns == 32);
    // Two tensors of one piece each: the second tile had the last one.
    from = (tern_tensor){in, TERN_F32, {1, 1, 2, 9, 20}, {0, 0, 2000, 104, 1}};
    to = (tern_tensor){out, TERN_F32, {1, 1, 2, 9, 20}, {0, 0, 2000, 104, 1}};
    pong = ping;
    pong.data = memory[1];
    assert_int_equal(tern_tensor_put(&to, &from, &ping, &pong, TERN_ATOMIC_NONE), 0);
    assert_true(pong.valid_rows == 9 && pong.valid_columns == 20);
    assert_true(ping.valid_rows == 9 && ping.valid_columns == 20);
    // One that is dynamic in its rows alone.
    ping = tern_tile_2d(memory[0], TERN_F32, 16, 32);
    from = tern_tensor_2d(in, TERN_F32, 33, 64, 104);
    ping.dynamic = TERN_TILE_ROWS;
    assert_int_equal(tern_tensor_get(&to, &from, &ping, NULL), 0);
    assert_true(ping.valid_rows == 1 && ping.valid_columns == 32);
    // Two of these, of 40 rows, twice.
    ping = tern_tile_2d(memory[0], TERN_F32, 16, 32);
    ping.dynamic = TERN_TILE_ROWS;
    pong = ping;
    pong.data = memory[1];
    from = tern_tensor_2d(in, TERN_F32, 40, 32, 104);
    assert_int_equal(tern_tensor_put(&to, &from, &ping, &pong, TERN_ATOMIC_NONE), 0);
    assert_true(pong.valid_rows == 16 && ping.valid_rows == 8);
    in[39 * 104 + 31] = 9;
    assert_int_equal(tern_tensor_put(&to, &from, &ping, &pong, TERN_ATOMIC_NONE), 0);
    assert_true(out[39 * 104 + 31] == 9);
}

static void tiles_are_loaded_and_stored(void **state)
{
    int32_t in[2 * 3 * 5];
    int32_t memory[8 * 9];
    int32_t out[2 * 3 * 6];
    for (int i = 0; i < 2 * 3 * 5; i++) {
        in[i] = i + 1;
    }
    memset(memory, 0, sizeof memory);
    memset(out, 0, sizeof out);
    tern_tile tile = tern_tile_2d(memory, TERN_I32, 8, 9);
    tern_tensor from = {in, TERN_I32, {1, 1, 2, 3, 5}, {30, 30, 15, 5, 1}};
    tern_tensor to = {out, TERN_I32, {1, 1, 2, 3, 5}, {36, 36, 18, 6, 1}};
    assert_int_equal(tern_tile_load(&tile, &from), 0);
    for (int i = 0; i < 8 * 9; i++) {
        assert_int_equal(memory[i], i / 9 < 6 && i % 9 < 5 ? i / 9 * 5 + i % 9 + 1 : 0);
    }
    for (int times = 1; times <= 3; times++) {
        assert_int_equal(tern_tile_store(&to, &tile,
                                         times == 1 ? TERN_ATOMIC_NONE : TERN_ATOMIC_ADD),
                         0);
        for (int i = 0; i < 2 * 3 * 6; i++) {
            assert_int_equal(out[i], i % 6 < 5 ? times * (i / 6 * 5 + i % 6 + 1) : 0);
        }
    }
}

enum { HAMMERED = 65, BLOWS = ROUNDS_OF(400) };

// All ranks add into rank 0's numbers, all at once; the numbers are small, so that sums of floats
// are exact.
static int hammer(tern_comm *comm, void *arg)
{
    static const tern_dtype dtypes[] = {TERN_F32, TERN_F16, TERN_BF16, TERN_F64,
                                        TERN_I8,  TERN_U8,  TERN_I16,  TERN_U16,
                                        TERN_I32, TERN_U32, TERN_I64,  TERN_U64};
    static const uint16_t f16_one = 0x3c00;
    static const uint16_t bf16_one = 0x3f80;
    const int64_t shape[5] = {1, 1, 1, 5, 13};
    struct case_bench b;
    CHECK(case_open(comm, &b) == 0);
    for (size_t d = 0; d < sizeof dtypes / sizeof dtypes[0]; d++) {
        tern_dtype dtype = dtypes[d];
        size_t element = tern_dtype_size(dtype);
        char one[8] = {1};
        float f32 = 1;
        double f64 = 1;
        const void *bits = dtype == TERN_F32    ? (const void *)&f32
                           : dtype == TERN_F64  ? (const void *)&f64
                           : dtype == TERN_F16  ? (const void *)&f16_one
                           : dtype == TERN_BF16 ? (const void *)&bf16_one
                                                : (const void *)one;
        // As many blows as the dtype counts exactly: bf16 to 256, bytes wrap around.
        int blows = dtype == TERN_BF16 ? 256 / b.n : dtype == TERN_F16 ? 2048 / b.n : BLOWS;
        tern_tensor in = case_tensor(case_area(&b, b.rank, CASE_IN), dtype, shape, 0);
        tern_tensor to = case_tensor(case_area(&b, 0, CASE_OUT), dtype, shape, 2);
        tern_tile tile = tern_tile_2d(b.tiles[0], dtype, 5, 13);
        for (int i = 0; i < HAMMERED; i++) {
            memcpy(case_at(&in, i), bits, element);
        }
        memset(case_area(&b, b.rank, CASE_OUT), 0, AREA);
        CHECK(tern_comm_barrier(comm) == TERN_OK);
        for (int blow = 0; blow < blows; blow++) {
            CHECK(tern_tensor_put(&to, &in, &tile, NULL, TERN_ATOMIC_ADD) == TERN_OK);
        }
        CHECK(tern_comm_barrier(comm) == TERN_OK);
        for (int i = 0; b.rank == 0 && i < HAMMERED; i++) {
            char wanted[8] = {0};
            int64_t sum = (int64_t)blows * b.n;
            float sum_f32 = (float)sum;
            uint32_t sum_bits;
            memcpy(&sum_bits, &sum_f32, sizeof sum_bits);
            if (dtype == TERN_F32) {
                memcpy(wanted, &sum_f32, sizeof sum_f32);
            } else if (dtype == TERN_F64) {
                f64 = (double)sum;
                memcpy(wanted, &f64, sizeof f64);
                f64 = 1;
            } else if (dtype == TERN_BF16 || dtype == TERN_F16) {
                uint16_t half = (uint16_t)(sum_bits >> 16);
                half =
                    dtype == TERN_F16
                        ? (uint16_t)(((sum_bits >> 23) - 127 + 15) << 10 | (sum_bits >> 13 & 0x3ff))
                        : half;
                memcpy(wanted, &half, sizeof half);
            } else {
                memcpy(wanted, &sum, element);
            }
            CHECK(memcmp(case_at(&to, i), wanted, element) == 0);
        }
        CHECK(tern_comm_barrier(comm) == TERN_OK);
    }
    return case_close(&b);
}

static void additions_are_exact(void **state)
{
    assert_true(ranks_run_comm(3, hammer, NULL, 120));
    assert_true(ranks_run_comm(8, hammer, NULL, 120));
    assert_true(machines_run_comm("abca", hammer, NULL, 120));
}

enum { ROWS = ROUNDS_OF(6000), ROW = 4000 }; // elements of a row: it takes a while to store them

// The first element of a row says that the row is there: words, and elements of eight bytes of
// which only the upper half changes.
static int rows_as_flags(tern_comm *comm, void *arg)
{
    struct case_bench b;
    static int32_t memory[ROW];
    CHECK(case_open(comm, &b) == 0);
    tern_tile tile = tern_tile_2d(memory, TERN_I32, 1, ROW);
    char *area = case_area(&b, 1, CASE_OUT); // of whole lines
    tern_tensor taken = tern_tensor_1d(case_area(&b, 0, CASE_IN), TERN_I32, 1);
    for (int32_t number = 1; number <= ROWS; number++) {
        bool wide = number % 4 >= 2;
        char *place = area + (number % 8 >= 4 ? 24 : 0);
        tern_tensor row = tern_tensor_1d(place, TERN_I32, ROW);
        tern_tensor flag = tern_tensor_1d(place + (wide ? 4 : 0), TERN_I32, 1);
        if (b.rank == 0) {
            int32_t *in = (int32_t *)case_area(&b, 0, CASE_OUT);
            for (int i = 0; i < ROW; i++) {
                in[i] = memory[i] = number + i * 7;
            }
            in[wide] = memory[wide] = number;
            in[!wide] = memory[!wide] = -number;
            tern_tensor from = tern_tensor_1d(in, TERN_I32, ROW);
            tern_tensor to = row;
            tern_tile chip = tile;
            if (wide) {
                from = tern_tensor_1d(in, TERN_F64, ROW / 2);
                to = tern_tensor_1d(place, TERN_F64, ROW / 2);
                chip = tern_tile_2d(memory, TERN_F64, 1, ROW / 2);
            }
            CHECK((number % 2 == 0 ? tern_tensor_put(&to, &from, &chip, NULL, TERN_ATOMIC_NONE)
                                   : tern_tile_store(&to, &chip, TERN_ATOMIC_NONE)) == TERN_OK);
            CHECK(tern_tensor_wait(&taken, TERN_CMP_EQ, number, RANKS_SOON_NS) == TERN_OK);
        } else {
            if (number % 500 == 0) { // who sleeps looks ten times a second
                CHECK(tern_tensor_wait(&flag, TERN_CMP_EQ, number, RANKS_SOON_NS) == TERN_OK);
            }
            int there;
            while ((there = tern_tensor_test(&flag, TERN_CMP_EQ, number)) == 0) {
            }
            CHECK(there == 1);
            const int32_t *got = row.data;
            for (int i = ROW - 1; i > 1; i--) { // what comes last in most copies first
                CHECK(got[i] == number + i * 7);
            }
            CHECK(got[!wide] == -number);
            CHECK(tern_tensor_notify(&taken, number, TERN_NOTIFY_SET) == TERN_OK);
        }
    }
    return case_close(&b);
}

static void a_row_is_there_when_its_first_element_is(void **state)
{
    assert_true(ranks_run_comm(2, rows_as_flags, NULL, 120));
    assert_true(machines_run_comm("ab", rows_as_flags, NULL, 120));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_shape_arrives),
        cmocka_unit_test(elements_may_be_apart),
        cmocka_unit_test(elements_of_any_size_may_be_apart),
        cmocka_unit_test(tiles_end_as_the_last_piece),
        cmocka_unit_test(tiles_are_loaded_and_stored),
        cmocka_unit_test(additions_are_exact),
        cmocka_unit_test(a_row_is_there_when_its_first_element_is),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
