// SPDX-License-Identifier: Apache-2.0
// Notify, wait and test on tensors. Signals in windows are those of isa/signal.c. Data path: no
// allocation but to wait for many, no lock or log, and no system call but to wake, to wait and,
// when tests fail in a row, to let others run.

#include <inttypes.h>
#include <limits.h>
#include <sched.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/options.h"
#include "base/public.h"
#include "isa/block.h"
#include "isa/check.h"
#include "isa/far.h"
#include "isa/signal.h"
#include "isa/view.h"
#include "sync/ladder.h"
#include "sync/slice.h"
#include "sync/work.h"

enum {
    FEW_WORDS = 64,     // that are waited for without an allocation
    TESTS_BEFORE = 16,  // that fail in a row, before each further one yields
    TESTS_A_CLOCK = 64, // until the time is looked at
    TESTS_A_LOOK = 512, // until it is asked whether all ranks live
};

#define MOVE_EVERY_NS INT64_C(1000000)

static int view_signal(const char *call, const tern_tensor *signal, struct tern__view *view)
{
    int status;
    if (tern__view_word(call, "signal", signal, view, &status)) {
        return status;
    }
    TERN_TRY(tern__view_any(call, "signal", signal, NULL, view));
    if (view->dtype != TERN_I32) {
        return tern__fail(TERN_ERR_ARG, "%s: a signal has i32, and not %s", call,
                          tern_dtype_name(view->dtype));
    }
    return TERN_OK;
}

static int tensor_notify(const tern_tensor *signal, int32_t value, tern_notify_op op)
{
    struct tern__view view;
    TERN_TRY(view_signal("tern_tensor_notify", signal, &view));
    if ((unsigned)op > TERN_NOTIFY_SET) {
        return tern__fail(TERN_ERR_ARG,
                          "tern_tensor_notify: %d is no way to notify; there are add and set",
                          (int)op);
    }
    if (tern__shape_is_empty(view.shape)) {
        return TERN_OK;
    }
    if (view.window != NULL) {
        const tern_window *window = view.window;
        size_t offset = (size_t)(view.data - tern__window_at(window, view.rank, 0));
        return tern_signal_notify(view.window, view.rank, offset, value, op);
    }
    tern__xport_shm.notify(view.data, value, op);
    tern__bell_ring(tern__local_bell());
    return TERN_OK;
}

int tern_tensor_notify(const tern_tensor *signal, int32_t value, tern_notify_op op)
{
    return TERN__CALL_OF_CALLS(tensor_notify(signal, value, op));
}

static int32_t seen_at(const struct tern__view *view, const int64_t i[4], int64_t column)
{
    const char *word = tern__view_row(view, i) + column * view->stride[4] * 4;
    return (int32_t)tern__flag_load((const _Atomic uint32_t *)(const void *)word);
}

struct scan {
    const struct tern__view *view;
    tern_cmp cmp;
    int32_t value;
    int64_t i[4], column; // of the element that failed last
    int32_t seen;
};

static bool holds_here(struct scan *scan)
{
    scan->seen = seen_at(scan->view, scan->i, scan->column);
    return tern__cmp_holds(scan->seen, scan->cmp, scan->value);
}

// Whether all elements hold in one scan, which is not begun before the last one that failed holds.
static bool all_hold(void *arg)
{
    struct scan *scan = arg;
    if (!holds_here(scan)) {
        return false;
    }
    for (int d = 0; d < 4; d++) {
        scan->i[d] = 0;
    }
    do {
        for (scan->column = 0; scan->column < scan->view->shape[4]; scan->column++) {
            if (!holds_here(scan)) {
                return false;
            }
        }
        scan->column = 0;
    } while (tern__shape_next(scan->view->shape, scan->i));
    return true;
}

static int check_cmp(const char *call, tern_cmp cmp)
{
    return (unsigned)cmp <= TERN_CMP_LE
               ? TERN_OK
               : tern__fail(TERN_ERR_ARG, "%s: %d is no comparison", call, (int)cmp);
}

// What the thread has begun goes on meanwhile, if not at once: what it waits for rings other bells.
static int climb(struct tern__wait *wait)
{
    int64_t deadline = tern__deadline_after(wait->timeout_ns);
    if (!tern__work_exists()) {
        return tern__ladder_climb(wait);
    }
    for (;;) {
        tern__work_advance_all();
        int64_t rest = deadline - tern__now_ns();
        wait->timeout_ns = rest < MOVE_EVERY_NS ? rest : MOVE_EVERY_NS;
        int status = tern__ladder_climb(wait);
        if (status != TERN_ERR_TIMEOUT || rest <= MOVE_EVERY_NS) {
            return status;
        }
    }
}

