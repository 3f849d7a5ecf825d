// SPDX-License-Identifier: Apache-2.0
// Every rank has 64 numbers for each rank, and gets the sum of those for itself. Arguments: input,
// output, shared (in the window), signals, ranks, context.
#include "../../../common/kernels/ranks.hpp"

constexpr int count = 64;

extern "C" __aicore__ void kernel_entry(__gm__ int64_t *args)
{
    folders::Ranks ranks(args[3], args[4], args[5]);
    __gm__ float *shared = folders::Floats(args[2]);

    folders::Copy(shared, folders::Floats(args[0]), ranks.count * count);
    ranks.Barrier();
    __gm__ float *own = shared + ranks.rank * count;
    auto part_of = [&](int rank) { return ranks.There(own, rank); };
    folders::AddUp(folders::Floats(args[1]), ranks.count, part_of, count);
    ranks.Barrier(); // all have read; the next run may store again
}
