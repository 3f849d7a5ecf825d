// SPDX-License-Identifier: Apache-2.0
// Kernels of groups that work on domains: sums over all members, on domains that overlap and whose
// ranks are not the chips' numbers, and a layer whose products are added up over the chips.

#include "kit.h"

#include <stdio.h>
#include <string.h>

enum { ELEMENTS = 256, SIDE = 64, TILE = SIDE * SIDE };
#define RESULT_AT (WORDS_BYTES + ELEMENTS * sizeof(float))
#define DOMAIN_BYTES (RESULT_AT + ELEMENTS * sizeof(float))

// (context): every member reads what all have, when all have come.
static void all_reduce(int64_t *args)
{
    const tern_context *context = (const tern_context *)(intptr_t)args[0];
    float *result = at(context, context->rankId, RESULT_AT);
    int status = meet(context, 1);
    for (uint32_t rank = 0; rank < context->rankNum && status == TERN_OK; rank++) {
        float theirs[ELEMENTS];
        status = get(at(context, rank, WORDS_BYTES), theirs, sizeof theirs);
        for (int i = 0; i < ELEMENTS && status == TERN_OK; i++) {
            result[i] += theirs[i];
        }
    }
    kernel_status(status);
}

// Some domains, each with a group task of its own.
struct teams {
    int count;
    int chips[2][2];
    tern_domain *domains[2];
};

static int submit_teams(tern_graph *graph, void *arg_)
{
    struct teams *teams = arg_;
    for (int t = 0; t < teams->count; t++) {
        TRY(tern_node_submit(graph,
                             &(tern_node_task){.function = "all_reduce",
                                               .chips = teams->chips[t],
                                               .chips_count = 2,
                                               .domains = &teams->domains[t],
                                               .domains_count = 1},
                             NULL));
    }
    return TERN_OK;
}

static float pair_sum(int member, int i)
{
    (void)member;
    return (float)(2 * i + 100); // of i + 100 * rank
}

static int run_teams(const char *name, tern_node *node, struct teams *teams)
{
    bool right = true;
    for (int t = 0; t < teams->count; t++) {
        TRY(tern_domain_create(node, teams->chips[t], 2, DOMAIN_BYTES, &teams->domains[t]));
        for (int rank = 0; rank < 2; rank++) {
            float data[ELEMENTS];
            for (int i = 0; i < ELEMENTS; i++) {
                data[i] = (float)(i + 100 * rank);
            }
            TRY(tern_domain_write(teams->domains[t], rank, WORDS_BYTES, data, sizeof data));
        }
    }
    TRY(tern_node_run(node, submit_teams, teams));
    for (int t = 0; t < teams->count; t++) {
        for (int rank = 0; rank < 2; rank++) {
            right =
                right && verify(name, teams->domains[t], rank, RESULT_AT, ELEMENTS, 0, pair_sum);
        }
        TRY(tern_domain_destroy(teams->domains[t]));
    }
    return right ? 0 : 1;
}

int allreduce(tern_node *node)
{
    struct teams teams = {.count = 1, .chips = {{0, 1}}};
    return run_teams("allreduce", node, &teams);
}

int dual_domain_overlap(tern_node *node)
{
    struct teams teams = {.count = 2, .chips = {{0, 1}, {1, 2}}};
    return run_teams("dual_domain_overlap", node, &teams);
}

int domain_rank_map(tern_node *node)
{
    struct teams teams = {.count = 2, .chips = {{0, 2}, {1, 2}}};
    return run_teams("domain_rank_map", node, &teams);
}

// (x, w, partial): partial = x w, of 64 x 64
static void product(int64_t *args)
{
    const float *x = data_of(args[0]), *w = data_of(args[1]);
    float *partial = data_of(args[2]);
    for (int row = 0; row < SIDE; row++) {
        for (int column = 0; column < SIDE; column++) {
            float sum = 0;
            for (int k = 0; k < SIDE; k++) {
                sum += x[row * SIDE + k] * w[k * SIDE + column];
            }
            partial[row * SIDE + column] = sum;
        }
    }
}

// Where a domain has what: a mailbox with a slot for each member, then x, w, partial, y.
static size_t slot_at(int which)
{
    return WORDS_BYTES + (size_t)which * TILE * sizeof(float);
}

