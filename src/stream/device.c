// SPDX-License-Identifier: Apache-2.0
// The threads that run blocks. A thread that has nothing to do sleeps on a condition of its own;
// who starts a kernel takes the ones that fell asleep last, and makes those that are missing.
// Set-up path: a launch takes a lock and wakes threads.

#include "stream/device.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/trace.h"
#include "comm/checking.h"
#include "isa/block.h"
#include "isa/check.h"
#include "isa/fault.h"
#include "base/thread.h"
#include "sync/ladder.h"

struct worker {
    struct worker *next; // of those that sleep
    pthread_cond_t wake;
    struct tern__stream_op *op; // NULL: sleep
    int index;                  // of the block
    void (*duty)(void);         // NULL: it is not summoned
};

static struct {
    pthread_mutex_t lock;
    pthread_cond_t ended;
    struct worker *idle;
    int idle_count;
    uint64_t failures;
    char failure[TERN_ERROR_BYTES]; // the sentence of the last of them
} device = {.lock = PTHREAD_MUTEX_INITIALIZER};

static _Thread_local struct worker *me;

static void lock_for_fork(void)
{
    pthread_mutex_lock(&device.lock);
}

static void unlock_after_fork(void)
{
    pthread_mutex_unlock(&device.lock);
}

void tern__device_init_cond(pthread_cond_t *cond)
{
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(cond, &attributes);
    pthread_condattr_destroy(&attributes);
}

// The threads are the parent's; their memory is lost.
static void in_child(void)
{
    device.idle = NULL;
    device.idle_count = 0;
    pthread_mutex_init(&device.lock, NULL);
    tern__device_init_cond(&device.ended); // threads of the parent may sleep on it
    me = NULL;
}

static void prepare(void)
{
    tern__device_init_cond(&device.ended);
    pthread_atfork(lock_for_fork, unlock_after_fork, in_child);
}

void tern__device_lock(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, prepare);
    pthread_mutex_lock(&device.lock);
}

void tern__device_unlock(void)
{
    pthread_mutex_unlock(&device.lock);
}

bool tern__device_sleep_on(pthread_cond_t *cond, int64_t deadline_ns)
{
    struct timespec until = tern__timespec(deadline_ns);
    return pthread_cond_timedwait(cond, &device.lock, &until) == 0;
}

bool tern__device_sleep(int64_t deadline_ns)
{
    return tern__device_sleep_on(&device.ended, deadline_ns);
}

void tern__device_wake(void)
{
    pthread_cond_broadcast(&device.ended);
}

// Asked by the waits of a block: whether a block of this process has failed since its kernel began.
static int ask_halted(void)
{
    int status = TERN_OK;
    pthread_mutex_lock(&device.lock);
    if (me->op->failures != device.failures) {
        status = tern__fail(TERN_ERR_KERNEL, "its wait was ended: %s", device.failure);
    }
    pthread_mutex_unlock(&device.lock);
    return status;
}

// *noted: it went on behind what it had found wrong.
static int run_block(struct tern__stream_op *op, int index, bool *noted)
{
    struct tern__block *block = tern__block_here();
    int64_t begin_ns = tern__trace_start();
    bool checking = tern__checking();
    block->index = index;
    block->count = op->blocks;
    block->kernel = op->name;
    block->meeting = &op->meeting;
    tern__halt_ask = ask_halted;
    int status = op->function(op->args);
    tern__halt_ask = NULL;
    if (checking) {
        status = tern__watch_end(status);
    }
    *noted = status >= 0 && block->noted < 0;
    status = tern__block_end(status);
    tern_fence();      // wakes who waits for what it stored
    free(block->note); // of a block that failed behind it
    *block = (struct tern__block){.count = 1, .memory = block->memory};
    if (begin_ns != 0) {
        struct tern__trace_event event = {.begin_ns = begin_ns, .kind = TERN__TRACE_TASK};
        tern__trace_name(&event, op->name);
        tern__trace_put(&event);
    }
    return status;
}

static void fail_stream(struct tern__stream_op *op, int block, int status)
{
    tern__stream_fail(op->stream, status, "kernel '%s', block %d of %d: %s", op->name, block,
                      op->blocks, tern_last_error());
}

static void end_block(struct tern__stream_op *op, int index, int status, bool noted)
{
    if (status < 0) {
        bool follows = op->failures != device.failures; // of another block's failure
        fail_stream(op, index, status);
        if (!follows && !noted) { // waits of others may still come true behind a note
            device.failures++;
            snprintf(device.failure, sizeof device.failure, "%s", op->stream->sentence);
        }
    }
    if (--op->left == 0) {
        if (tern__checking()) {
            tern__checking_kernel_ended(op->launch);
        }
        op->ended(op);
    }
}

// This thread has nothing to do.
static void rest(void)
{
    me->next = device.idle;
    device.idle = me;
    device.idle_count++;
}

// Out of those that have nothing to do; there is one.
static struct worker *take_idle(void)
{
    struct worker *worker = device.idle;
    device.idle = worker->next;
    device.idle_count--;
    pthread_cond_signal(&worker->wake);
    return worker;
}

static void *worker_main(void *arg)
{
    me = arg;
    struct tern__fault_stack faults;
    tern__kernel_thread_begin(&faults);
    tern__trace_name_thread("block");
    pthread_mutex_lock(&device.lock);
    for (;;) {
        while (me->op == NULL && me->duty == NULL) {
            pthread_cond_wait(&me->wake, &device.lock);
        }
        struct tern__stream_op *op = me->op;
        if (op == NULL) {
            void (*duty)(void) = me->duty;
            me->duty = NULL;
            duty();
            rest();
            continue;
        }
        int index = me->index;
        pthread_mutex_unlock(&device.lock);
        bool noted;
        int status = run_block(op, index, &noted);
        pthread_mutex_lock(&device.lock);
        // Idle first: what follows in the stream may be for this thread.
        me->op = NULL;
        rest();
        end_block(op, index, status, noted);
    }
    return NULL;
}

// One more thread that sleeps.
static int add_worker(void)
{
    struct worker *worker = calloc(1, sizeof *worker);
    pthread_t thread;
    if (worker == NULL) {
        return tern__fail(TERN_ERR_MEMORY, "no memory for a block");
    }
    tern__device_init_cond(&worker->wake);
    int status = tern__thread_start(&thread, worker_main, worker);
    if (status != TERN_OK) {
        free(worker);
        return status;
    }
    pthread_detach(thread);
    worker->next = device.idle;
    device.idle = worker;
    device.idle_count++;
    return TERN_OK;
}

int tern__device_start(struct tern__stream_op *op)
{
    while (device.idle_count < op->blocks) {
        TERN_TRY(add_worker());
    }
    if (tern__checking()) {
        tern__checking_kernel_begins(op->launch);
    }
    op->left = op->blocks;
    op->started = true;
    op->failures = device.failures;
    for (int i = 0; i < op->blocks; i++) {
        struct worker *worker = take_idle();
        worker->op = op;
        worker->index = i;
    }
    return TERN_OK;
}

int tern__device_summon(void (*duty)(void))
{
    if (device.idle_count == 0) {
        TERN_TRY(add_worker());
    }
    take_idle()->duty = duty;
    return TERN_OK;
}
