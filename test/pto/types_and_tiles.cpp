// SPDX-License-Identifier: Apache-2.0
// Shapes, strides, tensors and tiles of the PTO ISA, and what is done with them on the chip: where
// tiles lie, load and store in each layout, arithmetic, the halves.

#include "pto/pto-inst.hpp"

#include <cmath>

#include "common.hpp"

using namespace pto;

constexpr int D = DYNAMIC;

// As many numbers as are dynamic, or five, of which the dynamic ones count; none: ones.
void Numbers()
{
    using Mixed = Shape<2, D, 3, D, 4>;
    const int64_t two[] = {2, 7, 3, 9, 4}, five[] = {2, 11, 3, 13, 4}, none[] = {2, 1, 3, 1, 4};
    CHECK(memcmp(Mixed(7, 9).shape, two, sizeof two) == 0);
    CHECK(memcmp(Mixed(10, 11, 12, 13, 14).shape, five, sizeof five) == 0);
    CHECK(memcmp(Mixed().shape, none, sizeof none) == 0);
    CHECK(Mixed::staticShape[0] == 2 && Mixed::staticShape[1] == D && Mixed::staticShape[4] == 4);
    using Steps = Stride<D, D, D, 8, 1>;
    const int64_t three[] = {5, 6, 7, 8, 1}, all[] = {1, 2, 3, 8, 1};
    CHECK(memcmp(Steps(5, int64_t{6}, 7u).stride, three, sizeof three) == 0);
    CHECK(memcmp(Steps(1, 2, 3, 4, 5).stride, all, sizeof all) == 0);
    CHECK(Steps().stride[0] == 1 && Steps().stride[3] == 8 && Steps::staticStride[2] == D);
    Shape<> any(1, 2, 3, 4, 5);
    Stride<> steps(120, 60, 20, 5, 1);
    Shape<> same = any;
    Shape<D, 1, 1, 1, 1> one(int64_t{6});
    CHECK(any.shape[4] == 5 && steps.stride[0] == 120 && same.shape[1] == 2 && one.shape[0] == 6);
}

void Tensors()
{
    using Fixed = GlobalTensor<float, Shape<1, 1, 2, 3, 8>, Stride<48, 48, 24, 8, 1>>;
    using Loose = GlobalTensor<float, Shape<1, 1, 1, D, D>, Stride<D, D, D, D, 1>, Layout::DN>;
    static_assert(std::is_same_v<Fixed::RawDType, float> && Fixed::layout == Layout::ND);
    static_assert(std::is_same_v<Fixed::DType, float> && Loose::layout == Layout::DN);
    static_assert(Fixed::GetShape<GlobalTensorDim::DIM_3>() == 3 && Loose::GetShape<4>() == D);
    static_assert(Fixed::GetStride<2>() == 24 && Fixed::staticShape[4] == 8);
    static_assert(Loose::staticStride[3] == D && GlobalTensorDim::TOTAL_DIM == 5);
    static_assert(std::is_same_v<Fixed::Shape, Shape<1, 1, 2, 3, 8>>);
    float data[48] = {};
    Fixed array[3];
    CHECK(array[0].data() == nullptr && array[2].GetShape(3) == 3 && array[1].GetStride(2) == 24);
    for (int i = 0; i < 3; i++) {
        array[i] = Fixed(data + i);
    }
    CHECK(array[2].data() == data + 2 && array[0].data() == data);
    Loose loose(data, Shape<1, 1, 1, D, D>(5, 6), Stride<D, D, D, D, 1>(36, 35, 34, 7));
    Loose shaped(data, Shape<1, 1, 1, D, D>(2, 3));
    CHECK(loose.GetShape(3) == 5 && loose.GetShape(4) == 6 && loose.GetStride(0) == 36);
    CHECK(loose.GetStride(3) == 7 && shaped.GetShape(4) == 3 && shaped.GetStride(3) == 1);
    loose.SetShape(8, 9);
    loose.SetStride(4, 3, 2, 1);
    CHECK(loose.GetShape(4) == 9 && loose.GetStride(0) == 4 && loose.GetStride(2) == 2);
    TASSIGN(loose, data + 7);
    CHECK(loose.data() == data + 7);
}

