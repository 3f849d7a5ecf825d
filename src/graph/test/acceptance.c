// SPDX-License-Identifier: Apache-2.0
// What programs for the chip runtime rely on, as small programs with exact results: the vector
// example on all three builders, single elements, tasks that only order, predicates, heaps, and
// many edges. Blocks and clusters: spmd.c; what ends a run: fatal.c.
#include "support/cmocka.h"

#include <stdlib.h>

#include "rings_kit.h"

enum { LENGTH = 16384 };

static void add_vectors(int64_t *args)
{
    const float *x = pointer(args[0]);
    const float *y = pointer(args[1]);
    float *z = pointer(args[2]);
    for (int64_t i = 0; i < args[3]; i++) {
        z[i] = x[i] + y[i];
    }
}

static void multiply_vectors(int64_t *args)
{
    const float *x = pointer(args[0]);
    const float *y = pointer(args[1]);
    float *z = pointer(args[2]);
    for (int64_t i = 0; i < args[3]; i++) {
        z[i] = x[i] * y[i];
    }
}

static void add_scalar(int64_t *args)
{
    const float *x = pointer(args[0]);
    float *z = pointer(args[2]);
    for (int64_t i = 0; i < args[3]; i++) {
        z[i] = x[i] + (float)args[1];
    }
}

struct vectors {
    float a[LENGTH], b[LENGTH], c[LENGTH], d[LENGTH], e[LENGTH], f[LENGTH];
    bool publishes;
};

// c = a + b; d = c + 1; e = c + 2; f = d * e.
static int build_vectors(tern_graph *graph, void *arg)
{
    struct vectors *v = arg;
    const struct {
        tern_kernel kernel;
        int64_t args[4];
    } tasks[4] = {{add_vectors, {word(v->a), word(v->b), word(v->c), LENGTH}},
                  {add_scalar, {word(v->c), 1, word(v->d), LENGTH}},
                  {add_scalar, {word(v->c), 2, word(v->e), LENGTH}},
                  {multiply_vectors, {word(v->d), word(v->e), word(v->f), LENGTH}}};
    static const int before[4][2] = {{-1, -1}, {0, -1}, {0, -1}, {1, 2}};
    for (int i = 0; i < 4; i++) {
        int id;
        tern_task task = {.kernel = tasks[i].kernel,
                          .core = TERN_CORE_AIV,
                          .args = tasks[i].args,
                          .args_count = 4};
        TRY(tern_graph_add_task(graph, &task, &id));
        for (int k = 0; k < 2 && before[i][k] >= 0; k++) {
            TRY(tern_graph_add_edge(graph, before[i][k], id));
        }
        if (v->publishes) {
            TRY(tern_graph_publish(graph, id));
        }
    }
    return TERN_OK;
}

static struct vectors *make_vectors(void)
{
    struct vectors *v = calloc(1, sizeof *v);
    for (int i = 0; i < LENGTH; i++) {
        v->a[i] = 2;
        v->b[i] = 3;
    }
    return v;
}

static void check_vectors(struct vectors *v)
{
    for (int i = 0; i < LENGTH; i++) {
        assert_true(v->f[i] == 42.0f);
    }
    memset(v->c, 0, offsetof(struct vectors, publishes) - offsetof(struct vectors, c));
}

static void the_vector_example_built_on_the_host(void **state)
{
    struct vectors *v = make_vectors();
    tern_chip *chip = chip_of(0, 3);
    tern_graph *graph;
    assert_true(fine(tern_graph_create(&graph)));
    assert_true(fine(build_vectors(graph, v)));
    for (int run = 0; run < 5; run++) {
        assert_true(fine(tern_chip_launch(chip, graph)));
        assert_true(fine(tern_chip_synchronize(chip)));
        check_vectors(v);
    }
    assert_true(fine(tern_graph_destroy(graph)));
    assert_true(fine(tern_chip_destroy(chip)));
    free(v);
}

