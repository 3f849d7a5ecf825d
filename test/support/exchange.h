// SPDX-License-Identifier: Apache-2.0
// Exchanges of every size between the ranks of a group, for tests of one machine and of several.
#ifndef TERN_TEST_EXCHANGE_H
#define TERN_TEST_EXCHANGE_H

#include <string.h>
#include <unistd.h>

#include "comm/comm.h"
#include "support/ranks.h"

static inline unsigned char exchange_content(int rank, int round, size_t i)
{
    return (unsigned char)((size_t)rank * 31 + (size_t)round * 7 + i * 13 + 1);
}

// `barriers` of them between exchanges, at most, so that cells of different meetings follow each
// other. 0: all was right.
static inline int exchange_all_sizes(tern_comm *comm, enum tern__meeting_kind meeting, int rounds,
                                     int barriers)
{
    struct tern__group *group = &comm->group;
    for (int round = 0; round < rounds; round++) {
        size_t size = (size_t)round % (TERN__CELL_BYTES + 1);
        unsigned char mine[TERN__CELL_BYTES];
        unsigned char all[TERN_RANKS_MAX * TERN__CELL_BYTES + 1];
        memset(all, 0x5a, sizeof all);
        for (size_t i = 0; i < size; i++) {
            mine[i] = exchange_content(group->rank, round, i);
        }
        CHECK(tern__group_exchange(group, meeting, mine, size, all) == TERN_OK);
        for (int rank = 0; rank < group->size; rank++) {
            for (size_t i = 0; i < size; i++) {
                CHECK(all[(size_t)rank * size + i] == exchange_content(rank, round, i));
            }
        }
        CHECK(all[(size_t)group->size * size] == 0x5a);
        for (int i = 0; i < round % (barriers + 1); i++) {
            CHECK(tern_comm_barrier(comm) == TERN_OK);
        }
    }
    return 0;
}

#endif
