// SPDX-License-Identifier: Apache-2.0
// Tasks of several blocks and of several cores, as users of the chip runtime know them: which block
// writes which line, to the last word, on chips of 24 clusters and of fewer.
#include "support/cmocka.h"

#include <sched.h>
#include <stdlib.h>

#include "rings_kit.h"

enum { LINE = 16, LINES_MAX = 1024, TASKS_MAX = 64 };

struct spmd_task {
    tern_core core;
    int blocks;
    bool together; // sync_start
    int base;      // line
};

struct spmd {
    const char *name;
    int lines; // that are written
    int count;
    struct spmd_task tasks[TASKS_MAX];
    tern_access access; // to the output: TERN_INOUT, one after the other; TERN_NO_DEP, at once
    float *out;
    _Atomic int arrived[TASKS_MAX];
};

static const int shapes[][2] = {{24, 48}, {8, 16}, {3, 7}, {1, 2}, {5, 3}};
enum { SHAPES = sizeof shapes / sizeof shapes[0] };

static int slots_of(const struct spmd_task *task)
{
    return task->core == TERN_CORE_MIX ? 3 : 1;
}

static void write_line(int64_t *args)
{
    const tern_region *out = pointer(args[0]);
    const struct spmd_task *task = pointer(args[2]);
    _Atomic int *arrived = pointer(args[3]);
    int block = tern_kernel_block();
    int calls = tern_kernel_blocks() * slots_of(task);
    atomic_fetch_add(arrived, 1);
    // Those that start together see each other.
    int64_t end_ns = clock_ns() + 20000 * MS;
    while (task->together && atomic_load(arrived) < calls) {
        sched_yield();
        if (clock_ns() > end_ns) {
            tern_kernel_fail("%d of %d calls were there together", atomic_load(arrived), calls);
            return;
        }
    }
    int64_t line = args[1] + (int64_t)slots_of(task) * block + tern_kernel_slot();
    ((float *)tern_region_data(out))[line * LINE] = (float)block;
    if (tern_kernel_blocks() != task->blocks) {
        tern_kernel_fail("%d blocks", tern_kernel_blocks());
    }
}

static int spmd(tern_graph *graph, void *arg)
{
    struct spmd *s = arg;
    tern_region out = row_of(s->out, LINES_MAX * LINE, TERN_REGION_F32);
    for (int i = 0; i < s->count; i++) {
        const struct spmd_task *t = &s->tasks[i];
        bool mix = t->core == TERN_CORE_MIX;
        tern_task task = {.name = s->name,
                          .core = t->core,
                          .kernel = mix ? NULL : write_line,
                          .blocks = t->blocks,
                          .sync_start = t->together};
        for (int k = 0; k < 3 && mix; k++) {
            task.mix[k] = write_line;
        }
        tern_task_arg args[] = {region_arg(s->access, &out), scalar_arg(t->base),
                                scalar_arg(word(t)), scalar_arg(word(&s->arrived[i]))};
        TRY(submit(graph, &task, args, 4, NULL));
    }
    return TERN_OK;
}

static int units_of(const tern_chip *chip, const struct spmd_task *task)
{
    return tern_chip_cores(chip, task->core);
}

static bool fits(const tern_chip *chip, const struct spmd *s)
{
    bool all = true;
    for (int i = 0; i < s->count; i++) {
        const struct spmd_task *t = &s->tasks[i];
        all = all && (!t->together || t->blocks <= units_of(chip, t));
    }
    return all;
}

static void check_lines(const struct spmd *s)
{
    static float wanted[LINES_MAX * LINE];
    int lines = 0;
    memset(wanted, 0, sizeof wanted);
    for (int i = 0; i < s->count; i++) {
        const struct spmd_task *t = &s->tasks[i];
        for (int line = 0; line < t->blocks * slots_of(t); line++) {
            int block = line / slots_of(t);
            wanted[(t->base + line) * LINE] = (float)block;
            lines++;
        }
    }
    assert_int_equal(lines, s->lines);
    assert_memory_equal(s->out, wanted, sizeof wanted);
}

