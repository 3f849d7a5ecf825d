// SPDX-License-Identifier: Apache-2.0
// The shared memory of checking mode, and what a meeting of all ranks means in it.

#include "comm/checking.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

bool tern__checking_asked(void)
{
    const char *text = getenv("TERN_ISA_CHECK");
    return text != NULL && *text != '\0' && strcmp(text, "0") != 0;
}

// Of the jobs that this process is in.
static struct {
    pthread_mutex_t lock;
    tern_window **shares;
    size_t count;
} jobs = {.lock = PTHREAD_MUTEX_INITIALIZER};

static int add_share(tern_window *share)
{
    pthread_mutex_lock(&jobs.lock);
    tern_window **more = realloc(jobs.shares, (jobs.count + 1) * sizeof(tern_window *));
    if (more != NULL) {
        jobs.shares = more;
        jobs.shares[jobs.count++] = share;
    }
    pthread_mutex_unlock(&jobs.lock);
    return more != NULL ? TERN_OK : tern__fail(TERN_ERR_MEMORY, "no memory for checking mode");
}

static void remove_share(const tern_window *share)
{
    pthread_mutex_lock(&jobs.lock);
    for (size_t i = 0; i < jobs.count; i++) {
        if (jobs.shares[i] == share) {
            jobs.shares[i] = jobs.shares[--jobs.count];
        }
    }
    if (jobs.count == 0) {
        free(jobs.shares);
        jobs.shares = NULL;
    }
    pthread_mutex_unlock(&jobs.lock);
}

int tern__checking_create(tern_comm *comm)
{
    if (!tern__checking_asked()) {
        return TERN_OK;
    }
    TERN_TRY(tern__window_create_sparse(comm, sizeof(struct tern__watch_part), &comm->checking));
    return add_share(comm->checking);
}

int tern__checking_attach(tern_comm *comm, tern_window *share)
{
    TERN_TRY(add_share(share));
    comm->checking = share;
    return TERN_OK;
}

void tern__checking_destroy(tern_comm *comm)
{
    if (comm->checking != NULL) {
        remove_share(comm->checking);
        tern_window_destroy(comm->checking);
    }
}

const void *tern__watch_read(const tern_window *share, int rank, const void *at, void *copy,
                             size_t bytes)
{
    if (tern__window_is_mapped(share, rank)) {
        return at;
    }
    memset(copy, 0, bytes);
    tern__window_xport(share, rank)->get(at, copy, bytes);
    (void)tern__net_missed(); // what a rank that has left did is of no interest
    return copy;
}

static const struct tern__clock *clock_of(const tern_window *share, int rank,
                                          struct tern__clock *copy)
{
    return tern__watch_read(share, rank, &tern__watch_part(share, rank)->clock, copy, sizeof *copy);
}

static struct tern__clock *own_clock(const tern_window *share)
{
    return &tern__watch_part(share, share->rank)->clock;
}

static void begin_on(const tern_window *share, uint64_t number)
{
    struct tern__clock *mine = own_clock(share);
    for (int rank = 0; rank < share->nranks; rank++) {
        struct tern__clock copy;
        const struct tern__clock *other = clock_of(share, rank, &copy);
        for (int i = 0; i < TERN__WATCH_LAUNCHES; i++) {
            uint64_t ended = atomic_load(&other->launches[i]);
            if (ended != 0 && ended >> 32 < number) {
                tern__watch_raise(&mine->known[rank], (uint32_t)ended);
            }
        }
    }
}

static void end_on(const tern_window *share, uint64_t number)
{
    struct tern__clock *mine = own_clock(share);
    uint32_t now = tern__flag_add(&mine->time, 1) + 1;
    atomic_store(&mine->launches[number % TERN__WATCH_LAUNCHES], number << 32 | now);
}

void tern__checking_kernel_begins(uint64_t number)
{
    pthread_mutex_lock(&jobs.lock);
    for (size_t i = 0; i < jobs.count; i++) {
        begin_on(jobs.shares[i], number);
    }
    pthread_mutex_unlock(&jobs.lock);
}

void tern__checking_kernel_ended(uint64_t number)
{
    pthread_mutex_lock(&jobs.lock);
    for (size_t i = 0; i < jobs.count; i++) {
        end_on(jobs.shares[i], number);
    }
    pthread_mutex_unlock(&jobs.lock);
}

static const tern_comm *first_of(const tern_comm *comm)
{
    while (comm->parent != NULL) {
        comm = comm->parent;
    }
    return comm;
}

void tern__checking_tick(tern_comm *comm)
{
    const tern_window *share = first_of(comm)->checking;
    if (share != NULL) {
        tern__flag_add(&own_clock(share)->time, 1); // partner: tern__checking_join
    }
}

void tern__checking_join(tern_comm *comm)
{
    const tern_window *share = first_of(comm)->checking;
    for (int rank = 0; share != NULL && rank < comm->group.size; rank++) {
        int member = comm->group.members[rank];
        struct tern__clock copy;
        tern__watch_raise(&own_clock(share)->known[member],
                          tern__flag_load(&clock_of(share, member, &copy)->time));
    }
}
