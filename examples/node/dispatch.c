// SPDX-License-Identifier: Apache-2.0
// A host that gives work to its chips: tasks whose order follows from their memory, memory that
// stays on a chip from run to run, a queue between two chips, and steps of computation and exchange
// in turn.

#include "kit.h"

#include <stdio.h>

enum { ELEMENTS = 16384, ITEMS = 100, SLOTS = 4, STEPS = 6 };

// (a, b, out): out = a + b
static void add(int64_t *args)
{
    const float *a = data_of(args[0]), *b = data_of(args[1]);
    float *out = data_of(args[2]);
    for (uint64_t i = 0; i < count_of(args[2]); i++) {
        out[i] = a[i] + b[i];
    }
}

// (x, by): x += by
static void increase(int64_t *args)
{
    float *x = data_of(args[0]);
    for (uint64_t i = 0; i < count_of(args[0]); i++) {
        x[i] += (float)args[1];
    }
}

static int submit(tern_graph *graph, int chip, const char *function, const tern_task_arg *args,
                  int count)
{
    return tern_node_submit(graph,
                            &(tern_node_task){.function = function,
                                              .chips = &chip,
                                              .chips_count = 1,
                                              .args = args,
                                              .args_count = count},
                            NULL);
}

// Each chip adds a range of two vectors of the host: no range depends on another. Then one chip
// adds all of the result, which was made for it in a heap, to itself.
static int dispatch(tern_graph *graph, void *arg_)
{
    tern_node *const node = ((void **)arg_)[0];
    tern_domain *const domain = ((void **)arg_)[1];
    float *const memory = tern_domain_address(domain, TERN_NODE_HOST);
    const uint32_t chips = (uint32_t)tern_node_chips(node), share = ELEMENTS / chips + 1;
    tern_region a, b, sum, out;
    TRY(floats(&a, memory, ELEMENTS));
    TRY(floats(&b, memory + ELEMENTS, ELEMENTS));
    TRY(floats(&out, memory + (ptrdiff_t)2 * ELEMENTS, ELEMENTS));
    TRY(floats(&sum, NULL, ELEMENTS));
    TRY(tern_graph_submit(graph,
                          &(tern_submission){.task = {.name = "sum", .core = TERN_CORE_NONE},
                                             .args = (tern_task_arg[]){arg(TERN_OUT, &sum)},
                                             .args_count = 1},
                          NULL));
    for (uint32_t chip = 0; chip < chips; chip++) {
        const uint32_t first = chip * share;
        const uint32_t count = first + share < ELEMENTS ? share : ELEMENTS - first;
        tern_region part[3];
        TRY(tern_region_view(&a, &count, &first, &part[0]));
        TRY(tern_region_view(&b, &count, &first, &part[1]));
        TRY(tern_region_view(&sum, &count, &first, &part[2]));
        const tern_task_arg args[] = {arg(TERN_IN, &part[0]), arg(TERN_IN, &part[1]),
                                      arg(TERN_OUT_EXISTING, &part[2])};
        TRY(submit(graph, (int)chip, "add", args, 3));
    }
    const tern_task_arg args[] = {arg(TERN_IN, &sum), arg(TERN_IN, &sum),
                                  arg(TERN_OUT_EXISTING, &out)};
    return submit(graph, (int)chips - 1, "add", args, 3);
}

static float host_value(int vector, int i)
{
    return vector == 0 ? 2.0F : (float)i;
}

static float doubled_sum(int member, int i)
{
    (void)member;
    return 2 * (host_value(0, i) + host_value(1, i));
}

int multi_chip_dispatch(tern_node *node)
{
    const size_t bytes = ELEMENTS * sizeof(float);
    tern_domain *domain;
    TRY(tern_domain_create(node, NULL, 0, 3 * bytes, &domain));
    float *memory = tern_domain_address(domain, TERN_NODE_HOST);
    for (int i = 0; i < 2 * ELEMENTS; i++) {
        memory[i] = host_value(i / ELEMENTS, i % ELEMENTS);
    }
    TRY(tern_node_run(node, dispatch, (void *[]){node, domain}));
    const bool right =
        verify("multi_chip_dispatch", domain, TERN_NODE_HOST, 2 * bytes, ELEMENTS, 0, doubled_sum);
    TRY(tern_domain_destroy(domain));
    return right ? 0 : 1;
}

