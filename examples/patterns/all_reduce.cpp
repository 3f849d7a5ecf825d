// SPDX-License-Identifier: Apache-2.0
// An AllReduce of one's own, as kernels. ReduceScatter: every rank adds its numbers to the output
// of the part's owner, its own part too, so outputs are 0 before. A barrier. AllGather: the owner
// gives its part to all. Variant A moves by TPUT, through two tiles in turn; variant B loads and
// stores tiles itself, where work on them would go between, with the flags that a chip needs.

#include "pto/comm/pto_comm_inst.hpp"
#include "pto/pto-inst.hpp"

#include <algorithm>

#include "acl/acl.h"
#include "comm_context.h"
#include "job.h"
#include "part.h"
#include "phase_barrier.hpp"

using namespace pto;

namespace
{

constexpr int count = 100003; // of which no number of ranks but 1 is a divisor
constexpr int blocks = 3;
constexpr int tile_columns = 4096;
constexpr uint64_t pong_at = tile_columns * sizeof(float);

using Row = GlobalTensor<float, Shape<1, 1, 1, 1, DYNAMIC>, Stride<>, Layout::ND>;
using RowTile = Tile<TileType::Vec, float, 1, tile_columns, BLayout::RowMajor, DYNAMIC, DYNAMIC>;

AICORE Row RowAt(__gm__ float *data, int length)
{
    return Row(data, Shape<1, 1, 1, 1, DYNAMIC>(length),
               Stride<>(length, length, length, length, 1));
}

// What this block moves of a rank's part.
AICORE part BlockPart(int nranks, int owner)
{
    part own = part_of({0, count}, nranks, owner);
    return part_of(own, static_cast<int>(get_block_num()), static_cast<int>(get_block_idx()));
}

__global__ AICORE void AllReducePut(__gm__ const CommDeviceContext *ctx, __gm__ int32_t *signals,
                                    __gm__ float *input, __gm__ float *output)
{
    const int rank = static_cast<int>(ctx->rankId);
    const int nranks = static_cast<int>(ctx->rankNum);
    RowTile ping(1, tile_columns);
    RowTile pong(1, tile_columns);
    TASSIGN(ping, 0x0);
    TASSIGN(pong, pong_at);

    for (int step = 0; step < nranks; step++) {
        int owner = (rank + step) % nranks;
        part part = BlockPart(nranks, owner);
        Row dst = RowAt(CommRemotePtr(ctx, output, owner) + part.first, part.count);
        Row src = RowAt(input + part.first, part.count);
        ping.SetValidShape(1, tile_columns); // the last piece of the step before was shorter
        pong.SetValidShape(1, tile_columns);
        comm::TPUT<AtomicType::AtomicAdd>(dst, src, ping, pong);
    }
    PhaseBarrier(ctx, signals, 1);
    part part = BlockPart(nranks, rank);
    Row src = RowAt(output + part.first, part.count);
    for (int step = 1; step < nranks; step++) {
        int peer = (rank + step) % nranks;
        Row dst = RowAt(CommRemotePtr(ctx, output, peer) + part.first, part.count);
        ping.SetValidShape(1, tile_columns);
        pong.SetValidShape(1, tile_columns);
        comm::TPUT(dst, src, ping, pong);
    }
    pipe_barrier(PIPE_ALL);
}

// Variant B: loads into one tile while the other is stored. A tile may be loaded again when its
// store has ended, which the flag of its event from MTE3 to MTE2 says.
AICORE void AddParts(__gm__ const CommDeviceContext *ctx, __gm__ float *input, __gm__ float *output,
                     RowTile &ping, RowTile &pong)
{
    const int rank = static_cast<int>(ctx->rankId);
    const int nranks = static_cast<int>(ctx->rankNum);
    int k = 0;
    for (int step = 0; step < nranks; step++) {
        int owner = (rank + step) % nranks;
        part part = BlockPart(nranks, owner);
        for (int at = part.first; at < part.first + part.count; at += tile_columns, k++) {
            int length = std::min(tile_columns, part.first + part.count - at);
            RowTile &cur = k % 2 == 0 ? ping : pong;
            event_t event = k % 2 == 0 ? EVENT_ID0 : EVENT_ID1;
            Row src = RowAt(input + at, length);
            Row dst = RowAt(CommRemotePtr(ctx, output, owner) + at, length);
            cur.ColMaskInternal = length;
            if (k >= 2) {
                wait_flag(PIPE_MTE3, PIPE_MTE2, event);
            }
            TLOAD(cur, src);
            set_flag(PIPE_MTE2, PIPE_MTE3, event);
            wait_flag(PIPE_MTE2, PIPE_MTE3, event);
            TSTORE_IMPL<RowTile, Row, AtomicType::AtomicAdd>(dst, cur);
            set_flag(PIPE_MTE3, PIPE_MTE2, event);
        }
    }
    for (int last = std::max(k - 2, 0); last < k; last++) {
        wait_flag(PIPE_MTE3, PIPE_MTE2, last % 2 == 0 ? EVENT_ID0 : EVENT_ID1);
    }
}

__global__ AICORE void AllReduceTiles(__gm__ const CommDeviceContext *ctx, __gm__ int32_t *signals,
                                      __gm__ float *input, __gm__ float *output)
{
    const int rank = static_cast<int>(ctx->rankId);
    const int nranks = static_cast<int>(ctx->rankNum);
    RowTile ping(1, tile_columns);
    RowTile pong(1, tile_columns);
    TASSIGN(ping, 0x0);
    TASSIGN(pong, pong_at);

    AddParts(ctx, input, output, ping, pong);
    PhaseBarrier(ctx, signals, 1);
    part part = BlockPart(nranks, rank);
    for (int at = part.first; at < part.first + part.count; at += tile_columns) {
        int length = std::min(tile_columns, part.first + part.count - at);
        Row src = RowAt(output + at, length);
        ping.ColMaskInternal = length;
        TLOAD(ping, src);
        set_flag(PIPE_MTE2, PIPE_MTE3, EVENT_ID0);
        wait_flag(PIPE_MTE2, PIPE_MTE3, EVENT_ID0);
        for (int step = 1; step < nranks; step++) {
            Row dst = RowAt(CommRemotePtr(ctx, output, (rank + step) % nranks) + at, length);
            TSTORE_IMPL<RowTile, Row, AtomicType::AtomicNone>(dst, ping);
        }
        set_flag(PIPE_MTE3, PIPE_MTE2, EVENT_ID0);
        wait_flag(PIPE_MTE3, PIPE_MTE2, EVENT_ID0);
    }
    pipe_barrier(PIPE_ALL);
}

// Integers, whose sums are exact.
float ValueOf(int rank, int i)
{
    return static_cast<float>(i % 1000 + 10 * rank);
}

void Verify(const job &job, const float *output, const char *variant)
{
    for (int i = 0; i < count; i++) {
        float expected = static_cast<float>(job.nranks) * ValueOf(0, i) +
                         static_cast<float>(5 * job.nranks * (job.nranks - 1));
        if (output[i] != expected) {
            job_fail(&job, "variant %s: sum %d is %g, expected %g", variant, i,
                     static_cast<double>(output[i]), static_cast<double>(expected));
        }
    }
}

} // namespace

