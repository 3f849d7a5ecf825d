// SPDX-License-Identifier: Apache-2.0
// The jobs of this user: every process of the user that has control memory open is asked about it,
// and what has the same memory is one job; and so are the machines of one job that are all here.

#include <ctype.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/digest.h"
#include "base/error.h"
#include "coll/job_head.h"
#include "base/process.h"
#include "tern/job.h"

#define LISTED_MAX 256 // jobs
#define HOLDERS_MAX                                                                                \
    160 // processes of a job: its ranks, the launcher and its guardian, and some more
#define PROGRAM_BYTES 120
#define SELF "/proc/self/exe " // how commands start themselves as ranks

struct listed {
    ino_t inode;
    uint64_t machines; // what its machines have alike, and no other job has; 0: one machine
    int nranks;
    int ranks[TERN_RANKS_MAX]; // processes, 0: not there
    int nholders;
    int holders[HOLDERS_MAX];
};

struct list {
    struct listed *jobs;
    int count;
};

// Each machine has control memory of its own, but all have the same addresses, where ranks listen.
static uint64_t machines_of(const struct tern__ctl *ctl)
{
    return ctl->machines.count > 1 ? tern__digest_add(TERN__DIGEST_EMPTY, ctl->machines.address,
                                                      ctl->nranks * sizeof ctl->machines.address[0])
                                   : 0;
}

static struct listed *find(struct list *list, ino_t inode, uint64_t machines)
{
    for (int i = 0; i < list->count; i++) {
        struct listed *job = &list->jobs[i];
        if (job->inode == inode || (machines != 0 && job->machines == machines)) {
            return job;
        }
    }
    if (list->count == LISTED_MAX) {
        return NULL;
    }
    list->jobs[list->count] = (struct listed){.inode = inode, .machines = machines};
    return &list->jobs[list->count++];
}

static void add_process(struct list *list, int pid)
{
    struct tern__jobs jobs;
    if (tern__jobs_open(pid, &jobs) != TERN_OK) {
        return; // in no job, or gone meanwhile
    }
    for (int i = 0; i < jobs.count; i++) {
        const struct tern__ctl *ctl = jobs.ctl[i];
        struct listed *job = find(list, jobs.inode[i], machines_of(ctl));
        if (job == NULL || job->nholders == HOLDERS_MAX) {
            continue;
        }
        job->holders[job->nholders++] = pid;
        job->nranks = (int)ctl->nranks;
        for (int rank = 0; rank < job->nranks; rank++) {
            const struct tern__ctl_rank *there = &ctl->ranks[rank];
            bool here =
                atomic_load_explicit(&there->pid_space, memory_order_relaxed) == tern__pid_space();
            job->ranks[rank] = here ? (int)tern__peek(&there->pid) : job->ranks[rank];
        }
    }
    tern__jobs_close(&jobs);
}

static bool is_among(int pid, const int *pids, int count)
{
    for (int i = 0; i < count; i++) {
        if (pids[i] == pid) {
            return true;
        }
    }
    return false;
}

// The launcher: of the processes that are no ranks, the one that none of the others has started. -1
// when the ranks came by themselves.
static int launcher_of(const struct listed *job)
{
    for (int i = 0; i < job->nholders; i++) {
        struct tern__process process;
        int pid = job->holders[i];
        if (!is_among(pid, job->ranks, job->nranks) && tern__process_look(pid, &process) &&
            !is_among(process.parent, job->holders, job->nholders)) {
            return pid;
        }
    }
    return -1;
}

// The command line of a process on one line; what is not printable becomes '?'.
static void program_of(int pid, char *text, size_t size)
{
    size_t length = tern__process_words(pid, text, size);
    while (length > 0 && text[length - 1] == '\0') {
        length--;
    }
    for (size_t i = 0; i < length; i++) {
        text[i] = text[i] == '\0' ? ' ' : isprint((unsigned char)text[i]) ? text[i] : '?';
    }
    text[length] = '\0';
}

static void print_job(FILE *file, const struct listed *job)
{
    int launcher = launcher_of(job);
    int member = job->holders[0];
    for (int i = job->nholders - 1; i >= 0; i--) {
        if (is_among(job->holders[i], job->ranks, job->nranks)) {
            member = job->holders[i]; // the lowest: /proc is read in ascending order
        }
    }
    int pid = launcher > 0 ? launcher : member;
    struct tern__process process;
    char program[PROGRAM_BYTES];
    if (!tern__process_look(pid, &process)) {
        return; // gone meanwhile
    }
    program_of(member, program, sizeof program);
    if (launcher > 0 && strncmp(program, SELF, strlen(SELF)) == 0) {
        program_of(launcher, program, sizeof program); // as it was typed: tern perf …
    }
    fprintf(file, "%8d  %5d  %8lld s  %-8s  %s\n", pid, job->nranks,
            (long long)(process.age_ns / 1000000000), launcher > 0 ? "launcher" : "a rank",
            program);
}

static int read_processes(struct list *list)
{
    DIR *all = opendir("/proc");
    if (all == NULL) {
        return tern__fail_errno(TERN_ERR_SYSTEM, "/proc cannot be read");
    }
    for (struct dirent *entry; (entry = readdir(all)) != NULL;) {
        struct stat state;
        if (isdigit((unsigned char)entry->d_name[0]) &&
            fstatat(dirfd(all), entry->d_name, &state, 0) == 0 && state.st_uid == geteuid()) {
            add_process(list, atoi(entry->d_name));
        }
    }
    closedir(all);
    return TERN_OK;
}

int tern_job_list(char **text)
{
    if (text == NULL) {
        return tern__fail(TERN_ERR_ARG, "tern_job_list: text must not be NULL");
    }
    char *made = NULL;
    size_t length = 0;
    struct list list = {.jobs = malloc(LISTED_MAX * sizeof *list.jobs)};
    int status = list.jobs != NULL ? read_processes(&list) : TERN_ERR_MEMORY;
    FILE *file = status == TERN_OK ? open_memstream(&made, &length) : NULL;
    if (file != NULL) {
        fprintf(file, "%8s  %5s  %10s  %-8s  %s\n", "process", "ranks", "age", "which is",
                "program");
        for (int i = 0; i < list.count; i++) {
            print_job(file, &list.jobs[i]);
        }
    }
    free(list.jobs);
    if (status == TERN_OK && (file == NULL || fclose(file) != 0)) {
        free(made);
        status = TERN_ERR_MEMORY;
    }
    if (status != TERN_OK) {
        return status == TERN_ERR_MEMORY ? tern__fail(status, "no memory for the list of jobs")
                                         : status;
    }
    *text = made;
    return TERN_OK;
}