// The vectors of a chip stay with it: the first run adds them, the second increases the sum.
struct resident {
    tern_domain *domain;
    int chips, run;
};

static int use_resident(tern_graph *graph, void *arg_)
{
    const struct resident *resident = arg_;
    for (int chip = 0; chip < resident->chips; chip++) {
        float *memory = tern_domain_address(resident->domain, chip);
        tern_region part[3];
        for (int i = 0; i < 3; i++) {
            TRY(floats(&part[i], memory + (ptrdiff_t)i * ELEMENTS, ELEMENTS));
        }
        const tern_task_arg first[] = {arg(TERN_IN, &part[0]), arg(TERN_IN, &part[1]),
                                       arg(TERN_OUT_EXISTING, &part[2])};
        const tern_task_arg second[] = {arg(TERN_INOUT, &part[2]), number((uint64_t)chip)};
        TRY(resident->run == 0 ? submit(graph, chip, "add", first, 3)
                               : submit(graph, chip, "increase", second, 2));
    }
    return TERN_OK;
}

static float resident_value(int member, int i)
{
    return 3.0F + (float)(i % 100) + (float)member;
}

static int all_chips(const tern_node *node, int *chips)
{
    for (int i = 0; i < tern_node_chips(node); i++) {
        chips[i] = i;
    }
    return tern_node_chips(node);
}

int child_memory(tern_node *node)
{
    int chips[TERN_NODE_CHIPS_MAX];
    const size_t bytes = ELEMENTS * sizeof(float);
    struct resident resident = {.chips = all_chips(node, chips)};
    bool right = true;
    static float vectors[2][ELEMENTS];
    for (int i = 0; i < ELEMENTS; i++) {
        vectors[0][i] = 3;
        vectors[1][i] = (float)(i % 100);
    }
    TRY(tern_domain_create(node, chips, resident.chips, 3 * bytes, &resident.domain));
    for (int chip = 0; chip < resident.chips; chip++) {
        TRY(tern_domain_write(resident.domain, chip, 0, vectors, sizeof vectors));
    }
    for (; resident.run < 2; resident.run++) {
        TRY(tern_node_run(node, use_resident, &resident));
    }
    for (int chip = 0; chip < resident.chips; chip++) {
        right = right && verify("child_memory", resident.domain, chip, 2 * bytes, ELEMENTS, 0,
                                resident_value);
    }
    TRY(tern_domain_destroy(resident.domain));
    return right ? 0 : 1;
}

// (context): rank 0 puts items into the slots of a queue in rank 1's memory, never more ahead than
// there are slots; rank 1 takes them and adds them up. Word 0 of rank 1 counts the items, word 0 of
// rank 0 those that have been taken.
static int queue(const tern_context *context)
{
    float *slots = at(context, 1, WORDS_BYTES);
    for (int item = 0; item < ITEMS; item++) {
        if (context->rankId == 0) {
            TRY(await_word(at(context, 0, 0), item - SLOTS + 1));
            const float value = (float)(item * item);
            TRY(put(&slots[item % SLOTS], &value, sizeof value));
            TRY(notify(at(context, 1, 0)));
        } else {
            TRY(await_word(at(context, 1, 0), item + 1));
            slots[SLOTS] += slots[item % SLOTS];
            TRY(notify(at(context, 0, 0)));
        }
    }
    return TERN_OK;
}

static void kernel_queue(int64_t *args)
{
    kernel_status(queue((const tern_context *)(intptr_t)args[0]));
}

