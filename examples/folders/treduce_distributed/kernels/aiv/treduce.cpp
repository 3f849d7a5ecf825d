// SPDX-License-Identifier: Apache-2.0
// The root adds up the inputs of all ranks, of 256 numbers each: one TREDUCE, which reads the
// windows of the others. Arguments: input (in the window), output, ranks, root, context.
#include "pto/comm/pto_comm_inst.hpp"
#include "pto/pto-inst.hpp"

#include "comm_context.h"

using namespace pto;

constexpr int count = 256;
using Row = GlobalTensor<float, Shape<1, 1, 1, 1, count>, Stride<count, count, count, count, 1>>;
using RowTile = Tile<TileType::Vec, float, 1, count>;

extern "C" __aicore__ void kernel_entry(__gm__ int64_t *args)
{
    auto *input = reinterpret_cast<__gm__ float *>(args[0]);
    auto *output = reinterpret_cast<__gm__ float *>(args[1]);
    int nranks = static_cast<int>(args[2]);
    int root = static_cast<int>(args[3]);
    auto *context = reinterpret_cast<__gm__ CommDeviceContext *>(args[4]);

    if (static_cast<int>(context->rankId) == root) {
        Row rows[COMM_MAX_RANK_NUM];
        for (int rank = 0; rank < nranks; rank++) {
            rows[rank] = Row(CommRemotePtr(context, input, rank));
        }
        comm::ParallelGroup<Row> group(rows, nranks, root);
        Row sum(output);
        RowTile accumulator, received;
        TASSIGN(accumulator, 0x0);
        TASSIGN(received, 0x10000);
        comm::TREDUCE(group, sum, accumulator, received, comm::ReduceOp::Sum);
    }
    pipe_barrier(PIPE_ALL);
}
