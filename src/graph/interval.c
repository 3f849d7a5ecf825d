// SPDX-License-Identifier: Apache-2.0
// Trees of intervals (interval.h). Recursive: a tree of 2^20 is about 50 deep.

#include "graph/interval.h"

#include <stdbool.h>

static struct tern__interval *at(const struct tern__intervals *all, uint32_t number)
{
    return (struct tern__interval *)((char *)all->zero + number * all->size);
}

// Who stands higher; beginnings and numbers rise together, so both are mixed well.
static uint64_t height(uint32_t number)
{
    uint64_t mixed = (number + UINT64_C(1)) * UINT64_C(0x9e3779b97f4a7c15);
    mixed = (mixed ^ (mixed >> 32)) * UINT64_C(0xd6e8feb86659fd93);
    return mixed ^ (mixed >> 32);
}

static bool is_before(const struct tern__intervals *all, uint32_t one, uint32_t other)
{
    const uint64_t first = at(all, one)->first, other_first = at(all, other)->first;
    return first < other_first || (first == other_first && one < other);
}

static void measure(const struct tern__intervals *all, uint32_t number)
{
    struct tern__interval *interval = at(all, number);
    interval->reach = interval->end;
    const uint32_t sides[2] = {interval->left, interval->right};
    for (int i = 0; i < 2; i++) {
        if (sides[i] != 0 && at(all, sides[i])->reach > interval->reach) {
            interval->reach = at(all, sides[i])->reach;
        }
    }
}

// Into those before `key` and those behind it.
static void split(const struct tern__intervals *all, uint32_t root, uint32_t key, uint32_t *before,
                  uint32_t *behind)
{
    if (root == 0) {
        *before = *behind = 0;
        return;
    }
    if (is_before(all, root, key)) {
        *before = root;
        split(all, at(all, root)->right, key, &at(all, root)->right, behind);
    } else {
        *behind = root;
        split(all, at(all, root)->left, key, before, &at(all, root)->left);
    }
    measure(all, root);
}

// All of `before` are before all of `behind`.
static uint32_t join(const struct tern__intervals *all, uint32_t before, uint32_t behind)
{
    if (before == 0 || behind == 0) {
        return before + behind;
    }
    bool under_before = height(before) > height(behind);
    uint32_t root = under_before ? before : behind;
    if (under_before) {
        at(all, root)->right = join(all, at(all, root)->right, behind);
    } else {
        at(all, root)->left = join(all, before, at(all, root)->left);
    }
    measure(all, root);
    return root;
}

// Above its place, what is added changes nothing but how far intervals reach.
void tern__interval_add(const struct tern__intervals *all, uint32_t *root, uint32_t added)
{
    struct tern__interval *interval = at(all, added);
    const uint64_t added_height = height(added);
    while (*root != 0 && height(*root) >= added_height) {
        struct tern__interval *above = at(all, *root);
        above->reach = interval->end > above->reach ? interval->end : above->reach;
        root = is_before(all, added, *root) ? &above->left : &above->right;
    }
    split(all, *root, added, &interval->left, &interval->right);
    *root = added;
    measure(all, added);
}

void tern__interval_remove(const struct tern__intervals *all, uint32_t *root, uint32_t removed)
{
    struct tern__interval *interval = at(all, *root);
    if (*root == removed) {
        *root = join(all, interval->left, interval->right);
        return;
    }
    tern__interval_remove(all, is_before(all, removed, *root) ? &interval->left : &interval->right,
                          removed);
    measure(all, *root);
}

int tern__interval_visit(const struct tern__intervals *all, uint32_t root, uint64_t first,
                         uint64_t end, int (*visit)(void *arg, uint32_t number), void *arg)
{
    const struct tern__interval *interval = at(all, root);
    if (root == 0 || interval->reach <= first) {
        return 0;
    }
    int result = tern__interval_visit(all, interval->left, first, end, visit, arg);
    if (result != 0 || interval->first >= end) {
        return result;
    }
    if (interval->end > first) {
        result = visit(arg, root);
    }
    return result != 0 ? result
                       : tern__interval_visit(all, interval->right, first, end, visit, arg);
}
