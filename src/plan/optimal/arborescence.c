// SPDX-License-Identifier: Apache-2.0
// Trees over dense matrices. The arborescence goes by levels: each rank takes its shortest in-edge,
// cycles become one rank of the next level, whose in-edges cost what they cost more than the edge
// that they replace.

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "plan/optimal/arborescence.h"

enum { N = TERN__NET_RANKS_MAX };

uint64_t tern__net_random(uint64_t *seed)
{
    uint64_t z = *seed += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

void tern__reverse_lengths(const int64_t *lengths, int n, int64_t *reversed)
{
    for (int from = 0; from < n; from++) {
        for (int to = 0; to < n; to++) {
            reversed[to * n + from] = lengths[from * n + to];
        }
    }
}

// A level: m ranks, the edges between them, and for each rank where its in-edge comes from.
struct level {
    int m, root;
    const int64_t *lengths; // [from * m + to]
    int from[N];
    int64_t in[N]; // the length of that edge
    int group[N];  // the rank of the next level that it becomes
    int groups;
};

static bool take_shortest(struct level *level)
{
    int m = level->m;
    for (int v = 0; v < m; v++) {
        level->from[v] = -1;
        level->in[v] = TERN__NO_EDGE;
        for (int u = 0; u < m; u++) {
            if (u != v && level->lengths[u * m + v] < level->in[v]) {
                level->in[v] = level->lengths[u * m + v];
                level->from[v] = u;
            }
        }
        if (level->from[v] < 0 && v != level->root) {
            return false;
        }
    }
    level->from[level->root] = -1;
    level->in[level->root] = 0;
    return true;
}

// Gives the ranks of each cycle one group, every other rank its own. Returns whether there is one.
static bool group_cycles(struct level *level)
{
    int seen_by[N];
    bool any = false;
    level->groups = 0;
    for (int v = 0; v < level->m; v++) {
        level->group[v] = -1;
        seen_by[v] = -1;
    }
    for (int start = 0; start < level->m; start++) {
        int v = start;
        while (v >= 0 && seen_by[v] < 0) {
            seen_by[v] = start;
            v = level->from[v];
        }
        if (v >= 0 && seen_by[v] == start && level->group[v] < 0) {
            any = true;
            for (int u = v; level->group[u] < 0; u = level->from[u]) {
                level->group[u] = level->groups;
            }
            level->groups++;
        }
    }
    for (int v = 0; v < level->m; v++) {
        if (level->group[v] < 0) {
            level->group[v] = level->groups++;
        }
    }
    return any;
}

// Fills from[] of a level; false when some rank cannot be reached. The recursion ends: each level
// has fewer ranks.
static bool solve(struct level *level)
{
    if (!take_shortest(level)) {
        return false;
    }
    if (!group_cycles(level)) {
        return true;
    }
    int m = level->m;
    int k = level->groups;
    int64_t lengths[k * k];
    int via[k * k]; // the edge of this level that one of the next stands for
    for (int i = 0; i < k * k; i++) {
        lengths[i] = TERN__NO_EDGE;
        via[i] = -1;
    }
    for (int edge = 0; edge < m * m; edge++) {
        int u = edge / m;
        int v = edge % m;
        int at = level->group[u] * k + level->group[v];
        if (level->lengths[edge] != TERN__NO_EDGE && level->group[u] != level->group[v] &&
            level->lengths[edge] - level->in[v] < lengths[at]) {
            lengths[at] = level->lengths[edge] - level->in[v];
            via[at] = edge;
        }
    }
    struct level next = {.m = k, .root = level->group[level->root], .lengths = lengths};
    if (!solve(&next)) {
        return false;
    }
    for (int g = 0; g < k; g++) {
        if (g != next.root) {
            int edge = via[next.from[g] * k + g];
            level->from[edge % m] = edge / m;
        }
    }
    return true;
}

int64_t tern__arborescence(const int64_t *lengths, int n, int root, int *parent)
{
    struct level level = {.m = n, .root = root, .lengths = lengths};
    if (!solve(&level)) {
        return -1;
    }
    int64_t total = 0;
    for (int v = 0; v < n; v++) {
        parent[v] = level.from[v];
        total += v == root ? 0 : lengths[level.from[v] * n + v];
    }
    return total;
}

int64_t tern__shortest_paths(const int64_t *lengths, int n, int root, int *parent,
                             int64_t *distance)
{
    bool done[N] = {false};
    int64_t total = 0;
    for (int v = 0; v < n; v++) {
        distance[v] = v == root ? 0 : TERN__NO_EDGE;
        parent[v] = -1;
    }
    for (int step = 0; step < n; step++) {
        int at = -1;
        for (int v = 0; v < n; v++) {
            if (!done[v] && distance[v] != TERN__NO_EDGE &&
                (at < 0 || distance[v] < distance[at])) {
                at = v;
            }
        }
        if (at < 0) {
            return -1;
        }
        done[at] = true;
        total += distance[at];
        for (int v = 0; v < n; v++) {
            int64_t length = lengths[at * n + v];
            if (!done[v] && length != TERN__NO_EDGE && distance[at] + length < distance[v]) {
                distance[v] = distance[at] + length;
                parent[v] = at;
            }
        }
    }
    return total;
}

int tern__shallow_tree(const int64_t *lengths, int n, int root, double penalty, uint64_t *seed,
                       int *parent)
{
    int depth[N];
    int deepest = 0;
    for (int v = 0; v < n; v++) {
        depth[v] = v == root ? 0 : -1;
        parent[v] = -1;
    }
    for (int step = 1; step < n; step++) {
        double least = INFINITY;
        int from = -1;
        int to = -1;
        unsigned ties = 0;
        for (int edge = 0; edge < n * n; edge++) {
            int u = edge / n;
            int v = edge % n;
            if (depth[u] < 0 || depth[v] >= 0 || lengths[edge] == TERN__NO_EDGE) {
                continue;
            }
            double key = (double)lengths[edge] + penalty * depth[u];
            ties = key < least ? 1 : ties + (key <= least);
            if (key < least || (key <= least && tern__net_random(seed) % ties == 0)) {
                least = key;
                from = u;
                to = v;
            }
        }
        if (from < 0) {
            return -1;
        }
        parent[to] = from;
        depth[to] = depth[from] + 1;
        deepest = depth[to] > deepest ? depth[to] : deepest;
    }
    return deepest;
}
