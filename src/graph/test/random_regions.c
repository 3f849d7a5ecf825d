// SPDX-License-Identifier: Apache-2.0
// Random orchestrations of regions: views, transposed and reshaped, of memory and of outputs, with
// all kinds of access, in nested scopes, in rings that are small; elements are read and written in
// between. While it submits, the orchestration does what each task does in memory of its own, one
// after the other; in the end both memories are the same. Kernels are not commutative.
// TERN_TEST_CASES: how many; TERN_TEST_SEED.
#include "support/cmocka.h"

#include <stdlib.h>

#include "rings_kit.h"

enum {
    SIDE = 8,
    CELLS = SIDE * SIDE,
    REGIONS = 4, // of a task
    DEPTH = 6,   // of scopes
    MADE = 8,    // outputs that are known, of each depth
    KEPT = 10,   // tasks in flight that only the end of a scope lets go, of each ring
    TASKS = 60,
    FRESH = 2 * TASKS,
};

enum { SHARED, MANUAL, CONSTANT, MEMORIES };

struct job { // what a kernel has to do
    int id, count, calls;
    tern_access access[REGIONS];
};

struct output {
    tern_region real, shadow;
    int64_t *memory;
};

struct orchestration {
    uint64_t random;
    const tern_chip *chip;
    bool upstream;
    int steps;
    int64_t real[MEMORIES][CELLS], shadow[MEMORIES][CELLS];
    int64_t real_fresh[FRESH], shadow_fresh[FRESH];
    int fresh; // used so far
    struct job jobs[TASKS];
    int tasks;
    int depth;
    struct {
        bool manual;
        int outputs_count;
        struct output outputs[MADE];
        int first, tasks; // in its ring
    } scope[DEPTH + 1];
    int next[TERN_RINGS]; // tasks submitted
    tern_task_id ids[TASKS];
    tern_task_id manual_last;
};

static int below(struct orchestration *o, int limit)
{
    return (int)random_below(&o->random, (uint64_t)limit);
}

// The element of a region at a place, counted in its order.
static int64_t *element_at(const tern_region *region, uint64_t place)
{
    uint64_t at = 0;
    for (uint32_t d = region->ndims; d-- > 0;) {
        at += place % region->shape[d] * region->stride[d];
        place /= region->shape[d];
    }
    return (int64_t *)tern_region_data(region) + at;
}

static int64_t next_of(int64_t value, uint64_t with)
{
    uint64_t mixed = (uint64_t)value * 3 + with;
    return (int64_t)(mixed ^ mixed >> 31);
}

// Several calls share the elements of one region; one call does all.
static void do_job(const struct job *job, int64_t *args, int call)
{
    uint64_t hash = (uint64_t)job->id * 977;
    for (int i = 0; i < job->count; i++) {
        const tern_region *region = pointer(args[i]);
        uint64_t count = tern_region_count(region);
        for (uint64_t k = 0; k < count; k++) {
            if (job->calls > 1) {
                if (job->access[i] == TERN_INOUT && k % (uint64_t)job->calls == (uint64_t)call) {
                    int64_t *cell = element_at(region, k);
                    *cell = next_of(*cell, hash + (uint64_t)call);
                }
                continue;
            }
            int64_t *cell = job->access[i] != TERN_NO_DEP ? element_at(region, k) : NULL;
            switch (job->access[i]) {
            case TERN_IN:
                hash = (uint64_t)next_of(*cell, hash);
                break;
            case TERN_INOUT:
                *cell = next_of(*cell, hash + k);
                break;
            case TERN_OUT:
            case TERN_OUT_EXISTING:
                *cell = next_of((int64_t)k, hash);
                break;
            default:
                break;
            }
        }
    }
}

static void kernel(int64_t *args)
{
    const struct job *job = pointer(args[REGIONS]);
    int slots = job->calls / tern_kernel_blocks();
    do_job(job, args, tern_kernel_block() * slots + tern_kernel_slot());
}

