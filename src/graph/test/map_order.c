// SPDX-License-Identifier: Apache-2.0
// ctest-threads: none
// The tensor map against a list of everything that was ever submitted: for random sequences of
// tasks the order that follows from its answers is the order of all conflicts. Half of them work on
// tiles of one buffer, with some regions of other forms among them.
#include "graph/region.h"
#include "map_kit.h"

enum { TASKS = 256, TASKS_USUAL = 64, REGIONS = 3, SEQUENCES = 10000 };

struct submitted {
    tern_task_id id;
    int count;
    tern_region regions[REGIONS];
    tern_access access[REGIONS];
    bool retired;
    bool after[TASKS];   // what the map said
    bool reaches[TASKS]; // and what follows from it
};

struct model {
    struct tern__tensor_map *map;
    struct submitted tasks[TASKS];
    int count;
    bool is_long; // many tasks that live long, few that write
    int crowded;  // the buffer of most regions; -1: none
    // The buffer that has tiles, the shape of a tile, where the first is; ndims 0: none has.
    tern_region tiled;
    uint32_t tile[3], phase[3];
    uint32_t flags;
    uint32_t next[TERN_RINGS], alive[TERN_RINGS], first[TERN_RINGS];
    uint64_t seed;
};

// Buffers: three of programs of which two overlap, one that a task made, a matrix.
static tern_region random_region(struct model *model)
{
    uint64_t *seed = &model->seed;
    // In some sequences nearly all are of one buffer, so that it has many live entries.
    const int which = model->crowded >= 0 && random_below(seed, 8) > 0 ? model->crowded
                                                                       : (int)random_below(seed, 6);
    tern_region region;
    if (which == 0) {
        region = make_region(memory, 64);
    } else if (which == 1) {
        region = make_region(memory + 160, 64);
    } else if (which == 2) {
        region = make_region(memory + 4096, (uint32_t)(16 + random_below(seed, 48)));
    } else if (which == 3) {
        region = make_region(memory + 8192, 64);
        region.owner = 7;
    } else {
        assert_true(fine(tern_region_make(&region, (void *)(uintptr_t)(memory + 12288),
                                          (uint32_t[]){8, 8}, 2, TERN_REGION_F32)));
        uint32_t offset[2] = {(uint32_t)random_below(seed, 5), (uint32_t)random_below(seed, 5)};
        uint32_t shape[2] = {(uint32_t)(1 + random_below(seed, 4)),
                             (uint32_t)(1 + random_below(seed, 4))};
        assert_true(fine(tern_region_view(&region, shape, offset, &region)));
        if (random_below(seed, 2) == 0) {
            assert_true(fine(tern_region_transpose(&region, 0, 1, &region)));
        }
    }
    if (which < 4 && random_below(seed, 3) > 0) {
        uint32_t offset = (uint32_t)random_below(seed, region.shape[0]);
        uint32_t most = region.shape[0] - offset;
        region = part_of(&region, offset, (uint32_t)(1 + random_below(seed, most)));
    }
    region.version = random_below(seed, 20) == 0;
    region.no_dependences = random_below(seed, 40) == 0;
    return region;
}

// A buffer of 1 to 3 dimensions that tiles divide, or leave a smaller edge of.
static void make_tiled(struct model *model)
{
    uint64_t *seed = &model->seed;
    static const uint32_t most[] = {256, 40, 12};
    const int ndims = (int)(1 + random_below(seed, 3));
    uint32_t shape[3];
    for (int i = 0; i < ndims; i++) {
        shape[i] = (uint32_t)(1 + random_below(seed, most[ndims - 1]));
        model->tile[i] = (uint32_t)(1 + random_below(seed, (shape[i] + 2) / 3));
        model->phase[i] = random_below(seed, 4) == 0 ? shape[i] % model->tile[i] : 0;
    }
    const uint64_t address = memory + (random_below(seed, 2) ? 64 : 20480);
    assert_true(fine(tern_region_make(&model->tiled, (void *)(uintptr_t)address, shape, ndims,
                                      TERN_REGION_I16)));
}

