// SPDX-License-Identifier: Apache-2.0
// For tests of global domains: a board that processes lay their descriptors on, as a program has
// its own means for that; and what they do in a domain. It is the only thing that they share.
#ifndef TERN_FACES_TEST_BOARD_H
#define TERN_FACES_TEST_BOARD_H

#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "comm.h"
#include "comm_context.h"
#include "support/ranks.h"
#include "tern/put.h"
#include "tern/signal.h"
#include "tern/status.h"
#include "tern/window.h"

struct board {
    _Atomic int given; // descriptors, by all ranks, so far
    _Atomic int met;
    _Atomic int over; // nobody waits any more: a rank has been killed
    CommGlobalDomainDescriptor descriptors[TERN_RANKS_MAX];
};

static inline int board_prepare(struct board *board, uint64_t id, int rank, int n, size_t bytes,
                                uint64_t *base)
{
    CommGlobalDomainDescriptor own;
    CHECK(comm_global_domain_prepare(id, (uint32_t)rank, (uint32_t)n, bytes,
                                     COMM_GLOBAL_DOMAIN_SIM_SHM, &own, base) == 0);
    board->descriptors[rank] = own;
    return 0;
}

// All have come here as often as this one. -1: the board is over.
static inline int board_await(struct board *board, _Atomic int *count, int n)
{
    int turn = (*count)++ / n;
    while (*count < (turn + 1) * n) {
        if (board->over) {
            return -1;
        }
        usleep(200);
    }
    return 0;
}

static inline int board_meet(struct board *board, int n)
{
    return board_await(board, &board->met, n);
}

// The descriptors of all. They are read before anybody lays the next ones there.
static inline int board_gather(struct board *board, int n, CommGlobalDomainDescriptor *all)
{
    if (board_await(board, &board->given, n) != 0) {
        return -1;
    }
    memcpy(all, board->descriptors, (size_t)n * sizeof *all);
    return board_meet(board, n);
}

static inline int board_import(uint64_t id, const CommGlobalDomainDescriptor *all, size_t n,
                               const CommContext **context)
{
    uint64_t address = 0;
    int status = comm_global_domain_import(id, all, n, &address);
    *context = (const CommContext *)(uintptr_t)address;
    return status;
}

// Every rank stores a number, by the context's rule for addresses, in the window of every other,
// and fetches its own from there; then all wait for all, asleep if it takes long. -1 with the first
// sentence.
static inline int board_exchange(const CommContext *context, int32_t round)
{
    uint32_t rank = context->rankId;
    int32_t n = (int32_t)context->rankNum;
    int32_t *own = (int32_t *)(uintptr_t)context->windowsIn[rank];
    int32_t value = (int32_t)rank + 100 * round;
    int32_t back = 0;
    tern_window *window = NULL;
    size_t offset;
    int member;
    for (uint32_t peer = 0; peer < context->rankNum; peer++) {
        const void *there = tern_context_remote(context, own + rank, peer);
        if (tern_window_find(there, &window, &member, &offset) != TERN_OK ||
            tern_put(window, member, offset, &value, sizeof value) != TERN_OK ||
            tern_get(window, member, offset, &back, sizeof back) != TERN_OK ||
            tern_signal_notify(window, member, 4096, 1, TERN_NOTIFY_ADD) != TERN_OK) {
            return -1;
        }
        CHECK(member == (int)peer && offset == 4 * rank && back == value);
    }
    if (tern_signal_wait(window, 4096, TERN_CMP_GE, n * round, TERN_TIMEOUT_DEFAULT) != TERN_OK) {
        return -1;
    }
    for (int32_t peer = 0; peer < n; peer++) {
        CHECK(own[peer] == peer + 100 * round);
    }
    for (int peer = 0; peer < n; peer++) { // all have looked
        if (tern_signal_notify(window, peer, 4160, 1, TERN_NOTIFY_ADD) != TERN_OK) {
            return -1;
        }
    }
    return tern_signal_wait(window, 4160, TERN_CMP_GE, n * round, TERN_TIMEOUT_DEFAULT) == TERN_OK
               ? 0
               : -1;
}

// A domain until it is imported: its window is zero before, may be filled, and stays where it is.
static inline int board_begin(struct board *board, uint64_t id, int rank, int n, size_t size,
                              const CommContext **context)
{
    CommGlobalDomainDescriptor all[TERN_RANKS_MAX];
    uint64_t base;
    CHECK(board_prepare(board, id, rank, n, size, &base) == 0);
    const unsigned char *bytes = (const unsigned char *)(uintptr_t)base;
    for (size_t i = 0; i < size; i++) {
        CHECK(bytes[i] == 0);
    }
    memset((void *)(uintptr_t)(base + 256), rank + 1, 16);
    CHECK(board_gather(board, n, all) == 0);
    CHECK(board_import(id, all, (size_t)n, context) == 0);
    CHECK((*context)->rankId == (uint32_t)rank && (*context)->rankNum == (uint32_t)n);
    CHECK((*context)->winSize == size && (*context)->windowsIn[rank] == base);
    CHECK(memcmp((*context)->windowsIn, (*context)->windowsOut, sizeof(*context)->windowsIn) == 0);
    return 0;
}

// As ranks_run, with two boards.
static inline bool board_run(int count, rank_body body, double deadline_s)
{
    return ranks_run(count, body, ranks_shared(2 * sizeof(struct board)), deadline_s);
}

#endif
