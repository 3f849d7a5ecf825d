// SPDX-License-Identifier: Apache-2.0
// Wrong use of AscendC::Hccl: a line with file and line, -1 where something is returned, an error
// of the stream where something was not done, and the next kernel works.

#include "kernel_operator.h"
#include "lib/hccl/hccl.h"

#include "common.hpp"

using namespace AscendC;

// Bytes of a rank: 64 int32_t in, and 64 for each rank out.
struct Memory {
    GM_ADDR in;
    GM_ADDR out;
    int32_t *told;
};

constexpr HcclDataType I32 = HCCL_DATA_TYPE_INT32;

extern "C" __global__ __aicore__ void right(Memory m)
{
    Hccl hccl;
    hccl.Init(GetHcclContext<0>());
    if (GetBlockIdx() == 0) {
        *m.told = hccl.Wait(hccl.AllGather<true>(m.in, m.out, 64, I32, 0));
    }
    SyncAll();
    hccl.Finalize();
}

extern "C" __global__ __aicore__ void before_init(Memory m)
{
    Hccl hccl;
    m.told[0] = hccl.AllGather<true>(m.in, m.out, 64, I32, 0);
    m.told[1] = hccl.Wait(0);
    m.told[2] = hccl.GetRankId() == UINT32_MAX && hccl.GetRankDim() == UINT32_MAX &&
                hccl.GetWindowsInAddr(0) == nullptr;
}

extern "C" __global__ __aicore__ void after_finalize(Memory m)
{
    Hccl hccl;
    hccl.Init(GetHcclContext<0>());
    hccl.Finalize();
    m.told[0] = hccl.AllReduce<true>(m.in, m.out, 64, I32, HCCL_REDUCE_SUM);
    hccl.Finalize();
    hccl.Init(GetHcclContext<0>());
}

extern "C" __global__ __aicore__ void second_init(Memory m)
{
    Hccl hccl;
    hccl.Init(GetHcclContext<0>());
    hccl.Init(GetHcclContext<0>());
    m.told[0] = hccl.Wait(hccl.AllGather<true>(m.in, m.out, 64, I32, 0)); // goes on as before
    hccl.Finalize();
}

extern "C" __global__ __aicore__ void two_objects(Memory m)
{
    Hccl first, second;
    first.Init(GetHcclContext<0>());
    second.Init(GetHcclContext<0>());
    m.told[0] = second.AllGather<true>(m.in, m.out, 64, I32, 0);
    m.told[1] = first.Wait(first.AllGather<true>(m.in, m.out, 64, I32, 0));
    first.Finalize();
    Hccl third;
    third.Init(GetHcclContext<0>());
    m.told[2] = third.Wait(third.AllGather<true>(m.in, m.out, 64, I32, 0));
    third.Finalize();
}

extern "C" __global__ __aicore__ void wrong_context(Memory m)
{
    Hccl hccl;
    hccl.Init(m.in);
    m.told[0] = hccl.AllGather<true>(m.in, m.out, 64, I32, 0);
}

extern "C" __global__ __aicore__ void wrong_block(Memory m)
{
    Hccl hccl;
    hccl.Init(GetHcclContext<0>());
    if (GetBlockIdx() == 1) {
        m.told[0] = hccl.AllGather<true>(m.in, m.out, 64, I32, 0);
        hccl.Commit(0);
    }
    SyncAll();
    hccl.Finalize();
}

