// SPDX-License-Identifier: Apache-2.0
// An older path of the same header.
#ifndef TERN_FACES_COMMON_COMM_CONTEXT_H
#define TERN_FACES_COMMON_COMM_CONTEXT_H

#include "../comm_context.h"

#endif
