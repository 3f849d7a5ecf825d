// SPDX-License-Identifier: Apache-2.0
// Pairs of a value and an index, sorted: 32 at a time, and lists of them merged. Data path: no
// allocation, lock, system call or log.

#include <string.h>

#include "base/public.h"
#include "isa/tile_side.h"

enum { PAIR_BYTES = 8, BLOCK = 32, LISTS = 4, BLOCK_STEP = 64, BLOCKS_MOST = 255 };

struct pair {
    double value; // NaN: below all numbers
    uint32_t index;
    unsigned char bytes[PAIR_BYTES];
};

static struct pair pair_read(const unsigned char *from, tern_dtype dtype)
{
    struct pair pair;
    union tern__wide wide;
    memcpy(pair.bytes, from, PAIR_BYTES);
    memcpy(&pair.index, from + 4, sizeof pair.index);
    tern__wide_load(&wide, dtype, pair.bytes, 1, 1);
    pair.value = wide.f[0];
    return pair;
}

static struct pair pair_made(const char *value, size_t bytes, tern_dtype dtype, uint32_t index)
{
    unsigned char made[PAIR_BYTES] = {0};
    memcpy(made, value, bytes);
    memcpy(made + 4, &index, sizeof index);
    return pair_read(made, dtype);
}

static bool greater(double a, double b)
{
    return a > b || (a == a && b != b);
}

static bool equal(double a, double b)
{
    return a == b || (a != a && b != b);
}

static int check_pairs(const char *call, const char *name, const tern_tile *tile, tern_dtype dtype)
{
    TERN_TRY(tern__side_check(call, name, tile));
    if ((dtype != TERN_F32 && dtype != TERN_F16) || tile->dtype != dtype ||
        tile->order != TERN_TILE_ROW_MAJOR) {
        return tern__fail(TERN_ERR_ARG,
                          "%s: %s has %s; expected rows of f32 or of f16, as all tiles of pairs",
                          call, name, tern_dtype_name(tile->dtype));
    }
    return TERN_OK;
}

static int64_t pairs_of(const tern_tile *tile, int32_t columns)
{
    return columns * (int64_t)tern_dtype_size(tile->dtype) / PAIR_BYTES;
}

static void sort_block(unsigned char *to, const struct tern__side *from,
                       const struct tern__side *index, int64_t row, int64_t column, int64_t count)
{
    struct pair sorted[BLOCK];
    for (int64_t n = 0; n < count; n++) {
        uint32_t number;
        memcpy(&number, tern__side_at(index, row, column + n), sizeof number);
        struct pair pair = pair_made(tern__side_at(from, row, column + n), from->element_bytes,
                                     from->dtype, number);
        int64_t place = n;
        for (; place > 0; place--) {
            const struct pair *before = &sorted[place - 1];
            if (!greater(pair.value, before->value) &&
                !(equal(pair.value, before->value) && pair.index < before->index)) {
                break;
            }
            sorted[place] = *before;
        }
        sorted[place] = pair;
    }
    for (int64_t n = 0; n < count; n++) {
        memcpy(to + n * PAIR_BYTES, sorted[n].bytes, PAIR_BYTES);
    }
}

static int check_sort(const char *call, const tern_tile *to, const tern_tile *from,
                      const tern_tile *index)
{
    TERN_TRY(tern__side_check(call, "to", to));
    TERN_TRY(check_pairs(call, "to", to, to->dtype));
    TERN_TRY(tern__side_check_source(call, "from", from, to->valid_rows, 1));
    TERN_TRY(tern__side_check_dtype(call, "from", from, to));
    TERN_TRY(tern__side_check_source(call, "index", index, 1, from->valid_columns));
    if (index->dtype != TERN_U32 && index->dtype != TERN_I32) {
        return tern__fail(TERN_ERR_ARG, "%s: index has %s; expected integers of 32 bits", call,
                          tern_dtype_name(index->dtype));
    }
    if (index->valid_rows != 1 && index->valid_rows < to->valid_rows) {
        return tern__fail(TERN_ERR_ARG, "%s: index has %d valid rows; expected 1 or %d", call,
                          index->valid_rows, to->valid_rows);
    }
    if (pairs_of(to, to->columns) < from->valid_columns) {
        return tern__fail(TERN_ERR_ARG, "%s: a row of 'to' has %lld pairs, and %d are needed", call,
                          (long long)pairs_of(to, to->columns), from->valid_columns);
    }
    TERN_TRY(tern__side_check_apart(call, "from", from, to));
    return tern__side_check_apart(call, "index", index, to);
}

static int sort(const tern_tile *to, const tern_tile *from, const tern_tile *index)
{
    TERN_TRY(check_sort("tern_tile_sort", to, from, index));
    tern_tile written = *to;
    written.valid_columns =
        (int32_t)((size_t)from->valid_columns * PAIR_BYTES / tern_dtype_size(to->dtype));
    tern__side_use(&written, from, index);
    struct tern__side sides[3] = {tern__side_of(to), tern__side_of(from), tern__side_of(index)};
    if (index->valid_rows == 1) {
        sides[2].row = 0;
    }
    for (int64_t row = 0; row < to->valid_rows; row++) {
        unsigned char *pairs = (unsigned char *)tern__side_at(&sides[0], row, 0);
        for (int64_t column = 0; column < from->valid_columns; column += BLOCK) {
            int64_t rest = from->valid_columns - column;
            sort_block(pairs + column * PAIR_BYTES, &sides[1], &sides[2], row, column,
                       rest < BLOCK ? rest : BLOCK);
        }
    }
    return TERN_OK;
}

