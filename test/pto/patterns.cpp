// SPDX-License-Identifier: Apache-2.0
// Whole kernels, as operators are built of them: an all-reduce of puts that add and of puts, the
// same of loads and stores with flags, and computation that hands finished tiles to communication
// through queues while both run.

#include "pto/comm/pto_comm_inst.hpp"
#include "pto/pto-inst.hpp"

#include "common.hpp"

using namespace pto;

constexpr int ROWS = 16, COLUMNS = 64, TILE = ROWS * COLUMNS, TILES = 29, COMPUTE = 3, COMM = 2;
constexpr size_t SIGNALS = 0, QUEUES = 4096, INPUT = size_t{1} << 20, OUTPUT = size_t{2} << 20;

using Part = GlobalTensor<half, Shape<1, 1, 1, ROWS, COLUMNS>, Stride<TILE, TILE, TILE, COLUMNS, 1>,
                          Layout::ND>;
using TileData = Tile<TileType::Vec, half, ROWS, COLUMNS, BLayout::RowMajor, -1, -1>;

// Signals: [0, MAX_RANKS) counters of phases, of which rank r writes number r; then the flag of
// this rank, then the arrivals of its blocks. All count up.
AICORE void PhaseBarrier(__gm__ int32_t *signals, __gm__ CommDeviceContext *ctx, int32_t phase)
{
    int me = int(ctx->rankId), n = int(ctx->rankNum);
    int32_t blocks = int32_t(get_block_num());
    comm::Signal flag(signals + MAX_RANKS), arrivals(signals + MAX_RANKS + 1);
    pipe_barrier(PIPE_ALL);
    dsb(DSB_DDR);
    if (get_block_idx() != 0) {
        comm::TNOTIFY(arrivals, 1, comm::NotifyOp::AtomicAdd);
        comm::TWAIT(flag, phase, comm::WaitCmp::GE);
        pipe_barrier(PIPE_ALL);
        return;
    }
    if (blocks > 1) {
        comm::TWAIT(arrivals, phase * (blocks - 1), comm::WaitCmp::GE);
    }
    pipe_barrier(PIPE_ALL);
    for (int step = 0; step < n - 1; step++) {
        int peer = (me + 1 + (me + step) % (n - 1)) % n;
        comm::Signal remote(CommRemotePtr(ctx, signals + me, peer));
        comm::TNOTIFY(remote, 1, comm::NotifyOp::AtomicAdd);
    }
    for (int peer = 0; peer < n; peer++) {
        comm::Signal slot(signals + peer);
        if (peer != me) {
            comm::TWAIT(slot, phase, comm::WaitCmp::GE);
        }
    }
    comm::TNOTIFY(flag, phase, comm::NotifyOp::Set);
    pipe_barrier(PIPE_ALL);
}

template <bool BY_STORES>
AICORE void AddToOwner(__gm__ half *dst, __gm__ half *src, TileData &ping, TileData &pong, int step)
{
    Part to(dst), from(src);
    if constexpr (BY_STORES) {
        TileData &current = step % 2 == 0 ? ping : pong;
        event_t event = step % 2 == 0 ? EVENT_ID0 : EVENT_ID1;
        TLOAD(current, from);
        set_flag(PIPE_MTE2, PIPE_MTE3, event);
        wait_flag(PIPE_MTE2, PIPE_MTE3, event);
        TSTORE_IMPL<TileData, Part, AtomicType::AtomicAdd>(to, current);
        set_flag(PIPE_MTE3, PIPE_MTE2, event);
        wait_flag(PIPE_MTE3, PIPE_MTE2, event);
    } else {
        comm::TPUT<AtomicType::AtomicAdd>(to, from, ping, pong);
    }
}

template <bool BY_STORES>
AICORE void SendToAll(__gm__ half *data, __gm__ CommDeviceContext *ctx, TileData &ping,
                      TileData &pong)
{
    for (int step = 1; step < int(ctx->rankNum); step++) {
        int peer = (int(ctx->rankId) + step) % int(ctx->rankNum);
        Part to(CommRemotePtr(ctx, data, peer)), from(data);
        if constexpr (BY_STORES) {
            TLOAD(ping, from);
            set_flag(PIPE_MTE2, PIPE_MTE3, EVENT_ID0);
            wait_flag(PIPE_MTE2, PIPE_MTE3, EVENT_ID0);
            TSTORE_IMPL<TileData, Part, AtomicType::AtomicNone>(to, ping);
            set_flag(PIPE_MTE3, PIPE_MTE2, EVENT_ID0);
            wait_flag(PIPE_MTE3, PIPE_MTE2, EVENT_ID0);
        } else {
            comm::TPUT(to, from, ping, pong);
        }
    }
}

// Tile t belongs to rank t mod n. Blocks share the tiles.
template <bool BY_STORES>
__global__ AICORE void AllReduceKernel(__gm__ half *input, __gm__ half *output,
                                       __gm__ int32_t *signals, __gm__ CommDeviceContext *ctx)
{
    int me = int(ctx->rankId), n = int(ctx->rankNum);
    int block = int(get_block_idx()), blocks = int(get_block_num());
    TileData ping(ROWS, COLUMNS), pong(ROWS, COLUMNS);
    TASSIGN(ping, 0x0);
    TASSIGN(pong, 0x10000);
    for (int tile = block, step = 0; tile < TILES; tile += blocks, step++) {
        AddToOwner<BY_STORES>(CommRemotePtr(ctx, output + tile * TILE, tile % n),
                              input + tile * TILE, ping, pong, step);
    }
    PhaseBarrier(signals, ctx, 1);
    for (int tile = block; tile < TILES; tile += blocks) {
        if (tile % n == me) {
            SendToAll<BY_STORES>(output + tile * TILE, ctx, ping, pong);
        }
    }
    PhaseBarrier(signals, ctx, 2);
}

