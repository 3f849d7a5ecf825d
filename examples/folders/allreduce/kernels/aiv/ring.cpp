// SPDX-License-Identifier: Apache-2.0
// Parts of the sum travel round a ring, each rank reading from the one before it: n - 1 steps add,
// n - 1 steps hand the finished parts on, with a barrier after each. A link carries 2 (n - 1) / n
// of the vector, and never more than one part at a time. Arguments: input, output, shared (in the
// window), signals, ranks, context.
#include "../../../common/kernels/ranks.hpp"

constexpr int count = 256;

extern "C" __aicore__ void kernel_entry(__gm__ int64_t *args)
{
    folders::Ranks ranks(args[3], args[4], args[5]);
    __gm__ float *shared = folders::Floats(args[2]);

    folders::Copy(shared, folders::Floats(args[0]), count);
    ranks.Barrier();
    // Part p begins at rank p and is whole at rank p - 1, which it reaches last.
    for (int step = 1; step < ranks.count; step++) {
        folders::Part part(count, ranks.count, ranks.Next(-step));
        __gm__ float *mine = shared + part.begin;
        __gm__ float *both[] = {ranks.There(mine, ranks.Next(-1)), mine};
        folders::AddUp(
            mine, 2, [&](int i) { return both[i]; }, part.count);
        ranks.Barrier();
    }
    for (int step = 0; step < ranks.count - 1; step++) {
        folders::Part part(count, ranks.count, ranks.Next(-step));
        __gm__ float *mine = shared + part.begin;
        folders::Copy(mine, ranks.There(mine, ranks.Next(-1)), part.count);
        ranks.Barrier();
    }
    folders::Copy(folders::Floats(args[1]), shared, count);
}
