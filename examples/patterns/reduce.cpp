// SPDX-License-Identifier: Apache-2.0
// Reduce, as a kernel over the element type and the number of ranks: every rank TREDUCEs the rows
// of 1024 numbers of all ranks, as the root of its own call. The tiles have memory of their own.

#include "pto/comm/pto_comm_inst.hpp"
#include "pto/pto-inst.hpp"

#include "acl/acl.h"
#include "comm_context.h"
#include "job.h"

using namespace pto;

namespace
{

constexpr int count = 1024;

template <typename T, int nranks>
__global__ AICORE void ReduceKernel(__gm__ CommDeviceContext *ctx, __gm__ T *local, __gm__ T *sums)
{
    using Row = GlobalTensor<T, Shape<1, 1, 1, 1, count>, Stride<count, count, count, count, 1>,
                             Layout::ND>;
    using RowTile = Tile<TileType::Vec, T, 1, count>;
    Row rows[nranks];
    for (int rank = 0; rank < nranks; rank++) {
        rows[rank] = Row(CommRemotePtr(ctx, local, rank));
    }
    comm::ParallelGroup<Row> group(rows, nranks, static_cast<int>(ctx->rankId));
    Row dst(sums);
    RowTile acc;
    RowTile recv;
    comm::TREDUCE(group, dst, acc, recv, comm::ReduceOp::Sum);
}

template <typename T, int nranks> void Launch(const job &job, T *local, T *sums, aclrtStream stream)
{
    if constexpr (nranks <= 8) {
        if (nranks != job.nranks) {
            return Launch<T, nranks + 1>(job, local, sums, stream);
        }
        auto *ctx = const_cast<CommDeviceContext *>(job.context);
        ReduceKernel<T, nranks><<<1, nullptr, stream>>>(ctx, local, sums);
        job_check(&job, "aclrtSynchronizeStream", aclrtSynchronizeStream(stream));
    } else {
        job_fail(&job, "the kernel was compiled for 1 to 8 ranks, not for %d", job.nranks);
    }
}

template <typename T> void Run(const job &job, size_t offset, aclrtStream stream)
{
    T *own = static_cast<T *>(job_at(&job, job.rank, offset));
    T *sums = static_cast<T *>(job_memory(&job, count * sizeof(T)));
    for (int i = 0; i < count; i++) {
        own[i] = static_cast<T>(i + 100 * job.rank);
    }
    job_meet(&job);
    Launch<T, 1>(job, own, sums, stream);
    for (int i = 0; i < count; i++) {
        T expected = static_cast<T>(job.nranks * i + 50 * job.nranks * (job.nranks - 1));
        if (sums[i] != expected) {
            job_fail(&job, "sum %d is %g, expected %g", i, static_cast<double>(sums[i]),
                     static_cast<double>(expected));
        }
    }
}

} // namespace

int main()
{
    job job;
    aclrtStream stream = nullptr;
    job_begin(&job, "pattern_reduce");
    job_window(&job, JOB_SIGNAL_BYTES + count * (sizeof(float) + sizeof(int32_t)));
    job_check(&job, "aclrtCreateStream", aclrtCreateStream(&stream));
    Run<float>(job, JOB_SIGNAL_BYTES, stream);
    Run<int32_t>(job, JOB_SIGNAL_BYTES + count * sizeof(float), stream);
    job_check(&job, "aclrtDestroyStream", aclrtDestroyStream(stream));
    job_end(&job, "TREDUCE of 1 x 1024 float and int32");
    return 0;
}
