// SPDX-License-Identifier: Apache-2.0
// Random orchestrations of buffers with many writers and many readers: parts are written by tasks
// of their own and read as a whole, in nested scopes, by several in turn; in between a part or an
// element gets a new value. What a reader is to see is known when it is submitted. Small rings, so
// that memory and rows that are given back too early are another task's. TERN_TEST_CASES: how
// many; TERN_TEST_SEED.
#include "support/cmocka.h"

#include <stdlib.h>

#include "rings_kit.h"

enum {
    CELLS = 16,
    OWN = 3,   // buffers of the program
    MADE = 5,  // outputs of a unit
    DEPTH = 6, // of scopes
    UNITS = 5,
    TASKS = 60, // of a unit: fewer than a window has rows
    ARGS = 3,   // regions of a reader
    AFTER = 3,
};

struct buffer {
    tern_region whole;
    int64_t cells[CELLS]; // as they are once all that was submitted has run
    int depth;            // of the scope that made it
    bool was_read;
};

struct orchestration {
    uint64_t random;
    bool upstream;
    int fails; // this many tasks before the one that fails; -1: none does
    int64_t own[OWN][CELLS];
    struct buffer buffers[OWN + MADE];
    int count, depth, tasks, all_tasks, outputs;
    tern_task_id ids[TASKS];
    _Atomic int read, wrong;
    int readers;
};

static int below(struct orchestration *o, int limit)
{
    return (int)random_below(&o->random, (uint64_t)limit);
}

// Some take their time.
static void pause_for(int64_t steps)
{
    for (_Atomic int64_t i = 0; i < steps; i++) {
    }
}

static int64_t some_steps(struct orchestration *o)
{
    return below(o, 6) == 0 ? below(o, 20000) : 0;
}

static int64_t next_of(int64_t value, int64_t with)
{
    const uint64_t mixed = (uint64_t)value * 31 + (uint64_t)with;
    return (int64_t)(mixed ^ mixed >> 29);
}

// args: part, what is mixed in, steps, whether it fails
static void write_part(int64_t *args)
{
    const tern_region *part = pointer(args[0]);
    int64_t *cells = tern_region_data(part);
    pause_for(args[2]);
    if (args[3] != 0) {
        tern_kernel_fail("on purpose");
        return;
    }
    for (uint32_t i = 0; i < part->shape[0]; i++) {
        cells[i] = next_of(cells[i], args[1]);
    }
}

// args: regions, hash, steps, struct orchestration
static void read_parts(int64_t *args)
{
    struct orchestration *o = pointer(args[ARGS + 2]);
    int64_t hash = 0;
    for (int i = 0; i < ARGS; i++) {
        const tern_region *part = pointer(args[i]);
        const int64_t *cells = tern_region_data(part);
        for (uint32_t k = 0; k < part->shape[0]; k++) {
            hash = next_of(hash, cells[k]);
        }
        pause_for(args[ARGS + 1]);
    }
    atomic_fetch_add(&o->read, 1);
    atomic_fetch_add(&o->wrong, hash != args[ARGS]);
}

// args: buffer. What the memory had before is gone.
static void clear(int64_t *args)
{
    const tern_region *region = pointer(args[0]);
    memset(tern_region_data(region), 0x7f, CELLS * sizeof(int64_t));
}

static int submit_one(tern_graph *graph, struct orchestration *o, tern_kernel kernel,
                      const tern_task_arg *args, int count)
{
    tern_task_id after[AFTER];
    tern_submission submission = {.task = {.kernel = kernel, .core = TERN_CORE_AIV},
                                  .args = args,
                                  .args_count = count,
                                  .after = after};
    const int wanted = below(o, 3) == 0 ? below(o, AFTER + 1) : 0;
    for (; submission.after_count < wanted && o->tasks > 0; submission.after_count++) {
        const int back = below(o, o->tasks < 4 ? o->tasks : 4); // one of the last
        after[submission.after_count] = o->ids[o->tasks - 1 - back];
    }
    TRY(tern_graph_submit(graph, &submission, &o->ids[o->tasks]));
    o->tasks++;
    o->all_tasks++;
    return TERN_OK;
}

