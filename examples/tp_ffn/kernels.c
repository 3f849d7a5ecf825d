// SPDX-License-Identifier: Apache-2.0
// The kernels of the layer (kernels.h). The AllReduce of a chunk is one pass without a barrier:
// each rank owns a slice, reads it from the others in rank order, sums it in f32, rounds once, and
// stores it on all ranks. So every rank gets the same bits.
//
// The sums replace what was added, and nothing is reset, although ranks may be a run apart. Why no
// rank overwrites what another still needs (p is any rank, q any other):
// - A slice is read and written only by the rank that owns it, and p's memory only after p's ready.
// - p itself writes a chunk again, in ffn and in linear of its next run, after it saw done = n: q
//   notifies done after it has read and written its slice.
// - p notifies ready of the next run after its host has launched that. So the host of p may read y,
//   and overwrite it, between synchronize and its next launch.
#include "kernels.h"

#include <tern/graph.h>
#include <tern/put.h>
#include <tern/signal.h>
#include <tern/status.h>

#include "element.h"

// Elements summed at a time: the sum and what was fetched stay in the first-level cache.
#define BLOCK_ELEMENTS 2048

static struct device *device_of(const int64_t *args)
{
    return (struct device *)(intptr_t)args[0];
}

static char *own_rows(const struct device *device, struct range rows)
{
    const struct layout *layout = &device->layout;
    return (char *)tern_window_address(device->window, (int)device->rank) + layout->data +
           rows.begin * layout->row_bytes;
}

void kernel_linear(int64_t *args)
{
    struct device *device = device_of(args);
    struct range rows = shape_chunk(&device->layout.shape, (size_t)args[1]);
    layer_linear(&device->layer, rows, &device->scratch[tern_kernel_core()],
                 own_rows(device, rows));
}

void kernel_ffn(int64_t *args)
{
    struct device *device = device_of(args);
    struct range rows = shape_chunk(&device->layout.shape, (size_t)args[1]);
    char *own = own_rows(device, rows);
    layer_ffn(&device->layer, own, rows.count, &device->scratch[tern_kernel_core()], own);
}

// Adds 1 to a signal of the chunk on every rank, this one included.
static void notify_all(const struct device *device, const int64_t *args, enum signal signal)
{
    size_t offset = layout_signal(&device->layout, (enum signal_set)args[3], (enum stage)args[2],
                                  signal, (size_t)args[1]);
    for (size_t i = 0; i < device->layout.nranks; i++) {
        // Beginning with the next rank, so that not all ranks go for the same one first.
        int to = (int)((device->rank + 1 + i) % device->layout.nranks);
        if (tern_signal_notify(device->window, to, offset, 1, TERN_NOTIFY_ADD) != TERN_OK) {
            tern_kernel_fail("%s", tern_last_error());
            return;
        }
    }
}

void kernel_announce(int64_t *args)
{
    notify_all(device_of(args), args, SIGNAL_READY);
}

// Of a slice that this rank sums, at most BLOCK_ELEMENTS.
struct block {
    size_t offset; // in the windows, in bytes
    size_t count;
    size_t size_bytes;
};

// What a rank has there, added to the sums; the first of all becomes them.
static int fetch(const struct device *device, const struct block *block, int from, bool first,
                 float *sums)
{
    const tern_dtype dtype = device->layout.shape.dtype;
    _Alignas(64) float fetched[BLOCK_ELEMENTS]; // elements of either dtype
    // With f32 there is nothing to convert, and nothing is copied.
    void *to = first && dtype == TERN_F32 ? sums : fetched;
    const int status = tern_get(device->window, from, block->offset, to, block->size_bytes);
    if (first) {
        elements_unpack(dtype, to, sums, block->count);
    } else {
        elements_add(dtype, sums, to, block->count);
    }
    return status;
}

// Sums a block over the ranks and stores the result on all. What this rank has of f32 is summed
// where it lies: x + y is y + x, so the bits are those of the sum in rank order.
static int reduce_block(const struct device *device, const struct block *block)
{
    const tern_dtype dtype = device->layout.shape.dtype;
    const int rank = (int)device->rank, nranks = (int)device->layout.nranks;
    void *own = (char *)tern_window_address(device->window, rank) + block->offset;
    _Alignas(64) float sums[BLOCK_ELEMENTS];
    float *sum = dtype == TERN_F32 ? own : sums;
    int status = TERN_OK;
    for (int from = 0; from < rank && status == TERN_OK; from++) {
        status = fetch(device, block, from, from == 0, sums);
    }
    if (rank == 0) {
        elements_unpack(dtype, own, sum, block->count);
    } else {
        elements_add(dtype, sum, sum == own ? sums : own, block->count);
    }
    for (int from = rank + 1; from < nranks && status == TERN_OK; from++) {
        status = fetch(device, block, from, false, sum);
    }
    elements_pack(dtype, sum, own, block->count);
    for (int i = 1; i < nranks && status == TERN_OK; i++) {
        // Beginning with the next rank, so that not all ranks go for the same one first.
        const int to = (rank + i) % nranks;
        status = tern_put(device->window, to, block->offset, own, block->size_bytes);
    }
    return status;
}

void kernel_reduce(int64_t *args)
{
    const struct device *device = device_of(args);
    const struct layout *layout = &device->layout;
    const size_t element_bytes = tern_dtype_size(layout->shape.dtype);
    struct range slice = layout_slice(layout, (size_t)args[1], device->rank);
    for (size_t done = 0; done < slice.count; done += BLOCK_ELEMENTS) {
        size_t left = slice.count - done;
        size_t count = left < BLOCK_ELEMENTS ? left : BLOCK_ELEMENTS;
        const struct block block = {.offset = layout->data + (slice.begin + done) * element_bytes,
                                    .count = count,
                                    .size_bytes = count * element_bytes};
        if (reduce_block(device, &block) != TERN_OK) {
            tern_kernel_fail("%s", tern_last_error());
            return;
        }
    }
    // A rank whose slice is empty notifies too: the others count to the number of ranks.
    notify_all(device, args, SIGNAL_DONE);
}

void kernel_complete(int64_t *args)
{
    (void)args;
}
