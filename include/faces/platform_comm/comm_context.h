// SPDX-License-Identifier: Apache-2.0
// A newer path of the same header.
#ifndef TERN_FACES_PLATFORM_COMM_COMM_CONTEXT_H
#define TERN_FACES_PLATFORM_COMM_COMM_CONTEXT_H

#include "../comm_context.h"

#endif
