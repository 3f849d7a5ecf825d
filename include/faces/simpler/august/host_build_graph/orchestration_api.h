// SPDX-License-Identifier: Apache-2.0
// Orchestrations that run on the host: August 2026. They make the same calls as those that run on
// the chip, and here both are one: tasks begin while the orchestration submits more. C++ only.
#ifndef TERN_FACES_SIMPLER_AUGUST_HOST_BUILD_GRAPH_ORCHESTRATION_API_H
#define TERN_FACES_SIMPLER_AUGUST_HOST_BUILD_GRAPH_ORCHESTRATION_API_H

#include "simpler/august/tensormap_and_ringbuffer/orchestration_api.h"

#endif
