// SPDX-License-Identifier: Apache-2.0
// Instructions on tiles of one chip beyond arithmetic: masks of comparisons, and what is selected;
// elements in other places; sorted pairs; parts and bits.

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

// What is at (row, column) of a tile of numbers from 0 on.
template <typename Source> void Number(Source &tile)
{
    for (int i = 0; i < Source::Rows * Source::Cols; i++) {
        tile.SetValue(i, typename Source::DType(i));
    }
}

__global__ AICORE void MoveKernel()
{
    Tile<TileType::Vec, float, 4, 16> a;
    Tile<TileType::Vec, float, 16, 8, BLayout::RowMajor, 16, 4> turned;
    Tile<TileType::Vec, float, 8, 16> large;
    Number(a);
    TTRANS(turned, a, large);
    CHECK(turned.GetValue(15, 3) == 63 && turned.GetValue(2, 1) == 18);
    TEXPANDS(large, -1.0f);
    LateEvent late{[&] { a.SetValue(0, 100.0f); }};
    TINSERT(large, a, 3, 0, late);
    CHECK(large.GetValue(3, 0) == 100 && large.GetValue(6, 15) == 63 && late.waits == 1);
    CHECK(large.GetValue(2, 15) == -1 && large.GetValue(7, 0) == -1);
    Tile<TileType::Vec, float, 2, 8, BLayout::RowMajor, 1, 7> small;
    TEXPANDS(small, 3.0f);
    TINSERT(large, small);
    CHECK(large.GetValue(0, 6) == 3 && large.GetValue(0, 7) == -1 && large.GetValue(1, 0) == -1);
}

template <typename T> __global__ AICORE void PadKernel(float least, float greatest)
{
    constexpr TileType L1 = TileType::Mat;
    constexpr BLayout rows = BLayout::RowMajor;
    constexpr SLayout none = SLayout::NoneBox;
    using Part = Tile<TileType::Vec, T, 2, 32, rows, -1, -1>;
    Part part(2, 3);
    Tile<TileType::Vec, T, 2, 32, rows, 2, 32, none, 512, PadValue::Min> low;
    Tile<TileType::Vec, T, 3, 64, rows, 3, 64, none, 512, PadValue::Max> high;
    Tile<TileType::Vec, T, 2, 32, rows, 2, 32, none, 512, PadValue::Zero> same;
    Tile<L1, T, 2, 32, BLayout::ColMajor, 1, 3, SLayout::RowMajor> matrix;
    Number(part);
    LateEvent late{[&] { part.SetValue(34, T(9)); }};
    TFILLPAD(low, part, late);
    CHECK(low.GetValue(1, 2) == T(9) && low.GetValue(0, 0) == T(0) && late.waits == 1);
    CHECK(float(low.GetValue(0, 3)) == least && float(low.GetValue(1, 31)) == least);
    TFILLPAD_EXPAND(high, part);
    CHECK(high.GetValue(1, 1) == T(33) && float(high.GetValue(1, 3)) == greatest);
    CHECK(float(high.GetValue(0, 63)) == greatest && float(high.GetValue(2, 0)) == greatest);
    TASSIGN(same, part.data());
    TFILLPAD_INPLACE(same, part);
    CHECK(part.GetValue(1) == T(1) && part.GetValue(3) == T(0) && part.GetValue(63) == T(0));
    Number(matrix);
    TFILLPAD(matrix, matrix);
    CHECK(matrix.GetValue(2) == T(2) && matrix.GetValue(3) == T(0) && matrix.GetValue(33) == T(0));
    Number(matrix);
    TFILLPAD<decltype(matrix), PadValue::Zero>(matrix, matrix);
    CHECK(matrix.GetValue(63) == T(0));
}