// Where tiles lie: at offsets of the region of their type, aliased on purpose, or by themselves.
__global__ AICORE void TilesKernel()
{
    using Row = Tile<TileType::Vec, int32_t, 1, 64>;
    Row a, b;
    TEXPANDS(a, 1);
    TEXPANDS(b, 2);
    CHECK(a.data() != b.data() && a.GetValue(63) == 1 && b.GetValue(0, 63) == 2);
    TASSIGN(a, 0x100);
    TASSIGN(b, 0x180);
    CHECK(b.data() == a.data() + 32);
    TEXPANDS(a, 3);
    CHECK(b.GetValue(31) == 3);
    b.SetValue(0, 77);
    CHECK(a.GetValue(32) == 77);
    Row c, d;
    TASSIGN<0x100>(c);
    TASSIGN(d, a.data());
    CHECK(c.data() == a.data() && d.data() == a.data());
    Tile<TileType::Vec, uint8_t, 1, 32> bytes;
    Tile<TileType::Mat, int32_t, 1, 64> matrix;
    TASSIGN(bytes, reinterpret_cast<uint64_t>(a.data() + 32));
    TASSIGN(matrix, 0x100);
    CHECK(bytes.GetValue(0) == 77 && static_cast<void *>(matrix.data()) != a.data());
    TASSIGN(c, 192 * 1024 - 256);
}

template <TileType type, int BYTES, int OFFSET> __global__ AICORE void BeyondKernel()
{
    Tile<type, uint8_t, 1, BYTES> tile;
    TASSIGN(tile, OFFSET);
}

void TilesInMemory()
{
    TilesKernel<<<1, nullptr, job.stream>>>();
    Sync();
    BeyondKernel<TileType::Vec, 64, 192 * 1024 - 64><<<1, nullptr, job.stream>>>();
    BeyondKernel<TileType::Mat, 64, 512 * 1024 - 64><<<1, nullptr, job.stream>>>();
    BeyondKernel<TileType::Left, 64, 64 * 1024 - 64><<<1, nullptr, job.stream>>>();
    BeyondKernel<TileType::Acc, 64, 128 * 1024 - 64><<<1, nullptr, job.stream>>>();
    Sync();
    BeyondKernel<TileType::Vec, 64, 192 * 1024 - 32><<<1, nullptr, job.stream>>>();
    ExpectRefusal("TASSIGN: ");
    BeyondKernel<TileType::Right, 64, 64 * 1024 - 32><<<1, nullptr, job.stream>>>();
    ExpectRefusal("TASSIGN: ");
}

void TileNumbers()
{
    using Both = Tile<TileType::Vec, half, 16, 32, BLayout::RowMajor, -1, -1>;
    using Rows = Tile<TileType::Vec, half, 16, 32, BLayout::RowMajor, -1, 30>;
    using Columns = Tile<TileType::Vec, half, 16, 32, BLayout::RowMajor, 15, -1>;
    using Fixed = Tile<TileType::Vec, half, 16, 32, BLayout::RowMajor, 15, 30, SLayout::NoneBox,
                       512, PadValue::Zero>;
    Both both(3, 4);
    Rows rows(5);
    Columns columns(6);
    Fixed fixed;
    CHECK(both.GetValidRow() == 3 && both.GetValidCol() == 4);
    CHECK(rows.GetValidRow() == 5 && rows.GetValidCol() == 30);
    CHECK(columns.GetValidRow() == 15 && columns.GetValidCol() == 6);
    CHECK(fixed.GetValidRow() == 15 && fixed.GetValidCol() == 30);
    both.RowMaskInternal = 7;
    both.ColMaskInternal = 8;
    CHECK(both.GetValidRow() == 7 && both.GetValidCol() == 8);
    both.SetValidShape(9, 10);
    CHECK(both.RowMaskInternal == 9 && both.ColMaskInternal == 10);
    both.SetValidRow(1);
    both.SetValidCol(2);
    CHECK(both.GetValidRow() == 1 && both.GetValidCol() == 2);
    static_assert(std::is_same_v<Both::DType, half> && Both::Rows == 16 && Both::Cols == 32);
    static_assert(Both::Loc == TileType::Vec && Rows::ValidRow == -1 && Rows::ValidCol == 30);
    static_assert(Both::BFractal == BLayout::RowMajor && Fixed::ValidRow == 15);
    static_assert(TileLeft<half, 16, 16>::Loc == TileType::Left);
    static_assert(TileRight<half, 16, 16>::Loc == TileType::Right);
    static_assert(TileAcc<float, 16, 16>::Loc == TileType::Acc);
}

