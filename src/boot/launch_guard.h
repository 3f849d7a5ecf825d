// SPDX-License-Identifier: Apache-2.0
// The guardian of a launch: a process between the launcher and the ranks. It forks the ranks and
// reaps them, and whatever a rank leaves behind becomes its child (it is the subreaper), also what
// has left process group, session and environment of the job. When the launcher is gone, however it
// ended, the guardian kills all of that and ends.
//
// Should somebody kill the guardian itself, the kernel kills the ranks (they ask to die with it),
// and what they leave behind becomes the launcher's, which is a subreaper too. Only who kills both
// at once leaves to the kernel what is no rank.
//
// Set-up path: one packet each way for each event.
#ifndef TERN_BOOT_LAUNCH_GUARD_H
#define TERN_BOOT_LAUNCH_GUARD_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "tern/comm.h"

enum tern__guard_kind {
    // From the guardian.
    TERN__GUARD_STARTED, // rank, value: its process
    TERN__GUARD_FAILED,  // rank, value: the errno of its fork; no more ranks follow
    TERN__GUARD_ENDED,   // rank, value: its status, of waitpid
    TERN__GUARD_QUIET,   // nothing of the job lives any more
    // From the launcher.
    TERN__GUARD_SIGNAL_RANK,  // value: send this signal to the rank, if it runs
    TERN__GUARD_SIGNAL_GROUP, // value: or to all of the process group
    TERN__GUARD_END,          // kill everything, and end
};

// One packet of their socket (SOCK_SEQPACKET).
struct tern__guard_word {
    int32_t kind;
    int32_t rank;
    int32_t value;
};

// What the guardian knows of its ranks.
struct tern__guard {
    int fd; // its end of the socket
    int nranks;
    pid_t pids[TERN_RANKS_MAX]; // 0: not started, or reaped
    const char *mark;           // TERN_TOKEN=..., in the environment of all ranks
};

// False when the other side is gone.
bool tern__guard_tell(int fd, enum tern__guard_kind kind, int rank, int value);

// 1: a word; 0: none is there, without `wait`; -1: the other side is gone.
int tern__guard_hear(int fd, bool wait, struct tern__guard_word *word);

// The rest of the guardian's life, once it has started the ranks: in a process that blocks all
// signals, leads the process group of the job, and is a subreaper.
_Noreturn void tern__guard_keep(struct tern__guard *guard);

// Sends a signal (0: none) to each child of this process but the `spared`. Returns how many there
// are, or -1 when this kernel does not tell.
int tern__children_signal(const pid_t *spared, int nspared, int number);

// Kills and reaps all children of this process but the `spared`, also those that become its own
// meanwhile; gives up after 2 s, since a process in an uninterruptible wait dies only when the
// kernel lets it. SIGCHLD must be blocked. `reap` is called until it has nothing more to reap.
void tern__children_end(const pid_t *spared, int nspared, const char *mark, void (*reap)(void *arg),
                        void *arg);

// Sleeps until SIGCHLD, which must be blocked, or the deadline.
void tern__children_await(int64_t deadline_ns);

#endif
