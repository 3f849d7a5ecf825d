// SPDX-License-Identifier: Apache-2.0
// What is wrong with the operands of tensor instructions is said, and then nothing is written.
#include "isa/test/tensor_cases.h"
#include "support/look.h"

enum { ROWS = 6, COLUMNS = 8 };

static float source[ROWS * COLUMNS], target[ROWS * COLUMNS], chip[2][64];

struct operands {
    tern_tensor from, to, members[2];
    tern_tile ping, pong;
    tern_tile *second;
    tern_atomic atomic;
    tern_group group;
    tern_reduce_op op;
};

static void make(struct operands *o)
{
    o->from = tern_tensor_2d(source, TERN_F32, ROWS, COLUMNS, COLUMNS);
    o->to = tern_tensor_2d(target, TERN_F32, ROWS, COLUMNS, COLUMNS);
    o->ping = tern_tile_2d(chip[0], TERN_F32, 3, 4);
    o->pong = tern_tile_2d(chip[1], TERN_F32, 3, 4);
    o->second = &o->pong;
    o->atomic = TERN_ATOMIC_NONE;
    o->members[0] = o->members[1] = tern_tensor_2d(source, TERN_F32, 3, COLUMNS, COLUMNS);
    o->group = (tern_group){o->members, 2, 0};
    o->op = TERN_SUM;
    for (int i = 0; i < ROWS * COLUMNS; i++) {
        source[i] = (float)i;
        target[i] = -1;
    }
}

static void no_dtype(struct operands *o)
{
    o->from.dtype = (tern_dtype)99;
}
static void moved_dtype(struct operands *o)
{
    o->from.dtype = o->to.dtype = o->ping.dtype = o->pong.dtype = TERN_C128;
}
static void negative_extent(struct operands *o)
{
    o->from.shape[2] = -1;
}
static void negative_stride(struct operands *o)
{
    o->to.stride[3] = -8;
}
static void uncountable(struct operands *o)
{
    o->from.shape[0] = o->from.shape[1] = INT64_C(1) << 40;
}
static void beyond_memory(struct operands *o)
{
    o->to.stride[3] = INT64_MAX / 2;
}
static void no_data(struct operands *o)
{
    o->to.data = NULL;
}
static void unaligned(struct operands *o)
{
    o->from.data = (char *)source + 1;
}
static void other_dtype(struct operands *o)
{
    o->to.dtype = TERN_I32;
}
static void tile_dtype(struct operands *o)
{
    o->ping.dtype = TERN_F16;
}
static void tile_memory(struct operands *o)
{
    o->ping.data = NULL;
}
static void tile_valid(struct operands *o)
{
    o->ping.valid_rows = 4;
}
static void tile_none_valid(struct operands *o)
{
    o->ping.valid_columns = 0;
}
static void tile_unaligned(struct operands *o)
{
    o->ping.data = (char *)chip + 2;
}
static void tiles_unlike(struct operands *o)
{
    o->pong.valid_columns = 2;
}
static void second_dtype(struct operands *o)
{
    o->pong.dtype = TERN_F16;
}
static void no_second(struct operands *o)
{
    o->second = NULL;
}
static void rows_left(struct operands *o)
{
    o->from.shape[3] = 5;
}
static void group_rows_left(struct operands *o)
{
    o->members[0].shape[3] = o->members[1].shape[3] = 2;
}
static void columns_left(struct operands *o)
{
    o->from.shape[4] = 6;
}
static void group_columns_left(struct operands *o)
{
    o->members[0].shape[4] = o->members[1].shape[4] = 6;
}
static void strange_atomic(struct operands *o)
{
    o->atomic = (tern_atomic)2;
}
static void group_empty(struct operands *o)
{
    o->group.count = 0;
}
static void group_root(struct operands *o)
{
    o->group.root = 2;
}
static void group_null(struct operands *o)
{
    o->group.tensors = NULL;
}
static void group_unlike(struct operands *o)
{
    o->members[1].stride[3] = 9;
}
static void group_dtype(struct operands *o)
{
    o->members[0].dtype = o->members[1].dtype = TERN_I32;
}
static void group_short(struct operands *o)
{
    o->to.shape[3] = o->from.shape[3] = 5;
}
static void small_to(struct operands *o)
{
    o->to.shape[4] = 4;
}
static void small_members(struct operands *o)
{
    o->members[0].shape[3] = o->members[1].shape[3] = 2;
}
static void far_apart(struct operands *o) // 2^63 bytes, if not 2^61 elements
{
    o->to.stride[3] = INT64_C(1) << 59;
    o->from.shape[3] = 5;
    o->ping.dynamic = o->pong.dynamic = TERN_TILE_ROWS;
}
static void strange_op(struct operands *o)
{
    o->op = TERN_PROD;
}

