// SPDX-License-Identifier: Apache-2.0
// Load, store, put and get. Data path: no allocation, lock, log or system call.

#include <inttypes.h>

#include "base/error.h"
#include "base/public.h"
#include "base/trace.h"
#include "isa/check.h"
#include "isa/far.h"
#include "isa/pieces.h"

static int check_atomic(const char *call, tern_atomic atomic)
{
    return (unsigned)atomic <= TERN_ATOMIC_ADD
               ? TERN_OK
               : tern__fail(TERN_ERR_ARG, "%s: %d is no way to store; there are none and add", call,
                            (int)atomic);
}

static int check_dtypes(const char *call, const struct tern__view *to,
                        const struct tern__view *from)
{
    return to->dtype == from->dtype
               ? TERN_OK
               : tern__fail(TERN_ERR_ARG, "%s: 'to' has %s, and 'from' %s", call,
                            tern_dtype_name(to->dtype), tern_dtype_name(from->dtype));
}

static void trace(const struct tern__view *with, const struct tern__view *from, const char *name,
                  int64_t begin_ns)
{
    if (begin_ns == 0) {
        return;
    }
    struct tern__trace_event event = {.begin_ns = begin_ns, .kind = TERN__TRACE_TRANSFER};
    if (with->window != NULL) {
        event = tern__window_event(with->window, with->rank, TERN__TRACE_TRANSFER, begin_ns);
    }
    event.bytes =
        (uint64_t)tern__shape_rows(from->shape) * (uint64_t)from->shape[4] * from->element_bytes;
    tern__trace_name(&event, name);
    tern__trace_put(&event);
}

static int tile_load(tern_tile *tile, const tern_tensor *from)
{
    const char *call = "tern_tile_load";
    struct tern__view source;
    struct tern__view to;
    TERN_TRY(tern__view_any(call, "from", from, NULL, &source));
    TERN_TRY(tern__tile_check(call, "tile", tile, source.dtype));
    if (tern__shape_is_empty(source.shape)) {
        return TERN_OK;
    }
    TERN_TRY(tern__view_tile(call, "tile", tile, source.shape, &to));
    if (tern__checking()) {
        tern__watch_load("TLOAD", &source, false);
        tern__watch_tile("TLOAD", tile, true);
    }
    tern__view_copy(&to, &source, TERN_ATOMIC_NONE);
    return tern__far_sent(&to, &source);
}

int tern_tile_load(tern_tile *tile, const tern_tensor *from)
{
    return TERN__CALL(tile_load(tile, from));
}

static int tile_store(const tern_tensor *to, const tern_tile *tile, tern_atomic atomic)
{
    const char *call = "tern_tile_store";
    int64_t begin_ns = tern__trace_start();
    struct tern__view destination;
    struct tern__view from;
    TERN_TRY(check_atomic(call, atomic));
    TERN_TRY(tern__view_any(call, "to", to, NULL, &destination));
    bool rounds = tile != NULL && tile->dtype == TERN_F32 &&
                  (destination.dtype == TERN_F16 || destination.dtype == TERN_BF16);
    TERN_TRY(tern__tile_check(call, "tile", tile, rounds ? TERN_F32 : destination.dtype));
    if (tern__shape_is_empty(destination.shape)) {
        return TERN_OK;
    }
    TERN_TRY(tern__view_tile(call, "tile", tile, destination.shape, &from));
    if (tern__checking()) {
        tern__watch_tile("TSTORE", tile, false);
        if (!rounds) {
            return tern__watch_store("TSTORE", &destination, &from,
                                     atomic == TERN_ATOMIC_ADD ? TERN__WATCH_ADD
                                                               : TERN__WATCH_STORE,
                                     true);
        }
    }
    (rounds ? tern__view_copy_rounded : tern__view_copy)(&destination, &from, atomic);
    tern__owe_ring(destination.window, destination.rank);
    trace(&destination, &from, "store", begin_ns);
    return tern__far_sent(&destination, &from);
}

int tern_tile_store(const tern_tensor *to, const tern_tile *tile, tern_atomic atomic)
{
    return TERN__CALL(tile_store(to, tile, atomic));
}

