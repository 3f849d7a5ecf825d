// SPDX-License-Identifier: Apache-2.0
// Memory that a process shows to others, in numbers that anybody may carry to them: a memfd, and
// the process that has it open. Who gets the numbers opens it through /proc, which needs neither a
// socket nor a thread that answers, and asks the kernel for no more than to read what that process
// is (ptrace's "read" access): processes of one user have it, also where Yama lets nobody attach to
// another process. Set-up path.
#ifndef TERN_BOOT_SHOWN_H
#define TERN_BOOT_SHOWN_H

#include <stdbool.h>
#include <stdint.h>

#include "sync/machines.h"

struct tern__shown {
    uint64_t machine;   // tern__machine_digest
    uint64_t pid_space; // what `pid` is a number of
    uint64_t started;   // when that process was
    uint64_t device;    // of the memory, with
    uint64_t inode;
    uint32_t user;
    int32_t pid;
    int32_t fd; // there
    uint32_t reserved;
    char machine_name[TERN__MACHINE_NAME_BYTES]; // for sentences
};

// What others need to know of a memfd of this process.
int tern__shown_fill(int fd, struct tern__shown *shown);

// Whether it is on this machine, or nothing tells (what opens it will say why).
bool tern__shown_is_here(const struct tern__shown *shown);

// Opens it: *fd is a descriptor of this process, and *pidfd tells when that process ends. Errors
// have a sentence that begins with `what`, the memory in words: it is on another machine, of
// another user or in another pid namespace (TERN_ERR_REFUSED); the process has ended
// (TERN_ERR_PEER), or has not got it open any more (TERN_ERR_LEFT).
int tern__shown_open(const struct tern__shown *shown, const char *what, int *fd, int *pidfd);

#endif
