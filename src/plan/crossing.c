// SPDX-License-Identifier: Apache-2.0
// Adding up what can cross between blocks of ranks. Set-up path.

#include <stdbool.h>
#include <stdlib.h>

#include "base/error.h"
#include "plan/crossing.h"

// Of the pair of blocks at hand, by resource: [0] is of links that use none.
struct pair {
    double *rate;
    int *links;
    int *touched;
    int touched_count;
};

static int allocate(struct tern__crossings *c, struct pair pairs[TERN_TOPO_USES_MAX])
{
    size_t resources = (size_t)c->resources + 1;
    size_t cells = (size_t)c->blocks * (size_t)c->blocks + 1;
    c->capacity = calloc(resources, sizeof *c->capacity);
    c->sum = calloc(resources, sizeof *c->sum);
    c->touched = calloc(resources, sizeof *c->touched);
    bool all = c->capacity != NULL && c->sum != NULL && c->touched != NULL;
    for (int w = 0; w < c->ways; w++) {
        c->way[w].start = calloc(cells, sizeof *c->way[w].start);
        pairs[w].rate = calloc(resources, sizeof *pairs[w].rate);
        pairs[w].links = calloc(resources, sizeof *pairs[w].links);
        pairs[w].touched = calloc(resources, sizeof *pairs[w].touched);
        all = all && c->way[w].start != NULL && pairs[w].rate != NULL && pairs[w].links != NULL &&
              pairs[w].touched != NULL;
    }
    return all ? TERN_OK
               : tern__fail(TERN_ERR_MEMORY, "no memory for a lower bound of %d blocks of ranks",
                            c->blocks);
}

static void add_link(struct pair *pair, int resource, double rate)
{
    int at = resource + 1;
    if (pair->links[at] == 0) {
        pair->touched[pair->touched_count++] = at;
    }
    pair->links[at]++;
    pair->rate[at] += rate;
}

// Keeps what was added up of a pair, and begins anew.
static int keep(struct tern__crossing_way *way, struct pair *pair)
{
    if (way->count + pair->touched_count > way->room) {
        int room = 2 * way->room + pair->touched_count + 64;
        struct tern__crossing *list = realloc(way->list, (size_t)room * sizeof *list);
        if (list == NULL) {
            return tern__fail(TERN_ERR_MEMORY, "no memory for %d crossings", room);
        }
        way->list = list;
        way->room = room;
    }
    for (int i = 0; i < pair->touched_count; i++) {
        int at = pair->touched[i];
        way->list[way->count++] = (struct tern__crossing){at - 1, pair->links[at], pair->rate[at]};
        pair->links[at] = 0;
        pair->rate[at] = 0;
    }
    pair->touched_count = 0;
    return TERN_OK;
}

// The ranks block by block: those of block b from first[b].
struct sorted {
    int *first;
    int *ranks;
};

static int sort_ranks(int n, const int *of, int blocks, struct sorted *sorted)
{
    sorted->first = calloc((size_t)blocks + 2, sizeof *sorted->first);
    sorted->ranks = calloc((size_t)n, sizeof *sorted->ranks);
    if (sorted->first == NULL || sorted->ranks == NULL) {
        return tern__fail(TERN_ERR_MEMORY, "no memory for a lower bound of %d ranks", n);
    }
    for (int rank = 0; rank < n; rank++) {
        sorted->first[of[rank] + 2]++;
    }
    for (int block = 2; block <= blocks; block++) {
        sorted->first[block] += sorted->first[block - 1];
    }
    for (int rank = 0; rank < n; rank++) {
        sorted->ranks[sorted->first[of[rank] + 1]++] = rank;
    }
    return TERN_OK;
}

static void add_pair(const struct tern__crossings *c, const tern_topo *topo, int from, int to,
                     struct pair pairs[TERN_TOPO_USES_MAX])
{
    tern_link link = {.bandwidth_GBps = 1};
    int uses[TERN_TOPO_USES_MAX];
    if (topo != NULL && !tern_topo_link(topo, from, to, &link)) {
        return;
    }
    int count = c->resources > 0 ? tern_topo_uses(topo, from, to, uses) : 0;
    for (int w = 0; w < c->ways; w++) {
        add_link(&pairs[w], w < count ? uses[w] : -1, link.bandwidth_GBps * 1e3);
    }
}

