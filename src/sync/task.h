// SPDX-License-Identifier: Apache-2.0
// What a thread has begun and not ended: runs of plans, collective calls. A thread that waits for one
// of them also moves its others on the same job, so that ranks may wait for several in different
// orders. A task belongs to the thread that began it. Data path: no allocation, no lock.
#ifndef TERN_SYNC_TASK_H
#define TERN_SYNC_TASK_H

#include <stdbool.h>

#include "base/trace.h"
#include "sync/job.h"

struct tern__task {
    // Does what can be done without waiting; true when that was anything. It may end any task.
    bool (*advance)(struct tern__task *task);
    // Whether advance would do something. Reads with sequential consistency; cheap.
    bool (*ready)(struct tern__task *task);
    // Of a task that its thread waits for: whether waiting is pointless (as in sync/ladder.h); the words
    // when the job's deadline has passed; and that it sleeps no more.
    int (*broken)(struct tern__task *task, bool deep);
    int (*timed_out)(struct tern__task *task);
    void (*woken)(struct tern__task *task);
    // For a trace, what it is about to wait for: name, number, peer, signal. NULL: nothing to say.
    void (*describe)(struct tern__task *task, struct tern__trace_event *event);
    struct tern__job *job;
    uint32_t moves; // counted by whoever advances it
    struct {
        uint32_t tests, moves; // tests in a row, since so many moves
        int64_t since_ns;      // of the first of them at which the clock was read; 0: none
        int64_t look_ns;       // when to look next whether the peers live
    } idle;
    const void *thread; // that began it; NULL: nobody
    struct tern__task *next, *previous;
};

// The calling thread has begun it; and it has ended. By the same thread.
void tern__task_begin(struct tern__task *task);
void tern__task_end(struct tern__task *task);

// In the child of a fork: this thread has begun nothing.
void tern__tasks_forget(void);

// Whether it runs, and for the calling thread.
bool tern__task_is_running(const struct tern__task *task);
bool tern__task_is_mine(const struct tern__task *task);

// Moves this thread's tasks of the job, but `except`; true when any moved.
bool tern__tasks_advance(const struct tern__job *job, const struct tern__task *except);

// The same for those whose job rings this bell for this rank; and whether this thread has any at all.
bool tern__tasks_exist(void);
bool tern__tasks_ready_on(const struct tern__bell *bell);
void tern__tasks_advance_on(const struct tern__bell *bell);

// For threads that test instead of waiting, after a test that found nothing to do: fails like a wait, and
// with its sentence, when a peer died, or when the job's deadline has passed since the first of the tests
// between which the task has not moved. Reads the clock every TERN__TESTS_PER_CLOCK tests.
#define TERN__TESTS_PER_CLOCK 16
int tern__task_tested(struct tern__task *task);

// Waits until any of this thread's tasks of the job can move; fails as the task says.
int tern__task_rest(struct tern__task *task);

#endif
