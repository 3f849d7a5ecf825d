// SPDX-License-Identifier: Apache-2.0
// Sessions and events of asynchronous transfers, by the name that sources include them by.
#ifndef TERN_FACES_PTO_COMM_ASYNC_COMMON_ASYNC_TYPES_HPP
#define TERN_FACES_PTO_COMM_ASYNC_COMMON_ASYNC_TYPES_HPP

#include "pto/comm/comm_types.hpp"

#endif
