// SPDX-License-Identifier: Apache-2.0
// HCCL's environment. The variables are in environment.def.
#ifndef TERN_FACES_HCCL_ENVIRONMENT_H
#define TERN_FACES_HCCL_ENVIRONMENT_H

#include "faces/hccl/state.h"
#include "start/root.h"

// HCCL_E_PARA for a value that there is not. The deadlines: what the environment says, with
// TERN_TIMEOUT where HCCL's variables say nothing, and else defaults. Warns of variables without a
// meaning, once in a process.
HcclResult tern__hccl_environment(const char *call, struct tern__deadlines *deadlines);

#endif
