// SPDX-License-Identifier: Apache-2.0
// The kernel instructions on tensors and tiles: load and store, put, get, notify, wait, test, and
// gather, scatter, broadcast and reduce over a group. The meaning is that of TLOAD, TSTORE, TPUT,
// TGET, TNOTIFY, TWAIT, TTEST, TGATHER, TSCATTER, TBROADCAST and TREDUCE of the PTO communication
// ISA. The same operands, in the same order: what is written, what is read, tiles.
//
// A tensor is global memory: that of a window, of the caller's own rank or of another as it is
// mapped here (tern_context_remote), or any other memory of this process, tern_alloc's too. What
// lies in a window must lie in one rank's part of it; a range that sticks out is TERN_ERR_ARG, with
// by how much. Other memory is not known, so not checked. All calls: any thread; nothing is written
// when something is wrong; TERN_ERR_PEER, TERN_ERR_LEFT, TERN_ERR_TIMEOUT of a failed communicator
// whose window is used; TERN_ERR_STATE for a window in the child of a fork. Source and destination
// must not overlap.
//
// Order: what a thread has put, stored or written is visible to whoever sees a notify of it that
// came later. Of each row that is stored, the first element, of four bytes or more, becomes visible
// last, so a reader may wait for it (tern_tensor_wait) and then read the row. A reader that sleeps
// by then is woken by a notify, or by the next fence or pipe barrier of who stored (tern/block.h);
// it looks by itself ten times a second.
#ifndef TERN_ISA_H
#define TERN_ISA_H

#include <stddef.h>
#include <stdint.h>

#include "tern/api.h"
#include "tern/dtype.h"
#include "tern/op.h"
#include "tern/signal.h"

TERN_BEGIN_DECLS

// Up to five dimensions; unused ones, the first, have extent 1. A row is dimension 4. Extents and
// strides count elements and are not negative; an extent of 0: no element, and nothing happens.
typedef struct tern_tensor {
    void *data; // aligned to the element
    tern_dtype dtype;
    int64_t shape[5];
    int64_t stride[5];
} tern_tensor;

// `rows` rows of `columns` elements, `row_stride` elements from one to the next.
static inline tern_tensor tern_tensor_2d(void *data, tern_dtype dtype, int64_t rows,
                                         int64_t columns, int64_t row_stride)
{
    tern_tensor tensor = {data,
                          dtype,
                          {1, 1, 1, rows, columns},
                          {rows * row_stride, rows * row_stride, rows * row_stride, row_stride, 1}};
    return tensor;
}

static inline tern_tensor tern_tensor_1d(void *data, tern_dtype dtype, int64_t count)
{
    return tern_tensor_2d(data, dtype, 1, count, count);
}

// In `dynamic`: a short last piece is allowed, and when there were pieces, valid_rows
// (valid_columns) is that of the last one in this tile afterwards.
#define TERN_TILE_ROWS 1u
#define TERN_TILE_COLUMNS 2u

typedef enum tern_tile_order {
    TERN_TILE_ROW_MAJOR = 0,    // row after row
    TERN_TILE_COLUMN_MAJOR = 1, // column after column
} tern_tile_order;

// On-chip memory: rows * columns elements, of which the first valid_rows rows and in each the first
// valid_columns elements are used.
typedef struct tern_tile {
    void *data; // aligned to the element
    tern_dtype dtype;
    int32_t rows, columns;
    int32_t valid_rows, valid_columns;
    uint32_t dynamic; // TERN_TILE_ROWS, TERN_TILE_COLUMNS, both, or 0
    tern_tile_order order;
    const void *object; // for checking mode: whose copy this is; NULL: nobody's
} tern_tile;

static inline tern_tile tern_tile_2d(void *data, tern_dtype dtype, int32_t rows, int32_t columns)
{
    tern_tile tile = {data, dtype, rows, columns, rows, columns, 0, TERN_TILE_ROW_MAJOR, NULL};
    return tile;
}

typedef enum tern_atomic {
    TERN_ATOMIC_NONE = 0, // destination = source
    TERN_ATOMIC_ADD = 1,  // destination += source, each element atomically, as tern_put_add has it
} tern_atomic;

