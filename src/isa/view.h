// SPDX-License-Identifier: Apache-2.0
// A tensor or a tile that was found to be right, as an instruction goes through it: row by row. A
// row is dimension 4.
#ifndef TERN_ISA_VIEW_H
#define TERN_ISA_VIEW_H

#include <stdbool.h>

#include "comm/window.h"
#include "tern/isa.h"

struct tern__view {
    char *data;
    tern_dtype dtype;
    size_t element_bytes;
    int64_t shape[5];
    int64_t stride[5];   // elements
    tern_window *window; // NULL: other memory of this process
    int rank;            // whose part of it
    bool far;            // on another machine: isa/far.h
};

// A tensor with the extents `shape` instead of its own, or NULL for its own. TERN_ERR_ARG, with a
// sentence that begins with `call` and the operand's name, or the error of a failed communicator.
int tern__view_tensor(const char *call, const char *name, const tern_tensor *tensor,
                      const int64_t *shape, struct tern__view *view);

// The same, which may be far.
int tern__view_any(const char *call, const char *name, const tern_tensor *tensor,
                   const int64_t *shape, struct tern__view *view);

// tern__view_any for a tensor of one element of TERN_I32; false, and nothing done, when it is
// another.
bool tern__view_word(const char *call, const char *name, const tern_tensor *tensor,
                     struct tern__view *view, int *status);

// A tile as a tensor of this shape, which it must hold: the rows of all dimensions are the first
// rows of the tile.
int tern__view_tile(const char *call, const char *name, const tern_tile *tile,
                    const int64_t shape[5], struct tern__view *view);

// Elements from one row of a tile to the next, and from one element of a row to the next.
static inline void tern__tile_strides(const tern_tile *tile, int64_t *row, int64_t *element)
{
    bool by_rows = tile->order == TERN_TILE_ROW_MAJOR;
    *row = by_rows ? tile->columns : 1;
    *element = by_rows ? 1 : tile->rows;
}

// The tile alone: TERN_OK when it has memory, sizes that fit and the dtype.
int tern__tile_check(const char *call, const char *name, const tern_tile *tile, tern_dtype dtype);

static inline bool tern__shape_is_empty(const int64_t shape[5])
{
    return shape[0] == 0 || shape[1] == 0 || shape[2] == 0 || shape[3] == 0 || shape[4] == 0;
}

// Rows of all dimensions; their number fits, because the view's bytes do.
static inline int64_t tern__shape_rows(const int64_t shape[5])
{
    return shape[0] * shape[1] * shape[2] * shape[3];
}

// The address of row (i[0], i[1], i[2], i[3]).
static inline char *tern__view_row(const struct tern__view *view, const int64_t i[4])
{
    int64_t at = i[0] * view->stride[0] + i[1] * view->stride[1] + i[2] * view->stride[2] +
                 i[3] * view->stride[3];
    return view->data + at * (int64_t)view->element_bytes;
}

// To the next row of the shape; false behind the last one.
static inline bool tern__shape_next(const int64_t shape[5], int64_t i[4])
{
    for (int d = 3; d >= 0; d--) {
        if (++i[d] < shape[d]) {
            return true;
        }
        i[d] = 0;
    }
    return false;
}

// to = from, or with atomic additions, for all elements of `from`; same dtype. One of them may be
// far: then tern__far_sent says whether it went. Of each row that is
// stored the first element becomes visible last.
void tern__view_copy(const struct tern__view *to, const struct tern__view *from,
                     tern_atomic atomic);

// A row of `to`, of `count` elements that lie at `from` one after the other; stored likewise.
void tern__view_store_row(const struct tern__view *to, char *row, const char *from, int64_t count);

// The same from a tile of TERN_F32 to a tensor of TERN_F16 or TERN_BF16, rounded.
void tern__view_copy_rounded(const struct tern__view *to, const struct tern__view *from,
                             tern_atomic atomic);

// Something was stored in a rank's part of a window, and no notify may follow: at the thread's next
// fence that rank is woken, if it sleeps. window may be NULL: other memory.
enum { TERN__OWED = 8 };
extern _Thread_local struct tern__owed {
    int count;
    int ranks[TERN__OWED];
    tern_window *windows[TERN__OWED]; // may be destroyed meanwhile: then nobody waits in it
} tern__owed __attribute__((tls_model("initial-exec")));

void tern__owe_another(tern_window *window, int rank);
void tern__ring_owed(void);

static inline void tern__owe_ring(tern_window *window, int rank)
{
    int last = tern__owed.count - 1;
    bool owes = window == NULL ||
                (last >= 0 && tern__owed.windows[last] == window && tern__owed.ranks[last] == rank);
    if (__builtin_expect(!owes, 0)) {
        tern__owe_another(window, rank);
    }
}

// For waits in memory that is in no window: of this process, so are all who wait.
struct tern__bell *tern__local_bell(void);

#endif
