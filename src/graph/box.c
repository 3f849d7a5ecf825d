// SPDX-License-Identifier: Apache-2.0
// How boxes meet. Both are cut into rows of the wider stride; then rows are compared, and inside of
// them the levels below. The answer is exact as long as each stride is a multiple of the next
// smaller one of either box, as it is with views, transposes and most reshapes of one buffer. Else,
// and when there is too much to compare, it is the careful one: they overlap, and do not cover.

#include "graph/box.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#define STEPS_MAX 256 // of one comparison

// A box while it is compared: bytes throughout, the run as the last level (stride 1).
struct level {
    uint64_t stride, count;
    uint64_t extent; // from the first byte to the last, with what is inside
    const struct level *inner;
};

static uint64_t inner_extent(const struct level *level)
{
    return level->inner != NULL ? level->inner->extent : 1;
}

static struct level make_level(uint64_t stride, uint64_t count, const struct level *inner)
{
    struct level level = {.stride = stride, .count = count, .inner = inner};
    level.extent = (count - 1) * stride + inner_extent(&level);
    return level;
}

static const struct level *expand(const struct tern__box *box, struct level *levels)
{
    levels[0] = make_level(1, box->run, NULL);
    for (uint32_t i = 0; i < box->levels; i++) {
        const struct tern__box_level *from = &box->level[box->levels - 1 - i];
        levels[i + 1] = make_level((uint64_t)from->stride * box->element, from->count, &levels[i]);
    }
    return &levels[box->levels];
}

// `box`, which is longer than `stride`, in rows of it: `rows` of them whole, and `rest`.
struct cut {
    struct level inside, rows, rest;
    bool has_rest;
};

static bool cut(const struct level *box, uint64_t stride, struct cut *result)
{
    if (box->stride == 0 || stride < box->stride || stride % box->stride != 0) {
        return false;
    }
    uint64_t in_row = stride / box->stride;
    if (box->count < in_row) {
        return false;
    }
    result->inside = make_level(box->stride, in_row, box->inner);
    result->rows = make_level(stride, box->count / in_row, &result->inside);
    result->has_rest = box->count % in_row != 0;
    if (result->has_rest) {
        result->rest = make_level(box->stride, box->count % in_row, box->inner);
    }
    return true;
}

static bool meet(const struct level *one, const struct level *other, int64_t shift, int *steps);

static bool meet_cut(const struct level *one, const struct level *other, int64_t shift, int *steps)
{
    struct cut parts;
    if (!cut(other, one->stride, &parts)) {
        return true;
    }
    return meet(one, &parts.rows, shift, steps) ||
           (parts.has_rest &&
            meet(one, &parts.rest, shift + (int64_t)(parts.rows.count * one->stride), steps));
}

// Whether `one`, and `other` that begins `shift` behind it, may have a byte in common.
static bool meet(const struct level *one, const struct level *other, int64_t shift, int *steps)
{
    if (shift >= (int64_t)one->extent || -shift >= (int64_t)other->extent) {
        return false;
    }
    if (--*steps < 0 || (one->inner == NULL && other->inner == NULL)) {
        return true;
    }
    if (one->stride < other->stride) {
        return meet(other, one, -shift, steps);
    }
    struct level row = make_level(one->stride, 1, other);
    if (one->stride != other->stride) {
        if (other->extent > one->stride) {
            return meet_cut(one, other, shift, steps);
        }
        other = &row;
    }
    if (one->inner == NULL || other->inner == NULL) { // only levels have rows
        return true;
    }
    // Row j of the other meets rows j + ahead and j + ahead + 1 of the one at most.
    const int64_t stride = (int64_t)one->stride;
    int64_t ahead = shift / stride - (shift % stride < 0);
    for (int i = 0; i < 2; i++, ahead++) {
        if (ahead < (int64_t)one->count && ahead > -(int64_t)other->count &&
            meet(one->inner, other->inner, shift - ahead * stride, steps)) {
            return true;
        }
    }
    return false;
}

