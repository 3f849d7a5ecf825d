// SPDX-License-Identifier: Apache-2.0
// The MPIs that `tern perf --compare` measures beside tern: a program of ours is compiled with each
// one's mpicc, started once, and asked for one measurement at a time. Between questions its ranks
// sleep in a read. Only rank 0 has peers. Nothing of them is left in the file system while they
// run.
#ifndef TERN_CLI_PERF_PEERS_H
#define TERN_CLI_PERF_PEERS_H

#include <sys/types.h>

#include "perf/perf.h"

struct perf_system {
    const char *word, *title; // "openmpi", "Open MPI"
    const char *compiler, *launcher, *package;
    const char *options[4]; // of the launcher, NULL-terminated
    bool for_root;          // the first option only when we are root
};

extern const struct perf_system perf_systems[PERF_PEERS];

struct perf_peer {
    const struct perf_system *system; // NULL: not prepared
    int nranks;                       // 0: not running
    int restart_nranks;      // stopped because it was too slow: start it again with so many
    bool busy;               // has a question and no answer
    int fds[PERF_RANKS_MAX]; // a socket to each rank, -1
    pid_t launcher, pids[PERF_RANKS_MAX];
    int output_fd;  // what it has printed
    char said[160]; // why the last question was not answered: it is said once
};

// The index of a peer's word, -1 when there is none.
int perf_peer_of(const char *word);

// Compiles and starts the peers that are asked for. 0, or -1 after a sentence.
int perf_peers_start(struct perf_peer peers[PERF_PEERS], const bool wanted[PERF_PEERS], int nranks);
void perf_peers_stop(struct perf_peer peers[PERF_PEERS]);
int perf_peer_start(struct perf_peer *peer, int nranks);
void perf_peer_stop(struct perf_peer *peer);

// Names the folders that the MPIs of this process and of those it starts will use; removes them.
void perf_folders_name(void);
void perf_folders_remove(void);

// Whether the launcher has ended, or does within this time.
bool perf_peer_ended(struct perf_peer *peer, int within_ms);

// The last part of what it has printed, as one line.
void perf_peer_printed(const struct perf_peer *peer, char *text, size_t size);

struct perf_question {
    enum perf_kind kind;
    uint64_t total;
    const char *dtype, *op;
    int root;
    bool in_place;
    bool instant;  // all begin at one, not after a barrier
    bool malloced; // buffers lie where malloc says; else each begins with a page, as windows do
    long warmup, iterations;
    long together, nbuffers; // calls between two beginnings; pairs of buffers in turn
    double budget_us;        // of its time; iterations that do not fit are left out, down to 3
};

enum perf_answer {
    PERF_ANSWERED,
    PERF_NOT_THERE, // the peer has no such thing; a sentence has said so once
    PERF_TOO_SLOW,  // not within a minute; it has been stopped, and is started again when needed
    PERF_FAILED,    // after a sentence
};

// time->iterations is 0 unless it has answered.
enum perf_answer perf_peer_ask(struct perf_peer *peer, const struct perf_question *question,
                               struct perf_time *time);

#endif
