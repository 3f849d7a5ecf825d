// SPDX-License-Identifier: Apache-2.0
// ctest-timeout: 120
// Tiles through rings of slots between the AIC and the AIV of a cluster: both directions, each
// split, one AIV and two, rings of 1 to 5 slots, in the block's own memory and in the program's, of
// several dtypes; the same by hand; ends that are opened again; and what is said when a tile does
// not fit.
#include "support/cmocka.h"

#include <stdlib.h>
#include <unistd.h>

#include "rings_kit.h"
#include "tern/cluster.h"
#include "tern/fifo.h"

enum { ROWS = 6, COLUMNS = 8, ENTRIES = 8, BLOCKS = 3, ALL = 7, MOST_SLOTS = 5 };

struct job {
    uint32_t lanes;
    bool to_vectors, own_memory, makes_by_hand, takes_by_hand, twice, slowly;
    uint32_t slots;
    tern_fifo_split split;
    tern_dtype dtype;
    _Atomic int right; // elements
    double memory[BLOCKS][MOST_SLOTS][ROWS * COLUMNS];
};

static bool ok(int status)
{
    if (status != TERN_OK) {
        tern_kernel_fail("%s", tern_last_error());
    }
    return status == TERN_OK;
}

static int32_t value_of(int block, int entry, int row, int column)
{
    return (block * ENTRIES + entry) % 7 * 48 + row * COLUMNS + column; // exact in f16
}

static void put_value(tern_dtype dtype, void *to, int32_t value)
{
    if (dtype == TERN_F32) {
        *(float *)to = (float)value;
    } else if (dtype == TERN_I16) {
        *(int16_t *)to = (int16_t)value;
    } else {
        *(int32_t *)to = value;
    }
}

static int32_t get_value(tern_dtype dtype, const void *from)
{
    return dtype == TERN_F32   ? (int32_t) * (const float *)from
           : dtype == TERN_I16 ? *(const int16_t *)from
                               : *(const int32_t *)from;
}

// The part of an entry that a kernel has: its first row and column, and how many.
struct part {
    int row, column, rows, columns;
};

static struct part part_of(const struct job *job, int lane)
{
    struct part part = {0, 0, ROWS, COLUMNS};
    int vector = lane - 1;
    if (lane > 0 && job->split == TERN_FIFO_ROWS) {
        part = (struct part){vector * ROWS / 2, 0, ROWS / 2, COLUMNS};
    } else if (lane > 0 && job->split == TERN_FIFO_COLUMNS) {
        part = (struct part){0, vector * COLUMNS / 2, ROWS, COLUMNS / 2};
    }
    return part;
}

// A tile of the part, in the order of the lane: rows and columns differ, so an order that is lost
// is seen.
static tern_tile tile_of(const struct job *job, struct part part, int lane, void *data)
{
    return (tern_tile){.data = data,
                       .dtype = job->dtype,
                       .rows = part.rows,
                       .columns = part.columns,
                       .valid_rows = part.rows,
                       .valid_columns = part.columns,
                       .order = lane == 2 ? TERN_TILE_COLUMN_MAJOR : TERN_TILE_ROW_MAJOR};
}

static char *element(const tern_tile *tile, int row, int column)
{
    int at = tile->order == TERN_TILE_ROW_MAJOR ? row * tile->columns + column
                                                : column * tile->rows + row;
    return (char *)tile->data + (size_t)at * tern_dtype_size(tile->dtype);
}

static bool make(const struct job *job, tern_fifo *fifo, int lane, int number)
{
    double data[ROWS * COLUMNS];
    struct part part = part_of(job, lane);
    tern_tile tile = tile_of(job, part, lane, data);
    void *slot;
    if (job->makes_by_hand) {
        if (!ok(tern_fifo_reserve(fifo, &slot))) {
            return false;
        }
        tile = tile_of(job, (struct part){0, 0, ROWS, COLUMNS}, 0, slot);
        tile.data = element(&tile, part.row, part.column);
        // One of two that have all of it.
        part.rows = job->split == TERN_FIFO_WHOLE && job->lanes == ALL && lane == 2 ? 0 : part.rows;
    }
    for (int row = 0; row < part.rows; row++) {
        for (int column = 0; column < part.columns; column++) {
            put_value(job->dtype, element(&tile, row, column),
                      value_of(tern_kernel_block(), number, part.row + row, part.column + column));
        }
    }
    return ok(job->makes_by_hand ? tern_fifo_commit(fifo)
                                 : tern_fifo_push(fifo, &tile, job->split, -1));
}

