// SPDX-License-Identifier: Apache-2.0
// What prices prove, in whole numbers, by shortest trees and paths alone.
//
// AllReduce, all plans: at a price level, ranks that cheaper links connect are one part; k parts
// need 2(k-1) crossings of every byte between them, each of which pays the level at least. Summed
// over all levels that is twice the shortest spanning tree, where a link pays the lesser of its two
// directions.

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/public.h"
#include "plan/optimal/arborescence.h"
#include "plan/optimal/certificate.h"
#include "plan/optimal/prefix.h"
#include "plan/optimal/tree.h"

enum { N = TERN__NET_RANKS_MAX };

#define SAFE (1 - 1e-12) // the divisions round, by less than this

struct lengths {
    int n;
    int64_t there[N * N], back[N * N];
    struct tern__prefix_ways ways; // found only where sums grow on their way
};

static int64_t spanning_tree(const struct lengths *l)
{
    int64_t least[N * N];
    int parent[N];
    for (int i = 0; i < l->n * l->n; i++) {
        least[i] = l->there[i] < l->back[i] ? l->there[i] : l->back[i];
    }
    return tern__arborescence(least, l->n, 0, parent);
}

static int64_t tree(const struct lengths *l, int root, bool inward)
{
    int parent[N];
    return tern__arborescence(inward ? l->back : l->there, l->n, root, parent);
}

static int64_t paths(const struct lengths *l, int root, bool inward)
{
    int parent[N];
    int64_t distance[N];
    return tern__shortest_paths(inward ? l->back : l->there, l->n, root, parent, distance);
}

static int64_t add(int64_t a, int64_t b)
{
    return a < 0 || b < 0 ? -1 : a + b;
}

// What the inputs pay on their way into a rank that sums them.
static int64_t inputs(const struct lengths *l, int root, tern_certificate_scope scope)
{
    return scope == TERN_CERTIFICATE_RANK_ORDER_PLANS ? paths(l, root, true)
           : scope == TERN_CERTIFICATE_PREFIX_PLANS   ? tern__prefix_length(&l->ways, root)
                                                      : tree(l, root, true);
}

// What each byte pays at least; of kinds with shares, what a byte of every share pays.
static int64_t all_reduce_cost(const struct lengths *l, tern_certificate_scope scope)
{
    if (scope == TERN_CERTIFICATE_ALL_PLANS) {
        int64_t length = spanning_tree(l);
        return add(length, length);
    }
    int64_t least = -1;
    for (int root = 0; root < l->n; root++) {
        int64_t length = add(inputs(l, root, scope), tree(l, root, false));
        least = least < 0 || (length >= 0 && length < least) ? length : least;
    }
    return least;
}

static int64_t cost_of(const struct lengths *l, tern_plan_kind kind, int root,
                       tern_certificate_scope scope)
{
    const tern_kind_facts *facts = tern_coll_kind_facts(kind);
    bool inward = facts->sums || facts->root == TERN_KIND_ROOT_TO;
    if (kind == TERN_PLAN_ALL_REDUCE) {
        return all_reduce_cost(l, scope);
    }
    bool blocks =
        kind == TERN_PLAN_ALL_TO_ALL || kind == TERN_PLAN_GATHER || kind == TERN_PLAN_SCATTER;
    int64_t total = 0;
    for (int v = 0; v < l->n; v++) {
        if (facts->root == TERN_KIND_ROOT_NONE || v == root) {
            total = add(total, facts->sums ? inputs(l, v, scope)
                               : blocks    ? paths(l, v, inward)
                                           : tree(l, v, inward));
        }
    }
    return total;
}

tern_certificate_scope tern__certificate_narrow(tern_plan_kind kind, tern_order order,
                                                uint32_t unit)
{
    return !tern_coll_kind_facts(kind)->sums ? TERN_CERTIFICATE_ALL_PLANS
           : order != TERN_ORDER_RANK        ? TERN_CERTIFICATE_TREE_PLANS
           : unit == TERN__UNIT_ROUNDED      ? TERN_CERTIFICATE_RANK_ORDER_PLANS
                                             : TERN_CERTIFICATE_PREFIX_PLANS;
}

double tern__certificate_bound(const struct tern__net_graph *graph, const int64_t *prices,
                               tern_plan_kind kind, int root, tern_certificate_scope scope)
{
    const tern_kind_facts *facts = tern_coll_kind_facts(kind);
    struct lengths l;
    l.n = graph->n;
    tern__net_graph_lengths(graph, prices, l.there);
    tern__reverse_lengths(l.there, graph->n, l.back);
    if (scope == TERN_CERTIFICATE_PREFIX_PLANS) {
        tern__prefix_find(l.there, l.n, &l.ways);
    }
    double paid = 0;
    for (int r = 0; r < graph->resources_count; r++) {
        paid += graph->capacity[r] / graph->reference * (double)prices[r];
    }
    int64_t cost = cost_of(&l, kind, root, scope);
    bool shares = facts->in == TERN_KIND_ALL || facts->out == TERN_KIND_ALL;
    return cost > 0 && paid > 0 ? (double)cost / (shares ? graph->n : 1) / paid * SAFE : 0;
}

