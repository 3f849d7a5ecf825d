// SPDX-License-Identifier: Apache-2.0
// One task on a vector core: kernel 0 gets all arguments of the run, in their order.
#include "runtime.h"

extern "C" int build_graph(Runtime *runtime, uint64_t *args, int arg_count)
{
    return runtime->add_task(args, arg_count, 0, CoreType::AIV) < 0 ? -1 : 0;
}