// In memory of this process.
static int wait_here(const char *call, struct scan *scan, int64_t timeout_ns)
{
    struct tern__ladder ladder = tern__ladder_for(INT_MAX, 1); // nothing is known: let others run
    if (timeout_ns == TERN_TIMEOUT_DEFAULT) {
        TERN_TRY(tern__timeout_option(0, &timeout_ns));
    }
    struct tern__wait wait = {.bell = tern__local_bell(),
                              .ladder = &ladder,
                              .timeout_ns = timeout_ns,
                              .holds = all_hold,
                              .broken = tern__never_broken,
                              .arg = scan};
    int status = climb(&wait);
    return status != TERN_ERR_TIMEOUT
               ? status
               : tern__fail(TERN_ERR_TIMEOUT,
                            "%s: waited %.3g s for the signal at %p: element (%" PRId64 ", %" PRId64
                            ", %" PRId64 ", %" PRId64 ", %" PRId64 ") is %d, wanted %s %d",
                            call, (double)timeout_ns * 1e-9, (void *)scan->view->data, scan->i[0],
                            scan->i[1], scan->i[2], scan->i[3], scan->column, scan->seen,
                            tern__cmp_text(scan->cmp), scan->value);
}

// In the caller's own part of a window.
static int wait_in_window(const char *call, const struct tern__view *view, tern_cmp cmp,
                          int32_t value, int64_t timeout_ns)
{
    tern_window *window = view->window;
    tern_condition few[FEW_WORDS];
    tern_condition *conditions = few;
    size_t count = (size_t)tern__shape_rows(view->shape) * (size_t)view->shape[4];
    if (count > FEW_WORDS) {
        conditions = calloc(count, sizeof *conditions);
        if (conditions == NULL) {
            return tern__fail(TERN_ERR_MEMORY, "%s: no memory to wait for %zu words", call, count);
        }
    }
    int64_t i[4] = {0};
    size_t made = 0;
    do {
        const char *row = tern__view_row(view, i);
        for (int64_t column = 0; column < view->shape[4]; column++) {
            const char *word = row + column * view->stride[4] * 4;
            conditions[made++] =
                (tern_condition){.window = window,
                                 .offset_bytes =
                                     (size_t)(word - tern__window_at(window, window->rank, 0)),
                                 .cmp = cmp,
                                 .value = value};
        }
    } while (tern__shape_next(view->shape, i));
    int status = tern__conditions_wait(call, conditions, made, timeout_ns);
    if (conditions != few) {
        free(conditions);
    }
    return status;
}

static int tensor_wait(const tern_tensor *signal, tern_cmp cmp, int32_t value, int64_t timeout_ns)
{
    const char *call = "tern_tensor_wait";
    struct tern__view view;
    TERN_TRY(view_signal(call, signal, &view));
    TERN_TRY(check_cmp(call, cmp));
    if (timeout_ns < 0 && timeout_ns != TERN_TIMEOUT_DEFAULT) {
        return tern__fail(TERN_ERR_ARG,
                          "%s: timeout_ns is %lld; it must be TERN_TIMEOUT_DEFAULT, or 0 or more",
                          call, (long long)timeout_ns);
    }
    if (tern__shape_is_empty(view.shape)) {
        return TERN_OK;
    }
    if (view.window != NULL && view.rank != view.window->rank) {
        return tern__fail(TERN_ERR_ARG,
                          "%s: the signal is in rank %d's part of window %u, and only rank %d may "
                          "wait there; tern_tensor_test may look at it",
                          call, view.rank, view.window->number, view.rank);
    }
    struct scan scan = {.view = &view, .cmp = cmp, .value = value};
    if (!(tern__checking() && view.window != NULL) && all_hold(&scan)) {
        return TERN_OK;
    }
    return view.window != NULL ? wait_in_window(call, &view, cmp, value, timeout_ns)
                               : wait_here(call, &scan, timeout_ns);
}

int tern_tensor_wait(const tern_tensor *signal, tern_cmp cmp, int32_t value, int64_t timeout_ns)
{
    return TERN__CALL_WAIT(tensor_wait(signal, cmp, value, timeout_ns), timeout_ns);
}

// Of this thread: tests that failed since the signal held that failed last. That of another one, as
// in a sweep over several, does not count; but it is progress.
static _Thread_local struct {
    const void *signal;
    unsigned failed;
    int64_t since_ns; // of the first look around without progress; 0: none
} polling;

static int64_t timeout_of(const struct tern__view *view)
{
    static _Atomic uint64_t known;
    if (view->window != NULL) {
        return view->window->comm->group.job->timeout_ns;
    }
    int64_t timeout_ns = (int64_t)atomic_load_explicit(&known, memory_order_relaxed);
    if (timeout_ns == 0) {
        timeout_ns = TERN_DEFAULT_TIMEOUT_NS;
        tern_status_ignore(tern__timeout_option(0, &timeout_ns));
        atomic_store_explicit(&known, (uint64_t)timeout_ns, memory_order_relaxed);
    }
    return timeout_ns;
}