enum { PUT = 1, GET = 2, GATHER = 4, SCATTER = 8, BROADCAST = 16, REDUCE = 32, ALL = 63 };
enum { MOVES = PUT | GET, SHARES = GATHER | SCATTER, GROUPS = ALL & ~MOVES };

static const struct {
    void (*damage)(struct operands *o);
    const char *says;
    int calls;
} damages[] = {
    {no_dtype, "99, the dtype of from, is none", MOVES | SCATTER | BROADCAST},
    {moved_dtype, "c128, the dtype of from, is only moved, by collective calls", MOVES | BROADCAST},
    {negative_extent, "dimension 2 of from has extent -1 and stride 48", MOVES | BROADCAST},
    {negative_stride, "dimension 3 of to has extent", MOVES | GATHER | REDUCE},
    {uncountable, "from has more elements than can be counted", MOVES | BROADCAST},
    {beyond_memory, "to reaches beyond the address space", MOVES | GATHER | REDUCE},
    {no_data, "the data of to must not be NULL", MOVES | GATHER | REDUCE},
    {unaligned, "is not aligned to the 4 bytes of a f32", MOVES | SCATTER | BROADCAST},
    {other_dtype, "'to' has i32, and 'from' f32", MOVES},
    {other_dtype, "the group has f32, and 'to' i32", GATHER | REDUCE},
    {tile_dtype, "holds f16, and the tensor f32", ALL},
    {tile_memory, "must be a tile with memory", ALL},
    {tile_valid, "has 3 rows of 4 elements, of which 4 rows and 4 elements are valid", ALL},
    {tile_none_valid, "of which 3 rows and 0 elements are valid", ALL},
    {tile_unaligned, "is not aligned to the 4 bytes", ALL},
    {tiles_unlike, "its tiles must be alike in all but their data", ALL},
    {second_dtype, "the second tile holds f16", ALL},
    {no_second, "the second tile must be a tile with memory", REDUCE},
    {rows_left, "no multiple of the 3 valid rows of the tile", MOVES | BROADCAST},
    {group_rows_left, "no multiple of the 3 valid rows of the tile", SHARES | REDUCE},
    {columns_left, "no multiple of the 4 valid elements of a row of the tile", MOVES | BROADCAST},
    {group_columns_left, "no multiple of the 4 valid elements of a row of the tile",
     SHARES | REDUCE},
    {strange_atomic, "2 is no way to store", PUT},
    {group_empty, "the group has 0 tensors; there may be 1 to 64", GROUPS},
    {group_root, "the root is 2; the group has ranks 0..1", GROUPS},
    {group_null, "the group and its tensors must not be NULL", GROUPS},
    {group_unlike, "the tensors of ranks 0 and 1 of the group differ", GROUPS},
    {group_dtype, "the group has i32, and ", GROUPS},
    {group_short, "is 5, and 2 ranks have 3 rows each", SHARES},
    {small_to, "extent 4 of to is 4, and 8 elements go there", GATHER | REDUCE},
    {small_members, "extent 3 of the tensor of a rank is 2, and 6 elements go there", BROADCAST},
    {far_apart, "to reaches beyond the address space", MOVES},
    {strange_op, "(prod); there are sum, max and min", REDUCE},
};

static int call(int which, struct operands *o)
{
    switch (which) {
    case PUT:
        return tern_tensor_put(&o->to, &o->from, &o->ping, o->second, o->atomic);
    case GET:
        return tern_tensor_get(&o->to, &o->from, &o->ping, o->second);
    case GATHER:
        return tern_group_gather(&o->group, &o->to, &o->ping, o->second);
    case SCATTER:
        return tern_group_scatter(&o->group, &o->from, &o->ping, o->second);
    case BROADCAST:
        return tern_group_broadcast(&o->group, &o->from, &o->ping, o->second);
    default:
        return tern_group_reduce(&o->group, &o->to, &o->ping, o->second, NULL, o->op);
    }
}