static bool take(struct job *job, tern_fifo *fifo, int lane, int number)
{
    double data[ROWS * COLUMNS];
    struct part part = part_of(job, lane);
    tern_tile tile = tile_of(job, part, lane, data);
    void *slot;
    if (!ok(job->takes_by_hand ? tern_fifo_take(fifo, &slot)
                               : tern_fifo_pop(fifo, &tile, job->split, -1))) {
        return false;
    }
    if (job->takes_by_hand) {
        tile = tile_of(job, (struct part){0, 0, ROWS, COLUMNS}, 0, slot);
        tile.data = element(&tile, part.row, part.column);
    }
    int right = 0;
    for (int row = 0; row < part.rows; row++) {
        for (int column = 0; column < part.columns; column++) {
            right += get_value(job->dtype, element(&tile, row, column)) ==
                     value_of(tern_kernel_block(), number, part.row + row, part.column + column);
        }
    }
    atomic_fetch_add(&job->right, right);
    return !job->takes_by_hand || ok(tern_fifo_release(fifo));
}

static void both_ends(int64_t *args)
{
    struct job *job = pointer(args[0]);
    int lane = tern_kernel_slot();
    bool makes = (lane == 0) == job->to_vectors;
    int opened = job->twice ? 2 : 1;
    for (int again = 0; again < opened; again++) {
        tern_fifo fifo = {.counter = 4,
                          .to_vectors = job->to_vectors,
                          .slots = job->slots,
                          .slot_bytes = sizeof job->memory[0][0],
                          .memory = job->own_memory ? NULL : job->memory[tern_kernel_block()][0]};
        if (!ok(tern_fifo_open(&fifo))) {
            return;
        }
        for (int n = 0; n < ENTRIES / opened; n++) {
            int number = again * ENTRIES / opened + n;
            if (job->slowly && n % 3 == lane) {
                usleep(200);
            }
            if (!(makes ? make(job, &fifo, lane, number) : take(job, &fifo, lane, number))) {
                return;
            }
        }
    }
}

static int mixed_task(tern_graph *graph, struct job *job, tern_kernel kernel, int blocks)
{
    tern_task task = {.name = "rings", .core = TERN_CORE_MIX, .blocks = blocks};
    for (int lane = 0; lane < 3; lane++) {
        task.mix[lane] = (job->lanes >> lane & 1) != 0 ? kernel : NULL;
    }
    tern_task_arg args[] = {scalar_arg(word(job))};
    return submit(graph, &task, args, 1, NULL);
}

static int rings(tern_graph *graph, void *arg)
{
    return mixed_task(graph, arg, both_ends, BLOCKS);
}

static void check_job(tern_chip *chip, struct job *job)
{
    atomic_store(&job->right, 0);
    assert_true(fine(run_rings(chip, NULL, rings, job, false)));
    // Of two AIV each takes its part; of one all.
    int takers =
        job->to_vectors && job->split == TERN_FIFO_WHOLE ? __builtin_popcount(job->lanes >> 1) : 1;
    if (atomic_load(&job->right) != takers * BLOCKS * ENTRIES * ROWS * COLUMNS) {
        fail_msg("%d elements are right: lanes %u, %s, split %d, %u slots%s%s%s", job->right,
                 job->lanes, job->to_vectors ? "to the AIV" : "to the AIC", (int)job->split,
                 job->slots, job->own_memory ? ", own memory" : "",
                 job->makes_by_hand || job->takes_by_hand ? ", by hand" : "",
                 job->twice ? ", opened twice" : "");
    }
}

