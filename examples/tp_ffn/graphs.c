// SPDX-License-Identifier: Apache-2.0
// The orchestration (graphs.h). For each chunk of tokens:
//
//     linear -> announce a    reduce a     ffn -> announce y    reduce y    complete
//                             waits for    waits for            waits for   waits for
//                             ready a      done a               ready y     done y
//
// A chunk's AllReduce thus runs on the AIV cores while the AIC cores multiply the next chunk. A
// task names the chunk's rows in this rank's window that it reads or changes, and the arrows
// follow; the waits are for what peers do. Their values grow by the number of ranks in each run, so
// no signal is ever reset.
#include "graphs.h"

#include <stdio.h>

#include <tern/status.h>

#define TRY(expression)                                                                            \
    do {                                                                                           \
        int status_ = (expression);                                                                \
        if (status_ != TERN_OK) {                                                                  \
            return status_;                                                                        \
        }                                                                                          \
    } while (0)

enum awaited { AWAITS_NOBODY, AWAITS_READY_A, AWAITS_DONE_A, AWAITS_READY_Y, AWAITS_DONE_Y };

// A task of a chunk. A reduce changes a part of the rows, while the peers change the others.
struct step {
    const char *verb;
    tern_kernel kernel;
    tern_core core;
    enum stage stage;   // of an AllReduce
    tern_access access; // to the chunk's rows
    enum awaited awaits;
};

static const struct step linear = {"linear", kernel_linear, TERN_CORE_AIC,
                                   STAGE_A,  TERN_INOUT,    AWAITS_NOBODY};
static const struct step ffn = {"ffn",   kernel_ffn, TERN_CORE_AIC,
                                STAGE_Y, TERN_INOUT, AWAITS_DONE_A};
static const struct step announce_a = {"announce a", kernel_announce, TERN_CORE_AIV,
                                       STAGE_A,      TERN_IN,         AWAITS_NOBODY};
static const struct step announce_y = {"announce y", kernel_announce, TERN_CORE_AIV,
                                       STAGE_Y,      TERN_IN,         AWAITS_NOBODY};
static const struct step reduce_a = {"reduce a", kernel_reduce, TERN_CORE_AIV,
                                     STAGE_A,    TERN_INOUT,    AWAITS_READY_A};
static const struct step reduce_y = {"reduce y", kernel_reduce, TERN_CORE_AIV,
                                     STAGE_Y,    TERN_INOUT,    AWAITS_READY_Y};
// The run ends only when all of y is here.
static const struct step complete = {"complete y", kernel_complete, TERN_CORE_AIV,
                                     STAGE_Y,      TERN_IN,         AWAITS_DONE_Y};

// Signals count up with the runs of a variant, so each that communicates has its own.
static enum signal_set signals_of(const struct orchestra *orchestra)
{
    return orchestra->variant == VARIANT_COMMUNICATION ? SIGNALS_COMMUNICATION : SIGNALS_FULL;
}

static int rows_of(const struct device *device, size_t chunk, tern_region *region)
{
    const struct layout *layout = &device->layout;
    const struct shape *shape = &layout->shape;
    struct range range = shape_chunk(shape, chunk);
    const uint32_t all[] = {(uint32_t)shape->tokens, (uint32_t)shape->hidden};
    const uint32_t extent[] = {(uint32_t)range.count, (uint32_t)shape->hidden};
    const uint32_t offset[] = {(uint32_t)range.begin, 0};
    char *own = tern_window_address(device->window, (int)device->rank);
    tern_region buffer;
    TRY(tern_region_make(&buffer, own + layout->data, all, 2,
                         shape->dtype == TERN_BF16 ? TERN_REGION_BF16 : TERN_REGION_F32));
    return tern_region_view(&buffer, extent, offset, region);
}

// Every rank has notified the signal once more than before this run.
static tern_condition condition_of(const struct orchestra *orchestra, enum awaited awaited,
                                   size_t chunk)
{
    const struct layout *layout = &orchestra->device->layout;
    enum stage stage = awaited >= AWAITS_READY_Y ? STAGE_Y : STAGE_A;
    bool ready = awaited == AWAITS_READY_A || awaited == AWAITS_READY_Y;
    return (tern_condition){.window = orchestra->device->window,
                            .offset_bytes =
                                layout_signal(layout, signals_of(orchestra), stage,
                                              ready ? SIGNAL_READY : SIGNAL_DONE, chunk),
                            .cmp = TERN_CMP_GE,
                            .value = orchestra->runs * (int32_t)layout->nranks};
}

