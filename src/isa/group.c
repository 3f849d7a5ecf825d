// SPDX-License-Identifier: Apache-2.0
// Gather, scatter, broadcast and reduce over a group, by its root alone. Data path: no allocation,
// lock, log or system call.

#include <inttypes.h>
#include <stdalign.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memcpy.h"
#include "base/public.h"
#include "base/trace.h"
#include "isa/check.h"
#include "isa/far.h"
#include "isa/pieces.h"
#include "isa/reduce.h"

// Bytes of a row that are reduced at a time; all sources of a block stay in the second-level cache.
#define BLOCK_BYTES 4096

static int check_group(const char *call, const tern_group *group)
{
    if (group == NULL || group->tensors == NULL) {
        return tern__fail(TERN_ERR_ARG, "%s: the group and its tensors must not be NULL", call);
    }
    if (group->count < 1 || group->count > TERN_RANKS_MAX) {
        return tern__fail(TERN_ERR_ARG, "%s: the group has %d tensors; there may be 1 to %d", call,
                          group->count, TERN_RANKS_MAX);
    }
    if (group->root < 0 || group->root >= group->count) {
        return tern__fail(TERN_ERR_ARG, "%s: the root is %d; the group has ranks 0..%d", call,
                          group->root, group->count - 1);
    }
    const tern_tensor *first = &group->tensors[0];
    for (int rank = 1; rank < group->count; rank++) {
        const tern_tensor *tensor = &group->tensors[rank];
        if (tensor->dtype != first->dtype ||
            memcmp(tensor->shape, first->shape, sizeof first->shape) != 0 ||
            memcmp(tensor->stride, first->stride, sizeof first->stride) != 0) {
            return tern__fail(TERN_ERR_ARG,
                              "%s: the tensors of ranks 0 and %d of the group differ in dtype, "
                              "shape or strides",
                              call, rank);
        }
    }
    return TERN_OK;
}

// The tensor of a rank, which has the extents `shape`.
static int view_member(const char *call, const tern_group *group, int rank, const int64_t *shape,
                       struct tern__view *view)
{
    static const char name[] = "the tensor of a rank";
    return tern__view_any(call, name, &group->tensors[rank], shape, view);
}

static int check_dtype(const char *call, const tern_group *group, const char *name,
                       tern_dtype dtype)
{
    return group->tensors[0].dtype == dtype
               ? TERN_OK
               : tern__fail(TERN_ERR_ARG, "%s: the group has %s, and '%s' %s", call,
                            tern_dtype_name(group->tensors[0].dtype), name, tern_dtype_name(dtype));
}

// That a tensor has at least these extents; `except` is a dimension that does not count, or -1.
static int check_extents(const char *call, const char *name, const tern_tensor *tensor,
                         const int64_t wanted[5], int except)
{
    for (int d = 0; d < 5; d++) {
        if (d != except && tensor->shape[d] < wanted[d]) {
            return tern__fail(TERN_ERR_ARG,
                              "%s: extent %d of %s is %" PRId64 ", and %" PRId64
                              " elements go there",
                              call, d, name, tensor->shape[d], wanted[d]);
        }
    }
    return TERN_OK;
}

static void trace(const char *name, const int64_t shape[5], size_t element_bytes, int count,
                  int64_t begin_ns)
{
    if (begin_ns != 0) {
        struct tern__trace_event event = {.begin_ns = begin_ns, .kind = TERN__TRACE_TRANSFER};
        event.bytes = (uint64_t)count * (uint64_t)tern__shape_rows(shape) * (uint64_t)shape[4] *
                      element_bytes;
        tern__trace_name(&event, name);
        tern__trace_put(&event);
    }
}

static int copy(const char *what, const struct tern__view *to, const struct tern__view *from,
                const struct tern__tiles *tiles)
{
    if (__builtin_expect(to->far && from->far, 0)) {
        return tern__far_refuse(tiles->call, "what is copied to another machine", from);
    }
    if (tern__checking()) {
        tern__watch_staging(what, tiles->ping, tiles->pong);
        tern__watch_load(what, from, true);
        return tern__watch_store(what, to, from, TERN__WATCH_STORE, false);
    }
    tern__view_copy(to, from, TERN_ATOMIC_NONE);
    tern__owe_ring(to->window, to->rank);
    return tern__far_sent(to, from);
}

