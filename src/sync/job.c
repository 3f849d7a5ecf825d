// SPDX-License-Identifier: Apache-2.0
// Liveness and load of a job. Death is seen through a pidfd of each peer, and through its inbox,
// which the kernel hangs up when nobody can read it any more: also where process numbers do not
// reach (another pid namespace), and when the process lives on as another program.

#include "sync/job.h"

#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "base/cgroup.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/process.h"
#include "sync/alive.h"
#include "sync/spread.h"

// How long rank 0 may be about to end when a rank that it was letting in has already done so: its
// connections are closed before its process is seen to end.
#define HOST_ENDS_MS 200

// How long a launcher may take to say how a rank ended. It takes less than one of these, but on a
// loaded machine; and it may have been stopped.
#define LAUNCHER_SAYS_MS 1000
#define PROCESS_ENDS_MS 200 // after its files were closed; else it lives on as another program

void tern__ctl_ring_all(struct tern__ctl *ctl)
{
    for (uint32_t rank = 0; rank < ctl->nranks; rank++) {
        tern__bell_ring(&ctl->ranks[rank].bell);
    }
}

void tern__ctl_begin(struct tern__ctl *ctl, int nranks, uint64_t here)
{
    ctl->magic = TERN__CTL_MAGIC;
    ctl->abi = TERN__CTL_ABI;
    ctl->nranks = (uint32_t)nranks;
    tern__poke(&ctl->slots[0], 1);
    tern__poke(&ctl->comms[0].holders, ctl->nranks);
    atomic_store_explicit(&ctl->comms[0].here, here, memory_order_relaxed);
}

void tern__ctl_count_alive(struct tern__ctl *ctl, int rank, int pid, uint64_t pid_space)
{
    struct tern__ctl_rank *slot = &ctl->ranks[rank];
    tern__poke(&slot->pid, (uint32_t)pid);
    atomic_store_explicit(&slot->pid_space, pid_space, memory_order_relaxed);
    tern__flag_swap(&slot->state, TERN__RANK_ABSENT, TERN__RANK_ACTIVE);
}

int tern__ctl_first_dead(const struct tern__ctl *ctl)
{
    return (int)tern__flag_load(&ctl->first_dead_plus_one) - 1;
}

void tern__ctl_mark_dead(struct tern__ctl *ctl, int rank)
{
    struct tern__ctl_rank *slot = &ctl->ranks[rank];
    if (tern__flag_swap(&slot->state, TERN__RANK_ACTIVE, TERN__RANK_DEAD)) {
        tern__flag_swap(&ctl->first_dead_plus_one, 0, (uint32_t)rank + 1);
        tern__log(TERN__LOG_INFO, "rank %d is dead", rank);
        tern__ctl_ring_all(ctl);
    }
}

void tern__ctl_mark_left(struct tern__ctl *ctl, int rank)
{
    tern__flag_swap(&ctl->ranks[rank].state, TERN__RANK_ACTIVE, TERN__RANK_LEFT);
    tern__flag_add(&ctl->load_version, 1); // partner: tern__job_ladder
    tern__ctl_ring_all(ctl);               // whoever waits for this rank sees that it has left
}

const struct tern__machine *tern__ctl_away(const struct tern__ctl *ctl, int rank)
{
    const struct tern__machines *machines = &ctl->machines;
    return machines->count > 1 && machines->of[rank] != machines->mine
               ? &machines->list[machines->of[rank]]
               : NULL;
}

void tern__ctl_mark_silent(struct tern__ctl *ctl, int silent, int lost, int64_t silent_ns)
{
    uint64_t ranks = ctl->machines.list[lost].ranks;
    tern__flag_store(&ctl->silent_ms[silent], (uint32_t)(silent_ns / TERN_NS_PER_MS));
    for (; ranks != 0; ranks &= ranks - 1) {
        struct tern__ctl_rank *slot = &ctl->ranks[__builtin_ctzll(ranks)];
        if (lost != silent) { // who has ended well since then has left without this machine
            tern__flag_swap(&slot->state, TERN__RANK_LEFT, TERN__RANK_ACTIVE);
        }
        tern__ctl_mark_dead(ctl, __builtin_ctzll(ranks));
    }
}