static int submit(const struct orchestra *orchestra, const struct step *step, size_t chunk)
{
    const struct device *device = orchestra->device;
    char name[48];
    tern_region rows;
    snprintf(name, sizeof name, "%s %zu", step->verb, chunk);
    TRY(rows_of(device, chunk, &rows));
    const tern_task_arg args[KERNEL_ARGS + 1] = {
        {.access = TERN_SCALAR, .scalar = (uint64_t)(uintptr_t)device},
        {.access = TERN_SCALAR, .scalar = chunk},
        {.access = TERN_SCALAR, .scalar = step->stage},
        {.access = TERN_SCALAR, .scalar = signals_of(orchestra)},
        {.access = step->access, .region = &rows},
    };
    tern_condition condition = condition_of(orchestra, step->awaits, chunk);
    tern_submission submission = {
        .task = {.name = name, .kernel = step->kernel, .core = step->core},
        .args = args,
        .args_count = KERNEL_ARGS + 1,
        .waits = &condition,
        .waits_count = step->awaits != AWAITS_NOBODY,
    };
    return tern_graph_submit(orchestra->graph, &submission, NULL);
}

// In a scope of their own, so that rows and edges are used again when there are many chunks.
static int submit_all(const struct orchestra *orchestra, const struct step *const *steps,
                      size_t chunk)
{
    TRY(tern_graph_scope_begin(orchestra->graph, TERN_SCOPE_AUTO));
    for (; *steps != NULL; steps++) {
        TRY(submit(orchestra, *steps, chunk));
    }
    return tern_graph_scope_end(orchestra->graph);
}

static int submit_full(const struct orchestra *orchestra, size_t chunks)
{
    static const struct step *const first[] = {&linear, &announce_a, &reduce_a, NULL};
    static const struct step *const second[] = {&ffn, &announce_y, &reduce_y, &complete, NULL};
    for (size_t chunk = 0; chunk < chunks; chunk++) {
        TRY(submit_all(orchestra, first, chunk));
    }
    for (size_t chunk = 0; chunk < chunks; chunk++) {
        TRY(submit_all(orchestra, second, chunk));
    }
    return TERN_OK;
}

static int submit_compute(const struct orchestra *orchestra, size_t chunks)
{
    struct step alone = ffn;
    alone.awaits = AWAITS_NOBODY;
    const struct step *const both[] = {&linear, &alone, NULL};
    for (size_t chunk = 0; chunk < chunks; chunk++) {
        TRY(submit_all(orchestra, both, chunk));
    }
    return TERN_OK;
}

// Sums what the last run left, twice: a chunk's second AllReduce follows its first.
static int submit_communication(const struct orchestra *orchestra, size_t chunks)
{
    struct step later = announce_y;
    later.awaits = AWAITS_DONE_A;
    const struct step *const first[] = {&announce_a, &reduce_a, NULL};
    const struct step *const second[] = {&later, &reduce_y, &complete, NULL};
    for (size_t chunk = 0; chunk < chunks; chunk++) {
        TRY(submit_all(orchestra, first, chunk));
    }
    for (size_t chunk = 0; chunk < chunks; chunk++) {
        TRY(submit_all(orchestra, second, chunk));
    }
    return TERN_OK;
}

static int orchestrate(tern_graph *graph, void *arg)
{
    const struct orchestra *orchestra = arg;
    size_t chunks = orchestra->device->layout.shape.chunks;
    (void)graph; // orchestra->graph
    switch (orchestra->variant) {
    case VARIANT_FULL:
        return submit_full(orchestra, chunks);
    case VARIANT_COMPUTE:
        return submit_compute(orchestra, chunks);
    case VARIANT_COMMUNICATION:
        return submit_communication(orchestra, chunks);
    case VARIANT_COUNT:
        break;
    }
    return TERN_OK;
}

int orchestra_create(struct orchestra *orchestra, enum variant variant, struct device *device,
                     struct failure *failure)
{
    *orchestra = (struct orchestra){.variant = variant, .device = device};
    // Tasks ahead of those that have finished; no task has outputs from a heap.
    tern_ring_options options = {.window = {1024},
                                 .heap = {1024},
                                 .edges = {4096},
                                 .regions = {4096}};
    return tern_graph_create_rings(&options, &orchestra->graph) == TERN_OK
               ? 0
               : fail_tern(failure, "the graph cannot be created");
}

void orchestra_destroy(struct orchestra *orchestra)
{
    if (orchestra->graph != NULL) {
        tern_graph_destroy(orchestra->graph);
    }
}

int orchestra_run(struct orchestra *orchestra, tern_chip *chip, struct failure *failure)
{
    orchestra->runs++;
    int status = tern_chip_orchestrate(chip, orchestra->graph, orchestrate, orchestra, NULL);
    if (status == TERN_OK) {
        status = tern_chip_synchronize(chip);
    }
    return status == TERN_OK ? 0 : fail_tern(failure, "the run failed");
}