static int fill(struct tern__crossings *c, const tern_topo *topo, const struct sorted *sorted,
                struct pair pairs[TERN_TOPO_USES_MAX])
{
    for (int i = 0; i < c->blocks * c->blocks; i++) {
        int a = i / c->blocks;
        int b = i % c->blocks;
        for (int x = sorted->first[a]; a != b && x < sorted->first[a + 1]; x++) {
            for (int y = sorted->first[b]; y < sorted->first[b + 1]; y++) {
                add_pair(c, topo, sorted->ranks[x], sorted->ranks[y], pairs);
            }
        }
        for (int w = 0; w < c->ways; w++) {
            TERN_TRY(keep(&c->way[w], &pairs[w]));
            c->way[w].start[i + 1] = c->way[w].count;
        }
    }
    for (int r = 0; r < c->resources; r++) {
        tern_topo_resource resource = {.GBps = 1};
        tern_topo_get_resource(topo, r, &resource);
        c->capacity[r] = resource.GBps * 1e3;
    }
    return TERN_OK;
}

// The ways that there are: as many as a link uses resources, or the one of links alone.
static int count_ways(int n, const tern_topo *topo)
{
    int most = 1;
    for (int i = 0; i < n * n && tern_topo_resource_count(topo) > 0; i++) {
        int count = tern_topo_uses(topo, i / n, i % n, NULL);
        most = count > most ? count : most;
    }
    return most;
}

int tern__crossings_create(int n, const tern_topo *topo, const int *of, int blocks,
                           struct tern__crossings *crossings)
{
    int resources = tern_topo_resource_count(topo);
    struct pair pairs[TERN_TOPO_USES_MAX] = {{0}};
    struct sorted sorted = {0};
    *crossings = (struct tern__crossings){.blocks = blocks,
                                          .ways = count_ways(n, topo),
                                          .resources = resources};
    int status = sort_ranks(n, of, blocks, &sorted);
    status = status < 0 ? status : allocate(crossings, pairs);
    status = status < 0 ? status : fill(crossings, topo, &sorted, pairs);
    for (int w = 0; w < TERN_TOPO_USES_MAX; w++) {
        free(pairs[w].rate);
        free(pairs[w].links);
        free(pairs[w].touched);
    }
    free(sorted.first);
    free(sorted.ranks);
    if (status < 0) {
        tern__crossings_destroy(crossings);
    }
    return status;
}

void tern__crossings_destroy(struct tern__crossings *crossings)
{
    for (int w = 0; w < TERN_TOPO_USES_MAX; w++) {
        free(crossings->way[w].start);
        free(crossings->way[w].list);
    }
    free(crossings->capacity);
    free(crossings->sum);
    free(crossings->touched);
    *crossings = (struct tern__crossings){0};
}

static void add(struct tern__crossings *c, int w, int from, int to, struct tern__capacity *total)
{
    const struct tern__crossing_way *way = &c->way[w];
    int cell = from * c->blocks + to;
    for (int i = way->start[cell]; i < way->start[cell + 1]; i++) {
        const struct tern__crossing *crossing = &way->list[i];
        total->links += crossing->links;
        if (crossing->resource < 0) {
            total->rate += crossing->rate;
            total->alone += crossing->links;
            continue;
        }
        if (!(c->sum[crossing->resource] > 0)) {
            c->touched[c->touched_count++] = crossing->resource;
        }
        c->sum[crossing->resource] += crossing->rate;
    }
}

// Ends a way: what is charged to a resource is no more than that has. Keeps the least.
static void settle(struct tern__crossings *c, int w, struct tern__capacity *total,
                   struct tern__capacity *least)
{
    for (int i = 0; i < c->touched_count; i++) {
        int r = c->touched[i];
        total->rate += c->sum[r] < c->capacity[r] ? c->sum[r] : c->capacity[r];
        c->sum[r] = 0;
    }
    total->way = w;
    total->resources = c->touched_count;
    c->touched_count = 0;
    if (w == 0 || total->rate < least->rate * (1 - 1e-12)) {
        *least = *total;
    }
}

struct tern__capacity tern__crossings_from(struct tern__crossings *crossings, const int *from,
                                           int from_count, const int *to, int to_count)
{
    struct tern__capacity least = {0};
    for (int w = 0; w < crossings->ways; w++) {
        struct tern__capacity total = {0};
        for (int i = 0; i < from_count; i++) {
            for (int j = 0; j < to_count; j++) {
                add(crossings, w, from[i], to[j], &total);
            }
        }
        settle(crossings, w, &total, &least);
    }
    return least;
}

struct tern__capacity tern__crossings_parts(struct tern__crossings *crossings, const int *part)
{
    struct tern__capacity least = {0};
    for (int w = 0; w < crossings->ways; w++) {
        struct tern__capacity total = {0};
        for (int a = 0; a < crossings->blocks; a++) {
            for (int b = 0; b < crossings->blocks; b++) {
                if (part[a] != part[b]) {
                    add(crossings, w, a, b, &total);
                }
            }
        }
        settle(crossings, w, &total, &least);
    }
    return least;
}
