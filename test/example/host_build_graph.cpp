// SPDX-License-Identifier: Apache-2.0
// One task with all arguments.
#include "runtime.h"

extern "C" int build(Runtime *runtime, uint64_t *args, int arg_count)
{
    return runtime->add_task(args, arg_count, 0, CoreType::AIV) < 0 ? -1 : 0;
}
