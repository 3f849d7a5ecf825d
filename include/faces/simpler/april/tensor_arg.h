// SPDX-License-Identifier: Apache-2.0
// Tensors that hosts hand to orchestrations: ContinuousTensor. Of April 2026.
#ifndef TERN_FACES_SIMPLER_APRIL_TENSOR_ARG_H
#define TERN_FACES_SIMPLER_APRIL_TENSOR_ARG_H

#include "simpler/tern/types.h"

#endif
