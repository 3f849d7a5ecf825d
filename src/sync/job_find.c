// SPDX-License-Identifier: Apache-2.0
// Looks through the open files of a process. The launcher and every rank keep the descriptor of the
// control memory for this; opening it through /proc asks the kernel whether we may look at that
// process at all.

#include "sync/job_find.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/process.h"

#define CONTROL_NAME "/memfd:tern-control"

// Reads before it maps: memory of another build may be shorter than we think.
static int open_one(int pid, int fd, struct tern__jobs *jobs)
{
    struct {
        uint32_t magic, abi, nranks;
    } head;
    struct stat state;
    if (fstat(fd, &state) != 0 || pread(fd, &head, sizeof head, 0) != (ssize_t)sizeof head ||
        head.magic != TERN__CTL_MAGIC) {
        return TERN_OK; // somebody else's idea of a name
    }
    if (head.abi != TERN__CTL_ABI || state.st_size < (off_t)sizeof(struct tern__ctl) ||
        head.nranks < 1 || head.nranks > TERN_RANKS_MAX) {
        return tern__fail(TERN_ERR_MISMATCH,
                          "process %d runs another build of tern: its control memory has version "
                          "%u, this one reads %u",
                          pid, head.abi, TERN__CTL_ABI);
    }
    for (int i = 0; i < jobs->count; i++) {
        if (jobs->inode[i] == state.st_ino) {
            return TERN_OK;
        }
    }
    if (jobs->count == TERN__JOBS_MAX) {
        return TERN_OK;
    }
    void *base = mmap(NULL, sizeof(struct tern__ctl), PROT_READ, MAP_SHARED, fd, 0);
    if (base == MAP_FAILED) {
        return tern__fail_errno(TERN_ERR_SYSTEM, "cannot map the control memory of process %d",
                                pid);
    }
    jobs->inode[jobs->count] = state.st_ino;
    jobs->ctl[jobs->count++] = base;
    return TERN_OK;
}

static int look_at(int pid, const char *folder, const char *name, struct tern__jobs *jobs)
{
    char path[320];
    char target[256];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    ssize_t length = readlink(path, target, sizeof target - 1);
    if (length < (ssize_t)strlen(CONTROL_NAME) ||
        memcmp(target, CONTROL_NAME, strlen(CONTROL_NAME)) != 0) {
        return TERN_OK;
    }
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 && (errno == ENOENT || errno == ESRCH)) {
        return TERN_OK; // closed in the meantime
    }
    if (fd < 0) {
        return tern__fail_errno(TERN_ERR_SYSTEM, "cannot open the control memory of process %d",
                                pid);
    }
    int status = open_one(pid, fd, jobs);
    close(fd);
    return status;
}

static int no_such_process(int pid)
{
    return tern__fail(TERN_ERR_ARG, "there is no process %d", pid);
}

static int may_not_look(int pid)
{
    int error = errno;
    char path[64];
    struct stat state;
    snprintf(path, sizeof path, "/proc/%d", pid);
    if (stat(path, &state) != 0) {
        return no_such_process(pid);
    }
    if (state.st_uid != geteuid()) {
        return tern__fail(TERN_ERR_SYSTEM,
                          "process %d belongs to user %u; only that user and root can look at it",
                          pid, state.st_uid);
    }
    errno = error;
    return tern__fail_errno(TERN_ERR_SYSTEM, "the open files of process %d cannot be seen", pid);
}

int tern__jobs_add(int pid, struct tern__jobs *jobs)
{
    char folder[64];
    char state = pid > 0 ? tern__process_state(pid) : 0;
    if (state == 0) {
        return no_such_process(pid);
    }
    if (state == 'Z' || state == 'X') {
        return tern__fail(TERN_ERR_STATE, "process %d has ended", pid);
    }
    snprintf(folder, sizeof folder, "/proc/%d/fd", pid);
    DIR *files = opendir(folder);
    if (files == NULL) {
        return may_not_look(pid);
    }
    int status = TERN_OK;
    errno = 0;
    for (struct dirent *entry; status == TERN_OK && (entry = readdir(files)) != NULL;) {
        status = isdigit((unsigned char)entry->d_name[0])
                     ? look_at(pid, folder, entry->d_name, jobs)
                     : TERN_OK;
    }
    closedir(files);
    return status;
}

int tern__jobs_of_process(int pid, struct tern__jobs *jobs)
{
    memset(jobs, 0, sizeof *jobs);
    int status = tern__jobs_add(pid, jobs);
    if (status != TERN_OK) {
        tern__jobs_close(jobs);
    }
    return status;
}

void tern__jobs_close_one(struct tern__jobs *jobs, int at)
{
    munmap((void *)(uintptr_t)jobs->ctl[at], sizeof(struct tern__ctl));
    jobs->count--;
    jobs->ctl[at] = jobs->ctl[jobs->count];
    jobs->inode[at] = jobs->inode[jobs->count];
}

void tern__jobs_close(struct tern__jobs *jobs)
{
    while (jobs->count > 0) {
        tern__jobs_close_one(jobs, jobs->count - 1);
    }
}