// One per block that computes: it enqueues, one block that communicates dequeues.
struct alignas(64) Queue {
    volatile int32_t tail, count;
    int32_t capacity, block, pad[4];
    int32_t data[24];
};

__global__ AICORE void ComputeKernel(__gm__ half *input, __gm__ Queue *queues, int32_t rank)
{
    __gm__ Queue *queue = queues + get_block_idx();
    TileData tile(ROWS, COLUMNS);
    TASSIGN(tile, 0x0);
    for (int at = int(get_block_idx()), slot = 0; at < TILES; at += COMPUTE, slot++) {
        Part to(input + at * TILE);
        TEXPANDS(tile, half(at % 7 + rank));
        TSTORE(to, tile);
        pipe_barrier(PIPE_ALL);
        queue->data[slot] = at;
        dcci(&queue->data[slot], cache_line_t::SINGLE_CACHE_LINE);
        queue->tail = slot + 1;
        queue->count = slot + 1;
        dcci(const_cast<int32_t *>(&queue->count), cache_line_t::SINGLE_CACHE_LINE);
    }
}

__global__ AICORE void CommKernel(__gm__ half *input, __gm__ half *output, __gm__ Queue *queues,
                                  __gm__ int32_t *signals, __gm__ CommDeviceContext *ctx)
{
    int block = int(get_block_idx()), n = int(ctx->rankNum);
    int32_t head[COMPUTE] = {};
    int left = 0;
    TileData ping(ROWS, COLUMNS), pong(ROWS, COLUMNS);
    TASSIGN(ping, 0x0);
    TASSIGN(pong, 0x10000);
    for (int tile = 0; tile < TILES; tile++) {
        left += tile % COMPUTE % COMM == block;
    }
    for (int q = block; left > 0; q = q + COMM < COMPUTE ? q + COMM : block) {
        comm::Signal count(const_cast<int32_t *>(&queues[q].count));
        if (comm::TTEST(count, head[q] + 1, comm::WaitCmp::GE)) {
            dcci(&queues[q].data[head[q]], cache_line_t::SINGLE_CACHE_LINE);
            int tile = queues[q].data[head[q]++];
            AddToOwner<false>(CommRemotePtr(ctx, output + tile * TILE, tile % n),
                              input + tile * TILE, ping, pong, 0);
            left--;
        }
    }
    PhaseBarrier(signals, ctx, 1);
    for (int tile = block; tile < TILES; tile += COMM) {
        if (tile % n == int(ctx->rankId)) {
            SendToAll<false>(output + tile * TILE, ctx, ping, pong);
        }
    }
    PhaseBarrier(signals, ctx, 2);
}

void ExpectSums()
{
    SyncAll();
    int n = job.n;
    ExpectAll("sums", Window<half>(OUTPUT), size_t{TILES} * TILE, [n](int64_t i) {
        return int(n * (i / TILE % 7) + n * (n - 1) / 2); // small integers: exact in any order
    });
}

template <bool BY_STORES, int BLOCKS> void AllReduce()
{
    job.used = WINDOW_BYTES - FREE_BYTES;
    for (int i = 0; i < TILES * TILE; i++) {
        Window<half>(INPUT)[i] = half(i / TILE % 7 + job.me);
    }
    AllReduceKernel<BY_STORES><<<BLOCKS, nullptr, job.stream>>>(Window<half>(INPUT),
                                                                Window<half>(OUTPUT),
                                                                Window<int32_t>(SIGNALS), job.ctx);
    ExpectSums();
}

// The kernel that communicates is launched first, so it must not be in the way of the other.
template <bool AT_ONCE> void Overlapped()
{
    job.used = WINDOW_BYTES - FREE_BYTES;
    aclrtStream other = nullptr;
    CHECK(aclrtCreateStream(&other) == ACL_SUCCESS);
    Queue *queues = Window<Queue>(QUEUES);
    if (!AT_ONCE) {
        ComputeKernel<<<COMPUTE, nullptr, other>>>(Window<half>(INPUT), queues, job.me);
        CHECK(aclrtSynchronizeStream(other) == ACL_SUCCESS);
    }
    CommKernel<<<COMM, nullptr, job.stream>>>(Window<half>(INPUT), Window<half>(OUTPUT), queues,
                                              Window<int32_t>(SIGNALS), job.ctx);
    if (AT_ONCE) {
        ComputeKernel<<<COMPUTE, nullptr, other>>>(Window<half>(INPUT), queues, job.me);
    }
    ExpectSums();
    CHECK(aclrtDestroyStream(other) == ACL_SUCCESS);
}

static const Case cases[] = {
    {"all-reduce by puts, one block", 0, AllReduce<false, 1>},
    {"all-reduce by puts", 0, AllReduce<false, 3>},
    {"all-reduce by stores, one block", 0, AllReduce<true, 1>},
    {"all-reduce by stores", 0, AllReduce<true, 4>},
    {"one after the other", 0, Overlapped<false>},
    {"overlapped", 0, Overlapped<true>},
};

int main(int argc, char **argv)
{
    return RUN_CASES("patterns", cases, argc, argv);
}
