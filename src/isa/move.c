// SPDX-License-Identifier: Apache-2.0
// Load, store, put and get. Data path: no allocation, lock, log or system call.

#include <inttypes.h>

#include "base/error.h"
#include "base/public.h"
#include "base/trace.h"
#include "isa/check.h"
#include "isa/far.h"
#include "isa/pieces.h"
#include "isa/row.h"

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

static int move(const struct tern__tiles *tiles, const tern_tensor *to, const tern_tensor *from,
                tern_atomic atomic, bool puts)
{
    int64_t begin_ns = tern__trace_start();
    struct tern__view destination;
    struct tern__view source;
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
    if (atomic == TERN_ATOMIC_NONE && pong == NULL && tern__move_row(to, from, ping)) {
        return TERN_OK;
    }
    return TERN__CALL(
        move(&(struct tern__tiles){"tern_tensor_put", ping, pong}, to, from, atomic, true));
}

int tern_tensor_get(const tern_tensor *to, const tern_tensor *from, tern_tile *ping,
                    tern_tile *pong)
{
    if (pong == NULL && tern__move_row(to, from, ping)) {
        return TERN_OK;
    }
    return TERN__CALL(move(&(struct tern__tiles){"tern_tensor_get", ping, pong}, to, from,
                           TERN_ATOMIC_NONE, false));
}
