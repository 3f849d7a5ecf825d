// SPDX-License-Identifier: Apache-2.0
// The wait ladder. Short path: the first spins look at the condition without a pause, since a cache
// line takes less time than one; then with pauses.

#include "sync/ladder.h"

#include <sched.h>
#include <stdatomic.h>
#include <stddef.h>

#include "base/clock.h"
#include "sync/interrupt.h"
#include "sync/slice.h"
#include "tern/status.h"

enum {
    SPINS_BARE = 64,     // before the first pause
    SPINS_ALONE = 100,   // about 2 us: a thread that runs answers sooner
    SPINS_CROWDED = 16,  // for what is just arriving from another processor
    YIELDS_ALONE = 100,  // about 50 us, several times a futex wake-up
    YIELDS_CROWDED = 24, // each lets every other thread of the processor run once
    LOOKS_PER_YIELD = 4,
    LOOKS_ALONE = 32, // about 1 us, twice a yield: what comes meanwhile is seen at once
    // A yield takes as long as the other threads of the processor want to run. When those are
    // another program's, that is milliseconds each time, and sleeping is the sooner way back: the
    // kernel lets a thread that wakes up run before those that only compute.
    YIELDS_TOGETHER_NS = 1000000,
    // Between machines a wait looks for so long what has come: with 100 us one way that is enough
    // for a question and its answer. Where each thread has a processor; and else for what is one
    // crossing away, since to sleep and be woken, one rank after the other, takes as long as that.
    // In the middle of a large sum the ranks that have something to do need the processors more,
    // and what waking up takes is hidden by the pieces that follow.
    POLLS_TOGETHER_NS = 400000,
    // When it has done so in vain that often in a row, who brings it may be waiting for the
    // processors: that many waits of the thread then sleep sooner. Likewise in the middle of a
    // large sum, for longer, since a wait there is like the one before it.
    POLLS_IN_VAIN = 2,
    RESTS_FROM_POLLS = 16,
    RESTS_FROM_PIECES = 64,
    YIELDS_RESTING = 2,
    // Between machines: how long what was sent before a failure may take longer than its news, and
    // for how long that is one failure, of many waits.
    PATIENCE_NS = 50000000,
    PATIENCE_ONCE_NS = 1000000000,
    PATIENCE_LOOK_NS = 5000000,
};

static _Atomic bool patient;
static void (*_Atomic polled)(void); // NULL: nothing comes from other machines
static _Atomic int64_t failed_ns;    // when the first of the waits was broken

_Thread_local int (*tern__halt_ask)(void);

struct tern__ladder tern__ladder_for(int threads, int cpus)
{
    bool alone = threads <= cpus;
    return (struct tern__ladder){.spins = alone ? SPINS_ALONE : SPINS_CROWDED,
                                 .yields = alone ? YIELDS_ALONE : YIELDS_CROWDED,
                                 .alone = alone};
}

int tern__never_broken(void *arg, bool deep)
{
    (void)arg;
    (void)deep;
    return TERN_OK;
}

void tern__ladder_go_far(void (*poll)(void))
{
    atomic_store_explicit(&patient, true, memory_order_relaxed);
    atomic_store_explicit(&polled, poll, memory_order_release);
}

// Whether what a broken wait waits for may still come.
static bool may_come(void)
{
    if (!atomic_load_explicit(&patient, memory_order_relaxed)) {
        return false;
    }
    int64_t now = tern__now_ns();
    int64_t since = atomic_load_explicit(&failed_ns, memory_order_relaxed);
    if (since == 0 || now - since > PATIENCE_ONCE_NS) {
        atomic_store_explicit(&failed_ns, now, memory_order_relaxed);
        since = now;
    }
    return now - since < PATIENCE_NS;
}