// The prices of a certificate, by resource of the graph.
static int take_prices(const tern_certificate *certificate, const struct tern__net_graph *graph,
                       int64_t *prices)
{
    int shared = graph->resources_count - graph->edges_count;
    for (int i = 0; i < certificate->count; i++) {
        const struct tern__price_line *line = &certificate->lines[i];
        int at = -1;
        if (line->from >= 0) {
            at = graph->edge_at[line->from * graph->n + line->to];
        }
        for (int r = 0; line->from < 0 && r < shared && at < 0; r++) {
            tern_topo_resource resource;
            bool named = tern_topo_get_resource(graph->topo, r, &resource) &&
                         strcmp(resource.name, line->name) == 0;
            at = named ? graph->edges_count + r : -1;
        }
        if (at < 0 && line->from >= 0) {
            return tern__fail(TERN_ERR_ARG,
                              "the certificate has a price for the link %d>%d, which "
                              "is not there on %.200s",
                              line->from, line->to, tern_topo_text(graph->topo));
        }
        if (at < 0) {
            return tern__fail(TERN_ERR_ARG,
                              "the certificate has a price for the resource %s, which "
                              "is not there on %.200s",
                              line->name, tern_topo_text(graph->topo));
        }
        prices[at] = line->price;
    }
    return TERN_OK;
}

// A time as a fraction where it is one of small numbers.
static void fraction(double time, char *text, size_t bytes)
{
    for (int under = 1; under <= 2000; under++) {
        double over = round(time * under);
        if (over > 0 && fabs(over / under / time - 1) < 1e-10) {
            snprintf(text, bytes, "%.0f/%d", over, under);
            return;
        }
    }
    snprintf(text, bytes, "%.6g", time);
}

static void tell(const struct tern__net_graph *graph, double time, tern_certificate_proof *proof)
{
    static const char *const who[] = {
        "no plan", "no plan that sums and spreads each byte on trees",
        "no plan that sums the inputs of each byte in rank order on one rank",
        "no plan that sums in rank order, the first inputs of each byte on one rank,"};
    char part[32];
    fraction(time, part, sizeof part);
    snprintf(proof->text, sizeof proof->text,
             "%s of %s takes less than %s of its bytes at %g GB/s, without start-up",
             who[proof->scope], tern_plan_kind_name(proof->kind), part, graph->reference);
}

static int prove(const tern_certificate *certificate, const struct tern__net_graph *graph,
                 const int64_t *prices, tern_certificate_proof *proof)
{
    double us = 1 / (graph->reference * 1e3);
    double time = tern__certificate_bound(graph, prices, certificate->kind, certificate->root,
                                          certificate->scope);
    double all = tern__certificate_bound(graph, prices, certificate->kind, certificate->root,
                                         TERN_CERTIFICATE_ALL_PLANS);
    *proof = (tern_certificate_proof){.kind = certificate->kind,
                                      .root = certificate->root,
                                      .scope = certificate->scope,
                                      .us_per_byte = graph->edges_count > 0 ? time * us : 0,
                                      .us_per_byte_all = graph->edges_count > 0 ? all * us : 0};
    tell(graph, time, proof);
    return TERN_OK;
}

static int check(struct tern__arena *arena, const tern_certificate *certificate,
                 const tern_topo *topo, tern_certificate_proof *proof)
{
    if (certificate == NULL || topo == NULL || proof == NULL) {
        return tern__fail(TERN_ERR_ARG, "tern_certificate_check: certificate, topo and proof must "
                                        "not be NULL");
    }
    if (tern_topo_size(topo) != certificate->ranks) {
        return tern__fail(TERN_ERR_ARG, "the certificate is for %d ranks, the topology has %d",
                          certificate->ranks, tern_topo_size(topo));
    }
    struct tern__net_graph graph;
    TERN_TRY(tern__net_graph_make(arena, topo, &graph));
    int64_t *prices;
    TERN__ARENA_TAKE(arena, prices, graph.resources_count + 1);
    TERN_TRY(take_prices(certificate, &graph, prices));
    return prove(certificate, &graph, prices, proof);
}

int tern_certificate_check(const tern_certificate *certificate, const tern_topo *topo,
                           tern_certificate_proof *proof)
{
    struct tern__arena arena = {0};
    int status = check(&arena, certificate, topo, proof);
    tern__arena_free(&arena);
    return TERN__CALL_OF_CALLS(status);
}
