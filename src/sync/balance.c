// SPDX-License-Identifier: Apache-2.0
// Where each rank is, and whether this one is to move. Data path: a system call only to move.

#include "sync/balance.h"

#include <sched.h>
#include <string.h>

#include "base/clock.h"
#include "sync/spread.h"

enum {
    SEEN = 2,           // looks in a row that find it better: the others have looked meanwhile
    LOOKS_NS = 2000000, // between two looks, at most; when calls take longer, the kernel knows best
    MOVES_NS = 4000000, // between two moves of a thread, should the kernel think otherwise
};

static _Thread_local struct {
    uint32_t seen;
    int64_t looked_ns, next_ns;
} own;

// Where a rank was when it looked last, + 1; 0: not known, or it has gone.
static uint32_t place_of(const struct tern__ctl_rank *rank)
{
    return tern__peek(&rank->state) == TERN__RANK_ACTIVE ? tern__peek(&rank->cpu) : 0;
}

bool tern__balance_is_better(const struct tern__job *job, int at, int *cpu)
{
    const struct tern__ctl_rank *ranks = job->ctl->ranks;
    uint8_t counts[TERN__CPU_WORDS * 64];
    uint32_t least = 0; // at first: others on this one
    for (int rank = 0; rank < job->nranks; rank++) {
        if (rank != job->rank && place_of(&ranks[rank]) == (uint32_t)at + 1) {
            least++;
        }
    }
    if (least == 0) {
        return false;
    }
    memset(counts, 0, sizeof counts);
    for (int rank = 0; rank < job->nranks; rank++) {
        uint32_t place = rank != job->rank ? place_of(&ranks[rank]) : 0;
        if (place > 0 && place <= sizeof counts) {
            counts[place - 1]++;
        }
    }
    bool better = false;
    for (int word = 0; word < TERN__CPU_WORDS; word++) {
        // Those that it may run on, as it has said.
        const _Atomic uint64_t *cpus = &ranks[job->rank].cpus[word];
        uint64_t left = atomic_load_explicit(cpus, memory_order_relaxed);
        for (; left != 0; left &= left - 1) {
            int i = word * 64 + __builtin_ctzll(left);
            better = better || counts[i] < least;
            *cpu = counts[i] < least ? i : *cpu;
            least = counts[i] < least ? counts[i] : least;
        }
    }
    return better;
}

void tern__balance_now(struct tern__job *job)
{
    struct tern__ctl_rank *self = &job->ctl->ranks[job->rank];
    int here = sched_getcpu();
    int cpu = here;
    if (here < 0) {
        return;
    }
    if (tern__peek(&self->cpu) != (uint32_t)here + 1) {
        tern__poke(&self->cpu, (uint32_t)here + 1);
    }
    int64_t now = tern__now_ns();
    bool often = now - own.looked_ns < LOOKS_NS;
    own.looked_ns = now;
    own.seen = often && tern__balance_is_better(job, here, &cpu) ? own.seen + 1 : 0;
    if (own.seen < SEEN || now < own.next_ns) {
        return;
    }
    own.seen = 0;
    own.next_ns = now + MOVES_NS;
    tern__poke(&self->cpu, (uint32_t)cpu + 1); // those beside this rank stay
    tern__spread_to(cpu);
}
