// SPDX-License-Identifier: Apache-2.0
// Notify, wait and test. Short path of notify: checks, one atomic, one look at the doorbell. A wait
// climbs the ladder (sync/wait.h).

#include "isa/signal.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/public.h"
#include "base/error.h"
#include "isa/block.h"
#include "isa/check.h"
#include "sync/doing.h"
#include "sync/interrupt.h"
#include "sync/wait.h"

#define BRIEF_NS INT64_C(20000000)

const char *tern__cmp_text(tern_cmp cmp)
{
    static const char *const texts[] = {"==", "!=", ">", ">=", "<", "<="};
    return (unsigned)cmp < sizeof texts / sizeof texts[0] ? texts[cmp] : "?";
}

int tern__signal_check(const char *call, tern_window *window, int rank, size_t offset_bytes,
                       char **address)
{
    TERN_TRY(tern__window_range(window, call, rank, offset_bytes, sizeof(int32_t), address));
    if (__builtin_expect(offset_bytes % sizeof(int32_t) != 0, 0)) {
        return tern__fail(TERN_ERR_ARG, "%s: a signal at offset %zu is not 4-byte aligned", call,
                          offset_bytes);
    }
    return TERN_OK;
}

int tern__condition_check(const char *call, const tern_condition *condition)
{
    char *address;
    TERN_TRY(tern__window_lives(call, condition->window));
    if ((unsigned)condition->cmp > TERN_CMP_LE) {
        return tern__fail(TERN_ERR_ARG, "%s: %d is no comparison", call, (int)condition->cmp);
    }
    return tern__signal_check(call, condition->window, condition->window->rank,
                              condition->offset_bytes, &address);
}

static void trace_notify(const tern_window *window, int rank, size_t offset_bytes, int64_t begin_ns)
{
    struct tern__trace_event event = tern__window_event(window, rank, TERN__TRACE_NOTIFY, begin_ns);
    event.has |= TERN__TRACE_HAS_SIGNAL;
    event.signal = offset_bytes;
    event.out = tern__window_arrow(window, rank, offset_bytes);
    tern__trace_name(&event, "notify");
    tern__trace_put(&event);
}

static int signal_notify(tern_window *window, int rank, size_t offset_bytes, int32_t value,
                         tern_notify_op op)
{
    char *address;
    TERN_TRY(tern__signal_check("tern_signal_notify", window, rank, offset_bytes, &address));
    if (__builtin_expect((unsigned)op > TERN_NOTIFY_SET, 0)) {
        return tern__fail(TERN_ERR_ARG,
                          "tern_signal_notify: %d is no way to notify; there are add "
                          "and set",
                          (int)op);
    }
    if (tern__checking()) {
        tern__watch_notify(window, rank, offset_bytes);
    }
    int64_t begin_ns = tern__trace_start();
    tern__window_xport(window, rank)->notify(address, value, op);
    tern__bell_ring(tern__window_bell(window, rank));
    if (__builtin_expect(begin_ns != 0, 0)) {
        trace_notify(window, rank, offset_bytes, begin_ns);
    }
    return tern__window_sent(window, rank);
}

int tern_signal_notify(tern_window *window, int rank, size_t offset_bytes, int32_t value,
                       tern_notify_op op)
{
    return TERN__CALL(signal_notify(window, rank, offset_bytes, value, op));
}

struct signal_wait {
    const tern_condition *conditions;
    size_t count;
    bool all;     // or any
    size_t index; // the first that does not hold (all), or the first that holds (any)
    bool published;
    bool own_deadline; // not the communicator's
};

static bool conditions_hold(void *arg)
{
    struct signal_wait *wait = arg;
    for (size_t i = 0; i < wait->count; i++) {
        const tern_condition *condition = &wait->conditions[i];
        bool holds =
            tern__cmp_holds(tern__condition_seen(condition), condition->cmp, condition->value);
        if (holds != wait->all) {
            wait->index = i;
            return !wait->all;
        }
    }
    return wait->all;
}

static int wait_broken(void *arg, bool deep)
{
    struct signal_wait *wait = arg;
    struct tern_comm *comm = wait->conditions[0].window->comm;
    if (!wait->published) {
        tern__job_doing(comm->group.job, TERN__DOING_SIGNAL, wait->conditions[0].offset_bytes);
        tern__poke(&tern__block_here()->waits, 1);
        wait->published = true;
    }
    if (wait->own_deadline && deep && tern__interrupt_now) {
        return tern__fail(TERN_ERR_INTERRUPTED, "the wait for a signal was interrupted");
    }
    for (size_t i = 0; i < wait->count; i++) {
        if (i == 0 || wait->conditions[i].window->comm != comm) {
            comm = wait->conditions[i].window->comm;
            TERN_TRY(tern__group_check(&comm->group, deep));
        }
    }
    return TERN_OK;
}

