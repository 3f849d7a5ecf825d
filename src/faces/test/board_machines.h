// SPDX-License-Identifier: Apache-2.0
// For tests of global domains on several machines, which are words of TERN_MACHINE: boards, and
// where each rank is.
#ifndef TERN_FACES_TEST_BOARD_MACHINES_H
#define TERN_FACES_TEST_BOARD_MACHINES_H

#include <dirent.h>
#include <stdlib.h>

#include "faces/test/board.h"

struct lab {
    char layout[TERN_RANKS_MAX + 1]; // a letter for each rank: its machine
    struct board boards[4];
};

static inline struct lab *lab_make(const char *layout)
{
    struct lab *lab = ranks_shared(sizeof *lab);
    strcpy(lab->layout, layout);
    return lab;
}

// For bodies of ranks.
static inline void lab_place(const struct lab *lab, int rank)
{
    const char name[] = {lab->layout[rank], '\0'};
    setenv("TERN_MACHINE", name, 1);
    setenv("TERN_NET_ADDRESS", "127.0.0.1", 1);
    setenv("TERN_NET_TIMEOUT", "60", 1); // this box may be so busy that a second is nothing
}

static inline bool lab_is_here(const struct lab *lab, int rank, int other)
{
    return lab->layout[rank] == lab->layout[other];
}

static inline bool lab_run(const char *layout, rank_body body)
{
    bool right = ranks_run((int)strlen(layout), body, lab_make(layout), 60);
    if (!right) {
        fprintf(stderr, "on machines %s\n", layout);
    }
    return right;
}

// Prepares, and has the descriptors of all.
static inline int lab_prepare(struct board *board, uint64_t id, int rank, int n, size_t bytes,
                              CommGlobalDomainDescriptor *all)
{
    uint64_t base;
    CHECK(board_prepare(board, id, rank, n, bytes, &base) == 0);
    return board_gather(board, n, all);
}

static inline int lab_threads(void)
{
    int count = 0;
    DIR *tasks = opendir("/proc/self/task");
    for (const struct dirent *entry; tasks != NULL && (entry = readdir(tasks)) != NULL;) {
        count += entry->d_name[0] != '.';
    }
    if (tasks != NULL) {
        closedir(tasks);
    }
    return count;
}

// Whether this process has no other thread: one that was joined may be seen for a moment more.
static inline bool lab_is_alone(void)
{
#ifdef __SANITIZE_THREAD__
    return true; // the sanitizer has one of its own, from the first on
#endif
    for (int i = 0; i < 5000 && lab_threads() != 1; i++) {
        usleep(1000);
    }
    return lab_threads() == 1;
}

#endif
