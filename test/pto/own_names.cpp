// SPDX-License-Identifier: Apache-2.0
// Forms that kernels in use are written in: a context of the source's own, of the same layout under
// the same name, and its constants; parameters that are marked; masks of the vector unit, which
// generated kernels begin with; matrices of dynamic extents; SYNCALL without a kind of core.
#include <cstddef>
#include <cstdint>

struct HcclDeviceContext {
    uint64_t workSpace;
    uint64_t workSpaceSize;
    uint32_t rankId;
    uint32_t rankNum;
    uint64_t winSize;
    uint64_t windowsIn[64];
    uint64_t windowsOut[64];
};
static constexpr uint32_t HCCL_MAX_RANK_NUM = 64;
static constexpr uint32_t COMM_MAX_RANK_NUM = HCCL_MAX_RANK_NUM;

#include <pto/common/constants.hpp>
#include <pto/pto-inst.hpp>

#include "acl/acl.h"
#include "comm.h"
#include "hccl/hccl.h"
#include "hccl/hcom.h"
#include "tern/comm.h"
#include "tern/context.h"
#include "tern/window.h"

#include <cstdio>

using namespace pto;

static_assert(sizeof(HcclDeviceContext) == sizeof(tern_context) &&
                  offsetof(HcclDeviceContext, windowsIn) == offsetof(tern_context, windowsIn),
              "the same layout");

// Rows are `cols` apart, columns `rows`.
template <Layout layout> int64_t stride_of(int64_t rows, int64_t cols, int dim)
{
    using Matrix = GlobalTensor<float, TileShape2D<float, DYNAMIC, DYNAMIC, layout>,
                                BaseShape2D<float, DYNAMIC, DYNAMIC, layout>, layout>;
    Matrix matrix(nullptr, typename Matrix::Shape(rows, cols), typename Matrix::Stride(rows, cols));
    return matrix.GetShape(3) == rows && matrix.GetShape(4) == cols ? matrix.GetStride(dim) : -1;
}

static bool matrices_may_be_dynamic()
{
    using Fixed = BaseShape2D<half, 16, 48>;
    using Half = BaseShape2D<half, DYNAMIC, 48, Layout::DN>;
    const Half mine(5, 48);
    return Fixed::staticStride[3] == 48 && Fixed::staticStride[0] == 16 * 48 &&
           Half::staticStride[4] == DYNAMIC && Half::staticStride[0] == DYNAMIC &&
           mine.stride[4] == 5 && mine.stride[0] == 5 * 48 &&
           stride_of<Layout::ND>(6, 20, 3) == 20 && stride_of<Layout::ND>(6, 20, 4) == 1 &&
           stride_of<Layout::DN>(6, 20, 3) == 1 && stride_of<Layout::DN>(6, 20, 4) == 6 &&
           stride_of<Layout::DN>(6, 20, 0) == 120;
}

// Each block adds 1, and none goes on before all have.
__global__ AICORE void Meet(__gm__ int32_t *words __in__, __gm__ int32_t *seen __out__)
{
    using Words = Shape<1, 1, 1, 1, SYNCALL_SOFT_WORKSPACE_INT32>;
    set_mask_norm();
    set_vector_mask(static_cast<uint64_t>(-1), static_cast<uint64_t>(-1));
    const int64_t begin = get_sys_cnt();
    GlobalTensor<int32_t, Words, Stride<16, 16, 16, 16, 1>> workspace(words);
    Tile<TileType::Vec, int32_t, 1, SYNCALL_SOFT_SLOT_INT32> scratch;
    comm::Signal sum(words + SYNCALL_SOFT_WORKSPACE_INT32);
    comm::TNOTIFY(sum, 1, comm::NotifyOp::AtomicAdd);
    PtoSetWaitFlag<PIPE_MTE3, PIPE_S>(EVENT_ID0, EVENT_ID0);
    SYNCALL<SyncAllMode::Soft>(workspace);
    if (get_block_idx() == 0) {
        *seen = words[SYNCALL_SOFT_WORKSPACE_INT32] == get_block_num() && get_sys_cnt() >= begin;
    }
    SYNCALL<SyncAllMode::Soft>(workspace, scratch, static_cast<int32_t>(get_block_num()));
    SYNCALL();
}

// pto-inst.hpp alone has the instructions that communicate.
__global__ AICORE void Tell(__gm__ HcclDeviceContext *ctx)
{
    for (uint32_t rank = 0; rank < ctx->rankNum && rank < COMM_MAX_RANK_NUM; rank++) {
        comm::Signal signal(reinterpret_cast<__gm__ int32_t *>(ctx->windowsIn[rank]));
        comm::TNOTIFY(signal, 1, comm::NotifyOp::AtomicAdd);
    }
    comm::Signal own(reinterpret_cast<__gm__ int32_t *>(ctx->windowsIn[ctx->rankId]));
    comm::TWAIT(own, static_cast<int32_t>(ctx->rankNum), comm::WaitCmp::GE);
}

int main()
{
    tern_comm *world = nullptr;
    tern_window *window = nullptr;
    aclrtStream stream = nullptr;
    if (tern_init(nullptr, &world) != TERN_OK ||
        tern_window_create(world, 4096, nullptr, &window) != TERN_OK ||
        aclrtCreateStream(&stream) != ACL_SUCCESS) {
        return 1;
    }
    auto *context = reinterpret_cast<HcclDeviceContext *>(
        const_cast<tern_context *>(tern_window_context(window)));
    Tell<<<1, nullptr, stream>>>(context);
    int failed = aclrtSynchronizeStream(stream) != ACL_SUCCESS;
    static int32_t words[64], seen;
    Meet<<<3, nullptr, stream>>>(words, &seen);
    failed |= aclrtSynchronizeStream(stream) != ACL_SUCCESS || seen != 1;
    failed |= !matrices_may_be_dynamic();
    failed |= tern_comm_barrier(world) != TERN_OK;
    failed |= aclrtDestroyStream(stream) != ACL_SUCCESS;
    failed |= tern_window_destroy(window) != TERN_OK;
    int rank = tern_comm_rank(world), nranks = tern_comm_size(world);
    failed |= tern_comm_destroy(world) != TERN_OK;
    if (rank == 0) {
        std::printf("own_names: %d ranks, 0 of the matrix, %d rules\n", nranks, 5 * (1 - failed));
    }
    return failed;
}
