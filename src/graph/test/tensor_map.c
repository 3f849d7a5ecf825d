// SPDX-License-Identifier: Apache-2.0
// ctest-threads: none
// The tensor map: what each access comes after, what is forgotten, room, and what it costs. That
// the order is right for any sequence: map_order.c.
#include "map_kit.h"

static struct tern__map_place place; // of the region last looked up

// Submits a task with one region; returns the ids that it comes after.
static const struct tern__ids *submit(struct tern__tensor_map *map, const tern_region *region,
                                      tern_access access, uint32_t flags, tern_task_id id)
{
    static struct tern__ids ids;
    ids.count = 0;
    assert_int_equal(tern__map_lookup(map, region, access, flags, &ids, &place), TERN_OK);
    assert_int_equal(tern__map_insert(map, region, access, flags, id, &place), TERN_OK);
    return &ids;
}

static void accesses_are_ordered_as_the_table_says(void **state)
{
    (void)state;
    // One row for each earlier access: whether IN, INOUT, OUT_EXISTING come after it.
    static const struct {
        tern_access earlier;
        bool tracked[3], upstream[3];
    } rows[] = {
        {TERN_IN, {false, true, true}, {false, false, false}},
        {TERN_INOUT, {true, true, true}, {true, true, false}},
        {TERN_OUT_EXISTING, {true, true, true}, {true, true, false}},
        {TERN_OUT, {false, false, false}, {false, false, false}},
        {TERN_NO_DEP, {false, false, false}, {false, false, false}},
    };
    static const tern_access later[] = {TERN_IN, TERN_INOUT, TERN_OUT_EXISTING};
    tern_region region = make_region(memory, 16);
    for (int made_by_task = 0; made_by_task <= 1; made_by_task++) {
        region.owner = made_by_task ? task_id(1, 7) : TERN_REGION_NO_OWNER;
        for (size_t i = 0; i < 3 * sizeof rows / sizeof rows[0]; i++) {
            const size_t row = i / 3, column = i % 3;
            for (uint32_t flags = 0; flags <= TERN_RINGS_UPSTREAM; flags++) {
                struct tern__tensor_map *map = make_map(8);
                submit(map, &region, rows[row].earlier, flags, 0);
                bool after = submit(map, &region, later[column], flags, 1)->count == 1;
                assert_int_equal(after,
                                 flags ? rows[row].upstream[column] : rows[row].tracked[column]);
                tern__map_free(map);
            }
        }
    }
}

// Nobody looks for the readers of a buffer that a task has made, until another task writes it.
static void readers_of_made_buffers_are_found_by_the_first_writer(void **state)
{
    (void)state;
    struct tern__tensor_map *map = make_map(64);
    tern_region whole = make_region(memory, 64), other = make_region(2 * memory, 64);
    whole.owner = task_id(0, 0);
    other.owner = task_id(0, 1);
    tern_region low = part_of(&whole, 0, 32), high = part_of(&whole, 32, 32);
    tern_region empty = part_of(&whole, 8, 0);
    for (uint32_t i = 2; i < 10; i++) {
        assert_int_equal(submit(map, i % 2 ? &low : &high, TERN_IN, 0, i)->count, 0);
        submit(map, &other, TERN_IN, 0, task_id(1, i));
    }
    submit(map, &low, TERN_IN, 0, task_id(2, 5));
    submit(map, &empty, TERN_IN, 0, 10);
    assert_int_equal(tern__map_used(map, 0), 9);
    tern__map_retire(map, 0, 4); // 2, 3
    assert_int_equal(tern__map_used(map, 0), 7);
    const struct tern__ids *ids = submit(map, &low, TERN_INOUT, 0, 11);
    assert_int_equal(ids->count, 4);
    assert_true(has(ids, 5) && has(ids, 7) && has(ids, 9) && has(ids, task_id(2, 5)));
    // From here on all are filed at once.
    submit(map, &high, TERN_IN, 0, 12);
    tern__map_retire(map, 0, 8);
    ids = submit(map, &whole, TERN_INOUT, 0, 13);
    assert_true(ids->count == 3 && has(ids, 8) && has(ids, 11) && has(ids, 12));
    assert_int_equal(submit(map, &other, TERN_INOUT, 0, 14)->count, 8);
    tern__map_retire(map, 0, 15);
    tern__map_retire(map, 1, 10);
    tern__map_retire(map, 2, 6);
    for (int ring = 0; ring < TERN_RINGS; ring++) {
        assert_int_equal(tern__map_used(map, ring), 0);
    }
    tern__map_free(map);
}

