// SPDX-License-Identifier: Apache-2.0
// Rings of slots between the cores of a cluster. What an entry's tile is lies beside the slots, so
// that another one at the other end has a sentence. Data path: no lock, system call or log, unless
// a core sleeps, or asks for the block's memory.

#include "tern/fifo.h"

#include "base/error.h"
#include "base/public.h"
#include "isa/block.h"
#include "isa/cluster.h"

// Of a slot, by who wrote it: 0 the AIC, 1 and 2 the AIV. No rows: what is there is nobody's tile.
struct entry {
    tern_dtype dtype;
    int32_t rows, columns;
};

enum { LANES = 3, SLOTS_MAX = 1 << 20 };

static int check(const char *call, const tern_fifo *fifo)
{
    if (fifo == NULL || fifo->slots == 0 || fifo->slots > SLOTS_MAX || fifo->slot_bytes == 0 ||
        fifo->slot_bytes > PTRDIFF_MAX / SLOTS_MAX) {
        return tern__fail(TERN_ERR_ARG, "%s: a FIFO has 1 to %d slots, of 1 to %td bytes each",
                          call, SLOTS_MAX, PTRDIFF_MAX / SLOTS_MAX);
    }
    return fifo->counter >= 0 && fifo->counter < TERN_CLUSTER_COUNTERS - 1
               ? TERN_OK
               : tern__fail(TERN_ERR_ARG,
                            "%s: the counters of a FIFO are 0 to %d and the next, not %d", call,
                            TERN_CLUSTER_COUNTERS - 2, fifo->counter);
}

// `makes`: the caller is to be where entries are made.
static int check_side(const char *call, const tern_fifo *fifo, bool makes)
{
    TERN_TRY(check(call, fifo));
    int lane = tern_cluster_lane();
    if (lane < 0) {
        return tern__fail(
            TERN_ERR_STATE,
            "%s: the caller is no kernel of a mixed task (TERN_CORE_MIX), so nobody is "
            "at the other end",
            call);
    }
    return (lane == 0) == (fifo->to_vectors == makes)
               ? TERN_OK
               : tern__fail(TERN_ERR_ARG,
                            "%s: entries of this FIFO are %s by the %s, not by the %s", call,
                            makes ? "made" : "taken", lane == 0 ? "AIV" : "AIC",
                            lane == 0 ? "AIC" : "AIV");
}

// The first AIV that the task has: 1, or 2.
static int first_vector(void)
{
    return (tern__block_here()->cluster->lanes & 2u) != 0 ? 1 : 2;
}

// Which AIV has the half: of the caller's block, or as the caller says.
static int check_half(const char *call, tern_fifo_split split, int *vector)
{
    if ((unsigned)split > TERN_FIFO_COLUMNS) {
        return tern__fail(TERN_ERR_ARG, "%s: there is no split %d", call, (int)split);
    }
    if (*vector < -1 || *vector > 1) {
        return tern__fail(TERN_ERR_ARG, "%s: there is no AIV %d of a cluster; they are 0 and 1",
                          call, *vector);
    }
    if (split != TERN_FIFO_WHOLE && tern_cluster_vectors() < 2) {
        return tern__fail(
            TERN_ERR_ARG,
            "%s: halves are for two AIV kernels, and the task has one; without a split "
            "it has all",
            call);
    }
    *vector = *vector >= 0 ? *vector : tern_cluster_lane() - 1;
    return TERN_OK;
}

static int entries_of(const tern_fifo *fifo, struct entry **entries)
{
    void *memory;
    TERN_TRY(tern_cluster_memory(fifo->counter, fifo->slots * LANES * sizeof **entries, &memory));
    *entries = memory;
    return TERN_OK;
}

static int slot_of(const tern_fifo *fifo, void **slot)
{
    void *memory = fifo->memory;
    if (memory == NULL) {
        TERN_TRY(tern_cluster_memory(fifo->counter + 1, fifo->slots * fifo->slot_bytes, &memory));
    }
    *slot = (char *)memory + fifo->entry % fifo->slots * fifo->slot_bytes + fifo->offset_bytes;
    return TERN_OK;
}

int tern_fifo_open(tern_fifo *fifo)
{
    TERN_TRY(TERN__CALL_OF_CALLS(check("tern_fifo_open", fifo)));
    bool makes = (tern_cluster_lane() == 0) == fifo->to_vectors;
    fifo->begun = tern_cluster_posted(makes ? fifo->counter : fifo->counter + 1);
    fifo->entry = 0;
    fifo->done = 0;
    return TERN_OK;
}