int main()
{
    job job;
    aclrtStream stream = nullptr;
    job_begin(&job, "pattern_all_reduce");
    if (job.nranks > PHASE_RANKS_MAX) {
        job_fail(&job, "there are signals for %d ranks, not for %d", PHASE_RANKS_MAX, job.nranks);
    }
    job_window(&job, JOB_SIGNAL_BYTES + count * sizeof(float));
    job_check(&job, "aclrtCreateStream", aclrtCreateStream(&stream));
    int32_t *signals = static_cast<int32_t *>(job_at(&job, job.rank, 0));
    float *output = static_cast<float *>(job_at(&job, job.rank, JOB_SIGNAL_BYTES));
    float *input = static_cast<float *>(job_memory(&job, count * sizeof(float)));
    for (int i = 0; i < count; i++) {
        input[i] = ValueOf(job.rank, i);
    }
    for (int variant = 0; variant < 2; variant++) {
        std::fill(signals, signals + PHASE_WORDS, 0);
        std::fill(output, output + count, 0.0F);
        job_meet(&job);
        if (variant == 0) {
            AllReducePut<<<blocks, nullptr, stream>>>(job.context, signals, input, output);
        } else {
            AllReduceTiles<<<blocks, nullptr, stream>>>(job.context, signals, input, output);
        }
        job_check(&job, "aclrtSynchronizeStream", aclrtSynchronizeStream(stream));
        job_meet(&job);
        Verify(job, output, variant == 0 ? "A" : "B");
    }
    job_check(&job, "aclrtDestroyStream", aclrtDestroyStream(stream));
    job_end(&job, "%d float by TPUT, and by TLOAD and TSTORE", count);
    return 0;
}
