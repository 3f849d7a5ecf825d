// SPDX-License-Identifier: Apache-2.0
#include <cstdint>

extern "C" void kernel_entry(int64_t *)
{
}
