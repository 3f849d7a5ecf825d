// SPDX-License-Identifier: Apache-2.0
// Rings of slots between the AIC and the AIV of a block of a mixed task (tern/cluster.h), for tiles
// of tern/tile.h or for what the kernels write there themselves. An entry that the AIC makes is
// taken by each AIV; one for the AIC is made by all AIV together. Each kernel has an end of its
// own, and calls only with that. Entries come in their order; there are never more than slots that
// have been made and not given back.
//
// Errors: those of tern/cluster.h; TERN_ERR_ARG also for a tile that does not fit, and on the wrong
// side. The model: TPipe, TPUSH and TPOP of the PTO ISA.
#ifndef TERN_FIFO_H
#define TERN_FIFO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tern/tile.h"

TERN_BEGIN_DECLS

// What of an entry an AIV makes or takes: all of it (of an entry for the AIC, the first AIV alone
// writes), the upper or the lower half, the left or the right half.
typedef enum tern_fifo_split {
    TERN_FIFO_WHOLE = 0,
    TERN_FIFO_ROWS = 1,
    TERN_FIFO_COLUMNS = 2,
} tern_fifo_split;

// One end. Zero-initialised but for the first five, then opened.
typedef struct tern_fifo {
    int counter;     // 0..30: entries made are counted there (tern/cluster.h), those given back in
                     // the next one; nothing else uses the two
    bool to_vectors; // from the AIC to the AIV; else the other way
    uint32_t slots;  // 1 to 2^20
    size_t slot_bytes;
    void *memory; // slots * slot_bytes, the same for all ends; NULL: the block's own

    size_t offset_bytes; // of what follows, in a slot
    bool unawaited;      // does not wait: the kernels see to it that the slot is free, or full
    bool untold;         // does not count what it has made, or given back

    uint32_t begun; // entries before this end was opened
    uint32_t entry; // the next one to make, or to take, from 0
    uint32_t done;  // made, or given back
} tern_fifo;

// Makes an end of the kernel that calls it: for a later one of the same counter the entries of the
// one before must all have been given back.
TERN_CALL int tern_fifo_open(tern_fifo *fifo);

// Makes an entry of the tile's valid elements. `vector`: which AIV makes the half, 0 or 1; -1: the
// caller.
TERN_CALL int tern_fifo_push(tern_fifo *fifo, const tern_tile *tile, tern_fifo_split split,
                             int vector);

// Takes the next entry into the tile, as much as is valid there, and gives it back. The dtype is
// that of the tile that was pushed; what a kernel has written itself is taken for such a tile, row
// after row. Neither while slots are open by the two steps below: TERN_ERR_STATE.
TERN_CALL int tern_fifo_pop(tern_fifo *fifo, const tern_tile *tile, tern_fifo_split split,
                            int vector);

// The same in two steps, for entries that the kernel itself writes or reads: the slot, and that it
// is made, or given back. The steps of several entries may overlap.
TERN_CALL int tern_fifo_reserve(tern_fifo *fifo, void **slot);
TERN_CALL int tern_fifo_commit(tern_fifo *fifo);
TERN_CALL int tern_fifo_take(tern_fifo *fifo, void **slot);
TERN_CALL int tern_fifo_release(tern_fifo *fifo);

TERN_END_DECLS

#endif
