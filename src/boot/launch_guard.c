// SPDX-License-Identifier: Apache-2.0
// The guardian's life, and what it shares with the launcher: looking through one's own children.

#include "boot/launch_guard.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"

#define END_DEADLINE_NS (2 * TERN_NS_PER_SECOND)
// A process that is in exec has no environment for a moment: looked at again, this often.
#define QUIET_PASSES 5
#define PASS_EVERY_MS 4

bool tern__guard_tell(int fd, enum tern__guard_kind kind, int rank, int value)
{
    struct tern__guard_word word = {.kind = (int32_t)kind, .rank = rank, .value = value};
    ssize_t sent;
    do {
        sent = send(fd, &word, sizeof word, MSG_NOSIGNAL);
    } while (sent < 0 && errno == EINTR);
    return sent == (ssize_t)sizeof word;
}

int tern__guard_hear(int fd, bool wait, struct tern__guard_word *word)
{
    ssize_t got;
    do {
        got = recv(fd, word, sizeof *word, wait ? 0 : MSG_DONTWAIT);
    } while (got < 0 && errno == EINTR);
    if (got == (ssize_t)sizeof *word) {
        return 1;
    }
    return got < 0 && errno == EAGAIN ? 0 : -1;
}

static bool is_among(const pid_t *pids, int count, pid_t pid)
{
    for (int i = 0; i < count; i++) {
        if (pids[i] == pid) {
            return true;
        }
    }
    return false;
}

int tern__children_signal(const pid_t *spared, int nspared, int number)
{
    FILE *file = fopen("/proc/thread-self/children", "re");
    if (file == NULL) {
        return -1;
    }
    int count = 0;
    int pid;
    while (fscanf(file, "%d", &pid) == 1) {
        if (!is_among(spared, nspared, pid)) {
            kill(pid, number);
            count++;
        }
    }
    fclose(file);
    return count;
}

void tern__children_await(int64_t deadline_ns)
{
    sigset_t child;
    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);
    int64_t left_ns = deadline_ns - tern__now_ns();
    struct timespec left = tern__timespec(left_ns > 0 ? left_ns : 0);
    sigtimedwait(&child, NULL, &left);
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

// Kills all processes of this machine whose environment contains `mark`, until there are none.
static void kill_marked(const char *mark)
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

void tern__children_end(const pid_t *spared, int nspared, const char *mark, void (*reap)(void *arg),
                        void *arg)
{
    int64_t deadline_ns = tern__deadline_after(END_DEADLINE_NS);
    reap(arg);
    int left;
    while ((left = tern__children_signal(spared, nspared, SIGKILL)) > 0 &&
           tern__now_ns() < deadline_ns) {
        tern__children_await(deadline_ns);
        reap(arg);
    }
    if (left < 0) {
        kill_marked(mark);
        reap(arg);
    }
}

static void reap(void *arg)
{
    struct tern__guard *guard = arg;
    int status;
    pid_t pid;
    while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
        for (int rank = 0; rank < guard->nranks; rank++) {
            if (guard->pids[rank] == pid) {
                guard->pids[rank] = 0;
                tern__guard_tell(guard->fd, TERN__GUARD_ENDED, rank, status);
            }
        }
    }
    if (pid < 0 && errno == ECHILD) {
        tern__guard_tell(guard->fd, TERN__GUARD_QUIET, -1, 0);
    }
}

// Does what the launcher says. False when that is to end, or when it is gone.
static bool obey(const struct tern__guard *guard)
{
    struct tern__guard_word word;
    int heard = tern__guard_hear(guard->fd, false, &word);
    if (heard <= 0) {
        return heard == 0;
    }
    if (word.kind == TERN__GUARD_SIGNAL_RANK) {
        if (guard->pids[word.rank] > 0) {
            kill(guard->pids[word.rank], word.value);
        }
    } else if (word.kind == TERN__GUARD_SIGNAL_GROUP) {
        kill(0, word.value); // this process blocks it; SIGKILL goes to the ranks alone
    }
    return word.kind != TERN__GUARD_END;
}

_Noreturn void tern__guard_keep(struct tern__guard *guard)
{
    sigset_t child;
    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);
    int signals = signalfd(-1, &child, SFD_NONBLOCK | SFD_CLOEXEC);
    struct pollfd fds[2] = {{.fd = guard->fd, .events = POLLIN}, {.fd = signals, .events = POLLIN}};
    bool goes_on = signals >= 0;
    reap(guard); // what ended before the signalfd was there
    while (goes_on) {
        if (poll(fds, 2, -1) <= 0) {
            continue;
        }
        if (fds[1].revents != 0) {
            struct signalfd_siginfo info;
            ssize_t got = read(signals, &info, sizeof info);
            (void)got; // reap looks at everybody, however many signals have become one
            reap(guard);
        }
        goes_on = fds[0].revents == 0 || obey(guard);
    }
    tern__children_end(NULL, 0, guard->mark, reap, guard);
    _exit(0);
}