// Every block makes all calls, again after Finalize; `told` counts the blocks that see all bytes.
extern "C" __global__ __aicore__ void all_blocks(Memory m)
{
    for (int life = 0; life < 20; life++) {
        Hccl hccl;
        hccl.Init(GetHcclContext<0>());
        int32_t *out = reinterpret_cast<int32_t *>(m.out);
        for (uint32_t i = GetBlockIdx(); i < hccl.GetRankDim() * 64; i += GetBlockNum()) {
            out[i] = -1;
        }
        SyncAll();
        HcclHandle handle = hccl.AllGather(m.in, m.out, 16, I32, 64, 4);
        bool right = handle == 0;
        for (int turn = 0; turn < 4; turn++) {
            hccl.Commit(handle);
            right = hccl.Wait(handle) == 0 && right;
        }
        for (uint32_t i = 0; i < hccl.GetRankDim() * 64; i++) {
            right = right && out[i] != -1;
        }
        SyncAll();
        hccl.Finalize();
        if (right) {
            __atomic_fetch_add(m.told, 1, __ATOMIC_RELAXED);
        }
    }
}

constexpr HcclServerConfig ON_AIC_ONLY = {CoreType::ON_AIC, 0};
constexpr HcclServerConfig ON_BLOCK_2 = {CoreType::ON_AIV, 2};

extern "C" __global__ __aicore__ void wrong_core(Memory m)
{
    Hccl<HCCL_SERVER_TYPE_AICPU, ON_AIC_ONLY> hccl;
    hccl.Init(GetHcclContext<0>());
    m.told[0] = hccl.AllGather<true>(m.in, m.out, 64, I32, 0);
    hccl.Finalize();
}

extern "C" __global__ __aicore__ void other_block(Memory m)
{
    Hccl<HCCL_SERVER_TYPE_AICPU, ON_BLOCK_2> hccl;
    hccl.Init(GetHcclContext<0>());
    if (GetBlockIdx() == 2) {
        m.told[0] = hccl.Wait(hccl.AllGather<true>(m.in, m.out, 64, I32, 0));
    }
    SyncAll();
    hccl.Finalize();
}

template <bool newest> static void Many(Memory m, int calls)
{
    Hccl hccl;
    if (newest) {
        hccl.InitV2(GetHcclContext<0>(), nullptr);
    } else {
        hccl.Init(GetHcclContext<0>());
    }
    HcclHandle handles[70];
    for (int i = 0; i < calls; i++) {
        handles[i] = hccl.AllReduce<true>(m.in, m.out, 64, I32, HCCL_REDUCE_SUM);
    }
    m.told[0] = 0;
    for (int i = 0; i < calls; i++) {
        m.told[0] += hccl.Wait(handles[i]) == 0;
    }
    m.told[1] = handles[calls - 1];
    hccl.Finalize();
}
extern "C" __global__ __aicore__ void many(Memory m, int calls)
{
    Many<false>(m, calls);
}
extern "C" __global__ __aicore__ void many_newest(Memory m, int calls)
{
    Many<true>(m, calls);
}

extern "C" __global__ __aicore__ void not_committed(Memory m)
{
    Hccl hccl;
    hccl.Init(GetHcclContext<0>());
    HcclHandle handle = hccl.AllGather(m.in, m.out, 16, I32, 64, 2);
    m.told[0] = hccl.Wait(handle);
    hccl.Commit(handle);
    m.told[1] = hccl.Wait(handle);
    m.told[2] = hccl.Wait(handle);
    hccl.Finalize();
}

extern "C" __global__ __aicore__ void never_committed(Memory m)
{
    Hccl hccl;
    hccl.Init(GetHcclContext<0>());
    m.told[0] = hccl.AllGather(m.in, m.out, 64, I32, 0);
    hccl.Finalize();
}

extern "C" __global__ __aicore__ void commit_too_many(Memory m)
{
    Hccl hccl;
    hccl.Init(GetHcclContext<0>());
    HcclHandle handle = hccl.AllGather<true>(m.in, m.out, 64, I32, 0);
    hccl.Commit(handle);
    m.told[0] = hccl.Wait(handle);
    hccl.Finalize();
}

extern "C" __global__ __aicore__ void wrong_handle(Memory m)
{
    Hccl hccl;
    hccl.Init(GetHcclContext<0>());
    m.told[0] = hccl.Wait(5);
    m.told[1] = hccl.Query(-1);
    m.told[2] = hccl.Wait(127);
    hccl.Commit(-128);
    hccl.Finalize();
}

