// SPDX-License-Identifier: Apache-2.0
// Launches, as sources write them: where they may stand, what is no launch, how arguments are
// handed over, streams beside each other, blocks that meet, and kernels that fail.

#include "pto/comm/pto_comm_inst.hpp"
#include "pto/pto-inst.hpp"

#include <array>
#include <sstream>
#include <stdexcept>
#include <string>

#include "common.hpp"

using namespace pto;

__global__ AICORE void AddKernel(__gm__ int32_t *sum, int32_t value)
{
    __atomic_fetch_add(sum, value, __ATOMIC_RELAXED);
}

template <typename T, int N, T... more> __global__ AICORE void ManyKernel(__gm__ T *sum)
{
    __atomic_fetch_add(sum, T(N) + (T(0) + ... + more), __ATOMIC_RELAXED);
}

template <typename A> __global__ AICORE void SizeKernel(__gm__ int32_t *sum)
{
    __atomic_fetch_add(sum, int32_t(sizeof(A)), __ATOMIC_RELAXED);
}

namespace inner
{
__global__ AICORE void DeepKernel(__gm__ int32_t *sum)
{
    __atomic_fetch_add(sum, 5, __ATOMIC_RELAXED);
}
template <int N> struct Kernels {
    static __global__ AICORE void Member(__gm__ int32_t *sum)
    {
        __atomic_fetch_add(sum, N, __ATOMIC_RELAXED);
    }
};
} // namespace inner

extern "C" __global__ AICORE void PlainKernel(__gm__ uint8_t *sum)
{
    __atomic_fetch_add(reinterpret_cast<int32_t *>(sum), 9, __ATOMIC_RELAXED);
}

#define LAUNCH(sum, value) AddKernel<<<1, nullptr, job.stream>>>(sum, value)
#define LAUNCH_ANY(kernel, blocks, ...) kernel<<<blocks, nullptr, job.stream>>>(__VA_ARGS__)

template <typename T, int N> void LaunchMany(T *sum, void *stream)
{
    ManyKernel<T, N><<<1, nullptr, stream>>>(sum);
    ManyKernel<T, N, 1, 2><<<1, nullptr, stream>>>(sum);
    inner::Kernels<N>::Member<<<1, nullptr, stream>>>(sum);
}

