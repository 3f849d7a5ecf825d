// SPDX-License-Identifier: Apache-2.0
// A thread waits for one thing. Data path: no allocation, no lock but turns.

#include <stddef.h>

#include "base/clock.h"
#include "base/error.h"
#include "sync/work.h"

// Before the ladder: what a rank that runs has sent is there by then. Where ranks share processors,
// who is waited for needs this one, more likely.
enum { LOOKS_ALONE = 64, LOOKS_CROWDED = 4 };

struct waiting {
    const struct tern__awaited *awaited;
    bool kept;                // this thread has made itself the keeper
    bool moves;               // it moves the item
    bool shown;               // as waiting, outside of a rest
    uint32_t moved;           // how often that had moved before the rest
    enum tern__awaits awaits; // as tern__work.awaits, then
};

static inline bool is_done(const struct waiting *waiting)
{
    return tern__flag_load(waiting->awaited->done) != 0; // partner: tern__work_done
}

static bool is_over(void *arg)
{
    const struct waiting *waiting = arg;
    struct tern__work *work = waiting->awaited->work;
    // Without a turn it is in the thread's queue, which is looked at anyway.
    return is_done(waiting) || (work->turn != NULL && tern__work_calls(work, waiting->moves));
}

static int is_broken(void *arg, bool deep)
{
    const struct waiting *waiting = arg;
    struct tern__work *work = waiting->awaited->work;
    tern__work_enter(work);
    int status = is_done(waiting) ? TERN_OK : tern__work_broken(work, waiting->awaited->what, deep);
    tern__work_leave(work);
    return status;
}

static int is_timed_out(void *arg)
{
    const struct waiting *waiting = arg;
    const struct tern__awaited *awaited = waiting->awaited;
    struct tern__work *work = awaited->work;
    int status = TERN_OK;
    tern__work_enter(work);
    if (!is_done(waiting) && work->moves == waiting->moved) {
        status = tern__work_broken(work, awaited->what, true);
        status = status == TERN_OK ? tern__work_timed_out(work, awaited->what, awaited->timeout_ns)
                                   : status;
    }
    tern__work_leave(work);
    return status;
}

static void is_awake(void *arg)
{
    const struct waiting *waiting = arg;
    struct tern__work *work = waiting->awaited->work;
    tern__work_enter(work);
    if (!is_done(waiting)) { // else what is awaited may be another's by now
        tern__work_wake(work, waiting->awaited->what);
    } else {
        tern__work_wake(work, NULL);
    }
    tern__work_leave(work);
}

static void describe(void *arg, struct tern__trace_event *event)
{
    const struct waiting *waiting = arg;
    struct tern__work *work = waiting->awaited->work;
    tern__work_enter(work);
    if (work->ops->describe != NULL && !is_done(waiting)) {
        if (work->ops->await != NULL) {
            work->ops->await(work, waiting->awaited->what);
        }
        work->ops->describe(work, event);
        if (work->ops->await != NULL) {
            work->ops->await(work, NULL);
        }
    }
    tern__work_leave(work);
}

// As a rank that runs has it: looks for a moment.
static void look(struct waiting *waiting)
{
    struct tern__work *work = waiting->awaited->work;
    int most = tern__job_ladder(work->job).alone ? LOOKS_ALONE : LOOKS_CROWDED;
    for (int looks = 0; looks < most && !is_done(waiting); looks++) {
        if (work->turn != NULL && !tern__turn_try(work->turn)) {
            return;
        }
        if (tern__work_is_running(work) && work->ops->ready(work)) {
            work->ops->advance(work);
        }
        tern__work_leave(work);
    }
}

// Moves the item, if this thread does; whether it moved.
static bool move(struct waiting *waiting)
{
    struct tern__work *work = waiting->awaited->work;
    bool moved = false;
    tern__work_enter(work);
    if (!is_done(waiting)) {
        if (!waiting->moves) {
            waiting->kept = tern__work_keep(work);
            waiting->moves =
                waiting->kept || work->turn == NULL ||
                atomic_load_explicit(&work->keeper, memory_order_relaxed) == tern__thread_number();
        }
        moved = waiting->moves && work->ops->advance(work);
        waiting->moved = work->moves;
        waiting->awaits = work->awaits;
    }
    tern__work_leave(work);
    return moved;
}

// Where other items move all the time, no rest is long enough to look in. Between machines others
// wait for what is done when a wait looks.
static void look_now_and_then(struct waiting *waiting, int64_t *look_ns)
{
    if (waiting->awaited->work->job->net == NULL) {
        return;
    }
    int64_t now_ns = tern__now_ns();
    if (*look_ns == 0) {
        *look_ns = now_ns + TERN__FIRST_LOOK_NS;
    }
    if (now_ns >= *look_ns) {
        *look_ns = now_ns + TERN__LOOK_NS;
        struct tern__sentence kept = tern__keep_error();
        if (is_broken(waiting, true) < 0) { // the rest says it, and has patience
            tern__restore_error(&kept);
        }
        waiting->shown = true;
    }
}

int tern__work_wait(const struct tern__awaited *awaited)
{
    struct tern__work *work = awaited->work;
    struct waiting waiting = {.awaited = awaited};
    struct tern__rest rest = {.job = work->job,
                              .timeout_ns = awaited->timeout_ns,
                              .over = is_over,
                              .broken = is_broken,
                              .timed_out = is_timed_out,
                              .awake = is_awake,
                              .describe = describe,
                              .arg = &waiting};
    int status = TERN_OK;
    int64_t look_ns = 0;
    look(&waiting);
    while (status == TERN_OK && !is_done(&waiting)) {
        bool moved = move(&waiting);
        moved = (!is_done(&waiting) && tern__work_advance(work->job, work)) || moved;
        rest.awaits = waiting.moves ? waiting.awaits : TERN__AWAITS_ANY;
        if (!is_done(&waiting) && !moved) {
            status = tern__work_rest(&rest);
        }
        if (status == TERN_OK && !is_done(&waiting)) {
            look_now_and_then(&waiting, &look_ns);
        }
    }
    if (waiting.shown) {
        is_awake(&waiting);
    }
    if (waiting.kept) {
        tern__work_unkeep(work);
    }
    return status;
}
