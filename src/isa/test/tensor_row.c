// SPDX-License-Identifier: Apache-2.0
// A row that is put or got, which takes a short path: bytes at any alignment, all that is wrong is
// said also after calls that were right, and what a thread remembers of memory ends when windows
// come or go.
#include "isa/test/tensor_cases.h"
#include "support/look.h"

#include <sys/wait.h>

enum { ROW = 100 };

static alignas(64) float source[ROW + 32], target[ROW + 32], chip[ROW];

struct row {
    tern_tensor to, from;
    tern_tile tile;
};

static struct row row_of(float *to, const float *from)
{
    return (struct row){tern_tensor_1d(to, TERN_F32, ROW),
                        tern_tensor_1d((void *)from, TERN_F32, ROW),
                        tern_tile_2d(chip, TERN_F32, 1, ROW)};
}

static int put(struct row *row)
{
    return tern_tensor_put(&row->to, &row->from, &row->tile, NULL, TERN_ATOMIC_NONE);
}

static int get(struct row *row)
{
    return tern_tensor_get(&row->to, &row->from, &row->tile, NULL);
}

static const tern_dtype dtypes[] = {TERN_U8, TERN_F16, TERN_I32, TERN_F64};

static void bytes_arrive_at_any_alignment(void **state)
{
    alignas(64) static unsigned char in[600], out[600], tile_memory[600];
    for (size_t i = 0; i < sizeof in; i++) {
        in[i] = (unsigned char)(i * 7 + 1);
    }
    for (size_t d = 0; d < 4; d++) {
        size_t element = tern_dtype_size(dtypes[d]);
        for (size_t at = 0; at <= 72; at += element) {
            for (size_t bytes = element; bytes <= 136; bytes += element) {
                int64_t count = (int64_t)(bytes / element);
                size_t from_at = (at * 3 + element) % 64;
                tern_tensor from = tern_tensor_1d(in + from_at, dtypes[d], count);
                tern_tensor to = tern_tensor_1d(out + at, dtypes[d], count);
                tern_tile tile = tern_tile_2d(tile_memory, dtypes[d], 1, 136);
                memset(out, 0, sizeof out);
                assert_int_equal(tern_tensor_get(&to, &from, &tile, NULL), TERN_OK);
                assert_memory_equal(out + at, in + from_at, bytes);
                for (size_t i = 0; i < sizeof out; i++) {
                    assert_true((i >= at && i < at + bytes) || out[i] == 0);
                }
            }
        }
    }
}

static void no_dtype(struct row *row)
{
    row->from.dtype = row->to.dtype = row->tile.dtype = (tern_dtype)99;
}
static void moved_dtype(struct row *row)
{
    row->from.dtype = row->to.dtype = row->tile.dtype = TERN_C64;
}
static void other_dtype(struct row *row)
{
    row->to.dtype = TERN_I32;
}
static void tile_dtype(struct row *row)
{
    row->tile.dtype = TERN_I32;
}
static void negative_extent(struct row *row)
{
    row->from.shape[4] = -1;
}
static void negative_stride_from(struct row *row)
{
    row->from.stride[0] = -1;
}
static void negative_stride_to(struct row *row)
{
    row->to.stride[3] = -1;
}
static void uncountable(struct row *row)
{
    row->from.shape[4] = INT64_MAX;
}
static void no_data(struct row *row)
{
    row->to.data = NULL;
}
static void no_source(struct row *row)
{
    row->from.data = NULL;
}
static void unaligned_to(struct row *row)
{
    row->to.data = (char *)target + 2;
}
static void unaligned_from(struct row *row)
{
    row->from.data = (char *)source + 1;
}
static void tile_memory(struct row *row)
{
    row->tile.data = NULL;
}
static void tile_unaligned(struct row *row)
{
    row->tile.data = (char *)chip + 2;
}
static void tile_order(struct row *row)
{
    row->tile.order = (tern_tile_order)2;
}
static void tile_rows(struct row *row)
{
    row->tile.valid_rows = 2;
}
static void tile_no_rows(struct row *row)
{
    row->tile.valid_rows = 0;
}
static void tile_columns(struct row *row)
{
    row->tile.columns = ROW - 1;
}
static void tile_short(struct row *row)
{
    row->tile.valid_columns = ROW - 1;
}
static void beyond(struct row *row)
{
    row->to.data = (void *)(UINTPTR_MAX - 63);
}

