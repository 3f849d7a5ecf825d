// SPDX-License-Identifier: Apache-2.0
// Many readers of many writers: they see all writers and the last ones, what they read is not given
// away while one still reads, and their edges are few.
#include "support/cmocka.h"

#include "rings_kit.h"

enum { WRITERS = 24, READERS_MOST = 12, LAYERS = 60 };

// A layer is a buffer that WRITERS write, each an element, and some read as a whole; in between an
// element may get a new value, from a task or from the orchestration.
struct layers {
    uint64_t seed;
    bool fails; // the first writer of the first layer
    _Atomic int read, wrong;
    int submitted;
};

// Some take their time.
static void pause_for(int64_t steps)
{
    for (_Atomic int64_t i = 0; i < steps; i++) {
    }
}

// args: element, value, steps
static void write_element(int64_t *args)
{
    const tern_region *region = pointer(args[0]);
    pause_for(args[2]);
    *(int64_t *)tern_region_data(region) = args[1];
}

// What the memory had before is gone: nothing but who still uses it keeps the memory from that.
static void clear(int64_t *args)
{
    const tern_region *region = pointer(args[0]);
    memset(tern_region_data(region), 0xff, region->shape[0] * sizeof(int64_t));
}

static void fail_on_purpose(int64_t *args)
{
    (void)args;
    tern_kernel_fail("on purpose");
}

// args: whole, sum, steps, struct layers
static void read_whole(int64_t *args)
{
    const tern_region *region = pointer(args[0]);
    const int64_t *elements = tern_region_data(region);
    struct layers *layers = pointer(args[3]);
    int64_t sum = 0;
    for (uint32_t i = 0; i < region->shape[0]; i++) {
        sum += elements[i];
        pause_for(args[2] / WRITERS);
    }
    atomic_fetch_add(&layers->read, 1);
    atomic_fetch_add(&layers->wrong, sum != args[1]);
}

static int64_t some_steps(struct layers *layers)
{
    return random_below(&layers->seed, 8) == 0 ? (int64_t)random_below(&layers->seed, 20000) : 0;
}

static int submit_write(tern_graph *graph, struct layers *layers, tern_region *whole, uint32_t at,
                        int64_t value, bool fails)
{
    const tern_task task = {.kernel = fails ? fail_on_purpose : write_element,
                            .core = TERN_CORE_AIV};
    tern_region part;
    TRY(tern_region_view(whole, (uint32_t[]){1}, (uint32_t[]){at}, &part));
    tern_task_arg args[] = {region_arg(TERN_OUT_EXISTING, &part), scalar_arg(value),
                            scalar_arg(some_steps(layers))};
    return submit(graph, &task, args, 3, NULL);
}

// One element gets a new value.
static int change(tern_graph *graph, struct layers *layers, tern_region *whole, int64_t *values)
{
    const uint32_t at = (uint32_t)random_below(&layers->seed, WRITERS);
    values[at] = (int64_t)random_below(&layers->seed, 1000);
    return random_below(&layers->seed, 4) == 0
               ? tern_graph_set_element(graph, whole, &at, (uint64_t)values[at])
               : submit_write(graph, layers, whole, at, values[at], false);
}

static int submit_read(tern_graph *graph, struct layers *layers, tern_region *whole,
                       const int64_t *values)
{
    const tern_task task = {.kernel = read_whole, .core = TERN_CORE_AIV};
    int64_t sum = 0;
    for (int i = 0; i < WRITERS; i++) {
        sum += values[i];
    }
    tern_task_arg args[] = {region_arg(TERN_IN, whole), scalar_arg(sum),
                            scalar_arg(some_steps(layers)), scalar_arg(word(layers))};
    layers->submitted++;
    return submit(graph, &task, args, 4, NULL);
}

static int submit_layer(tern_graph *graph, struct layers *layers, bool fails)
{
    static const tern_task maker = {.kernel = clear, .core = TERN_CORE_AIV};
    tern_region whole = row_of(NULL, WRITERS, TERN_REGION_I64);
    int64_t values[WRITERS];
    tern_task_arg out = region_arg(TERN_OUT, &whole);
    TRY(submit(graph, &maker, &out, 1, NULL));
    for (uint32_t i = 0; i < WRITERS; i++) {
        values[i] = (int64_t)random_below(&layers->seed, 1000);
        TRY(submit_write(graph, layers, &whole, i, values[i], fails && i == 0));
    }
    const int readers = (int)random_below(&layers->seed, READERS_MOST + 1);
    for (int i = 0; i < readers; i++) {
        const bool inside = random_below(&layers->seed, 6) == 0;
        if (!fails && random_below(&layers->seed, 8) == 0) {
            TRY(change(graph, layers, &whole, values));
        }
        if (inside) { // a reader that ends before its writers' scope
            TRY(tern_graph_scope_begin(graph, TERN_SCOPE_AUTO));
        }
        TRY(submit_read(graph, layers, &whole, values));
        if (inside) {
            TRY(tern_graph_scope_end(graph));
        }
    }
    return TERN_OK;
}