// A tile, or all of it, a panel of some dimensions, a tile at an odd place, anything; some of these
// transposed, or as bytes; and elements in a row, over the ends of rows.
static tern_region random_tile(struct model *model)
{
    uint64_t *seed = &model->seed;
    tern_region region = model->tiled;
    const uint64_t kind = random_below(seed, 40);
    const uint32_t ndims = region.ndims;
    uint32_t offset[3] = {0}, shape[3] = {0};
    if (kind == 6 || kind == 7) {
        const uint32_t count = (uint32_t)tern_region_count(&region);
        assert_true(fine(tern_region_reshape(&region, &count, 1, &region)));
        offset[0] = (uint32_t)random_below(seed, count);
        const uint32_t rest = count - offset[0], most = random_below(seed, 4) ? 6 : count;
        return part_of(&region, offset[0],
                       1 + (uint32_t)random_below(seed, most < rest ? most : rest));
    }
    for (uint32_t i = 0; i < ndims; i++) {
        const uint32_t all = region.shape[i], tile = model->tile[i], phase = model->phase[i];
        offset[i] = phase + tile * (uint32_t)random_below(seed, (all - phase + tile - 1) / tile);
        shape[i] = tile;
        if (kind == 0 || (kind < 4 && random_below(seed, 2) == 0)) {
            offset[i] = 0;
            shape[i] = all;
        } else if (kind < 6) {
            offset[i] = (uint32_t)random_below(seed, all);
            shape[i] = kind == 4 ? tile : 1 + (uint32_t)random_below(seed, all);
        }
        shape[i] = shape[i] < all - offset[i] ? shape[i] : all - offset[i];
    }
    assert_true(fine(tern_region_view(&region, shape, offset, &region)));
    if (ndims > 1 && random_below(seed, 8) == 0) {
        assert_true(fine(tern_region_transpose(&region, 0, (int)ndims - 1, &region)));
    }
    if (tern_region_is_contiguous(&region) && random_below(seed, 8) == 0) {
        uint32_t count = (uint32_t)tern_region_count(&region);
        assert_true(fine(tern_region_reshape(&region, &count, 1, &region)));
        region.dtype = TERN_REGION_I8;
        region.start *= 2;
        region.shape[0] = count * (uint32_t)random_below(seed, 3);
    }
    region.version = random_below(seed, 60) == 0;
    return region;
}

static bool writes(tern_access access)
{
    return access == TERN_INOUT || access == TERN_OUT_EXISTING;
}

// Whether by the rules the later access comes after the earlier one.
static bool conflicts(const struct model *model, const struct submitted *later, int i,
                      const struct submitted *earlier, int j)
{
    const tern_region *region = &later->regions[i], *other = &earlier->regions[j];
    tern_access access = later->access[i], before = earlier->access[j];
    if (access > TERN_OUT_EXISTING || before > TERN_OUT_EXISTING || access == TERN_OUT ||
        before == TERN_OUT || region->no_dependences || other->no_dependences ||
        tern__region_overlap(region, other) == TERN__APART) {
        return false;
    }
    if (model->flags & TERN_RINGS_UPSTREAM) {
        return access != TERN_OUT_EXISTING && writes(before);
    }
    return writes(access) || writes(before);
}

static void submit_random(struct model *model)
{
    static struct tern__ids ids;
    struct submitted *task = &model->tasks[model->count];
    int ring = (int)random_below(&model->seed, TERN_RINGS);
    struct tern__map_place places[REGIONS];
    memset(task, 0, sizeof *task);
    task->id = task_id(ring, model->next[ring]++);
    task->count = (int)(1 + random_below(&model->seed, REGIONS));
    ids.count = 0;
    for (int i = 0; i < task->count; i++) {
        static const tern_access kinds[] = {TERN_IN,           TERN_IN,    TERN_IN,
                                            TERN_INOUT,        TERN_INOUT, TERN_OUT_EXISTING,
                                            TERN_OUT_EXISTING, TERN_OUT,   TERN_NO_DEP};
        task->access[i] = kinds[random_below(&model->seed, sizeof kinds / sizeof kinds[0])];
        if (model->is_long && random_below(&model->seed, 8) > 0) {
            task->access[i] = TERN_IN;
        }
        task->regions[i] = model->tiled.ndims > 0 && random_below(&model->seed, 8) > 0
                               ? random_tile(model)
                               : random_region(model);
        assert_int_equal(tern__map_lookup(model->map, &task->regions[i], task->access[i],
                                          model->flags, &ids, &places[i]),
                         TERN_OK);
    }
    for (int i = 0; i < task->count; i++) {
        assert_int_equal(tern__map_insert(model->map, &task->regions[i], task->access[i],
                                          model->flags, task->id, &places[i]),
                         TERN_OK);
    }
    for (int other = 0; other < model->count; other++) {
        task->after[other] = has(&ids, model->tasks[other].id);
        assert_false(task->after[other] && model->tasks[other].retired);
    }
    model->count++;
}

