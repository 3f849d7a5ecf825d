// SPDX-License-Identifier: Apache-2.0
// Sends every token to the ranks of its experts. First all ranks tell all how many tokens they have
// for each expert; from that a rank knows which rows of an expert are its own: those behind the
// rows of lower ranks. Then it puts its tokens there. Arguments: x, choices, places (which row each
// token got), received; counts, signals, ranks, context.
#include <stdexcept>

#include "../../../common/kernels/arguments.hpp"
#include "../../../common/kernels/ranks.hpp"
#include "../shape.hpp"

using namespace pto;

// Counts this rank's tokens for each expert of all ranks, in the row of this rank, and puts that
// row to all.
AICORE static void TellCounts(const folders::Ranks &ranks, __gm__ int32_t *counts,
                              const __gm__ int32_t *choices)
{
    int experts = ranks.count * EXPERTS;
    __gm__ int32_t *own = counts + ranks.rank * experts;
    for (int i = 0; i < experts; i++) {
        own[i] = 0;
    }
    for (int i = 0; i < TOKENS * CHOICES; i++) {
        own[choices[i]]++;
    }
    dcci(own, cache_line_t::ENTIRE_DATA_CACHE);
    folders::RowOf<int32_t> from(own, experts);
    folders::TileOf<int32_t> tile(experts);
    TASSIGN(tile, 0x0);
    for (int distance = 1; distance < ranks.count; distance++) {
        folders::RowOf<int32_t> to(ranks.There(own, ranks.Next(distance)), experts);
        comm::TPUT(to, from, tile);
    }
}

// The first row of this rank at an expert.
AICORE static int FirstRow(const folders::Ranks &ranks, const __gm__ int32_t *counts, int expert)
{
    int first = 0;
    int all = 0;
    for (int rank = 0; rank < ranks.count; rank++) {
        int count = counts[rank * ranks.count * EXPERTS + expert];
        first += rank < ranks.rank ? count : 0;
        all += count;
    }
    if (all > ROWS) {
        throw std::length_error("expert " + std::to_string(expert) + " would get " +
                                std::to_string(all) + " tokens, and has rows for " +
                                std::to_string(ROWS));
    }
    return first;
}

extern "C" __aicore__ void kernel_entry(__gm__ int64_t *args)
{
    __gm__ float *x = folders::At<float>(args[0]);
    __gm__ int32_t *choices = folders::At<int32_t>(args[1]);
    __gm__ int32_t *places = folders::At<int32_t>(args[2]);
    __gm__ float *received = folders::At<float>(args[3]);
    auto *counts = reinterpret_cast<__gm__ int32_t *>(args[4]);
    folders::Ranks ranks(args[5], args[6], args[7]);

    TellCounts(ranks, counts, choices);
    ranks.Barrier();
    int next[EXPERTS * COMM_MAX_RANK_NUM];
    for (int expert = 0; expert < ranks.count * EXPERTS; expert++) {
        next[expert] = FirstRow(ranks, counts, expert);
    }
    folders::RowTile tile(WIDTH);
    TASSIGN(tile, 0x0);
    for (int i = 0; i < TOKENS * CHOICES; i++) {
        int expert = choices[i];
        places[i] = next[expert]++;
        __gm__ float *row = received + (expert % EXPERTS * ROWS + places[i]) * WIDTH;
        folders::Row from(x + i / CHOICES * WIDTH, WIDTH);
        folders::Row to(ranks.There(row, expert / EXPERTS), WIDTH);
        comm::TPUT(to, from, tile);
    }
    dcci(places, cache_line_t::ENTIRE_DATA_CACHE);
    ranks.Barrier();
}
