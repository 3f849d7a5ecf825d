// SPDX-License-Identifier: Apache-2.0
// Every rank reads the inputs of all ranks, of 64 numbers each, and puts them side by side.
// Arguments: input, output, shared (in the window), signals, ranks, context.
#include "../../../common/kernels/ranks.hpp"

constexpr int count = 64;

extern "C" __aicore__ void kernel_entry(__gm__ int64_t *args)
{
    folders::Ranks ranks(args[3], args[4], args[5]);
    __gm__ float *shared = folders::Floats(args[2]);

    folders::Copy(shared, folders::Floats(args[0]), count);
    ranks.Barrier();
    for (int distance = 0; distance < ranks.count; distance++) {
        int rank = ranks.Next(distance);
        folders::Copy(folders::Floats(args[1]) + rank * count, ranks.There(shared, rank), count);
    }
    ranks.Barrier(); // all have read; the next run may store again
}