// Gather and scatter: `all` holds the rows of all ranks in dimension 3.
static int share_out(const struct tern__tiles *tiles, const tern_group *group,
                     const tern_tensor *all, const char *name, bool gathers)
{
    const char *call = tiles->call;
    int64_t begin_ns = tern__trace_start();
    TERN_TRY(check_group(call, group));
    int64_t shape[5];
    struct tern__view whole;
    struct tern__view member[TERN_RANKS_MAX];
    memcpy(shape, group->tensors[0].shape, sizeof shape);
    for (int rank = 0; rank < group->count; rank++) {
        TERN_TRY(view_member(call, group, rank, shape, &member[rank]));
    }
    int64_t rows = shape[3];
    if (all == NULL) {
        return tern__fail(TERN_ERR_ARG, "%s: %s must not be NULL", call, name);
    }
    TERN_TRY(check_extents(call, name, all, shape, 3));
    if (all->shape[3] / group->count < rows) {
        return tern__fail(TERN_ERR_ARG,
                          "%s: extent 3 of '%s' is %" PRId64 ", and %d ranks have %" PRId64
                          " rows each",
                          call, name, all->shape[3], group->count, rows);
    }
    shape[3] = rows * group->count; // no more than there are
    TERN_TRY(tern__view_tensor(call, name, all, shape, &whole));
    TERN_TRY(check_dtype(call, group, name, whole.dtype));
    if (tern__shape_is_empty(shape)) {
        return TERN_OK;
    }
    shape[3] = rows;
    TERN_TRY(tern__pieces_check(tiles, shape, whole.dtype));
    memcpy(whole.shape, shape, sizeof shape);
    int64_t step = rows * whole.stride[3] * (int64_t)whole.element_bytes;
    for (int rank = 0; rank < group->count; rank++) {
        TERN_TRY(copy(gathers ? "TGATHER" : "TSCATTER", gathers ? &whole : &member[rank],
                      gathers ? &member[rank] : &whole, tiles));
        whole.data += step;
    }
    tern__pieces_end(tiles, shape);
    trace(gathers ? "gather" : "scatter", shape, whole.element_bytes, group->count, begin_ns);
    return TERN_OK;
}

int tern_group_gather(const tern_group *group, const tern_tensor *to, tern_tile *ping,
                      tern_tile *pong)
{
    return TERN__CALL(
        share_out(&(struct tern__tiles){"tern_group_gather", ping, pong}, group, to, "to", true));
}

int tern_group_scatter(const tern_group *group, const tern_tensor *from, tern_tile *ping,
                       tern_tile *pong)
{
    return TERN__CALL(share_out(&(struct tern__tiles){"tern_group_scatter", ping, pong}, group,
                                from, "from", false));
}

static int broadcast(const tern_group *group, const tern_tensor *from, tern_tile *ping,
                     tern_tile *pong)
{
    const struct tern__tiles tiles = {"tern_group_broadcast", ping, pong};
    int64_t begin_ns = tern__trace_start();
    struct tern__view source;
    struct tern__view member[TERN_RANKS_MAX];
    TERN_TRY(check_group(tiles.call, group));
    TERN_TRY(tern__view_tensor(tiles.call, "from", from, NULL, &source));
    TERN_TRY(check_dtype(tiles.call, group, "from", source.dtype));
    TERN_TRY(
        check_extents(tiles.call, "the tensor of a rank", &group->tensors[0], source.shape, -1));
    for (int rank = 0; rank < group->count; rank++) {
        TERN_TRY(view_member(tiles.call, group, rank, source.shape, &member[rank]));
    }
    if (tern__shape_is_empty(source.shape)) {
        return TERN_OK;
    }
    TERN_TRY(tern__pieces_check(&tiles, source.shape, source.dtype));
    for (int rank = 0; rank < group->count; rank++) {
        TERN_TRY(copy("TBROADCAST", &member[rank], &source, &tiles));
    }
    tern__pieces_end(&tiles, source.shape);
    trace("broadcast", source.shape, source.element_bytes, group->count, begin_ns);
    return TERN_OK;
}

int tern_group_broadcast(const tern_group *group, const tern_tensor *from, tern_tile *ping,
                         tern_tile *pong)
{
    return TERN__CALL(broadcast(group, from, ping, pong));
}

// Rows of several ranks into one; sources[0] is the root's.
struct reduction {
    tern__reduce_fn *combine;
    bool rounds; // after each step: the kernel alone would only round at the end
    const struct tern__view *to;
    const struct tern__view *sources;
    int count;
};

// `count` elements from byte `at` of the rows on, which lie one after the other, into `block`.
static void combine_block(const struct reduction *r, const char *const *rows, size_t at,
                          char *block, size_t count)
{
    const char *from[TERN_RANKS_MAX];
    for (int s = 0; s < r->count; s++) {
        from[s] = rows[s] + at;
    }
    if (!r->rounds) {
        r->combine(&block, 1, from, r->count, count, false);
        return;
    }
    tern__memcpy(block, from[0], count * r->to->element_bytes);
    for (int s = 1; s < r->count; s++) {
        const char *const two[] = {block, from[s]};
        r->combine(&block, 1, two, 2, count, false);
    }
}

