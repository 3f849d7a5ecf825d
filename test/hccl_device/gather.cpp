// SPDX-License-Identifier: Apache-2.0
// The AllGather of two tiles and a tail: the same bytes as one AllGather; with a tail that is too
// long: refused on all ranks, with nothing moved; with one Wait too few and too many.

#include "kernel_operator.h"
#include "lib/hccl/hccl.h"
#include "hccl/hccl.h"

#include "common.hpp"

using namespace AscendC;

constexpr uint64_t TILE = 128, TILES = 2, TAIL = 44, ALL = TILE * TILES + TAIL;

// Waits of the two handles; what they return.
extern "C" __global__ __aicore__ void gather(GM_ADDR send, GM_ADDR recv, uint64_t tail, int first,
                                             int second, GM_ADDR told)
{
    int32_t *results = reinterpret_cast<int32_t *>(told);
    Hccl hccl;
    hccl.Init(GetHcclContext<HCCL_GROUP_ID_0>());
    if (g_coreType == AIV && GetBlockIdx() == 0) {
        HcclHandle h0 = hccl.AllGather<true>(send, recv, TILE, HCCL_DATA_TYPE_FP16, ALL, TILES);
        HcclHandle h1 = hccl.AllGather<true>(send + TILE * TILES * 2, recv + TILE * TILES * 2, tail,
                                             HcclDataType::HCCL_DATA_TYPE_FP16, ALL, 1);
        *results++ = h0;
        *results++ = h1;
        for (int i = 0; i < first; i++) {
            *results++ = hccl.Wait(h0);
        }
        for (int i = 0; i < second; i++) {
            *results++ = hccl.Wait(h1);
        }
    }
    SyncAll<>();
    hccl.Finalize();
}

static uint16_t Element(uint32_t rank, uint64_t index)
{
    return static_cast<uint16_t>(1 + rank * 1000 + index);
}

struct Buffers {
    Device<uint16_t> send{ALL}, recv{ALL * job.n}, canary{64};
    Device<int32_t> told{8};
    Buffers()
    {
        for (uint64_t i = 0; i < ALL; i++) {
            send[i] = Element(job.me, i);
        }
        memset(recv.data(), 0xee, recv.size() * 2);
        memset(canary.data(), 0xee, canary.size() * 2);
    }
    bool Gathered()
    {
        for (uint64_t i = 0; i < recv.size(); i++) {
            if (recv[i] != Element(static_cast<uint32_t>(i / ALL), i % ALL)) {
                return false;
            }
        }
        return true;
    }
    void Run(uint64_t tail, int first, int second, int64_t blocks = 4)
    {
        gather<<<blocks, nullptr, job.stream>>>(send.gm(), recv.gm(), tail, first, second,
                                                told.gm());
    }
};

static void Right()
{
    Begin("two tiles and a tail");
    for (int64_t blocks : {1, 4, 7}) {
        Buffers buffers;
        Said said;
        buffers.Run(TAIL, 2, 1, blocks);
        Sync();
        CHECK(said.Text().empty());
        CHECK(buffers.Gathered());
        for (int i = 2; i < 5; i++) {
            CHECK(buffers.told[static_cast<size_t>(i)] == 0);
        }
    }
}

static void WrongTail()
{
    Begin("a tail that is too long");
    Buffers buffers;
    Said said;
    buffers.Run(TILE, 2, 1);
    SyncFails("168 bytes past the end");
    std::string text = said.Text();
    CHECK(text.find("gather.cpp:") != std::string::npos);
    CHECK(text.find("AllGather: rank " + std::to_string(job.me) + ": 256 bytes of sendBuf") !=
          std::string::npos);
    CHECK(buffers.told[1] == -1 && buffers.told[2] == 0 && buffers.told[4] == -1);
    for (uint64_t i = 0; i < buffers.recv.size(); i++) { // turns of the first task, and no more
        bool tiles = i % ALL < TILE * TILES;
        CHECK(buffers.recv[i] ==
              (tiles ? Element(static_cast<uint32_t>(i / ALL), i % ALL) : 0xeeee));
    }
    for (size_t i = 0; i < buffers.canary.size(); i++) {
        CHECK(buffers.canary[i] == 0xeeee);
    }
}

static void WrongWaits()
{
    Begin("one Wait too few");
    Buffers few;
    {
        Said said;
        few.Run(TAIL, 1, 1);
        Sync();
        std::string text = said.Text();
        CHECK(text.find("gather.cpp:") != std::string::npos);
        CHECK(text.find("has 2 turns, and Wait was called 1 times") != std::string::npos);
        CHECK(text.find('\n') == text.size() - 1);
    }
    CHECK(few.Gathered());
    Begin("one Wait too many");
    Buffers many;
    {
        Said said;
        many.Run(TAIL, 2, 2);
        Sync();
        std::string text = said.Text();
        CHECK(text.find("gather.cpp:") != std::string::npos);
        CHECK(text.find("this is Wait number 2") != std::string::npos);
        CHECK(text.find('\n') == text.size() - 1);
    }
    CHECK(many.Gathered());
    CHECK(many.told[4] == 0 && many.told[5] == -1);
}

static void Body()
{
    Right();
    WrongTail();
    Right();
    WrongWaits();
    Right();
}

int main()
{
    for (uint32_t n : {1u, 2u, 3u, 4u, 8u}) {
        if (Ranks(n, Body) != 0) {
            fprintf(stderr, "gather: not right with %u ranks\n", n);
            return 1;
        }
    }
    return 0;
}
