// SPDX-License-Identifier: Apache-2.0
// All ranks read the root's 256 numbers with TGET. Arguments: input, output, shared (in the
// window), signals, ranks, root, context.
#include "../../../common/kernels/ranks.hpp"

using namespace pto;

constexpr int count = 256;

extern "C" __aicore__ void kernel_entry(__gm__ int64_t *args)
{
    folders::Ranks ranks(args[3], args[4], args[6]);
    int root = static_cast<int>(args[5]);
    __gm__ float *shared = folders::Floats(args[2]);

    if (ranks.rank == root) {
        folders::Copy(shared, folders::Floats(args[0]), count);
    }
    ranks.Barrier();
    folders::Row from(ranks.There(shared, root), count);
    folders::Row to(folders::Floats(args[1]), count);
    folders::RowTile tile(count);
    TASSIGN(tile, 0x0);
    comm::TGET(to, from, tile);
    ranks.Barrier(); // all have read; the next run may store again
}
