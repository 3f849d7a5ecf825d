// SPDX-License-Identifier: Apache-2.0
// Point to point, as kernels: each rank TPUTs 128 x 256 half to the next rank, through one tile
// whose valid rows and columns are dynamic, and then TGETs the same from the previous one.

#include "pto/comm/pto_comm_inst.hpp"
#include "pto/pto-inst.hpp"

#include "acl/acl.h"
#include "job.h"

using namespace pto;

namespace
{

constexpr int rows = 128;
constexpr int columns = 256;
constexpr int count = rows * columns;

// In every window.
constexpr size_t sent = JOB_SIGNAL_BYTES;
constexpr size_t received = JOB_SIGNAL_BYTES + count * sizeof(half);

using Matrix = GlobalTensor<half, Shape<>, Stride<>, Layout::ND>;
using Staging = Tile<TileType::Vec, half, rows, columns, BLayout::RowMajor, DYNAMIC, DYNAMIC>;

AICORE Matrix MatrixAt(__gm__ half *data)
{
    return Matrix(data, Shape<>(1, 1, 1, rows, columns), Stride<>(count, count, count, columns, 1));
}

__global__ AICORE void PutKernel(__gm__ half *remote, __gm__ half *local)
{
    Matrix dst = MatrixAt(remote);
    Matrix src = MatrixAt(local);
    Staging staging(rows, columns);
    TASSIGN(staging, 0x0);
    comm::TPUT(dst, src, staging);
}

__global__ AICORE void GetKernel(__gm__ half *local, __gm__ half *remote)
{
    Matrix dst = MatrixAt(local);
    Matrix src = MatrixAt(remote);
    Staging staging(rows, columns);
    TASSIGN(staging, 0x0);
    comm::TGET(dst, src, staging);
}

// Exact in half, and different from rank to rank.
float ValueOf(int rank, int i)
{
    return static_cast<float>((i + 31 * rank) % 2048);
}

void Verify(const job &job, const half *data, const char *how)
{
    int from = (job.rank + job.nranks - 1) % job.nranks;
    for (int i = 0; i < count; i++) {
        if (float(data[i]) != ValueOf(from, i)) {
            job_fail(&job, "element %d that was %s is %g, expected %g of rank %d", i, how,
                     double(float(data[i])), double(ValueOf(from, i)), from);
        }
    }
}

} // namespace

int main()
{
    job job;
    aclrtStream stream = nullptr;
    job_begin(&job, "pattern_p2p");
    job_window(&job, received + count * sizeof(half));
    job_check(&job, "aclrtCreateStream", aclrtCreateStream(&stream));
    int next = (job.rank + 1) % job.nranks;
    int previous = (job.rank + job.nranks - 1) % job.nranks;
    half *own = static_cast<half *>(job_at(&job, job.rank, sent));
    half *fetched = static_cast<half *>(job_memory(&job, count * sizeof(half)));
    for (int i = 0; i < count; i++) {
        own[i] = ValueOf(job.rank, i);
    }
    job_meet(&job);
    PutKernel<<<1, nullptr, stream>>>(static_cast<half *>(job_at(&job, next, received)), own);
    GetKernel<<<1, nullptr, stream>>>(fetched, static_cast<half *>(job_at(&job, previous, sent)));
    job_check(&job, "aclrtSynchronizeStream", aclrtSynchronizeStream(stream));
    job_meet(&job);
    Verify(job, static_cast<const half *>(job_at(&job, job.rank, received)), "put");
    Verify(job, fetched, "got");
    job_check(&job, "aclrtDestroyStream", aclrtDestroyStream(stream));
    job_end(&job, "TPUT and TGET of 128 x 256 half");
    return 0;
}