static const struct {
    void (*damage)(struct row *row);
    const char *says;
} damages[] = {
    {no_dtype, "99, the dtype of from, is none"},
    {moved_dtype, "c64, the dtype of from, is only moved"},
    {other_dtype, "'to' has i32, and 'from' f32"},
    {tile_dtype, "the tile holds i32, and the tensor f32"},
    {negative_extent, "dimension 4 of from has extent -1"},
    {negative_stride_from, "dimension 0 of from has extent 1 and stride -1"},
    {negative_stride_to, "dimension 3 of to has extent 1 and stride -1"},
    {uncountable, "from has more elements than can be counted"},
    {no_data, "the data of to must not be NULL"},
    {no_source, "the data of from must not be NULL"},
    {unaligned_to, "is not aligned to the 4 bytes of a f32"},
    {unaligned_from, "is not aligned to the 4 bytes of a f32"},
    {tile_memory, "the tile must be a tile with memory"},
    {tile_unaligned, "is not aligned to the 4 bytes of a f32"},
    {tile_order, "2, the order of the tile, is none"},
    {tile_rows, "of which 2 rows and 100 elements are valid"},
    {tile_no_rows, "of which 0 rows and 100 elements are valid"},
    {tile_columns, "has 1 rows of 99 elements, of which 1 rows and 100"},
    {tile_short, "no multiple of the 99 valid elements of a row of the tile"},
    {beyond, "to reaches beyond the address space"},
};

// Each after a call that was right.
static void every_damage_is_named(void **state)
{
    for (size_t i = 0; i < 2 * sizeof damages / sizeof damages[0]; i++) {
        struct row row = row_of(target, source);
        int (*call)(struct row * row) = i % 2 == 0 ? put : get;
        source[ROW - 1] = (float)i + 1;
        assert_int_equal(call(&row), TERN_OK);
        assert_memory_equal(target, source, ROW * sizeof(float));
        damages[i / 2].damage(&row);
        source[ROW - 1] = 0;
        if (call(&row) != TERN_ERR_ARG || !look_says(damages[i / 2].says)) {
            fail_msg("damage %zu: %s; not '%s'", i / 2, tern_last_error(), damages[i / 2].says);
        }
        assert_true(target[ROW - 1] != 0);
    }
    struct row row = row_of(target, source);
    assert_int_equal(tern_tensor_put(NULL, &row.from, &row.tile, NULL, TERN_ATOMIC_NONE),
                     TERN_ERR_ARG);
    assert_int_equal(tern_tensor_put(&row.to, NULL, &row.tile, NULL, TERN_ATOMIC_NONE),
                     TERN_ERR_ARG);
    assert_int_equal(tern_tensor_get(&row.to, &row.from, NULL, NULL), TERN_ERR_ARG);
}

