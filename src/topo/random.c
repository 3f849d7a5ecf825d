// SPDX-License-Identifier: Apache-2.0
// Random topologies: a circle through all ranks in random order, so that everybody reaches
// everybody, and as many other links again as keeps 4 from a rank on average. Set-up path.

#include "base/error.h"
#include "base/random.h"
#include "topo/topo.h"

#define LINKS_OF_A_RANK 4

struct graph {
    tern_topo *topo;
    tern_link link;
    bool one_way;
    int64_t left; // links, or pairs of links, to add
    uint64_t state;
};

static bool is_free(const struct graph *graph, int from, int to)
{
    tern_link link;
    return from != to && (graph->one_way || from < to) &&
           !tern__topo_made(graph->topo, from, to, &link);
}

static void add(struct graph *graph, int from, int to)
{
    tern__topo_add(graph->topo, from, to, graph->link);
    if (!graph->one_way) {
        tern__topo_add(graph->topo, to, from, graph->link);
    }
    graph->left--;
}

static void add_circle(struct graph *graph)
{
    int size = graph->topo->size;
    int order[TERN_TOPO_RANKS_MAX] = {0};
    for (int i = 1; i < size; i++) { // each new one changes places with one before it, or none
        int place = (int)tern__random_below(&graph->state, (uint64_t)i + 1);
        order[i] = order[place];
        order[place] = i;
    }
    bool pair = size == 2 && !graph->one_way; // there and back is one pair
    for (int i = 0; i < (size == 1 ? 0 : pair ? 1 : size); i++) {
        add(graph, order[i], order[(i + 1) % size]);
    }
}

// Each set of free places of the right size is as likely as any other (Knuth, selection sampling).
static void add_others(struct graph *graph)
{
    int size = graph->topo->size;
    int64_t free_count = 0;
    for (int64_t i = 0; i < (int64_t)size * size; i++) {
        free_count += is_free(graph, (int)(i / size), (int)(i % size));
    }
    for (int64_t i = 0; free_count > 0 && graph->left > 0; i++) {
        int from = (int)(i / size);
        int to = (int)(i % size);
        if (!is_free(graph, from, to)) {
            continue;
        }
        if ((int64_t)tern__random_below(&graph->state, (uint64_t)free_count) < graph->left) {
            add(graph, from, to);
        }
        free_count--;
    }
}

int tern__topo_of_random(const char *word, int size, int seed, bool one_way, tern_link link,
                         tern_topo **topo)
{
    tern_topo *made = NULL;
    TERN_TRY(tern__topo_new(word, size, &made));
    struct graph graph = {
        .topo = made,
        .link = link,
        .one_way = one_way,
        .left = (int64_t)size * LINKS_OF_A_RANK / (one_way ? 1 : 2),
        .state = (uint64_t)seed,
    };
    add_circle(&graph);
    add_others(&graph);
    *topo = made;
    return TERN_OK;
}
