// SPDX-License-Identifier: Apache-2.0
// Every rank adds up one part of the inputs, then gathers the parts of all: a reduce-scatter and an
// all-gather. Arguments: input, output, shared (in the window: the input, then the own part of the
// sum at its place), signals, ranks, context.
#include "../../../common/kernels/ranks.hpp"

constexpr int count = 256;

extern "C" __aicore__ void kernel_entry(__gm__ int64_t *args)
{
    folders::Ranks ranks(args[3], args[4], args[5]);
    __gm__ float *input = folders::Floats(args[2]);
    __gm__ float *sums = input + count;

    folders::Copy(input, folders::Floats(args[0]), count);
    ranks.Barrier();
    folders::Part own(count, ranks.count, ranks.rank);
    auto input_of = [&](int rank) { return ranks.There(input + own.begin, rank); };
    folders::AddUp(sums + own.begin, ranks.count, input_of, own.count);
    ranks.Barrier();
    for (int distance = 0; distance < ranks.count; distance++) {
        int rank = ranks.Next(distance);
        folders::Part part(count, ranks.count, rank);
        folders::Copy(folders::Floats(args[1]) + part.begin, ranks.There(sums + part.begin, rank),
                      part.count);
    }
    // No third barrier: the next run stores to `sums` only behind its first.
}