static void run_spmd(struct spmd *s)
{
    s->out = malloc(LINES_MAX * LINE * sizeof *s->out);
    for (int i = 0; i < SHAPES * 4; i += SANITIZED ? 3 : 1) { // all values of each, not all pairs
        tern_chip *chip = chip_of(shapes[i / 4][0], shapes[i / 4][1]);
        s->access = i % 2 != 0 ? TERN_NO_DEP : TERN_INOUT;
        memset(s->out, 0, LINES_MAX * LINE * sizeof *s->out);
        memset(s->arrived, 0, sizeof s->arrived);
        bool well = fits(chip, s);
        int status = run_rings(chip, NULL, spmd, s, i / 2 % 2 != 0);
        if (well) {
            assert_true(fine(status));
            check_lines(s);
        } else {
            assert_true(says(status, TERN_ERR_LIMIT, "REQUIRE_SYNC_START_INVALID"));
            assert_int_equal(tern_chip_code(chip), 7);
        }
        assert_true(fine(tern_chip_destroy(chip)));
    }
    free(s->out);
}

#define A(blocks, base)                                                                            \
    {                                                                                              \
        TERN_CORE_AIV, blocks, false, base                                                         \
    }
#define AS(blocks, base)                                                                           \
    {                                                                                              \
        TERN_CORE_AIV, blocks, true, base                                                          \
    }
#define M(blocks, base)                                                                            \
    {                                                                                              \
        TERN_CORE_MIX, blocks, false, base                                                         \
    }
#define MS_(blocks, base)                                                                          \
    {                                                                                              \
        TERN_CORE_MIX, blocks, true, base                                                          \
    }

static void multiblock_aiv(void **state)
{
    run_spmd(&(struct spmd){.name = "aiv",
                            .lines = 188,
                            .count = 5,
                            .tasks = {A(4, 0), A(16, 4), A(24, 20), A(48, 44), A(96, 92)}});
}

static void multiblock_mix(void **state)
{
    run_spmd(&(struct spmd){.name = "mix",
                            .lines = 282,
                            .count = 5,
                            .tasks = {M(2, 0), M(8, 6), M(12, 30), M(24, 66), M(48, 138)}});
}

static void more_blocks_than_clusters_twice(void **state)
{
    run_spmd(
        &(struct spmd){.name = "oob", .lines = 288, .count = 2, .tasks = {M(48, 0), M(48, 144)}});
}

static void blocks_that_start_together(void **state)
{
    run_spmd(&(struct spmd){.name = "sync",
                            .lines = 72,
                            .count = 4,
                            .tasks = {MS_(2, 0), MS_(8, 6), M(2, 30), MS_(12, 36)}});
}

static void vector_blocks_that_start_together(void **state)
{
    run_spmd(&(struct spmd){.name = "sync aiv",
                            .lines = 48,
                            .count = 4,
                            .tasks = {AS(4, 0), AS(16, 4), A(4, 20), AS(24, 24)}});
}

static void one_block_and_nearly_all_start_together(void **state)
{
    run_spmd(&(struct spmd){.name = "edge",
                            .lines = 126,
                            .count = 5,
                            .tasks = {MS_(1, 0), MS_(8, 3), MS_(9, 27), MS_(23, 54), M(1, 123)}});
}

// Adds `times` tasks, one behind the other.
static void add_times(struct spmd *s, int times, struct spmd_task task)
{
    for (int i = 0; i < times; i++) {
        task.base = s->lines;
        s->tasks[s->count++] = task;
        s->lines += task.blocks * slots_of(&task);
    }
}

static void many_that_start_together(void **state)
{
    struct spmd s = {.name = "stress"};
    for (int round = 0; round < 6; round++) {
        add_times(&s, 4, (struct spmd_task)M(4, 0));
        add_times(&s, 2, (struct spmd_task)MS_(12, 0));
        add_times(&s, 2, (struct spmd_task)AS(8, 0));
        add_times(&s, 1, (struct spmd_task)A(4, 0));
    }
    assert_int_equal(s.lines, 6 * (4 * 12 + 2 * 36 + 2 * 8 + 4));
    assert_int_equal(s.count, 54);
    run_spmd(&s);
}

static void those_that_start_together_are_not_starved(void **state)
{
    struct spmd s = {.name = "starvation"};
    for (int round = 0; round < 3; round++) {
        add_times(&s, 6, (struct spmd_task)M(4, 0));
        if (round < 2) {
            add_times(&s, 1, (struct spmd_task)MS_(6, 0));
        }
    }
    assert_int_equal(s.lines, 252);
    run_spmd(&s);
}