// A tensor and its tile in the layouts ND, DN and NZ; a tile in columns; strides of both ways.
__global__ AICORE void LayoutKernel(__gm__ half *nd, __gm__ half *dn, __gm__ half *nz,
                                    __gm__ half *back)
{
    constexpr int rows = 32, columns = 48;
    using Tensor = GlobalTensor<half, TileShape2D<half, rows, columns>,
                                BaseShape2D<half, rows, columns>, Layout::ND>;
    using TensorDN = GlobalTensor<half, TileShape2D<half, rows, columns, Layout::DN>,
                                  BaseShape2D<half, rows, columns, Layout::DN>, Layout::DN>;
    using TensorNZ = GlobalTensor<half, TileShape2D<half, rows, columns, Layout::NZ>,
                                  BaseShape2D<half, rows, columns, Layout::NZ>, Layout::NZ>;
    Tensor fromND(nd), toND(back);
    TensorDN fromDN(dn), toDN(back + rows * columns);
    TensorNZ fromNZ(nz), toNZ(back + 2 * rows * columns);
    Tile<TileType::Vec, half, rows, columns> a, c;
    Tile<TileType::Vec, half, rows, columns, BLayout::ColMajor> b;
    Tile<TileType::Mat, half, rows, columns, BLayout::ColMajor, rows, columns, SLayout::RowMajor> z;
    TLOAD(a, fromND);
    TLOAD(b, fromDN);
    TLOAD(z, fromNZ);
    TLOAD(c, fromNZ);
    for (int row = 0; row < rows; row++) {
        for (int column = 0; column < columns; column++) {
            float wanted = float(row * 64 + column);
            CHECK(float(a.GetValue(row, column)) == wanted);
            CHECK(float(b.GetValue(row, column)) == wanted);
            CHECK(float(c.GetValue(row, column)) == wanted);
        }
    }
    TSTORE(toND, b);
    TSTORE(toDN, a);
    TSTORE(toNZ, z);
}

void Layouts()
{
    constexpr int count = 32 * 48;
    Device<half> nd(count), dn(count), nz(count), back(3 * count);
    for (int at = 0; at < count; at++) {
        int row = at / 48, column = at % 48;
        half value = half(row * 64 + column);
        nd[at] = value;
        dn[column * 32 + row] = value;
        nz[column / 16 * 32 * 16 + row * 16 + column % 16] = value;
    }
    LayoutKernel<<<1, nullptr, job.stream>>>(nd.data(), dn.data(), nz.data(), back.data());
    Sync();
    CHECK(memcmp(back.data(), nd.data(), count * 2) == 0);
    CHECK(memcmp(back.data() + count, dn.data(), count * 2) == 0);
    CHECK(memcmp(back.data() + 2 * count, nz.data(), count * 2) == 0);
}

// Parts of matrices: the valid part alone; adding stores, by both names, and the argument order.
__global__ AICORE void StoreKernel(__gm__ float *src, __gm__ float *dst)
{
    using Part = GlobalTensor<float, Shape<1, 1, 1, D, D>, Stride<D, D, D, D, D>>;
    using TileData = Tile<TileType::Vec, float, 8, 16, BLayout::RowMajor, -1, -1>;
    Part from(src, Shape<1, 1, 1, D, D>(3, 5), Stride<D, D, D, D, D>(1, 1, 1, 20, 3));
    Part to(dst, Shape<1, 1, 1, D, D>(3, 5), Stride<D, D, D, D, D>(1, 1, 1, 11, 2));
    TileData tile(3, 5);
    TLOAD(tile, from);
    CHECK(tile.GetValue(2, 4) == 52 && tile.data()[2 * 16 + 4] == 52 &&
          tile.GetValue(16 + 1) == 23);
    TSTORE(to, tile);
    TSTORE<TileData, Part>(to, tile);
    TSTORE<TileData, Part, AtomicType::AtomicNone>(to, tile);
    TSTORE<TileData, Part, AtomicType::AtomicAdd>(to, tile);
    TSTORE_IMPL<TileData, Part, AtomicType::AtomicAdd>(to, tile);
    pto::TSTORE_IMPL<TileData, Part, AtomicType::AtomicAdd>(to, tile);
    TSTORE_IMPL<TileData, Part, AtomicType::AtomicNone>(from, tile);
    TSTORE_IMPL(from, tile);
}

