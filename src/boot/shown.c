// SPDX-License-Identifier: Apache-2.0
// Memory of other processes, by numbers. Numbers are used again, of processes and of descriptors:
// so the process is held by a pidfd before its time of start is compared, and the file by its inode
// before it is opened, since opening another one might have an effect.

#include "boot/shown.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/error.h"
#include "base/process.h"
#include "boot/exchange.h"
#include "boot/peer.h"

// Whether numbers of processes are in /proc what they are to this process: it may be of the pid
// namespace above.
static bool is_in_proc(void)
{
    char number[24] = "";
    char own[24];
    snprintf(own, sizeof own, "%d", (int)getpid());
    return readlink("/proc/self", number, sizeof number - 1) > 0 && strcmp(number, own) == 0;
}

int tern__shown_fill(int fd, struct tern__shown *shown)
{
    struct stat memory;
    struct tern__process self;
    *shown = (struct tern__shown){.pid_space = tern__pid_space(),
                                  .user = (uint32_t)geteuid(),
                                  .pid = (int32_t)getpid(),
                                  .fd = fd};
    TERN_TRY(tern__machine_digest(&shown->machine));
    if (fstat(fd, &memory) != 0) {
        return tern__fail_errno(TERN_ERR_SYSTEM, "fstat of shared memory");
    }
    if (shown->pid_space == 0 || !is_in_proc() || !tern__process_look(shown->pid, &self)) {
        return tern__fail(TERN_ERR_SYSTEM,
                          "/proc does not show process %d, which this is, so no other one "
                          "would find its memory there",
                          (int)shown->pid);
    }
    shown->device = (uint64_t)memory.st_dev;
    shown->inode = (uint64_t)memory.st_ino;
    shown->started = self.started;
    tern__machine_name(shown->machine_name);
    return TERN_OK;
}

bool tern__shown_is_here(const struct tern__shown *shown)
{
    uint64_t here;
    return tern__machine_digest(&here) != TERN_OK || shown->machine == here;
}

static int check_place(const struct tern__shown *shown, const char *what)
{
    char words[160];
    uint64_t digest;
    TERN_TRY(tern__machine_digest(&digest));
    if (shown->machine != digest) {
        char here[TERN__MACHINE_NAME_BYTES];
        tern__machine_name(here);
        return tern__fail(TERN_ERR_REFUSED,
                          "%s is on another machine (it is '%.63s' there, '%s' here; "
                          "another network namespace counts as one)",
                          what, shown->machine_name, here);
    }
    snprintf(words, sizeof words, "%s, of process %d,", what, (int)shown->pid);
    TERN_TRY(tern__user_check(shown->user, words));
    if (shown->pid_space != tern__pid_space()) {
        return tern__fail(TERN_ERR_REFUSED,
                          "%s is in another pid namespace, as of a container: the number of its "
                          "process, %d, means another one here. Processes in one pid namespace "
                          "reach each other",
                          what, (int)shown->pid);
    }
    if (shown->pid <= 0 || shown->fd < 0) {
        return tern__fail(TERN_ERR_ARG, "%s would be of process %d, as its descriptor %d", what,
                          (int)shown->pid, (int)shown->fd);
    }
    return TERN_OK;
}

static bool has_ended(int pidfd)
{
    struct pollfd look = {.fd = pidfd, .events = POLLIN};
    return poll(&look, 1, 0) != 0;
}

static int fail_ended(const struct tern__shown *shown, const char *what)
{
    return tern__fail(TERN_ERR_PEER, "%s is gone: its process, %d, has ended", what,
                      (int)shown->pid);
}

// errno of a look at its open files.
static int fail_look(const struct tern__shown *shown, const char *what)
{
    if (errno == ENOENT || errno == ESRCH) {
        return tern__fail(TERN_ERR_LEFT, "%s is gone: process %d has released it", what,
                          (int)shown->pid);
    }
    if (errno == EACCES || errno == EPERM) {
        return tern__fail(TERN_ERR_REFUSED,
                          "%s cannot be opened: the kernel does not let this process look at the "
                          "files of process %d (it has more rights, or is not dumpable)",
                          what, (int)shown->pid);
    }
    return tern__fail_errno(TERN_ERR_SYSTEM, "%s cannot be opened", what);
}

static int open_memory(const struct tern__shown *shown, const char *what, int *fd)
{
    char path[64];
    struct stat memory;
    snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)shown->pid, (int)shown->fd);
    if (stat(path, &memory) != 0) {
        return fail_look(shown, what);
    }
    if ((uint64_t)memory.st_dev != shown->device || (uint64_t)memory.st_ino != shown->inode ||
        !S_ISREG(memory.st_mode)) {
        errno = ENOENT; // the descriptor is of something else
        return fail_look(shown, what);
    }
    TERN_TRY(tern__user_check(memory.st_uid, what)); // what was told of it may be wrong
    int opened = open(path, O_RDWR | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (opened < 0) {
        return fail_look(shown, what);
    }
    if (fstat(opened, &memory) != 0 || (uint64_t)memory.st_ino != shown->inode ||
        (uint64_t)memory.st_dev != shown->device) {
        close(opened);
        errno = ENOENT;
        return fail_look(shown, what);
    }
    *fd = opened;
    return TERN_OK;
}

int tern__shown_open(const struct tern__shown *shown, const char *what, int *fd, int *pidfd)
{
    struct tern__process process;
    TERN_TRY(check_place(shown, what));
    int watch = (int)syscall(SYS_pidfd_open, (pid_t)shown->pid, 0);
    if (watch < 0) {
        return errno == ESRCH || errno == EINVAL
                   ? fail_ended(shown, what)
                   : tern__fail_errno(TERN_ERR_SYSTEM, "%s cannot be opened", what);
    }
    errno = 0;
    bool seen = tern__process_look(shown->pid, &process);
    if (!seen && errno != ENOENT && errno != ESRCH) {
        tern__fail_errno(TERN_ERR_SYSTEM, "%s cannot be opened: /proc/%d/stat", what,
                         (int)shown->pid);
        close(watch);
        return TERN_ERR_SYSTEM;
    }
    bool same = seen && process.started == shown->started;
    int status = same ? open_memory(shown, what, fd) : fail_ended(shown, what);
    if (status == TERN_ERR_REFUSED && (!tern__process_look(shown->pid, &process) || process.ends)) {
        status = fail_ended(shown, what); // others than root cannot look at it from then on
    }
    if (same && has_ended(watch)) {
        if (status == TERN_OK) {
            close(*fd);
        }
        status = fail_ended(shown, what);
    }
    if (status != TERN_OK) {
        close(watch);
        return status;
    }
    *pidfd = watch;
    return TERN_OK;
}
