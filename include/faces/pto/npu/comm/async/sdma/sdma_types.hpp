// SPDX-License-Identifier: Apache-2.0
// The newer path of the same header.
#ifndef TERN_FACES_PTO_NPU_COMM_ASYNC_SDMA_SDMA_TYPES_HPP
#define TERN_FACES_PTO_NPU_COMM_ASYNC_SDMA_SDMA_TYPES_HPP

#include "pto/comm/async/sdma/sdma_types.hpp"

#endif