// The elements of a row, when the tensor is one and has no more than can be counted in bytes; 0: it
// is another, or wrong.
static int64_t row_count(const tern_tensor *tensor)
{
    const int64_t *shape = tensor->shape;
    bool row = ((shape[0] ^ 1) | (shape[1] ^ 1) | (shape[2] ^ 1) | (shape[3] ^ 1)) == 0;
    return row && shape[4] > 0 && shape[4] <= INT32_MAX ? shape[4] : 0;
}

static bool lies_together(const tern_tensor *tensor)
{
    const int64_t *stride = tensor->stride;
    return stride[4] == 1 && (stride[0] | stride[1] | stride[2] | stride[3]) >= 0;
}

// What most puts and gets are: a row whose elements are together, to where they are together too,
// through a tile that holds it. False, and nothing done: it is another transfer, or something is
// wrong, which move() says.
static bool move_row(const struct tern__tiles *tiles, const tern_tensor *to,
                     const tern_tensor *from)
{
    struct tern__view destination;
    struct tern__view source;
    if (to == NULL || from == NULL || tiles->pong != NULL || tern__checking() ||
        to->dtype != from->dtype || !lies_together(from) || !lies_together(to)) {
        return false;
    }
    int64_t count = row_count(from);
    if (count == 0 || tern__view_bytes(tiles->call, "from", from, count, &source) < 0 ||
        tern__view_bytes(tiles->call, "to", to, count, &destination) < 0 ||
        tern__tile_check(tiles->call, "the tile", tiles->ping, from->dtype) < 0 ||
        count > tiles->ping->valid_columns || destination.far || source.far) {
        return false;
    }
    tern__view_store_row(&destination, destination.data, source.data, count);
    tern__owe_ring(destination.window, destination.rank);
    return true;
}

static int move(const struct tern__tiles *tiles, const tern_tensor *to, const tern_tensor *from,
                tern_atomic atomic, bool puts)
{
    int64_t begin_ns = tern__trace_start();
    struct tern__view destination;
    struct tern__view source;
    if (atomic == TERN_ATOMIC_NONE && begin_ns == 0 && move_row(tiles, to, from)) {
        return TERN_OK;
    }
    TERN_TRY(check_atomic(tiles->call, atomic));
    TERN_TRY(tern__view_any(tiles->call, "from", from, NULL, &source));
    TERN_TRY(tern__view_any(tiles->call, "to", to, source.shape, &destination));
    if (__builtin_expect(source.far && (destination.far || atomic == TERN_ATOMIC_ADD), 0)) {
        return tern__far_refuse(tiles->call, "from", &source);
    }
    TERN_TRY(check_dtypes(tiles->call, &destination, &source));
    if (tern__shape_is_empty(source.shape)) {
        return TERN_OK;
    }
    TERN_TRY(tern__pieces_check(tiles, source.shape, source.dtype));
    if (tern__checking()) {
        const char *what = puts ? "TPUT" : "TGET";
        tern__watch_staging(what, tiles->ping, tiles->pong);
        tern__watch_direction(puts, puts ? &source : &destination);
        tern__watch_load(what, &source, true);
        TERN_TRY(tern__watch_store(what, &destination, &source,
                                   atomic == TERN_ATOMIC_ADD ? TERN__WATCH_ADD
                                   : puts                    ? TERN__WATCH_PUT
                                                             : TERN__WATCH_STORE,
                                   false));
    } else {
        tern__view_copy(&destination, &source, atomic);
    }
    tern__pieces_end(tiles, source.shape);
    tern__owe_ring(destination.window, destination.rank);
    trace(puts ? &destination : &source, &source, puts ? "put" : "get", begin_ns);
    return tern__far_sent(&destination, &source);
}

int tern_tensor_put(const tern_tensor *to, const tern_tensor *from, tern_tile *ping,
                    tern_tile *pong, tern_atomic atomic)
{
    return TERN__CALL(
        move(&(struct tern__tiles){"tern_tensor_put", ping, pong}, to, from, atomic, true));
}

int tern_tensor_get(const tern_tensor *to, const tern_tensor *from, tern_tile *ping,
                    tern_tile *pong)
{
    return TERN__CALL(move(&(struct tern__tiles){"tern_tensor_get", ping, pong}, to, from,
                           TERN_ATOMIC_NONE, false));
}