// A random part, in a random form.
static tern_region random_part(struct orchestration *o, const tern_region *whole)
{
    tern_region part = *whole;
    tern_region next;
    uint32_t shape[2];
    uint32_t offset[2];
    if (below(o, 4) == 0 && tern_region_is_contiguous(&part) && tern_region_count(&part) % 4 == 0) {
        uint32_t flat[] = {(uint32_t)tern_region_count(&part) / 4, 4};
        if (fine(tern_region_reshape(&part, flat, 2, &next))) {
            part = next;
        }
    }
    if (below(o, 4) == 0 && part.ndims == 2 && fine(tern_region_transpose(&part, 0, 1, &next))) {
        part = next;
    }
    for (uint32_t d = 0; d < part.ndims; d++) {
        shape[d] = 1 + (uint32_t)below(o, (int)part.shape[d]);
        offset[d] = (uint32_t)below(o, (int)(part.shape[d] - shape[d]) + 1);
    }
    if (below(o, 4) != 0 && fine(tern_region_view(&part, shape, offset, &next))) {
        part = next;
    }
    return part;
}

static tern_region moved(const tern_region *region, const void *from, const void *to)
{
    tern_region result = *region;
    result.address += (uint64_t)(uintptr_t)to - (uint64_t)(uintptr_t)from;
    return result;
}

static tern_region square_of(int64_t *memory)
{
    const uint32_t shape[] = {SIDE, SIDE};
    tern_region region = {0};
    (void)fine(tern_region_make(&region, memory, shape, 2, TERN_REGION_I64));
    return region;
}

// A region of the task and its counterpart in the shadow.
struct choice {
    tern_access access;
    tern_region real, shadow;
};

// Part of one of the memories; or of memory that begins elsewhere in it.
static struct choice of_memory(struct orchestration *o, int which, tern_access access)
{
    struct choice choice = {.access = access};
    int64_t *real = o->real[which];
    if (below(o, 5) == 0) {
        int begin = below(o, CELLS);
        tern_region row =
            row_of(real + begin, (uint32_t)(1 + below(o, CELLS - begin)), TERN_REGION_I64);
        choice.real = random_part(o, &row);
    } else {
        tern_region square = square_of(real);
        choice.real = random_part(o, &square);
    }
    choice.shadow = moved(&choice.real, real, o->shadow[which]);
    return choice;
}

static struct output *some_output(struct orchestration *o)
{
    int depth = below(o, o->depth + 1);
    int count = o->scope[depth].outputs_count;
    return count > 0 ? &o->scope[depth].outputs[below(o, count)] : NULL;
}

static struct choice new_output(struct orchestration *o)
{
    static const uint32_t shape[] = {4, 4};
    struct choice choice = {.access = TERN_OUT};
    (void)fine(tern_region_make(&choice.real, NULL, shape, 2, TERN_REGION_I64));
    choice.shadow = choice.real;
    choice.shadow.address = (uint64_t)(uintptr_t)calloc(16, sizeof(int64_t));
    return choice;
}

static void keep_output(struct orchestration *o, const struct choice *choice)
{
    if (o->scope[o->depth].outputs_count == MADE) {
        free(tern_region_data(&choice->shadow));
        return;
    }
    o->scope[o->depth].outputs[o->scope[o->depth].outputs_count++] =
        (struct output){choice->real, choice->shadow, tern_region_data(&choice->shadow)};
}

static struct choice of_output(struct orchestration *o, const struct output *output,
                               tern_access access)
{
    struct choice choice = {.access = access, .real = random_part(o, &output->real)};
    choice.shadow = moved(&choice.real, tern_region_data(&output->real), output->memory);
    return choice;
}

static struct choice fresh(struct orchestration *o, int at, tern_access access)
{
    struct choice choice = {.access = access};
    choice.real = row_of(&o->real_fresh[at], 1, TERN_REGION_I64);
    choice.shadow = row_of(&o->shadow_fresh[at], 1, TERN_REGION_I64);
    return choice;
}

