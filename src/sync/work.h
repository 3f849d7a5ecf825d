// SPDX-License-Identifier: Apache-2.0
// What has been begun and has not ended: runs of plans, collective calls. Each is an item in a
// queue, and a thread that waits for one of them also moves the others of its queue on the same
// job, oldest first, so that ranks may wait for several in different orders. An item belongs to its
// queue. Every thread has a queue of its own; another one may be put in its place, and goes from
// thread to thread with all its work. Data path: no allocation, no lock.
#ifndef TERN_SYNC_WORK_H
#define TERN_SYNC_WORK_H

#include <stdbool.h>

#include "base/trace.h"
#include "sync/job.h"

struct tern__work;

// What a kind of work can do.
struct tern__work_ops {
    // Does what can be done without waiting; true when that was anything. It may end any item.
    bool (*advance)(struct tern__work *work);
    // Whether advance would do something. Reads with sequential consistency; cheap.
    bool (*ready)(struct tern__work *work);
    // Of one that its thread waits for: it sleeps from now on, and shows the others where it
    // stands; whether waiting is pointless (as in sync/ladder.h); the words when the deadline has
    // passed, which was so long; and that it sleeps no more.
    void (*asleep)(struct tern__work *work);
    int (*broken)(struct tern__work *work, bool deep);
    int (*timed_out)(struct tern__work *work, int64_t waited_ns);
    void (*awake)(struct tern__work *work);
    // For a trace, what it is about to wait for: name, number, peer, signal. NULL: nothing to say.
    void (*describe)(struct tern__work *work, struct tern__trace_event *event);
};

struct tern__work {
    const struct tern__work_ops *ops;
    struct tern__job *job;
    bool sleeps;
    uint32_t moves; // counted by whoever advances it
    struct {
        uint32_t tests, moves; // tests in a row, since so many moves
        int64_t since_ns;      // of the first of them at which the clock was read; 0: none
        int64_t look_ns;       // when to look next whether the peers live
    } idle;
    struct tern__queue *queue; // NULL: it is not running
    struct tern__work *next, *previous;
};

// Zero-initialised: empty. Used by one thread at a time; whoever hands it over orders that.
struct tern__queue {
    struct tern__work *oldest, *newest;
};

// The calling thread works for this queue from now on; NULL: for its own. Returns the one before,
// NULL for its own.
struct tern__queue *tern__queue_use(struct tern__queue *queue);

// It has been begun, in the thread's queue; and it has ended, by a thread that works for that
// queue.
void tern__work_begin(struct tern__work *work);
void tern__work_end(struct tern__work *work);

// In the child of a fork: this thread works for its own queue, and that is empty.
void tern__work_forget(void);

// Whether it runs, and in the calling thread's queue.
bool tern__work_is_running(const struct tern__work *work);
bool tern__work_is_mine(const struct tern__work *work);

// Moves the work of the job in the thread's queue, but `except`; true when any moved.
bool tern__work_advance(const struct tern__job *job, const struct tern__work *except);

// The same for those whose job rings this bell for this rank; and whether the queue has any at all.
bool tern__work_exists(void);
bool tern__work_ready_on(const struct tern__bell *bell);
void tern__work_advance_on(const struct tern__bell *bell);

// Moves all that the thread's queue has, of any job, as far as it goes without waiting.
void tern__work_advance_all(void);

// The thread moves what it has begun on the job of this item: as far as it goes without waiting, or
// until *done. Whoever ends what the thread is after sets *done.
void tern__work_drive(struct tern__work *work, const bool *done);

// The same, and waits until *done; fails as tern__work_rest does, and leaves *done as it is.
int tern__work_wait(struct tern__work *work, const bool *done, int64_t timeout_ns);

// Calls what the item has for it, once until it wakes; for one that stands for others.
int tern__work_broken(struct tern__work *work, bool deep);
void tern__work_wake(struct tern__work *work);

// For threads that test instead of waiting, after a test that found nothing to do: fails like a
// wait, and with its sentence, when a peer died, or when the deadline has passed since the first of
// the tests between which the item has not moved. Reads the clock every
// TERN__TESTS_PER_CLOCK tests.
#define TERN__TESTS_PER_CLOCK 16
int tern__work_tested(struct tern__work *work, int64_t timeout_ns);

// Waits until any of the job's work in the thread's queue can move; fails as the item says.
int tern__work_rest(struct tern__work *work, int64_t timeout_ns);

#endif
