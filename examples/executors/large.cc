// SPDX-License-Identifier: Apache-2.0
// tern plan all_reduce --executor examples/executors/large.cc --topo mesh:8 --cut 0-1 --bytes 64M
#include "large.h"

namespace hccl
{

REGISTER_EXEC("AllReduceLarge", AllReduceLargeExecutor, AllReduceLarge);

} // namespace hccl
