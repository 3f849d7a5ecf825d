// SPDX-License-Identifier: Apache-2.0
// A task whose kernel nobody gave.
#include "runtime.h"

extern "C" int build_wrong(Runtime *runtime, uint64_t *args, int)
{
    int refused = runtime->add_task(args, 3, 77);
    int task = runtime->add_task(args, 0, 0);
    runtime->add_successor(refused, task); // does not hide why
    return refused == -1 ? 0 : -1;
}