// Words the timeout. The communicator's own deadline fails the communicator, the caller's does not.
// Who could notify is not known, so it says of all other ranks what they do; but not for callers
// who in fact poll.
static int wait_timed_out(const struct signal_wait *wait, int64_t timeout_ns, bool fatal)
{
    // With several conditions the sentence shows one that does not hold.
    const tern_condition *condition = &wait->conditions[wait->all ? wait->index : 0];
    struct tern__group *group = &condition->window->comm->group;
    char text[TERN__FAILURE_BYTES];
    int used = snprintf(text, sizeof text,
                        "%s waited %.3g s for the signal at byte %zu of window %u: seen %d, "
                        "wanted %s %d (%zu condition%s)",
                        tern__rank_name(group, group->rank).text, (double)timeout_ns * 1e-9,
                        condition->offset_bytes, condition->window->number,
                        tern__condition_seen(condition), tern__cmp_text(condition->cmp),
                        condition->value, wait->count,
                        wait->count == 1 ? ""
                        : wait->all      ? "s, all to hold"
                                         : "s, any to hold");
    if (group->size > 1 && (fatal || timeout_ns >= TERN__LOOK_NS)) {
        used += snprintf(text + used, sizeof text - (size_t)used, "; ");
        tern__doing_others(group, text + used, sizeof text - (size_t)used);
        used = (int)strlen(text);
    }
    if (tern__checking()) {
        tern__watch_describe(condition->window, condition->offset_bytes, text + used,
                             sizeof text - (size_t)used);
    }
    return fatal ? tern__group_fail(group, TERN_ERR_TIMEOUT, group->rank, "%s", text)
                 : tern__fail(TERN_ERR_TIMEOUT, "%s", text);
}

static void trace_wait(const struct signal_wait *wait, int64_t begin_ns)
{
    // Of all: the one that was missing last.
    const tern_condition *condition = &wait->conditions[wait->index];
    const tern_window *window = condition->window;
    struct tern__trace_event event = {.begin_ns = begin_ns,
                                      .kind = TERN__TRACE_WAIT,
                                      .has = TERN__TRACE_HAS_SIGNAL,
                                      .signal = condition->offset_bytes};
    event.in = tern__window_arrow(window, window->rank, condition->offset_bytes);
    tern__trace_name(&event, "wait");
    tern__trace_put(&event);
}

// What the block has stored happens before it waits for long; and what it learns.
static int wait_checked(const struct tern__wait *climb)
{
    struct signal_wait *wait = climb->arg;
    bool at_once = conditions_hold(wait);
    if (!at_once) {
        struct tern__wait brief = *climb;
        brief.timeout_ns = climb->timeout_ns < BRIEF_NS ? climb->timeout_ns : BRIEF_NS;
        int status = tern__wait(&brief);
        if (status == TERN_ERR_TIMEOUT) {
            tern__watch_waits();
            status = tern__wait(climb);
        }
        TERN_TRY(status);
    }
    for (size_t i = 0; i < wait->count; i++) {
        const tern_condition *condition = &wait->conditions[i];
        if (wait->all || i == wait->index) {
            tern__watch_seen(condition->window, condition->offset_bytes, condition->cmp,
                             condition->value, at_once ? TERN__WATCH_AT_ONCE : TERN__WATCH_WAIT);
        }
    }
    return TERN_OK;
}

static int wait_for(struct signal_wait *wait, int64_t timeout_ns)
{
    tern_window *window = wait->conditions[0].window;
    struct tern__job *job = window->comm->group.job;
    struct tern__ladder ladder = tern__job_ladder(job);
    bool fatal = timeout_ns == TERN_TIMEOUT_DEFAULT;
    wait->own_deadline = !fatal;
    int64_t begin_ns = tern__trace_start();
    struct tern__wait climb = {
        .bell = tern__window_bell(window, window->rank),
        .ladder = &ladder,
        .timeout_ns = fatal ? job->timeout_ns : timeout_ns,
        .holds = conditions_hold,
        .broken = wait_broken,
        .arg = wait,
    };
    int status = tern__checking() ? wait_checked(&climb) : tern__wait(&climb);
    bool late = status == TERN_ERR_TIMEOUT;
    if (late) {
        status = wait_broken(wait, true);
        status = status == TERN_OK ? wait_timed_out(wait, climb.timeout_ns, fatal) : status;
    }
    if (wait->published) { // until the sentence is there: the others may be writing theirs
        tern__job_doing(job, TERN__DOING_OTHER, 0);
        tern__poke(&tern__block_here()->waits, 0);
    }
    if (begin_ns != 0 && !late) {
        trace_wait(wait, begin_ns);
    }
    return status;
}

