// SPDX-License-Identifier: Apache-2.0
// Two ranks, and two halves of the vector that are one step apart: while one rank's part of a half
// is added up at the other, the sums of the other half travel back, so both directions carry
// something in each step. Each half is cut into a part for each rank. 4 barriers. Arguments: input,
// output, shared (in the window), signals, ranks, context.
#include "../../../common/kernels/ranks.hpp"

using namespace pto;

constexpr int count = 256;

// Pushes a part of a half to the other rank.
template <AtomicType atomic>
AICORE void Push(const folders::Ranks &ranks, __gm__ float *half, int part)
{
    folders::Part piece(count / 2, ranks.count, part);
    __gm__ float *mine = half + piece.begin;
    folders::Row from(mine, piece.count);
    folders::Row to(ranks.There(mine, ranks.Next(1)), piece.count);
    folders::RowTile tile(piece.count);
    TASSIGN(tile, 0x0);
    comm::TPUT<atomic>(to, from, tile);
}

extern "C" __aicore__ void kernel_entry(__gm__ int64_t *args)
{
    folders::Ranks ranks(args[3], args[4], args[5]);
    __gm__ float *shared = folders::Floats(args[2]);
    int own = ranks.rank, other = ranks.Next(1);

    folders::Copy(shared, folders::Floats(args[0]), count);
    ranks.Barrier();
    Push<AtomicType::AtomicAdd>(ranks, shared, other);
    ranks.Barrier();
    Push<AtomicType::AtomicNone>(ranks, shared, own);
    Push<AtomicType::AtomicAdd>(ranks, shared + count / 2, other);
    ranks.Barrier();
    Push<AtomicType::AtomicNone>(ranks, shared + count / 2, own);
    ranks.Barrier();
    folders::Copy(folders::Floats(args[1]), shared, count);
}
