// SPDX-License-Identifier: Apache-2.0
// Slots: taken, made ready, given back.

#include "sync/slots.h"

#include <sched.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"

// How often who waits for a slot's lock looks whether its holder lives: it is held for a
// microsecond.
#define LOOK_NS (20 * TERN_NS_PER_MS)

static bool is_far(const struct tern__job *job)
{
    return job->machines != NULL;
}

// The lock is for what comes from other machines: ranks of this one find a slot ready, or take it.
static void lock(struct tern__job *job, int number)
{
    _Atomic uint32_t *word = &job->ctl->slot_locks[number];
    uint32_t own = (uint32_t)job->rank + 1;
    int64_t look_ns = 0;
    while (!tern__flag_swap(word, 0, own)) {
        int64_t now_ns = tern__now_ns();
        look_ns = look_ns != 0 ? look_ns : now_ns + LOOK_NS;
        if (now_ns >= look_ns) {
            uint32_t holder = tern__flag_load(word);
            tern__job_look(job);
            if (holder != 0 &&
                tern__flag_load(&job->ctl->ranks[holder - 1].state) == TERN__RANK_DEAD &&
                tern__flag_swap(word, holder, own)) {
                return; // what it was about to do is done again
            }
            look_ns = now_ns + LOOK_NS;
        }
        sched_yield();
    }
}

static void unlock(struct tern__job *job, int number)
{
    tern__flag_store(&job->ctl->slot_locks[number], 0);
}

// The lock is held where there is one. False when the slot is of a later generation.
static bool make_ready(struct tern__ctl *ctl, struct tern__slot slot, int size)
{
    struct tern__ctl_comm *comm = &ctl->comms[slot.number];
    uint32_t generation = tern__observe(&ctl->generations[slot.number]); // partner: below
    if (generation != slot.generation && !tern__reached(generation, slot.generation)) {
        // Whoever was a member has done with it: partner: tern__slot_leave
        (void)tern__flag_load(&comm->holders);
        memset((void *)comm, 0, sizeof *comm);
        tern__poke(&comm->holders, (uint32_t)size);
        tern__flag_store(&ctl->slots[slot.number], 1);
        tern__publish(&ctl->generations[slot.number], slot.generation);
        return true;
    }
    return generation == slot.generation;
}

int tern__slots_exhausted(const struct tern__job *job, const char *call)
{
    return is_far(job)
               ? tern__fail(TERN_ERR_LIMIT,
                            "%s: of the %d communicators of this job, the share of the machine "
                            "that the first of its ranks is on is alive; there cannot be more",
                            call, TERN__COMM_SLOTS)
               : tern__fail(TERN_ERR_LIMIT,
                            "%s: %d communicators of this job are alive and there cannot be more",
                            call, TERN__COMM_SLOTS);
}

struct tern__slot tern__slot_take(struct tern__job *job, int size)
{
    struct tern__ctl *ctl = job->ctl;
    int machines = is_far(job) ? job->machines->count : 1;
    int mine = is_far(job) ? job->machines->mine : 0;
    for (int number = mine != 0 ? mine : machines; number < TERN__COMM_SLOTS; number += machines) {
        if (tern__peek(&ctl->slots[number]) == 0 && tern__flag_swap(&ctl->slots[number], 0, 1)) {
            struct tern__slot slot = {.number = number,
                                      .generation = tern__observe(&ctl->generations[number]) + 1};
            if (is_far(job)) {
                tern__slot_ready(job, slot, size);
            } else {
                make_ready(ctl, slot, size); // nobody else knows of it
            }
            return slot;
        }
    }
    return (struct tern__slot){.number = -1};
}

void tern__slot_ready(struct tern__job *job, struct tern__slot slot, int size)
{
    if (is_far(job)) {
        lock(job, slot.number);
        make_ready(job->ctl, slot, size);
        unlock(job, slot.number);
    }
}

void tern__slot_leave(struct tern__job *job, struct tern__slot slot)
{
    struct tern__ctl *ctl = job->ctl;
    // A slot is taken as soon as it is given back: nothing of it is touched after that.
    if (tern__flag_add(&ctl->comms[slot.number].holders, UINT32_MAX) == 1 && slot.number != 0) {
        tern__flag_store(&ctl->slots[slot.number], 0); // partner: tern__slot_take
    }
}

struct tern__ctl_comm *tern__slot_lock(struct tern__job *job, struct tern__slot slot, int size)
{
    if (slot.number < 0 || slot.number >= TERN__COMM_SLOTS) {
        return NULL;
    }
    lock(job, slot.number);
    if (make_ready(job->ctl, slot, size)) {
        return &job->ctl->comms[slot.number];
    }
    unlock(job, slot.number);
    return NULL;
}

void tern__slot_unlock(struct tern__job *job, struct tern__slot slot)
{
    unlock(job, slot.number);
}
