// SPDX-License-Identifier: Apache-2.0
// One task on a vector core: kernel 0 gets all arguments of the run, in their order.
#include "runtime.h"

extern "C" int build_graph(Runtime *runtime)
{
    const AicpuBuildApi &api = runtime->aicpu_build_api;
    int task = api.add_task(runtime, runtime->orch_args, runtime->orch_argc, 0, CoreType::AIV, 0);
    if (task < 0) {
        return -1;
    }
    api.publish_task(runtime, task);
    return 0;
}
