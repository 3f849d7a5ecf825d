// SPDX-License-Identifier: Apache-2.0
// Random graphs of tasks and edges, built on the host (and run three times) and on the chip (added
// and published in random order), against a run in the head. What a kernel writes follows from what
// all kernels before it wrote in this run, so any wrong order changes the result. Some tasks have
// blocks, are of whole clusters, start together, only order, have predicates, or end only when a
// word is set by another task. In some graphs a kernel fails.
// TERN_TEST_CASES: how many of each builder; TERN_TEST_SEED.
#include "support/cmocka.h"

#include <stdlib.h>

#include "rings_kit.h"

enum { NODES = 48, BEFORE = 8, CALLS = 12, DATA = 24, RUNS = 3 };

struct net;

struct node {
    struct net *net;
    int at, id; // in the net, in the graph
    tern_core core;
    int blocks;
    bool together;
    bool mix[3];
    int before_count, before[BEFORE];
    int data_count, data[DATA]; // whose values it reads
    int gate;                   // the node whose value its predicate reads, or -1
    tern_predicate predicate;
    int setter; // its end waits for this node, or -1
    bool added, published;
    uint64_t values[CALLS];
    int32_t low;               // of values[0]
    _Alignas(4) uint32_t word; // counts the runs of `setter`
};

struct net {
    int count;
    int fails; // the node, or -1
    uint64_t random;
    int order[NODES]; // in which they are added
    struct node nodes[NODES];
};

static uint64_t mix_in(uint64_t hash, uint64_t value)
{
    hash = (hash ^ value) * UINT64_C(0x9e3779b97f4a7c15);
    return hash ^ hash >> 29;
}

static int calls_of(const struct node *n)
{
    int slots = n->core == TERN_CORE_MIX ? n->mix[0] + n->mix[1] + n->mix[2] : 1;
    return n->core == TERN_CORE_NONE ? 0 : slots * n->blocks;
}

// The number of a call among those of its node.
static int call_of(const struct node *n, int block, int slot)
{
    if (n->core != TERN_CORE_MIX) {
        return block;
    }
    int at = 0;
    for (int i = 0; i < slot; i++) {
        at += n->mix[i];
    }
    return block * (n->mix[0] + n->mix[1] + n->mix[2]) + at;
}

static uint64_t value_of(const struct node *n, int call, int run)
{
    uint64_t hash = mix_in((uint64_t)n->at * 64 + (uint64_t)call, (uint64_t)run);
    for (int i = 0; i < n->data_count; i++) {
        const struct node *from = &n->net->nodes[n->data[i]];
        for (int k = 0; k < calls_of(from); k++) {
            hash = mix_in(hash, from->values[k]);
        }
    }
    return hash;
}

static void compute(int64_t *args)
{
    struct node *n = pointer(args[0]);
    struct net *net = n->net;
    int call = call_of(n, tern_kernel_block(), tern_kernel_slot());
    int run = tern_kernel_run();
    if (n->at == net->fails) {
        tern_kernel_fail("node %d had enough", n->at);
        return;
    }
    uint64_t value = value_of(n, call, run);
    n->values[call] = value;
    if (call == 0) {
        n->low = (int32_t)(value & 3);
    }
    if (n->setter >= 0 && tern_kernel_defer_word(&n->word, (uint32_t)run + 1) != TERN_OK) {
        tern_kernel_fail("%s", tern_last_error());
    }
    for (int i = 0; i < net->count && call == 0; i++) {
        if (net->nodes[i].setter == n->at) {
            atomic_store((_Atomic uint32_t *)&net->nodes[i].word, (uint32_t)run + 1);
        }
    }
}

static bool predicate_holds(const struct node *n)
{
    int32_t seen = n->net->nodes[n->gate].low;
    double value = n->predicate.value;
    return n->predicate.cmp == TERN_CMP_EQ   ? seen == value
           : n->predicate.cmp == TERN_CMP_NE ? seen != value
           : n->predicate.cmp == TERN_CMP_GT ? seen > value
                                             : seen <= value;
}

static void add_data(struct node *n, int from)
{
    for (int i = 0; i < n->data_count; i++) {
        if (n->data[i] == from) {
            return;
        }
    }
    if (n->data_count < DATA) {
        n->data[n->data_count++] = from;
    }
}

static int below(struct net *net, int limit)
{
    return (int)random_below(&net->random, limit > 0 ? (uint64_t)limit : 1);
}

static void choose_core(struct net *net, const tern_chip *chip, struct node *n)
{
    do {
        n->core = (tern_core)below(net, 4);
    } while (n->core != TERN_CORE_NONE && tern_chip_cores(chip, n->core) == 0);
    n->blocks = below(net, 4) == 0 ? 1 + below(net, CALLS / 3) : 1;
    if (n->core == TERN_CORE_MIX) {
        int without = below(net, 4);
        for (int i = 0; i < 3; i++) {
            n->mix[i] = i != without;
        }
    }
    n->together = n->core != TERN_CORE_NONE && below(net, 2) == 0 &&
                  n->blocks <= tern_chip_cores(chip, n->core);
}

