// SPDX-License-Identifier: Apache-2.0
// Orchestrations that build the graph on the chip, while it runs: March 2026. C++ only.
//
//     extern "C" int build(Runtime *runtime); // not 0: it failed
//
// with its arguments in runtime->orch_args, and functions in runtime->aicpu_build_api.
#ifndef TERN_FACES_SIMPLER_AICPU_BUILD_GRAPH_RUNTIME_H
#define TERN_FACES_SIMPLER_AICPU_BUILD_GRAPH_RUNTIME_H

#include "simpler/tern/calls.h"
#include "simpler/tern/mark.hpp"

#define RUNTIME_MAX_ARGS 16
#define RUNTIME_MAX_TASKS 131072

class Runtime : public tern_simpler_runtime
{
};

TERN_SIMPLER_MARK(tern_simpler_aicpu_build_graph);

#endif