// From the last block to the first, whose first element becomes visible last.
static void combine_rows(const struct reduction *r, const int64_t i[4])
{
    alignas(TERN_CACHE_LINE) char block[BLOCK_BYTES];
    const char *rows[TERN_RANKS_MAX];
    size_t element = r->to->element_bytes;
    size_t step = r->sources[0].stride[4] == 1 ? BLOCK_BYTES / element : 1;
    size_t count = (size_t)r->sources[0].shape[4];
    char *to = tern__view_row(r->to, i);
    for (int s = 0; s < r->count; s++) {
        rows[s] = tern__view_row(&r->sources[s], i);
    }
    for (size_t first = (count - 1) / step * step;; first -= step) {
        size_t some = count - first < step ? count - first : step;
        size_t stride = (size_t)r->sources[0].stride[4];
        combine_block(r, rows, first * stride * element, block, some);
        tern__view_store_row(r->to, to + first * (size_t)r->to->stride[4] * element, block,
                             (int64_t)some);
        if (first == 0) {
            return;
        }
    }
}

static void combine_all(const struct reduction *r, const int64_t *shape)
{
    int64_t i[4] = {0};
    do {
        combine_rows(r, i);
    } while (tern__shape_next(shape, i));
}

// Sources on other machines are fetched whole before.
static int fetch_and_combine(const char *call, const struct reduction *r,
                             struct tern__view sources[TERN_RANKS_MAX], const int64_t *shape)
{
    char *fetched[TERN_RANKS_MAX] = {NULL};
    int status = TERN_OK;
    for (int s = 0; s < r->count && status == TERN_OK; s++) {
        if (sources[s].far) {
            status = tern__far_fetch(call, &sources[s], &fetched[s]);
        }
    }
    if (status == TERN_OK) {
        combine_all(r, shape);
    }
    for (int s = 0; s < r->count; s++) {
        free(fetched[s]);
    }
    return status;
}

static int reduce(const tern_group *group, const tern_tensor *to, tern_tile *acc, tern_tile *recv,
                  tern_tile *pong, tern_reduce_op op)
{
    const char *call = "tern_group_reduce";
    const struct tern__tiles tiles = {call, recv, pong};
    int64_t begin_ns = tern__trace_start();
    struct tern__view destination;
    struct tern__view sources[TERN_RANKS_MAX];
    TERN_TRY(check_group(call, group));
    if (op != TERN_SUM && op != TERN_MAX && op != TERN_MIN) {
        return tern__fail(TERN_ERR_ARG, "%s: op is %d (%s); there are sum, max and min", call,
                          (int)op, tern_reduce_op_name(op));
    }
    const int64_t *shape = group->tensors[group->root].shape;
    TERN_TRY(view_member(call, group, group->root, shape, &sources[0]));
    for (int rank = 0, next = 1; rank < group->count; rank++) {
        if (rank != group->root) {
            TERN_TRY(view_member(call, group, rank, shape, &sources[next++]));
        }
    }
    TERN_TRY(tern__view_tensor(call, "to", to, shape, &destination));
    TERN_TRY(check_dtype(call, group, "to", destination.dtype));
    TERN_TRY(check_extents(call, "to", to, shape, -1));
    if (tern__shape_is_empty(shape)) {
        return TERN_OK;
    }
    TERN_TRY(tern__pieces_check(&(struct tern__tiles){call, acc, recv}, shape, destination.dtype));
    TERN_TRY(tern__tile_check(call, "the second tile", recv, destination.dtype));
    TERN_TRY(tern__pieces_check(&tiles, shape, destination.dtype));
    bool wide = destination.dtype == TERN_F16 || destination.dtype == TERN_BF16;
    const struct reduction r = {.combine = tern__reduce_find(destination.dtype, op),
                                .rounds = wide,
                                .to = &destination,
                                .sources = sources,
                                .count = group->count};
    if (tern__checking()) {
        tern__watch_staging("TREDUCE", acc, recv);
        tern__watch_staging("TREDUCE", acc, pong);
        tern__watch_staging("TREDUCE", recv, pong);
        for (int s = 0; s < group->count; s++) {
            tern__watch_load("TREDUCE", &sources[s], true);
        }
    }
    TERN_TRY(fetch_and_combine(call, &r, sources, shape));
    tern__pieces_end(&(struct tern__tiles){call, acc, NULL}, shape);
    tern__pieces_end(&tiles, shape);
    trace("reduce", shape, destination.element_bytes, group->count, begin_ns);
    return TERN_OK;
}

int tern_group_reduce(const tern_group *group, const tern_tensor *to, tern_tile *acc,
                      tern_tile *recv, tern_tile *pong, tern_reduce_op op)
{
    return TERN__CALL(reduce(group, to, acc, recv, pong, op));
}
