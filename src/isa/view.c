// SPDX-License-Identifier: Apache-2.0
// What is wrong with a tensor is found here, and rows are moved here. Data path: no allocation,
// lock, log or system call.

#include "isa/view.h"

#include <inttypes.h>
#include <string.h>

#include "base/dtype.h"
#include "base/error.h"
#include "comm/registry.h"
#include "isa/element_bytes.h"
#include "isa/far.h"
#include "isa/store.h"
#include "isa/wide.h"
#include "sync/bell.h"

struct tern__bell *tern__local_bell(void)
{
    static struct tern__bell bell;
    return &bell;
}

_Thread_local struct tern__owed tern__owed;

void tern__ring_owed(void)
{
    for (int i = 0; i < tern__owed.count; i++) {
        tern_window *window = tern__owed.windows[i];
        if (tern__handle_lives(window, TERN__WINDOW)) {
            tern__bell_ring(tern__window_bell(window, tern__owed.ranks[i]));
        }
    }
    tern__owed.count = 0;
}

void tern__owe_another(tern_window *window, int rank)
{
    for (int i = 0; i < tern__owed.count; i++) {
        if (tern__owed.windows[i] == window && tern__owed.ranks[i] == rank) {
            return;
        }
    }
    if (tern__owed.count == TERN__OWED) {
        tern__ring_owed();
    }
    tern__owed.windows[tern__owed.count] = window;
    tern__owed.ranks[tern__owed.count++] = rank;
}

// The elements from the first to behind the last; -1: more than can be counted.
static int64_t span_of(const int64_t shape[5], const int64_t stride[5])
{
    int64_t span = 1;
    for (int d = 0; d < 5; d++) {
        int64_t reach;
        if (__builtin_mul_overflow(shape[d] - 1, stride[d], &reach) ||
            __builtin_add_overflow(span, reach, &span)) {
            return -1;
        }
    }
    return span;
}

static int check_numbers(const char *call, const char *name, const struct tern__view *view)
{
    TERN_TRY(tern__dtype_check_number(call, name, view->dtype));
    int64_t elements = 1;
    bool counted = true;
    for (int d = 0; d < 5; d++) {
        if (view->shape[d] < 0 || view->stride[d] < 0) {
            return tern__fail(TERN_ERR_ARG,
                              "%s: dimension %d of %s has extent %" PRId64 " and stride %" PRId64
                              "; neither may be negative",
                              call, d, name, view->shape[d], view->stride[d]);
        }
        counted = counted && !__builtin_mul_overflow(elements, view->shape[d], &elements);
    }
    int64_t bytes;
    if (!tern__shape_is_empty(view->shape) &&
        (!counted || __builtin_mul_overflow(elements, (int64_t)view->element_bytes, &bytes))) {
        return tern__fail(TERN_ERR_ARG, "%s: %s has more elements than can be counted", call, name);
    }
    return TERN_OK;
}

// Where it is; and that it stays in one rank's part of a window, if it begins in one.
static int find_window(const char *call, const char *name, struct tern__view *view, int64_t span)
{
    size_t bytes;
    if (span < 0 || __builtin_mul_overflow((uint64_t)span, (uint64_t)view->element_bytes, &bytes) ||
        bytes > PTRDIFF_MAX || bytes > UINTPTR_MAX - (uintptr_t)view->data) {
        return tern__fail(TERN_ERR_ARG, "%s: %s reaches beyond the address space", call, name);
    }
    if (!tern__registry_find(view->data, &view->window)) {
        return tern__registry_is_inherited(view->data)
                   ? tern__fail(TERN_ERR_STATE,
                                "%s: %s is in a window of the process that this one is a fork of",
                                call, name)
                   : TERN_OK;
    }
    if (view->window->heap) { // memory that this rank has alone
        view->window = NULL;
        return TERN_OK;
    }
    const tern_window *window = view->window;
    size_t at = (size_t)(view->data - window->base);
    view->rank = (int)(at / window->size_bytes);
    size_t offset = at % window->size_bytes;
    if (bytes > window->size_bytes - offset) {
        return tern__fail(TERN_ERR_ARG,
                          "%s: %s begins at byte %zu of rank %d's part of window %u and reaches "
                          "%zu bytes beyond the %zu bytes of it",
                          call, name, offset, view->rank, window->number,
                          bytes - (window->size_bytes - offset), window->size_bytes);
    }
    view->far = !tern__window_is_mapped(window, view->rank);
    return tern__comm_check(window->comm);
}

// The numbers of a tensor, one by one: it has just been filled in, number by number, and a load of
// several at once would wait until those stores have left the processor.
static void copy_numbers(int64_t to[5], const int64_t from[5])
{
    for (int d = 0; d < 5; d++) {
        int64_t number = from[d];
#if defined(__GNUC__)
        __asm__("" : "+r"(number));
#endif
        to[d] = number;
    }
}