// Whether `whole` certainly has all bytes of `part`, which begins `shift` behind it. That the part
// ends before the whole does says that all its rows are there: rows are not longer than the stride.
// And a last row that is not complete is a piece of those that are.
static bool contains(const struct level *whole, const struct level *part, int64_t shift, int *steps)
{
    if (shift < 0 || (uint64_t)shift + part->extent > whole->extent || --*steps < 0) {
        return false;
    }
    if (whole->inner == NULL) {
        return true;
    }
    struct cut parts;
    if (whole->stride < part->stride) {
        return cut(whole, part->stride, &parts) && contains(&parts.rows, part, shift, steps);
    }
    const int64_t stride = (int64_t)whole->stride;
    if (whole->stride == part->stride) {
        return part->inner != NULL && contains(whole->inner, part->inner, shift % stride, steps);
    }
    if (part->extent <= whole->stride) {
        return contains(whole->inner, part, shift % stride, steps);
    }
    return cut(part, whole->stride, &parts) &&
           contains(whole->inner, &parts.inside, shift % stride, steps);
}

enum tern__overlap tern__box_compare(const struct tern__box *later, const struct tern__box *earlier)
{
    if (later->levels == TERN__BOX_VAGUE || earlier->levels == TERN__BOX_VAGUE) {
        return TERN__OVERLAPS;
    }
    if (later->first == earlier->first && later->end == earlier->end &&
        later->run == earlier->run && later->levels == earlier->levels &&
        later->element == earlier->element &&
        memcmp(later->level, earlier->level, later->levels * sizeof *later->level) == 0) {
        return TERN__COVERS;
    }
    struct level levels[2][TERN_REGION_DIMS_MAX + 1];
    const struct level *one = expand(later, levels[0]);
    const struct level *other = expand(earlier, levels[1]);
    const int64_t shift = (int64_t)(earlier->first - later->first);
    int steps = STEPS_MAX;
    if (!meet(one, other, shift, &steps)) {
        return TERN__APART;
    }
    steps = STEPS_MAX;
    return contains(one, other, shift, &steps) ? TERN__COVERS : TERN__OVERLAPS;
}

// Puts a dimension into its place among those so far: the widest first.
static uint32_t add_sorted(struct tern__box_level *levels, uint32_t count,
                           struct tern__box_level added)
{
    uint32_t at = count;
    for (; at > 0 && levels[at - 1].stride < added.stride; at--) {
        levels[at] = levels[at - 1];
    }
    levels[at] = added;
    return count + 1;
}

void tern__box_sort(const tern_region *region, struct tern__box *box)
{
    struct tern__box_level dims[TERN_REGION_DIMS_MAX];
    uint32_t count = 0;
    uint64_t extent = 1; // elements, from the first to the last
    bool is_empty = false;
    for (uint32_t i = 0; i < region->ndims; i++) {
        is_empty = is_empty || region->shape[i] == 0;
        if (region->shape[i] > 1) {
            extent += (uint64_t)(region->shape[i] - 1) * region->stride[i];
            count = add_sorted(dims, count,
                               (struct tern__box_level){region->stride[i], region->shape[i]});
        }
    }
    box->element = tern__region_dtype_bytes[region->dtype];
    box->first = is_empty ? UINT64_MAX : region->address + region->start * box->element;
    box->end = is_empty ? 0 : box->first + extent * box->element;
    uint64_t run = 1;
    uint32_t levels = 0; // found so far, the narrowest last
    struct tern__box_level *top = box->level + TERN_REGION_DIMS_MAX;
    extent = 1;
    for (; count > 0; count--) {
        struct tern__box_level dim = dims[count - 1];
        if (dim.stride < extent) { // elements that have the same place
            levels = TERN__BOX_VAGUE;
            break;
        }
        extent += (uint64_t)(dim.count - 1) * dim.stride;
        if (levels == 0 && dim.stride == run) {
            run *= dim.count;
        } else if (levels > 0 && dim.stride == (uint64_t)top->stride * top->count &&
                   (uint64_t)top->count * dim.count <= UINT32_MAX) {
            top->count *= dim.count;
        } else {
            *--top = dim;
            levels++;
        }
    }
    box->run = run * box->element;
    box->levels = levels;
    for (uint32_t i = 0; levels != TERN__BOX_VAGUE && i < levels; i++) {
        box->level[i] = top[i];
    }
}
