// SPDX-License-Identifier: Apache-2.0
// Which links an algorithm needs, whether a topology has them, and the ring or tree that it can use
// instead when some are missing.

#include <stdio.h>
#include <string.h>

#include "coll/coll.h"
#include "coll/machines.h"

// A search for a ring gives up after this many steps back; a ring exists nearly always within a
// few.
#define RING_STEPS_MAX 20000

static bool linked(const tern_topo *topo, int a, int b)
{
    return tern_topo_link(topo, a, b, NULL);
}

static bool linked_both(const tern_topo *topo, int a, int b)
{
    return linked(topo, a, b) && linked(topo, b, a);
}

// Depth first; the next rank tried after rank r is r + 1, then further on.
bool tern__ring_find(const tern_topo *topo, int ring[TERN_TOPO_RANKS_MAX])
{
    int n = tern_topo_size(topo);
    int tried[TERN_TOPO_RANKS_MAX] = {0}; // by position: how many successors of the one before
    bool used[TERN_TOPO_RANKS_MAX] = {true};
    ring[0] = 0;
    int position = 1;
    for (int steps_back = 0; position > 0 && steps_back < RING_STEPS_MAX;) {
        if (position == n) {
            if (linked(topo, ring[n - 1], ring[0])) {
                return true;
            }
        } else {
            int before = ring[position - 1];
            int next = -1;
            while (next < 0 && ++tried[position] < n) {
                int candidate = (before + tried[position]) % n;
                next = !used[candidate] && linked(topo, before, candidate) ? candidate : -1;
            }
            if (next >= 0) {
                used[next] = true;
                ring[position++] = next;
                continue;
            }
            tried[position] = 0;
        }
        used[ring[--position]] = false;
        steps_back++;
    }
    return false;
}

// Children get the heights of their parents right, furthest from the root first.
static void measure(struct tern__tree *tree, int n)
{
    memset(tree->height, 0, sizeof tree->height);
    memset(tree->children, 0, sizeof tree->children);
    for (int i = 0; i < n; i++) {
        int rank = tree->order[i];
        int parent = tree->parent[rank];
        tree->depth[rank] = parent < 0 ? 0 : tree->depth[parent] + 1;
    }
    for (int i = n - 1; i > 0; i--) {
        int rank = tree->order[i];
        int parent = tree->parent[rank];
        tree->children[parent]++;
        if (tree->height[rank] + 1 > tree->height[parent]) {
            tree->height[parent] = tree->height[rank] + 1;
        }
    }
}

// Seen from the root, rank v hangs below v with its lowest bit cleared.
static bool find_binomial(const tern_topo *topo, int root, struct tern__tree *tree)
{
    int n = tern_topo_size(topo);
    tree->parent[root] = -1;
    tree->order[0] = root;
    for (int v = 1; v < n; v++) {
        int rank = (v + root) % n;
        int parent = ((v & (v - 1)) + root) % n;
        if (!linked_both(topo, rank, parent)) {
            return false;
        }
        tree->parent[rank] = parent;
        tree->order[v] = rank;
    }
    return true;
}

static bool find_breadth_first(const tern_topo *topo, int root, struct tern__tree *tree)
{
    int n = tern_topo_size(topo);
    bool reached[TERN_TOPO_RANKS_MAX] = {false};
    int count = 1;
    tree->order[0] = root;
    tree->parent[root] = -1;
    reached[root] = true;
    for (int i = 0; i < count; i++) {
        for (int rank = 0; rank < n; rank++) {
            if (!reached[rank] && linked_both(topo, tree->order[i], rank)) {
                reached[rank] = true;
                tree->parent[rank] = tree->order[i];
                tree->order[count++] = rank;
            }
        }
    }
    return count == n;
}

bool tern__tree_find(const tern_topo *topo, int root, struct tern__tree *tree)
{
    if (!find_binomial(topo, root, tree) && !find_breadth_first(topo, root, tree)) {
        return false;
    }
    measure(tree, tern_topo_size(topo));
    return true;
}

