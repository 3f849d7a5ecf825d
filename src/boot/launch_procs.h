// SPDX-License-Identifier: Apache-2.0
// The processes of a launch as the launcher sees them: the guardian (boot/launch_guard.h), the
// ranks, and what they leave behind.
//
// All of them are in one process group, but for a rank 0 that has the terminal. Its leader is the
// guardian, so the id of the group stays valid for as long as the guardian lives. It does what
// needs the parent of the ranks; only when somebody has killed it, the launcher does that itself.
// Set-up path.
#ifndef TERN_BOOT_LAUNCH_PROCS_H
#define TERN_BOOT_LAUNCH_PROCS_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "boot/launch_signals.h"
#include "tern/comm.h"

#define TERN__EARLIER_CHILDREN_MAX 256

struct tern__hub;
struct tern__labels;
struct tern__traces;

struct tern__procs {
    int nranks;                 // of the job
    int first, count;           // those that are started here
    int running;                // ranks that are not reaped yet
    pid_t pids[TERN_RANKS_MAX]; // 0: not started, or reaped
    int status[TERN_RANKS_MAX]; // of waitpid, once reaped
    pid_t guardian;             // 0: none, or reaped
    pid_t group;
    bool terminal; // rank 0 has it, and is in the launcher's process group, not in that of the job
    int guard_fd;  // the socket to the guardian; -1: it is gone. Readable: call tern__procs_reap
    bool quiet;    // the guardian has nothing left to watch
    bool ending;   // the guardian was told to end
    bool orphaned; // somebody has killed the guardian, and so the ranks
    int exec_fd;   // what tern__exec_failure reads; -1: at its end
    int port_fd;   // keeps MASTER_PORT for rank 0; -1: nothing does
    char mark[64]; // TERN_TOKEN=..., which all processes of the job inherit
    // Children that this process had before, through an exec (a shell's `> >(tee log)`).
    int nearlier;
    pid_t earlier[TERN__EARLIER_CHILDREN_MAX];
};

struct tern__procs_plan {
    int nranks;       // of the job
    int first, count; // those to be started here
    bool listens;     // others are elsewhere, and connect to them
    const char *path; // of the program
    char *const *argv;
    uint8_t token[16];
    struct tern__hub *hub;       // gets a socket to every rank
    struct tern__labels *labels; // NULL: the ranks write to where the launcher writes
    bool bind;                   // each rank to a processor of its own: the first to the first
    struct tern__traces *traces; // NULL: the ranks record nothing
    const struct tern__signals *signals;
};

// Finds a program as execvp does. Returns 0 and its path, or an errno: ENOENT when there is none,
// EACCES or EISDIR when what there is cannot be executed.
int tern__program_find(const char *name, char path[PATH_MAX]);

// Whether NAME=VALUE is one of the variables that a rank gets from its launcher alone.
bool tern__procs_own_variable(const char *variable);

// Lists the children that this process has before it starts any. False when there are too many.
bool tern__procs_list_earlier(struct tern__procs *procs);

// Starts the guardian and all ranks. On failure too, tern__procs_end must follow.
int tern__procs_start(struct tern__procs *procs, const struct tern__procs_plan *plan);

// The errno of the first exec that failed, or 0. Call when exec_fd is readable.
int tern__procs_exec_failure(struct tern__procs *procs);

// To every process of the group, as a terminal would; to the ranks alone; or to one that runs.
void tern__procs_signal_group(struct tern__procs *procs, int number);
void tern__procs_signal_ranks(struct tern__procs *procs, int number);
void tern__procs_signal_rank(struct tern__procs *procs, int rank, int number);

// Learns what has ended. Returns how many ranks were among it, and which.
int tern__procs_reap(struct tern__procs *procs, int ended[TERN_RANKS_MAX]);

// True while something lives that an ended rank has left behind.
bool tern__procs_left_behind(const struct tern__procs *procs);

// Kills and reaps everything that is left of the job, the guardian last.
void tern__procs_end(struct tern__procs *procs);

#endif