int tern_tile_sort(const tern_tile *to, const tern_tile *from, const tern_tile *index)
{
    return TERN__CALL(sort(to, from, index));
}

// What is left of sorted lists.
struct lists {
    const unsigned char *at[LISTS];
    int64_t left[LISTS], taken[LISTS];
    int count;
    tern_dtype dtype;
};

// The greatest of the first ones, of equal ones that of the earlier list; -1: none is left.
static int take(struct lists *lists, struct pair *greatest)
{
    int from = -1;
    for (int i = 0; i < lists->count; i++) {
        if (lists->left[i] == 0) {
            continue;
        }
        struct pair pair = pair_read(lists->at[i], lists->dtype);
        if (from < 0 || greater(pair.value, greatest->value)) {
            *greatest = pair;
            from = i;
        }
    }
    if (from >= 0) {
        lists->at[from] += PAIR_BYTES;
        lists->left[from]--;
        lists->taken[from]++;
    }
    return from;
}

static void merge_lists(unsigned char *to, int64_t most, struct lists *lists, bool stop)
{
    struct pair pair = {.value = 0};
    int from;
    for (int64_t n = 0; (from = take(lists, &pair)) >= 0; n++) {
        if (n < most) {
            memcpy(to + n * PAIR_BYTES, pair.bytes, PAIR_BYTES);
        }
        if (stop && lists->left[from] == 0) {
            return;
        }
    }
}

static int merge(const tern_tile *to, const tern_tile *from, int count, bool stop, int64_t taken[])
{
    const char *call = "tern_tile_merge";
    struct lists lists = {.count = count};
    TERN_TRY(tern__side_check(call, "to", to));
    TERN_TRY(check_pairs(call, "to", to, to->dtype));
    if (from == NULL || count < 2 || count > LISTS) {
        return tern__fail(TERN_ERR_ARG, "%s: there are 2 to 4 lists, not %d", call, count);
    }
    lists.dtype = to->dtype;
    for (int i = 0; i < count; i++) {
        TERN_TRY(check_pairs(call, "a list", &from[i], to->dtype));
        TERN_TRY(tern__side_check_apart(call, "a list", &from[i], to));
        lists.at[i] = from[i].data;
        lists.left[i] = pairs_of(&from[i], from[i].valid_columns);
        if (lists.left[i] == 0) {
            return tern__fail(TERN_ERR_ARG, "%s: %d elements of a list are no pair", call,
                              from[i].valid_columns);
        }
    }
    for (int i = 0; i < count; i++) {
        tern__side_read(&from[i]);
    }
    tern__side_use(to, &from[0], NULL);
    merge_lists(to->data, pairs_of(to, to->valid_columns), &lists, stop);
    for (int i = 0; taken != NULL && i < count; i++) {
        taken[i] = lists.taken[i];
    }
    return TERN_OK;
}

int tern_tile_merge(const tern_tile *to, const tern_tile *from, int count, int stop,
                    int64_t taken[])
{
    return TERN__CALL(merge(to, from, count, stop != 0, taken));
}

static int merge_blocks(const tern_tile *to, const tern_tile *from, int32_t length)
{
    const char *call = "tern_tile_merge_blocks";
    TERN_TRY(tern__side_check(call, "to", to));
    TERN_TRY(check_pairs(call, "to", to, to->dtype));
    TERN_TRY(check_pairs(call, "from", from, to->dtype));
    int64_t four = (int64_t)length * LISTS;
    if (length < 1 || length % BLOCK_STEP != 0 || from->valid_columns % four != 0 ||
        from->valid_columns / four > BLOCKS_MOST) {
        return tern__fail(TERN_ERR_ARG,
                          "%s: blocks of %d elements and %d elements; expected multiples of %d, "
                          "and 1 to %d times four blocks",
                          call, length, from->valid_columns, BLOCK_STEP, BLOCKS_MOST);
    }
    if (to->columns < from->valid_columns) {
        return tern__fail(TERN_ERR_ARG, "%s: a row of 'to' has %d elements, and %d are needed",
                          call, to->columns, from->valid_columns);
    }
    TERN_TRY(tern__side_check_apart(call, "from", from, to));
    tern_tile written = *to;
    written.valid_rows = 1;
    written.valid_columns = from->valid_columns;
    tern__side_use(&written, from, NULL);
    int64_t pairs = pairs_of(from, length);
    for (int64_t first = 0; first < pairs_of(from, from->valid_columns); first += pairs * LISTS) {
        struct lists lists = {.count = LISTS, .dtype = to->dtype};
        for (int i = 0; i < LISTS; i++) {
            lists.at[i] = (const unsigned char *)from->data + (first + pairs * i) * PAIR_BYTES;
            lists.left[i] = pairs;
        }
        merge_lists((unsigned char *)to->data + first * PAIR_BYTES, pairs * LISTS, &lists, false);
    }
    return TERN_OK;
}

int tern_tile_merge_blocks(const tern_tile *to, const tern_tile *from, int32_t length)
{
    return TERN__CALL(merge_blocks(to, from, length));
}
