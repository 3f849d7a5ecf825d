// SPDX-License-Identifier: Apache-2.0
// The arguments that a host hands to an orchestration: ChipStorageTaskArgs. Of April 2026.
#ifndef TERN_FACES_SIMPLER_APRIL_TASK_ARGS_H
#define TERN_FACES_SIMPLER_APRIL_TASK_ARGS_H

#include "simpler/tern/types.h"

#endif
