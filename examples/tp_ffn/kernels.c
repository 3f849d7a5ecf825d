// SPDX-License-Identifier: Apache-2.0
// The kernels of the layer (kernels.h). The AllReduce of a chunk is one pass without a barrier:
// each rank owns a slice, reads it from all ranks in rank order, sums it in f32, rounds once, and
// stores it on all ranks. So every rank gets the same bits.
//
// Why no rank overwrites what another still reads, although nothing is reset and ranks may be a run
// apart (p is any rank, q any other):
// - p's partial rows are written again by p's next run. p's run ended only after p saw done = n for
//   the chunk, and q notifies done after it has read the rows.
// - a and y on p are written by q's reduce. In the next run q starts that after it saw p's ready of
//   that run, and p notifies it after its last run, with all its reads of a, ended. So the host of
//   p may read y, and overwrite all four buffers, between synchronize and its next launch.
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

static char *own_memory(const struct device *device, size_t offset_bytes)
{
    return (char *)tern_window_address(device->window, (int)device->rank) + offset_bytes;
}

void kernel_linear(int64_t *args)
{
    struct device *device = device_of(args);
    const struct layout *layout = &device->layout;
    struct range rows = shape_chunk(&layout->shape, (size_t)args[1]);
    size_t offset = layout->partial[STAGE_A] + rows.begin * layout->row_bytes;
    layer_linear(&device->layer, rows, &device->scratch[tern_kernel_core()],
                 own_memory(device, offset));
}

void kernel_ffn(int64_t *args)
{
    struct device *device = device_of(args);
    const struct layout *layout = &device->layout;
    struct range rows = shape_chunk(&layout->shape, (size_t)args[1]);
    size_t skipped = rows.begin * layout->row_bytes;
    layer_ffn(&device->layer, own_memory(device, layout->sum[STAGE_A] + skipped), rows.count,
              &device->scratch[tern_kernel_core()],
              own_memory(device, layout->partial[STAGE_Y] + skipped));
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
static int reduce_block(const struct device *device, enum stage stage, size_t first, size_t count)
{
    const struct layout *layout = &device->layout;
    tern_dtype dtype = layout->shape.dtype;
    size_t size_bytes = count * tern_dtype_size(dtype);
    size_t skipped = first * tern_dtype_size(dtype);
    _Alignas(64) float sums[BLOCK_ELEMENTS];
    _Alignas(64) float fetched[BLOCK_ELEMENTS]; // elements of either dtype
    for (size_t i = 0; i < layout->nranks; i++) {
        int status =
            tern_get(device->window, (int)i, layout->partial[stage] + skipped, fetched, size_bytes);
        if (status != TERN_OK) {
            return status;
        }
        elements_add(dtype, sums, fetched, count, i == 0);
    }
    elements_pack(dtype, sums, fetched, count);
    for (size_t i = 0; i < layout->nranks; i++) {
        int to = (int)((device->rank + 1 + i) % layout->nranks);
        int status =
            tern_put(device->window, to, layout->sum[stage] + skipped, fetched, size_bytes);
        if (status != TERN_OK) {
            return status;
        }
    }
    return TERN_OK;
}

void kernel_reduce(int64_t *args)
{
    const struct device *device = device_of(args);
    struct range slice = layout_slice(&device->layout, (size_t)args[1], device->rank);
    for (size_t done = 0; done < slice.count; done += BLOCK_ELEMENTS) {
        size_t left = slice.count - done;
        size_t count = left < BLOCK_ELEMENTS ? left : BLOCK_ELEMENTS;
        if (reduce_block(device, (enum stage)args[2], slice.begin + done, count) != TERN_OK) {
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