// clang-format off
void Places()
{
    Device<int32_t> device(1);
    int32_t *sum = device.data();
    auto expect = [&](int line, int wanted) {
        Sync();
        if (*sum != wanted) {
            Fail("line %d: the sum is %d, not %d", line, *sum, wanted);
        }
        *sum = 0;
    };
    void *s = job.stream;
    if (job.n > 0) AddKernel<<<1, nullptr, s>>>(sum, 1); else AddKernel<<<1, nullptr, s>>>(sum, 2);
    if (job.n == 0)
        AddKernel<<<1, nullptr, job.stream>>>(sum, 1);
    else
        AddKernel<<<1, nullptr, job.stream>>>(sum, 2);
    expect(__LINE__, 3);
    AddKernel<<<1, nullptr, s>>>(sum, 1); AddKernel<<<2, nullptr, s>>>(sum, 10); LAUNCH(sum, 100);
    for (int i = 0; i < 3; i++) AddKernel<<<1, nullptr, job.stream>>>(sum, 1000);
    expect(__LINE__, 3121);
    LAUNCH(sum, 1), LAUNCH(sum, 2);
    LAUNCH_ANY(AddKernel, 3, sum, (1 << 3) >> 1);
    LAUNCH_ANY((ManyKernel<int32_t, 7, 3>), 1, sum);
    expect(__LINE__, 25);
    LaunchMany<int32_t, 4>(sum, job.stream);
    expect(__LINE__, 4 + 7 + 4);
    ManyKernel<int32_t, (16 >> 2)><<<1, nullptr, job.stream>>>(sum);
    ManyKernel<int32_t, (3 > 2 ? 5 : 6)> <<<1, nullptr, job.stream>>> (sum);
    SizeKernel<std::array<std::array<int32_t, 2>, 3>><<<1, nullptr, job.stream>>>(sum);
    SizeKernel<std::array<char, 1>><<<1, nullptr, job.stream>>>(sum);
    expect(__LINE__, 4 + 5 + 24 + 1);
    inner::DeepKernel<<<1, nullptr, s>>>(sum); ::inner::DeepKernel<<<1, nullptr, s>>>(sum);
    inner::Kernels<6>::Member<<<1, nullptr, job.stream>>>(sum);
    PlainKernel<<<1, nullptr, job.stream>>>(reinterpret_cast<uint8_t *>(sum));
    expect(__LINE__, 25);
    (void)AddKernel<<<1, nullptr, s>>>(sum, 3);
    if (job.n > 0) ( void ) inner::DeepKernel<<<1, nullptr, s>>>(sum);
    (void)
        ManyKernel<int32_t, 20><<<1, nullptr, job.stream>>>(sum);
    expect(__LINE__, 3 + 5 + 20);
    int blocks = 2;
    AddKernel<<<blocks > 1 ? (blocks << 1) : 1, nullptr, job.stream>>>(sum, 1);
    AddKernel<<<(blocks * 8) >> 3, nullptr, job.stream>>>(sum, 10);
    AddKernel<<<std::max(1, 1'000 / 500), nullptr, (s)>>>(sum, [](int a) { return a << 1; }(50));
    AddKernel<<<1, nullptr, [] { return job.stream; }()>>>
        (sum, 1000);
    AddKernel<<<
        1,
        nullptr,
        job.stream
    >>>(sum, 2000);
    expect(__LINE__, 4 + 20 + 200 + 3000);
    auto in_lambda = [&](int32_t value) { AddKernel<<<1, nullptr, job.stream>>>(sum, value); };
    in_lambda(8);
    void (*pointer)(int32_t *, int32_t) = AddKernel;
    pointer<<<1, nullptr, job.stream>>>(sum, 16);
    expect(__LINE__, 24);
}

// What looks like a launch, and is none. AddKernel<<<1, nullptr, job.stream>>>(sum, 1);
void NoLaunches()
{
    std::string text = "K<<<1, nullptr, s>>>(x)";
    std::string raw = R"-(K<<<1, nullptr, s>>>("x")";)-";
    std::ostringstream stream;
    stream << text.size() << ',' << '"' << (1 << 4 << 1) << (1'024 >> 2) << "<<<" << '<';
    CHECK(text.size() == 23 && raw.size() == 27 && stream.str() == "23,\"32256<<<<");
    /* AddKernel<<<1, nullptr, job.stream>>>(nullptr, 1); */
}
// clang-format on

struct Package {
    int64_t a;
    float b;
    char text[5000];
};

__global__ AICORE void ArgumentsKernel(__gm__ int64_t *out, int64_t a, const Package package,
                                       uint8_t small, float real, __gm__ void *any,
                                       const int32_t &reference, bool flag)
{
    out[get_block_idx()] = a + package.a + int64_t(package.b) + package.text[4999] + small +
                           int64_t(real * 2) + (any == out) + reference + flag;
}

// Arguments are converted to the parameters, and copied when the kernel is launched.
void Arguments()
{
    Device<int64_t> out(4);
    Package package = {1000, 20.0f, {}};
    package.text[4999] = 3;
    int32_t reference = 7;
    int small = 256 + 5; // as C++ converts
    ArgumentsKernel<<<4, nullptr, job.stream>>>(out.data(), 100000, package, small, 1.5, out.data(),
                                                reference, true);
    package.a = reference = small = 0;
    Sync();
    ExpectAll("out", out.data(), 4,
              [](int64_t) { return 100000 + 1000 + 20 + 3 + 5 + 3 + 1 + 7 + 1; });
}

__global__ AICORE void BlocksKernel(__gm__ int32_t *out)
{
    int64_t index = get_block_idx();
    CHECK(block_idx == index && get_block_num() == 7 && get_subblockid() == 0 &&
          get_subblockdim() == 1);
    Tile<TileType::Vec, int32_t, 1, 64> mine; // each block has memory of its own
    TASSIGN(mine, 0x40);
    TEXPANDS(mine, int32_t(index));
    SYNCALL<SyncCoreType::AIVOnly>();
    CHECK(mine.GetValue(63) == index);
    out[index] = int32_t(index);
    set_flag(PIPE_MTE3, PIPE_MTE2, EVENT_ID0);
    wait_flag(PIPE_MTE3, PIPE_MTE2, EVENT_ID0);
    SYNCALL<SyncCoreType::AIVOnly>();
    for (int32_t i = 0; i < 7; i++) {
        CHECK(out[i] == i);
    }
}

// The soft form counts in memory: it counts on from launch to launch, and never goes back.
__global__ AICORE void SoftKernel(__gm__ int32_t *workspace, __gm__ int32_t *out, int32_t used)
{
    GlobalTensor<int32_t, Shape<1, 1, 1, 1, 16>, Stride<16, 16, 16, 16, 1>> ws(workspace);
    int64_t index = get_block_idx();
    for (int32_t round = 1; round <= 50 && (used == 0 || index < used); round++) {
        out[index] = round;
        SYNCALL<SyncAllMode::Soft, SyncCoreType::AIVOnly>(ws, used);
        for (int32_t i = 0; i < (used == 0 ? 5 : used); i++) {
            CHECK(out[i] == round);
        }
        SYNCALL<SyncAllMode::Soft, SyncCoreType::AIVOnly>(ws, used);
    }
}

void BlocksMeet()
{
    Device<int32_t> out(8, -1), workspace(16);
    BlocksKernel<<<7, nullptr, job.stream>>>(out.data());
    SoftKernel<<<5, nullptr, job.stream>>>(workspace.data(), out.data(), 0);
    Sync();
    EXPECT(workspace[0], 5 * 100);
    SoftKernel<<<5, nullptr, job.stream>>>(workspace.data(), out.data(), 0);
    Sync();
    EXPECT(workspace[0], 5 * 200);
    Device<int32_t> some(16);
    SoftKernel<<<5, nullptr, job.stream>>>(some.data(), out.data(), 3);
    Sync();
    EXPECT(some[0], 3 * 100);
}

__global__ AICORE void AnswerKernel(__gm__ int32_t *asks, __gm__ int32_t *answers, bool first)
{
    comm::Signal mine(first ? answers : asks), theirs(first ? asks : answers);
    for (int32_t round = 1; round <= 20; round++) {
        if (!first) {
            comm::TWAIT(mine, round, comm::WaitCmp::GE);
        }
        comm::TNOTIFY(theirs, 1, comm::NotifyOp::AtomicAdd);
        if (first) {
            comm::TWAIT(mine, round, comm::WaitCmp::GE);
        }
    }
}

// Streams run beside each other, each in its order; nullptr is in order with the caller.
void Streams()
{
    aclrtStream other = nullptr;
    aclrtEvent event = nullptr;
    CHECK(aclrtCreateStream(&other) == ACL_SUCCESS && aclrtCreateEvent(&event) == ACL_SUCCESS);
    int32_t *words = Window<int32_t>();
    AnswerKernel<<<1, nullptr, job.stream>>>(words, words + 16, true);
    AnswerKernel<<<1, nullptr, other>>>(words, words + 16, false);
    AddKernel<<<1, nullptr, other>>>(words + 32, 1);
    CHECK(aclrtSynchronizeStream(other) == ACL_SUCCESS);
    Sync();
    CHECK(words[0] == 20 && words[16] == 20 && words[32] == 1);
    AddKernel<<<1, nullptr, nullptr>>>(words + 32, 1);
    CHECK(words[32] == 2);
    Device<int32_t> copy(1);
    for (int i = 0; i < 100; i++) {
        AddKernel<<<2, nullptr, job.stream>>>(words + 32, 1);
        CHECK(aclrtRecordEvent(event, job.stream) == ACL_SUCCESS);
        CHECK(aclrtStreamWaitEvent(other, event) == ACL_SUCCESS);
        CHECK(aclrtMemcpyAsync(copy.data(), 4, words + 32, 4, ACL_MEMCPY_DEVICE_TO_HOST, other) ==
              ACL_SUCCESS);
        CHECK(aclrtSynchronizeStream(other) == ACL_SUCCESS);
        EXPECT(copy[0], 4 + 2 * i);
    }
    // The default stream has events, too: they are in order with the caller.
    AddKernel<<<1, nullptr, other>>>(words + 32, 1);
    CHECK(aclrtRecordEvent(event, other) == ACL_SUCCESS);
    CHECK(aclrtStreamWaitEvent(nullptr, event) == ACL_SUCCESS);
    EXPECT(words[32], 203);
    CHECK(aclrtRecordEvent(event, nullptr) == ACL_SUCCESS);
    CHECK(aclrtSynchronizeEvent(event) == ACL_SUCCESS);
    CHECK(aclrtDestroyEvent(event) == ACL_SUCCESS && aclrtDestroyStream(other) == ACL_SUCCESS);
}

namespace elsewhere
{
struct alignas(64) Tiling {
    int64_t n[8];
};

// Beside the type of an argument, and fits what a launch calls better: it is not meant.
void launch(pto::tern_detail::call<Tiling, __gm__ int64_t *, const Tiling &>, const char *, int64_t,
            tern_stream *);

__global__ AICORE void TilingKernel(const Tiling tiling, __gm__ int64_t *out, const Tiling &other)
{
    bool aligned = reinterpret_cast<uintptr_t>(&other) % 64 == 0;
    out[get_block_idx()] = tiling.n[7] + other.n[0] + aligned;
}
} // namespace elsewhere

void AlignedArguments()
{
    Device<int64_t> out(2);
    elsewhere::Tiling tiling = {{1, 2, 3, 4, 5, 6, 7, 8}};
    for (int launches = 0; launches < 5; launches++) {
        elsewhere::TilingKernel<<<2, nullptr, job.stream>>>(tiling, out.data(), tiling);
        Sync();
        ExpectAll("out", out.data(), 2, [](int64_t) { return 8 + 1 + 1; });
        out.data()[0] = out.data()[1] = 0;
    }
}

__global__ AICORE void ThrowKernel(int what)
{
    what == 0 ? throw std::runtime_error("of the kernel") : throw 7;
}

// No other core works for the same block.
__global__ AICORE void LonelyKernel(bool flags)
{
    using Pipe = TPipe<0, Direction::DIR_V2C, 1024, 2>;
    using Pushed = Tile<TileType::Vec, int32_t, 8, 8>;
    Pipe pipe(nullptr, 0x0, 0x0);
    Pushed tile;
    TASSIGN(tile, 0x0);
    if (flags) {
        wait_flag_dev(3);
    }
    TPUSH<Pipe, Pushed, TileSplitAxis::TILE_NO_SPLIT>(pipe, tile);
}

// A kernel that fails is told of where its stream is waited for; then the stream works again.
void Failures()
{
    ThrowKernel<<<2, nullptr, job.stream>>>(0);
    AddKernel<<<1, nullptr, job.stream>>>(Window<int32_t>(), 1); // not run
    ExpectRefusal("the kernel threw: of the kernel");
    ThrowKernel<<<1, nullptr, job.stream>>>(1);
    ExpectRefusal("what is no std::exception");
    LonelyKernel<<<1, nullptr, job.stream>>>(false);
    ExpectRefusal("tern_fifo_push: the caller is no kernel of a mixed task");
    LonelyKernel<<<1, nullptr, job.stream>>>(true);
    ExpectRefusal("tern_cluster_wait: the caller is no kernel of a mixed task");
    EXPECT(Window<int32_t>()[0], 0);
    AddKernel<<<1, nullptr, job.stream>>>(Window<int32_t>(), 1);
    Sync();
    EXPECT(Window<int32_t>()[0], 1);
    bool thrown = false;
    try {
        AddKernel<<<0, nullptr, job.stream>>>(Window<int32_t>(), 1);
    } catch (const pto::tern_refusal &refusal) {
        thrown = strstr(refusal.what(), "<<<>>>") != nullptr;
    }
    CHECK(thrown);
    thrown = false;
    try {
        AddKernel<<<1 << 20, nullptr, job.stream>>>(Window<int32_t>(), 1);
    } catch (const pto::tern_refusal &refusal) {
        thrown = strstr(refusal.what(), "1048576 blocks") != nullptr;
    }
    CHECK(thrown);
}

static const Case cases[] = {
    {"places", 0, Places},
    {"no launches", 0, NoLaunches},
    {"arguments", 0, Arguments},
    {"blocks meet", 0, BlocksMeet},
    {"streams", 0, Streams},
    {"failures", 0, Failures},
    {"aligned arguments", 0, AlignedArguments},
};

int main(int argc, char **argv)
{
    return RUN_CASES("launch", cases, argc, argv);
}
