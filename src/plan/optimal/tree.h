// SPDX-License-Identifier: Apache-2.0
// What is to be moved, and the trees on which bytes move. A *commodity* is what the plan must
// carry: the data of one origin to all ranks, the sum of all at a rank, or one block from rank to
// rank. A *tree* carries a part of a commodity, a range of its bytes: inward, where each rank sends
// the sum of what it got and its own to the next one, and outward, where each sends on what it got.
//
// A task is one rank's share of a tree: task v is what v sends inward, task n + v what v gets
// outward. Tasks happen in rounds; one can begin a round after those before it have.
#ifndef TERN_OPTIMAL_TREE_H
#define TERN_OPTIMAL_TREE_H

#include "plan/optimal/graph.h"
#include "tern/algo.h"

struct tern__commodity {
    int origin;      // whose data or, of sums, where they are wanted; -1: any rank
    int destination; // of a block; -1: all ranks
    double demand;   // its share of the plan's bytes
};

// Elements of two bytes may be f16 or bf16, whose sums must be rounded once, at the end. Other
// types keep a sum as it is, so it can stop and go on: the bits are the same.
#define TERN__UNIT_ROUNDED 2

struct tern__patience; // plan/optimal/lp.h

struct tern__aim {
    const struct tern__net_graph *graph;
    const struct tern__patience *patience; // of whoever works on it now; NULL: any time
    tern_plan_kind kind;
    int root;
    bool inward, outward; // which parts its trees have
    bool raw;             // inward all inputs go as they are, to be summed in rank order
    bool prefixes; // with raw: the inputs of the first ranks go as their sum, where all have come
    // AllReduce in two phases: trees are outward, and the sums go the same way back in time.
    bool in_sequence;
    int count;
    struct tern__commodity *commodities;
};

struct tern__net_tree {
    int commodity, root;
    int *in_to;    // to whom a rank sends inward; -1: the root, or no task
    int *out_from; // from whom it gets outward; -1 likewise
    // By task: the earliest round, from 1, 0 if there is no such task; the rounds that must follow
    // it; and the inputs, or sums, that it carries.
    int *level, *after, *many;
    // By rank, of raw inputs: how many of the first ranks' inputs come through it, without a gap;
    // with aim.prefixes their sum goes on as one.
    int *head;
    int depth; // rounds of the whole
};

// What a kind asks for. `order` is that of its sums.
int tern__aim_make(struct tern__arena *arena, const struct tern__net_graph *graph,
                   tern_plan_kind kind, int root, tern_order order, struct tern__aim *aim);

// Whether what a rank of a raw tree has of another's input goes on as it is: not in a sum.
static inline bool tern__tree_goes_alone(const struct tern__aim *aim,
                                         const struct tern__net_tree *tree, int rank, int whose)
{
    return !aim->prefixes || whose == 0 || whose >= tree->head[rank];
}

// Makes a tree of the parents of its parts (n each; NULL where there is no such part).
int tern__tree_make(struct tern__arena *arena, const struct tern__aim *aim, int commodity, int root,
                    const int *in_to, const int *out_from, struct tern__net_tree **tree);

// The edge of a task.
int tern__tree_edge(const struct tern__aim *aim, const struct tern__net_tree *tree, int task);

// The tasks before a task, at most n; returns how many.
int tern__tree_before(const struct tern__aim *aim, const struct tern__net_tree *tree, int task,
                      int *tasks);

// Adds to use[resource] how often a tree crosses it, per byte of its range.
void tern__tree_use(const struct tern__aim *aim, const struct tern__net_tree *tree, double *use);

// How often a tree's range rests in the scratch of a rank.
int tern__tree_slots(const struct tern__aim *aim, const struct tern__net_tree *tree, int rank);

// Whether two trees are the same.
bool tern__tree_same(const struct tern__aim *aim, const struct tern__net_tree *a,
                     const struct tern__net_tree *b);

// The length of a tree: of its edges, each as often as it is crossed.
int64_t tern__tree_length(const struct tern__aim *aim, const struct tern__net_tree *tree,
                          const int64_t *lengths);

// A list of different trees.
struct tern__trees {
    struct tern__net_tree **at;
    int count, room;
    int *table; // finds them by what they are: index + 1, or 0; as many places as twice the room
};

// Adds a tree that is not there yet; returns 1, or 0 if it is.
int tern__trees_add(struct tern__arena *arena, const struct tern__aim *aim,
                    struct tern__trees *trees, struct tern__net_tree *tree);

#endif