// Whether it has two dimensions of numbers so small that nothing overflows.
static bool is_small_matrix(const struct tern__view *view)
{
    const uint64_t least_large = UINT64_C(1) << 28; // two of them, and 8 bytes: 59 bits
    uint64_t all = (uint64_t)view->shape[3] | (uint64_t)view->shape[4] | (uint64_t)view->stride[3] |
                   (uint64_t)view->stride[4];
    int64_t others = view->stride[0] | view->stride[1] | view->stride[2];
    return view->shape[0] == 1 && view->shape[1] == 1 && view->shape[2] == 1 && all < least_large &&
           others >= 0;
}

// Whether all is well with the numbers, in one pass; and the elements from the first to behind the
// last.
static bool numbers_fit(const struct tern__view *view, int64_t *span)
{
    int64_t elements = (int64_t)view->element_bytes;
    int64_t signs = 0;
    bool over = elements == 0;
    if (is_small_matrix(view)) { // of most
        *span = 1 + (view->shape[3] - 1) * view->stride[3] + (view->shape[4] - 1) * view->stride[4];
        return !over;
    }
    *span = 1;
    for (int d = 0; d < 5; d++) {
        int64_t reach;
        signs |= view->shape[d] | view->stride[d];
        over |= __builtin_mul_overflow(elements, view->shape[d], &elements);
        over |= __builtin_mul_overflow(view->shape[d] - 1, view->stride[d], &reach);
        over |= __builtin_add_overflow(*span, reach, span);
    }
    return signs >= 0 && !over;
}

static int check_data(const char *call, const char *name, const struct tern__view *view)
{
    if (view->data == NULL) {
        return tern__fail(TERN_ERR_ARG, "%s: the data of %s must not be NULL", call, name);
    }
    if (((uintptr_t)view->data & (view->element_bytes - 1)) != 0) { // a power of 2
        return tern__fail(TERN_ERR_ARG, "%s: %s at %p is not aligned to the %zu bytes of a %s",
                          call, name, (void *)view->data, view->element_bytes,
                          tern_dtype_name(view->dtype));
    }
    return TERN_OK;
}

int tern__view_tensor(const char *call, const char *name, const tern_tensor *tensor,
                      const int64_t *shape, struct tern__view *view)
{
    TERN_TRY(tern__view_any(call, name, tensor, shape, view));
    return __builtin_expect(view->far, 0) ? tern__far_refuse(call, name, view) : TERN_OK;
}

int tern__view_any(const char *call, const char *name, const tern_tensor *tensor,
                   const int64_t *shape, struct tern__view *view)
{
    int64_t span;
    if (tensor == NULL) {
        return tern__fail(TERN_ERR_ARG, "%s: %s must not be NULL", call, name);
    }
    view->data = tensor->data;
    view->dtype = tensor->dtype;
    view->element_bytes = tern__element_bytes(tensor->dtype);
    view->window = NULL;
    view->rank = 0;
    view->far = false;
    copy_numbers(view->shape, shape != NULL ? shape : tensor->shape);
    copy_numbers(view->stride, tensor->stride);
    if (!numbers_fit(view, &span)) {
        TERN_TRY(check_numbers(call, name, view));
        span = span_of(view->shape, view->stride);
    }
    if (tern__shape_is_empty(view->shape)) {
        return TERN_OK;
    }
    TERN_TRY(check_data(call, name, view));
    return find_window(call, name, view, span);
}

bool tern__view_word(const char *call, const char *name, const tern_tensor *tensor,
                     struct tern__view *view, int *status)
{
    if (tensor == NULL || tensor->dtype != TERN_I32 || tensor->data == NULL ||
        (uintptr_t)tensor->data % sizeof(int32_t) != 0) {
        return false;
    }
    for (int d = 0; d < 5; d++) {
        if (tensor->shape[d] != 1 || tensor->stride[d] < 0) {
            return false;
        }
    }
    *view = (struct tern__view){.data = tensor->data,
                                .dtype = TERN_I32,
                                .element_bytes = sizeof(int32_t),
                                .shape = {1, 1, 1, 1, 1},
                                .stride = {1, 1, 1, 1, 1}};
    *status = find_window(call, name, view, 1);
    return true;
}

int tern__tile_check(const char *call, const char *name, const tern_tile *tile, tern_dtype dtype)
{
    if (tile == NULL || tile->data == NULL) {
        return tern__fail(TERN_ERR_ARG, "%s: %s must be a tile with memory", call, name);
    }
    if ((unsigned)tile->order > TERN_TILE_COLUMN_MAJOR) {
        return tern__fail(TERN_ERR_ARG, "%s: %d, the order of %s, is none", call, (int)tile->order,
                          name);
    }
    if (tile->dtype != dtype) {
        return tern__fail(TERN_ERR_ARG, "%s: %s holds %s, and the tensor %s", call, name,
                          tern_dtype_name(tile->dtype), tern_dtype_name(dtype));
    }
    if (tile->rows < 1 || tile->columns < 1 || tile->valid_rows < 1 || tile->valid_columns < 1 ||
        tile->valid_rows > tile->rows || tile->valid_columns > tile->columns) {
        return tern__fail(TERN_ERR_ARG,
                          "%s: %s has %d rows of %d elements, of which %d rows and %d elements are "
                          "valid; expected at least 1 and at most all",
                          call, name, tile->rows, tile->columns, tile->valid_rows,
                          tile->valid_columns);
    }
    if (((uintptr_t)tile->data & (tern_dtype_size(dtype) - 1)) != 0) { // a power of 2
        return tern__fail(TERN_ERR_ARG, "%s: %s at %p is not aligned to the %zu bytes of a %s",
                          call, name, tile->data, tern_dtype_size(dtype), tern_dtype_name(dtype));
    }
    return TERN_OK;
}