void tern__machine_text(const struct tern__machine *machine, char *text, size_t size)
{
    size_t used = (size_t)snprintf(text, size, "machine %.40s (rank%s", machine->name,
                                   (machine->ranks & (machine->ranks - 1)) != 0 ? "s" : "");
    const char *before = " ";
    uint64_t ranks = machine->ranks;
    while (ranks != 0 && used < size) {
        int first = __builtin_ctzll(ranks);
        int last = first;
        while (last < 63 && (ranks >> (last + 1) & 1) != 0) {
            last++;
        }
        used += (size_t)snprintf(text + used, size - used, last > first ? "%s%d-%d" : "%s%d",
                                 before, first, last);
        ranks &= last == 63 ? 0 : UINT64_MAX << (last + 1);
        before = ", ";
    }
    if (used < size) {
        snprintf(text + used, size - used, ")");
    }
}

void tern__ctl_death_text(const struct tern__ctl *ctl, int rank, char *text, size_t size)
{
    const struct tern__ctl_rank *slot = &ctl->ranks[rank];
    const struct tern__machine *away = tern__ctl_away(ctl, rank);
    uint32_t end = tern__observe(&slot->ended); // partner: tern__hub_rank_ended, look_for_dump
    uint32_t pid = tern__peek(&slot->pid);
    char name[TERN__MACHINE_NAME_BYTES + 32];
    snprintf(name, sizeof name, away != NULL ? "rank %d on machine %.40s" : "rank %d", rank,
             away != NULL ? away->name : "");
    // It, or this one for it, which then has said so.
    int silent = away != NULL ? ctl->machines.of[rank] : ctl->machines.mine;
    silent =
        away != NULL && tern__flag_load(&ctl->silent_ms[silent]) == 0 ? ctl->machines.mine : silent;
    uint32_t silent_ms = away != NULL ? tern__flag_load(&ctl->silent_ms[silent]) : 0;
    if (away != NULL && end == TERN__END_SILENT) { // the launcher has found it
        silent = ctl->machines.of[rank];
        silent_ms = tern__peek(&slot->wait_status);
    }
    if (end != TERN__END_STATUS && silent_ms != 0) {
        char machine[112];
        tern__machine_text(&ctl->machines.list[silent], machine, sizeof machine);
        snprintf(text, size, "%s has been silent for %.1f s", machine, silent_ms * 1e-3);
        return;
    }
    if (away != NULL && end == TERN__END_GONE) {
        snprintf(text, size, "machine %s, where rank %d was, is gone", away->name, rank);
        return;
    }
    if (end != TERN__END_STATUS && pid == 0) {
        snprintf(text, size, "%s died (its connections have ended)", name);
        return;
    }
    if (end != TERN__END_STATUS) {
        snprintf(text, size, "%s died (process %u %s)", name, pid,
                 end == TERN__END_DUMPS ? "has crashed and writes its core" : "is gone");
        return;
    }
    int wait_status = (int)tern__peek(&slot->wait_status);
    if (WIFSIGNALED(wait_status)) {
        int signal = WTERMSIG(wait_status);
        snprintf(text, size, "%s was killed by signal %d (%s)", name, signal, strsignal(signal));
    } else {
        snprintf(text, size, "%s ended with status %d without tern_comm_destroy", name,
                 WEXITSTATUS(wait_status));
    }
}

void tern__job_doing(struct tern__job *job, enum tern__activity activity, uint64_t number)
{
    struct tern__ctl_rank *self = &job->ctl->ranks[job->rank];
    atomic_store_explicit(&self->doing_number, number, memory_order_relaxed);
    tern__poke(&self->doing, (uint32_t)activity);
}

void tern__job_runs(struct tern__job *job, const char *task)
{
    struct tern__ctl_rank *self = &job->ctl->ranks[job->rank];
    uint64_t words[TERN__RUNS_TEXT_BYTES / 8];
    char text[TERN__RUNS_TEXT_BYTES] = "";
    snprintf(text, sizeof text, "%s", task);
    memcpy(words, text, sizeof words);
    for (size_t i = 0; i < TERN__RUNS_TEXT_BYTES / 8; i++) {
        atomic_store_explicit(&self->runs[i], words[i], memory_order_relaxed);
    }
}

void tern__job_spread(const struct tern__job *job, int index, int count)
{
    int before = 0;
    int here = 0;
    for (int rank = 0; rank < job->nranks; rank++) {
        here += tern__job_is_here(job, rank);
        before += rank < job->rank && tern__job_is_here(job, rank);
    }
    tern__spread(index * here + before, count * here);
}