// Both ends count from the same entry on, so that waits are for what this end has to do with.
static int reserve(const char *call, tern_fifo *fifo, void **slot)
{
    TERN_TRY(check_side(call, fifo, true));
    if (!fifo->unawaited) {
        uint32_t back = fifo->entry >= fifo->slots ? fifo->entry - fifo->slots + 1 : 0;
        TERN_TRY(tern_cluster_await(fifo->counter + 1, fifo->begun + back));
    }
    TERN_TRY(slot_of(fifo, slot));
    fifo->entry++;
    return TERN_OK;
}

// Of the oldest slot that is reserved; it has this tile.
static int commit(const char *call, tern_fifo *fifo, struct entry entry)
{
    struct entry *entries;
    TERN_TRY(check_side(call, fifo, true));
    if (fifo->done == fifo->entry) {
        return tern__fail(TERN_ERR_STATE, "%s: no slot is reserved", call);
    }
    TERN_TRY(entries_of(fifo, &entries));
    entries[fifo->done % fifo->slots * LANES + (uint32_t)tern_cluster_lane()] = entry;
    fifo->done++;
    return fifo->untold ? TERN_OK : tern_cluster_post(fifo->counter, fifo->begun + fifo->done);
}

static int take(const char *call, tern_fifo *fifo, void **slot)
{
    TERN_TRY(check_side(call, fifo, false));
    if (!fifo->unawaited) {
        TERN_TRY(tern_cluster_await(fifo->counter, fifo->begun + fifo->entry + 1));
    }
    TERN_TRY(slot_of(fifo, slot));
    fifo->entry++;
    return TERN_OK;
}

static int release(const char *call, tern_fifo *fifo)
{
    TERN_TRY(check_side(call, fifo, false));
    if (fifo->done == fifo->entry) {
        return tern__fail(TERN_ERR_STATE, "%s: no entry is taken", call);
    }
    fifo->done++;
    return fifo->untold ? TERN_OK : tern_cluster_post(fifo->counter + 1, fifo->begun + fifo->done);
}

static int need_slot(const char *call, void **slot)
{
    return slot != NULL ? TERN_OK : tern__fail(TERN_ERR_ARG, "%s: slot must not be NULL", call);
}

static int reserve_slot(tern_fifo *fifo, void **slot)
{
    TERN_TRY(need_slot("tern_fifo_reserve", slot));
    return reserve("tern_fifo_reserve", fifo, slot);
}

int tern_fifo_reserve(tern_fifo *fifo, void **slot)
{
    return TERN__CALL_OF_CALLS(reserve_slot(fifo, slot));
}

int tern_fifo_commit(tern_fifo *fifo)
{
    return TERN__CALL_OF_CALLS(commit("tern_fifo_commit", fifo, (struct entry){.rows = 0}));
}

static int take_slot(tern_fifo *fifo, void **slot)
{
    TERN_TRY(need_slot("tern_fifo_take", slot));
    return take("tern_fifo_take", fifo, slot);
}

int tern_fifo_take(tern_fifo *fifo, void **slot)
{
    return TERN__CALL_OF_CALLS(take_slot(fifo, slot));
}

int tern_fifo_release(tern_fifo *fifo)
{
    return TERN__CALL_OF_CALLS(release("tern_fifo_release", fifo));
}

// The tile that a slot is: rows one after the other.
static tern_tile whole(void *slot, struct entry entry)
{
    return (tern_tile){.data = slot,
                       .dtype = entry.dtype,
                       .rows = entry.rows,
                       .columns = entry.columns,
                       .valid_rows = entry.rows,
                       .valid_columns = entry.columns,
                       .order = TERN_TILE_ROW_MAJOR};
}

// The whole of which a tile is a half, if `halves`. As a half, its rows and columns count, also
// what is not valid of them; else what is valid.
static struct entry entry_of(const tern_tile *tile, tern_fifo_split split, bool halves)
{
    struct entry entry = {tile->dtype, tile->rows, tile->columns};
    if (split == TERN_FIFO_WHOLE) {
        entry.rows = tile->valid_rows;
        entry.columns = tile->valid_columns;
    } else if (halves) {
        entry.rows *= split == TERN_FIFO_ROWS ? 2 : 1;
        entry.columns *= split == TERN_FIFO_COLUMNS ? 2 : 1;
    }
    return entry;
}

