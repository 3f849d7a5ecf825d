// SPDX-License-Identifier: Apache-2.0
// The kernels of the layer (kernels.h). The AllReduce of a chunk is one pass without a barrier:
// each rank owns a slice, reads it from all ranks in rank order, sums it in f32, rounds once, and
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

// Sums `count` elements, at most BLOCK_ELEMENTS, over the ranks and stores the result on all.
static int reduce_block(const struct device *device, size_t first, size_t count)
{
    const struct layout *layout = &device->layout;
    tern_dtype dtype = layout->shape.dtype;
    size_t size_bytes = count * tern_dtype_size(dtype);
    size_t offset = layout->data + first * tern_dtype_size(dtype);
    _Alignas(64) float sums[BLOCK_ELEMENTS];
    _Alignas(64) float fetched[BLOCK_ELEMENTS]; // elements of either dtype
    // Where the sum is as elements: with f32 there is nothing to convert, and nothing is copied.
    void *sum = dtype == TERN_F32 ? sums : fetched;
    int status = tern_get(device->window, 0, offset, sum, size_bytes);
    elements_unpack(dtype, sum, sums, count);
    for (int from = 1; from < (int)layout->nranks && status == TERN_OK; from++) {
        status = tern_get(device->window, from, offset, fetched, size_bytes);
        elements_add(dtype, sums, fetched, count);
    }
    elements_pack(dtype, sums, sum, count);
    for (size_t i = 0; i < layout->nranks && status == TERN_OK; i++) {
        int to = (int)((device->rank + 1 + i) % layout->nranks);
        status = tern_put(device->window, to, offset, sum, size_bytes);
    }
    return status;
}

void kernel_reduce(int64_t *args)
{
    const struct device *device = device_of(args);
    struct range slice = layout_slice(&device->layout, (size_t)args[1], device->rank);
    for (size_t done = 0; done < slice.count; done += BLOCK_ELEMENTS) {
        size_t left = slice.count - done;
        size_t count = left < BLOCK_ELEMENTS ? left : BLOCK_ELEMENTS;
        if (reduce_block(device, slice.begin + done, count) != TERN_OK) {
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
