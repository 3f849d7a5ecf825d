// SPDX-License-Identifier: Apache-2.0
// Two rings in opposite directions, each with one half of the vector, so that links carry something
// in both directions at once. Ranks push: the sums are added up where they arrive, by atomic
// stores. 2 (n - 1) + 1 barriers. Arguments: input, output, shared (in the window), signals, ranks,
// context.
#include "../../../common/kernels/ranks.hpp"

using namespace pto;

constexpr int count = 256;

// One step of both rings: part `part` of the own half goes one place further.
template <AtomicType atomic>
AICORE void Push(const folders::Ranks &ranks, __gm__ float *shared, int part)
{
    for (int direction : {1, -1}) {
        __gm__ float *half = shared + (direction == 1 ? 0 : count / 2);
        folders::Part piece(count / 2, ranks.count, ranks.Next(direction * part));
        if (piece.count == 0) {
            continue;
        }
        __gm__ float *mine = half + piece.begin;
        folders::Row from(mine, piece.count);
        folders::Row to(ranks.There(mine, ranks.Next(direction)), piece.count);
        folders::RowTile tile(piece.count);
        TASSIGN(tile, 0x0);
        comm::TPUT<atomic>(to, from, tile);
    }
}

extern "C" __aicore__ void kernel_entry(__gm__ int64_t *args)
{
    folders::Ranks ranks(args[3], args[4], args[5]);
    __gm__ float *shared = folders::Floats(args[2]);

    folders::Copy(shared, folders::Floats(args[0]), count);
    ranks.Barrier();
    for (int step = 0; step < ranks.count - 1; step++) {
        Push<AtomicType::AtomicAdd>(ranks, shared, -step);
        ranks.Barrier();
    }
    for (int step = 0; step < ranks.count - 1; step++) {
        Push<AtomicType::AtomicNone>(ranks, shared, 1 - step);
        ranks.Barrier();
    }
    folders::Copy(folders::Floats(args[1]), shared, count);
}