static tern_access some_access(struct orchestration *o)
{
    static const tern_access all[] = {TERN_IN, TERN_IN, TERN_INOUT, TERN_INOUT, TERN_OUT_EXISTING};
    return all[below(o, 5)];
}

// What upstream orders: all by TERN_INOUT; reading what is not written again.
static struct choice choose_upstream(struct orchestration *o)
{
    const struct output *output = some_output(o);
    switch (below(o, 5)) {
    case 0:
        return of_memory(o, CONSTANT, TERN_IN);
    case 1:
        return o->fresh > 0 ? fresh(o, below(o, o->fresh), TERN_IN)
                            : of_memory(o, SHARED, TERN_INOUT);
    case 2:
        return fresh(o, o->fresh++, TERN_OUT_EXISTING);
    case 3:
        return output != NULL ? of_output(o, output, TERN_INOUT) : new_output(o);
    default:
        return of_memory(o, SHARED, TERN_INOUT);
    }
}

static struct choice choose(struct orchestration *o)
{
    const struct output *output = some_output(o);
    if (o->scope[o->depth].manual) {
        return of_memory(o, MANUAL, some_access(o));
    }
    if (o->upstream) {
        return choose_upstream(o);
    }
    switch (below(o, 8)) {
    case 0:
        return new_output(o);
    case 1:
    case 2:
        return output != NULL ? of_output(o, output, some_access(o)) : new_output(o);
    case 3:
        return output != NULL ? of_output(o, output, TERN_NO_DEP)
                              : of_memory(o, CONSTANT, TERN_NO_DEP);
    default:
        return of_memory(o, SHARED, some_access(o));
    }
}

static void choose_core(struct orchestration *o, tern_task *task, int *calls)
{
    do {
        task->core = (tern_core)below(o, 3);
    } while (tern_chip_cores(o->chip, task->core) == 0);
    bool mix = task->core == TERN_CORE_MIX;
    task->blocks = below(o, 4) == 0 ? 1 + below(o, 4) : 1;
    task->sync_start = below(o, 2) == 0 && task->blocks <= tern_chip_cores(o->chip, task->core);
    task->kernel = mix ? NULL : kernel;
    for (int i = 0; i < 3; i++) {
        task->mix[i] = mix ? kernel : NULL;
    }
    *calls = task->blocks * (mix ? 3 : 1);
}

// The first cell of a choice as a gate: the task has the region, so its turn is clear.
static bool choose_gate(struct orchestration *o, const struct choice *choice,
                        tern_predicate *predicate)
{
    if (below(o, 6) != 0 || (choice->access != TERN_IN && choice->access != TERN_INOUT)) {
        return false;
    }
    *predicate = (tern_predicate){.address = element_at(&choice->real, 0),
                                  .dtype = TERN_I64,
                                  .cmp = below(o, 2) == 0 ? TERN_CMP_GT : TERN_CMP_LE,
                                  .value = 0};
    return true;
}

static bool gate_holds(const tern_predicate *predicate, int64_t seen)
{
    return predicate->cmp == TERN_CMP_GT ? seen > 0 : seen <= 0;
}

static int ring_of(int depth)
{
    return depth < TERN_RINGS ? depth : TERN_RINGS - 1;
}

// Tasks of the ring of this depth that only the end of a scope lets retire.
static int kept_of(const struct orchestration *o)
{
    int ring = ring_of(o->depth);
    int oldest = o->next[ring];
    for (int depth = ring; depth <= o->depth; depth++) {
        if ((ring == TERN_RINGS - 1 || depth == o->depth) && o->scope[depth].tasks > 0 &&
            o->scope[depth].first < oldest) {
            oldest = o->scope[depth].first;
        }
    }
    return o->next[ring] - oldest;
}

static void count_task(struct orchestration *o)
{
    int ring = ring_of(o->depth);
    if (o->scope[o->depth].tasks++ == 0) {
        o->scope[o->depth].first = o->next[ring];
    }
    o->next[ring]++;
}

