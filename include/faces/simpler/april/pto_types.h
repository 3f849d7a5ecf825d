// SPDX-License-Identifier: Apache-2.0
// Arguments and outputs of tasks, April 2026. C++ only.
#ifndef TERN_FACES_SIMPLER_APRIL_PTO_TYPES_H
#define TERN_FACES_SIMPLER_APRIL_PTO_TYPES_H

#include "simpler/april/tensor.h"
#include "simpler/tern/arg.hpp"

#endif