static int check_bytes(const char *call, const tern_fifo *fifo, struct entry entry)
{
    size_t bytes = (size_t)entry.rows * (size_t)entry.columns * tern_dtype_size(entry.dtype);
    return fifo->offset_bytes <= fifo->slot_bytes && bytes <= fifo->slot_bytes - fifo->offset_bytes
               ? TERN_OK
               : tern__fail(TERN_ERR_ARG,
                            "%s: %d rows of %d elements of %s are %zu bytes, and a slot has %zu "
                            "from %zu on",
                            call, entry.rows, entry.columns, tern_dtype_name(entry.dtype), bytes,
                            fifo->slot_bytes, fifo->offset_bytes);
}

// Else it would end the oldest of those instead.
static int check_none_open(const char *call, const tern_fifo *fifo, const char *step)
{
    return fifo->done == fifo->entry
               ? TERN_OK
               : tern__fail(TERN_ERR_STATE, "%s: %u slots wait for their tern_fifo_%s", call,
                            fifo->entry - fifo->done, step);
}

static int push(tern_fifo *fifo, const tern_tile *tile, tern_fifo_split split, int vector)
{
    const char *call = "tern_fifo_push";
    TERN_TRY(check_side(call, fifo, true));
    TERN_TRY(check_half(call, split, &vector));
    if (tile == NULL) {
        return tern__fail(TERN_ERR_ARG, "%s: tile must not be NULL", call);
    }
    TERN_TRY(check_none_open(call, fifo, "commit"));
    int lane = tern_cluster_lane();
    struct entry entry = entry_of(tile, split, !fifo->to_vectors);
    TERN_TRY(check_bytes(call, fifo, entry));
    void *slot;
    TERN_TRY(reserve(call, fifo, &slot));
    if (lane == 0 || split != TERN_FIFO_WHOLE || lane == first_vector()) {
        tern_tile to = whole(slot, entry);
        int32_t row = lane > 0 && split == TERN_FIFO_ROWS ? vector * tile->rows : 0;
        int32_t column = lane > 0 && split == TERN_FIFO_COLUMNS ? vector * tile->columns : 0;
        TERN_TRY(tern_tile_insert(&to, tile, row, column));
    }
    return commit(call, fifo, entry);
}

int tern_fifo_push(tern_fifo *fifo, const tern_tile *tile, tern_fifo_split split, int vector)
{
    return TERN__CALL_OF_CALLS(push(fifo, tile, split, vector));
}

static int pop(tern_fifo *fifo, const tern_tile *tile, tern_fifo_split split, int vector)
{
    const char *call = "tern_fifo_pop";
    TERN_TRY(check_side(call, fifo, false));
    TERN_TRY(check_half(call, split, &vector));
    if (tile == NULL) {
        return tern__fail(TERN_ERR_ARG, "%s: tile must not be NULL", call);
    }
    TERN_TRY(check_none_open(call, fifo, "release"));
    void *slot;
    struct entry *entries;
    uint32_t number = fifo->entry % fifo->slots;
    TERN_TRY(entries_of(fifo, &entries));
    TERN_TRY(take(call, fifo, &slot));
    int lane = tern_cluster_lane();
    struct entry made = entries[number * LANES + (uint32_t)(lane > 0 ? 0 : first_vector())];
    if (made.rows == 0) {
        made = entry_of(tile, split, fifo->to_vectors);
        TERN_TRY(check_bytes(call, fifo, made));
    }
    if (lane > 0 && ((split == TERN_FIFO_ROWS && made.rows % 2 != 0) ||
                     (split == TERN_FIFO_COLUMNS && made.columns % 2 != 0))) {
        return tern__fail(TERN_ERR_ARG, "%s: %d rows of %d elements have no two halves", call,
                          made.rows, made.columns);
    }
    tern_tile from = whole(slot, made);
    int32_t row = lane > 0 && split == TERN_FIFO_ROWS ? vector * (made.rows / 2) : 0;
    int32_t column = lane > 0 && split == TERN_FIFO_COLUMNS ? vector * (made.columns / 2) : 0;
    TERN_TRY(tern_tile_extract(tile, &from, row, column));
    return release(call, fifo);
}

int tern_fifo_pop(tern_fifo *fifo, const tern_tile *tile, tern_fifo_split split, int vector)
{
    return TERN__CALL_OF_CALLS(pop(fifo, tile, split, vector));
}
