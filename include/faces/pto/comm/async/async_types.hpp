// SPDX-License-Identifier: Apache-2.0
// An older path of the same header.
#ifndef TERN_FACES_PTO_COMM_ASYNC_ASYNC_TYPES_HPP
#define TERN_FACES_PTO_COMM_ASYNC_ASYNC_TYPES_HPP

#include "pto/comm/async_common/async_types.hpp"

#endif
