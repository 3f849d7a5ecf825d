// SPDX-License-Identifier: Apache-2.0
// Waiters, and their descriptors. A doorbell is a futex, which poll() cannot wait for; so a thread
// sleeps on it and writes into an eventfd.

#include "coll/call/waiter.h"

#include <errno.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/error.h"
#include "base/public.h"
#include "base/thread.h"

static struct tern__bell *bell_of(const struct tern_waiter *waiter)
{
    const struct tern__job *job = waiter->comm->group.job;
    return &job->ctl->ranks[job->rank].bell;
}

static int waiter_create(tern_comm *comm, tern_waiter **waiter)
{
    TERN_TRY(tern__comm_lives("tern_waiter_create", comm));
    if (waiter == NULL) {
        return tern__fail(TERN_ERR_ARG, "tern_waiter_create: waiter must not be NULL");
    }
    tern_waiter *made = tern__handle_new(TERN__WAITER, sizeof *made);
    if (made == NULL) {
        return tern__fail(TERN_ERR_MEMORY, "no memory for a waiter");
    }
    made->comm = comm;
    made->fd = -1;
    pthread_mutex_init(&made->making, NULL);
    tern__comm_gains(comm, TERN__CHILD_WAITER);
    *waiter = made;
    return TERN_OK;
}

int tern_waiter_create(tern_comm *comm, tern_waiter **waiter)
{
    return TERN__CALL(waiter_create(comm, waiter));
}

static int waiter_destroy(tern_waiter *waiter)
{
    if (waiter == NULL) {
        return TERN_OK;
    }
    bool inherited = tern__handle_is_inherited(waiter, TERN__WAITER);
    if (!inherited) {
        TERN_TRY(tern__handle_check("tern_waiter_destroy", waiter, TERN__WAITER));
        if (tern__flag_load(&waiter->waits) != 0) {
            return tern__fail(TERN_ERR_STATE, "tern_waiter_destroy: a thread waits with it");
        }
    }
    int fd = atomic_load(&waiter->fd);
    if (fd >= 0) {
        if (!inherited) { // its thread is the parent's
            tern__flag_store(&waiter->stops, 1);
            tern__bell_ring(bell_of(waiter)); // partner: has_rung
            pthread_join(waiter->feeder, NULL);
            tern__flag_add(&bell_of(waiter)->sleepers, UINT32_MAX);
        }
        close(fd);
    }
    if (!inherited) {
        pthread_mutex_destroy(&waiter->making);
        tern__comm_loses(waiter->comm, TERN__CHILD_WAITER);
    }
    tern__handle_free(waiter, sizeof *waiter);
    return TERN_OK;
}

int tern_waiter_destroy(tern_waiter *waiter)
{
    return TERN__CALL(waiter_destroy(waiter));
}

static void write_into(const struct tern_waiter *waiter)
{
    int fd = atomic_load(&waiter->fd);
    uint64_t one = 1;
    if (fd >= 0) { // full: it is readable
        ssize_t wrote;
        do {
            wrote = write(fd, &one, sizeof one);
        } while (wrote < 0 && errno == EINTR);
    }
}

void tern__waiter_drain(const struct tern_waiter *waiter)
{
    int fd = atomic_load(&waiter->fd);
    uint64_t count;
    if (fd >= 0) { // empty: it is not readable
        ssize_t got;
        do {
            got = read(fd, &count, sizeof count);
        } while (got < 0 && errno == EINTR);
    }
}

static int waiter_wake(tern_waiter *waiter)
{
    TERN_TRY(tern__handle_check("tern_waiter_wake", waiter, TERN__WAITER));
    tern__flag_store(&waiter->woken, 1); // partner: is_over in any.c
    write_into(waiter);
    tern__bell_ring(bell_of(waiter));
    return TERN_OK;
}

int tern_waiter_wake(tern_waiter *waiter)
{
    return TERN__CALL(waiter_wake(waiter));
}

struct feeding {
    struct tern_waiter *waiter;
    uint32_t seen; // of the bell's rings
};

static bool has_rung(void *arg)
{
    const struct feeding *feeding = arg;
    return tern__flag_load(&bell_of(feeding->waiter)->rings) != feeding->seen ||
           tern__flag_load(&feeding->waiter->stops) != 0;
}

// Marks who has died, which rings.
static int look(void *arg, bool deep)
{
    const struct feeding *feeding = arg;
    if (deep) {
        tern__job_look(feeding->waiter->comm->group.job);
    }
    return TERN_OK;
}

// It counts as a sleeper all the time, so that no change goes without a ring.
static void *feed(void *arg)
{
    struct feeding feeding = {.waiter = arg};
    struct tern__ladder ladder = {0};
    struct tern__bell *bell = bell_of(feeding.waiter);
    struct tern__wait wait = {.bell = bell,
                              .ladder = &ladder,
                              .timeout_ns = TERN_TIMEOUT_NEVER,
                              .holds = has_rung,
                              .broken = look,
                              .arg = &feeding};
    while (tern__flag_load(&feeding.waiter->stops) == 0) {
        feeding.seen = tern__flag_load(&bell->rings);
        write_into(feeding.waiter);
        tern_status_ignore(tern__ladder_climb(&wait));
    }
    return NULL;
}

static int make_fd(struct tern_waiter *waiter)
{
    int fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (fd < 0) {
        return tern__fail_errno(TERN_ERR_SYSTEM, "tern_waiter_fd: eventfd");
    }
    atomic_store(&waiter->fd, fd);
    tern__flag_add(&bell_of(waiter)->sleepers, 1);
    int status = tern__thread_start(&waiter->feeder, feed, waiter);
    if (status != TERN_OK) {
        tern__flag_add(&bell_of(waiter)->sleepers, UINT32_MAX);
        atomic_store(&waiter->fd, -1);
        close(fd);
        return status;
    }
    return fd;
}

static int waiter_fd(tern_waiter *waiter)
{
    TERN_TRY(tern__handle_check("tern_waiter_fd", waiter, TERN__WAITER));
    pthread_mutex_lock(&waiter->making);
    int fd = atomic_load(&waiter->fd);
    fd = fd >= 0 ? fd : make_fd(waiter);
    pthread_mutex_unlock(&waiter->making);
    return fd;
}

int tern_waiter_fd(tern_waiter *waiter)
{
    return TERN__CALL(waiter_fd(waiter));
}