void Stores()
{
    Device<float> src(60), dst(40, -1);
    for (int i = 0; i < 60; i++) {
        src[i] = float(i);
    }
    StoreKernel<<<1, nullptr, job.stream>>>(src.data(), dst.data());
    Sync();
    ExpectAll("dst", dst.data(), 40, [](int64_t i) {
        bool stored = i % 11 % 2 == 0 && i % 11 < 10 && i < 33;
        return stored ? 4 * (i / 11 * 20 + i % 11 / 2 * 3) : -1;
    });
    ExpectAll("src", src.data(), 60, [](int64_t i) { return i; });
}

// dst = src0 op src1, of the valid part; the others keep what they had.
template <typename T> __global__ AICORE void ArithmeticKernel()
{
    using TileData = Tile<TileType::Vec, T, 2, 32, BLayout::RowMajor, -1, -1>;
    using Whole = Tile<TileType::Vec, T, 2, 32>;
    TileData a(2, 5), b(2, 5), c(2, 5);
    auto expect = [&](int line, float base, float step, float other) {
        Whole seen;
        TASSIGN(seen, c.data());
        for (int i = 0; i < 64; i++) {
            float wanted = i % 32 < 5 ? base + step * float(i % 32) : other;
            if (float(seen.GetValue(i)) != wanted) {
                Fail("line %d: element %d is %g, not %g", line, i, double(seen.GetValue(i)),
                     double(wanted));
            }
        }
    };
    Whole rest;
    TASSIGN(rest, c.data());
    TEXPANDS(rest, T(50));
    for (int i = 0; i < 64; i++) {
        a.SetValue(i, T(10 + i % 32));
        b.SetValue(i, T(12));
    }
    static_assert(std::is_same_v<decltype(TADD(c, a, b)), RecordEvent>);
    TADD(c, a, b);
    expect(__LINE__, 22, 1, 50);
    TADDS(c, a, T(3));
    expect(__LINE__, 13, 1, 50);
    TADDS(c, c, T(3));
    expect(__LINE__, 16, 1, 50);
    TMAX(c, a, b);
    CHECK(c.GetValue(0) == T(12) && c.GetValue(2) == T(12) && c.GetValue(4) == T(14));
    TMIN(c, a, b);
    CHECK(c.GetValue(0) == T(10) && c.GetValue(2) == T(12) && c.GetValue(4) == T(12));
    TSUB(c, a, b);
    CHECK(c.GetValue(1) == T(-1) && c.GetValue(4) == T(2));
    TMUL(c, a, b);
    CHECK(c.GetValue(1) == T(132));
    TEXPANDS(c, T(6));
    expect(__LINE__, 6, 0, 50);
    LateEvent late{[&] { a.SetValue(0, T(float(a.GetValue(0)) + 1)); }};
    TADD(c, a, b, late);
    CHECK(c.GetValue(0) == T(23));
    TADDS(c, a, T(0), late, late);
    CHECK(c.GetValue(0) == T(13));
    TMAX(c, a, b, late);
    CHECK(c.GetValue(0) == T(14));
    TMIN(c, a, a, late);
    CHECK(c.GetValue(0) == T(15) && late.waits == 5);
    LateEvent other{[&] { TEXPANDS(c, T(9)); }};
    TEXPANDS(c, T(8), other);
    expect(__LINE__, 8, 0, 50);
    T memory[32] = {};
    DENSE(T, 1, 1, 1, 1, 32) global(memory);
    Tile<TileType::Vec, T, 1, 32> row;
    LateEvent before{[&] { memory[3] = T(float(memory[3]) + 1); }};
    TLOAD(row, global, before, before);
    CHECK(row.GetValue(3) == T(2));
    TSTORE(global, row, before);
    CHECK(memory[3] == T(2) && before.waits == 3);
}

template <typename T> void Arithmetic()
{
    ArithmeticKernel<T><<<1, nullptr, job.stream>>>();
    Sync();
}