// Tasks retire in the order of their ring, once all that they come after have (they have finished).
static void retire_random(struct model *model)
{
    int ring = (int)random_below(&model->seed, TERN_RINGS);
    uint32_t upto =
        model->alive[ring] +
        (uint32_t)random_below(&model->seed, model->next[ring] - model->alive[ring] + 1);
    for (int i = 0; i < model->count && model->alive[ring] != upto; i++) {
        struct submitted *task = &model->tasks[i];
        if (task->id != task_id(ring, model->alive[ring])) {
            continue;
        }
        for (int before = 0; before < i; before++) {
            if (task->after[before] && !model->tasks[before].retired) {
                upto = model->alive[ring];
            }
        }
        if (model->alive[ring] != upto) {
            task->retired = true;
            model->alive[ring]++;
        }
    }
    tern__map_retire(model->map, ring, model->alive[ring]);
}

// The order that follows from what the map said is that of all conflicts; an edge from a task that
// had retired is met. And the map says nothing that is no conflict.
static void check_order(struct model *model, const bool retired_before[TASKS][TASKS])
{
    static bool wanted[TASKS][TASKS];
    memset(wanted, 0, sizeof wanted);
    for (int later = 0; later < model->count; later++) {
        struct submitted *task = &model->tasks[later];
        for (int earlier = 0; earlier < later; earlier++) {
            bool direct = false;
            for (int i = 0; i < task->count; i++) {
                for (int j = 0; j < model->tasks[earlier].count; j++) {
                    direct = direct || conflicts(model, task, i, &model->tasks[earlier], j);
                }
            }
            assert_true(direct || !task->after[earlier]);
            bool edge = task->after[earlier] || retired_before[later][earlier];
            wanted[later][earlier] |= direct || retired_before[later][earlier];
            task->reaches[earlier] |= edge;
            for (int i = 0; i < earlier; i++) {
                wanted[later][i] |=
                    (direct || retired_before[later][earlier]) && wanted[earlier][i];
                task->reaches[i] |= edge && model->tasks[earlier].reaches[i];
            }
        }
        assert_memory_equal(wanted[later], task->reaches, sizeof wanted[later]);
    }
}

static void run_sequence(struct tern__tensor_map *map, uint64_t seed, uint32_t flags)
{
    static struct model model;
    static bool retired_before[TASKS][TASKS];
    memset(&model, 0, sizeof model);
    model.map = map;
    model.flags = flags;
    model.seed = seed;
    for (int ring = 0; ring < TERN_RINGS; ring++) { // some are about to wrap
        model.next[ring] = random_below(&model.seed, 2) ? UINT32_MAX - 3 : 0;
        model.alive[ring] = model.next[ring];
    }
    tern__map_clear(map);
    model.crowded = (int)random_below(&model.seed, 8) - 1;
    model.crowded = model.crowded < 6 ? model.crowded : -1;
    model.is_long = random_below(&model.seed, 64) == 0;
    if (random_below(&model.seed, 2) == 0) {
        make_tiled(&model);
    }
    const uint64_t retires = model.is_long ? 200 : 1 + random_below(&model.seed, 20);
    const int most = model.is_long ? TASKS : model.tiled.ndims > 0 ? TASKS / 2 : TASKS_USUAL;
    const int tasks = (int)(2 + random_below(&model.seed, (uint64_t)most - 1));
    while (model.count < tasks) {
        if (random_below(&model.seed, retires) == 0) {
            retire_random(&model);
        }
        for (int i = 0; i < model.count; i++) {
            retired_before[model.count][i] = model.tasks[i].retired;
        }
        submit_random(&model);
    }
    check_order(&model, retired_before);
}

static void the_order_is_that_of_all_conflicts(void **state)
{
    (void)state;
    struct tern__tensor_map *map = make_map(TASKS * REGIONS);
    uint64_t seed = random_seed();
    for (int i = 0; i < SEQUENCES; i++) {
        run_sequence(map, random_next(&seed), i % 2 == 0 ? 0 : TERN_RINGS_UPSTREAM);
    }
    tern__map_free(map);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_order_is_that_of_all_conflicts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