// Sleeps on the bell until the condition holds, is broken, or the deadline passes.
static int sleep_until(const struct tern__wait *wait)
{
    int64_t deadline = tern__deadline_after(wait->timeout_ns);
    bool far = atomic_load_explicit(&polled, memory_order_relaxed) != NULL;
    int64_t first_ns = far ? TERN__FIRST_LOOK_NS : TERN__LOOK_NS;
    int64_t look = wait->broken != NULL ? tern__deadline_after(first_ns) : INT64_MAX;
    for (;;) {
        uint32_t seen = tern__flag_load(&wait->bell->rings);
        if (wait->holds(wait->arg)) { // partner: tern__bell_ring after the change
            return TERN_OK;
        }
        int status = wait->broken != NULL ? wait->broken(wait->arg, false) : TERN_OK;
        status = status == TERN_OK ? tern__halted() : status;
        if (status != TERN_OK && !wait->holds(wait->arg) && may_come()) {
            tern__bell_sleep(wait->bell, seen, tern__deadline_after(PATIENCE_LOOK_NS));
            continue;
        }
        if (status != TERN_OK) {
            return wait->holds(wait->arg) ? TERN_OK : status;
        }
        int64_t now = tern__now_ns();
        if (now >= deadline) {
            return TERN_ERR_TIMEOUT;
        }
        tern__bell_sleep(wait->bell, seen, look < deadline ? look : deadline);
        if (wait->broken != NULL && tern__now_ns() >= look && !wait->holds(wait->arg)) {
            tern__interrupt_now = tern__interrupt_wanted();
            status = wait->broken(wait->arg, true); // partner of the flag: tern__group_check
            tern__interrupt_now = false;
            if (status != TERN_OK && may_come()) {
                continue; // it is asked again
            }
            if (status != TERN_OK) { // what came true before the peer died still counts
                return wait->holds(wait->arg) ? TERN_OK : status;
            }
            look = tern__deadline_after(TERN__LOOK_NS);
        }
    }
}

// Of this thread, apart for the next piece of a large sum: how many waits in a row have polled in
// vain, and how many are not to.
static _Thread_local struct polls {
    uint32_t in_vain, rests;
} polls[2];

static bool may_poll_longer(const struct tern__ladder *ladder)
{
    return ladder->awaits == TERN__AWAITS_CROSSING ||
           (ladder->alone && ladder->awaits != TERN__AWAITS_PIECES);
}

static bool rests(struct polls *those)
{
    if (those->rests == 0) {
        return false;
    }
    those->rests--;
    return true;
}

static void count_polls(struct polls *those, bool in_vain, uint32_t rests)
{
    those->in_vain = in_vain ? those->in_vain + 1 : 0;
    if (those->in_vain >= POLLS_IN_VAIN) {
        those->rests = rests;
    }
}

// The yields, until the condition holds. Between machines the thread itself takes what comes
// meanwhile, so that no other one has to wake up for it first. Where others need the processor,
// their turns soon use the time up.
static bool yields(const struct tern__wait *wait)
{
    const struct tern__ladder *ladder = wait->ladder;
    void (*poll)(void) = atomic_load_explicit(&polled, memory_order_acquire);
    bool polling = poll != NULL && ladder->yields > 0;
    bool few = polling && ladder->awaits == TERN__AWAITS_PIECES;
    struct polls *those = &polls[few];
    bool counts = polling && (few || may_poll_longer(ladder)) && !rests(those);
    bool longer = counts && !few;
    int looks = ladder->alone ? LOOKS_ALONE : LOOKS_PER_YIELD;
    uint32_t limit = !few ? UINT32_MAX : counts ? YIELDS_CROWDED : YIELDS_RESTING;
    uint32_t most = ladder->yields < limit ? ladder->yields : limit;
    int64_t most_ns = longer ? POLLS_TOGETHER_NS : YIELDS_TOGETHER_NS;
    int64_t end = ladder->yields > 0 ? tern__now_ns() + most_ns : 0;
    for (uint32_t i = 0; i < most || longer; i++) {
        if (poll == NULL || i > 0) {
            sched_yield();
        }
        if (poll != NULL) {
            poll();
        }
        for (int look = 0; look < looks; look++) {
            if (look >= LOOKS_PER_YIELD) {
                tern__cpu_relax();
            }
            if (wait->holds(wait->arg)) {
                if (counts) {
                    count_polls(those, false, 0);
                }
                return true;
            }
        }
        if (tern__now_ns() >= end) {
            break;
        }
    }
    if (counts) {
        count_polls(those, true, few ? RESTS_FROM_PIECES : RESTS_FROM_POLLS);
    }
    return false;
}

int tern__ladder_climb(const struct tern__wait *wait)
{
    uint32_t spins = wait->ladder->spins;
    for (uint32_t i = 0; i < spins; i++) {
        if (wait->holds(wait->arg)) {
            return TERN_OK;
        }
        if (i >= SPINS_BARE) {
            tern__cpu_relax();
        }
    }
    tern__slice_shorten(); // from here on other threads run, and the turn must come back
    if (yields(wait)) {
        return TERN_OK;
    }
    tern__flag_add(&wait->bell->sleepers, 1); // partner: tern__bell_ring
    int status = sleep_until(wait);
    tern__flag_add(&wait->bell->sleepers, UINT32_MAX);
    return status;
}