int tern__view_tile(const char *call, const char *name, const tern_tile *tile,
                    const int64_t shape[5], struct tern__view *view)
{
    int64_t rows = tern__shape_rows(shape);
    if (rows > tile->valid_rows || shape[4] > tile->valid_columns) {
        return tern__fail(TERN_ERR_ARG,
                          "%s: the tensor has %" PRId64 " rows of %" PRId64
                          " elements, and %s holds %d of %d",
                          call, rows, shape[4], name, tile->valid_rows, tile->valid_columns);
    }
    *view = (struct tern__view){.data = tile->data,
                                .dtype = tile->dtype,
                                .element_bytes = tern_dtype_size(tile->dtype)};
    memcpy(view->shape, shape, sizeof view->shape);
    tern__tile_strides(tile, &view->stride[3], &view->stride[4]);
    for (int d = 2; d >= 0; d--) {
        view->stride[d] = view->stride[d + 1] * shape[d + 1];
    }
    return TERN_OK;
}

// Elements that are not one after the other.
static void copy_elements(char *to, int64_t to_stride, const char *from, int64_t from_stride,
                          int64_t count, size_t element_bytes)
{
    int64_t size = (int64_t)element_bytes;
    for (int64_t i = count - 1; i >= 0; i--) { // the first one last
        tern__store_bytes(to + i * to_stride * size, from + i * from_stride * size, element_bytes,
                          element_bytes);
    }
}

void tern__view_store_row(const struct tern__view *to, char *row, const char *from, int64_t count)
{
    if (to->stride[4] == 1 || count == 1) {
        tern__store_bytes(row, from, (size_t)count * to->element_bytes, to->element_bytes);
    } else {
        copy_elements(row, to->stride[4], from, 1, count, to->element_bytes);
    }
}

static void add_row(const struct tern__view *to, char *to_row, const struct tern__view *from,
                    const char *from_row, int64_t count)
{
    const struct tern__xport *xport =
        to->window != NULL ? tern__window_xport(to->window, to->rank) : &tern__xport_shm;
    if (count == 1 || (to->stride[4] == 1 && from->stride[4] == 1)) {
        xport->put_add(to_row, from_row, (size_t)count, to->dtype);
        return;
    }
    int64_t size = (int64_t)to->element_bytes;
    for (int64_t i = 0; i < count; i++) {
        xport->put_add(to_row + i * to->stride[4] * size, from_row + i * from->stride[4] * size, 1,
                       to->dtype);
    }
}

void tern__view_copy(const struct tern__view *to, const struct tern__view *from, tern_atomic atomic)
{
    if (__builtin_expect((to->far || from->far) && atomic == TERN_ATOMIC_NONE, 0)) {
        tern__far_copy(to, from);
        return;
    }
    int64_t i[4] = {0};
    int64_t count = from->shape[4];
    do {
        char *to_row = tern__view_row(to, i);
        const char *from_row = tern__view_row(from, i);
        if (atomic == TERN_ATOMIC_ADD) {
            add_row(to, to_row, from, from_row, count);
        } else if (from->stride[4] == 1 || count == 1) {
            tern__view_store_row(to, to_row, from_row, count);
        } else {
            copy_elements(to_row, to->stride[4], from_row, from->stride[4], count,
                          to->element_bytes);
        }
    } while (tern__shape_next(from->shape, i));
}

void tern__view_copy_rounded(const struct tern__view *to, const struct tern__view *from,
                             tern_atomic atomic)
{
    enum { PIECE = 256 };
    uint16_t halves[PIECE];
    float floats[PIECE];
    int64_t i[4] = {0};
    do {
        const float *row = (const float *)(const void *)tern__view_row(from, i);
        for (int64_t at = (from->shape[4] - 1) / PIECE * PIECE; at >= 0;
             at -= PIECE) { // the first last
            int64_t count = from->shape[4] - at < PIECE ? from->shape[4] - at : PIECE;
            for (int64_t n = 0; n < count; n++) {
                floats[n] = row[(at + n) * from->stride[4]];
            }
            tern__floats_to_halves(halves, to->dtype, floats, (size_t)count);
            struct tern__view piece = *to;
            piece.data = tern__view_row(to, i) + at * to->stride[4] * (int64_t)sizeof *halves;
            struct tern__view rounded = {.data = (char *)halves,
                                         .dtype = to->dtype,
                                         .element_bytes = sizeof *halves,
                                         .shape = {1, 1, 1, 1, count},
                                         .stride = {1, 1, 1, 1, 1}};
            tern__view_copy(&piece, &rounded, atomic);
        }
    } while (tern__shape_next(from->shape, i));
}
