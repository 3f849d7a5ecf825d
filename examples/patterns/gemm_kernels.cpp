// SPDX-License-Identifier: Apache-2.0
// Compute and communication of gemm_all_reduce, as an operator author writes them (gemm_kernels.h).

#include "pto/comm/pto_comm_inst.hpp"
#include "pto/pto-inst.hpp"

#include <algorithm>

#include "comm_context.h"
#include "gemm_kernels.h"
#include "phase_barrier.hpp"

using namespace pto;

namespace
{

using Matrix = GlobalTensor<half, Shape<1, 1, 1, DYNAMIC, DYNAMIC>, Stride<>, Layout::ND>;

AICORE Matrix MatrixAt(__gm__ half *data, int rows, int columns, int row_stride)
{
    return Matrix(data, Shape<1, 1, 1, DYNAMIC, DYNAMIC>(rows, columns),
                  Stride<>(rows * row_stride, rows * row_stride, rows * row_stride, row_stride, 1));
}

// On the chip: parts of a and b in L1, twice; less of their depth in L0A and L0B; the tile in L0C.
template <int rows, int columns>
using TileL1 = Tile<TileType::Mat, half, rows, columns, BLayout::ColMajor, DYNAMIC, DYNAMIC,
                    SLayout::RowMajor>;
using TileA1 = TileL1<GEMM_TILE_ROWS, GEMM_DEPTH_L1>;
using TileB1 = TileL1<GEMM_DEPTH_L1, GEMM_TILE_COLUMNS>;
using TileA0 = TileLeft<half, GEMM_TILE_ROWS, GEMM_DEPTH_L0, DYNAMIC, DYNAMIC>;
using TileB0 = TileRight<half, GEMM_DEPTH_L0, GEMM_TILE_COLUMNS, DYNAMIC, DYNAMIC>;
using TileC = TileAcc<float, GEMM_TILE_ROWS, GEMM_TILE_COLUMNS, DYNAMIC, DYNAMIC>;

constexpr uint64_t b1_at = 2 * TileA1::bytes;

// c (+)= the product of what is in L1.
AICORE void MultiplyL1(TileC &c, TileA1 &a1, TileB1 &b1, gemm_box box, int depth, bool first)
{
    for (int k = 0; k < depth; k += GEMM_DEPTH_L0) {
        int part = std::min<int>(GEMM_DEPTH_L0, depth - k);
        TileA0 a0(box.rows, part);
        TileB0 b0(part, box.columns);
        TASSIGN(a0, 0x0);
        TASSIGN(b0, 0x0);
        TEXTRACT(a0, a1, 0, k);
        TEXTRACT(b0, b1, k, 0);
        set_flag(PIPE_MTE1, PIPE_M, EVENT_ID0);
        wait_flag(PIPE_MTE1, PIPE_M, EVENT_ID0);
        if (first && k == 0) {
            TMATMUL(c, a0, b0);
        } else {
            TMATMUL_ACC(c, a0, b0);
        }
        set_flag(PIPE_M, PIPE_MTE1, EVENT_ID0);
        wait_flag(PIPE_M, PIPE_MTE1, EVENT_ID0);
    }
}

AICORE void ComputeTile(gemm_shape shape, __gm__ half *a, __gm__ half *b, __gm__ half *partial,
                        int tile)
{
    gemm_box box = gemm_tile_box(shape, tile);
    TileC c(box.rows, box.columns);
    TASSIGN(c, 0x0);
    for (int k = 0, turn = 0; k < shape.k; k += GEMM_DEPTH_L1, turn ^= 1) {
        int depth = std::min<int>(GEMM_DEPTH_L1, shape.k - k);
        event_t event = turn == 0 ? EVENT_ID0 : EVENT_ID1;
        Matrix from_a = MatrixAt(a + size_t(box.row) * shape.k + k, box.rows, depth, shape.k);
        Matrix from_b = MatrixAt(b + size_t(k) * shape.n + box.column, depth, box.columns, shape.n);
        TileA1 a1(box.rows, depth);
        TileB1 b1(depth, box.columns);
        TASSIGN(a1, turn * TileA1::bytes);
        TASSIGN(b1, b1_at + turn * TileB1::bytes);
        if (k >= 2 * GEMM_DEPTH_L1) { // what was there has been used
            wait_flag(PIPE_MTE1, PIPE_MTE2, event);
        }
        TLOAD(a1, from_a);
        TLOAD(b1, from_b);
        set_flag(PIPE_MTE2, PIPE_MTE1, event);
        wait_flag(PIPE_MTE2, PIPE_MTE1, event);
        MultiplyL1(c, a1, b1, box, depth, k == 0);
        set_flag(PIPE_MTE1, PIPE_MTE2, event);
    }
    wait_flag(PIPE_MTE1, PIPE_MTE2, EVENT_ID0);
    if (shape.k > GEMM_DEPTH_L1) {
        wait_flag(PIPE_MTE1, PIPE_MTE2, EVENT_ID1);
    }
    set_flag(PIPE_M, PIPE_FIX, EVENT_ID0);
    wait_flag(PIPE_M, PIPE_FIX, EVENT_ID0);
    Matrix to = MatrixAt(partial + gemm_offset(shape, box), box.rows, box.columns, shape.n);
    TSTORE(to, c);
    pipe_barrier(PIPE_ALL);
}

// The caller keeps the queue and its own slot number.
AICORE void PerBlockQueueEnqueueFast(__gm__ PerBlockQueue *queue, int32_t tile, int32_t slot)
{
    volatile int32_t *data = queue->data;
    data[slot] = tile;
    dcci(&queue->data[slot], cache_line_t::SINGLE_CACHE_LINE);
    queue->tail = slot + 1;
    queue->count = slot + 1;
    dcci(&queue->count, cache_line_t::SINGLE_CACHE_LINE);
}

__global__ AICORE void GemmKernel(gemm_shape shape, __gm__ half *a, __gm__ half *b,
                                  __gm__ half *partial, __gm__ MultiBlockQueueSet *queues)
{
    const int block = static_cast<int>(get_block_idx());
    const part tiles = gemm_tiles_of(shape, block);
    __gm__ PerBlockQueue *queue = gemm_queue(queues, block);
    for (int slot = 0; slot < tiles.count; slot++) {
        ComputeTile(shape, a, b, partial, tiles.first + slot);
        PerBlockQueueEnqueueFast(queue, tiles.first + slot, slot);
    }
}

using MoveTile = Tile<TileType::Vec, half, GEMM_SUBTILE_ROWS, GEMM_TILE_COLUMNS, BLayout::RowMajor,
                      DYNAMIC, DYNAMIC>;

// What the steps of a communication block share.
struct Communication {
    gemm_shape shape;
    __gm__ const CommDeviceContext *ctx;
    __gm__ half *partial;
    __gm__ half *output;
    __gm__ int32_t *signals;
    MoveTile ping{GEMM_SUBTILE_ROWS, GEMM_TILE_COLUMNS};
    MoveTile pong{GEMM_SUBTILE_ROWS, GEMM_TILE_COLUMNS};
};

AICORE Matrix BoxAt(const Communication &call, __gm__ half *matrix, gemm_box box)
{
    return MatrixAt(matrix + gemm_offset(call.shape, box), box.rows, box.columns, call.shape.n);
}

AICORE void NotifyOwner(const Communication &call, int word, int owner)
{
    comm::Signal signal(CommRemotePtr(call.ctx, call.signals + word, owner));
    comm::TNOTIFY(signal, 1, comm::NotifyOp::AtomicAdd);
}

// A tile of this rank is added to the owner's; then the owner is told, of each subtile.
AICORE void ReduceScatterTile(Communication &call, int tile)
{
    int owner = tile % call.shape.nranks;
    for (int subtile = 0; subtile < GEMM_SUBTILES; subtile++) {
        gemm_box box = gemm_subtile_box(call.shape, tile, subtile);
        int number = gemm_owned_number(call.shape, tile, subtile);
        Matrix src = BoxAt(call, call.partial, box);
        Matrix dst = BoxAt(call, CommRemotePtr(call.ctx, call.output, owner), box);
        comm::TPUT<AtomicType::AtomicAdd>(dst, src, call.ping, call.pong);
        pipe_barrier(PIPE_ALL);
        dsb(DSB_DDR);
        NotifyOwner(call, gemm_subtile_word(number), owner);
        NotifyOwner(call, gemm_summary_word(call.shape, gemm_giver(call.shape, number)), owner);
    }
}

// The next tile of a queue, or -1.
AICORE int32_t PerBlockQueueTryDequeue(__gm__ PerBlockQueue *queue, int32_t &head)
{
    comm::Signal count(const_cast<int32_t *>(&queue->count));
    if (!comm::TTEST(count, head + 1, comm::WaitCmp::GE)) {
        return -1;
    }
    dcci(&queue->data[head], cache_line_t::SINGLE_CACHE_LINE);
    return queue->data[head++];
}

// Block b drains the queues b, b + blocks, ... by turns until their tiles are done.
AICORE void ReduceScatter(Communication &call, __gm__ MultiBlockQueueSet *queues, int patience)
{
    const int blocks = static_cast<int>(get_block_num());
    const int first = static_cast<int>(get_block_idx());
    int32_t heads[GEMM_COMPUTE_BLOCKS] = {};
    bool open = true;
    for (int idle = 0; open; idle++) {
        open = false;
        for (int i = first; i < queues->num_blocks; i += blocks) {
            __gm__ PerBlockQueue *queue = gemm_queue(queues, i);
            if (heads[i] == queue->capacity) {
                continue;
            }
            open = true;
            int32_t tile = PerBlockQueueTryDequeue(queue, heads[i]);
            if (tile >= 0) {
                ReduceScatterTile(call, tile);
                idle = 0;
            } else if (patience > 0 && idle >= patience) {
                comm::Signal count(const_cast<int32_t *>(&queue->count));
                comm::TWAIT(count, heads[i] + 1, comm::WaitCmp::GE);
            }
        }
    }
}

AICORE void AllGather(Communication &call)
{
    const int block = static_cast<int>(get_block_idx());
    const int rank = static_cast<int>(call.ctx->rankId);
    const int given = gemm_given_by(call.shape, rank, block);
    comm::Signal summary(call.signals + gemm_summary_word(call.shape, block));
    comm::TWAIT(summary, given * call.shape.nranks, comm::WaitCmp::GE); // since the barrier, so
    pipe_barrier(PIPE_ALL);
    dsb(DSB_DDR);
    for (int i = 0; i < given; i++) {
        int number = gemm_first_given(call.shape, block) + i * call.shape.comm_blocks;
        int tile = gemm_owned_tile(call.shape, rank, number);
        gemm_box box = gemm_subtile_box(call.shape, tile, number % GEMM_SUBTILES);
        Matrix src = BoxAt(call, call.output, box);
        for (int step = 1; step < call.shape.nranks; step++) {
            int peer = (rank + step) % call.shape.nranks;
            Matrix dst = BoxAt(call, CommRemotePtr(call.ctx, call.output, peer), box);
            comm::TPUT(dst, src, call.ping, call.pong);
        }
    }
    pipe_barrier(PIPE_ALL);
}

__global__ AICORE void CommKernel(gemm_shape shape, __gm__ const CommDeviceContext *ctx,
                                  __gm__ half *partial, __gm__ half *output,
                                  __gm__ int32_t *signals, __gm__ MultiBlockQueueSet *queues,
                                  int patience)
{
    Communication call{shape, ctx, partial, output, signals};
    TASSIGN(call.ping, 0x0);
    TASSIGN(call.pong, MoveTile::bytes);
    ReduceScatter(call, queues, patience);
    PhaseBarrier(ctx, signals, 1);
    AllGather(call);
}

template <typename Launch> int Guarded(const Launch &launch)
{
    try {
        launch();
        return TERN_OK;
    } catch (const tern_refusal &refusal) {
        return refusal.status();
    }
}

} // namespace

int gemm_compute(tern_stream *stream, const struct gemm_args *args)
{
    return Guarded([&] {
        GemmKernel<<<args->shape.compute_blocks, nullptr, stream>>>(
            args->shape, static_cast<half *>(args->a), static_cast<half *>(args->b),
            static_cast<half *>(args->partial), args->queues);
    });
}

int gemm_communicate(tern_stream *stream, const struct gemm_args *args)
{
    return Guarded([&] {
        CommKernel<<<args->shape.comm_blocks, nullptr, stream>>>(args->shape, args->context,
                                                                 static_cast<half *>(args->partial),
                                                                 static_cast<half *>(args->output),
                                                                 args->signals, args->queues,
                                                                 args->patience);
    });
}
