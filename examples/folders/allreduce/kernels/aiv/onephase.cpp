// SPDX-License-Identifier: Apache-2.0
// Every rank reads the inputs of all ranks, whole: n^2 transfers, but only one step before the sum.
// Arguments: input, output, shared (in the window), signals, ranks, context.
#include "../../../common/kernels/ranks.hpp"

constexpr int count = 256;

extern "C" __aicore__ void kernel_entry(__gm__ int64_t *args)
{
    folders::Ranks ranks(args[3], args[4], args[5]);
    __gm__ float *shared = folders::Floats(args[2]);

    folders::Copy(shared, folders::Floats(args[0]), count);
    ranks.Barrier();
    auto input_of = [&](int rank) { return ranks.There(shared, rank); };
    folders::AddUp(folders::Floats(args[1]), ranks.count, input_of, count);
    ranks.Barrier(); // all have read; the next run may store again
}