extern "C" __global__ __aicore__ void no_finalize(Memory m)
{
    Hccl hccl;
    hccl.Init(GetHcclContext<0>());
    m.told[0] = hccl.Wait(hccl.AllGather<true>(m.in, m.out, 64, I32, 0));
}

// What is refused: each is -1 on every rank, and the next task runs.
extern "C" __global__ __aicore__ void bad_arguments(Memory m)
{
    Hccl hccl;
    hccl.Init(GetHcclContext<0>());
    int bad = 0;
    bad += hccl.AllGather<true>(m.in, m.out, 64, I32, 0, 0) == -1;
    bad += hccl.AllGather<true>(m.in, m.out, 64, static_cast<HcclDataType>(12), 0) == -1;
    bad += hccl.AllGather<true>(m.in, m.out, 64, static_cast<HcclDataType>(255), 0) == -1;
    bad += hccl.AllGather<true>(nullptr, m.out, 64, I32, 0) == -1;
    bad += hccl.AllGather<true>(m.in, m.out, UINT64_MAX, I32, 0) == -1;
    bad += hccl.AllGather<true>(m.in, m.out, UINT64_MAX / 4, I32, 7, 255) == -1;
    bad += hccl.AllGather<true>(m.in, m.out, 64, I32, 32) == -1;
    bad += hccl.AllReduce<true>(m.in, m.out, 64, I32, HCCL_REDUCE_PROD) == -1;
    bad += hccl.AllReduce<true>(m.in, m.out, 8, HCCL_DATA_TYPE_FP64, HCCL_REDUCE_SUM) == -1;
    bad += hccl.AllReduce<true>(m.in, m.out, 65, I32, HCCL_REDUCE_SUM) == -1;
    bad += hccl.AllReduce<true>(m.in + 256, m.out, 1, I32, HCCL_REDUCE_SUM) == -1;
    bad += hccl.ReduceScatter<true>(m.in, m.out, 64, I32, HCCL_REDUCE_SUM, 64, 2) == -1;
    uint64_t list[8] = {};
    bad +=
        hccl.AlltoAllV<true>(m.in, list, list, I32, m.out, list, list, HCCL_DATA_TYPE_FP32) == -1;
    bad += hccl.AlltoAllV<true>(m.in, nullptr, list, I32, m.out, list, list, I32) == -1;
    bad += hccl.BatchWrite<true>(m.in, 0) == -1;
    bad += hccl.BatchWrite<true>(m.in, 2048) == -1;
    bad += hccl.AlltoAllvWrite<true>(m.in, m.in, m.in, 0, 64) == -1;
    m.told[0] = bad;
    m.told[1] = hccl.Wait(hccl.AllGather<true>(m.in, m.out, 64, I32, 0));
    m.told[2] = hccl.SetCcTilingV2(0);
    m.told[2] += hccl.SetReduceDataTypeAbility(HCCL_REDUCE_SUM, HCCL_DATA_TYPE_FP32, I32);
    m.told[2] += hccl.SetReduceDataTypeAbility(HCCL_REDUCE_PROD, I32, I32);
    m.told[2] += hccl.SetReduceDataTypeAbility(HCCL_REDUCE_RESERVED, I32, I32); // says nothing
    m.told[2] -= !hccl.SetReduceDataTypeAbility(HCCL_REDUCE_MAX, I32, I32);
    hccl.Finalize();
}

// Past the end on rank 0 alone.
extern "C" __global__ __aicore__ void bad_on_one(Memory m)
{
    Hccl hccl;
    hccl.Init(GetHcclContext<0>());
    uint64_t past = hccl.GetRankId() == 0 ? 4 : 0;
    HcclHandle handle = hccl.AllGather<true>(m.in + past, m.out, 64, I32, 0);
    m.told[0] = handle;
    m.told[1] = hccl.Wait(handle);
    m.told[2] = hccl.Wait(hccl.AllReduce<true>(m.in, m.out, 1, I32, HCCL_REDUCE_MAX));
    hccl.Finalize();
}

