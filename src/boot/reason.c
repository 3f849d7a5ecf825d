// SPDX-License-Identifier: Apache-2.0
// Reasons left at rendezvous paths: "tern PID PIDSPACE sentence" as the target of a symbolic link,
// since that is made in one step with all it says.

#include "boot/reason.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/process.h"

#define MARK "tern "

// What this process has left. Kept until it ends, so it is a fact of the process, not of a job.
static struct {
    pthread_mutex_t lock;
    bool registered; // withdraw_at_exit
    pid_t pid;       // who left it; 0: nothing
    int folder;
    char name[128];
    char text[TERN__REASON_BYTES];
} left = {.lock = PTHREAD_MUTEX_INITIALIZER};

// Removes what this process has left, if it is still there, and forgets it.
static void withdraw(void)
{
    char text[TERN__REASON_BYTES] = "";
    if (left.pid == getpid()) { // a child has only a copy
        bool locked = flock(left.folder, LOCK_EX | LOCK_NB) == 0;
        if (readlinkat(left.folder, left.name, text, sizeof text - 1) > 0 &&
            strcmp(text, left.text) == 0) {
            unlinkat(left.folder, left.name, 0);
        }
        if (locked) {
            flock(left.folder, LOCK_UN);
        }
    }
    if (left.pid != 0) {
        close(left.folder);
    }
    left.pid = 0;
}

static void withdraw_at_exit(void)
{
    pthread_mutex_lock(&left.lock);
    withdraw();
    pthread_mutex_unlock(&left.lock);
}

void tern__reason_leave(int folder, const char *name, const char *why)
{
    pthread_mutex_lock(&left.lock);
    withdraw();
    if (!left.registered) {
        left.registered = atexit(withdraw_at_exit) == 0;
    }
    left.folder = left.registered ? fcntl(folder, F_DUPFD_CLOEXEC, 0) : -1;
    if (left.folder >= 0) {
        snprintf(left.name, sizeof left.name, "%s", name);
        snprintf(left.text, sizeof left.text, MARK "%d %" PRIu64 " %s", (int)getpid(),
                 tern__pid_space(), why);
        left.pid = symlinkat(left.text, folder, name) == 0 ? getpid() : 0;
        if (left.pid == 0) {
            close(left.folder);
        }
    }
    pthread_mutex_unlock(&left.lock);
}

bool tern__reason_read(int at, char text[TERN__REASON_BYTES], bool *stale)
{
    char target[TERN__REASON_BYTES];
    int pid;
    uint64_t space;
    int used = 0;
    ssize_t length = readlinkat(at, "", target, sizeof target - 1);
    if (length <= 0) {
        return false;
    }
    target[length] = '\0';
    if (sscanf(target, MARK "%d %" SCNu64 " %n", &pid, &space, &used) != 2 || used == 0 ||
        pid <= 0) {
        return false;
    }
    *stale = space == tern__pid_space() && kill(pid, 0) != 0 && errno == ESRCH;
    snprintf(text, TERN__REASON_BYTES, "process %d gave up: %s", pid, target + used);
    return true;
}
