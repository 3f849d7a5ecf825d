// SPDX-License-Identifier: Apache-2.0
// Two chips that tell each other: a transfer that is begun and waited for later, a task that is
// held until its signal comes, and a task whose end is deferred.

#include "kit.h"

#include <stdio.h>
#include <string.h>

#include "tern/async.h"
#include "tern/window.h"

enum { ELEMENTS = 128 * 128 };
#define BYTES (ELEMENTS * sizeof(float))
#define IN_AT WORDS_BYTES
#define OUT_AT (IN_AT + BYTES)
#define RESULT_AT (OUT_AT + BYTES)
#define DOMAIN_BYTES (RESULT_AT + BYTES)

static uint32_t other(const tern_context *context)
{
    return 1 - context->rankId;
}

// (out, context): out = the peer's in, while the kernel could do something else.
static int fetch(float *out, const tern_context *context)
{
    tern_session *session;
    uint64_t event;
    TRY(tern_session_create(&session));
    int status = tern_async_get(session, out, at(context, other(context), IN_AT), BYTES, &event);
    status = status == TERN_OK ? tern_session_wait(session, event) : status;
    const int ended = tern_session_destroy(session);
    return status == TERN_OK ? ended : status;
}

static void kernel_fetch(int64_t *args)
{
    kernel_status(fetch(data_of(args[0]), (const tern_context *)(intptr_t)args[1]));
}

// (from, to, add): to = from + add
static void add_number(int64_t *args)
{
    const float *from = data_of(args[0]);
    float *to = data_of(args[1]);
    for (uint64_t i = 0; i < count_of(args[1]); i++) {
        to[i] = from[i] + (float)args[2];
    }
}

// (in, out): out = 2 in, and the peer is told. The second chip is slow.
static void produce(int64_t *args)
{
    const tern_context *context = (const tern_context *)(intptr_t)args[2];
    const float *in = data_of(args[0]);
    float *out = data_of(args[1]);
    for (volatile int i = 0; context->rankId == 1 && i < 2000000; i++) {
    }
    for (uint64_t i = 0; i < count_of(args[1]); i++) {
        out[i] = 2 * in[i];
    }
    kernel_status(notify(at(context, other(context), 0)));
}

// A graph on the cores of a chip: what is held until the own word is 1 holds no core.
static void consume(int64_t *args)
{
    const int32_t *word = (const int32_t *)(intptr_t)args[2];
    int64_t given[3] = {args[0], args[1], *word};
    add_number(given);
}

static int held(tern_graph *graph, void *arg_)
{
    const int64_t *args = arg_;
    const tern_context *context = (const tern_context *)(intptr_t)args[2];
    void *word = at(context, context->rankId, 0);
    tern_condition told = {.cmp = TERN_CMP_GE, .value = 1};
    int rank;
    TRY(tern_window_find(word, &told.window, &rank, &told.offset_bytes));
    const tern_task_arg inside[] = {arg(TERN_IN, (tern_region *)(intptr_t)args[0]),
                                    arg(TERN_OUT_EXISTING, (tern_region *)(intptr_t)args[1]),
                                    number((uint64_t)(uintptr_t)word)};
    return tern_graph_submit(
        graph,
        &(tern_submission){.task = {.name = "consume", .kernel = consume, .core = TERN_CORE_AIV},
                           .args = inside,
                           .args_count = 3,
                           .waits = &told,
                           .waits_count = 1},
        NULL);
}

// (partial, mailbox of the peer, own mailbox): puts, tells, and has ended when it was told.
static int send(int64_t *args)
{
    const tern_context *context = (const tern_context *)(intptr_t)args[3];
    tern_condition told = {.cmp = TERN_CMP_GE, .value = 1};
    int rank;
    TRY(put(data_of(args[1]), data_of(args[0]), BYTES));
    TRY(notify(at(context, other(context), 0)));
    TRY(tern_window_find(at(context, context->rankId, 0), &told.window, &rank, &told.offset_bytes));
    return tern_kernel_defer(&told);
}

static void kernel_send(int64_t *args)
{
    kernel_status(send(args));
}

enum what { FETCH, HOLD, DEFER };
struct scene {
    enum what what;
    tern_domain *domain;
};

static int submit_fetch(tern_graph *graph, int chip, tern_domain *domain, const tern_region *out,
                        const tern_region *result)
{
    tern_region to = *out, end = *result;
    const tern_task_arg first[] = {arg(TERN_OUT_EXISTING, &to)};
    const tern_task_arg second[] = {arg(TERN_IN, &to), arg(TERN_OUT_EXISTING, &end), number(1)};
    tern_node_task task = {.function = "fetch",
                           .chips = &chip,
                           .chips_count = 1,
                           .args = first,
                           .args_count = 1,
                           .domains = &domain,
                           .domains_count = 1};
    TRY(tern_node_submit(graph, &task, NULL));
    task.function = "add_number";
    task.args = second;
    task.args_count = 3;
    return tern_node_submit(graph, &task, NULL);
}

