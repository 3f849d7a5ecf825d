// SPDX-License-Identifier: Apache-2.0
// Transfers: checks, then the transport. Data path: no allocation, lock, system call or log.

#include "tern/put.h"

#include <stdint.h>

#include "base/dtype.h"
#include "base/public.h"
#include "base/error.h"
#include "comm/window.h"

static int check_local(const char *call, const void *local, size_t size_bytes)
{
    if (local == NULL && size_bytes > 0) {
        return tern__fail(TERN_ERR_ARG, "%s: local is NULL, with %zu bytes to transfer", call,
                          size_bytes);
    }
    return TERN_OK;
}

static void trace(const tern_window *window, int rank, const char *name, int64_t begin_ns,
                  uint64_t bytes)
{
    if (begin_ns != 0) {
        struct tern__trace_event event =
            tern__window_event(window, rank, TERN__TRACE_TRANSFER, begin_ns);
        event.bytes = bytes;
        tern__trace_name(&event, name);
        tern__trace_put(&event);
    }
}

static int put(tern_window *window, int rank, size_t offset_bytes, const void *local,
               size_t size_bytes)
{
    char *remote;
    int64_t begin_ns = tern__trace_start();
    TERN_TRY(tern__window_range(window, "tern_put", rank, offset_bytes, size_bytes, &remote));
    TERN_TRY(check_local("tern_put", local, size_bytes));
    if (size_bytes > 0) {
        tern__window_xport(window, rank)->put(remote, local, size_bytes);
    }
    trace(window, rank, "put", begin_ns, size_bytes);
    return tern__window_sent(window, rank);
}

int tern_put(tern_window *window, int rank, size_t offset_bytes, const void *local,
             size_t size_bytes)
{
    return TERN__CALL(put(window, rank, offset_bytes, local, size_bytes));
}

static int get(tern_window *window, int rank, size_t offset_bytes, void *local, size_t size_bytes)
{
    char *remote;
    int64_t begin_ns = tern__trace_start();
    TERN_TRY(tern__window_range(window, "tern_get", rank, offset_bytes, size_bytes, &remote));
    TERN_TRY(check_local("tern_get", local, size_bytes));
    if (size_bytes > 0) {
        tern__window_xport(window, rank)->get(remote, local, size_bytes);
    }
    trace(window, rank, "get", begin_ns, size_bytes);
    return tern__window_sent(window, rank);
}

int tern_get(tern_window *window, int rank, size_t offset_bytes, void *local, size_t size_bytes)
{
    return TERN__CALL(get(window, rank, offset_bytes, local, size_bytes));
}

// The bytes from the first of the first row to the last of the last one; SIZE_MAX when that is more
// than can be counted, which no window and no address space has.
static size_t span_of(const tern_block *block, size_t stride_bytes)
{
    size_t span;
    if (block->rows == 0 || block->row_bytes == 0) {
        return 0;
    }
    if (__builtin_mul_overflow(block->rows - 1, stride_bytes, &span) ||
        __builtin_add_overflow(span, block->row_bytes, &span)) {
        return SIZE_MAX;
    }
    return span;
}

static int check_block(const char *call, tern_window *window, int rank, size_t offset_bytes,
                       const void *local, const tern_block *block, char **remote)
{
    if (block == NULL) {
        return tern__fail(TERN_ERR_ARG, "%s: block must not be NULL", call);
    }
    size_t span = span_of(block, block->window_stride_bytes);
    TERN_TRY(tern__window_range(window, call, rank, offset_bytes, span, remote));
    TERN_TRY(check_local(call, local, span));
    size_t local_span = span_of(block, block->local_stride_bytes);
    if (local_span > SIZE_MAX - (uintptr_t)local) {
        return tern__fail(
            TERN_ERR_ARG,
            "%s: %zu rows with a stride of %zu (local) bytes reach beyond the address "
            "space",
            call, block->rows, block->local_stride_bytes);
    }
    if (block->rows > 1 && (block->window_stride_bytes < block->row_bytes ||
                            block->local_stride_bytes < block->row_bytes)) {
        return tern__fail(TERN_ERR_ARG,
                          "%s: rows of %zu bytes overlap with strides of %zu (window) "
                          "and %zu (local) bytes",
                          call, block->row_bytes, block->window_stride_bytes,
                          block->local_stride_bytes);
    }
    return TERN_OK;
}

static int put_block(tern_window *window, int rank, size_t offset_bytes, const void *local,
                     const tern_block *block)
{
    char *remote;
    int64_t begin_ns = tern__trace_start();
    TERN_TRY(check_block("tern_put_block", window, rank, offset_bytes, local, block, &remote));
    if (block->row_bytes > 0) {
        tern__window_xport(window, rank)->put_block(remote, local, block);
    }
    trace(window, rank, "put", begin_ns, block->rows * block->row_bytes);
    return tern__window_sent(window, rank);
}

int tern_put_block(tern_window *window, int rank, size_t offset_bytes, const void *local,
                   const tern_block *block)
{
    return TERN__CALL(put_block(window, rank, offset_bytes, local, block));
}

static int get_block(tern_window *window, int rank, size_t offset_bytes, void *local,
                     const tern_block *block)
{
    char *remote;
    int64_t begin_ns = tern__trace_start();
    TERN_TRY(check_block("tern_get_block", window, rank, offset_bytes, local, block, &remote));
    if (block->row_bytes > 0) {
        tern__window_xport(window, rank)->get_block(remote, local, block);
    }
    trace(window, rank, "get", begin_ns, block->rows * block->row_bytes);
    return tern__window_sent(window, rank);
}

int tern_get_block(tern_window *window, int rank, size_t offset_bytes, void *local,
                   const tern_block *block)
{
    return TERN__CALL(get_block(window, rank, offset_bytes, local, block));
}

static int put_add(tern_window *window, int rank, size_t offset_bytes, const void *local,
                   size_t count, tern_dtype dtype)
{
    char *remote;
    int64_t begin_ns = tern__trace_start();
    size_t element = tern_dtype_size(dtype);
    size_t size_bytes;
    TERN_TRY(tern__dtype_check_number("tern_put_add", "local", dtype));
    if (__builtin_mul_overflow(count, element, &size_bytes)) {
        size_bytes = SIZE_MAX; // reported as reaching beyond the window
    }
    TERN_TRY(tern__window_range(window, "tern_put_add", rank, offset_bytes, size_bytes, &remote));
    TERN_TRY(check_local("tern_put_add", local, size_bytes));
    if (offset_bytes % element != 0) {
        return tern__fail(TERN_ERR_ARG,
                          "tern_put_add: offset %zu is not a multiple of the %zu bytes "
                          "of a %s",
                          offset_bytes, element, tern_dtype_name(dtype));
    }
    tern__window_xport(window, rank)->put_add(remote, local, count, dtype);
    trace(window, rank, "put_add", begin_ns, size_bytes);
    return tern__window_sent(window, rank);
}

int tern_put_add(tern_window *window, int rank, size_t offset_bytes, const void *local,
                 size_t count, tern_dtype dtype)
{
    return TERN__CALL(put_add(window, rank, offset_bytes, local, count, dtype));
}