static void the_vector_example_built_on_the_chip(void **state)
{
    struct vectors *v = make_vectors();
    v->publishes = true;
    for (int i = 0; i < 6; i++) {
        tern_chip *chip = chip_of(0, 1 + i / 2);
        tern_graph *graph;
        assert_true(fine(tern_graph_create(&graph)));
        assert_true(fine(tern_chip_orchestrate(chip, graph, build_vectors, v,
                                               &(tern_orchestrate_options){i % 2 != 0})));
        assert_true(fine(tern_chip_synchronize(chip)));
        check_vectors(v);
        assert_true(fine(tern_graph_destroy(graph)));
        assert_true(fine(tern_chip_destroy(chip)));
    }
    free(v);
}

// Kernels of rings: regions of floats.
static float *floats(int64_t arg)
{
    return tern_region_data(pointer(arg));
}

static void add_regions(int64_t *args)
{
    const tern_region *out = pointer(args[2]);
    for (uint64_t i = 0; i < tern_region_count(out); i++) {
        floats(args[2])[i] = floats(args[0])[i] + floats(args[1])[i];
    }
}

static void add_to_region(int64_t *args)
{
    const tern_region *changed = pointer(args[0]);
    for (uint64_t i = 0; i < tern_region_count(changed); i++) {
        floats(args[0])[i] += floats(args[1])[i];
    }
}

static void copy_region(int64_t *args)
{
    const tern_region *out = pointer(args[1]);
    for (uint64_t i = 0; i < tern_region_count(out); i++) {
        floats(args[1])[i] = floats(args[0])[i];
    }
}

static void copy_first(int64_t *args)
{
    floats(args[1])[0] = floats(args[0])[0];
}

static void set_first(int64_t *args)
{
    sleep_ns(MS); // the order is not that of luck
    if (tern_kernel_slot() == 0) {
        floats(args[0])[0] = (float)args[1];
    }
}

static tern_task vector_task(tern_kernel kernel)
{
    return (tern_task){.core = TERN_CORE_AIV, .kernel = kernel};
}

static int run_task(tern_graph *graph, tern_kernel kernel, const tern_task_arg *args, int count)
{
    tern_task task = vector_task(kernel);
    return submit(graph, &task, args, count, NULL);
}

