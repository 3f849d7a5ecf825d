// SPDX-License-Identifier: Apache-2.0
// As in April 2026. C++ only.
#ifndef TERN_FACES_SIMPLER_AUGUST_PTO_ASYNC_KERNEL_API_H
#define TERN_FACES_SIMPLER_AUGUST_PTO_ASYNC_KERNEL_API_H

#include "simpler/april/pto_async_kernel_api.h"

#endif