template <typename T, typename Index> __global__ AICORE void IndexKernel()
{
    Tile<TileType::Vec, T, 2, 32> from;
    Tile<TileType::Vec, T, 1, 32> to;
    Tile<TileType::Vec, Index, 1, 32> index, between;
    Tile<TileType::Vec, T, 8, 32> spread;
    Number(from);
    for (int i = 0; i < 32; i++) {
        index.SetValue(i, Index(63 - 2 * i));
    }
    TGATHER(to, from, index);
    CHECK(to.GetValue(0) == T(63) && to.GetValue(31) == T(1));
    LateEvent late{[&] { index.SetValue(5, Index(20)); }};
    TGATHER(to, from, index, between, late);
    CHECK(to.GetValue(5) == T(20) && to.GetValue(6) == T(51) && late.waits == 1);
    TEXPANDS(from, T(7));
    TSCATTER(from, to, index, late);
    CHECK(from.GetValue(63) == T(63) && from.GetValue(0) == T(0) && from.GetValue(20) == T(20));
    CHECK(from.GetValue(53) == T(0) && from.GetValue(51) == T(51) && late.waits == 2);
    using From = decltype(from);
    using To = decltype(to);
    Number(from);
    TGATHER<To, From, MaskPattern::P0101>(to, from);
    CHECK(to.GetValue(1) == T(2) && to.GetValue(16) == T(32) && to.GetValue(31) == T(62));
    TGATHER<To, From, MaskPattern::P1010>(to, from, late);
    CHECK(to.GetValue(1) == T(3) && late.waits == 3);
    TGATHER<To, From, MaskPattern::P0001>(to, from);
    CHECK(to.GetValue(8) == T(32));
    TGATHER<To, From, MaskPattern::P0010>(to, from);
    CHECK(to.GetValue(8) == T(33));
    TGATHER<To, From, MaskPattern::P0100>(to, from);
    CHECK(to.GetValue(8) == T(34));
    TGATHER<To, From, MaskPattern::P1000>(to, from);
    CHECK(to.GetValue(8) == T(35) && to.GetValue(0) == T(3));
    TGATHER<To, From, MaskPattern::P1010, GatherAxis::GATHER_COL>(to, from);
    CHECK(to.GetValue(31) == T(63) && to.GetValue(0) == T(32));
    TSCATTER<MaskPattern::P0100, ScatterAxis::SCATTER_COL>(spread, from);
    CHECK(spread.GetValue(2, 31) == T(31) && spread.GetValue(6, 0) == T(32));
    CHECK(spread.GetValue(0, 1) == T(0) && spread.GetValue(7, 31) == T(0));
    Tile<TileType::Vec, T, 2, 64> twice;
    TSCATTER<MaskPattern::P1010>(twice, from, late);
    CHECK(twice.GetValue(1, 1) == T(32) && twice.GetValue(1, 0) == T(0) && late.waits == 4);
    TSCATTER(from, from);
    CHECK(from.GetValue(63) == T(63));
}

__global__ AICORE void BeyondKernel()
{
    Tile<TileType::Vec, float, 1, 8> to, from;
    Tile<TileType::Vec, int32_t, 1, 8> index;
    TEXPANDS(index, 8);
    TGATHER(to, from, index);
}

void Moves()
{
    MoveKernel<<<1, nullptr, job.stream>>>();
    PadKernel<float><<<1, nullptr, job.stream>>>(-HUGE_VALF, HUGE_VALF);
    PadKernel<half><<<1, nullptr, job.stream>>>(-HUGE_VALF, HUGE_VALF);
    PadKernel<bfloat16_t><<<1, nullptr, job.stream>>>(-HUGE_VALF, HUGE_VALF);
    PadKernel<int8_t><<<1, nullptr, job.stream>>>(-128, 127);
    PadKernel<uint16_t><<<1, nullptr, job.stream>>>(0, 65535);
    PadKernel<int32_t><<<1, nullptr, job.stream>>>(-0x1p31f, 0x1p31f);
    IndexKernel<float, uint32_t><<<1, nullptr, job.stream>>>();
    IndexKernel<half, int16_t><<<1, nullptr, job.stream>>>();
    IndexKernel<int8_t, uint16_t><<<1, nullptr, job.stream>>>();
    Sync();
    BeyondKernel<<<1, nullptr, job.stream>>>();
    ExpectRefusal("tern_tile_gather: index (0, 0) is 8, and there are 8 elements");
}