void tern__job_enter(struct tern__job *job)
{
    struct tern__ctl_rank *self = &job->ctl->ranks[job->rank];
    cpu_set_t mask;
    CPU_ZERO(&mask);
    if (sched_getaffinity(0, sizeof mask, &mask) != 0) {
        memset(&mask, 0xff, sizeof mask);
    }
    for (int word = 0; word < TERN__CPU_WORDS; word++) {
        uint64_t bits = 0;
        for (int bit = 0; bit < 64; bit++) {
            bits |= CPU_ISSET((size_t)(word * 64 + bit), &mask) ? UINT64_C(1) << bit : 0;
        }
        atomic_store_explicit(&self->cpus[word], bits, memory_order_relaxed);
    }
    tern__job_spread(job, 0, 1);
    job->dumps_happen = tern__dumps_happen();
    tern__poke(&self->threads, 1);
    tern__life_begin(job);
    tern__flag_store(&self->state, TERN__RANK_ACTIVE);
    tern__flag_add(&job->ctl->load_version, 1); // partner: tern__job_ladder
}

void tern__job_add_threads(struct tern__job *job, int threads)
{
    tern__flag_add(&job->ctl->ranks[job->rank].threads, (uint32_t)threads);
    tern__flag_add(&job->ctl->load_version, 1); // partner: tern__job_ladder
}

// Threads of all ranks whose processors overlap with this rank's, and the processors they may use
// together; of these, how many at a time.
struct load {
    int threads, ranks;
    int cpus, allowed;
};

static struct load count_load(const struct tern__job *job)
{
    const struct tern__ctl *ctl = job->ctl;
    const struct tern__ctl_rank *self = &ctl->ranks[job->rank];
    uint64_t together[TERN__CPU_WORDS] = {0};
    struct load load = {0};
    for (int rank = 0; rank < job->nranks; rank++) {
        const struct tern__ctl_rank *other = &ctl->ranks[rank];
        uint64_t common = 0;
        uint64_t mask[TERN__CPU_WORDS];
        for (int word = 0; word < TERN__CPU_WORDS; word++) {
            mask[word] = atomic_load_explicit(&other->cpus[word], memory_order_relaxed);
            common |= mask[word] & atomic_load_explicit(&self->cpus[word], memory_order_relaxed);
        }
        if (common == 0 || tern__peek(&other->state) != TERN__RANK_ACTIVE) {
            continue;
        }
        load.threads += (int)tern__peek(&other->threads);
        load.ranks += 1;
        for (int word = 0; word < TERN__CPU_WORDS; word++) {
            together[word] |= mask[word];
        }
    }
    for (int word = 0; word < TERN__CPU_WORDS; word++) {
        load.cpus += __builtin_popcountll(together[word]);
    }
    load.allowed = load.cpus;
    int allowed = tern__cpus_allowed(); // the cgroup's quota holds for all ranks together
    cpu_set_t own;
    if (sched_getaffinity(0, sizeof own, &own) == 0 && allowed < CPU_COUNT(&own)) {
        load.allowed = load.cpus < allowed ? load.cpus : allowed;
    }
    return load;
}

// Selects the ladders, if the load has changed.
static void see_load(struct tern__job *job)
{
    uint32_t version = tern__observe(&job->ctl->load_version); // partner: tern__job_add_threads
    if (version != tern__observe(&job->load_version)) {
        const struct load load = count_load(job);
        struct tern__ladder ladder = tern__ladder_for(load.threads, load.allowed);
        tern__poke(&job->spins, ladder.spins);
        tern__poke(&job->yields, ladder.yields);
        tern__poke(&job->alone, ladder.alone);
        tern__poke(&job->cores_alone, load.threads - load.ranks <= load.allowed);
        tern__poke(&job->crowded,
                   load.threads == load.ranks && load.ranks > 1 && load.ranks >= load.cpus);
        tern__publish(&job->load_version, version); // partner: the observe above
        tern__log(TERN__LOG_DEBUG, "%d threads on %d processors: %u spins, %u yields", load.threads,
                  load.allowed, ladder.spins, ladder.yields);
    }
}