static void tell_who(int64_t *args)
{
    float *out = tern_region_data(pointer(args[0]));
    int slot = tern_kernel_slot();
    out[slot * LINE] = (float)tern_kernel_block();
    out[slot * LINE + 1] = (float)tern_kernel_blocks();
    if (slot > 0) {
        out[slot * LINE + 2] = (float)(slot - 1);
    }
}

static int basic(tern_graph *graph, void *arg)
{
    tern_region out = row_of(arg, 3 * LINE, TERN_REGION_F32);
    tern_task task = {.core = TERN_CORE_MIX, .mix = {tell_who, tell_who, tell_who}};
    tern_task_arg args[] = {region_arg(TERN_INOUT, &out)};
    return submit(graph, &task, args, 1, NULL);
}

static void a_mix_task_knows_its_slots(void **state)
{
    for (int i = 0; i < SHAPES; i++) {
        tern_chip *chip = chip_of(shapes[i][0], shapes[i][1]);
        float out[3 * LINE] = {0};
        const float wanted[3 * LINE] = {[1] = 1, [17] = 1, [33] = 1, [34] = 1};
        assert_true(fine(run_rings(chip, NULL, basic, out, false)));
        assert_memory_equal(out, wanted, sizeof wanted);
        assert_true(fine(tern_chip_destroy(chip)));
    }
}

struct counts {
    tern_chip *chip;
    int32_t counts[2];
    float *out;
    struct spmd_task task;
    _Atomic int arrived;
};

static int available(tern_graph *graph, void *arg)
{
    struct counts *c = arg;
    tern_region counts = row_of(c->counts, 2, TERN_REGION_I32);
    tern_region out = row_of(c->out, LINES_MAX * LINE, TERN_REGION_F32);
    int clusters = tern_chip_cores(c->chip, TERN_CORE_MIX);
    int aiv = tern_chip_cores(c->chip, TERN_CORE_AIV);
    c->task = (struct spmd_task)MS_(clusters, 0);
    tern_task task = {.core = TERN_CORE_MIX,
                      .mix = {write_line, write_line, write_line},
                      .blocks = clusters,
                      .sync_start = true};
    tern_task_arg args[] = {region_arg(TERN_INOUT, &out), scalar_arg(0), scalar_arg(word(&c->task)),
                            scalar_arg(word(&c->arrived))};
    TRY(submit(graph, &task, args, 4, NULL));
    TRY(tern_graph_set_element(graph, &counts, (uint32_t[]){0}, (uint64_t)clusters));
    return tern_graph_set_element(graph, &counts, (uint32_t[]){1}, (uint64_t)aiv);
}

static void an_orchestration_knows_how_many_cores_there_are(void **state)
{
    for (int i = 0; i < SHAPES; i++) {
        struct counts c = {.chip = chip_of(shapes[i][0], shapes[i][1])};
        c.out = calloc(LINES_MAX * LINE, sizeof *c.out);
        int clusters = shapes[i][0] < shapes[i][1] / 2 ? shapes[i][0] : shapes[i][1] / 2;
        assert_true(fine(run_rings(c.chip, NULL, available, &c, false)));
        assert_int_equal(c.counts[0], clusters);
        assert_int_equal(c.counts[1], shapes[i][1]);
        for (int line = 0; line < 3 * clusters; line++) {
            int block = line / 3;
            assert_true(c.out[line * LINE] == (float)block);
        }
        assert_int_equal(tern_chip_cores(c.chip, TERN_CORE_AIC), shapes[i][0]);
        assert_int_equal(tern_chip_cores(c.chip, TERN_CORE_NONE), 0);
        assert_true(fine(tern_chip_destroy(c.chip)));
        free(c.out);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_mix_task_knows_its_slots),
        cmocka_unit_test(multiblock_aiv),
        cmocka_unit_test(multiblock_mix),
        cmocka_unit_test(more_blocks_than_clusters_twice),
        cmocka_unit_test(blocks_that_start_together),
        cmocka_unit_test(vector_blocks_that_start_together),
        cmocka_unit_test(one_block_and_nearly_all_start_together),
        cmocka_unit_test(many_that_start_together),
        cmocka_unit_test(those_that_start_together_are_not_starved),
        cmocka_unit_test(an_orchestration_knows_how_many_cores_there_are),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
