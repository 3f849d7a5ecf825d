// SPDX-License-Identifier: Apache-2.0
// Waiting for one of many requests. The thread keeps the work of all of them that nobody else
// keeps, and sleeps on the bell of the job.

#include "base/clock.h"
#include "base/error.h"
#include "base/public.h"
#include "coll/call/request.h"
#include "coll/call/waiter.h"

struct any {
    const char *name;
    tern_request *numbers;
    int count;
    struct tern_waiter *waiter; // or NULL
    struct tern__job *job;      // NULL: no request is running
    int64_t until_ns;           // of the wait itself
    bool own_deadlines;         // of requests: counted from its beginning
};

static struct tern__request *running_at(const struct any *any, int i)
{
    struct tern__request *request =
        any->numbers[i] != 0 ? tern__request_find(any->name, any->numbers[i]) : NULL;
    return request != NULL && request->state == TERN__REQUEST_RUNNING ? request : NULL;
}

static bool is_over(void *arg)
{
    const struct any *any = arg;
    const struct tern__work *last = NULL;
    if (any->waiter != NULL && tern__flag_load(&any->waiter->woken) != 0) {
        return true; // partner: waiter_wake
    }
    for (int i = 0; i < any->count; i++) {
        const struct tern__request *request = running_at(any, i);
        if (request == NULL) {
            continue;
        }
        struct tern__work *work = tern__request_work(request);
        if (tern__request_is_done(request) ||
            ((work != last || request->keeps) && tern__work_calls(work, request->keeps))) {
            return true;
        }
        last = work;
    }
    return false;
}

// Of each that still waits, in its turn; ends at a failure, which is then the request's.
static int ask(const struct any *any, int (*about)(struct tern__request *request, int64_t number),
               int64_t number)
{
    int status = TERN_OK;
    for (int i = 0; i < any->count && status >= 0; i++) {
        struct tern__request *request = running_at(any, i);
        if (request != NULL) {
            struct tern__work *work = tern__request_work(request);
            tern__turn_take(work->turn);
            status = !tern__request_is_done(request) ? about(request, number) : TERN_OK;
            if (status < 0) {
                tern__request_fail(request, status);
            }
            tern__turn_leave(work->turn);
        }
    }
    return status;
}

static int is_one_broken(struct tern__request *request, int64_t deep)
{
    return tern__work_broken(tern__request_work(request), tern__request_what(request), deep != 0);
}

static int is_broken(void *arg, bool deep)
{
    return ask(arg, is_one_broken, deep);
}

static int64_t later(int64_t since_ns, int64_t timeout_ns)
{
    return timeout_ns > INT64_MAX - since_ns ? INT64_MAX : since_ns + timeout_ns;
}

static int64_t deadline_of(const struct tern__request *request, int64_t now_ns)
{
    return later(tern__work_idle_since(tern__request_work(request), now_ns),
                 tern__request_timeout(request));
}

static int is_one_late(struct tern__request *request, int64_t now_ns)
{
    struct tern__work *work = tern__request_work(request);
    if (now_ns < deadline_of(request, now_ns)) {
        return TERN_OK;
    }
    TERN_TRY(tern__work_broken(work, tern__request_what(request), true));
    return tern__work_timed_out(work, tern__request_what(request), tern__request_timeout(request));
}

// A wait that has not slept, as of tests: whether it can still end.
static int is_one_lost(struct tern__request *request, int64_t now_ns)
{
    struct tern__work *work = tern__request_work(request);
    (void)tern__work_idle_since(work, now_ns);
    bool deep = now_ns >= work->idle.look_ns;
    work->idle.look_ns = deep ? now_ns + TERN__LOOK_NS : work->idle.look_ns;
    int status = tern__work_broken(work, tern__request_what(request), deep);
    tern__work_wake(work, tern__request_what(request));
    return status < 0 ? status : is_one_late(request, now_ns);
}

static int is_timed_out(void *arg)
{
    return ask(arg, is_one_late, tern__now_ns());
}

static int wake_one(struct tern__request *request, int64_t number)
{
    (void)number;
    tern__work_wake(tern__request_work(request), tern__request_what(request));
    return TERN_OK;
}

static void is_awake(void *arg)
{
    (void)ask(arg, wake_one, 0);
}

static int forget_idle(struct tern__request *request, int64_t number)
{
    (void)number;
    tern__request_work(request)->idle.since_ns = 0;
    return TERN_OK;
}

// Until when nothing is late: of the wait and of its requests.
static int64_t next_deadline(const struct any *any, int64_t now_ns)
{
    int64_t next_ns = any->until_ns;
    for (int i = 0; i < any->count; i++) {
        const struct tern__request *request = running_at(any, i);
        if (request != NULL) {
            struct tern__work *work = tern__request_work(request);
            tern__turn_take(work->turn);
            int64_t deadline_ns = deadline_of(request, now_ns);
            tern__turn_leave(work->turn);
            next_ns = deadline_ns < next_ns ? deadline_ns : next_ns;
        }
    }
    return next_ns;
}

