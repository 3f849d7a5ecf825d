// SPDX-License-Identifier: Apache-2.0
// The name of the same header where it came from.
#ifndef TERN_FACES_HCCL_CONTEXT_H
#define TERN_FACES_HCCL_CONTEXT_H

#include "comm_context.h"

#endif