// What kernels of experts use: conversions in all roundings, functions, columns, other shapes.
__global__ AICORE void ExpertKernel()
{
    using Row = Tile<TileType::Vec, float, 4, 8>;
    using Ints = Tile<TileType::Vec, int32_t, 4, 8>;
    Row a, b, sums, other;
    Ints ints;
    Tile<TileType::Vec, float, 2, 16> wide;
    static const struct {
        RoundMode mode;
        int32_t below, above; // of -1.5 and of 1.5
    } rounded[] = {
        {RoundMode::CAST_NONE, -2, 2},  {RoundMode::CAST_RINT, -2, 2},
        {RoundMode::CAST_ROUND, -2, 2}, {RoundMode::CAST_FLOOR, -2, 1},
        {RoundMode::CAST_CEIL, -1, 2},  {RoundMode::CAST_TRUNC, -1, 1},
        {RoundMode::CAST_ODD, -1, 1},
    };
    for (const auto &one : rounded) {
        TEXPANDS(a, 1.5f);
        TCVT(ints, a, one.mode);
        CHECK(ints.GetValue(0, 0) == one.above && ints.GetValue(3, 7) == one.above);
        TNEG(b, a);
        TCVT(ints, b, one.mode);
        CHECK(ints.GetValue(0, 0) == one.below && ints.GetValue(3, 7) == one.below);
    }
    TEXPANDS(a, 2.5f);
    TCVT(ints, a, RoundMode::CAST_ROUND);
    CHECK(ints.GetValue(1, 1) == 3);
    TCI<Row, float, 0>(a, 1.0f);
    TCI<Ints, int32_t, 1>(ints, 10);
    CHECK(a.GetValue(3, 7) == 32 && ints.GetValue(3, 7) == 10 - 31);
    TRECIP(b, a);
    CHECK(b.GetValue(0, 3) == 0.25f);
    TSQRT(b, a);
    TRSQRT(sums, a);
    CHECK(b.GetValue(1, 7) == 4 && sums.GetValue(1, 7) == 0.25f);
    TNEG(b, a);
    TABS(sums, b);
    TRELU(other, b);
    CHECK(b.GetValue(0, 1) == -2 && sums.GetValue(0, 1) == 2 && other.GetValue(0, 1) == 0);
    TEXPANDS(other, 1.0f);
    TLOG(other, other);
    CHECK(other.GetValue(2, 2) == 0);
    TCOLSUM(sums, a);
    CHECK(sums.GetValue(0, 0) == 1 + 9 + 17 + 25);
    TCOLSUM(sums, a, other, true);
    CHECK(sums.GetValue(0, 7) == 8 + 16 + 24 + 32);
    TCOLMAX(sums, a);
    CHECK(sums.GetValue(0, 0) == 25);
    TCOLMIN(sums, a);
    CHECK(sums.GetValue(0, 3) == 4);
    TCOLEXPANDMUL(b, a, sums);
    CHECK(b.GetValue(3, 1) == 26 * 2);
    TROWEXPAND(b, a);
    CHECK(b.GetValue(2, 5) == 17);
    TCOLEXPAND(b, a);
    CHECK(b.GetValue(2, 5) == 6);
    TRESHAPE(wide, a);
    CHECK(wide.GetValue(1, 0) == 17);
}

