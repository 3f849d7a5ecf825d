// SPDX-License-Identifier: Apache-2.0
// Kernels that tests load by name.

#include <stdint.h>

#include "tern/graph.h"

TERN_API void kernel_store(int64_t *args);
TERN_API void kernel_which(int64_t *args);
TERN_API void kernel_fails(int64_t *args);

void kernel_store(int64_t *args)
{
    *(int64_t *)(intptr_t)args[0] = args[1];
}

void kernel_which(int64_t *args)
{
    *(int64_t *)(intptr_t)args[0] = 1;
}

// Calls back into the library that runs it.
void kernel_fails(int64_t *args)
{
    tern_kernel_fail("the loaded kernel got %d in run %d", (int)args[0], tern_kernel_run());
}
