// SPDX-License-Identifier: Apache-2.0
// How many cores a run has: y[0] clusters, z[0] AIV cores. Tensors x, y, z.
#include "orchestration_api.h"

extern "C" void aicpu_orchestration_entry(const ChipTaskArgs &args)
{
    const uint32_t first[1] = {0};
    set_tensor_data(args.tensor(1).ref(), 1, first,
                    static_cast<float>(rt_available_cluster_count()));
    set_tensor_data(args.tensor(2).ref(), 1, first, static_cast<float>(rt_available_aiv_count()));
}