static void tiles_go_through_in_their_order(void **state)
{
    static const struct {
        uint32_t lanes;
        tern_fifo_split split;
    } shapes[] = {{ALL, TERN_FIFO_WHOLE},
                  {ALL, TERN_FIFO_ROWS},
                  {ALL, TERN_FIFO_COLUMNS},
                  {3, TERN_FIFO_WHOLE},
                  {5, TERN_FIFO_WHOLE}};
    static const tern_dtype dtypes[] = {TERN_F32, TERN_I16, TERN_I32};
    struct job *job = calloc(1, sizeof *job);
    tern_chip *chips[] = {chip_of(1, 2), chip_of(3, 6)};
    (void)state;
    for (int i = 0; i < 5 * 16; i++) {
        for (uint32_t slots = 1; slots <= MOST_SLOTS; slots += 2 + (uint32_t)i % 2 * 2) {
            *job = (struct job){.lanes = shapes[i / 16].lanes,
                                .split = shapes[i / 16].split,
                                .to_vectors = i % 2 != 0,
                                .own_memory = i / 2 % 2 != 0,
                                .makes_by_hand = i / 4 % 2 != 0,
                                .takes_by_hand = (i / 4 + i / 16) % 2 != 0,
                                .twice = i / 8 % 2 != 0,
                                .slowly = i % 5 == 0 && slots > 1,
                                .slots = slots,
                                .dtype = dtypes[(uint32_t)i % 3]};
            check_job(chips[i % 7 == 0], job);
        }
    }
    assert_true(fine(tern_chip_destroy(chips[0])));
    assert_true(fine(tern_chip_destroy(chips[1])));
    free(job);
}

// Two of three slots are reserved before the first is made, and two are taken before one is given
// back.
static void overlap(int64_t *args)
{
    struct job *job = pointer(args[0]);
    tern_fifo fifo = {.counter = 0, .to_vectors = true, .slots = 3, .slot_bytes = 4};
    void *slots[2];
    if (!ok(tern_fifo_open(&fifo))) {
        return;
    }
    for (int n = 0; n < ENTRIES; n++) {
        for (int i = 0; i < 2; i++) {
            if (!ok(tern_kernel_slot() == 0 ? tern_fifo_reserve(&fifo, &slots[i])
                                            : tern_fifo_take(&fifo, &slots[i]))) {
                return;
            }
            if (tern_kernel_slot() == 0) {
                *(int32_t *)slots[i] = 2 * n + i;
            }
        }
        for (int i = 0; i < 2; i++) {
            if (tern_kernel_slot() != 0) {
                atomic_fetch_add(&job->right, *(int32_t *)slots[i] == 2 * n + i);
            }
            if (!ok(tern_kernel_slot() == 0 ? tern_fifo_commit(&fifo) : tern_fifo_release(&fifo))) {
                return;
            }
        }
    }
}

static int overlapping(tern_graph *graph, void *arg)
{
    return mixed_task(graph, arg, overlap, BLOCKS);
}

static void steps_of_several_entries_overlap(void **state)
{
    struct job *job = calloc(1, sizeof *job);
    tern_chip *chip = chip_of(2, 4);
    (void)state;
    job->lanes = ALL;
    assert_true(fine(run_rings(chip, NULL, overlapping, job, false)));
    assert_int_equal(job->right, 2 * BLOCKS * 2 * ENTRIES);
    assert_true(fine(tern_chip_destroy(chip)));
    free(job);
}

static int32_t numbers[64];

static tern_tile square(int32_t side, tern_dtype dtype)
{
    return (tern_tile){.data = numbers,
                       .dtype = dtype,
                       .rows = side,
                       .columns = side,
                       .valid_rows = side,
                       .valid_columns = side,
                       .order = TERN_TILE_ROW_MAJOR};
}

