// SPDX-License-Identifier: Apache-2.0
// Which kernels a task is, and how often it is called: April 2026. C++ only.
#ifndef TERN_FACES_SIMPLER_APRIL_PTO_SUBMIT_TYPES_H
#define TERN_FACES_SIMPLER_APRIL_PTO_SUBMIT_TYPES_H

#include "simpler/tern/tasks.h"

#endif
