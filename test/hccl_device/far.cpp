// SPDX-License-Identifier: Apache-2.0
// QueueBarrier is a barrier for windows, too: what a kernel has put before it is there behind it,
// also where that takes longer than every call. Started on hosts 20 ms apart, as ranks of a table:
// bytes for the other host need many round trips, and calls, between other ranks, go past them.
//
//     tern run --hosts a:2,b:2 far TABLE

#include "kernel_operator.h"
#include "lib/hccl/hccl.h"

#include "common.hpp"
#include "tern/put.h"

using namespace AscendC;

enum { ROUNDS = 3, PLACE = 1 << 16 };
constexpr size_t BYTES = 1 << 20;

// Rank 1 puts, rank 3 on the other host looks: told[round] is the last byte that it has.
extern "C" __global__ __aicore__ void put_and_look(GM_ADDR in, int32_t *told)
{
    Hccl hccl;
    hccl.Init(GetHcclContext<0>());
    GM_ADDR place = hccl.GetWindowsInAddr(3) + PLACE;
    for (int round = 1; round <= ROUNDS; round++) {
        if (hccl.GetRankId() == 1) {
            tern_window *window = nullptr;
            int owner = -1;
            size_t offset = 0;
            memset(in, round, BYTES);
            told[0] |= tern_window_find(place, &window, &owner, &offset);
            told[0] |= tern_put(window, owner, offset, in, BYTES);
        }
        told[0] |= hccl.QueueBarrier<ScopeType::ALL>(0) < 0;
        HcclHandle sum = hccl.AllReduce<true>(in + BYTES, in + BYTES + 64, 1, HCCL_DATA_TYPE_INT32,
                                              HCCL_REDUCE_SUM);
        told[0] |= hccl.Wait(sum);
        if (hccl.GetRankId() == 3) {
            told[round] = static_cast<volatile uint8_t *>(place)[BYTES - 1];
        }
        sum = hccl.AllReduce<true>(in + BYTES, in + BYTES + 64, 1, HCCL_DATA_TYPE_INT32,
                                   HCCL_REDUCE_SUM);
        told[0] |= hccl.Wait(sum);
    }
    hccl.Finalize();
}

static int Number(const char *name)
{
    const char *given = getenv(name);
    return given != nullptr ? atoi(given) : -1;
}

int main(int argc, char **argv)
{
    job.me = static_cast<uint32_t>(Number("TERN_RANK"));
    job.n = static_cast<uint32_t>(Number("TERN_NRANKS"));
    CHECK(argc == 2 && job.n == 4);
    CHECK(HcclCommInitClusterInfo(argv[1], job.me, &job.comm) == HCCL_SUCCESS);
    CHECK(HcclAllocComResourceByTiling(job.comm, nullptr, nullptr, &job.ctx) == HCCL_SUCCESS);
    CHECK(aclrtCreateStream(&job.stream) == ACL_SUCCESS);
    CHECK(job.me > 0 || IsAcross());
    Begin("a barrier behind a put");
    {
        Device<uint8_t> in(BYTES + 128);
        Device<int32_t> told(ROUNDS + 1);
        memset(in.data(), 0, in.size());
        memset(told.data(), 0, 4 * told.size());
        put_and_look<<<1, nullptr, job.stream>>>(in.gm(), told.data());
        Sync();
        CHECK(told[0] == 0);
        for (int round = 1; job.me == 3 && round <= ROUNDS; round++) {
            if (told[static_cast<size_t>(round)] != round) {
                Fail("round %d: the last byte is of round %d", round,
                     told[static_cast<size_t>(round)]);
            }
        }
    }
    Leave();
    return 0;
}
