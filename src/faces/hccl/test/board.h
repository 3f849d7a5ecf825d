// SPDX-License-Identifier: Apache-2.0
// For tests of HCCL on several machines, which are words of TERN_MACHINE: where ranks are, what
// they share, and a call that they check.
#ifndef TERN_FACES_HCCL_TEST_BOARD_H
#define TERN_FACES_HCCL_TEST_BOARD_H

#include "faces/hccl/test/kit.h"

enum { BOARD_N = 700 };

// Of all ranks: the root info, which `maker` makes.
struct board {
    HcclRootInfo info;
    _Atomic int made, begun, ended;
    int maker, victim, machines;
};

KIT HcclResult board_sum(HcclComm comm, float *in, float *out)
{
    return HcclAllReduce(in, out, BOARD_N, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_SUM, comm, NULL);
}

KIT int board_sums_are_right(HcclComm comm, int base)
{
    float in[BOARD_N], out[BOARD_N];
    int n = hccl_size_of(comm);
    for (int i = 0; i < BOARD_N; i++) {
        in[i] = (float)(hccl_rank_of(comm) + base + i);
    }
    CHECK(board_sum(comm, in, out) == HCCL_SUCCESS);
    for (int i = 0; i < BOARD_N; i++) {
        int right = n * (n - 1) / 2 + n * (base + i);
        CHECK(out[i] == (float)right);
    }
    return 0;
}

// Ranks 0, 2, … on one machine, the others on another one; or on so many.
KIT void board_place(int rank, int machines)
{
    const char name[] = {(char)('a' + rank % (machines > 0 ? machines : 2)), '\0'};
    setenv("TERN_MACHINE", name, 1);
    setenv("HCCL_IF_IP", "127.0.0.1", 1);
    setenv("TERN_NET_ADDRESS", "127.0.0.1", 1);
    setenv("TERN_NET_TIMEOUT", "60", 0); // this box may be so busy that a second is nothing
}

KIT bool board_make(struct board *board)
{
    bool made = HcclGetRootInfo(&board->info) == HCCL_SUCCESS;
    board->made = 1;
    return made;
}

// In a rank: in its place, and with the root info.
KIT bool board_take(struct board *board, int rank)
{
    board_place(rank, board->machines);
    bool right = rank != board->maker || board_make(board);
    ranks_count_await(&board->made, 1);
    return right;
}

#endif