static int after_of(struct orchestration *o, tern_task_id *after)
{
    int count = 0;
    if (o->scope[o->depth].manual) {
        if (o->manual_last != TERN_TASK_ID_NONE) {
            after[count++] = o->manual_last;
        }
    } else {
        for (int i = below(o, 8) - 4; i > 0 && o->tasks > 0; i--) {
            after[count++] = o->ids[below(o, o->tasks)];
        }
    }
    return count;
}

static int submit_some(tern_graph *graph, struct orchestration *o)
{
    struct choice choices[REGIONS] = {{0}};
    struct job *job = &o->jobs[o->tasks];
    tern_predicate predicate;
    tern_task task = {.name = "some"};
    tern_task_arg args[REGIONS + 1];
    int64_t shadow_args[REGIONS];
    tern_task_id after[8];
    *job = (struct job){.id = o->tasks};
    choose_core(o, &task, &job->calls);
    job->count = job->calls > 1 ? 1 : 1 + below(o, REGIONS);
    for (int i = 0; i < job->count; i++) {
        choices[i] = job->calls > 1
                         ? of_memory(o, o->scope[o->depth].manual ? MANUAL : SHARED, TERN_INOUT)
                         : choose(o);
        job->access[i] = choices[i].access;
        shadow_args[i] = word(&choices[i].shadow);
    }
    bool gated = choose_gate(o, &choices[0], &predicate);
    bool runs = !gated || gate_holds(&predicate, *element_at(&choices[0].shadow, 0));
    if (below(o, 12) == 0) {
        task = (tern_task){.core = TERN_CORE_NONE};
        runs = false;
    }
    task.predicate = gated ? &predicate : NULL;
    for (int i = 0; i <= REGIONS; i++) {
        args[i] = i < job->count ? region_arg(choices[i].access, &choices[i].real)
                  : i == REGIONS ? scalar_arg(word(job))
                                 : scalar_arg(0);
        args[i].filled = true;
        args[i].fill = (uint64_t)job->id;
    }
    tern_submission submission = {.task = task, .args = args, .args_count = REGIONS + 1};
    submission.after = after;
    submission.after_count = after_of(o, after);
    tern_task_id id;
    TRY(tern_graph_submit(graph, &submission, &id));
    count_task(o);
    for (int i = 0; i < job->count; i++) {
        if (choices[i].access == TERN_OUT) {
            for (int k = 0; k < 16; k++) {
                *element_at(&choices[i].shadow, (uint64_t)k) = job->id;
            }
        }
    }
    for (int call = 0; call < job->calls && runs; call++) {
        do_job(job, shadow_args, call);
    }
    for (int i = 0; i < job->count; i++) {
        if (choices[i].access == TERN_OUT) {
            keep_output(o, &choices[i]);
        }
    }
    if (o->scope[o->depth].manual) {
        o->manual_last = id;
    }
    o->ids[o->tasks++] = id;
    return TERN_OK;
}

static int look_at_element(tern_graph *graph, struct orchestration *o)
{
    const struct output *output = some_output(o);
    struct choice choice = output != NULL && below(o, 2) == 0 ? of_output(o, output, TERN_INOUT)
                                                              : of_memory(o, SHARED, TERN_INOUT);
    uint32_t index[TERN_REGION_DIMS_MAX] = {0};
    uint64_t place = 0;
    uint64_t value = 0;
    for (uint32_t d = 0; d < choice.real.ndims; d++) {
        index[d] = (uint32_t)below(o, (int)choice.real.shape[d]);
        place = place * choice.real.shape[d] + index[d];
    }
    int64_t *shadow = element_at(&choice.shadow, place);
    if (below(o, 2) == 0) {
        *shadow = (int64_t)random_next(&o->random);
        return tern_graph_set_element(graph, &choice.real, index, (uint64_t)*shadow);
    }
    TRY(tern_graph_get_element(graph, &choice.real, index, &value));
    return (int64_t)value == *shadow ? TERN_OK
                                     : tern_graph_give_up(graph, 9, "an element has another value");
}

