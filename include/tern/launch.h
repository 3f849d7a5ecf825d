// SPDX-License-Identifier: Apache-2.0
// Starting a job on this machine, or on several: what `tern run` does, as a function.
#ifndef TERN_LAUNCH_H
#define TERN_LAUNCH_H

#include <stdbool.h>
#include <stdint.h>

#include "tern/api.h"
#include "tern/comm.h"

TERN_BEGIN_DECLS

typedef struct tern_launch_options {
    int nranks;         // 1..TERN_RANKS_MAX
    char *const *argv;  // program and arguments, NULL-terminated; found through PATH
    bool label;         // prefix every line of output with its rank
    int64_t timeout_ns; // end the job after this long; 0: never
    bool bind;          // each rank runs on one processor: tern_launch_bind(rank)
    const char *trace;  // write a trace of all ranks to this file (tern/trace.h); NULL: none
    const char *output; // a folder for what each rank writes: rank-0.log, …; NULL: no files
    const char *name;   // begins the lines that the launcher writes; NULL: "tern run"
    // Several machines: all that follows is NULL for this one alone.
    const char *hosts;        // "a:2,b:2": two ranks on a, two on b; nranks is 4 or 0
    const char *agent;        // what starts a command on a host; NULL: "ssh -x -o BatchMode=yes"
    const char *head_address; // where the hosts reach this process; NULL: TERN_NET_ADDRESS, or what
                              // its interfaces say
    char *const *env;         // NULL-terminated: NAME (its value here) or NAME=VALUE, for all ranks
} tern_launch_options;

// Starts nranks processes of a program, and returns when all have ended. Each finds its place in
// inherited descriptors and TERN_* variables (tern_init); RANK, WORLD_SIZE, LOCAL_RANK, MASTER_ADDR
// and MASTER_PORT are set for programs of PyTorch, unless the caller has them. Rank 0 reads the
// caller's standard input, the others /dev/null. If that is the terminal that controls the caller,
// rank 0 is in the caller's process group and can be a debugger. SIGINT, SIGTERM, SIGHUP, SIGQUIT,
// SIGUSR1 and SIGUSR2 are forwarded to all ranks; a first SIGINT, SIGTERM, SIGHUP or SIGQUIT ends
// the job within 1 s, a second one at once. SIGINT and SIGQUIT from the terminal are left to a rank
// 0 that handles them and has not called tern_init.
//
// A rank fails when its exit status is not 0, when a signal kills it, or when it ends after
// tern_init without tern_comm_destroy. The others then get errors from their tern calls; those that
// still run 0.6 s later get SIGTERM, and those that still run after 0.8 s get SIGKILL. One line on
// standard error says which rank ended how. A trace begins at tern_init and has what every rank has
// recorded until it ended, also when it was killed; of a thread at most 131072 events, fewer with
// more than 16 ranks; a line on standard error says how many more there were. When it cannot be
// written, *exit_status is 1 if it would be 0.
//
// *exit_status: 0, or that of the first rank that failed (128 + signal when it was killed; 1 when
// it left without tern_comm_destroy; 123 when all ended with 0 although a communicator had failed,
// which one line says; 124 after timeout_ns; 126 or 127 when the program cannot be executed or
// found; 128 + signal when the launcher was told to end by one; with `label`, 141 when nobody reads
// the output any more and 1 when it cannot be written). A signal that the caller ignores stays
// ignored. Nothing is left behind, also when the caller itself is killed: no process of the job, no
// file. When all ranks wait in tern and none goes on for TERN_STALL seconds (10), one line says so.
//
// With hosts, each entry of them is a machine of the job, also when two name one host. A command
// `tern` at the path of this one (or in PATH, where this program is not tern) is started on each by
// `agent HOST COMMAND WORDS...`, or as it is where no agent is given and HOST is this machine. The
// ranks get the working folder, the TERN_ variables and `env`; what they write goes to the caller's
// outputs, line by line. The caller's standard input goes to rank 0. A host that cannot be reached,
// that is gone, or that is silent for TERN_NET_TIMEOUT seconds (1) is a failure, of exit status 125
// at the start and 137 later. A trace is on the clock of this process's machine; a line on standard
// error for each host says how far its clock is from that, and how exactly this is known.
//
// For a process with a single thread that has no other children. Errors: TERN_ERR_ARG,
// TERN_ERR_SYSTEM; then nothing runs.
TERN_CALL int tern_launch(const tern_launch_options *options, int *exit_status);

// What tern_launch makes of `hosts`: how many ranks each machine has, from the one with rank 0 on.
// Returns how many machines there are; TERN_ERR_ARG.
TERN_CALL int tern_launch_hosts(const char *hosts, int counts[TERN_RANKS_MAX]);

// What tern_launch starts on each of several hosts: reads from standard input what to do.
// Errors as above.
TERN_CALL int tern_launch_branch(int *exit_status);

// Binds the calling thread, and what it starts from then on, to one of the processors it may run
// on: the one at `index`, from the lowest; beyond the last they are counted from the lowest again.
// So with more ranks than processors several share one. TERN_ERR_ARG (a negative index),
// TERN_ERR_SYSTEM.
TERN_CALL int tern_launch_bind(int index);

TERN_END_DECLS

#endif