// (partial, y, context): puts the own partial product into all mailboxes, waits for all, adds.
static int add_partials(const float *partial, float *y, const tern_context *context)
{
    for (uint32_t peer = 0; peer < context->rankNum; peer++) {
        TRY(put(at(context, peer, slot_at((int)context->rankId)), partial, TILE * sizeof *partial));
        TRY(notify(at(context, peer, 0)));
    }
    TRY(await_word(at(context, context->rankId, 0), (int32_t)context->rankNum));
    memset(y, 0, TILE * sizeof *y);
    for (uint32_t from = 0; from < context->rankNum; from++) {
        const float *slot = at(context, context->rankId, slot_at((int)from));
        for (int i = 0; i < TILE; i++) {
            y[i] += slot[i];
        }
    }
    return TERN_OK;
}

static void kernel_add_partials(int64_t *args)
{
    kernel_status(
        add_partials(data_of(args[0]), data_of(args[1]), (const tern_context *)(intptr_t)args[2]));
}

// Products on each chip, then a group that comes after both of them.
static int submit_layer(tern_graph *graph, void *arg_)
{
    tern_domain *domain = arg_;
    tern_region x, w, partial[2], y[2];
    for (int chip = 0; chip < 2; chip++) {
        char *memory = tern_domain_address(domain, chip);
        TRY(floats(&x, memory + slot_at(2), TILE));
        TRY(floats(&w, memory + slot_at(3), TILE));
        TRY(floats(&partial[chip], memory + slot_at(4), TILE));
        TRY(floats(&y[chip], memory + slot_at(5), TILE));
        const tern_task_arg args[] = {arg(TERN_IN, &x), arg(TERN_IN, &w),
                                      arg(TERN_OUT_EXISTING, &partial[chip])};
        TRY(tern_node_submit(graph,
                             &(tern_node_task){.function = "product",
                                               .chips = &chip,
                                               .chips_count = 1,
                                               .args = args,
                                               .args_count = 3},
                             NULL));
    }
    const tern_task_arg args[] = {arg(TERN_IN, &partial[0]), arg(TERN_OUT_EXISTING, &y[0]),
                                  arg(TERN_IN, &partial[1]), arg(TERN_OUT_EXISTING, &y[1])};
    return tern_node_submit(graph,
                            &(tern_node_task){.function = "add_partials",
                                              .chips = (int[]){0, 1},
                                              .chips_count = 2,
                                              .args = args,
                                              .args_count = 2,
                                              .domains = &domain,
                                              .domains_count = 1},
                            NULL);
}

static float x_of(int rank, int i)
{
    return ((float)i + 0.25F * (float)rank) / 32;
}

static float w_of(int rank, int i)
{
    return ((float)i + 0.5F * (float)(rank + 1)) / 48;
}

// In the order of the kernels, so with the same rounding.
static float layer_value(int member, int i)
{
    float y = 0;
    (void)member;
    for (int rank = 0; rank < 2; rank++) {
        float sum = 0;
        for (int k = 0; k < SIDE; k++) {
            sum += x_of(rank, i / SIDE * SIDE + k) * w_of(rank, k * SIDE + i % SIDE);
        }
        y += sum;
    }
    return y;
}

int ffn_tp_parallel(tern_node *node)
{
    tern_domain *domain;
    bool right = true;
    TRY(tern_domain_create(node, (int[]){0, 1}, 2, slot_at(6), &domain));
    for (int rank = 0; rank < 2; rank++) {
        static float x[TILE], w[TILE];
        for (int i = 0; i < TILE; i++) {
            x[i] = x_of(rank, i);
            w[i] = w_of(rank, i);
        }
        TRY(tern_domain_write(domain, rank, slot_at(2), x, sizeof x));
        TRY(tern_domain_write(domain, rank, slot_at(3), w, sizeof w));
    }
    TRY(tern_node_run(node, submit_layer, domain));
    for (int rank = 0; rank < 2; rank++) {
        right = right && verify("ffn_tp_parallel", domain, rank, slot_at(5), TILE, 0, layer_value);
    }
    TRY(tern_domain_destroy(domain));
    return right ? 0 : 1;
}

static const tern_node_function list[] = {{.name = "all_reduce", .kernel = all_reduce},
                                          {.name = "product", .kernel = product},
                                          {.name = "add_partials", .kernel = kernel_add_partials}};
const struct functions domains_functions = {list, COUNT(list)};
