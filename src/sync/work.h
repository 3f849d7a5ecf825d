// SPDX-License-Identifier: Apache-2.0
// What has been begun and has not ended: runs of plans, collective calls. Each is an item, and a
// thread that waits for one also moves others of the same job, so that ranks may wait for several
// in different orders. There are two sorts:
//
//   without a turn   belongs to the queue of the thread that began it, which alone moves it. Every
//                    thread has a queue of its own; another one may be put in its place, and goes
//                    from thread to thread with all its work.
//   with a turn      belongs to the process: whoever has its turn (sync/turn.h) may move it. Of the
//                    threads that wait for it one is its keeper, which moves it; the others sleep
//                    until what they wait for has ended, or the keeper leaves. Items that run and
//                    have no keeper are in one list, which every waiting thread moves.
//
// All sleep on the job's bell of their rank. Whoever ends what another thread may wait for, or
// leaves as a keeper, rings it. Data path: no allocation, no lock but turns.
#ifndef TERN_SYNC_WORK_H
#define TERN_SYNC_WORK_H

#include <stdbool.h>

#include "base/trace.h"
#include "sync/job.h"
#include "sync/turn.h"

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
    // What of it the next of these five is about: tern__awaited.what, or NULL. NULL: no matter.
    void (*await)(struct tern__work *work, const void *what);
};

struct tern__work {
    const struct tern__work_ops *ops;
    struct tern__job *job;
    struct tern__turn *turn;  // guards it all; NULL: it belongs to its thread
    _Atomic uintptr_t keeper; // tern__thread_number; 0: none
    bool runs;                // with a turn: it has been begun and has not ended
    bool sleeps;
    enum tern__awaits awaits; // now
    uint32_t moves;           // counted by whoever advances it
    struct {
        uint32_t tests, moves; // tests in a row, since so many moves
        int64_t since_ns;      // of the first of them at which the clock was read; 0: none
        int64_t look_ns;       // when to look next whether the peers live
    } idle;
    struct tern__queue *queue; // that it is in
    uint64_t order;            // in the list: counts up
    struct tern__work *next, *previous;
};

// Set by whoever ends what a thread waits for: read without the turn.
typedef _Atomic uint32_t tern__done;

// What a thread waits for.
struct tern__awaited {
    struct tern__work *work;
    const tern__done *done;
    const void *what; // for sentences
    int64_t timeout_ns;
};

// Zero-initialised: empty. Used by one thread at a time; whoever hands it over orders that.
struct tern__queue {
    struct tern__work *oldest, *newest;
};

// The calling thread works for this queue from now on; NULL: for its own. Returns the one before,
// NULL for its own.
struct tern__queue *tern__queue_use(struct tern__queue *queue);

// It has been begun, and it has ended: in its turn, or else by a thread that works for its queue.
void tern__work_begin(struct tern__work *work);
void tern__work_end(struct tern__work *work);

// What is waited for has ended, and its thread may sleep.
void tern__work_done(const struct tern__work *work, tern__done *done);

// In the child of a fork: this thread works for its own queue, and that is empty, as the list.
void tern__work_forget(void);

// Without a turn: whether it runs, and in the calling thread's queue.
bool tern__work_is_running(const struct tern__work *work);
bool tern__work_is_mine(const struct tern__work *work);

// In its turn, or where it has none: the calling thread becomes its keeper; false when it has one.
// And is no longer: outside of the turn.
bool tern__work_keep(struct tern__work *work);
void tern__work_unkeep(struct tern__work *work);

// Its turn, where it has one.
static inline void tern__work_enter(struct tern__work *work)
{
    if (work->turn != NULL) {
        tern__turn_take(work->turn);
    }
}
static inline void tern__work_leave(struct tern__work *work)
{
    if (work->turn != NULL) {
        tern__turn_leave(work->turn);
    }
}

// Whether a thread that waits for it has something to do: as its keeper, that it can move; else
// that it has no keeper any more.
bool tern__work_calls(struct tern__work *work, bool kept);

// Moves the work of the job in the thread's queue and in the list, but `except`; true when any
// moved.
bool tern__work_advance(const struct tern__job *job, const struct tern__work *except);

// The same for those whose job rings this bell for this rank; and whether there may be any at all.
bool tern__work_exists(void);
bool tern__work_ready_on(const struct tern__bell *bell);
void tern__work_advance_on(const struct tern__bell *bell);

// Moves all that the thread's queue and the list have, of any job, as far as it goes without
// waiting.
void tern__work_advance_all(void);

// The thread moves what has been begun on the job of this item: as far as it goes without waiting,
// or until *done.
void tern__work_drive(struct tern__work *work, const tern__done *done);

// The same, and waits until *done; fails as tern__work_rest does, and leaves *done as it is.
int tern__work_wait(const struct tern__awaited *awaited);

// In its turn: calls what the item has for it, once until it wakes; for one that stands for others.
int tern__work_broken(struct tern__work *work, const void *what, bool deep);
int tern__work_timed_out(struct tern__work *work, const void *what, int64_t waited_ns);
void tern__work_wake(struct tern__work *work, const void *what);

// In its turn, for threads that test instead of waiting, after a test that found nothing to do:
// fails like a wait, and with its sentence, when a peer died, or when the deadline has passed since
// the first of the tests between which the item has not moved. Reads the clock every
// TERN__TESTS_PER_CLOCK tests.
#define TERN__TESTS_PER_CLOCK 16
int tern__work_tested(struct tern__work *work, const void *what, int64_t timeout_ns);

// In its turn: since when nothing of it has moved, as far as this was asked; now if it has.
int64_t tern__work_idle_since(struct tern__work *work, int64_t now_ns);

// What a thread sleeps on: until `over`, or until any of the job's work that it may move can.
struct tern__rest {
    struct tern__job *job;
    enum tern__awaits awaits;
    int64_t timeout_ns;
    bool (*over)(void *arg);             // as tern__wait.holds
    int (*broken)(void *arg, bool deep); // as tern__wait.broken
    int (*timed_out)(void *arg);         // TERN_OK: it goes on, all the same
    void (*awake)(void *arg);            // NULL: no matter
    void (*describe)(void *arg, struct tern__trace_event *event); // for a trace; likewise
    void *arg;
};
int tern__work_rest(const struct tern__rest *rest);

#endif
