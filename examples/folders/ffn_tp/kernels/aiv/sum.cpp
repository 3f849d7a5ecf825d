// SPDX-License-Identifier: Apache-2.0
// Adds up the partial products of all ranks: each rank puts its own into its slot of every rank's
// mailbox, tells them, waits for all, and adds the slots. Arguments: partial, y, mailbox and
// signals (in the window), ranks, context.
#include "../../../common/kernels/arguments.hpp"
#include "../../../common/kernels/ranks.hpp"

using namespace pto;

constexpr int count = 64 * 64;

extern "C" __aicore__ void kernel_entry(__gm__ int64_t *args)
{
    folders::Ranks ranks(args[3], args[4], args[5]);
    __gm__ float *mailbox = folders::Floats(args[2]);
    __gm__ float *slot = mailbox + ranks.rank * count;

    folders::Row partial(folders::At<float>(args[0]), count);
    folders::RowTile tile(count);
    TASSIGN(tile, 0x0);
    for (int distance = 0; distance < ranks.count; distance++) {
        folders::Row there(ranks.There(slot, ranks.Next(distance)), count);
        comm::TPUT(there, partial, tile);
    }
    ranks.Barrier();
    auto slot_of = [&](int rank) { return mailbox + rank * count; };
    folders::AddUp(folders::At<float>(args[1]), ranks.count, slot_of, count);
    ranks.Barrier(); // all have added; the next run may put again
}
