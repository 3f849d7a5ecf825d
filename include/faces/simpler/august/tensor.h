// SPDX-License-Identifier: Apache-2.0
// Tensors of August 2026: as in April, under the names of where they are used. C++ only.
#ifndef TERN_FACES_SIMPLER_AUGUST_TENSOR_H
#define TERN_FACES_SIMPLER_AUGUST_TENSOR_H

#include "simpler/april/tensor.h"

using ChipTensor = Tensor; // of orchestrations
using TaskTensor = Tensor; // of kernels, whose arguments are addresses of these

namespace simpler
{
namespace tmr
{
using ::make_tensor_external;
using ::Tensor;
} // namespace tmr
namespace hbg
{
using ::make_tensor_external;
using ::Tensor;
} // namespace hbg
} // namespace simpler

#endif