struct tern__ladder tern__job_core_ladder(struct tern__job *job)
{
    see_load(job);
    const int cpus = 1;
    return tern__ladder_for(tern__peek(&job->cores_alone) != 0 ? cpus : cpus + 1, cpus);
}

struct tern__ladder tern__job_ladder(struct tern__job *job)
{
    see_load(job);
    return (struct tern__ladder){.spins = tern__peek(&job->spins),
                                 .yields = tern__peek(&job->yields),
                                 .alone = tern__peek(&job->alone) != 0};
}

// Looks whether a rank, another one at each call, has crashed and writes its core. All that wait do
// so, so that each rank is looked at about as often as somebody looks.
static void look_for_dump(struct tern__job *job)
{
    uint32_t others = (uint32_t)job->nranks - 1;
    if (others == 0) {
        return;
    }
    uint32_t turn = tern__flag_add(&job->dumps_next, 1) % others;
    int rank = (job->rank + 1 + (int)turn) % job->nranks;
    struct tern__ctl_rank *peer = &job->ctl->ranks[rank];
    if (job->pidfd[rank] >= 0 && tern__flag_load(&peer->state) == TERN__RANK_ACTIVE &&
        tern__process_dumps((int)tern__peek(&peer->pid))) {
        tern__flag_swap(&peer->ended, TERN__END_UNKNOWN, TERN__END_DUMPS);
        tern__ctl_mark_dead(job->ctl, rank);
    }
}

bool tern__job_launcher_may_say(const struct tern__job *job, int rank, int64_t since_ns)
{
    return job->launched && tern__now_ns() - since_ns < LAUNCHER_SAYS_MS * TERN_NS_PER_MS &&
           tern__flag_load(&job->ctl->ranks[rank].state) == TERN__RANK_ACTIVE;
}

static void await_launcher(const struct tern__job *job, int rank)
{
    struct pollfd end = {.fd = job->pidfd[rank], .events = POLLIN};
    int64_t begin_ns = tern__now_ns();
    while (tern__job_launcher_may_say(job, rank, begin_ns) &&
           (tern__now_ns() - begin_ns < PROCESS_ENDS_MS * TERN_NS_PER_MS || end.fd < 0 ||
            poll(&end, 1, 0) > 0)) {
        poll(NULL, 0, 1);
    }
}

void tern__job_ended(struct tern__job *job, int rank)
{
    const struct tern__ctl_rank *slots = job->ctl->ranks;
    if (rank != 0 && job->rank != 0 && tern__peek(&slots[rank].threads) == 0 &&
        job->outbox[0] >= 0 && tern__flag_load(&slots[0].state) == TERN__RANK_ACTIVE) {
        struct pollfd host[] = {{.fd = job->pidfd[0], .events = POLLIN}, {.fd = job->outbox[0]}};
        if (poll(host, 2, HOST_ENDS_MS) > 0) {
            tern__ctl_mark_dead(job->ctl, 0);
        }
    }
    await_launcher(job, rank);
    tern__ctl_mark_dead(job->ctl, rank);
}

void tern__job_look(struct tern__job *job)
{
    // Of each rank its process, and its inbox: a rank that becomes another program keeps the
    // process.
    struct pollfd fds[2 * TERN_RANKS_MAX];
    int ranks[2 * TERN_RANKS_MAX];
    nfds_t count = 0;
    for (int rank = 0; rank < job->nranks; rank++) {
        if (rank == job->rank ||
            tern__flag_load(&job->ctl->ranks[rank].state) != TERN__RANK_ACTIVE) {
            continue;
        }
        if (job->machines != NULL && !tern__job_is_here(job, rank)) {
            continue; // its machine's leader says so
        }
        if (job->pidfd[rank] >= 0) {
            fds[count] = (struct pollfd){.fd = job->pidfd[rank], .events = POLLIN};
            ranks[count++] = rank;
        }
        fds[count] = (struct pollfd){.fd = job->outbox[rank]}; // a hang-up is reported unasked
        ranks[count++] = rank;
    }
    if (job->dumps_happen && count > 0) {
        look_for_dump(job);
    }
    if (count == 0 || poll(fds, count, 0) <= 0) {
        return;
    }
    for (nfds_t i = 0; i < count; i++) {
        if (fds[i].revents != 0) {
            tern__job_ended(job, ranks[i]);
        }
    }
}