// Tasks that add to a sum: one entry goes from each to the next, and stays when the earlier retire,
// of whatever ring. A task that names the region twice is found by the next one, and not by itself.
static void a_writer_of_the_same_takes_over_the_entry(void **state)
{
    (void)state;
    struct tern__tensor_map *map = make_map(16);
    const tern_region sum = make_region(memory, 16), half = part_of(&sum, 0, 8);
    for (int ring = 0; ring < 2; ring++) {
        assert_int_equal(submit(map, &sum, TERN_INOUT, 0, task_id(ring, 0))->count, ring);
        assert_int_equal(submit(map, &sum, TERN_OUT_EXISTING, 0, task_id(ring, 1))->count, 1);
    }
    tern__map_retire(map, 0, 2);
    tern__map_retire(map, 1, 1);
    assert_int_equal(tern__map_used(map, 0), 0);
    assert_int_equal(tern__map_used(map, 1), 1);
    const struct tern__ids *ids = submit(map, &half, TERN_IN, 0, task_id(2, 0));
    assert_true(ids->count == 1 && has(ids, task_id(1, 1)));
    ids = submit(map, &sum, TERN_INOUT, 0, task_id(2, 1));
    assert_true(has(ids, task_id(1, 1)) && has(ids, task_id(2, 0)));
    struct tern__map_place places[2];
    struct tern__ids found = {0};
    for (int i = 0; i < 2; i++) {
        assert_int_equal(tern__map_lookup(map, &sum, TERN_INOUT, 0, &found, &places[i]), TERN_OK);
    }
    for (int i = 0; i < 2; i++) {
        assert_int_equal(tern__map_insert(map, &sum, TERN_INOUT, 0, 2, &places[i]), TERN_OK);
    }
    assert_true(has(&found, task_id(2, 1)) && !has(&found, 2));
    tern__map_retire(map, 2, 2);
    tern__map_retire(map, 1, 2);
    ids = submit(map, &sum, TERN_INOUT, 0, 3);
    assert_true(ids->count == 1 && has(ids, 2));
    tern__map_retire(map, 0, 3);
    ids = submit(map, &sum, TERN_INOUT, 0, 4);
    assert_true(ids->count == 1 && has(ids, 3));
    tern__map_retire(map, 0, 5);
    assert_int_equal(tern__map_used(map, 0), 0);
    free(found.ids);
    tern__map_free(map);
}

// Parts that are written in order are found apart without a look at each other. Not so with a
// raised version, and where the program names a part of the buffer as its own.
static void parts_behind_all_others_are_apart(void **state)
{
    (void)state;
    struct tern__tensor_map *map = make_map(64);
    tern_region whole = make_region(memory, 64);
    tern_region own = make_region(memory, 16);
    whole.owner = task_id(0, 0);
    for (uint32_t i = 0; i < 8; i++) {
        tern_region part = part_of(&whole, 4 * i, 4);
        assert_int_equal(submit(map, &part, TERN_OUT_EXISTING, 0, 1 + i)->count, 0);
    }
    tern_region behind = part_of(&whole, 32, 32), last = part_of(&whole, 31, 33);
    assert_int_equal(submit(map, &behind, TERN_IN, 0, 9)->count, 0);
    const struct tern__ids *ids = submit(map, &last, TERN_INOUT, 0, 10);
    assert_true(ids->count == 2 && has(ids, 8) && has(ids, 9));
    assert_int_equal(submit(map, &own, TERN_IN, 0, 11)->count, 4);
    tern_region high = part_of(&whole, 48, 8);
    ids = submit(map, &high, TERN_IN, 0, 12);
    assert_true(ids->count == 1 && has(ids, 10));
    tern__map_free(map);

    map = make_map(64);
    tern_region low = part_of(&whole, 0, 32);
    submit(map, &low, TERN_OUT_EXISTING, 0, 1);
    behind.version = 1;
    ids = submit(map, &behind, TERN_IN, 0, 2);
    assert_true(ids->count == 1 && has(ids, 1));
    tern__map_free(map);
}

