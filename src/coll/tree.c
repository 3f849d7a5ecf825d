// SPDX-License-Identifier: Apache-2.0
// Trees: up to the root and down again, over any links that connect all ranks in both directions,
// so this also serves topologies that nothing else can. A parent sums its children's partial sums
// with its own input in one op (a leaf's partial sum is its input, which needs no signal), the root
// straight into its own and its children's outputs. A post from the parent is the last that
// concerns a rank's buffers: by then the parent has read what it wanted. Partial sums travel: order
// fixed, not of rank.
//
// Signal 0 of a rank counts its children, signal 1 is its parent's.

#include "coll/coll.h"

enum { UP, DOWN };

// The children of a rank come after it in the order; calls back for each, ascending within a level.
static void for_children(const struct tern__tree *tree, int n, int rank, struct tern__emit *e,
                         void (*visit)(struct tern__emit *e, const struct tern__tree *tree,
                                       int child, struct tern__at at),
                         struct tern__at at)
{
    int left = tree->children[rank];
    for (int child = 0; child < n && left > 0; child++) {
        if (tree->parent[child] == rank) {
            visit(e, tree, child, at);
            left--;
        }
    }
}

static void from_partial(struct tern__emit *e, const struct tern__tree *tree, int child,
                         struct tern__at at)
{
    (void)at;
    tern__emit_from(e, child, tree->children[child] == 0 ? TERN_PLAN_IN : TERN_PLAN_SCRATCH, 0);
}

static void to_output(struct tern__emit *e, const struct tern__tree *tree, int child,
                      struct tern__at at)
{
    (void)tree;
    (void)at;
    tern__emit_to(e, child, TERN_PLAN_OUT, 0);
}

static void post_down(struct tern__emit *e, const struct tern__tree *tree, int child,
                      struct tern__at at)
{
    (void)tree;
    tern__emit_post(e, at, child, DOWN);
}

// How many children tell when they are ready: all but leaves, whose input is ready anyway.
static int inner_children(const struct tern__tree *tree, int n, int rank)
{
    int count = 0;
    for (int child = 0; child < n && tree->height[rank] > 1; child++) {
        count += tree->parent[child] == rank && tree->children[child] > 0;
    }
    return count;
}

// Waits for the parent, whose push was in the round before, and hands its output to the children.
static void hand_down(struct tern__emit *e, const struct tern__tree *tree, int rank, int round)
{
    struct tern__at at = {.rank = rank, .round = round - 1};
    tern__emit_wait(e, at, DOWN, 1);
    at.round = round;
    if (tree->children[rank] > 0) {
        tern__emit_from(e, rank, TERN_PLAN_OUT, 0);
        for_children(tree, e->nranks, rank, e, to_output, at);
        tern__emit_move(e, at, e->bytes);
        for_children(tree, e->nranks, rank, e, post_down, at);
    }
}

void tern__emit_tree_all_reduce(struct tern__emit *e)
{
    struct tern__tree tree;
    if (!tern__tree_find(e->topo, 0, &tree)) {
        return;
    }
    int top = tree.height[0] - 1; // the round in which the root works
    tern__emit_scratch(e, tree.height[0] > 1 ? e->bytes : 0);
    for (int rank = 0; rank < e->nranks; rank++) {
        if (tree.children[rank] > 0) {
            struct tern__at at = {.rank = rank, .round = tree.height[rank] - 1};
            tern__emit_wait(e, at, UP, inner_children(&tree, e->nranks, rank));
            tern__emit_from(e, rank, TERN_PLAN_IN, 0);
            for_children(&tree, e->nranks, rank, e, from_partial, at);
            if (rank == 0) {
                tern__emit_to(e, rank, TERN_PLAN_OUT, 0);
                for_children(&tree, e->nranks, rank, e, to_output, at);
                tern__emit_move(e, at, e->bytes);
                for_children(&tree, e->nranks, rank, e, post_down, at);
            } else {
                tern__emit_to(e, rank, TERN_PLAN_SCRATCH, 0);
                tern__emit_move(e, at, e->bytes);
                tern__emit_post(e, at, tree.parent[rank], UP);
            }
        }
        if (rank != 0) {
            hand_down(e, &tree, rank, top + tree.depth[rank]);
        }
    }
}

// Up only; what goes down is that a child's buffers are its own again.
void tern__emit_tree_reduce(struct tern__emit *e)
{
    struct tern__tree tree;
    if (!tern__tree_find(e->topo, e->root, &tree)) {
        return;
    }
    tern__emit_scratch(e, tree.height[e->root] > 1 ? e->bytes : 0);
    for (int rank = 0; rank < e->nranks; rank++) {
        int parent = tree.parent[rank];
        if (tree.children[rank] > 0) {
            struct tern__at at = {.rank = rank, .round = tree.height[rank] - 1};
            tern__emit_wait(e, at, UP, inner_children(&tree, e->nranks, rank));
            tern__emit_from(e, rank, TERN_PLAN_IN, 0);
            for_children(&tree, e->nranks, rank, e, from_partial, at);
            tern__emit_to(e, rank, parent < 0 ? TERN_PLAN_OUT : TERN_PLAN_SCRATCH, 0);
            tern__emit_move(e, at, e->bytes);
            if (parent >= 0) {
                tern__emit_post(e, at, parent, UP);
            }
            for_children(&tree, e->nranks, rank, e, post_down, at);
        }
        if (parent >= 0) {
            struct tern__at at = {.rank = rank, .round = tree.height[parent] - 1};
            tern__emit_wait(e, at, DOWN, 1);
        }
    }
}

void tern__emit_tree_broadcast(struct tern__emit *e)
{
    struct tern__tree tree;
    if (!tern__tree_find(e->topo, e->root, &tree)) {
        return;
    }
    for (int rank = 0; rank < e->nranks; rank++) {
        if (rank != e->root) {
            hand_down(e, &tree, rank, tree.depth[rank]);
            continue;
        }
        struct tern__at at = {.rank = rank};
        tern__emit_from(e, rank, TERN_PLAN_IN, 0);
        tern__emit_to(e, rank, TERN_PLAN_OUT, 0);
        for_children(&tree, e->nranks, rank, e, to_output, at);
        tern__emit_move(e, at, e->bytes);
        for_children(&tree, e->nranks, rank, e, post_down, at);
    }
}

void tern__emit_tree_barrier(struct tern__emit *e)
{
    struct tern__tree tree;
    if (!tern__tree_find(e->topo, 0, &tree)) {
        return;
    }
    for (int rank = 0; rank < e->nranks; rank++) {
        struct tern__at at = {.rank = rank, .round = tree.height[rank]};
        tern__emit_wait(e, at, UP, tree.children[rank]);
        if (rank != 0) {
            tern__emit_post(e, at, tree.parent[rank], UP);
            at.round = tree.height[0] + tree.depth[rank] - 1;
            tern__emit_wait(e, at, DOWN, 1);
            at.round++;
        }
        for_children(&tree, e->nranks, rank, e, post_down, at);
    }
}