static int make_buffer(tern_graph *graph, struct orchestration *o)
{
    if (o->outputs == MADE) {
        return TERN_OK;
    }
    struct buffer *made = &o->buffers[o->count];
    *made = (struct buffer){.whole = row_of(NULL, CELLS, TERN_REGION_I64), .depth = o->depth};
    memset(made->cells, 0x7f, sizeof made->cells);
    const tern_task_arg out = region_arg(TERN_OUT, &made->whole);
    TRY(submit_one(graph, o, clear, &out, 1));
    o->count++;
    o->outputs++;
    return TERN_OK;
}

static tern_region part_of(const struct buffer *buffer, int first, int count)
{
    tern_region part = buffer->whole;
    (void)fine(tern_region_view(&buffer->whole, (uint32_t[]){(uint32_t)count},
                                (uint32_t[]){(uint32_t)first}, &part));
    return part;
}

static int write_cells(tern_graph *graph, struct orchestration *o, struct buffer *buffer, int first,
                       int count)
{
    tern_region part = part_of(buffer, first, count);
    const int64_t with = (int64_t)random_next(&o->random);
    const tern_task_arg args[] = {region_arg(TERN_INOUT, &part), scalar_arg(with),
                                  scalar_arg(some_steps(o)), scalar_arg(o->all_tasks == o->fails)};
    for (int i = first; i < first + count; i++) {
        buffer->cells[i] = next_of(buffer->cells[i], with);
    }
    return submit_one(graph, o, write_part, args, 4);
}

// Upstream's writers wait for no reader.
static struct buffer *some_buffer(struct orchestration *o, bool to_write)
{
    struct buffer *buffer = &o->buffers[below(o, o->count)];
    return to_write && o->upstream && buffer->was_read ? NULL : buffer;
}

static int write_all(tern_graph *graph, struct orchestration *o)
{
    struct buffer *buffer = some_buffer(o, true);
    const int width = 1 + (below(o, 4) == 0);
    for (int i = 0; buffer != NULL && i < CELLS && o->tasks < TASKS; i += width) {
        TRY(write_cells(graph, o, buffer, i, width));
    }
    return TERN_OK;
}

static int read_some(tern_graph *graph, struct orchestration *o)
{
    struct buffer *buffer = some_buffer(o, false);
    tern_region parts[ARGS];
    tern_task_arg args[ARGS + 3];
    int64_t hash = 0;
    for (int i = 0; i < ARGS; i++) {
        const bool whole = below(o, 5) != 0;
        const int first = whole ? 0 : below(o, CELLS);
        const int count = whole ? CELLS : 1 + below(o, CELLS - first);
        buffer = below(o, 3) == 0 ? some_buffer(o, false) : buffer;
        buffer->was_read = true;
        parts[i] = part_of(buffer, first, count);
        args[i] = region_arg(TERN_IN, &parts[i]);
        for (int k = first; k < first + count; k++) {
            hash = next_of(hash, buffer->cells[k]);
        }
    }
    args[ARGS] = scalar_arg(hash);
    args[ARGS + 1] = scalar_arg(some_steps(o) / ARGS);
    args[ARGS + 2] = scalar_arg(word(o));
    o->readers++;
    return submit_one(graph, o, read_parts, args, ARGS + 3);
}

static int look_at_element(tern_graph *graph, struct orchestration *o)
{
    struct buffer *buffer = some_buffer(o, true);
    const uint32_t at = (uint32_t)below(o, CELLS);
    uint64_t value = 0;
    if (buffer == NULL) {
        return TERN_OK;
    }
    if (below(o, 2) == 0) {
        buffer->cells[at] = (int64_t)random_next(&o->random);
        return tern_graph_set_element(graph, &buffer->whole, &at, (uint64_t)buffer->cells[at]);
    }
    TRY(tern_graph_get_element(graph, &buffer->whole, &at, &value));
    atomic_fetch_add(&o->wrong, (int64_t)value != buffer->cells[at]);
    return TERN_OK;
}

