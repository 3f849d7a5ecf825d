// SPDX-License-Identifier: Apache-2.0
// CoreTaskArgsWithDeps, which is there already. C++ only.
#ifndef TERN_FACES_SIMPLER_AUGUST_HOST_BUILD_GRAPH_ARG_WITH_DEPS_H
#define TERN_FACES_SIMPLER_AUGUST_HOST_BUILD_GRAPH_ARG_WITH_DEPS_H

#include "simpler/august/host_build_graph/orchestration_api.h"

#endif
