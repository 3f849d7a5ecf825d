// SPDX-License-Identifier: Apache-2.0
// Instructions on tiles of one chip beyond arithmetic: masks of comparisons, and what is selected.

#include "pto/pto-inst.hpp"

#include <cmath>

#include "common.hpp"

using namespace pto;
using namespace pto::comm; // whose TGATHER and TSCATTER are others

// The greater of two, in all three forms of a tile for what lies between.
template <typename T, typename Word> __global__ AICORE void MaskKernel()
{
    using Data = Tile<TileType::Vec, T, 3, 32, BLayout::RowMajor, -1, -1>;
    constexpr int words = 32 / sizeof(Word);
    Tile<TileType::Vec, Word, 3, words, BLayout::RowMajor, -1, -1> mask(3, 1);
    Tile<TileType::Vec, uint32_t, 1, 16> between;
    Data a(3, 20), b(3, 20), c(3, 20);
    for (int i = 0; i < 60; i++) {
        a.SetValue(i / 20, i % 20, T(i % 7));
        b.SetValue(i / 20, i % 20, T(i % 5));
    }
    TEXPANDS(c, T(1));
    LateEvent late{[&] { a.SetValue(2, 3, T(9)); }};
    TCMP(mask, a, b, CmpMode::GT, late);
    CHECK(mask.GetValue(0, 0) % 256 == 0x60 && late.waits == 1); // 5 and 6 against 0 and 1
    TSEL(c, mask, a, b);
    CHECK(c.GetValue(2, 3) == T(9));
    for (int i = 0; i < 43; i++) {
        CHECK(c.GetValue(i / 20, i % 20) == T(i % 7 > i % 5 ? i % 7 : i % 5));
    }
    TSEL(c, mask, b, a, between, late);
    CHECK(c.GetValue(0, 5) == T(0) && c.GetValue(0, 4) == T(4) && late.waits == 2);
    TCMPS(mask, a, T(3), CmpMode::LE);
    TSELS(c, mask, a, T(3));
    CHECK(c.GetValue(0, 6) == T(3) && c.GetValue(0, 2) == T(2) && c.GetValue(0, 3) == T(3));
    TCMPS(mask, a, 3, CmpMode::NE);
    TSELS(c, mask, a, between, T(77), late);
    CHECK(c.GetValue(0, 6) == T(6) && c.GetValue(0, 3) == T(77) && c.GetValue(0, 2) == T(2));
    CHECK(late.waits == 3);
    static const CmpMode modes[] = {CmpMode::EQ, CmpMode::NE, CmpMode::LT,
                                    CmpMode::LE, CmpMode::GT, CmpMode::GE};
    static const unsigned holds[] = {2, 5, 1, 3, 4, 6}; // of 0, 1 and 2 against 1
    Data count(1, 3);
    for (int i = 0; i < 3; i++) {
        count.SetValue(0, i, T(i));
    }
    for (int i = 0; i < 6; i++) {
        TCMPS(mask, count, T(1), modes[i]);
        CHECK(unsigned(mask.GetValue(0, 0)) % 256 == holds[i]);
    }
}

void Masks()
{
    MaskKernel<float, uint8_t><<<1, nullptr, job.stream>>>();
    MaskKernel<half, uint32_t><<<1, nullptr, job.stream>>>();
    MaskKernel<int32_t, uint8_t><<<1, nullptr, job.stream>>>();
    MaskKernel<uint16_t, uint16_t><<<1, nullptr, job.stream>>>();
    Sync();
}

static const Case cases[] = {
    {"masks", 0, Masks},
};

int main(int argc, char **argv)
{
    return RUN_CASES("more_tiles", cases, argc, argv);
}
