// SPDX-License-Identifier: Apache-2.0
// Matrices: from L1 to L0 by TEXTRACT and TMOV, TMATMUL, TMATMUL_ACC in both forms, and TSTORE of
// an accumulator of float to float, half and bfloat16_t. The numbers are small, so sums are exact.

#include "pto/pto-inst.hpp"

#include "common.hpp"

using namespace pto;

constexpr int M = 32, K = 64, N = 48, STEP = 16;

float LeftAt(int row, int column)
{
    return float((row * 3 + column * 5) % 7 - 3);
}

float RightAt(int row, int column)
{
    return float((row * 2 + column * 11) % 5 - 2);
}

float ProductAt(int row, int column, int from, int to)
{
    float sum = 0;
    for (int k = from; k < to; k++) {
        sum += LeftAt(row, k) * RightAt(k, column);
    }
    return sum;
}

template <typename T, int ROWS, int COLUMNS>
using Matrix = GlobalTensor<T, Shape<1, 1, 1, ROWS, COLUMNS>,
                            Stride<ROWS * COLUMNS, ROWS * COLUMNS, ROWS * COLUMNS, COLUMNS, 1>>;

template <typename T> struct Stored {
    float f32[3][M * N];
    half f16[M * N];
    bfloat16_t bf16[M * N];
};

template <typename T>
__global__ AICORE void MatmulKernel(__gm__ Stored<T> *out, __gm__ T *left, __gm__ T *right)
{
    Tile<TileType::Mat, T, M, K, BLayout::ColMajor, M, K, SLayout::RowMajor, 512> leftL1;
    Tile<TileType::Mat, T, K, N, BLayout::ColMajor, K, N, SLayout::RowMajor, 512> rightL1;
    TileLeft<T, M, STEP> leftL0;
    TileRight<T, STEP, N> rightL0;
    TileAcc<float, M, N> sum, other;
    TASSIGN(leftL1, 0x0);
    TASSIGN(rightL1, 0x20000);
    TASSIGN(leftL0, 0x0);
    TASSIGN(rightL0, 0x0);
    TASSIGN(sum, 0x0);
    TASSIGN(other, 0x10000);
    Matrix<T, M, K> leftG(left);
    Matrix<T, K, N> rightG(right);
    TLOAD(leftL1, leftG);
    TLOAD(rightL1, rightG);
    for (int k = 0; k < K; k += STEP) {
        TEXTRACT(leftL0, leftL1, 0, k);
        TEXTRACT(rightL0, rightL1, k, 0);
        set_flag(PIPE_MTE1, PIPE_M, EVENT_ID0);
        wait_flag(PIPE_MTE1, PIPE_M, EVENT_ID0);
        if (k == 0) {
            TMATMUL(sum, leftL0, rightL0);
        } else if (k == STEP) {
            TMATMUL_ACC(sum, sum, leftL0, rightL0);
        } else if (k == 2 * STEP) {
            RecordEvent before;
            TMATMUL_ACC(sum, leftL0, rightL0, before);
        } else {
            TMATMUL_ACC(other, sum, leftL0, rightL0);
        }
    }
    pipe_barrier(PIPE_ALL);
    Matrix<float, M, N> g0(out->f32[0]), g1(out->f32[1]), g2(out->f32[2]);
    Matrix<half, M, N> g3(out->f16);
    Matrix<bfloat16_t, M, N> g4(out->bf16);
    TSTORE(g0, other);
    TSTORE(g1, sum); // without the last step
    pipe_barrier(PIPE_ALL);
    TMATMUL(sum, leftL0, rightL0);
    TSTORE(g2, sum); // the last step alone
    TSTORE(g3, other);
    TSTORE(g4, other);
    TSTORE<decltype(other), decltype(g3), AtomicType::AtomicAdd>(g3, other);
}

template <typename T> void Matmul()
{
    Device<T> left(M * K), right(K * N);
    std::vector<Stored<T>> stored(1);
    for (int i = 0; i < M * K; i++) {
        left[i] = T(LeftAt(i / K, i % K));
    }
    for (int i = 0; i < K * N; i++) {
        right[i] = T(RightAt(i / N, i % N));
    }
    MatmulKernel<T><<<1, nullptr, job.stream>>>(stored.data(), left.data(), right.data());
    Sync();
    const Stored<T> &out = stored[0];
    auto product = [](int from, int to) {
        return [=](int64_t i) { return ProductAt(int(i / N), int(i % N), from, to); };
    };
    ExpectAll("all steps", out.f32[0], M * N, product(0, K));
    ExpectAll("but the last", out.f32[1], M * N, product(0, K - STEP));
    ExpectAll("the last", out.f32[2], M * N, product(K - STEP, K));
    ExpectAll("half", out.f16, M * N, [&](int64_t i) { return 2 * product(0, K)(i); });
    ExpectAll("bfloat16", out.bf16, M * N, product(0, K));
}