static int submit_layers(tern_graph *graph, void *arg)
{
    struct layers *layers = arg;
    for (int i = 0; i < LAYERS; i++) {
        TRY(tern_graph_scope_begin(graph, TERN_SCOPE_AUTO));
        TRY(submit_layer(graph, layers, layers->fails && i == 0));
        TRY(tern_graph_scope_end(graph));
    }
    return TERN_OK;
}

// The heap has room for one buffer, so that of a layer is the next one's as soon as it may be.
static const tern_ring_options narrow = {.window = {128, 128, 128, 128},
                                         .heap = {1024, 1024, 1024, 1024}};

static void readers_see_the_last_writers_and_what_they_read_stays(void **state)
{
    const uint64_t seed = random_seed();
    for (int cores = 1; cores <= 3; cores++) {
        tern_chip *chip = chip_of(0, cores);
        for (uint64_t i = 0; i < cases_wanted(20); i++) {
            struct layers layers = {.seed = seed + i};
            assert_true(fine(run_rings(chip, &narrow, submit_layers, &layers, i % 4 == 3)));
            assert_int_equal(layers.read, layers.submitted);
            assert_int_equal(layers.wrong, 0);
        }
        assert_true(fine(tern_chip_destroy(chip)));
    }
}

static void readers_of_a_writer_that_fails_do_not_run(void **state)
{
    tern_chip *chip = chip_of(0, 2);
    for (uint64_t i = 0; i < 20; i++) {
        struct layers layers = {.seed = i, .fails = true};
        assert_int_equal(run_rings(chip, &narrow, submit_layers, &layers, true), TERN_ERR_KERNEL);
        assert_true(said("on purpose"));
        assert_int_equal(layers.wrong, 0);
    }
    assert_true(fine(tern_chip_destroy(chip)));
}

enum { MANY = 64, WRITERS_MOST = 40 };

struct wide {
    struct layers layers;
    uint32_t writers;
};

static int submit_many(tern_graph *graph, void *arg)
{
    struct wide *wide = arg;
    static int64_t memory[WRITERS_MOST];
    tern_region whole = row_of(memory, wide->writers, TERN_REGION_I64);
    const int64_t values[WRITERS] = {0};
    for (uint32_t i = 0; i < wide->writers; i++) {
        TRY(submit_write(graph, &wide->layers, &whole, i, 0, false));
    }
    for (int i = 0; i < MANY; i++) {
        TRY(submit_read(graph, &wide->layers, &whole, values));
    }
    return TERN_OK;
}

static void expect_edges(uint32_t writers, uint32_t edges)
{
    tern_chip *chip = chip_of(0, 1);
    tern_graph *graph;
    struct wide wide = {.layers.seed = 1, .writers = writers};
    tern_ring_marks marks;
    assert_true(fine(tern_graph_create_rings(NULL, &graph)));
    assert_true(fine(tern_chip_orchestrate(chip, graph, submit_many, &wide, NULL)));
    assert_true(fine(tern_chip_synchronize(chip)));
    assert_true(fine(tern_graph_marks(graph, &marks)));
    assert_int_equal(marks.tasks, writers + MANY);
    assert_in_range(marks.edges[0], 1, edges);
    assert_int_equal(wide.layers.read, MANY);
    assert_int_equal(wide.layers.wrong, 0);
    assert_true(fine(tern_graph_destroy(graph)));
    assert_true(fine(tern_chip_destroy(chip)));
}

// The first has an edge for each writer, so has the join, and the others have one. Where writers
// are very many, the first has one, too.
static void many_readers_have_few_edges(void **state)
{
    expect_edges(WRITERS, 2 * WRITERS + MANY);
    expect_edges(WRITERS_MOST, WRITERS_MOST + MANY);
}

// Buffers of a scope; each is written in FEW parts.
enum { BUFFERS = 6, FEW = 10 };

static int64_t buffers[BUFFERS][FEW];

static int write_parts(tern_graph *graph, int buffer, int64_t value, int64_t last_steps,
                       tern_task_id *last)
{
    const tern_task task = {.kernel = write_element, .core = TERN_CORE_AIV};
    for (int i = 0; i < FEW; i++) {
        tern_region part = row_of(buffers[buffer], FEW, TERN_REGION_I64);
        TRY(tern_region_view(&part, (uint32_t[]){1}, (uint32_t[]){(uint32_t)i}, &part));
        tern_task_arg args[] = {region_arg(TERN_OUT_EXISTING, &part), scalar_arg(value),
                                scalar_arg(i == FEW - 1 ? last_steps : 0)};
        TRY(submit(graph, &task, args, 3, last));
    }
    return TERN_OK;
}

