// SPDX-License-Identifier: Apache-2.0
// A task whose kernel nobody gave.
#include "runtime.h"

extern "C" int build_wrong(Runtime *runtime, uint64_t *args, int)
{
    return runtime->add_task(args, 3, 77) == -1 ? 0 : -1;
}