// A float that half has not: rounded to nearest, ties to even, in parts of a matrix.
__global__ AICORE void RoundKernel(__gm__ half *out)
{
    Tile<TileType::Acc, float, 16, 16, BLayout::ColMajor, -1, -1, SLayout::RowMajor, 1024> acc(2,
                                                                                               3);
    GlobalTensor<half, Shape<1, 1, 1, 2, 3>, Stride<1, 1, 1, 20, 2>> g(out);
    const float values[] = {2049, 2051, 2050.5f, -2049, 70000, 0.1f};
    for (int i = 0; i < 6; i++) {
        acc.SetValue(i / 3, i % 3, values[i]);
    }
    CHECK(acc.GetValue(1, 0) == -2049);
    TSTORE(g, acc);
}

void Rounds()
{
    Device<half> out(40, half(-1));
    RoundKernel<<<1, nullptr, job.stream>>>(out.data());
    Sync();
    static const half wanted[] = {half(2048),  half(2052), half(2050),
                                  half(-2048), half(1e9f), half(0.1f)};
    ExpectAll("out", out.data(), 40, [](int64_t i) {
        bool stored = i % 20 < 6 && i % 2 == 0;
        return stored ? wanted[i / 20 * 3 + i % 20 / 2] : half(-1);
    });
}

// A row with a matrix, a bias, and phases.
template <typename T> __global__ AICORE void RowKernel()
{
    using Sum = std::conditional_t<std::is_same_v<T, int8_t>, int32_t, float>;
    TileLeft<T, 16, 32, 1, 32> row;
    TileLeft<T, 16, 32> left;
    TileRight<T, 32, 16> right;
    TileAcc<Sum, 16, 16, 1, 16> sum, before;
    TileAcc<Sum, 16, 16> all;
    Tile<TileType::Bias, Sum, 1, 16> bias;
    for (int i = 0; i < 32 * 16; i++) {
        row.SetValue(i, T(i % 5));
        left.SetValue(i, T(i % 5));
        right.SetValue(i, T(i % 7 - 3));
    }
    auto product = [](int i, int j) {
        int wanted = 0;
        for (int k = 0; k < 32; k++) {
            wanted += (i * 32 + k) % 5 * ((k * 16 + j) % 7 - 3);
        }
        return wanted;
    };
    for (int j = 0; j < 16; j++) {
        bias.SetValue(j, Sum(100 * j));
        before.SetValue(0, j, Sum(1000));
    }
    auto expect = [&](auto &tile, int i, int line, int base, int step) {
        for (int j = 0; j < 16; j++) {
            if (tile.GetValue(i, j) != Sum(product(i, j) + base + step * j)) {
                Fail("line %d: (%d, %d) is %g", line, i, j, double(tile.GetValue(i, j)));
            }
        }
    };
    RecordEvent late;
    TGEMV(sum, row, right);
    expect(sum, 0, __LINE__, 0, 0);
    TGEMV_ACC(sum, before, row, right, late);
    expect(sum, 0, __LINE__, 1000, 0);
    TGEMV_BIAS(sum, row, right, bias);
    expect(sum, 0, __LINE__, 0, 100);
    TMATMUL_BIAS(all, left, right, bias, late);
    expect(all, 15, __LINE__, 0, 100);
    TMATMUL_BIAS<AccPhase::Partial>(all, left, right, bias);
    expect(all, 7, __LINE__, 0, 100);
    TMATMUL<AccPhase::Partial>(all, left, right);
    expect(all, 9, __LINE__, 0, 0);
    TMATMUL_BIAS(all, left, right, bias);
    TMATMUL<AccPhase::Final>(all, left, right, late);
    TMATMUL_ACC<AccPhase::Final>(sum, before, row, right);
    expect(all, 3, __LINE__, 0, 0);
    expect(sum, 0, __LINE__, 1000, 0);
}

void Rows()
{
    RowKernel<half><<<1, nullptr, job.stream>>>();
    RowKernel<float><<<1, nullptr, job.stream>>>();
    RowKernel<int8_t><<<1, nullptr, job.stream>>>();
    Sync();
}

static const Case cases[] = {
    {"products of half", 0, Matmul<half>},   {"products of bfloat16", 0, Matmul<bfloat16_t>},
    {"products of float", 0, Matmul<float>}, {"rounds what it stores", 0, Rounds},
    {"rows, a bias, phases", 0, Rows},
};

int main(int argc, char **argv)
{
    return RUN_CASES("cube", cases, argc, argv);
}
