// SPDX-License-Identifier: Apache-2.0
// As in April 2026. C++ only.
#ifndef TERN_FACES_SIMPLER_AUGUST_PIPE_SYNC_H
#define TERN_FACES_SIMPLER_AUGUST_PIPE_SYNC_H

#include "simpler/april/pipe_sync.h"

#endif
