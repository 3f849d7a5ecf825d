// SPDX-License-Identifier: Apache-2.0
// The newer path of the same header.
#ifndef TERN_FACES_PTO_NPU_COMM_ASYNC_SDMA_SDMA_WORKSPACE_MANAGER_HPP
#define TERN_FACES_PTO_NPU_COMM_ASYNC_SDMA_SDMA_WORKSPACE_MANAGER_HPP

#include "pto/comm/async/sdma/sdma_workspace_manager.hpp"

#endif