static void choose_gate(struct net *net, struct node *n)
{
    n->gate = n->setter = -1;
    if (n->before_count == 0 || n->core == TERN_CORE_NONE) {
        return;
    }
    int gate = n->before[below(net, n->before_count)];
    if (below(net, 6) == 0 && net->nodes[gate].core != TERN_CORE_NONE) {
        n->gate = gate;
        n->predicate = (tern_predicate){.address = &net->nodes[gate].low,
                                        .dtype = TERN_I32,
                                        .cmp = (tern_cmp)(below(net, 3)),
                                        .value = below(net, 4)};
    } else if (below(net, 8) == 0) {
        int setter = below(net, n->at);
        const struct node *s = &net->nodes[setter];
        n->setter = calls_of(s) == 1 && s->gate < 0 ? setter : -1;
    }
}

// Who comes before: some earlier nodes; or the same, each perhaps twice, as before an earlier one,
// in the same order or backwards.
static void choose_before(struct net *net, struct node *n, int density)
{
    const struct node *like =
        n->at > 0 && below(net, 2) == 0 ? &net->nodes[below(net, n->at)] : NULL;
    const bool backwards = like != NULL && below(net, 2) == 0;
    int wanted = n->at == 0 ? 0 : like != NULL ? like->before_count : below(net, density + 1);
    for (int k = 0; k < wanted; k++) {
        int from = like != NULL         ? like->before[backwards ? wanted - 1 - k : k]
                   : below(net, 2) == 0 ? below(net, n->at)
                                        : n->at - 1 - below(net, n->at < 4 ? n->at : 4);
        n->before[n->before_count++] = from;
        const struct node *f = &net->nodes[from];
        if (f->core != TERN_CORE_NONE) {
            add_data(n, from);
        }
        for (int d = 0; f->core == TERN_CORE_NONE && d < f->data_count; d++) {
            add_data(n, f->data[d]);
        }
        if (f->setter >= 0) {
            add_data(n, f->setter);
        }
    }
}

static void make_net(struct net *net, const tern_chip *chip, uint64_t seed, bool fails)
{
    *net = (struct net){.random = seed, .fails = -1};
    net->count = 1 + below(net, NODES);
    int density = 1 + below(net, BEFORE);
    for (int i = 0; i < net->count; i++) {
        struct node *n = &net->nodes[i];
        n->net = net;
        n->at = net->order[i] = i;
        choose_core(net, chip, n);
        choose_before(net, n, density);
        choose_gate(net, n);
        n->setter = fails ? -1 : n->setter;
    }
    for (int i = net->count - 1; i > 0; i--) { // any order of adding
        int other = below(net, 3) == 0 ? i : below(net, i + 1);
        int swapped = net->order[i];
        net->order[i] = net->order[other];
        net->order[other] = swapped;
    }
    if (fails) {
        int candidate = below(net, net->count);
        net->fails = net->nodes[candidate].core != TERN_CORE_NONE ? candidate : -1;
    }
}

// In the head, in the order of the nodes. A node that fails writes nothing, nor do those after it.
static void simulate(struct net *net, int run)
{
    bool poisoned[NODES] = {false};
    for (int i = 0; i < net->count; i++) {
        struct node *n = &net->nodes[i];
        for (int k = 0; k < n->before_count; k++) {
            poisoned[i] = poisoned[i] || poisoned[n->before[k]];
        }
        if (poisoned[i] || n->core == TERN_CORE_NONE || (n->gate >= 0 && !predicate_holds(n))) {
            continue;
        }
        if (i == net->fails) {
            poisoned[i] = true;
            continue;
        }
        for (int call = 0; call < calls_of(n); call++) {
            n->values[call] = value_of(n, call, run);
        }
        n->low = (int32_t)(n->values[0] & 3);
    }
}

static int add_node(tern_graph *graph, struct node *n)
{
    char name[16];
    snprintf(name, sizeof name, "node%d", n->at);
    const int64_t args[] = {word(n)};
    tern_task task = {.name = name,
                      .core = n->core,
                      .args = args,
                      .args_count = 1,
                      .blocks = n->blocks,
                      .sync_start = n->together,
                      .predicate = n->gate >= 0 ? &n->predicate : NULL};
    if (n->core == TERN_CORE_AIC || n->core == TERN_CORE_AIV) {
        task.kernel = compute;
    }
    for (int i = 0; i < 3 && n->core == TERN_CORE_MIX; i++) {
        task.mix[i] = n->mix[i] ? compute : NULL;
    }
    n->added = true;
    return tern_graph_add_task(graph, &task, &n->id);
}

// All edges between this node, just added, and those added before it.
static int add_edges(tern_graph *graph, struct net *net, struct node *n)
{
    for (int i = 0; i < net->count; i++) {
        struct node *to = &net->nodes[i];
        for (int k = 0; k < to->before_count && to->added; k++) {
            const struct node *from = &net->nodes[to->before[k]];
            if (from->added && (to == n || from == n)) {
                TRY(tern_graph_add_edge(graph, from->id, to->id));
            }
        }
    }
    return TERN_OK;
}