// One task has several regions with many writers, each twice, so that it makes joins of them all.
static int submit_pairs(tern_graph *graph, void *arg)
{
    const tern_task task = {.kernel = do_nothing, .core = TERN_CORE_AIV};
    for (int round = 0; round < BUFFERS * BUFFERS; round++) {
        TRY(tern_graph_scope_begin(graph, TERN_SCOPE_AUTO));
        tern_region regions[2];
        tern_task_arg args[4];
        for (int i = 0; i < 2; i++) {
            const int buffer = i == 0 ? round / BUFFERS : round % BUFFERS;
            TRY(write_parts(graph, buffer, round, 0, NULL));
            regions[i] = row_of(buffers[buffer], FEW, TERN_REGION_I64);
            args[2 * i] = args[2 * i + 1] = region_arg(TERN_IN, &regions[i]);
        }
        TRY(submit(graph, &task, args, 4, NULL));
        TRY(tern_graph_scope_end(graph));
    }
    return TERN_OK;
}

static void a_task_that_makes_several_joins_retires(void **state)
{
    tern_chip *chip = chip_within(0, 1, 5000 * MS);
    assert_true(fine(run_rings(chip, &narrow, submit_pairs, NULL, false)));
    assert_true(fine(tern_chip_destroy(chip)));
}

// The second reader names the last writer itself, too.
static int submit_named(tern_graph *graph, void *arg)
{
    const tern_task task = {.kernel = read_whole, .core = TERN_CORE_AIV};
    tern_task_id last = TERN_TASK_ID_NONE;
    tern_region whole = row_of(buffers[0], FEW, TERN_REGION_I64);
    const tern_task_arg args[] = {region_arg(TERN_IN, &whole), scalar_arg(FEW), scalar_arg(0),
                                  scalar_arg(word(arg))};
    TRY(write_parts(graph, 0, 1, 20000000, &last));
    for (int i = 0; i < 4; i++) {
        const tern_submission submission = {
            .task = task, .args = args, .args_count = 4, .after = &last, .after_count = i == 1};
        TRY(tern_graph_submit(graph, &submission, NULL));
    }
    return TERN_OK;
}

static void a_writer_that_is_named_is_not_forgotten(void **state)
{
    tern_chip *chip = chip_of(0, 2);
    struct layers layers = {.seed = 1};
    memset(buffers, 0, sizeof buffers);
    assert_true(fine(run_rings(chip, NULL, submit_named, &layers, false)));
    assert_int_equal(layers.read, 4);
    assert_int_equal(layers.wrong, 0);
    assert_true(fine(tern_chip_destroy(chip)));
}

// A window of 16 rows has room for 15 tasks, whatever joins there are.
static int submit_fifteen(tern_graph *graph, void *arg)
{
    const tern_task task = {.kernel = read_whole, .core = TERN_CORE_AIV};
    tern_region whole = row_of(buffers[0], FEW, TERN_REGION_I64);
    const tern_task_arg args[] = {region_arg(TERN_IN, &whole), scalar_arg(FEW), scalar_arg(0),
                                  scalar_arg(word(arg))};
    const int count = 15 + ((const struct layers *)arg)->submitted;
    for (int round = 0; round < 20; round++) {
        TRY(tern_graph_scope_begin(graph, TERN_SCOPE_AUTO));
        TRY(write_parts(graph, 0, 1, 0, NULL));
        for (int i = FEW; i < count; i++) {
            TRY(submit(graph, &task, args, 4, NULL));
        }
        TRY(tern_graph_scope_end(graph));
    }
    return TERN_OK;
}

static void joins_take_no_rows_of_the_window(void **state)
{
    const tern_ring_options options = {.window = {16, 16, 16, 16}};
    tern_chip *chip = chip_of(0, 2);
    struct layers layers = {.seed = 1};
    assert_true(fine(run_rings(chip, &options, submit_fifteen, &layers, false)));
    assert_int_equal(layers.read, 20 * (15 - FEW));
    assert_int_equal(layers.wrong, 0);
    layers.submitted = 1; // one task more than there is room for
    assert_int_equal(run_rings(chip, &options, submit_fifteen, &layers, false), TERN_ERR_LIMIT);
    assert_true(said("SCOPE_DEADLOCK"));
    assert_int_equal(tern_chip_code(chip), 1);
    assert_true(fine(tern_chip_destroy(chip)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_task_that_makes_several_joins_retires),
        cmocka_unit_test(a_writer_that_is_named_is_not_forgotten),
        cmocka_unit_test(joins_take_no_rows_of_the_window),
        cmocka_unit_test(readers_see_the_last_writers_and_what_they_read_stays),
        cmocka_unit_test(readers_of_a_writer_that_fails_do_not_run),
        cmocka_unit_test(many_readers_have_few_edges),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
