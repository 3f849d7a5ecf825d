// SPDX-License-Identifier: Apache-2.0
// What a task of a graph that is built on the host says of its arguments, for dumps: of April 2026.
// Nothing depends on it. C++ only.
#ifndef TERN_FACES_SIMPLER_APRIL_TENSOR_INFO_H
#define TERN_FACES_SIMPLER_APRIL_TENSOR_INFO_H

#include "simpler/tern/calls.h"
#include "simpler/tern/tasks.h"

struct TensorInfo {
    uint64_t address;
    uint32_t shapes[TERN_REGION_DIMS_MAX];
    uint32_t ndims;
    DataType dtype;
    TensorArgType role;
};

#endif
