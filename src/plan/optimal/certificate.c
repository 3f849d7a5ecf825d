// SPDX-License-Identifier: Apache-2.0
// Certificates as text, and from the planner's prices. Those are fractions of the largest; small
// whole numbers that prove as much are looked for first, which people can read.

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/public.h"
#include "plan/optimal/certificate.h"
#include "plan/optimal/optimal.h"
#include "plan/optimal/tree.h"

enum { SMALL = 240 };

int tern__certificate_add(tern_certificate *certificate, const struct tern__price_line *line)
{
    if (certificate->count == certificate->room) {
        int room = 2 * certificate->room + 64;
        void *lines = realloc(certificate->lines, (size_t)room * sizeof *certificate->lines);
        if (lines == NULL) {
            return tern__fail(TERN_ERR_MEMORY, "no memory for a certificate");
        }
        certificate->lines = lines;
        certificate->room = room;
    }
    certificate->lines[certificate->count++] = *line;
    return TERN_OK;
}

int tern_certificate_destroy(tern_certificate *certificate)
{
    if (certificate != NULL) {
        free(certificate->topology);
        free(certificate->lines);
        free(certificate);
    }
    return TERN_OK;
}

// The prices as multiples of 1 / `largest` of the greatest one.
static void scale(const int64_t *exact, int count, int64_t largest, int64_t *prices)
{
    int64_t most = 1;
    for (int r = 0; r < count; r++) {
        most = exact[r] > most ? exact[r] : most;
    }
    for (int r = 0; r < count; r++) {
        prices[r] = llround((double)exact[r] / (double)most * (double)largest);
    }
}

// The smallest prices that prove as much as any.
static void simplify(const tern_certificate *c, const struct tern__net_graph *graph,
                     const int64_t *exact, int64_t *prices)
{
    int count = graph->resources_count;
    double wanted = tern__certificate_bound(graph, exact, c->kind, c->root, c->scope);
    for (int64_t largest = 1; largest <= SMALL; largest++) {
        scale(exact, count, largest, prices);
        if (tern__certificate_bound(graph, prices, c->kind, c->root, c->scope) >=
            wanted * (1 - 1e-9)) {
            return;
        }
    }
    memcpy(prices, exact, (size_t)count * sizeof *prices);
}

static int add_prices(tern_certificate *c, const struct tern__net_graph *graph,
                      const int64_t *prices)
{
    for (int r = 0; r < graph->resources_count; r++) {
        struct tern__price_line line = {.from = -1, .to = -1, .price = prices[r]};
        if (prices[r] == 0) {
            continue;
        }
        if (r < graph->edges_count) {
            line.from = graph->edges[r].from;
            line.to = graph->edges[r].to;
        } else {
            tern_topo_resource resource = {.name = ""};
            (void)tern_topo_get_resource(graph->topo, r - graph->edges_count, &resource);
            strncat(line.name, resource.name, sizeof line.name - 1);
        }
        TERN_TRY(tern__certificate_add(c, &line));
    }
    return TERN_OK;
}

// The widest scope that proves as much.
static tern_certificate_scope scope_of(const tern_algo_request *request,
                                       const struct tern__net_graph *graph, const int64_t *exact)
{
    tern_certificate_scope narrow =
        tern__certificate_narrow(request->kind, request->order, request->unit);
    if (narrow == TERN_CERTIFICATE_ALL_PLANS) {
        return narrow;
    }
    double all = tern__certificate_bound(graph, exact, request->kind, request->root,
                                         TERN_CERTIFICATE_ALL_PLANS);
    return all >= (1 - 1e-9) *
                       tern__certificate_bound(graph, exact, request->kind, request->root, narrow)
               ? TERN_CERTIFICATE_ALL_PLANS
               : narrow;
}

static int fill(tern_certificate *c, struct tern__arena *arena, const tern_algo_request *request)
{
    struct tern__net_graph graph;
    TERN_TRY(tern__net_graph_make(arena, request->topo, &graph));
    struct tern__optimal_goal goal = tern__optimal_goal_of(request, 1);
    const tern_search *search = request->search;
    struct tern__optimal_watch watch = {0};
    if (search != NULL && search->seconds > 0) {
        watch.deadline_ns = tern__deadline_after((int64_t)(fmin(search->seconds, 1e9) * 1e9));
    }
    struct tern__optimal *optimal;
    TERN_TRY(tern__optimal_prove(&goal, &watch, &optimal));
    int count;
    const int64_t *exact = tern__optimal_prices(optimal, &count);
    int64_t *prices = tern__arena_take(arena, (size_t)count + 1, sizeof *prices);
    int status = TERN_ERR_MEMORY;
    if (prices != NULL) {
        c->kind = request->kind;
        c->ranks = graph.n;
        c->root = tern_coll_kind_facts(c->kind)->root != TERN_KIND_ROOT_NONE ? request->root : 0;
        c->scope = scope_of(request, &graph, exact);
        simplify(c, &graph, exact, prices);
        status = add_prices(c, &graph, prices);
    }
    tern__optimal_destroy(optimal);
    return status;
}

static int make(const tern_algo_request *request, tern_certificate **certificate)
{
    if (request == NULL || request->topo == NULL || certificate == NULL) {
        return tern__fail(TERN_ERR_ARG,
                          "tern_certificate_make: request, its topo and certificate must not be "
                          "NULL");
    }
    if (request->root < 0 || request->root >= tern_topo_size(request->topo)) {
        return tern__fail(TERN_ERR_ARG, "rank %d cannot be the root of %d ranks", request->root,
                          tern_topo_size(request->topo));
    }
    tern_certificate *made = calloc(1, sizeof *made);
    struct tern__arena arena = {0};
    if (made == NULL || (made->topology = strdup(tern_topo_text(request->topo))) == NULL) {
        free(made);
        return tern__fail(TERN_ERR_MEMORY, "no memory for a certificate");
    }
    int status = fill(made, &arena, request);
    tern__arena_free(&arena);
    if (status != TERN_OK) {
        (void)tern_certificate_destroy(made);
        return status;
    }
    *certificate = made;
    return TERN_OK;
}

int tern_certificate_make(const tern_algo_request *request, tern_certificate **certificate)
{
    return TERN__CALL_OF_CALLS(make(request, certificate));
}
