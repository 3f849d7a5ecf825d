// SPDX-License-Identifier: Apache-2.0
// One task with all arguments.
#include "runtime.h"

extern "C" int build(Runtime *runtime)
{
    const AicpuBuildApi &api = runtime->aicpu_build_api;
    int task = api.add_task(runtime, runtime->orch_args, runtime->orch_argc, 0, CoreType::AIV, 0);
    if (task >= 0) {
        api.publish_task(runtime, task);
    }
    return task < 0 ? -1 : 0;
}