static int end_scope(tern_graph *graph, struct orchestration *o)
{
    while (o->count > OWN && o->buffers[o->count - 1].depth == o->depth) {
        o->count--;
    }
    o->depth--;
    return tern_graph_scope_end(graph);
}

static int step(tern_graph *graph, struct orchestration *o)
{
    struct buffer *buffer;
    switch (below(o, 14)) {
    case 0:
    case 1:
        return write_all(graph, o);
    case 2:
        buffer = some_buffer(o, true);
        return buffer != NULL ? write_cells(graph, o, buffer, below(o, CELLS - 4), 1 + below(o, 4))
                              : TERN_OK;
    case 3:
        return below(o, 3) == 0 ? look_at_element(graph, o) : TERN_OK;
    case 4:
        return make_buffer(graph, o);
    case 5:
        if (o->depth < DEPTH) {
            o->depth++;
            return tern_graph_scope_begin(graph, TERN_SCOPE_AUTO);
        }
        return TERN_OK;
    case 6:
        return o->depth > 1 ? end_scope(graph, o) : TERN_OK;
    default:
        return read_some(graph, o);
    }
}

static int orchestrate(tern_graph *graph, void *arg)
{
    struct orchestration *o = arg;
    for (int unit = 0; unit < UNITS; unit++) {
        o->depth = 1;
        o->tasks = o->outputs = 0;
        TRY(tern_graph_scope_begin(graph, TERN_SCOPE_AUTO));
        while (o->tasks < TASKS && below(o, 100) != 0) {
            TRY(step(graph, o));
        }
        while (o->depth > 0) {
            TRY(end_scope(graph, o));
        }
    }
    return TERN_OK;
}

static void make(struct orchestration *o, uint64_t seed)
{
    memset(o, 0, sizeof *o);
    o->random = seed;
    o->upstream = below(o, 4) == 0;
    o->fails = below(o, 8) == 0 ? below(o, 20) : -1;
    o->count = OWN;
    for (int i = 0; i < OWN; i++) {
        o->buffers[i].whole = row_of(o->own[i], CELLS, TERN_REGION_I64);
    }
}

static bool is_well(struct orchestration *o, int status)
{
    if (o->wrong != 0) {
        fprintf(stderr, "%d of %d readers saw something else\n", o->wrong, o->read);
        return false;
    }
    if (status == TERN_ERR_KERNEL && o->fails >= 0) {
        return said("on purpose");
    }
    for (int i = 0; i < OWN; i++) {
        if (memcmp(o->own[i], o->buffers[i].cells, sizeof o->own[i]) != 0) {
            fprintf(stderr, "buffer %d has other values\n", i);
            return false;
        }
    }
    return fine(status) && o->read == o->readers;
}

static void readers_see_what_was_submitted_before(void **state)
{
    enum { CHIPS = 4 };
    static const int cores[CHIPS] = {1, 2, 3, 8};
    static struct orchestration o;
    tern_chip *chips[CHIPS];
    const uint64_t seed = random_seed();
    for (int i = 0; i < CHIPS; i++) {
        chips[i] = chip_of(0, cores[i]);
    }
    for (uint64_t i = 0; i < cases_wanted(300); i++) {
        make(&o, seed + i);
        const tern_ring_options options = {.window = {64},
                                           .heap = {8 << 10},
                                           .edges = {8192},
                                           .regions = {256},
                                           .flags = o.upstream ? TERN_RINGS_UPSTREAM : 0};
        const int status =
            run_rings(chips[i % CHIPS], &options, orchestrate, &o, below(&o, 4) == 0);
        const bool well = is_well(&o, status);
        if (!well) {
            fprintf(stderr, "case %llu on %d cores: TERN_TEST_SEED=%llu\n", (unsigned long long)i,
                    cores[i % CHIPS], (unsigned long long)seed);
        }
        assert_true(well);
    }
    for (int i = 0; i < CHIPS; i++) {
        assert_true(fine(tern_chip_destroy(chips[i])));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(readers_see_what_was_submitted_before),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