// Between a tensor and a tile, which must hold it: the rows of the tensor, in the order of its
// dimensions, are the first rows of the tile. One dtype; but what a tile of TERN_F32 holds can also
// be stored in TERN_F16 and TERN_BF16, rounded to nearest.
TERN_CALL int tern_tile_load(tern_tile *tile, const tern_tensor *from);
TERN_CALL int tern_tile_store(const tern_tensor *to, const tern_tile *tile, tern_atomic atomic);

// to = from (put: from is here, to anywhere; get: the other way about), through one tile, or
// through two in turn when pong is not NULL; these are alike. The extent is that of `from`; of `to`
// data and strides count. One dtype.
//
// What does not fit into the tile goes in pieces of valid_rows rows of dimension 3 times
// valid_columns elements, in the order of the dimensions; without TERN_TILE_ROWS, TERN_TILE_COLUMNS
// these must divide extents 3 and 4. Two tiles are alike in all but their data and, where they are
// dynamic, their masks, of which those of `ping` count. What the memory of the tiles holds
// afterwards is not defined, here as for the groups below.
TERN_CALL int tern_tensor_put(const tern_tensor *to, const tern_tensor *from, tern_tile *ping,
                              tern_tile *pong, tern_atomic atomic);
TERN_CALL int tern_tensor_get(const tern_tensor *to, const tern_tensor *from, tern_tile *ping,
                              tern_tile *pong);

// `count` elements that lie together, to where they lie together, as tern_tensor_put and
// tern_tensor_get move a row through a tile that holds it. For code that knows shapes and tile
// when it is compiled, like pto/pto-inst.hpp: 1 when they were moved; 0, without a sentence, when
// not. Then one of those two does it, or says what is wrong: memory of another machine, a
// communicator that has failed, checking mode, a trace, a NULL.
TERN_CALL int tern_row_move(void *to, const void *from, int64_t count, tern_dtype dtype);

// Signals: tensors of TERN_I32. Notify changes the first element and wakes who waits for it.
TERN_CALL int tern_tensor_notify(const tern_tensor *signal, int32_t value, tern_notify_op op);

// Returns when all elements satisfy the comparison in one scan. In a window it is the caller's own
// part. Deadline, deaths and sentences as those of tern_signal_wait; in other memory of this
// process, where peers are not known, the deadline alone, and TERN_TIMEOUT_DEFAULT is what
// TERN_TIMEOUT says; what the thread has begun (tern_coll_start) moves once a millisecond there.
TERN_CALL int tern_tensor_wait(const tern_tensor *signal, tern_cmp cmp, int32_t value,
                               int64_t timeout_ns);

// One scan, of signals anywhere: 1 when all elements satisfy the comparison, else 0; negative on
// error. Whoever polls lets others run: a thread whose tests fail in a row yields.
TERN_CALL int tern_tensor_test(const tern_tensor *signal, tern_cmp cmp, int32_t value);

// A tensor of each rank, as they are addressed here, all of one dtype, shape and strides.
typedef struct tern_group {
    const tern_tensor *tensors;
    int count;
    int root; // the caller
} tern_group;

// Called by the root alone; that the others' tensors are ready, and that they may be used again,
// is the callers' business. H: extent 3 of a rank's tensor. What is written to has at least the
// extents of what goes there. Pieces and tiles as in tern_tensor_put.
//
//   gather     rows r*H..(r+1)*H of dimension 3 of `to` = tensor of rank r; extent 3 of `to` is at
//              least count*H
//   scatter    the other way about; of `from`
//   broadcast  tensor of every rank = from
//   reduce     to = (((tensor of root op that of rank 0) op that of rank 1) …), the root's once,
//              each step rounded to the dtype; acc and recv (and pong) are tiles. TERN_SUM,
//              TERN_MAX, TERN_MIN.
TERN_CALL int tern_group_gather(const tern_group *group, const tern_tensor *to, tern_tile *ping,
                                tern_tile *pong);
TERN_CALL int tern_group_scatter(const tern_group *group, const tern_tensor *from, tern_tile *ping,
                                 tern_tile *pong);
TERN_CALL int tern_group_broadcast(const tern_group *group, const tern_tensor *from,
                                   tern_tile *ping, tern_tile *pong);
TERN_CALL int tern_group_reduce(const tern_group *group, const tern_tensor *to, tern_tile *acc,
                                tern_tile *recv, tern_tile *pong, tern_reduce_op op);

TERN_END_DECLS

#endif
