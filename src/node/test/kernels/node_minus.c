// SPDX-License-Identifier: Apache-2.0
// What chips of a node load: a kernel, and an orchestration that finds that kernel by its name.
#include "tern/submit.h"

TERN_API void tern_test_minus(int64_t *args);
TERN_API int tern_test_build(tern_graph *graph, void *arg);

// region -= scalar, by each element
void tern_test_minus(int64_t *args)
{
    const tern_region *region = (const tern_region *)(intptr_t)args[0];
    float *data = tern_region_data(region);
    for (uint64_t i = 0; i < tern_region_count(region); i++) {
        data[i] -= (float)args[1];
    }
}

// The same, on a core.
int tern_test_build(tern_graph *graph, void *arg)
{
    const int64_t *given = arg;
    tern_task_arg args[] = {
        {.access = TERN_INOUT, .region = (tern_region *)(intptr_t)given[0]},
        {.access = TERN_SCALAR, .scalar = (uint64_t)given[1]},
    };
    tern_submission minus = {.task = {.kernel_name = "tern_test_minus", .core = TERN_CORE_AIV},
                             .args = args,
                             .args_count = 2};
    return tern_graph_submit(graph, &minus, NULL);
}