// Moves the request's work, where this thread may; whether it has ended.
static bool move(struct tern__request *request, bool *moved)
{
    struct tern__work *work = tern__request_work(request);
    if (tern__request_is_done(request)) {
        return true;
    }
    tern__turn_take(work->turn);
    if (!tern__request_is_done(request)) {
        request->keeps = tern__work_keep(work) || request->keeps;
        *moved = work->ops->advance(work) || *moved;
    }
    tern__turn_leave(work->turn);
    return tern__request_is_done(request);
}

static void let_go(struct tern__request *request)
{
    if (request->keeps) {
        request->keeps = false;
        tern__work_unkeep(tern__request_work(request));
    }
}

// 1: one has ended, or a number is wrong: *index, and *status. 0: none has.
static int pass(struct any *any, int *index, int *status, bool *moved)
{
    for (int i = 0; i < any->count; i++) {
        struct tern__request *request = NULL;
        int looked = tern__request_look(any->name, &any->numbers[i], &request);
        if (looked == 0) {
            any->job = tern__request_work(request)->job;
            if (!move(request, moved)) {
                continue;
            }
            let_go(request);
            looked = tern__request_finish(request, &any->numbers[i]);
        } else if (looked > 0) {
            continue;
        }
        *index = i;
        *status = looked;
        return 1;
    }
    return 0;
}

static int wait_any(struct any *any, int *index)
{
    struct tern__rest rest = {.over = is_over,
                              .broken = is_broken,
                              .timed_out = is_timed_out,
                              .awake = is_awake,
                              .arg = any};
    int status = TERN_OK;
    if (any->own_deadlines) {
        (void)ask(any, forget_idle, 0);
    }
    for (;;) {
        bool moved = false;
        any->job = NULL;
        if (pass(any, index, &status, &moved) != 0) {
            return status;
        }
        if (any->job == NULL && any->waiter == NULL) {
            *index = TERN_WAIT_NONE;
            return TERN_OK;
        }
        if (any->waiter != NULL && tern__flag_take(&any->waiter->woken) != 0) {
            *index = TERN_WAIT_WOKEN;
            return TERN_OK;
        }
        rest.job = any->job != NULL ? any->job : any->waiter->comm->group.job;
        moved = tern__work_advance(rest.job, NULL) || moved;
        int64_t now_ns = tern__now_ns();
        if (!moved && now_ns >= any->until_ns) {
            (void)ask(any, is_one_lost, now_ns); // then it has ended, and is found
            if (pass(any, index, &status, &moved) == 0) {
                *index = TERN_WAIT_TIMEOUT;
            }
            return status;
        }
        if (!moved) {
            int64_t next_ns = next_deadline(any, now_ns);
            rest.timeout_ns = next_ns == INT64_MAX ? INT64_MAX : next_ns - now_ns;
            struct tern__sentence kept = tern__keep_error();
            if (tern__work_rest(&rest) < 0) { // what failed has ended, and says so when it is found
                tern__restore_error(&kept);
            }
        }
    }
}

static int request_wait_any(const char *name, tern_request *numbers, int count, int *index,
                            int64_t timeout_ns, tern_waiter *waiter)
{
    if (index == NULL || count < 0 || (numbers == NULL && count > 0)) {
        return tern__fail(TERN_ERR_ARG,
                          "%s: requests and index must not be NULL, count not below 0", name);
    }
    if (timeout_ns < 0 && timeout_ns != TERN_TIMEOUT_DEFAULT) {
        return tern__fail(TERN_ERR_ARG,
                          "%s: timeout_ns is %lld; it must be TERN_TIMEOUT_NEVER, or 0 or more",
                          name, (long long)timeout_ns);
    }
    bool limited = timeout_ns != TERN_TIMEOUT_DEFAULT && timeout_ns != TERN_TIMEOUT_NEVER;
    struct any any = {.name = name,
                      .numbers = numbers,
                      .count = count,
                      .waiter = waiter,
                      .until_ns = limited ? tern__deadline_after(timeout_ns) : INT64_MAX,
                      .own_deadlines = !limited && waiter == NULL};
    if (waiter != NULL) {
        TERN_TRY(tern__handle_check(name, waiter, TERN__WAITER));
        if (!tern__flag_swap(&waiter->waits, 0, 1)) {
            return tern__fail(TERN_ERR_STATE, "%s: another thread waits with this waiter", name);
        }
        tern__waiter_drain(waiter);
    }
    int status = wait_any(&any, index);
    for (int i = 0; i < count; i++) {
        struct tern__request *request =
            numbers[i] != 0 ? tern__request_find(name, numbers[i]) : NULL;
        if (request != NULL && request->state == TERN__REQUEST_RUNNING) {
            let_go(request);
        }
    }
    if (waiter != NULL) {
        tern__flag_store(&waiter->waits, 0);
    }
    return status;
}

int tern_request_wait_any(tern_request *numbers, int count, int *index)
{
    return TERN__CALL_OF_CALLS(
        request_wait_any("tern_request_wait_any", numbers, count, index, TERN_TIMEOUT_NEVER, NULL));
}

int tern_request_wait_any_for(tern_request *numbers, int count, int *index, int64_t timeout_ns,
                              tern_waiter *waiter)
{
    return TERN__CALL_OF_CALLS(
        request_wait_any("tern_request_wait_any_for", numbers, count, index, timeout_ns, waiter));
}