static bool may_publish(const struct net *net, const struct node *n)
{
    bool may = n->added && !n->published;
    for (int k = 0; k < n->before_count; k++) {
        may = may && net->nodes[n->before[k]].added;
    }
    return may;
}

// Adds and publishes in random order.
static int build(tern_graph *graph, void *arg)
{
    struct net *net = arg;
    for (int i = 0; i < net->count; i++) {
        struct node *n = &net->nodes[net->order[i]];
        TRY(add_node(graph, n));
        TRY(add_edges(graph, net, n));
        for (int tries = below(net, 6); tries > 0; tries--) {
            struct node *one = &net->nodes[below(net, net->count)];
            if (may_publish(net, one)) {
                one->published = true;
                TRY(tern_graph_publish(graph, one->id));
            }
        }
    }
    for (int i = 0; i < net->count; i++) {
        struct node *one = &net->nodes[net->order[net->count - 1 - i]];
        if (!one->published) {
            one->published = true;
            TRY(tern_graph_publish(graph, one->id));
        }
    }
    return TERN_OK;
}

static bool same(const struct net *got, const struct net *wanted)
{
    for (int i = 0; i < got->count; i++) {
        if (memcmp(got->nodes[i].values, wanted->nodes[i].values, sizeof got->nodes[i].values) !=
            0) {
            fprintf(stderr, "node %d of %d (core %d, %d blocks) has another value\n", i, got->count,
                    (int)got->nodes[i].core, got->nodes[i].blocks);
            return false;
        }
    }
    return true;
}

// Whether the run ended as it should: well, or by the node that fails, if that was reached.
static bool ended_well(const struct net *net, const struct net *wanted, int status)
{
    if (net->fails < 0) {
        return fine(status);
    }
    const struct node *n = &wanted->nodes[net->fails];
    char text[64];
    snprintf(text, sizeof text, "task 'node%d' failed: node %d had enough", net->fails, net->fails);
    bool skipped = n->gate >= 0 && !predicate_holds(n);
    return skipped ? fine(status) : says(status, TERN_ERR_KERNEL, text);
}

static bool build_on_host(tern_chip *chip, struct net *net, struct net *wanted)
{
    tern_graph *graph;
    int runs = net->fails >= 0 ? 1 : RUNS;
    bool well = fine(tern_graph_create(&graph));
    for (int i = 0; i < net->count; i++) {
        struct node *n = &net->nodes[net->order[i]];
        well = well && fine(add_node(graph, n)) && fine(add_edges(graph, net, n));
    }
    for (int run = 0; run < runs; run++) {
        well = well && fine(tern_chip_launch(chip, graph));
        simulate(wanted, run);
    }
    well = well && ended_well(net, wanted, tern_chip_synchronize(chip));
    return fine(tern_graph_destroy(graph)) && well;
}

static bool build_on_chip(tern_chip *chip, struct net *net, struct net *wanted)
{
    tern_graph *graph;
    bool first = below(net, 2) == 0;
    simulate(wanted, 0);
    return fine(tern_graph_create(&graph)) &&
           fine(tern_chip_orchestrate(chip, graph, build, net,
                                      &(tern_orchestrate_options){first})) &&
           ended_well(net, wanted, tern_chip_synchronize(chip)) && fine(tern_graph_destroy(graph));
}

// How a graph is built and run, and whether a task of it fails.
struct manner {
    bool (*run)(tern_chip *, struct net *, struct net *);
    bool fails;
};

static bool is_right(tern_chip *chip, uint64_t seed, void *arg)
{
    static struct net net;
    static struct net wanted;
    const struct manner *manner = arg;
    make_net(&net, chip, seed, manner->fails);
    make_net(&wanted, chip, seed, manner->fails);
    return manner->run(chip, &net, &wanted) && same(&net, &wanted);
}

static void run_cases(bool (*run)(tern_chip *, struct net *, struct net *), bool fails)
{
    struct manner manner = {run, fails};
    run_on_chips(cases_wanted(10000) / (fails ? 5 : 1), is_right, &manner);
}

static void graphs_built_on_the_host(void **state)
{
    run_cases(build_on_host, false);
}

static void graphs_built_on_the_chip(void **state)
{
    run_cases(build_on_chip, false);
}

static void graphs_built_on_the_host_of_which_a_task_fails(void **state)
{
    run_cases(build_on_host, true);
}

static void graphs_built_on_the_chip_of_which_a_task_fails(void **state)
{
    run_cases(build_on_chip, true);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(graphs_built_on_the_host),
        cmocka_unit_test(graphs_built_on_the_chip),
        cmocka_unit_test(graphs_built_on_the_host_of_which_a_task_fails),
        cmocka_unit_test(graphs_built_on_the_chip_of_which_a_task_fails),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
