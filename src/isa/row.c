// SPDX-License-Identifier: Apache-2.0
// The short path of put and get: no call but memcpy, no allocation, lock, log or system call. What
// is wrong is not said here: the long way has the sentences.
//
// What memory an address is in, each thread remembers from its last transfer, until a window comes
// or goes anywhere in the process.

#include "isa/row.h"

#include "base/trace.h"
#include "comm/around.h"
#include "isa/check.h"
#include "isa/element_bytes.h"
#include "isa/store.h"
#include "isa/view.h"

// One rank's part of a window, or memory that is in none.
struct known_memory {
    uintptr_t begin;
    size_t bytes;                   // 0: nothing is known
    const _Atomic uint32_t *failed; // of the communicator, TERN__WORKING while it works
    tern_window *window;            // NULL: other memory of this process
    int rank;
};

static _Thread_local struct {
    uint32_t changes; // tern__registry_changes when this was found
    struct known_memory from, to;
} known __attribute__((tls_model("initial-exec")));

// False: a part on another machine, or a window comes or goes now.
static bool find_place(struct known_memory *place, const char *data)
{
    static const _Atomic uint32_t works = TERN__WORKING;
    struct tern__surroundings around;
    if (!tern__registry_around(data, &around)) {
        return false;
    }
    if (around.changes != known.changes) {
        known.changes = around.changes;
        known.from.bytes = known.to.bytes = 0;
    }
    tern_window *window = around.window;
    if (window == NULL || window->heap) {
        *place = (struct known_memory){around.begin, around.end - around.begin, &works, NULL, 0};
        return true;
    }
    int rank = (int)((size_t)(data - window->base) / window->size_bytes);
    if (!tern__window_is_mapped(window, rank)) {
        return false;
    }
    *place = (struct known_memory){(uintptr_t)tern__window_at(window, rank, 0), window->size_bytes,
                                   &window->comm->group.shared->failed, window, rank};
    return true;
}

static bool holds(const struct known_memory *place, const char *data, size_t bytes)
{
    size_t at = (uintptr_t)data - place->begin;
    return at < place->bytes && bytes <= place->bytes - at;
}

// Whether each lies in one place that is known.
static bool are_known(const char *from, const char *to, size_t bytes)
{
    return tern__peek(&tern__registry_changes) == known.changes &&
           holds(&known.from, from, bytes) && holds(&known.to, to, bytes);
}

// The same, after finding out.
__attribute__((cold, noinline)) static bool find_places(const char *from, const char *to,
                                                        size_t bytes)
{
    return find_place(&known.from, from) && find_place(&known.to, to) && are_known(from, to, bytes);
}

static bool has_no_sign(const int64_t stride[5])
{
    return (stride[0] | stride[1] | stride[2] | stride[3]) >= 0;
}

// The elements of a row, when the tensor is one and has no more than can be counted in bytes, and
// they lie together; 0: it is another, or wrong.
static int64_t row_count(const tern_tensor *tensor)
{
    const int64_t *shape = tensor->shape;
    bool row = ((shape[0] ^ 1) | (shape[1] ^ 1) | (shape[2] ^ 1) | (shape[3] ^ 1)) == 0 &&
               tensor->stride[4] == 1 && has_no_sign(tensor->stride);
    return row && shape[4] > 0 && shape[4] <= INT32_MAX ? shape[4] : 0;
}

static bool tile_holds(const tern_tile *tile, int64_t count, tern_dtype dtype)
{
    return tile->data != NULL && tile->dtype == dtype &&
           (unsigned)tile->order <= TERN_TILE_COLUMN_MAJOR && tile->valid_rows >= 1 &&
           tile->rows >= tile->valid_rows && tile->valid_columns >= count &&
           tile->columns >= tile->valid_columns;
}

int tern_row_move(void *to, const void *from, int64_t count, tern_dtype dtype)
{
    size_t element = tern__element_bytes(dtype);
    size_t bytes = (size_t)count * element;
    if (count <= 0 || count > INT32_MAX || bytes == 0 ||
        (((uintptr_t)from | (uintptr_t)to) & (element - 1)) != 0 || tern__checking() ||
        tern__trace_start() != 0) {
        return 0;
    }
    bool found = are_known(from, to, bytes);
    if ((__builtin_expect(!found, 0) && !find_places(from, to, bytes)) ||
        tern__flag_load(known.from.failed) != TERN__WORKING ||
        tern__flag_load(known.to.failed) != TERN__WORKING) {
        return 0;
    }
    tern__owe_ring(known.to.window, known.to.rank); // the fence comes after the store
    tern__store_bytes(to, from, bytes, element);
    return 1;
}

bool tern__move_row(const tern_tensor *to, const tern_tensor *from, const tern_tile *tile)
{
    if (to == NULL || from == NULL || tile == NULL) {
        return false;
    }
    int64_t count = row_count(from);
    size_t element = tern__element_bytes(from->dtype);
    return element != 0 && to->dtype == from->dtype && to->stride[4] == 1 &&
           has_no_sign(to->stride) && tile_holds(tile, count, from->dtype) &&
           ((uintptr_t)tile->data & (element - 1)) == 0 &&
           tern_row_move(to->data, from->data, count, from->dtype) == 1;
}
