// SPDX-License-Identifier: Apache-2.0
// Watching and ending the processes of a launch. Nothing here trusts a process id that is not an
// unreaped child's, because any other may have become somebody else's.

#include "boot/launch_procs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <poll.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"

#define END_DEADLINE_NS (2 * TERN_NS_PER_SECOND)
// A process that is in exec has no environment for a moment: looked at again, this often.
#define QUIET_PASSES 5
#define PASS_EVERY_MS 4

static bool is_earlier(const struct tern__procs *procs, pid_t pid)
{
    for (int i = 0; i < procs->nearlier; i++) {
        if (procs->earlier[i] == pid) {
            return true;
        }
    }
    return false;
}

// An id that is reaped may come back as that of another process.
static void forget_earlier(struct tern__procs *procs, pid_t pid)
{
    for (int i = 0; i < procs->nearlier; i++) {
        if (procs->earlier[i] == pid) {
            procs->earlier[i] = procs->earlier[--procs->nearlier];
            return;
        }
    }
}

static void reaped(struct tern__procs *procs, pid_t pid, int status, int ended[], int *nended)
{
    if (pid == procs->guardian) {
        procs->guardian = 0;
        return;
    }
    for (int rank = 0; rank < procs->nranks; rank++) {
        if (procs->pids[rank] == pid) {
            procs->pids[rank] = 0;
            procs->status[rank] = status;
            procs->running--;
            ended[(*nended)++] = rank;
            return;
        }
    }
    forget_earlier(procs, pid);
}

int tern__procs_reap(struct tern__procs *procs, int ended[TERN_RANKS_MAX])
{
    int nended = 0;
    int status;
    pid_t pid;
    while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
        reaped(procs, pid, status, ended, &nended);
    }
    return nended;
}

// Calls `visit` for each child of this process that belongs to the job, except the guardian. Returns
// how many there are, or -1 when this kernel does not tell.
static int visit_children(const struct tern__procs *procs, void (*visit)(pid_t pid))
{
    FILE *file = fopen("/proc/thread-self/children", "re");
    if (file == NULL) {
        return -1;
    }
    int count = 0;
    int pid;
    while (fscanf(file, "%d", &pid) == 1) {
        if (pid != procs->guardian && !is_earlier(procs, pid)) {
            visit(pid);
            count++;
        }
    }
    fclose(file);
    return count;
}

static void leave_alone(pid_t pid)
{
    (void)pid;
}

static void kill_at_once(pid_t pid)
{
    kill(pid, SIGKILL);
}

bool tern__procs_left_behind(const struct tern__procs *procs)
{
    return visit_children(procs, leave_alone) > procs->running;
}

void tern__procs_signal_ranks(struct tern__procs *procs, int number)
{
    for (int rank = 0; rank < procs->nranks; rank++) {
        if (procs->pids[rank] > 0) {
            kill(procs->pids[rank], number);
        }
    }
}

void tern__procs_signal_group(struct tern__procs *procs, int number)
{
    // Without the guardian (somebody has killed it) the group's id may be another's by now.
    if (procs->guardian > 0) {
        kill(-procs->group, number);
    } else {
        tern__procs_signal_ranks(procs, number);
    }
}

int tern__procs_exec_failure(struct tern__procs *procs)
{
    int error = 0;
    ssize_t got = read(procs->exec_fd, &error, sizeof error);
    if (got == 0) {
        close(procs->exec_fd);
        procs->exec_fd = -1;
    }
    return got == (ssize_t)sizeof error ? error : 0;
}

static void wait_for_child_signal(int64_t deadline_ns)
{
    sigset_t child;
    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);
    int64_t left_ns = deadline_ns - tern__now_ns();
    struct timespec left = tern__timespec(left_ns > 0 ? left_ns : 0);
    sigtimedwait(&child, NULL, &left);
}

// Kills and reaps all children but the guardian, also those that become ours meanwhile.
static void end_children(struct tern__procs *procs)
{
    // A process in an uninterruptible wait dies only when the kernel lets it: not waited for.
    int64_t deadline_ns = tern__deadline_after(END_DEADLINE_NS);
    int ended[TERN_RANKS_MAX];
    tern__procs_reap(procs, ended);
    int left;
    while ((left = visit_children(procs, kill_at_once)) > 0 && tern__now_ns() < deadline_ns) {
        wait_for_child_signal(deadline_ns);
        tern__procs_reap(procs, ended);
    }
    if (left < 0) {
        tern__kill_marked(procs->mark);
        tern__procs_reap(procs, ended);
    }
}

void tern__procs_end(struct tern__procs *procs)
{
    // Without a group nothing was started, and every child is an earlier one.
    if (procs->group != 0) {
        end_children(procs);
    }
    if (procs->guardian > 0) {
        kill(-procs->group, SIGKILL);
        waitpid(procs->guardian, NULL, 0);
        procs->guardian = 0;
    }
    if (procs->lifeline_fd >= 0) {
        close(procs->lifeline_fd);
        procs->lifeline_fd = -1;
    }
    if (procs->exec_fd >= 0) {
        close(procs->exec_fd);
        procs->exec_fd = -1;
    }
}

static bool environment_contains(int proc_fd, const char *mark)
{
    int fd = openat(proc_fd, "environ", O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return false;
    }
    char bytes[4096];
    size_t kept = 0;
    size_t length = strlen(mark);
    bool found = false;
    ssize_t got;
    while (!found && (got = read(fd, bytes + kept, sizeof bytes - kept)) > 0) {
        size_t have = kept + (size_t)got;
        found = memmem(bytes, have, mark, length) != NULL;
        // The mark may continue in the next piece.
        kept = have < length - 1 ? have : length - 1;
        memmove(bytes, bytes + have - kept, kept);
    }
    close(fd);
    return found;
}

// Returns true when it has killed a process. The folder in /proc stands for one process, even when
// its id is used again, so it serves as the descriptor to signal through.
static bool kill_if_marked(int proc_dir_fd, const char *name, const char *mark)
{
    if (name[0] < '0' || name[0] > '9' || atoi(name) == getpid()) {
        return false;
    }
    int fd = openat(proc_dir_fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) {
        return false;
    }
    bool killed =
        environment_contains(fd, mark) && syscall(SYS_pidfd_send_signal, fd, SIGKILL, NULL, 0) == 0;
    close(fd);
    return killed;
}

void tern__kill_marked(const char *mark)
{
    int64_t deadline_ns = tern__deadline_after(END_DEADLINE_NS);
    int quiet = 0;
    while (quiet < QUIET_PASSES && tern__now_ns() < deadline_ns) {
        DIR *dir = opendir("/proc");
        if (dir == NULL) {
            return;
        }
        bool found = false;
        struct dirent *entry;
        while ((entry = readdir(dir)) != NULL) {
            found = kill_if_marked(dirfd(dir), entry->d_name, mark) || found;
        }
        closedir(dir);
        quiet = found ? 0 : quiet + 1;
        poll(NULL, 0, PASS_EVERY_MS);
    }
}