// A kernel that only polls is given up like one that waits. Other threads may poll for ever.
static int look_around(const struct scan *scan)
{
    const struct tern__block *block = tern__block_here();
    if (block->kernel == NULL) {
        return TERN_OK;
    }
    TERN_TRY(tern__halted());
    int64_t now_ns = tern__now_ns();
    if (polling.since_ns == 0) {
        polling.since_ns = now_ns;
    }
    int64_t timeout_ns = timeout_of(scan->view);
    if (now_ns - polling.since_ns < timeout_ns) {
        return TERN_OK;
    }
    polling.since_ns = 0;
    return tern__fail(
        TERN_ERR_TIMEOUT,
        "tern_tensor_test: nothing that the block polls has come for %.3g s; last the "
        "signal at %p, which is %d, wanted %s %d",
        (double)timeout_ns * 1e-9, (void *)scan->view->data, scan->seen, tern__cmp_text(scan->cmp),
        scan->value);
}

// Polling programs do not wait in tern: they get their turns, and learn of deaths, here.
static int let_others_run(const struct scan *scan)
{
    const tern_window *window = scan->view->window;
    polling.signal = scan->view->data;
    if (++polling.failed < TESTS_BEFORE) {
        return 0;
    }
    tern__slice_shorten();
    sched_yield();
    if (polling.failed % TESTS_A_LOOK == 0 && tern__checking()) {
        tern__watch_waits();
    }
    if (polling.failed % TESTS_A_CLOCK == 0) {
        TERN_TRY(look_around(scan));
    }
    if (polling.failed % TESTS_A_LOOK == 0 && window != NULL) {
        TERN_TRY(tern__group_check(&window->comm->group, true));
    }
    return 0;
}

// Checking mode: what a test that is true has learnt. Of the own part alone.
static void seen_all(const struct tern__view *view, tern_cmp cmp, int32_t value)
{
    int64_t i[4] = {0};
    if (view->window == NULL || view->rank != view->window->rank) {
        return;
    }
    do {
        const char *row = tern__view_row(view, i);
        for (int64_t column = 0; column < view->shape[4]; column++) {
            const char *word = row + column * view->stride[4] * 4;
            size_t offset = (size_t)(word - tern__window_at(view->window, view->rank, 0));
            tern__watch_seen(view->window, offset, cmp, value, TERN__WATCH_TEST);
        }
    } while (tern__shape_next(view->shape, i));
}

static int tensor_test(const tern_tensor *signal, tern_cmp cmp, int32_t value)
{
    struct tern__view view;
    TERN_TRY(view_signal("tern_tensor_test", signal, &view));
    TERN_TRY(check_cmp("tern_tensor_test", cmp));
    if (__builtin_expect(view.far, 0)) {
        return tern__far_refuse("tern_tensor_test", "signal", &view);
    }
    struct scan scan = {.view = &view, .cmp = cmp, .value = value};
    if (!tern__shape_is_empty(view.shape) && !all_hold(&scan)) {
        return let_others_run(&scan);
    }
    if (tern__checking()) {
        seen_all(&view, cmp, value);
    }
    polling.since_ns = 0;
    polling.failed = polling.signal == view.data ? 0 : polling.failed;
    return 1;
}

int tern_tensor_test(const tern_tensor *signal, tern_cmp cmp, int32_t value)
{
    return TERN__CALL(tensor_test(signal, cmp, value));
}

static int block_sync_soft(int32_t *arrived, int blocks)
{
    int32_t count = blocks > 0 ? blocks : tern__block_here()->count;
    if (blocks < 0 || arrived == NULL || (uintptr_t)arrived % sizeof *arrived != 0) {
        return tern__fail(TERN_ERR_ARG,
                          "tern_block_sync_soft: %d blocks count at %p; expected 0 or more, and an "
                          "aligned word",
                          blocks, (void *)arrived);
    }
    uint32_t before = tern__flag_add((_Atomic uint32_t *)(void *)arrived, 1);
    tern_tensor signal = tern_tensor_1d(arrived, TERN_I32, 1);
    TERN_TRY(tern_tensor_notify(&signal, 0, TERN_NOTIFY_ADD)); // wakes who sleeps
    return tern_tensor_wait(&signal, TERN_CMP_GE, ((int32_t)before / count + 1) * count,
                            TERN_TIMEOUT_DEFAULT);
}

int tern_block_sync_soft(int32_t *arrived, int blocks)
{
    return TERN__CALL_OF_CALLS(block_sync_soft(arrived, blocks));
}
