// SPDX-License-Identifier: Apache-2.0
// Lives, as robust mutexes.

#include "sync/alive.h"

#include <linux/futex.h>
#include <pthread.h>
#include <unistd.h>

#include "mem/memfd.h"

// The first word of a mutex is its futex. ThreadSanitizer would take a mutex that is held for the
// life of a process for a part of each order of locks.
#if defined(__GLIBC__) && !defined(__SANITIZE_THREAD__)
#define LIVES 1
#else
#define LIVES 0
#endif

void tern__life_begin(struct tern__job *job)
{
    pthread_mutex_t *held = &job->ctl->ranks[job->rank].life;
    pthread_mutexattr_t robust;
    if (!LIVES || pthread_mutexattr_init(&robust) != 0) {
        return;
    }
    pthread_mutexattr_setpshared(&robust, PTHREAD_PROCESS_SHARED);
    pthread_mutexattr_setrobust(&robust, PTHREAD_MUTEX_ROBUST);
    if (pthread_mutex_init(held, &robust) == 0 && pthread_mutex_lock(held) == 0) {
        job->life = gettid();
        job->life_process = getpid();
    }
    pthread_mutexattr_destroy(&robust);
}

bool tern__life_is_seen(const struct tern__ctl *ctl, int rank)
{
    const void *life = &ctl->ranks[rank].life;
    // partner: the kernel, when the thread ends; a process that dies does so before its memory goes
    uint32_t word = tern__observe((const _Atomic uint32_t *)life);
    return LIVES && (word & FUTEX_TID_MASK) != 0 && (word & FUTEX_OWNER_DIED) == 0;
}

// All but the pages that a mutex lies in.
static void unmap_around(struct tern__ctl *ctl, const pthread_mutex_t *held)
{
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    uintptr_t begin = (uintptr_t)held & ~(page - 1);
    uintptr_t end = ((uintptr_t)(held + 1) + page - 1) & ~(page - 1);
    uintptr_t first = (uintptr_t)ctl;
    tern__memfd_unmap(ctl, begin - first);
    tern__memfd_unmap((void *)end, first + sizeof *ctl - end);
}

void tern__life_end(struct tern__job *job)
{
    if (job->ctl == NULL) { // it has not come so far
        return;
    }
    pthread_mutex_t *held = &job->ctl->ranks[job->rank].life;
    bool own = job->life == gettid();
    if (own) {
        pthread_mutex_unlock(held);
    }
    // The child of a fork has begun with an empty list.
    if (own || job->life_process != getpid()) {
        tern__memfd_unmap(job->ctl, sizeof *job->ctl);
    } else {
        unmap_around(job->ctl, held);
    }
    job->ctl = NULL;
}
