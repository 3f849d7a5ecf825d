// SPDX-License-Identifier: Apache-2.0
// Order between the pipes of a core, April 2026. C++ only.
#ifndef TERN_FACES_SIMPLER_APRIL_PIPE_SYNC_H
#define TERN_FACES_SIMPLER_APRIL_PIPE_SYNC_H

#include "pto/pto-inst.hpp"

// All that the core has been told to do has been done.
inline void pipe_sync()
{
    pipe_barrier(PIPE_ALL);
}

#endif
