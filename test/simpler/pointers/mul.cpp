// SPDX-License-Identifier: Apache-2.0
// (src0, src1, out, n)
#include "../tiles.hpp"

extern "C" __aicore__ void kernel_entry(__gm__ int64_t *args)
{
    tiles::Combine<tiles::Op::Multiply>(reinterpret_cast<__gm__ float *>(args[0]),
                                        reinterpret_cast<__gm__ float *>(args[1]),
                                        reinterpret_cast<__gm__ float *>(args[2]),
                                        static_cast<uint64_t>(args[3]));
}
