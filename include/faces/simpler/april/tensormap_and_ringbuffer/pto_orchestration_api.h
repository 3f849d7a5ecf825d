// SPDX-License-Identifier: Apache-2.0
// Orchestrations whose dependences follow from tensors: April 2026. C++ only.
//
//     extern "C" PTO2OrchestrationConfig aicpu_orchestration_config(const ChipStorageTaskArgs &);
//     extern "C" void aicpu_orchestration_entry(const ChipStorageTaskArgs &args);
//
// A kernel's arguments are the addresses of Tensors, then the scalars.
#ifndef TERN_FACES_SIMPLER_APRIL_TENSORMAP_PTO_ORCHESTRATION_API_H
#define TERN_FACES_SIMPLER_APRIL_TENSORMAP_PTO_ORCHESTRATION_API_H

#include "simpler/april/tensormap.hpp"
#include "simpler/tern/mark.hpp"

TERN_SIMPLER_MARK(tern_simpler_april_tensormap_and_ringbuffer);

#endif