static int check_wait(const char *call, const tern_condition *conditions, size_t count,
                      int64_t timeout_ns)
{
    if (count == 0) {
        return tern__fail(TERN_ERR_ARG, "%s: there must be at least one condition", call);
    }
    if (conditions == NULL) {
        return tern__fail(TERN_ERR_ARG, "%s: conditions must not be NULL", call);
    }
    if (timeout_ns < 0 && timeout_ns != TERN_TIMEOUT_DEFAULT) {
        return tern__fail(TERN_ERR_ARG,
                          "%s: timeout_ns is %lld; it must be TERN_TIMEOUT_DEFAULT, or "
                          "0 or more",
                          call, (long long)timeout_ns);
    }
    for (size_t i = 0; i < count; i++) {
        TERN_TRY(tern__condition_check(call, &conditions[i]));
        if (conditions[i].window->comm->group.job != conditions[0].window->comm->group.job) {
            return tern__fail(TERN_ERR_ARG,
                              "%s: condition %zu is on a window of another job than "
                              "condition 0",
                              call, i);
        }
    }
    return TERN_OK;
}

static int signal_wait(tern_window *window, size_t offset_bytes, tern_cmp cmp, int32_t value,
                       int64_t timeout_ns)
{
    tern_condition condition = {.window = window,
                                .offset_bytes = offset_bytes,
                                .cmp = cmp,
                                .value = value};
    TERN_TRY(check_wait("tern_signal_wait", &condition, 1, timeout_ns));
    struct signal_wait wait = {.conditions = &condition, .count = 1, .all = true};
    return wait_for(&wait, timeout_ns);
}

int tern_signal_wait(tern_window *window, size_t offset_bytes, tern_cmp cmp, int32_t value,
                     int64_t timeout_ns)
{
    return TERN__CALL_WAIT(signal_wait(window, offset_bytes, cmp, value, timeout_ns), timeout_ns);
}

int tern__conditions_wait(const char *call, const tern_condition *conditions, size_t count,
                          int64_t timeout_ns)
{
    TERN_TRY(check_wait(call, conditions, count, timeout_ns));
    struct signal_wait wait = {.conditions = conditions, .count = count, .all = true};
    return wait_for(&wait, timeout_ns);
}

int tern_signal_wait_all(const tern_condition *conditions, size_t count, int64_t timeout_ns)
{
    return TERN__CALL_WAIT(tern__conditions_wait(__func__, conditions, count, timeout_ns),
                           timeout_ns);
}

static int signal_wait_any(const tern_condition *conditions, size_t count, int64_t timeout_ns,
                           size_t *which)
{
    if (which == NULL) {
        return tern__fail(TERN_ERR_ARG, "tern_signal_wait_any: which must not be NULL");
    }
    TERN_TRY(check_wait("tern_signal_wait_any", conditions, count, timeout_ns));
    struct signal_wait wait = {.conditions = conditions, .count = count, .all = false};
    TERN_TRY(wait_for(&wait, timeout_ns));
    *which = wait.index;
    return TERN_OK;
}

int tern_signal_wait_any(const tern_condition *conditions, size_t count, int64_t timeout_ns,
                         size_t *which)
{
    return TERN__CALL_WAIT(signal_wait_any(conditions, count, timeout_ns, which), timeout_ns);
}

static int signal_test(tern_window *window, size_t offset_bytes, tern_cmp cmp, int32_t value)
{
    tern_condition condition = {.window = window,
                                .offset_bytes = offset_bytes,
                                .cmp = cmp,
                                .value = value};
    TERN_TRY(tern__condition_check("tern_signal_test", &condition));
    bool holds = tern__cmp_holds(tern__condition_seen(&condition), cmp, value);
    if (holds && tern__checking()) {
        tern__watch_seen(window, offset_bytes, cmp, value, TERN__WATCH_TEST);
    }
    return holds ? 1 : 0;
}

int tern_signal_test(tern_window *window, size_t offset_bytes, tern_cmp cmp, int32_t value)
{
    return TERN__CALL(signal_test(window, offset_bytes, cmp, value));
}

static int signal_read(tern_window *window, size_t offset_bytes, int32_t *value)
{
    if (value == NULL) {
        return tern__fail(TERN_ERR_ARG, "tern_signal_read: value must not be NULL");
    }
    tern_condition condition = {.window = window, .offset_bytes = offset_bytes};
    TERN_TRY(tern__condition_check("tern_signal_read", &condition));
    *value = tern__condition_seen(&condition);
    return TERN_OK;
}

int tern_signal_read(tern_window *window, size_t offset_bytes, int32_t *value)
{
    return TERN__CALL(signal_read(window, offset_bytes, value));
}
