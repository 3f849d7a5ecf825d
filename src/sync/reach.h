// SPDX-License-Identifier: Apache-2.0
// The ordinary memory of another rank: read with process_vm_readv, one copy and nobody's help.
// Who may read whom is found out when a rank joins its job, and shown in the control memory before
// any communicator exists; it never changes, so all ranks know the same.
//
// Between processes of one user the kernel asks two more questions. Both must be dumpable, as
// programs are; and where the Yama rule is on (ptrace_scope 1), the one that is read must have
// named who may read it: a process, with all that it starts. Under tern run that is the launcher,
// hence the ranks of this job and nobody else. Ranks that meet at a path may have no ancestor in
// common, or one that ends before them; they name any process of their user, which is the rule of
// a machine without Yama.
#ifndef TERN_SYNC_REACH_H
#define TERN_SYNC_REACH_H

#include <stdbool.h>
#include <stdint.h>

#include "sync/group.h"

// The bytes of one system call, at most (of more than two ranks fewer: reach.c). Of 1 MiB each,
// copies took up to 15 % longer; the end of the owner is noticed between two, and 16 MiB take some
// milliseconds.
#define TERN__REACH_PIECE (UINT64_C(16) << 20)

// Before this process shows itself to others: lets the ranks read its memory. launcher: the process
// that has started all of them, or 0. Nothing with TERN_DIRECT=off.
void tern__reach_allow(int launcher);

// When all ranks have done that: tries each of them and shows the result. Set-up path.
void tern__reach_probe(struct tern__job *job);

// Whether ranks of this process's jobs may be expected to read each other's memory: nobody has said
// no so far.
bool tern__reach_hoped(void);

// Whether each rank of the group may read the memory of each other one; the same on all ranks.
bool tern__reach_all(const struct tern__group *group);

// Whether this rank and another may read each other's memory.
bool tern__reach_both(const struct tern__group *group, int rank);

// Why bytes could not be read.
struct tern__unread {
    int rank;      // whose they are
    int error;     // an errno
    uint64_t from; // where, in that process
};

// Copies what another rank has at an address of its own, piece by piece; whoever it is must be
// waiting for this. Data path: system calls, and no lock, allocation or log.
bool tern__reach_read(const struct tern__group *group, int rank, char *to, uint64_t from,
                      uint64_t bytes, struct tern__unread *unread);

// The two halves of it, for who reads in blocks: copies; and says, after the last of them, whether
// they count: a process number means the same process as long as that has not ended.
bool tern__reach_copy(const struct tern__group *group, int rank, char *to, uint64_t from,
                      uint64_t bytes, struct tern__unread *unread);
bool tern__reach_counts(const struct tern__group *group, int rank, uint64_t from,
                        struct tern__unread *unread);

// Whether the process of a rank has ended.
bool tern__reach_has_ended(const struct tern__group *group, int rank);

// Writes into what another rank has at an address of its own; whoever it is must be waiting for
// this. False when that cannot be done, and something may have been written.
bool tern__reach_write(const struct tern__group *group, int rank, uint64_t to, const char *from,
                       uint64_t bytes);

// Fails the group for it: TERN_ERR_PEER when the other rank has died; TERN_ERR_ARG when one of the
// two buffers is no memory of its owner. `what` begins that sentence: the call.
int tern__reach_fail(struct tern__group *group, const struct tern__unread *unread,
                     const char *what);

#endif
