// SPDX-License-Identifier: Apache-2.0
// Forked ranks that know of each other over the network only.

#include "nets.h"

#include <arpa/inet.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

struct setting {
    int count;
    size_t size_bytes;
    net_body body;
    void *arg;
    int listeners[TERN_RANKS_MAX];
    struct tern__machines machines;
    struct nets_shared *shared;
};

char *nets_at(const struct net_rank *self, int rank, size_t offset)
{
    return self->base + (size_t)rank * self->size_bytes + offset;
}

void nets_meet(struct net_rank *self)
{
    uint32_t count = (uint32_t)self->job.nranks;
    tern_status_ignore(tern__net_flush(self->job.net, -1)); // as a barrier does
    uint32_t mine = atomic_fetch_add(&self->shared->arrived, 1);
    while (atomic_load(&self->shared->arrived) < (mine / count + 1) * count) {
        poll(NULL, 0, 1);
    }
    tern_status_ignore(tern__net_flush(self->job.net, -1));
}

bool nets_await(const struct net_rank *self, size_t offset, uint32_t value)
{
    const char *at = nets_at(self, self->job.rank, offset);
    const _Atomic uint32_t *word = (const _Atomic uint32_t *)(const void *)at;
    for (int i = 0; i < 200000 && tern__flag_load(word) != value; i++) {
        usleep(100);
    }
    return tern__flag_load(word) == value;
}

static void make_job(struct net_rank *self, int rank, const struct setting *setting)
{
    struct tern__job *job = &self->job;
    self->machines = setting->machines;
    self->machines.mine = rank;
    self->size_bytes = setting->size_bytes;
    self->shared = setting->shared;
    job->ctl = mmap(NULL, sizeof *job->ctl, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    self->base = mmap(NULL, setting->size_bytes * (size_t)setting->count, PROT_NONE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (job->ctl == MAP_FAILED || self->base == MAP_FAILED ||
        mprotect(nets_at(self, rank, 0), setting->size_bytes, PROT_READ | PROT_WRITE) != 0) {
        perror("mmap");
        abort();
    }
    job->ctl->nranks = (uint32_t)setting->count;
    job->rank = rank;
    job->nranks = setting->count;
    job->timeout_ns = RANKS_SOON_NS;
    job->machines = &self->machines;
    job->here = UINT64_C(1) << rank;
    job->listener = setting->listeners[rank];
    for (int r = 0; r < setting->count; r++) {
        tern__publish(&job->ctl->ranks[r].state, TERN__RANK_ACTIVE);
        if (r != rank) {
            close(setting->listeners[r]);
        }
    }
}

static int run(int rank, const struct ranks *ranks, void *arg)
{
    (void)ranks;
    const struct setting *setting = arg;
    struct net_rank *self = calloc(1, sizeof *self);
    static int members[TERN_RANKS_MAX];
    CHECK(self != NULL);
    make_job(self, rank, setting);
    for (int r = 0; r < setting->count; r++) {
        members[r] = r;
    }
    CHECK(tern__net_start(&self->job) == TERN_OK);
    struct tern__net_window window = {.slot = 0,
                                      .number = 7,
                                      .generation = 3,
                                      .base = self->base,
                                      .size_bytes = self->size_bytes,
                                      .nranks = setting->count,
                                      .rank = rank,
                                      .members = members};
    CHECK(tern__net_window_add(self->job.net, &window) == TERN_OK);
    nets_meet(self);
    int result = setting->body(self, setting->arg);
    tern__net_window_remove(self->job.net, self->base);
    for (int r = 0; r < setting->count; r++) { // what the control memory would say now
        tern__flag_swap(&self->job.ctl->ranks[r].state, TERN__RANK_ACTIVE, TERN__RANK_LEFT);
    }
    tern__net_stop(&self->job);
    close(self->job.listener);
    munmap(self->base, self->size_bytes * (size_t)setting->count);
    munmap(self->job.ctl, sizeof *self->job.ctl);
    free(self);
    return result;
}

static int listen_at(struct tern__address *address)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof at;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || bind(fd, (struct sockaddr *)&at, sizeof at) != 0 ||
        listen(fd, TERN_RANKS_MAX) != 0 || getsockname(fd, (struct sockaddr *)&at, &length) != 0) {
        perror("listen");
        abort();
    }
    address->length = sizeof at;
    memcpy(address->bytes, &at, sizeof at);
    return fd;
}

bool nets_run_killed(int count, size_t size_bytes, net_body body, void *arg, double deadline_s,
                     int killed)
{
    struct setting setting = {.count = count, .size_bytes = size_bytes, .body = body, .arg = arg};
    struct ranks ranks;
    setting.shared = ranks_shared(sizeof *setting.shared);
    setting.machines.count = count;
    for (int rank = 0; rank < count; rank++) {
        struct tern__machine *machine = &setting.machines.list[rank];
        snprintf(machine->name, sizeof machine->name, "machine%d", rank);
        machine->ranks = UINT64_C(1) << rank;
        machine->leader = rank;
        setting.machines.of[rank] = (uint8_t)rank;
        setting.listeners[rank] = listen_at(&setting.machines.address[rank]);
    }
    ranks_begin(&ranks, count, run, &setting);
    for (int rank = 0; rank < count; rank++) {
        close(setting.listeners[rank]);
    }
    bool right = ranks_wait(&ranks, deadline_s);
    for (int rank = 0; rank < count; rank++) {
        bool as_wanted = rank == killed ? WIFSIGNALED(ranks.statuses[rank]) &&
                                              WTERMSIG(ranks.statuses[rank]) == SIGKILL
                                        : ranks.statuses[rank] == 0;
        if (!as_wanted) {
            fprintf(stderr, "rank %d of %d ended with wait status 0x%x\n", rank, count,
                    (unsigned)ranks.statuses[rank]);
            right = false;
        }
    }
    munmap(setting.shared, sizeof *setting.shared);
    return ranks_end(&ranks) && right;
}

bool nets_run(int count, size_t size_bytes, net_body body, void *arg, double deadline_s)
{
    return nets_run_killed(count, size_bytes, body, arg, deadline_s, -1);
}