static void what_a_writer_covers_is_found_through_it(void **state)
{
    (void)state;
    struct tern__tensor_map *map = make_map(64);
    tern_region region = make_region(memory, 64);
    tern_region low = part_of(&region, 0, 32);
    submit(map, &low, TERN_INOUT, 0, 0);
    for (uint32_t i = 1; i <= 20; i++) {
        assert_int_equal(submit(map, &region, TERN_IN, 0, i)->count, 1);
    }
    assert_int_equal(submit(map, &region, TERN_INOUT, 0, 21)->count, 21); // and these are forgotten
    const struct tern__ids *ids = submit(map, &region, TERN_INOUT, 0, 22);
    assert_true(ids->count == 1 && ids->ids[0] == 21);
    ids = submit(map, &low, TERN_OUT_EXISTING, 0, 23); // covers a part: 22 is still there
    assert_true(ids->count == 1 && ids->ids[0] == 22);
    assert_int_equal(submit(map, &region, TERN_IN, 0, 24)->count, 2);
    assert_int_equal(tern__map_used(map, 0), 25);
    tern__map_clear(map);
    submit(map, &low, TERN_INOUT, TERN_RINGS_UPSTREAM, 0);
    submit(map, &region, TERN_OUT_EXISTING, TERN_RINGS_UPSTREAM, 1); // does not look, nor forget
    assert_int_equal(submit(map, &region, TERN_IN, TERN_RINGS_UPSTREAM, 2)->count, 2);
    assert_int_equal(submit(map, &region, TERN_INOUT, TERN_RINGS_UPSTREAM, 3)->count, 2);
    assert_int_equal(submit(map, &region, TERN_IN, TERN_RINGS_UPSTREAM, 4)->count, 1);
    tern__map_free(map);
}

static void buffers_that_begin_elsewhere_are_found(void **state)
{
    (void)state;
    struct tern__tensor_map *map = make_map(8);
    tern_region whole = make_region(memory, 200), half = make_region(memory + 400, 100);
    tern_region low = part_of(&whole, 0, 100), made = make_region(memory + 800, 100);
    submit(map, &whole, TERN_INOUT, 0, 0);
    assert_int_equal(submit(map, &half, TERN_IN, 0, 1)->count, 1);
    assert_int_equal(submit(map, &low, TERN_INOUT, 0, 2)->count, 1); // not after 1
    const struct tern__ids *ids = submit(map, &whole, TERN_INOUT, 0, 3);
    assert_true(ids->count == 3 && has(ids, 0) && has(ids, 1) && has(ids, 2));
    // A buffer of the same address grows over one that is known.
    tern__map_clear(map);
    submit(map, &made, TERN_INOUT, 0, 0);
    assert_int_equal(submit(map, &half, TERN_IN, 0, 1)->count, 0);
    half = make_region(memory + 400, 101);
    assert_int_equal(submit(map, &half, TERN_IN, 0, 2)->count, 1);
    // A region of a task's own buffer is looked for there alone.
    tern__map_clear(map);
    made.owner = 5;
    submit(map, &made, TERN_INOUT, 0, 0);
    assert_int_equal(submit(map, &whole, TERN_IN, 0, 1)->count, 0);
    assert_int_equal(submit(map, &made, TERN_IN, 0, 2)->count, 1);
    tern__map_free(map);
}

// --- room --------------------------------------------------------------------------------------

static void a_full_ring_says_so_until_a_task_retires(void **state)
{
    (void)state;
    struct tern__tensor_map *map;
    assert_true(fine(tern__map_create((uint32_t[]){4, 4, 5, 4}, &map)));
    tern_region region = make_region(memory, 16);
    for (uint32_t i = 0; i < 5; i++) {
        submit(map, &region, TERN_IN, 0, task_id(2, i));
    }
    assert_int_equal(tern__map_insert(map, &region, TERN_IN, 0, task_id(2, 5), &place),
                     TERN_ERR_LIMIT);
    assert_int_equal(tern__map_used(map, 2), 5);
    submit(map, &region, TERN_IN, 0, task_id(1, 0)); // other rings have room of their own
    tern__map_retire(map, 2, 3);
    assert_int_equal(tern__map_used(map, 2), 2);
    for (uint32_t i = 5; i < 50; i++) {
        submit(map, &region, TERN_IN, 0, task_id(2, i));
        tern__map_retire(map, 2, i);
        assert_int_equal(tern__map_used(map, 2), 1);
    }
    submit(map, &region, TERN_INOUT, 0, task_id(2, 50)); // covers what is older, of all rings
    tern__map_retire(map, 2, 0);
    assert_int_equal(tern__map_used(map, 2), 1);
    tern__map_free(map);
}

