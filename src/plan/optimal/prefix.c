// SPDX-License-Identifier: Apache-2.0
// The table is over pairs of a rank and how many inputs are in the sum: the sum moves along
// shortest paths, or takes in the next input where it is. Of equal ways one that stays is taken.

#include <stdbool.h>

#include "plan/optimal/arborescence.h"
#include "plan/optimal/prefix.h"

enum { N = TERN__NET_RANKS_MAX };

static int64_t add(int64_t a, int64_t b)
{
    return a == TERN__NO_EDGE || b == TERN__NO_EDGE ? TERN__NO_EDGE : a + b;
}

// Where the sum of the first k inputs is best made when it is wanted on a rank; -1: nowhere.
static int best_origin(const struct tern__prefix_ways *w, int k, int rank, int64_t *least)
{
    int best = -1;
    *least = TERN__NO_EDGE;
    for (int i = 0; i < w->n; i++) {
        int u = (rank + i) % w->n; // itself first
        int64_t length = add(w->paid[(k - 1) * w->n + u], w->distance[u * w->n + rank]);
        if (length < *least) {
            *least = length;
            best = u;
        }
    }
    return best;
}

void tern__prefix_find(const int64_t *lengths, int n, struct tern__prefix_ways *ways)
{
    ways->n = n;
    for (int u = 0; u < n; u++) {
        (void)tern__shortest_paths(lengths, n, u, &ways->before[u * n], &ways->distance[u * n]);
    }
    for (int k = 0; k < n; k++) {
        for (int v = 0; v < n; v++) {
            int64_t sum = 0;
            int from = v;
            if (k > 0) {
                from = best_origin(ways, k, v, &sum);
            }
            ways->paid[k * n + v] = add(sum, ways->distance[k * n + v]);
            ways->came_from[k * n + v] = from;
        }
    }
}

int64_t tern__prefix_length(const struct tern__prefix_ways *ways, int root)
{
    int64_t least;
    return best_origin(ways, ways->n, root, &least) < 0 ? -1 : least;
}

// The ranks on the way of the sum, without loops. Returns how many; the last is the root.
static int walk(const struct tern__prefix_ways *w, const int *made, int root, int *path)
{
    int at[N]; // the place of each rank on the path; -1: none
    int count = 0;
    for (int v = 0; v < w->n; v++) {
        at[v] = -1;
    }
    path[count++] = made[0];
    at[made[0]] = 0;
    for (int k = 1; k <= w->n; k++) {
        int from = made[k - 1];
        int to = k < w->n ? made[k] : root;
        int steps[N];
        int steps_count = 0;
        for (int v = to; v != from; v = w->before[from * w->n + v]) {
            steps[steps_count++] = v;
        }
        while (steps_count > 0) {
            int next = steps[--steps_count];
            while (at[next] >= 0 && path[count - 1] != next) { // a loop
                at[path[--count]] = -1;
            }
            if (at[next] < 0) {
                at[next] = count;
                path[count++] = next;
            }
        }
    }
    return count;
}

void tern__prefix_tree(const struct tern__prefix_ways *ways, int root, int *to)
{
    int n = ways->n;
    int made[N] = {0};
    int path[N];
    bool in[N];
    int64_t least;
    for (int k = n - 1, rank = best_origin(ways, n, root, &least); k >= 0; k--) {
        made[k] = rank;
        rank = ways->came_from[k * n + rank];
    }
    int count = walk(ways, made, root, path);
    for (int v = 0; v < n; v++) {
        in[v] = false;
    }
    for (int i = 0; i < count; i++) {
        in[path[i]] = true;
        to[path[i]] = i + 1 < count ? path[i + 1] : -1;
    }
    for (int k = 0; k < n; k++) { // to where it is added, or the way that another takes from there
        int steps[N + 1];
        int steps_count = 0;
        int goal = in[made[k]] ? made[k] : root;
        for (int v = goal; v != k; v = ways->before[k * n + v]) {
            steps[steps_count++] = v;
        }
        for (int v = k; !in[v];) {
            int next = steps[--steps_count];
            in[v] = true;
            to[v] = next;
            v = next;
        }
    }
}
