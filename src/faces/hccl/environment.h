// SPDX-License-Identifier: Apache-2.0
// HCCL's environment. The variables are in environment.def.
#ifndef TERN_FACES_HCCL_ENVIRONMENT_H
#define TERN_FACES_HCCL_ENVIRONMENT_H

#include "faces/hccl/state.h"

// HCCL_E_PARA for a value that there is not. *timeout_ns: HCCL_EXEC_TIMEOUT; 0: not set. Warns of
// variables without a meaning, once in a process.
HcclResult tern__hccl_environment(const char *call, int64_t *timeout_ns);

#endif