static uint64_t bits_of(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static int get(tern_graph *graph, const tern_region *region, uint32_t index, float *value)
{
    uint64_t bits = UINT64_MAX;
    TRY(tern_graph_get_element(graph, region, &index, &bits));
    memcpy(value, &bits, sizeof *value);
    return bits >> 32 == 0 ? TERN_OK : TERN_ERR_ARG;
}

static int set(tern_graph *graph, const tern_region *region, uint32_t index, float value)
{
    return tern_graph_set_element(graph, region, &index, bits_of(value));
}

struct scalars {
    float a[LENGTH], b[LENGTH], result[LENGTH], copy[LENGTH];
    float check[9];
};

static int scalar_data(tern_graph *graph, void *arg)
{
    struct scalars *s = arg;
    tern_region a = row_of(s->a, LENGTH, TERN_REGION_F32);
    tern_region b = row_of(s->b, LENGTH, TERN_REGION_F32);
    tern_region result = row_of(s->result, LENGTH, TERN_REGION_F32);
    tern_region copy = row_of(s->copy, LENGTH, TERN_REGION_F32);
    tern_region c = row_of(NULL, LENGTH, TERN_REGION_F32);
    tern_region one = row_of(NULL, 1, TERN_REGION_F32);
    tern_region d = row_of(NULL, LENGTH, TERN_REGION_F32);
    tern_task none = {.core = TERN_CORE_NONE};
    tern_task_arg sum[] = {region_arg(TERN_IN, &a), region_arg(TERN_IN, &b),
                           region_arg(TERN_OUT, &c)};
    TRY(run_task(graph, add_regions, sum, 3));
    TRY(get(graph, &c, 0, &s->check[0]));
    TRY(get(graph, &c, 100, &s->check[1]));
    tern_task_arg filled[] = {
        {.access = TERN_OUT, .region = &one, .filled = true, .fill = bits_of(77)}};
    TRY(submit(graph, &none, filled, 1, NULL));
    TRY(get(graph, &one, 0, &s->check[2]));
    tern_task_arg same[] = {region_arg(TERN_INOUT, &one)};
    TRY(run_task(graph, do_nothing, same, 1));
    TRY(get(graph, &one, 0, &s->check[3]));
    float first;
    TRY(get(graph, &a, 0, &first));
    s->check[4] = first + s->check[3];
    TRY(set(graph, &one, 0, 42));
    TRY(get(graph, &one, 0, &s->check[5]));
    tern_task_arg zeros[] = {{.access = TERN_OUT, .region = &d, .filled = true}};
    TRY(submit(graph, &none, zeros, 1, NULL));
    TRY(set(graph, &d, 0, 10));
    tern_task_arg add[] = {region_arg(TERN_INOUT, &d), region_arg(TERN_IN, &a)};
    TRY(run_task(graph, add_to_region, add, 2));
    TRY(get(graph, &d, 0, &s->check[6]));
    tern_task_arg reads[] = {region_arg(TERN_IN, &c), region_arg(TERN_OUT_EXISTING, &result)};
    TRY(run_task(graph, copy_region, reads, 2)); // before c[0] changes
    TRY(set(graph, &c, 0, 88));
    TRY(get(graph, &c, 0, &s->check[7]));
    tern_task_arg writes[] = {region_arg(TERN_IN, &b), region_arg(TERN_OUT_EXISTING, &copy)};
    TRY(run_task(graph, copy_region, writes, 2));
    TRY(set(graph, &copy, 0, 55)); // after its writer
    return get(graph, &copy, 0, &s->check[8]);
}

static void single_elements_are_read_and_written_in_their_turn(void **state)
{
    static const float wanted[9] = {2, 102, 77, 77, 79, 42, 12, 88, 55};
    struct scalars *s = calloc(1, sizeof *s);
    for (int i = 0; i < 10; i++) {
        tern_chip *chip = chip_of(0, 1 + i / 2);
        for (int k = 0; k < LENGTH; k++) {
            s->a[k] = 2;
            s->b[k] = (float)k;
            s->result[k] = s->copy[k] = -1;
        }
        assert_true(fine(run_rings(chip, NULL, scalar_data, s, i % 2 != 0)));
        assert_memory_equal(s->check, wanted, sizeof wanted);
        for (int k = 0; k < LENGTH; k++) {
            assert_true(s->result[k] == (float)(2 + k));
            assert_true(s->copy[k] == (k == 0 ? 55 : (float)k));
        }
        assert_true(fine(tern_chip_destroy(chip)));
    }
    free(s);
}

// A task that only orders, after and before others; its id.
static int order(tern_graph *graph, const tern_task_id *after, int count, tern_task_id *id)
{
    tern_submission submission = {.task = {.core = TERN_CORE_NONE},
                                  .after = after,
                                  .after_count = count};
    return tern_graph_submit(graph, &submission, id);
}

enum { FAN = 18 };

static int order_with_dummies(tern_graph *graph, int how, tern_task_id x_writer,
                              tern_task_id w_writer, tern_task_id *last)
{
    tern_task_id fan[FAN];
    switch (how) {
    case 0: // one
        return order(graph, &x_writer, 1, last);
    case 1: // a chain of four
        *last = x_writer;
        for (int i = 0; i < 4; i++) {
            TRY(order(graph, last, 1, last));
        }
        return TERN_OK;
    case 2: // a barrier
        return order(graph, (tern_task_id[]){x_writer, w_writer}, 2, last);
    default: // out and in
        for (int i = 0; i < FAN; i++) {
            TRY(order(graph, &x_writer, 1, &fan[i]));
        }
        return order(graph, fan, FAN, last);
    }
}

struct dummies {
    float x, y, w;
    int how;
};

static int dummies(tern_graph *graph, void *arg)
{
    struct dummies *s = arg;
    tern_region x = row_of(&s->x, 1, TERN_REGION_F32);
    tern_region w = row_of(&s->w, 1, TERN_REGION_F32);
    tern_region y = row_of(&s->y, 1, TERN_REGION_F32);
    tern_task_id writers[2];
    tern_task_id last;
    tern_task task = vector_task(set_first);
    TRY(tern_graph_scope_begin(graph, TERN_SCOPE_MANUAL)); // no order but that of `after`
    tern_task_arg to_x[] = {region_arg(TERN_INOUT, &x), scalar_arg(42)};
    TRY(submit(graph, &task, to_x, 2, &writers[0]));
    tern_task_arg to_w[] = {region_arg(TERN_INOUT, &w), scalar_arg(7)};
    TRY(submit(graph, &task, to_w, 2, &writers[1]));
    TRY(order_with_dummies(graph, s->how, writers[0], writers[1], &last));
    tern_task_arg copy[] = {region_arg(TERN_IN, &x), region_arg(TERN_OUT_EXISTING, &y)};
    tern_submission reader = {.task = vector_task(copy_first),
                              .args = copy,
                              .args_count = 2,
                              .after = &last,
                              .after_count = 1};
    TRY(tern_graph_submit(graph, &reader, NULL));
    return tern_graph_scope_end(graph);
}

static void tasks_without_kernels_order_others(void **state)
{
    for (int i = 0; i < 4 * 2 * 3; i++) {
        struct dummies s = {.how = i % 4};
        tern_chip *chip = chip_of(0, 1 + i / 8);
        assert_true(fine(run_rings(chip, NULL, dummies, &s, i / 4 % 2 != 0)));
        assert_true(s.y == 42.0f && s.x == 42.0f && s.w == 7.0f);
        assert_true(fine(tern_chip_destroy(chip)));
    }
}

struct gate {
    float x, y;
    int32_t gate[2];
    int32_t opens;
    tern_core core;
};

static void set_gate(int64_t *args)
{
    sleep_ns(MS);
    *(int32_t *)tern_region_data(pointer(args[0])) = (int32_t)args[1];
}

static int predicated(tern_graph *graph, void *arg)
{
    struct gate *s = arg;
    tern_region x = row_of(&s->x, 1, TERN_REGION_F32);
    tern_region y = row_of(&s->y, 1, TERN_REGION_F32);
    tern_region gate = row_of(s->gate, 1, TERN_REGION_I32);
    tern_task_arg opens[] = {region_arg(TERN_INOUT, &gate), scalar_arg(s->opens)};
    TRY(run_task(graph, set_gate, opens, 2));
    tern_task_arg first[] = {region_arg(TERN_INOUT, &x), scalar_arg(42)};
    TRY(run_task(graph, set_first, first, 2));
    tern_predicate predicate = {.address = s->gate,
                                .dtype = TERN_I32,
                                .cmp = TERN_CMP_GT,
                                .value = 0};
    tern_task task = {.core = s->core, .predicate = &predicate};
    task.kernel = s->core == TERN_CORE_AIV ? set_first : NULL;
    task.mix[0] = s->core == TERN_CORE_MIX ? set_first : NULL;
    task.mix[2] = task.mix[0];
    tern_task_arg second[] = {region_arg(TERN_INOUT, &x), scalar_arg(999),
                              region_arg(TERN_IN, &gate)};
    TRY(submit(graph, &task, second, 3, NULL));
    tern_task_arg copy[] = {region_arg(TERN_IN, &x), region_arg(TERN_OUT_EXISTING, &y)};
    return run_task(graph, copy_first, copy, 2);
}

static void a_predicate_is_looked_at_when_the_task_would_start(void **state)
{
    static const tern_core cores[] = {TERN_CORE_AIV, TERN_CORE_MIX, TERN_CORE_NONE};
    for (int i = 0; i < 3 * 2 * 2; i++) {
        struct gate s = {.opens = i % 2, .core = cores[i / 4]};
        tern_chip *chip = chip_of(1, 2);
        assert_true(fine(run_rings(chip, NULL, predicated, &s, i / 2 % 2 != 0)));
        assert_true(s.y == (s.opens && s.core != TERN_CORE_NONE ? 999.0f : 42.0f));
        assert_true(fine(tern_chip_destroy(chip)));
    }
}

struct rebase {
    float y[2];
    bool holds;           // a task without outputs stays in flight
    uint32_t first_bytes; // of the first output
};

static int two_scopes(tern_graph *graph, void *arg)
{
    struct rebase *s = arg;
    tern_task none = {.core = TERN_CORE_NONE};
    for (int i = 0; i < 2; i++) {
        tern_region y = row_of(&s->y[i], 1, TERN_REGION_F32);
        uint32_t bytes = i == 0 ? s->first_bytes : 1 << 20;
        tern_region big = row_of(NULL, bytes / sizeof(float), TERN_REGION_F32);
        TRY(tern_graph_scope_begin(graph, TERN_SCOPE_AUTO));
        if (s->holds) {
            TRY(submit(graph, &none, NULL, 0, NULL));
        }
        tern_task_arg make[] = {
            {.access = TERN_OUT, .region = &big, .filled = true, .fill = bits_of(42)}};
        TRY(submit(graph, &none, make, 1, NULL));
        tern_task_arg copy[] = {region_arg(TERN_IN, &big), region_arg(TERN_OUT_EXISTING, &y)};
        TRY(run_task(graph, copy_first, copy, 2));
        TRY(tern_graph_scope_end(graph));
    }
    return TERN_OK;
}

static void an_empty_heap_is_used_from_its_beginning(void **state)
{
    tern_ring_options options = {.heap = {256 << 20, 3 << 19, 256 << 20, 256 << 20}};
    for (int i = 0; i < 8; i++) {
        struct rebase s = {.holds = i / 2 % 2 != 0, .first_bytes = i / 4 != 0 ? 3 << 18 : 1 << 20};
        tern_chip *chip = chip_of(0, 2);
        assert_true(fine(run_rings(chip, &options, two_scopes, &s, i % 2 != 0)));
        assert_true(s.y[0] == 42.0f && s.y[1] == 42.0f);
        assert_true(fine(tern_chip_destroy(chip)));
    }
}

enum { PRODUCERS = 64, CONSUMERS = 64 };
struct fan {
    float in[PRODUCERS], out[CONSUMERS];
    bool dummy; // consumers only order; a reader behind each
};

static void check_producers(int64_t *args)
{
    const float *in = floats(args[0]);
    float sum = 0;
    for (int i = 0; i < PRODUCERS; i++) {
        sum += in[i];
    }
    floats(args[1])[0] = sum / PRODUCERS;
}

static int fan_in(tern_graph *graph, void *arg)
{
    struct fan *s = arg;
    tern_region in = row_of(s->in, PRODUCERS, TERN_REGION_F32);
    tern_task_id producers[PRODUCERS];
    tern_task task = vector_task(set_first);
    TRY(tern_graph_scope_begin(graph, TERN_SCOPE_MANUAL));
    for (int i = 0; i < PRODUCERS; i++) {
        tern_region slot = row_of(&s->in[i], 1, TERN_REGION_F32);
        tern_task_arg args[] = {region_arg(TERN_INOUT, &slot), scalar_arg(42)};
        TRY(submit(graph, &task, args, 2, &producers[i]));
    }
    for (int i = 0; i < CONSUMERS; i++) {
        tern_region slot = row_of(&s->out[i], 1, TERN_REGION_F32);
        tern_task_arg args[] = {region_arg(TERN_IN, &in), region_arg(TERN_INOUT, &slot)};
        tern_task_id ordered;
        tern_submission consumer = {.task = vector_task(check_producers),
                                    .args = args,
                                    .args_count = 2,
                                    .after = producers,
                                    .after_count = PRODUCERS};
        if (s->dummy) {
            TRY(order(graph, producers, PRODUCERS, &ordered));
            consumer.after = &ordered;
            consumer.after_count = 1;
        }
        TRY(tern_graph_submit(graph, &consumer, NULL));
    }
    return tern_graph_scope_end(graph);
}

static void a_task_may_come_after_many(void **state)
{
    for (int i = 0; i < 8; i++) {
        struct fan s = {.dummy = i % 2 != 0};
        tern_chip *chip = chip_of(0, 1 + i / 4 * 2);
        assert_true(fine(run_rings(chip, NULL, fan_in, &s, i / 2 % 2 != 0)));
        for (int k = 0; k < CONSUMERS; k++) {
            assert_true(s.out[k] == 42.0f);
        }
        assert_true(fine(tern_chip_destroy(chip)));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_vector_example_built_on_the_host),
        cmocka_unit_test(the_vector_example_built_on_the_chip),
        cmocka_unit_test(single_elements_are_read_and_written_in_their_turn),
        cmocka_unit_test(tasks_without_kernels_order_others),
        cmocka_unit_test(a_predicate_is_looked_at_when_the_task_would_start),
        cmocka_unit_test(an_empty_heap_is_used_from_its_beginning),
        cmocka_unit_test(a_task_may_come_after_many),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