static void cycle_buffers(uint32_t live)
{
    struct tern__tensor_map *map = make_map(live);
    struct tern__ids ids = {0};
    for (uint32_t i = 0; i < 100000; i++) {
        tern_region region = make_region(memory + UINT64_C(64) * i, 32); // overlaps with the last
        tern__map_retire(map, 0, i >= live ? i - live + 1 : 0);
        assert_int_equal(submit(map, &region, TERN_INOUT, 0, i)->count, i > 0);
        region.address += 1 << 30; // only looked up
        ids.count = 0;
        assert_int_equal(tern__map_lookup(map, &region, TERN_IN, 0, &ids, &place), TERN_OK);
        assert_int_equal(ids.count, 0);
        if (i >= live) { // one of the middle, and its neighbours
            region = make_region(memory + UINT64_C(64) * (i - live / 2), 32);
            assert_int_equal(tern__map_lookup(map, &region, TERN_IN, 0, &ids, &place), TERN_OK);
            assert_int_equal(ids.count, 3);
        }
    }
    free(ids.ids);
    tern__map_free(map);
}

static void buffers_without_end_fit_into_the_map(void **state)
{
    (void)state;
    cycle_buffers(4);
    cycle_buffers(300);
}

static void many_parts_of_one_buffer_are_told_apart(void **state)
{
    enum { PARTS = 1000 };
    (void)state;
    struct tern__tensor_map *map = make_map(4 * PARTS);
    tern_region whole = make_region(memory, 8 * PARTS);
    for (uint32_t i = 0; i < PARTS; i++) {
        uint32_t at = i * 367 % PARTS;
        tern_region part = part_of(&whole, 8 * at, 8);
        assert_int_equal(submit(map, &part, TERN_INOUT, 0, task_id(0, at))->count, 0);
    }
    for (uint32_t i = 0; i < PARTS; i++) {
        tern_region part = part_of(&whole, 8 * i, 8);
        const struct tern__ids *ids = submit(map, &part, TERN_IN, 0, task_id(1, i));
        assert_true(has(ids, task_id(0, i)) && ids->count == 1);
    }
    tern_region middle = part_of(&whole, 804, 16); // half of 100, 101, half of 102
    const struct tern__ids *ids = submit(map, &middle, TERN_INOUT, 0, task_id(2, 0));
    assert_true(has(ids, task_id(0, 101)) && has(ids, task_id(1, 102)));
    ids = submit(map, &middle, TERN_INOUT, 0, task_id(2, 1));
    assert_false(has(ids, task_id(0, 101)) || has(ids, task_id(1, 101))); // covered by the last
    assert_true(has(ids, task_id(0, 100)) && has(ids, task_id(1, 102)) && has(ids, task_id(2, 0)));
    tern__map_retire(map, 1, PARTS / 2);
    middle.version = 1; // wherever they are: all but what is covered and the 500 that retired
    ids = submit(map, &middle, TERN_INOUT, 0, task_id(2, 2));
    assert_true(has(ids, task_id(0, 999)) && has(ids, task_id(1, 500)) && has(ids, task_id(2, 1)));
    assert_false(has(ids, task_id(1, 499)) || has(ids, task_id(2, 0)));
    tern__map_retire(map, 0, PARTS);
    tern__map_retire(map, 1, PARTS);
    ids = submit(map, &whole, TERN_INOUT, 0, task_id(2, 3));
    assert_true(has(ids, task_id(2, 2)));
    for (uint32_t i = 0; i < ids->count; i++) {
        assert_int_equal(ids->ids[i] >> 32, 2);
    }
    tern__map_free(map);
}