static int submit_notify(tern_graph *graph, int chip, tern_domain *domain, tern_region *in,
                         tern_region *out, tern_region *result)
{
    const tern_task_arg first[] = {arg(TERN_IN, in), arg(TERN_OUT_EXISTING, out)};
    const tern_task_arg second[] = {arg(TERN_IN, out), arg(TERN_OUT_EXISTING, result)};
    tern_node_task task = {.function = "produce",
                           .chips = &chip,
                           .chips_count = 1,
                           .args = first,
                           .args_count = 2,
                           .domains = &domain,
                           .domains_count = 1};
    TRY(tern_node_submit(graph, &task, NULL));
    task.function = "held";
    task.args = second;
    return tern_node_submit(graph, &task, NULL);
}

// The mailbox is `out`; the one of the peer is no memory of this order: the peer's task says when.
static int submit_deferred(tern_graph *graph, int chip, tern_domain *domain, tern_region *in,
                           tern_region *theirs, tern_region *out, tern_region *result)
{
    const tern_task_arg first[] = {arg(TERN_IN, in), arg(TERN_NO_DEP, theirs),
                                   arg(TERN_OUT_EXISTING, out)};
    const tern_task_arg second[] = {arg(TERN_IN, out), arg(TERN_OUT_EXISTING, result), number(0)};
    tern_node_task task = {.function = "send",
                           .chips = &chip,
                           .chips_count = 1,
                           .args = first,
                           .args_count = 3,
                           .domains = &domain,
                           .domains_count = 1};
    TRY(tern_node_submit(graph, &task, NULL));
    task.function = "add_number";
    task.args = second;
    return tern_node_submit(graph, &task, NULL);
}

static int submit_pair(tern_graph *graph, void *arg_)
{
    const struct scene *scene = arg_;
    for (int chip = 0; chip < 2; chip++) {
        char *memory = tern_domain_address(scene->domain, chip);
        char *peer = tern_domain_address(scene->domain, 1 - chip);
        tern_region in, out, result, theirs;
        TRY(floats(&in, memory + IN_AT, ELEMENTS));
        TRY(floats(&out, memory + OUT_AT, ELEMENTS));
        TRY(floats(&result, memory + RESULT_AT, ELEMENTS));
        TRY(floats(&theirs, peer + OUT_AT, ELEMENTS));
        TRY(scene->what == FETCH ? submit_fetch(graph, chip, scene->domain, &out, &result)
            : scene->what == HOLD
                ? submit_notify(graph, chip, scene->domain, &in, &out, &result)
                : submit_deferred(graph, chip, scene->domain, &in, &theirs, &out, &result));
    }
    return TERN_OK;
}

static float input(int member, int i)
{
    (void)member;
    return (float)(i % 251) / 10;
}

static float input_and_one(int member, int i)
{
    return input(member, i) + 1;
}

static float doubled(int member, int i)
{
    return 2 * input(member, i);
}

static float doubled_and_one(int member, int i)
{
    return 2 * input(member, i) + 1;
}

static float partial(int member, int i)
{
    (void)i;
    return (float)(member + 1);
}

static float partial_of_next(int member, int i)
{
    return partial((member + 1) % 2, i);
}

static int run_pair(const char *name, tern_node *node, enum what what, float (*in)(int, int),
                    float (*out)(int, int), float (*result)(int, int))
{
    struct scene scene = {.what = what};
    bool right = true;
    TRY(tern_domain_create(node, (int[]){0, 1}, 2, DOMAIN_BYTES, &scene.domain));
    for (int rank = 0; rank < 2; rank++) {
        static float data[ELEMENTS];
        for (int i = 0; i < ELEMENTS; i++) {
            data[i] = in(rank, i);
        }
        TRY(tern_domain_write(scene.domain, rank, IN_AT, data, sizeof data));
    }
    TRY(tern_node_run(node, submit_pair, &scene));
    for (int rank = 0; rank < 2; rank++) {
        right = right && verify(name, scene.domain, rank, OUT_AT, ELEMENTS, 0, out) &&
                verify(name, scene.domain, rank, RESULT_AT, ELEMENTS, 0, result);
    }
    TRY(tern_domain_destroy(scene.domain));
    return right ? 0 : 1;
}

int async_completion(tern_node *node)
{
    return run_pair("async_completion", node, FETCH, input, input, input_and_one);
}

int async_notify(tern_node *node)
{
    return run_pair("async_notify", node, HOLD, input, doubled, doubled_and_one);
}

int deferred_notify(tern_node *node)
{
    return run_pair("deferred_notify", node, DEFER, partial, partial_of_next, partial_of_next);
}

static const tern_node_function list[] = {{.name = "fetch", .kernel = kernel_fetch},
                                          {.name = "add_number", .kernel = add_number},
                                          {.name = "produce", .kernel = produce},
                                          {.name = "held", .orchestration = held},
                                          {.name = "send", .kernel = kernel_send}};
const struct functions notify_functions = {list, COUNT(list)};