// Scatter and broadcast write the members.
static void write_members(struct operands *o, int which)
{
    if (which == SCATTER || which == BROADCAST) {
        o->members[0].data = o->members[1].data = target;
    }
    if (which == BROADCAST) {
        o->members[0].shape[3] = o->members[1].shape[3] = ROWS;
    }
}

static void every_damage_is_named(void **state)
{
    for (size_t i = 0; i < sizeof damages / sizeof damages[0]; i++) {
        for (int which = 1; which <= REDUCE; which *= 2) {
            if ((damages[i].calls & which) == 0) {
                continue;
            }
            struct operands o;
            make(&o);
            write_members(&o, which);
            damages[i].damage(&o);
            int status = call(which, &o);
            if (status != TERN_ERR_ARG || !look_says(damages[i].says)) {
                fail_msg("damage %zu, call %d: %d, %s; not '%s'", i, which, status,
                         tern_last_error(), damages[i].says);
            }
            for (int e = 0; e < ROWS * COLUMNS; e++) {
                assert_true(target[e] == -1);
            }
        }
    }
}

// Undamaged, all of them do what they are for; so what is refused above is refused for its damage.
static void without_damage_they_work(void **state)
{
    for (int which = 1; which <= REDUCE; which *= 2) {
        struct operands o;
        make(&o);
        write_members(&o, which);
        assert_int_equal(call(which, &o), TERN_OK);
        assert_true(target[0] != -1);
    }
}

static void tiles_that_do_not_hold_it(void **state)
{
    struct operands o;
    make(&o);
    assert_true(says(tern_tile_load(&o.ping, &o.from), TERN_ERR_ARG,
                     "the tensor has 6 rows of 8 elements, and tile holds 3 of 4"));
    assert_true(says(tern_tile_store(&o.to, &o.ping, TERN_ATOMIC_NONE), TERN_ERR_ARG,
                     "the tensor has 6 rows of 8 elements"));
    assert_true(says(tern_tile_store(&o.to, NULL, TERN_ATOMIC_NONE), TERN_ERR_ARG, "with memory"));
    assert_true(says(tern_tile_load(&o.ping, NULL), TERN_ERR_ARG, "from must not be NULL"));
    assert_true(target[0] == -1);
}

// What sticks out of a rank's part is refused, also when it would end in another rank's.
static int stick_out(tern_comm *comm, void *arg)
{
    struct case_bench b;
    CHECK(case_open(comm, &b) == 0);
    int64_t part = (int64_t)tern_window_size(b.window) / 4;
    float *begin = tern_window_address(b.window, 0);
    float mine[64] = {0};
    tern_tile tile = tern_tile_2d(b.tiles[0], TERN_F32, 8, 64);
    tern_tensor from = tern_tensor_2d(mine, TERN_F32, 2, 8, 8);
    tern_tensor to = tern_tensor_2d(begin + part - 16, TERN_F32, 2, 8, 8);
    CHECK(tern_tensor_put(&to, &from, &tile, NULL, TERN_ATOMIC_NONE) == TERN_OK);
    to.stride[3] = 9;
    CHECK(says(tern_tensor_put(&to, &from, &tile, NULL, TERN_ATOMIC_NONE), TERN_ERR_ARG,
               "and reaches 4 bytes beyond the "));
    CHECK(look_says("rank 0's part of window 0"));
    CHECK(says(tern_tensor_get(&from, &to, &tile, NULL), TERN_ERR_ARG, "tern_tensor_get: from"));
    CHECK(tern_comm_barrier(comm) == TERN_OK);
    return case_close(&b);
}

static void no_range_reaches_into_another_part(void **state)
{
    assert_true(ranks_run_comm(2, stick_out, NULL, 30));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_damage_is_named),
        cmocka_unit_test(without_damage_they_work),
        cmocka_unit_test(tiles_that_do_not_hold_it),
        cmocka_unit_test(no_range_reaches_into_another_part),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