// What larger kernels use beyond that: between types, scaled sums, and along rows.
__global__ AICORE void MoreKernel()
{
    Tile<TileType::Vec, float, 2, 16, BLayout::RowMajor, 2, 4> a, sum;
    Tile<TileType::Vec, half, 2, 16, BLayout::RowMajor, 2, 4> b;
    Tile<TileType::Vec, int32_t, 2, 16, BLayout::RowMajor, 2, 4> c;
    Tile<TileType::Vec, float, 2, 8, BLayout::RowMajor, 2, 1> column, unused;
    for (int i = 0; i < 8; i++) {
        a.SetValue(i / 4, i % 4, float(i * i) - 2.5f);
    }
    TEXPANDS(sum, 100.0f);
    TCVT(b, a, RoundMode::CAST_RINT);
    TCVT(c, a, RoundMode::CAST_NONE);
    TAXPY(sum, b, half(2));
    for (int i = 0; i < 8; i++) {
        CHECK(float(b.GetValue(i / 4, i % 4)) == float(i * i) - 2.5f);
        CHECK(sum.GetValue(i / 4, i % 4) == 100 + 2 * (float(i * i) - 2.5f));
        CHECK(c.GetValue(i / 4, i % 4) == i * i - (i % 2 == 0 ? 2 : 3)); // the even one
    }
    TROWSUM(column, a, unused);
    CHECK(column.GetValue(0, 0) == 4 && column.GetValue(1, 0) == 116);
    TROWMAX(column, a, unused);
    CHECK(column.GetValue(0, 0) == 6.5f && column.GetValue(1, 0) == 46.5f);
    TROWMIN(column, a, unused);
    CHECK(column.GetValue(0, 0) == -2.5f && column.GetValue(1, 0) == 13.5f);
    TMOV(sum, a);
    TDIV(sum, sum, a);
    CHECK(sum.GetValue(0, 3) == 1 && sum.GetValue(1, 3) == 1);
    TROWEXPANDSUB(sum, a, column); // the least of each row
    CHECK(sum.GetValue(0, 3) == 9 && sum.GetValue(1, 0) == 0);
    TROWEXPANDADD(sum, sum, column);
    CHECK(sum.GetValue(0, 3) == 6.5f && sum.GetValue(1, 1) == 22.5f);
    TROWEXPANDMUL(sum, a, column);
    CHECK(sum.GetValue(0, 1) == 3.75f && sum.GetValue(1, 0) == 182.25f);
    TROWEXPANDDIV(sum, sum, column);
    CHECK(sum.GetValue(0, 1) == -1.5f && sum.GetValue(1, 0) == 13.5f);
    TROWEXPANDMAX(sum, a, column);
    CHECK(sum.GetValue(0, 3) == 6.5f && sum.GetValue(1, 0) == 13.5f);
    TROWEXPANDMIN(sum, a, column);
    CHECK(sum.GetValue(0, 3) == -2.5f && sum.GetValue(1, 3) == 13.5f);
    TEXP(sum, a);
    CHECK(sum.GetValue(0, 0) == 0.082085f && sum.GetValue(0, 1) == 0.22313017f);
    CHECK(a.GetValue(0, 0) == -2.5f);
}

void More()
{
    MoreKernel<<<1, nullptr, job.stream>>>();
    Sync();
    ExpertKernel<<<1, nullptr, job.stream>>>();
    Sync();
}

// Rounded to nearest, ties to even; the greatest and the least; what is no number.
void Halves()
{
    static_assert(sizeof(half) == 2 && sizeof(bfloat16_t) == 2);
    static_assert(std::is_trivially_copyable_v<half>);
    CHECK(float(half(2049)) == 2048 && float(half(2051)) == 2052 && float(half(65504)) == 65504);
    CHECK(float(half(65520.0f)) == HUGE_VALF && float(half(0x1p-24f)) == 0x1p-24f);
    CHECK(float(half(0x1p-25f)) == 0 && float(bfloat16_t(257)) == 256 &&
          float(half(-1.5)) == -1.5f);
    CHECK(float(bfloat16_t(259)) == 260 && half(float(bfloat16_t(3))) == half(3));
    half sum = 1;
    sum += 0x1p-11f; // a tie, to even
    CHECK(float(sum) == 1.0f && float(half(1) + half(2)) == 3 && half(1) < half(2));
    half nothing = half(float(half(65504)) * 2 - float(half(65504)) * 2);
    CHECK(float(nothing) == 0);
}

static const Case cases[] = {
    {"numbers of shapes and strides", 0, Numbers},
    {"tensors", 0, Tensors},
    {"tiles in memory", 0, TilesInMemory},
    {"numbers of tiles", 0, TileNumbers},
    {"layouts", 0, Layouts},
    {"stores", 0, Stores},
    {"arithmetic, float", 0, Arithmetic<float>},
    {"arithmetic, int32", 0, Arithmetic<int32_t>},
    {"arithmetic, int16", 0, Arithmetic<int16_t>},
    {"arithmetic, half", 0, Arithmetic<half>},
    {"arithmetic, bfloat16", 0, Arithmetic<bfloat16_t>},
    {"more arithmetic", 0, More},
    {"halves", 0, Halves},
};

int main(int argc, char **argv)
{
    return RUN_CASES("types_and_tiles", cases, argc, argv);
}
