// SPDX-License-Identifier: Apache-2.0
// Pools from inside: what is where in a rank's memory, and what a rank has of the others while it
// joins.
#ifndef TERN_COMM_POOL_STATE_H
#define TERN_COMM_POOL_STATE_H

#include "comm/checking.h"
#include "comm/pool.h"

#define TERN__POOL_MAGIC 0x6c6f6f70u // "pool"

struct tern__pool_head {
    uint32_t magic;
    uint32_t abi;
    uint8_t token[16];
    uint64_t id;
    uint32_t rank;
    uint32_t nranks;
    uint64_t window_bytes;
    uint32_t checks; // 1: TERN_ISA_CHECK was set
    uint32_t reserved;
    // Of rank 0's: what each rank's memory is, by those who have joined. 0: nobody has.
    _Atomic uint64_t roster[TERN_RANKS_MAX];
};

// Where what begins in a rank's memory.
size_t tern__pool_ctl_begin(void);
size_t tern__pool_watch_begin(void);
size_t tern__pool_watch_bytes(void);
size_t tern__pool_part_begin(void);

// What a rank has of the others while it joins.
struct tern__joining {
    struct tern__pool *pool;
    const struct tern__pool_card *cards;
    const struct tern__machines *machines; // NULL: all are on one
    struct tern__job *job;
    struct tern__pool_head *first; // rank 0's; on one machine
    char *watch;                   // in checking mode: the parts of tern__watch_part
    bool entered;                  // the job, which it leaves when it gives up
};

// pool_take.c. Makes the job, without control memory, and maps the parts of the ranks here.
int tern__pool_take(struct tern__joining *joining);

// The communicator, and the window of what is mapped.
int tern__pool_make_comm(const struct tern__joining *joining);
int tern__pool_make_window(const struct tern__joining *joining);

// The ranks of the job count as alive.
void tern__pool_count_alive(const struct tern__joining *joining);

// Why ranks that differ in these cannot be in one pool; TERN_OK when they do not.
int tern__pool_compare(const struct tern__pool *pool, int rank, uint64_t window_bytes,
                       uint32_t checks);

// pool_far.c. All of it, for ranks on several machines.
int tern__pool_join_far(struct tern__joining *joining);

#endif