// The greatest four of 256, with where they were.
template <typename T> __global__ AICORE void SortKernel()
{
    constexpr int PER = 8 / sizeof(T); // elements of a pair
    constexpr int WIDTH = 256;
    using Pairs = Tile<TileType::Vec, T, 1, WIDTH * PER>;
    using List = Tile<TileType::Vec, T, 1, WIDTH * PER / 2>;
    Tile<TileType::Vec, T, 1, WIDTH> values;
    Tile<TileType::Vec, uint32_t, 1, WIDTH> index;
    Pairs a, b, between;
    static_assert(GETMRGSORTTMPSIZE<Pairs, List, List>() == WIDTH * PER * 2);
    for (int i = 0; i < WIDTH; i++) {
        values.SetValue(i, T(i * 37 % WIDTH));
        index.SetValue(i, uint32_t(1000 + i));
    }
    auto check = [](auto &tile, int pair, int value) {
        uint32_t words[2];
        memcpy(words, tile.data() + pair * PER, sizeof words);
        T top;
        memcpy(&top, words, sizeof top);
        CHECK(top == T(value) && int(words[1] - 1000) * 37 % WIDTH == value);
    };
    TSORT32(a, values, index);
    check(a, 0, 231);
    TSORT32(a, values, index, between);
    LateEvent late{[&] { check(a, 0, 231); }};
    TMRGSORT(b, a, 32 * PER, late); // eight blocks become two
    for (int i = 1; i < WIDTH; i++) {
        CHECK(i == WIDTH / 2 || b.GetValue(i * PER) < b.GetValue((i - 1) * PER));
    }
    List low, high;
    Tile<TileType::Vec, T, 1, 32, BLayout::RowMajor, 1, -1> four(4 * PER);
    memcpy(low.data(), b.data(), WIDTH * 4);
    memcpy(high.data(), b.data() + WIDTH * PER / 2, WIDTH * 4);
    MrgSortExecutedNumList taken;
    TMRGSORT<Pairs, Pairs, List, List, false>(a, taken, between, low, high, late);
    CHECK(late.waits == 2 && taken.mrgSortList0 == 128 && taken.mrgSortList1 == 128);
    for (int i = 0; i < WIDTH; i++) {
        check(a, i, WIDTH - 1 - i);
    }
    TMRGSORT<decltype(four), Pairs, List, List, Pairs, true>(four, taken, between, low, high, a);
    check(four, 3, 254);
    CHECK(taken.mrgSortList0 + taken.mrgSortList1 >= 128 && taken.mrgSortList3 == 0);
    TMRGSORT<decltype(four), Pairs, List, List, List, List, false>(four, taken, between, low, high,
                                                                   low, high);
    check(four, 1, 255);
    CHECK(taken.mrgSortList3 == 128);
}

void Sorts()
{
    SortKernel<float><<<1, nullptr, job.stream>>>();
    SortKernel<half><<<1, nullptr, job.stream>>>();
    Sync();
}