// Whether an algorithm with a fixed pattern uses the link.
static bool uses(enum tern__need need, int n, int root, int from, int to)
{
    switch (need) {
    case TERN__NEED_ROOT:
        return from == root || to == root;
    case TERN__NEED_HALVING: {
        int ranks = 1;
        while (ranks * 2 <= n) {
            ranks *= 2;
        }
        if (from >= ranks || to >= ranks) {
            return from - to == ranks || to - from == ranks;
        }
        int bits = from ^ to;
        return (bits & (bits - 1)) == 0;
    }
    case TERN__NEED_DISSEMINATION: {
        int distance = (to - from + n) % n;
        return (distance & (distance - 1)) == 0;
    }
    default:
        return true;
    }
}

// Lists the missing links that a pattern uses; the first few.
static bool pattern_suffices(enum tern__need need, const tern_topo *topo, int root, char *why,
                             size_t why_bytes)
{
    static const char *const needs[] = {
        [TERN__NEED_ALL] = "every link",
        [TERN__NEED_ROOT] = "the links between the root and everybody",
        [TERN__NEED_HALVING] = "the links between ranks whose numbers differ in one bit",
        [TERN__NEED_DISSEMINATION] = "the links to the ranks 1, 2, 4, ... further on",
    };
    int n = tern_topo_size(topo);
    char missing[80] = "";
    int count = 0;
    for (int from = 0; from < n; from++) {
        for (int to = 0; to < n; to++) {
            if (from == to || !uses(need, n, root, from, to) || linked(topo, from, to)) {
                continue;
            }
            if (count++ < 4) {
                size_t used = strlen(missing);
                snprintf(missing + used, sizeof missing - used, "%s%d>%d", used > 0 ? ", " : "",
                         from, to);
            }
        }
    }
    if (count > 0) {
        snprintf(why, why_bytes, "it needs %s, and there is no %s%s", needs[need], missing,
                 count > 4 ? ", ..." : "");
    }
    return count == 0;
}

// Whether there are several machines, with consecutive ranks if that is needed, and every link.
static bool machines_suffice(enum tern__need need, const tern_topo *topo, char *why,
                             size_t why_bytes)
{
    struct tern__spread machines;
    if (!tern__machines_find(topo, &machines)) {
        snprintf(why, why_bytes,
                 "it needs two machines or more; machines:2x4 has some, and a file may state them");
        return false;
    }
    for (int m = 0; need == TERN__NEED_MACHINES_IN_ORDER && m < machines.count; m++) {
        int first = tern__machine_rank(&machines, m, 0);
        for (int i = 0; i < tern__machine_size(&machines, m); i++) {
            if (tern__machine_rank(&machines, m, i) != first + i) {
                snprintf(why, why_bytes,
                         "sums pass from machine to machine, so each must hold consecutive ranks, "
                         "and the machine of rank %d has not rank %d but rank %d",
                         first, first + i, tern__machine_rank(&machines, m, i));
                return false;
            }
        }
    }
    return pattern_suffices(TERN__NEED_ALL, topo, 0, why, why_bytes);
}

bool tern__links_suffice(enum tern__need need, const tern_topo *topo, int root, char *why,
                         size_t why_bytes)
{
    int ring[TERN_TOPO_RANKS_MAX];
    struct tern__tree tree;
    struct tern__cut cut;
    switch (need) {
    case TERN__NEED_RING:
        snprintf(why, why_bytes, "it needs a ring through all ranks, and none was found");
        return tern__ring_find(topo, ring);
    case TERN__NEED_TREE:
        snprintf(why, why_bytes, "it needs links in both directions that connect all ranks");
        return tern__tree_find(topo, root, &tree);
    case TERN__NEED_ALL_BUT_A_PAIR:
        snprintf(why, why_bytes,
                 "it works around one pair of ranks, and links of more are missing");
        return tern__cut_find(topo, &cut);
    case TERN__NEED_MACHINES:
    case TERN__NEED_MACHINES_IN_ORDER:
        return machines_suffice(need, topo, why, why_bytes);
    default:
        return pattern_suffices(need, topo, root, why, why_bytes);
    }
}