static void a_writer_covers_many_parts(void **state)
{
    enum { PARTS = 1000 };
    (void)state;
    struct tern__tensor_map *map = make_map(4 * PARTS);
    tern_region whole = make_region(memory, PARTS);
    for (uint32_t i = 0; i < 2 * PARTS; i++) {
        tern_region part = part_of(&whole, i % PARTS, 1);
        submit(map, &part, i < PARTS ? TERN_INOUT : TERN_IN, 0, i);
    }
    assert_int_equal(submit(map, &whole, TERN_IN, 0, 2 * PARTS)->count, PARTS);
    const struct tern__ids *ids = submit(map, &whole, TERN_INOUT, 0, 2 * PARTS + 1);
    for (uint32_t i = 0; i <= 2 * PARTS; i++) {
        assert_true(has(ids, i));
    }
    assert_int_equal(submit(map, &whole, TERN_INOUT, 0, 2 * PARTS + 2)->count, 1);
    tern__map_free(map);
}

static tern_region block_of(uint32_t row, uint32_t column, uint32_t rows, uint32_t columns)
{
    tern_region region;
    assert_true(fine(tern_region_make(&region, (void *)(uintptr_t)memory, (uint32_t[]){64, 64}, 2,
                                      TERN_REGION_F32)));
    assert_true(fine(tern_region_view(&region, (uint32_t[]){rows, columns},
                                      (uint32_t[]){row, column}, &region)));
    return region;
}

// First tiles of one shape, then regions that lie across them, so that these make the better grid.
static void the_shape_of_tiles_may_change(void **state)
{
    (void)state;
    struct tern__tensor_map *map = make_map(1024);
    const struct tern__ids *ids;
    for (uint32_t i = 0; i < 1024; i++) {
        tern_region tile = block_of(i / 8 % 8 * 8, i % 8 * 8, 8, 8);
        ids = submit(map, &tile, TERN_INOUT, 0, task_id(0, i));
        assert_int_equal(ids->count, i >= 64);
        assert_true(i < 64 || ids->ids[0] == task_id(0, i - 64));
    }
    tern__map_retire(map, 0, 1024 - 64);
    for (uint32_t i = 0; i < 1024; i++) {
        tern_region column = block_of(0, i % 64, 64, 1);
        ids = submit(map, &column, TERN_IN, 0, task_id(1, i));
        assert_int_equal(ids->count, 8);
        for (uint32_t row = 0; row < 8; row++) {
            assert_true(has(ids, task_id(0, 1024 - 64 + row * 8 + i % 64 / 8)));
        }
    }
    for (uint32_t i = 0; i < 64; i++) {
        tern_region tile = block_of(i / 8 * 8, i % 8 * 8, 8, 8);
        ids = submit(map, &tile, TERN_INOUT, 0, task_id(2, i));
        assert_true(has(ids, task_id(0, 1024 - 64 + i)));
        for (uint32_t j = 0; j < 1024; j++) {
            assert_true(has(ids, task_id(1, j)) == (j % 64 / 8 == i % 8));
        }
    }
    tern__map_free(map);
}

static void after_clear_nothing_is_live(void **state)
{
    (void)state;
    struct tern__tensor_map *map = make_map(256);
    for (int run = 0; run < 20; run++) {
        for (uint32_t i = 0; i < 200; i++) {
            tern_region region = make_region(memory + UINT64_C(4096) * i, 1024);
            assert_int_equal(submit(map, &region, TERN_INOUT, 0, task_id(run % 4, i))->count, 0);
        }
        tern__map_clear(map);
        assert_int_equal(tern__map_used(map, run % 4), 0);
    }
    tern__map_free(map);
}

static void too_large_a_map_is_refused(void **state)
{
    (void)state;
    struct tern__tensor_map *map;
    const uint32_t most[TERN_RINGS] = {UINT32_MAX, UINT32_MAX, UINT32_MAX, UINT32_MAX};
    assert_true(says(tern__map_create(most, &map), TERN_ERR_ARG, "17179869180 regions"));
    tern__map_free(NULL);
}

// --- time: printed, not judged -----------------------------------------------------------------

