// SPDX-License-Identifier: Apache-2.0
// The list of jobs, and what the child of a fork does with it.

#include "boot/fork.h"

#include <pthread.h>
#include <stddef.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; // guards the list; held while forking
static struct tern__job *jobs;

static void hold(void)
{
    pthread_mutex_lock(&lock);
}

static void release(void)
{
    pthread_mutex_unlock(&lock);
}

static void close_and_forget(int *fd)
{
    if (*fd >= 0) {
        close(*fd);
    }
    *fd = -1;
}

void tern__job_close(struct tern__job *job)
{
    close_and_forget(&job->inbox);
    close_and_forget(&job->ctl_fd);
    close_and_forget(&job->listener);
    for (int rank = 0; rank < job->nranks; rank++) {
        close_and_forget(&job->outbox[rank]);
        close_and_forget(&job->pidfd[rank]);
    }
}

static void in_child(void)
{
    for (struct tern__job *job = jobs; job != NULL; job = job->next) {
        tern__job_close(job);
    }
    jobs = NULL;
    release();
}

static void watch_forks(void)
{
    pthread_atfork(hold, release, in_child);
}

void tern__fork_watch(struct tern__job *job)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, watch_forks);
    pthread_mutex_lock(&lock);
    job->next = jobs;
    jobs = job;
    pthread_mutex_unlock(&lock);
}

void tern__fork_forget(struct tern__job *job)
{
    pthread_mutex_lock(&lock);
    struct tern__job **link = &jobs;
    while (*link != NULL && *link != job) {
        link = &(*link)->next;
    }
    if (*link != NULL) {
        *link = job->next;
    }
    pthread_mutex_unlock(&lock);
}