static int submit_queue(tern_graph *graph, void *arg_)
{
    tern_domain *domain = arg_;
    return tern_node_submit(graph,
                            &(tern_node_task){.function = "queue",
                                              .chips = (int[]){0, 1},
                                              .chips_count = 2,
                                              .domains = &domain,
                                              .domains_count = 1},
                            NULL);
}

static float queue_sum(int member, int i)
{
    (void)member, (void)i;
    int squares = (ITEMS - 1) * ITEMS * (2 * ITEMS - 1) / 6;
    return (float)squares;
}

int message_queue(tern_node *node)
{
    tern_domain *domain;
    TRY(tern_domain_create(node, (int[]){0, 1}, 2, 4096, &domain));
    TRY(tern_node_run(node, submit_queue, domain));
    const bool right =
        verify("message_queue", domain, 1, WORDS_BYTES + SLOTS * sizeof(float), 1, 0, queue_sum);
    TRY(tern_domain_destroy(domain));
    return right ? 0 : 1;
}

// (from, to of the next chip, step): a step of a ring, by a task of each chip. Two buffers in turn:
// what a chip reads in one step was written by its neighbour in the step before.
static void pass_on(int64_t *args)
{
    const float *from = data_of(args[0]);
    float *to = data_of(args[1]);
    for (uint64_t i = 0; i < count_of(args[0]); i++) {
        to[i] = 2 * from[i] + (float)args[2];
    }
}

struct stream {
    tern_domain *domain;
    int chips;
};

// All steps are submitted at once; which task waits for which follows from the buffers.
static int submit_stream(tern_graph *graph, void *arg_)
{
    const struct stream *stream = arg_;
    for (int step = 0; step < STEPS; step++) {
        for (int chip = 0; chip < stream->chips; chip++) {
            const int next = (chip + 1) % stream->chips;
            float *from = tern_domain_address(stream->domain, chip);
            float *to = tern_domain_address(stream->domain, next);
            tern_region part[2];
            TRY(floats(&part[0], from + (ptrdiff_t)(step % 2) * ELEMENTS, ELEMENTS));
            TRY(floats(&part[1], to + (ptrdiff_t)((step + 1) % 2) * ELEMENTS, ELEMENTS));
            const tern_task_arg args[] = {arg(TERN_IN, &part[0]), arg(TERN_OUT_EXISTING, &part[1]),
                                          number((uint64_t)step + 1)};
            TRY(submit(graph, chip, "pass_on", args, 3));
        }
    }
    return TERN_OK;
}

static int stream_chips;

static float stream_value(int member, int i)
{
    (void)i;
    float value = (float)(((member - STEPS) % stream_chips + stream_chips) % stream_chips);
    for (int step = 0; step < STEPS; step++) {
        value = 2 * value + (float)(step + 1);
    }
    return value;
}

int orch_comm_stream(tern_node *node)
{
    int chips[TERN_NODE_CHIPS_MAX];
    struct stream stream = {.chips = all_chips(node, chips)};
    static float start[ELEMENTS];
    bool right = true;
    stream_chips = stream.chips;
    TRY(tern_domain_create(node, chips, stream.chips, 2 * sizeof start, &stream.domain));
    for (int chip = 0; chip < stream.chips; chip++) {
        for (int i = 0; i < ELEMENTS; i++) {
            start[i] = (float)chip;
        }
        TRY(tern_domain_write(stream.domain, chip, 0, start, sizeof start));
    }
    TRY(tern_node_run(node, submit_stream, &stream));
    for (int chip = 0; chip < stream.chips; chip++) {
        right =
            right && verify("orch_comm_stream", stream.domain, chip, 0, ELEMENTS, 0, stream_value);
    }
    TRY(tern_domain_destroy(stream.domain));
    return right ? 0 : 1;
}

static const tern_node_function list[] = {{.name = "add", .kernel = add},
                                          {.name = "increase", .kernel = increase},
                                          {.name = "queue", .kernel = kernel_queue},
                                          {.name = "pass_on", .kernel = pass_on}};
const struct functions dispatch_functions = {list, COUNT(list)};
