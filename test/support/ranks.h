// SPDX-License-Identifier: Apache-2.0
// Ranks for tests: forks real processes, gives them a place to meet, has a deadline of its own, and
// kills what is left. Nothing outlives ranks_end.
#ifndef TERN_TEST_RANKS_H
#define TERN_TEST_RANKS_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "tern/comm.h"

// For bodies of ranks: says what does not hold, with tern's last sentence, and fails the rank.
#define CHECK(condition)                                                                           \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "%s:%d: (process %d) does not hold: %s [%s]\n", __FILE__, __LINE__,    \
                    (int)getpid(), #condition, tern_last_error());                                 \
            return 1;                                                                              \
        }                                                                                          \
    } while (0)

// What is asserted to come soon: would take the default deadline of 60 s by itself, and may take
// seconds on a machine that is busy. How long it took is printed, not judged.
#define RANKS_SOON_NS INT64_C(30000000000)

#define RANKS_NOBODY INT_MAX

struct ranks {
    int count;
    const char *machines; // a letter for each rank; NULL: all are on one
    // A rank knows its own and those of lower ranks. Others are RANKS_NOBODY to it: no process is,
    // where to signal 0 would be to signal everybody in the process group, all tests among them.
    pid_t pids[TERN_RANKS_MAX];
    bool ended[TERN_RANKS_MAX];
    int statuses[TERN_RANKS_MAX];     // of waitpid, when ended
    int64_t ended_ns[TERN_RANKS_MAX]; // CLOCK_MONOTONIC
    char folder[64];                  // a fresh folder below /tmp
    char path[96];                    // a rendezvous path in it
};

typedef int (*rank_body)(int rank, const struct ranks *ranks, void *arg);

// Forks `count` ranks; each exits with what the body returns. TERN_TEST_MACHINES=2 in the
// environment spreads the ranks of every test over so many machines, which they take this one for.
void ranks_begin(struct ranks *ranks, int count, rank_body body, void *arg);

// Waits until all have ended, or kills them at the deadline. Returns true when all ended by
// themselves in time; statuses are filled in either way.
bool ranks_wait(struct ranks *ranks, double deadline_s);

// Removes the folder. Returns false, and says what, when something was left in it.
bool ranks_end(struct ranks *ranks);

// All of it: true when every body returned 0, in time, and nothing was left.
bool ranks_run(int count, rank_body body, void *arg, double deadline_s);

// For bodies of ranks that are on several machines, each with a letter: tern_init joins the job of
// all of them.
void ranks_place(const struct ranks *ranks, int rank, char machine);

// For bodies: joins with the default deadline, however long the start takes on a busy machine; what
// is waited for from then on has this one.
int ranks_join(int rank, const struct ranks *ranks, int64_t timeout_ns, tern_comm **comm);

// For bodies: waits until there is something at a path, and a little longer: a socket is there
// before somebody listens.
void ranks_await_file(const char *path);

// Waits until other users may make files in a folder.
void ranks_await_open_folder(const char *path);

// Memory that all ranks share which begin after it: zeros at first, and there until the test ends.
void *ranks_shared(size_t bytes);

// Waits until a number in it that they raise is so high.
void ranks_count_await(const _Atomic int *number, int least);

// For bodies: joins at a path, meets the others in a barrier and leaves. 0 when all is right.
int ranks_meet(int rank, int nranks, const char *path);

// The same with a communicator, made with tern_init_at and destroyed after the body; a body that
// returns 0 with a communicator that cannot be destroyed fails.
typedef int (*comm_body)(tern_comm *comm, void *arg);
bool ranks_run_comm(int count, comm_body body, void *arg, double deadline_s);

// The rank counts that multi-rank tests run with.
extern const int ranks_counts[6]; // 1, 2, 3, 5, 8, 16

// ranks_run_comm with each of them from `least` to `most`, until one is not right: that one is
// printed.
bool ranks_run_counts(int least, int most, comm_body body, void *arg, double deadline_s);

#endif
