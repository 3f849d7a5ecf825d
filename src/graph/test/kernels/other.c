// SPDX-License-Identifier: Apache-2.0
// A second shared object, with a kernel of the same name and one of its own.

#include <stdint.h>

#include "tern/api.h"

TERN_API void kernel_which(int64_t *args);
TERN_API void kernel_only_here(int64_t *args);

void kernel_which(int64_t *args)
{
    *(int64_t *)(intptr_t)args[0] = 2;
}

void kernel_only_here(int64_t *args)
{
    *(int64_t *)(intptr_t)args[0] = 3;
}