__global__ AICORE void CombineKernel()
{
    using Data = Tile<TileType::Vec, float, 2, 16, BLayout::RowMajor, -1, -1>;
    Data a(2, 4), part(1, 3), none(0, 4), c(2, 4), between(2, 4);
    Tile<TileType::Vec, float, 2, 8, BLayout::RowMajor, 2, 1> column;
    Number(a);
    TEXPANDS(part, 10.0f);
    LateEvent late{[&] { part.SetValue(2, 20.0f); }};
    TPARTADD(c, a, part, late);
    CHECK(c.GetValue(1) == 11 && c.GetValue(2) == 22 && c.GetValue(3) == 3);
    CHECK(c.GetValue(17) == 17 && late.waits == 1);
    TPARTMUL(c, part, a);
    CHECK(c.GetValue(1) == 10 && c.GetValue(16) == 16);
    TPARTMAX(c, a, part);
    CHECK(c.GetValue(1) == 10 && c.GetValue(3) == 3);
    TPARTMIN(c, a, part);
    CHECK(c.GetValue(1) == 1 && c.GetValue(2) == 2);
    TPARTADD(c, none, a);
    CHECK(c.GetValue(19) == 19);
    TDIVS(c, 12.0f, a, late);
    CHECK(c.GetValue(3) == 4 && late.waits == 2);
    TDIVS(c, a, 2.0f);
    CHECK(c.GetValue(3) == 1.5f);
    column.SetValue(0, 1.0f);
    column.SetValue(8, 16.0f);
    TROWEXPANDSUB(c, a, column, between, late);
    CHECK(c.GetValue(3) == 2 && c.GetValue(17) == 1 && late.waits == 3);
    TROWEXPANDEXPDIF(c, a, column);
    CHECK(c.GetValue(1) == 1 && c.GetValue(2) == 2.7182817f && c.GetValue(16) == 1);
    TROWEXPANDEXPDIF(a, a, column, between, late);
    CHECK(a.GetValue(2) == 2.7182817f && late.waits == 4);
    Tile<TileType::Vec, float, 2, 8> eight; // rows of 32 bytes: element c % 8 for column c
    Tile<TileType::Vec, float, 2, 16> wide;
    Number(eight);
    Number(wide);
    TROWEXPANDADD(wide, wide, eight);
    CHECK(wide.GetValue(7) == 14 && wide.GetValue(9) == 10 && wide.GetValue(31) == 31 + 15);
    TEXPANDS(wide, 2.0f);
    TROWPROD(column, wide, between);
    CHECK(column.GetValue(8) == 65536);
    TCOLPROD(wide, wide);
    CHECK(wide.GetValue(15) == 4 && wide.GetValue(16) == 2);
    Number(a);
    TCOLEXPANDEXPDIF(c, a, a);
    CHECK(c.GetValue(3) == 1 && c.GetValue(16) == 8886111.0f);
    TRSQRT(c, a, between);
    CHECK(c.GetValue(16) == 0.25f);
    Tile<TileType::Vec, uint32_t, 1, 8> bits, other, result, unused;
    Number(bits);
    TEXPANDS(other, 5u);
    TAND(result, bits, other);
    CHECK(result.GetValue(7) == 5 && result.GetValue(2) == 0);
    TOR(result, bits, other);
    CHECK(result.GetValue(2) == 7);
    TXOR(result, bits, other, unused);
    CHECK(result.GetValue(7) == 2);
    TXOR(result, bits, other);
    TNOT(result, result);
    CHECK(result.GetValue(7) == ~2u);
    TANDS(result, bits, 6u);
    TORS(result, result, 8u);
    CHECK(result.GetValue(7) == 14);
    TXORS(result, bits, 7u, unused);
    CHECK(result.GetValue(1) == 6);
    TSHL(result, bits, bits);
    CHECK(result.GetValue(3) == 24);
    TSHLS(result, bits, 4u);
    TSHRS(result, result, 5u);
    CHECK(result.GetValue(6) == 3);
    TSHR(result, other, bits);
    CHECK(result.GetValue(1) == 2);
}

void Combines()
{
    CombineKernel<<<1, nullptr, job.stream>>>();
    Sync();
}

// Events between a load, an addition, a store, and a load of what was stored.
__global__ AICORE void EventKernel(__gm__ float *memory)
{
    DENSE(float, 1, 1, 1, 1, 64) global(memory);
    Tile<TileType::Vec, float, 1, 64> a, b;
    TASSIGN(a, 0x0);
    TASSIGN(b, 0x400);
    Event<Op::TLOAD, Op::TADDS> loaded;
    Event<Op::TADDS, Op::TSTORE_VEC> added;
    static_assert(decltype(added)::dstOp == Op::TSTORE_VEC);
    loaded = TLOAD(a, global);
    added = TADDS(b, a, 2.0f, loaded);
    Event<Op::TSTORE_VEC, Op::TLOAD> stored = TSTORE(global, b, added);
    TSYNC(stored);
    TLOAD(a, global);
    CHECK(a.GetValue(63) == 65);
    Event<Op::TLOAD, Op::VECTOR, false, EVENT_ID3> again;
    again.Record().Wait();
    again.Init();
    TADDS(b, a, 1.0f, again);
    TSTORE(global, b);
    TSYNC<Op::TSTORE_VEC>();
    TLOAD(a, global);
    CHECK(a.GetValue(0) == 3);
    Tile<TileType::Vec, int32_t, 1, 64> ids, between;
    TCI<decltype(ids), decltype(between), int32_t, 0>(ids, 5, between);
    CHECK(ids.GetValue(63) == 68);
}

void Events()
{
    float *memory = Window<float>();
    for (int i = 0; i < 64; i++) {
        memory[i] = float(i);
    }
    Barrier();
    EventKernel<<<1, nullptr, job.stream>>>(memory);
    SyncAll();
    EXPECT(memory[63], 66.0f);
}

static const Case cases[] = {
    {"masks", 0, Masks},       {"moves", 0, Moves},   {"sorts", 0, Sorts},
    {"combines", 0, Combines}, {"events", 0, Events},
};

int main(int argc, char **argv)
{
    return RUN_CASES("more_tiles", cases, argc, argv);
}