extern "C" __global__ __aicore__ void different(Memory m)
{
    Hccl hccl;
    hccl.Init(GetHcclContext<0>());
    uint64_t count = hccl.GetRankId() == 0 ? 8 : 16;
    m.told[0] = hccl.Wait(hccl.AllGather<true>(m.in, m.out, count, I32, 0));
    m.told[1] = hccl.Wait(hccl.AllGather<true>(m.in, m.out, 64, I32, 0));
    hccl.Finalize();
}

static Memory memory;

static void Fill()
{
    for (int i = 0; i < 64; i++) {
        reinterpret_cast<int32_t *>(memory.in)[i] = static_cast<int32_t>(job.me) * 100 + i;
    }
    memset(memory.out, 0xee, 256 * job.n);
    memset(memory.told, 0x55, 16);
}

static bool Gathered()
{
    for (uint32_t i = 0; i < 64 * job.n; i++) {
        if (reinterpret_cast<int32_t *>(memory.out)[i] !=
            static_cast<int32_t>(i / 64 * 100 + i % 64)) {
            return false;
        }
    }
    return true;
}

#define TOLD(a, b, c)                                                                              \
    do {                                                                                           \
        const int32_t *told = memory.told;                                                         \
        if (told[0] != (a) || told[1] != (b) || told[2] != (c)) {                                  \
            Fail("line %d: told %d %d %d", __LINE__, told[0], told[1], told[2]);                   \
        }                                                                                          \
    } while (0)
constexpr int32_t NONE = 0x55555555;

// The kernel has been launched by `launch`: it says all of the words, `lines` lines, and the stream
// is an error or not. Then a right kernel is silent.
template <typename Launch>
static void Expect(const char *name, Launch launch, bool fails, int lines,
                   std::vector<const char *> words)
{
    Begin(name);
    Fill();
    std::string text;
    {
        Said said;
        launch();
        bool failed = tern_stream_sync(static_cast<tern_stream *>(job.stream), -1) != TERN_OK;
        text = said.Text();
        if (failed != fails) {
            Fail("the stream %s; it said: %s", failed ? "fails" : "does not fail", text.c_str());
        }
    }
    for (const char *word : words) {
        if (text.find(word) == std::string::npos) {
            Fail("does not say '%s', but: %s", word, text.c_str());
        }
    }
    if (std::count(text.begin(), text.end(), '\n') != lines) {
        Fail("not %d lines: %s", lines, text.c_str());
    }
}

static void Silent()
{
    int32_t told[3];
    memcpy(told, memory.told, sizeof told);
    Expect("a right kernel", [] { right<<<3, nullptr, job.stream>>>(memory); }, false, 0, {});
    CHECK(memory.told[0] == 0 && Gathered());
}

#define EXPECT(kernel, blocks, fails, lines, ...)                                                  \
    Expect(#kernel, [] { kernel<<<blocks, nullptr, job.stream>>>(memory); }, fails, lines,         \
           {__VA_ARGS__})

static void Objects()
{
    EXPECT(before_init, 1, true, 2, "rules.cpp:", "AllGather: called before Init");
    TOLD(-1, -1, 1);
    EXPECT(after_finalize, 1, true, 3, "AllReduce: called after Finalize",
           "Finalize: called after Finalize", "Init: the object has called Finalize");
    TOLD(-1, NONE, NONE);
    EXPECT(second_init, 1, true, 1, "Init: the object has been initialised");
    TOLD(0, NONE, NONE);
    Silent();
    EXPECT(two_objects, 1, true, 2, "Init: another object is in use on this context",
           "AllGather: called on an object whose Init was refused");
    TOLD(-1, 0, 0);
    EXPECT(wrong_context, 1, true, 2, "is no context of HcclAllocComResourceByTiling");
    EXPECT(wrong_block, 3, true, 1, "AllGather: called by block 1 alone");
    TOLD(0, NONE, NONE);
    EXPECT(all_blocks, 5, false, 0);
    CHECK(memory.told[0] == NONE + 5 * 20 && Gathered());
    EXPECT(wrong_core, 1, true, 1, "or on the wrong kind of core");
    EXPECT(other_block, 4, false, 0);
    CHECK(memory.told[0] == 0 && Gathered());
    EXPECT(no_finalize, 1, true, 1, "not called Finalize");
    CHECK(Gathered());
    Silent();
}