// The AIC's end has one entry of 4 x 4 f32 made, the AIV's takes it last.
static void is_refused(int64_t *args)
{
    struct job *job = pointer(args[0]);
    tern_fifo fifo = {.counter = 2, .to_vectors = true, .slots = 1, .slot_bytes = 64};
    tern_tile four = square(4, TERN_F32), eight = square(8, TERN_F32), other = square(4, TERN_I32);
    void *slot;
    bool right = fine(tern_fifo_open(&fifo));
    if (tern_kernel_slot() == 0) {
        tern_fifo wrong = fifo;
        right =
            right &&
            says(tern_fifo_push(&fifo, &eight, TERN_FIFO_WHOLE, -1), TERN_ERR_ARG,
                 "8 rows of 8 elements of f32 are 256 bytes, and a slot has 64 from 0 on") &&
            says(tern_fifo_push(&fifo, &four, (tern_fifo_split)3, -1), TERN_ERR_ARG,
                 "there is no split 3") &&
            says(tern_fifo_push(&fifo, &four, TERN_FIFO_ROWS, 2), TERN_ERR_ARG,
                 "there is no AIV 2 of a cluster; they are 0 and 1") &&
            says(tern_fifo_push(&fifo, NULL, TERN_FIFO_WHOLE, -1), TERN_ERR_ARG, "not be NULL") &&
            says(tern_fifo_pop(&fifo, &four, TERN_FIFO_WHOLE, -1), TERN_ERR_ARG,
                 "entries of this FIFO are taken by the AIV, not by the AIC") &&
            says(tern_fifo_commit(&fifo), TERN_ERR_STATE, "no slot is reserved") &&
            says(tern_fifo_reserve(&fifo, NULL), TERN_ERR_ARG, "slot must not be NULL");
        wrong.slots = UINT32_MAX;
        right = right && says(tern_fifo_open(&wrong), TERN_ERR_ARG, "1 to 1048576 slots");
        wrong = fifo;
        right = right && fine(tern_fifo_reserve(&wrong, &slot)) &&
                says(tern_fifo_push(&wrong, &four, TERN_FIFO_WHOLE, -1), TERN_ERR_STATE,
                     "1 slots wait for their tern_fifo_commit");
        wrong = fifo;
        wrong.counter = 31;
        right =
            right && says(tern_fifo_open(&wrong), TERN_ERR_ARG, "are 0 to 30 and the next, not 31");
        wrong.slots = 0;
        right = right && says(tern_fifo_open(&wrong), TERN_ERR_ARG,
                              "a FIFO has 1 to 1048576 slots, of 1 to ");
        right = right && fine(tern_fifo_push(&fifo, &four, TERN_FIFO_WHOLE, -1));
    } else {
        right = right && says(tern_fifo_release(&fifo), TERN_ERR_STATE, "no entry is taken") &&
                says(tern_fifo_reserve(&fifo, &slot), TERN_ERR_ARG,
                     "entries of this FIFO are made by the AIC, not by the AIV") &&
                says(tern_fifo_pop(&fifo, &four, TERN_FIFO_ROWS, -1), TERN_ERR_ARG,
                     "halves are for two AIV kernels, and the task has one") &&
                says(tern_fifo_pop(&fifo, &other, TERN_FIFO_WHOLE, -1), TERN_ERR_ARG,
                     "from has f32, and 'to' i32");
    }
    if (right) {
        atomic_fetch_add(&job->right, 1);
    }
}

static int refused(tern_graph *graph, void *arg)
{
    return mixed_task(graph, arg, is_refused, 1);
}

static void bad_arguments_have_sentences(void **state)
{
    struct job *job = calloc(1, sizeof *job);
    tern_chip *chip = chip_of(1, 2);
    (void)state;
    job->lanes = 3;
    assert_true(fine(run_rings(chip, NULL, refused, job, false)));
    assert_int_equal(job->right, 2);
    assert_true(fine(tern_chip_destroy(chip)));
    free(job);
    tern_fifo fifo = {.counter = 2, .to_vectors = true, .slots = 1, .slot_bytes = 64};
    tern_tile four = square(4, TERN_F32);
    assert_true(fine(tern_fifo_open(&fifo)));
    assert_true(says(tern_fifo_push(&fifo, &four, TERN_FIFO_WHOLE, -1), TERN_ERR_STATE,
                     "the caller is no kernel of a mixed task (TERN_CORE_MIX), so nobody is at the "
                     "other end"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tiles_go_through_in_their_order),
        cmocka_unit_test(steps_of_several_entries_overlap),
        cmocka_unit_test(bad_arguments_have_sentences),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
