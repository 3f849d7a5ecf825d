// SPDX-License-Identifier: Apache-2.0
// The arguments that a host hands to an orchestration: as tensors and scalars, and one after the
// other, whichever of both came. Set-up path.

#include <string.h>

#include "base/error.h"
#include "base/memcpy.h"
#include "faces/simpler.h"

static uint64_t tensor_bytes(const ContinuousTensor *tensor)
{
    uint64_t count = tern_region_dtype_size(tensor->dtype);
    for (uint32_t d = 0; d < tensor->ndims && d < TERN_REGION_DIMS_MAX; d++) {
        count *= tensor->shapes[d];
    }
    return count;
}

// Memory of the device for a tensor of the host's.
static int stage(struct simpler *runtime, ContinuousTensor *tensor, int direction)
{
    size_t size = tensor_bytes(tensor);
    void *host = (void *)(uintptr_t)tensor->data;
    if (tensor->ndims == 0 || tensor->ndims > TERN_REGION_DIMS_MAX) {
        return tern__fail(TERN_ERR_ARG, "an argument has %u dimensions; 1 to %d are possible",
                          tensor->ndims, TERN_REGION_DIMS_MAX);
    }
    if (tensor->child_memory != 0 || size == 0) {
        return TERN_OK;
    }
    void *device = host != NULL ? tern__simpler_malloc(runtime, size) : NULL;
    if (device == NULL) {
        return tern__fail(host == NULL ? TERN_ERR_ARG : TERN_ERR_MEMORY,
                          "an argument of %zu bytes at %p cannot be copied to the device", size,
                          host);
    }
    if (direction != TERN_SIMPLER_ARG_OUTPUT_PTR) {
        tern__memcpy(device, host, size);
    } else {
        memset(device, 0, size);
    }
    if (direction != TERN_SIMPLER_ARG_INPUT_PTR) {
        TERN_TRY(tern__simpler_record(runtime, host, device, size));
    }
    tensor->data = (uint64_t)(uintptr_t)device;
    return TERN_OK;
}

int tern__simpler_take_values(struct simpler *runtime, const uint64_t *values, const int *types,
                              const uint64_t *sizes, int count)
{
    ChipStorageTaskArgs *args = &runtime->args;
    for (int i = 0; i < count; i++) {
        int type = types != NULL ? types[i] : TERN_SIMPLER_ARG_SCALAR;
        uint64_t size = type != TERN_SIMPLER_ARG_SCALAR && sizes != NULL ? sizes[i] : 0;
        int room = type == TERN_SIMPLER_ARG_SCALAR ? TERN_SIMPLER_ARG_SCALARS - args->scalar_count_
                                                   : TERN_SIMPLER_ARG_TENSORS - args->tensor_count_;
        if (room == 0 || size > UINT32_MAX) {
            return tern__fail(TERN_ERR_LIMIT,
                              "argument %d: an orchestration has %d tensors of less than 4 GiB and "
                              "%d scalars",
                              i, TERN_SIMPLER_ARG_TENSORS, TERN_SIMPLER_ARG_SCALARS);
        }
        runtime->raw[runtime->raw_count++] = values[i];
        if (type == TERN_SIMPLER_ARG_SCALAR) {
            args->scalars_[args->scalar_count_++] = values[i];
            continue;
        }
        runtime->directions[args->tensor_count_] = type;
        runtime->raw_of[args->tensor_count_] = i;
        args->tensors_[args->tensor_count_++] = (ContinuousTensor){.data = values[i],
                                                                   .shapes = {(uint32_t)size},
                                                                   .ndims = 1,
                                                                   .dtype = TERN_REGION_U8};
    }
    return TERN_OK;
}

int tern__simpler_take(struct simpler *runtime, const ChipStorageTaskArgs *args,
                       const int *directions)
{
    if (args->tensor_count_ < 0 || args->tensor_count_ > TERN_SIMPLER_ARG_TENSORS ||
        args->scalar_count_ < 0 || args->scalar_count_ > TERN_SIMPLER_ARG_SCALARS) {
        return tern__fail(TERN_ERR_LIMIT, "%d tensors and %d scalars; at most %d and %d",
                          args->tensor_count_, args->scalar_count_, TERN_SIMPLER_ARG_TENSORS,
                          TERN_SIMPLER_ARG_SCALARS);
    }
    runtime->args = *args;
    for (int i = 0; i < args->tensor_count_; i++) {
        runtime->directions[i] = directions != NULL ? directions[i] : TERN_SIMPLER_ARG_INOUT_PTR;
        runtime->raw_of[i] = runtime->raw_count;
        runtime->raw[runtime->raw_count++] = args->tensors_[i].data;
    }
    for (int i = 0; i < args->scalar_count_; i++) {
        runtime->raw[runtime->raw_count++] = args->scalars_[i];
    }
    return TERN_OK;
}

int tern__simpler_stage(struct simpler *runtime)
{
    for (int i = 0; i < runtime->args.tensor_count_ && !runtime->kind->on_host; i++) {
        TERN_TRY(stage(runtime, &runtime->args.tensors_[i], runtime->directions[i]));
        runtime->raw[runtime->raw_of[i]] = runtime->args.tensors_[i].data;
    }
    return TERN_OK;
}
