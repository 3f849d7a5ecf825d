// SPDX-License-Identifier: Apache-2.0
// The algorithms, one row each in algo.def, one file each beside it. None moves a byte: each emits
// a plan for the ranks, links and size that it is given. When they run, their links are known to be
// there and the rank count to be 2 or more (barrier too).
#ifndef TERN_COLL_COLL_H
#define TERN_COLL_COLL_H

#include <stdbool.h>

#include "coll/emit.h"

// Which links an algorithm cannot do without.
enum tern__need {
    TERN__NEED_ALL,               // every one
    TERN__NEED_ALL_BUT_A_PAIR,    // every one but those between one pair of ranks
    TERN__NEED_RING,              // a ring through all ranks, in one direction
    TERN__NEED_TREE,              // a tree to the root, in both directions
    TERN__NEED_ROOT,              // between the root and everybody
    TERN__NEED_HALVING,           // between ranks whose numbers differ in one bit
    TERN__NEED_DISSEMINATION,     // to the ranks 1, 2, 4, … further on
    TERN__NEED_MACHINES,          // every one, between two machines or more
    TERN__NEED_MACHINES_IN_ORDER, // the same, and the ranks of a machine follow one another
};

struct tern__algo { // algo.def says what the columns are
    tern_plan_kind kind;
    const char *name;
    const char *text;
    void (*emit)(struct tern__emit *e);
    tern_order order; // the one it gives; TERN_ORDER_RANK where there are no sums
    enum tern__need need;
    int nranks_min;
    bool in_place, scales;
};

// The row of an index of tern_algo_name; NULL when there is none.
const struct tern__algo *tern__algo_row(tern_plan_kind kind, int index);

// How many there are of all kinds.
enum {
#define TERN_ALGO(...) +1
    TERN__ALGORITHMS = 0
#include "coll/algo.def"
#undef TERN_ALGO
};

// Whether it is for ranks on several machines alone.
static inline bool tern__algo_needs_machines(const struct tern__algo *row)
{
    return row->need == TERN__NEED_MACHINES || row->need == TERN__NEED_MACHINES_IN_ORDER;
}

// Whether the links are there; if not, which ones are missing, as the end of a sentence.
bool tern__links_suffice(enum tern__need need, const tern_topo *topo, int root, char *why,
                         size_t why_bytes);

// A ring over existing links, rank 0 first, by number where that works. False if none was found.
bool tern__ring_find(const tern_topo *topo, int ring[TERN_TOPO_RANKS_MAX]);

// A tree over links that exist in both directions: binomial where it can be, else breadth first.
struct tern__tree {
    int parent[TERN_TOPO_RANKS_MAX];   // -1 of the root
    int order[TERN_TOPO_RANKS_MAX];    // the root first, parents before children
    int depth[TERN_TOPO_RANKS_MAX];    // edges from the root
    int height[TERN_TOPO_RANKS_MAX];   // edges to the furthest leaf below
    int children[TERN_TOPO_RANKS_MAX]; // how many
};
bool tern__tree_find(const tern_topo *topo, int root, struct tern__tree *tree);

// The pair of ranks whose links must not be used: the one that has a cut, else the slowest. False
// if links of more than one pair are cut.
struct tern__cut {
    int pair[2];
    int healthy[TERN_TOPO_RANKS_MAX]; // the others, ascending
    int healthy_count;
    int index[TERN_TOPO_RANKS_MAX]; // in `healthy`; of the pair: -1 and -2
};
bool tern__cut_find(const tern_topo *topo, struct tern__cut *cut);

#define TERN_ALGO(kind, name, emit, ...) void tern__emit_##emit(struct tern__emit *e);
#include "coll/algo.def"
#undef TERN_ALGO

#endif
