// SPDX-License-Identifier: Apache-2.0
// tern plan all_reduce --executor examples/executors/medium.cc --topo mesh:8 --cut 0-1 --bytes 64K
#include "medium.h"

namespace hccl
{

REGISTER_EXEC("AllReduceMedium", AllReduceMediumExecutor, AllReduceMedium);

} // namespace hccl
