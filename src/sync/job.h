// SPDX-License-Identifier: Apache-2.0
// A job as one of its ranks sees it: the control memory, the way to each peer (its inbox and a
// descriptor that tells when it dies), and the wait ladder that suits the machine right now.
#ifndef TERN_SYNC_JOB_H
#define TERN_SYNC_JOB_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "sync/ctl.h"
#include "sync/ladder.h"

struct tern__far;
struct tern__group;
struct tern__net;
struct tern__parcel; // boot/inbox.c: a descriptor that came before it was asked for

struct tern__job {
    struct tern__job *next; // of this process: boot/fork.h
    struct tern__ctl *ctl;
    int ctl_fd; // open so that another process can find the control memory: tern_job_report
    int rank;
    int nranks;
    struct tern__group *first; // of all ranks, while this one is in the job
    int64_t timeout_ns;
    uint8_t token[16];
    bool launched;       // by `tern run`, which says of each rank how it ended
    bool leaves_at_once; // who leaves waits for nobody, also where ranks are on several machines
    // The thread that holds this rank's mutex, and its process (sync/alive.h); 0: none does.
    pid_t life, life_process;

    const struct tern__machines *machines; // NULL: all ranks are on one
    uint64_t here;                         // bit r: rank r is on this machine
    struct tern__net *net;                 // net/net.h; NULL: there are no others
    const struct tern__far *far;           // sync/far.h; likewise
    int64_t net_timeout_ns;                // how long another machine may be silent

    // What this rank has seen of ctl->beats: when it looked last, and for how long it was the same.
    _Atomic uint32_t beats;
    _Atomic int64_t beats_look_ns, beats_silent_ns;

    int listener; // where ranks of other machines connect; -1: there are none

    int inbox;                  // this rank's end; only this process reads it
    int outbox[TERN_RANKS_MAX]; // into the inbox of each rank here; else -1
    int pidfd[TERN_RANKS_MAX];  // readable when that process has ended; -1: watch the outbox

    bool dumps_happen;           // a peer that crashes may write a core for long
    _Atomic uint32_t dumps_next; // whose core is looked for at the next look

    pthread_mutex_t inbox_lock; // guards inbox reads and parcels
    struct tern__parcel *parcels;

    _Atomic uint32_t load_version; // of ctl->load_version when the ladder was chosen
    _Atomic uint32_t spins;
    _Atomic uint32_t yields;
    _Atomic uint32_t alone;
    _Atomic uint32_t cores_alone; // each core has a processor, while main threads sleep
    _Atomic uint32_t crowded;     // one thread a rank, and no more processors than that
};

// Whether the rank of the job is on this machine: it shares memory with this one.
static inline bool tern__job_is_here(const struct tern__job *job, int rank)
{
    return (job->here >> rank & 1) != 0;
}

// Publishes this process (affinity mask, one thread) and makes the rank ACTIVE.
void tern__job_enter(struct tern__job *job);

// Moves the calling thread, the index-th of `count` of this rank, to where it leaves the processors
// equally loaded when the other ranks of this machine do the same (sync/spread.h). The threads of
// one index are next to each other, so those that wait for each other do not share a processor.
void tern__job_spread(const struct tern__job *job, int index, int count);

// Adds to (or takes from) the number of threads of this rank that may run at once.
void tern__job_add_threads(struct tern__job *job, int threads);

// The ladder for the present load. Cheap.
struct tern__ladder tern__job_ladder(struct tern__job *job);

// The same for a core of a chip that has nothing to do: main threads do not count, which mostly
// sleep until their chip has ended what it does.
struct tern__ladder tern__job_core_ladder(struct tern__job *job);

// Whether each rank has one thread, and there are no more processors than ranks.
static inline bool tern__job_is_crowded(const struct tern__job *job)
{
    return tern__peek(&job->crowded) != 0;
}

// Looks whether every rank's process lives; marks those that have died without leaving and wakes
// everybody. One system call, and where cores are written, a look into /proc at one rank after the
// other.
void tern__job_look(struct tern__job *job);

// A rank has been found to have ended, then. A launcher says a moment later how, and marks it dead:
// whether that can still come, for a second.
bool tern__job_launcher_may_say(const struct tern__job *job, int rank, int64_t since_ns);

// A rank's process has ended: waits for its launcher's word, and marks it dead. Of a process that
// does not end within 0.2 s a launcher says nothing. When it had not entered the job, rank 0, which
// lets ranks in, may be the reason, and ends a moment later: that is waited for, and marked first.
void tern__job_ended(struct tern__job *job, int rank);

// Control memory that is zero becomes that of a job of so many ranks, none of which lives yet;
// here: bit r: rank r is on this machine.
void tern__ctl_begin(struct tern__ctl *ctl, int nranks, uint64_t here);

// A rank counts as alive from now on, if it has not ended before: also before it has joined, so
// that its death is missed.
void tern__ctl_count_alive(struct tern__ctl *ctl, int rank, int pid, uint64_t pid_space);

// Marks a rank dead, remembers the first one and wakes all. Also for the launcher, which has no job
// but the control memory.
void tern__ctl_mark_dead(struct tern__ctl *ctl, int rank);

// The same for one that has left.
void tern__ctl_mark_left(struct tern__ctl *ctl, int rank);

// Rings every rank's bell.
void tern__ctl_ring_all(struct tern__ctl *ctl);

// The rank that died first, or -1.
int tern__ctl_first_dead(const struct tern__ctl *ctl);

// "rank 3 was killed by signal 9 (Killed)", "rank 3 died (process 417 is gone)", …
void tern__ctl_death_text(const struct tern__ctl *ctl, int rank, char *text, size_t size);

// The machine of a rank that is not on this one; else NULL.
const struct tern__machine *tern__ctl_away(const struct tern__ctl *ctl, int rank);

// Nothing has come from a machine for so long; so all ranks of `lost` count as dead here: of that
// machine, or, where this one has been silent, of the one that found it so.
void tern__ctl_mark_silent(struct tern__ctl *ctl, int silent, int lost, int64_t silent_ns);

// "machine b (ranks 2-3)"
void tern__machine_text(const struct tern__machine *machine, char *text, size_t size);

// Says what this rank waits for from now on; TERN__DOING_OTHER afterwards.
void tern__job_doing(struct tern__job *job, enum tern__activity activity, uint64_t number);

// Says which task's kernel this rank runs; "" for none.
void tern__job_runs(struct tern__job *job, const char *task);

#endif