static void Handles()
{
    Expect("32 calls", [] { many<<<1, nullptr, job.stream>>>(memory, 32); }, false, 0, {});
    CHECK(memory.told[0] == 32);
    Expect("33 calls", [] { many<<<1, nullptr, job.stream>>>(memory, 33); }, true, 1,
           {"there are 32 Prepare calls between Init and Finalize"});
    CHECK(memory.told[0] == 32 && memory.told[1] == -1);
    Expect("63 calls", [] { many_newest<<<1, nullptr, job.stream>>>(memory, 63); }, false, 0, {});
    CHECK(memory.told[0] == 63);
    Expect("64 calls", [] { many_newest<<<1, nullptr, job.stream>>>(memory, 64); }, true, 1, {});
    CHECK(memory.told[0] == 63 && memory.told[1] == -1);
    EXPECT(not_committed, 1, true, 3, "0 of them committed", "1 of its 2 turns were committed");
    TOLD(-1, 0, -1);
    EXPECT(never_committed, 1, true, 1, "0 of its 1 turns were committed");
    EXPECT(commit_too_many, 1, false, 1, "all 1 turns of handle 0 have been committed; ignored");
    TOLD(0, NONE, NONE);
    EXPECT(wrong_handle, 1, true, 4, "Wait: there is no handle 5",
           "Commit: there is no handle -128");
    TOLD(-1, -1, -1);
    Silent();
}

static void Arguments()
{
    EXPECT(bad_arguments, 1, true, 20, "repeat is 0", "12 is no element type", "must not be NULL",
           "blocks of two ranks would overlap", "op is 1", "not of fp64",
           "260 bytes of sendBuf are 4 bytes past the end", "they must be the same",
           "sendCounts must not be NULL", "2048 items",
           "SetReduceDataTypeAbility: operation 0 from type 2 to type 4",
           "operation 1 from type 2");
    // Reads past the end of `in` on more than one rank; alone, its two blocks are past it as well.
    TOLD(17, 0, -1);
    CHECK(Gathered());
    Expect("bad on rank 0", [] { bad_on_one<<<1, nullptr, job.stream>>>(memory); }, true,
           job.me == 0, {});
    TOLD(job.me == 0 ? -1 : 0, -1, 0);
    const char *wanted = job.me == 0 ? "4 bytes past the end of its memory"
                                     : "on rank 0 it is 4 bytes past the end of a buffer";
    CHECK(strstr(tern_last_error(), wanted) != nullptr);
    for (uint32_t i = 4; i < 256 * job.n; i++) { // the second task wrote one element
        CHECK(memory.out[i] == 0xee);
    }
    if (job.n > 1) {
        EXPECT(different, 1, true, 0);
        CHECK(strstr(tern_last_error(), "the ranks differ") != nullptr);
        TOLD(-1, 0, NONE);
        CHECK(Gathered());
    }
    Silent();
}

static void Body()
{
    Device<int32_t> in(64), out(64 * job.n), told(4);
    memory = {in.gm(), out.gm(), told.data()};
    Objects();
    Handles();
    Arguments();
}

int main()
{
    for (uint32_t n : {1u, 2u, 3u}) {
        if (Ranks(n, Body) != 0) {
            fprintf(stderr, "rules: not right with %u ranks\n", n);
            return 1;
        }
    }
    return 0;
}
