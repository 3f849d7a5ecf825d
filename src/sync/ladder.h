// SPDX-License-Identifier: Apache-2.0
// The one wait ladder: a short spin, then yields, then sleep on a doorbell. How long each rung is
// depends on how many threads share how many processors: when they are fewer, spinning costs nobody
// anything; when they are more, the thread that is waited for needs this processor. Everything in
// tern that waits for memory to change waits here, with a deadline and with a look at whether it
// can still come true.
#ifndef TERN_SYNC_LADDER_H
#define TERN_SYNC_LADDER_H

#include <stdbool.h>
#include <stdint.h>

#include "sync/bell.h"

// What a wait between machines waits for.
enum tern__awaits {
    TERN__AWAITS_ANY,
    TERN__AWAITS_CROSSING, // what is one crossing away: a barrier, a small call
    TERN__AWAITS_PIECES,   // the next one, in the middle of a large sum
};

// The rungs. A thread that sleeps wakes at least every TERN__LOOK_NS to see whether its peers live.
struct tern__ladder {
    uint32_t spins; // looks at the condition in a row
    // Then that often gives up the processor, with a few looks after each; for 1 ms together at
    // most.
    uint32_t yields;
    bool alone; // each thread has a processor
    enum tern__awaits awaits;
};

#define TERN__LOOK_NS INT64_C(100000000)
// Between machines: when a wait looks for the first time. What it has left to others of its machine
// to send is sent then, for those who want to know who has come.
#define TERN__FIRST_LOOK_NS INT64_C(2000000)

struct tern__wait {
    struct tern__bell *bell; // rung by whoever changes what `holds` reads
    const struct tern__ladder *ladder;
    // Of sleeping; the rungs before take microseconds, on a busy machine a time slice.
    int64_t timeout_ns;

    // The condition; reads with sequential consistency. Called often, must be cheap.
    bool (*holds)(void *arg);
    // Whether waiting is pointless: TERN_OK, or an error with its sentence. `deep`: worth a system
    // call. May be NULL. Not called while the ladder is above sleeping.
    int (*broken)(void *arg, bool deep);
    void *arg;
};

// TERN_OK when the condition holds; what `broken` returned; or TERN_ERR_TIMEOUT without a sentence,
// which the caller words. What the thread has begun does not go on meanwhile: sync/wait.h.
int tern__ladder_climb(const struct tern__wait *wait);

// Between machines. From now on a wait that is broken goes on for 50 ms, which all that are broken
// within a second share: the news of a failure may overtake what was sent before it. And beside its
// yields a wait calls `poll`, which takes what has come and waits for nobody; for 400 us on a
// machine with a processor for each thread, or when it waits for one crossing, else as often as it
// yields; for the next piece of a large sum with few yields in any case, and with hardly any after
// waits that took nothing.
void tern__ladder_go_far(void (*poll)(void));

// `broken` of waits that nobody is known to break: TERN_OK. That it is asked makes the sleeper look
// now and then: not all stores of a program ring, and the kernel may have failed.
int tern__never_broken(void *arg, bool deep);

// Asked by the waits of this thread once they sleep, when it is not NULL: TERN_OK, or an error with
// its sentence, with which the wait then ends. For blocks of kernels, whose chip can fail.
extern _Thread_local int (*tern__halt_ask)(void);

static inline int tern__halted(void)
{
    return tern__halt_ask != NULL ? tern__halt_ask() : TERN_OK;
}

// The ladder for `threads` runnable threads on `cpus` processors.
struct tern__ladder tern__ladder_for(int threads, int cpus);

#endif
