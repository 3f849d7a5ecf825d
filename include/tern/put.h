// SPDX-License-Identifier: Apache-2.0
// Transfers between this process's memory and the windows of ranks. Each returns when the bytes
// have been stored or read; they are visible to a peer once it sees a signal notified after the
// call (tern/signal.h). Any thread. `local` is any memory of the caller, in a window or not; source
// and destination must not overlap. Offsets and sizes are checked: TERN_ERR_ARG says by how much
// the range sticks out. Zero bytes are legal and do nothing. A failed communicator returns its
// error.
#ifndef TERN_PUT_H
#define TERN_PUT_H

#include <stddef.h>

#include "tern/api.h"
#include "tern/dtype.h"
#include "tern/window.h"

TERN_BEGIN_DECLS

// window[rank][offset_bytes ..] = local[..], size_bytes of it.
TERN_CALL int tern_put(tern_window *window, int rank, size_t offset_bytes, const void *local,
                       size_t size_bytes);

// local[..] = window[rank][offset_bytes ..].
TERN_CALL int tern_get(tern_window *window, int rank, size_t offset_bytes, void *local,
                       size_t size_bytes);

// A 2-D block: `rows` rows of `row_bytes` contiguous bytes, whose starts are a stride apart on
// either side. With more than one row a stride must be at least row_bytes.
typedef struct tern_block {
    size_t rows;
    size_t row_bytes;
    size_t window_stride_bytes;
    size_t local_stride_bytes;
} tern_block;

TERN_CALL int tern_put_block(tern_window *window, int rank, size_t offset_bytes, const void *local,
                             const tern_block *block);
TERN_CALL int tern_get_block(tern_window *window, int rank, size_t offset_bytes, void *local,
                             const tern_block *block);

// window[rank][offset_bytes + i] += local[i] for `count` elements, each addition atomic by itself,
// also between processes; the whole is not. Integers wrap around. f16 and bf16 are added in f32 and
// rounded to nearest even. The target must be aligned to the element.
TERN_CALL int tern_put_add(tern_window *window, int rank, size_t offset_bytes, const void *local,
                           size_t count, tern_dtype dtype);

TERN_END_DECLS

#endif