static int64_t time_steps(struct tern__tensor_map *map, const tern_region *regions,
                          tern_access access, uint32_t live, uint32_t *number, uint32_t steps)
{
    static struct tern__ids ids;
    int status = TERN_OK;
    int64_t begin = clock_ns();
    for (uint32_t i = 0; i < steps; i++, (*number)++) {
        const tern_region *region = &regions[*number % live];
        ids.count = 0;
        tern__map_retire(map, 0, *number - live);
        status |= tern__map_lookup(map, region, access, 0, &ids, &place);
        status |= tern__map_insert(map, region, access, 0, *number, &place);
    }
    assert_int_equal(status, TERN_OK);
    return clock_ns() - begin;
}

enum form { OF_PROGRAM, OF_TASK, SLICE, TILE };

// The i-th of `live`, in no order.
static tern_region one_of(enum form form, uint32_t live, uint32_t i)
{
    const uint32_t at = i * 40503U % live;
    if (form == TILE) { // 16 x 16 of a square
        uint32_t side = 1;
        while (side * side < live) {
            side *= 2;
        }
        tern_region region;
        assert_true(fine(tern_region_make(&region, (void *)(uintptr_t)memory,
                                          (uint32_t[]){16 * side, 16 * side}, 2, TERN_REGION_F32)));
        assert_true(fine(tern_region_view(&region, (uint32_t[]){16, 16},
                                          (uint32_t[]){at / side * 16, at % side * 16}, &region)));
        return region;
    }
    if (form == SLICE) {
        const tern_region whole = make_region(memory, 1024 * live);
        return part_of(&whole, 1024 * at, 1024);
    }
    tern_region region = make_region(memory + UINT64_C(4096) * at, 1024);
    region.owner = form == OF_TASK ? i : TERN_REGION_NO_OWNER;
    return region;
}

static void print_times(const char *what, tern_access access, enum form form)
{
    printf("%s, ns a lookup, an insert and what retires:", what);
    for (uint32_t live = 1; live <= 65536; live = live == 1 ? 64 : live == 64 ? 4096 : live * 16) {
        struct tern__tensor_map *map = make_map(65536 + 1);
        tern_region *regions = malloc(live * sizeof *regions);
        for (uint32_t i = 0; i < live; i++) {
            regions[i] = one_of(form, live, i);
        }
        uint32_t number = live;
        const uint32_t steps = SANITIZED ? 2000 : 200000;
        time_steps(map, regions, access, live, &number, live < steps ? 2 * live : steps);
        int64_t best = INT64_MAX;
        for (int i = 0; i < 5; i++) {
            int64_t took = time_steps(map, regions, access, live, &number, steps);
            best = took < best ? took : best;
        }
        printf(" %.1f with %u live", (double)best / steps, live);
        fflush(stdout);
        free(regions);
        tern__map_free(map);
    }
    printf("\n");
}

static void times_are_printed(void **state)
{
    (void)state;
    print_times("buffers of programs, written", TERN_INOUT, OF_PROGRAM);
    print_times("buffers of tasks, written", TERN_INOUT, OF_TASK);
    print_times("buffers of tasks, read", TERN_IN, OF_TASK);
    print_times("slices of a vector, written", TERN_INOUT, SLICE);
    print_times("slices of a vector, read", TERN_IN, SLICE);
    print_times("tiles of a matrix, written", TERN_INOUT, TILE);
    print_times("tiles of a matrix, read", TERN_IN, TILE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(accesses_are_ordered_as_the_table_says),
        cmocka_unit_test(what_a_writer_covers_is_found_through_it),
        cmocka_unit_test(buffers_that_begin_elsewhere_are_found),
        cmocka_unit_test(a_full_ring_says_so_until_a_task_retires),
        cmocka_unit_test(buffers_without_end_fit_into_the_map),
        cmocka_unit_test(many_parts_of_one_buffer_are_told_apart),
        cmocka_unit_test(a_writer_covers_many_parts),
        cmocka_unit_test(the_shape_of_tiles_may_change),
        cmocka_unit_test(readers_of_made_buffers_are_found_by_the_first_writer),
        cmocka_unit_test(a_writer_of_the_same_takes_over_the_entry),
        cmocka_unit_test(parts_behind_all_others_are_apart),
        cmocka_unit_test(after_clear_nothing_is_live),
        cmocka_unit_test(too_large_a_map_is_refused),
        cmocka_unit_test(times_are_printed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
