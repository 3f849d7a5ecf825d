// SPDX-License-Identifier: Apache-2.0
// The earlier name of the same header. C++ only.
#ifndef TERN_FACES_SIMPLER_AUGUST_HOST_BUILD_GRAPH_PTO_ORCHESTRATION_API_H
#define TERN_FACES_SIMPLER_AUGUST_HOST_BUILD_GRAPH_PTO_ORCHESTRATION_API_H

#include "simpler/august/host_build_graph/orchestration_api.h"

#endif