// Without tensors and tile: it is moved, or nothing is, and nobody says anything.
static void a_row_alone_is_moved_or_not(void **state)
{
    static const struct {
        float *to;
        const float *from;
        int64_t count;
        tern_dtype dtype;
    } refused[] = {
        {target, source, 0, TERN_F32},           {target, source, -1, TERN_F32},
        {target, source, INT64_MAX, TERN_F32},   {NULL, source, ROW, TERN_F32},
        {target, NULL, ROW, TERN_F32},           {target + 1, source, ROW / 2, TERN_F64},
        {target, source + 1, ROW / 2, TERN_F64}, {target, source, ROW / 2, TERN_C64},
        {target, source, ROW, (tern_dtype)99},
    };
    source[0] = source[ROW - 1] = 5;
    memset(target, 0, sizeof target);
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
        assert_int_equal(tern_row_move(refused[i].to, refused[i].from, refused[i].count,
                                       refused[i].dtype),
                         0);
    }
    assert_true(target[0] == 0 && target[1] == 0 && target[ROW - 1] == 0);
    assert_int_equal(tern_row_move(target, source, ROW, TERN_F32), 1);
    assert_memory_equal(target, source, ROW * sizeof(float));
    assert_true(target[ROW] == 0);
}

// The address of the last elements of a rank's part, which has not room for a row behind it.
static float *last_of(tern_window *window, int rank)
{
    return (float *)((char *)tern_window_address(window, rank) + tern_window_size(window)) - ROW;
}

// What was memory in no window is in one, and the other way about; what was in a large window is in
// a small one.
static int windows_come_and_go(tern_comm *comm, void *arg)
{
    tern_window *window;
    tern_window *larger;
    struct row row = row_of(target, source);
    CHECK(put(&row) == TERN_OK); // in no window is known now
    CHECK(tern_window_create(comm, 4096, NULL, &window) == TERN_OK);
    row.to.data = last_of(window, 0) + 1;
    CHECK(says(put(&row), TERN_ERR_ARG, "and reaches 4 bytes beyond the 4096 bytes of it"));
    row.to.data = last_of(window, 0);
    CHECK(put(&row) == TERN_OK);
    row.to.data = last_of(window, 0) + 1;
    CHECK(says(put(&row), TERN_ERR_ARG, "reaches 4 bytes beyond"));
    row.from.data = last_of(window, 0) + ROW - 1;
    row.to.data = target;
    CHECK(says(get(&row), TERN_ERR_ARG, "tern_tensor_get: from begins at byte 4092 of rank 0's"));
    row.from.data = source;
    for (size_t size = 64 << 10; size >= 4096; size /= 2) { // at the same place, or beside it
        CHECK(tern_window_destroy(window) == TERN_OK);
        CHECK(tern_window_create(comm, size, NULL, &window) == TERN_OK);
        row.to.data = last_of(window, 0);
        CHECK(put(&row) == TERN_OK);
        row.to.data = last_of(window, 0) + 1;
        CHECK(says(put(&row), TERN_ERR_ARG, "reaches 4 bytes beyond"));
    }
    CHECK(tern_window_create(comm, 8192, NULL, &larger) == TERN_OK);
    row.to.data = last_of(larger, 0);
    CHECK(put(&row) == TERN_OK);
    CHECK(tern_window_destroy(larger) == TERN_OK);
    row.to.data = last_of(window, 0);
    CHECK(put(&row) == TERN_OK);
    pid_t child = fork();
    if (child == 0) {
        alarm(20);
        _exit(put(&row) == TERN_ERR_STATE && look_says("is a fork of") ? 0 : 1);
    }
    int ended;
    CHECK(waitpid(child, &ended, 0) == child && ended == 0);
    CHECK(put(&row) == TERN_OK);
    CHECK(tern_comm_abort(comm, "enough") == TERN_OK);
    CHECK(put(&row) == TERN_ERR_ABORTED);
    row.to.data = target;
    CHECK(put(&row) == TERN_OK);
    CHECK(tern_window_destroy(window) == TERN_OK);
    return 0;
}

static void what_is_remembered_ends_with_the_window(void **state)
{
    assert_true(ranks_run_comm(1, windows_come_and_go, NULL, 30));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bytes_arrive_at_any_alignment),
        cmocka_unit_test(every_damage_is_named),
        cmocka_unit_test(a_row_alone_is_moved_or_not),
        cmocka_unit_test(what_is_remembered_ends_with_the_window),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