static void forget_outputs(struct orchestration *o)
{
    for (int i = 0; i < o->scope[o->depth].outputs_count; i++) {
        free(o->scope[o->depth].outputs[i].memory);
    }
    o->scope[o->depth].outputs_count = 0;
}

static int end_scope(tern_graph *graph, struct orchestration *o)
{
    forget_outputs(o);
    o->depth--;
    return tern_graph_scope_end(graph);
}

static int begin_scope(tern_graph *graph, struct orchestration *o)
{
    bool manual = o->scope[o->depth].manual || below(o, 6) == 0;
    o->scope[++o->depth].manual = manual;
    o->scope[o->depth].tasks = 0;
    return tern_graph_scope_begin(graph, manual ? TERN_SCOPE_MANUAL : TERN_SCOPE_AUTO);
}

static int step(tern_graph *graph, struct orchestration *o)
{
    int what = below(o, 12);
    if (what == 0 && o->depth < DEPTH) {
        return begin_scope(graph, o);
    }
    if (what == 1 && o->depth > 0) {
        return end_scope(graph, o);
    }
    if (what == 2 && !o->upstream && below(o, 2) == 0) {
        return look_at_element(graph, o);
    }
    if (kept_of(o) < KEPT) {
        return submit_some(graph, o);
    }
    return o->depth > 0 && (o->depth == DEPTH || below(o, 2) == 0) ? end_scope(graph, o)
                                                                   : begin_scope(graph, o);
}

static int orchestrate(tern_graph *graph, void *arg)
{
    struct orchestration *o = arg;
    int status = TERN_OK;
    while (status == TERN_OK && o->tasks < o->steps) {
        status = step(graph, o);
    }
    bool leaves_open = below(o, 4) == 0; // the run ends them
    while (o->depth > 0 && status == TERN_OK && !leaves_open) {
        status = end_scope(graph, o);
    }
    for (; o->depth >= 0; o->depth--) {
        forget_outputs(o);
    }
    return status;
}

static void make(struct orchestration *o, const tern_chip *chip, uint64_t seed)
{
    memset(o, 0, sizeof *o);
    o->random = seed;
    o->chip = chip;
    o->upstream = below(o, 3) == 0;
    o->steps = 1 + below(o, TASKS);
    o->manual_last = TERN_TASK_ID_NONE;
    for (int m = 0; m < MEMORIES; m++) {
        for (int i = 0; i < CELLS; i++) {
            o->real[m][i] = o->shadow[m][i] = (int64_t)random_next(&o->random);
        }
    }
}

static tern_ring_options random_rings(struct orchestration *o)
{
    static const uint32_t windows[] = {16, 16, 32, 128, 16384};
    tern_ring_options options = {.window = {windows[below(o, 5)]},
                                 .heap = {64U << (10 + below(o, 2))},
                                 .edges = {8192},
                                 .regions = {below(o, 2) == 0 ? 64 : 65536},
                                 .flags = o->upstream ? TERN_RINGS_UPSTREAM : 0};
    return options;
}

static bool same(const struct orchestration *o)
{
    for (int m = 0; m < MEMORIES; m++) {
        for (int i = 0; i < CELLS; i++) {
            if (o->real[m][i] != o->shadow[m][i]) {
                fprintf(stderr, "cell %d of memory %d has another value\n", i, m);
                return false;
            }
        }
    }
    return memcmp(o->real_fresh, o->shadow_fresh, sizeof o->real_fresh) == 0;
}

static bool is_right(tern_chip *chip, uint64_t seed, void *arg)
{
    static struct orchestration o;
    make(&o, chip, seed);
    tern_ring_options options = random_rings(&o);
    return fine(run_rings(chip, &options, orchestrate, &o, below(&o, 2) == 0)) && same(&o);
}

static void orchestrations_of_regions(void **state)
{
    run_on_chips(cases_wanted(10000), is_right, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(orchestrations_of_regions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
