// SPDX-License-Identifier: Apache-2.0
// Requests: calls that are begun here and ended there.

#include <stdio.h>

#include "base/public.h"
#include "base/error.h"
#include "base/trace.h"
#include "coll/call/request.h"

// The two things a request can be.

static struct tern__work *work_of(const struct tern__request *request)
{
    return request->is_message ? &request->message.endpoint->work : &request->call.calls->work;
}

static const bool *end_of(const struct tern__request *request)
{
    return request->is_message ? &request->message.done : &request->call.done;
}

static bool is_done(const struct tern__request *request)
{
    return *end_of(request);
}

static int64_t timeout_of(const struct tern__request *request)
{
    return request->is_message ? request->message.timeout_ns : request->call.timeout_ns;
}

static int status_of(const struct tern__request *request)
{
    return request->is_message ? request->message.status : request->call.status;
}

// What sentences are about from now on, or no more.
static void await(const struct tern__request *request, bool yes)
{
    if (request->is_message) {
        request->message.endpoint->awaited = yes ? &request->message : NULL;
    }
}

static void fail(struct tern__request *request, int status)
{
    if (request->is_message) {
        tern__endpoint_fail(request->message.endpoint, status);
    } else {
        struct tern__calls *calls = request->call.calls;
        tern__calls_fail(calls,
                         calls->oldest != NULL ? tern__call_failed(calls->oldest, status) : status);
    }
}

static int check(const char *name, struct tern__request *request)
{
    const tern_coll *asked = &request->asked;
    struct tern__calls *calls;
    TERN_TRY(tern__calls_of(name, request->comm, &calls));
    request->is_message = tern__kind_is_message(asked->kind);
    return request->is_message ? tern__message_check(name, calls, asked, &request->message)
                               : tern__call_check(name, calls, asked, &request->call);
}

static int begin(const char *name, struct tern__request *request)
{
    int status = TERN_OK;
    int64_t traced_ns = tern__trace_start();
    if (request->is_message) {
        request->message.traced_ns = traced_ns;
        request->message.overlaps = true;
        status = tern__message_begin(&request->message);
    } else {
        request->call.name = name;
        request->call.traced_ns = traced_ns;
        request->call.overlaps = true;
        status = tern__call_pick(&request->call);
        status = status == TERN_OK ? tern__call_begin(&request->call) : status;
    }
    if (status == TERN_OK) {
        request->state = TERN__REQUEST_RUNNING;
    }
    return status;
}

static int make(const char *name, tern_comm *comm, const tern_coll *call, tern_request *request,
                struct tern__request **made)
{
    TERN_TRY(tern__comm_lives(name, comm));
    if (call == NULL || request == NULL) {
        return tern__fail(TERN_ERR_ARG, "%s: call and request must not be NULL", name);
    }
    *made = tern__request_take(comm);
    if (*made == NULL) {
        return tern__fail(TERN_ERR_LIMIT, "%s: a process cannot have more than %d requests", name,
                          TERN__REQUESTS_MAX);
    }
    (*made)->asked = *call;
    int status = check(name, *made);
    if (status != TERN_OK) {
        tern__request_give_back(*made);
    }
    return status;
}

static int coll_start(tern_comm *comm, const tern_coll *call, tern_request *request)
{
    struct tern__request *made;
    TERN_TRY(make("tern_coll_start", comm, call, request, &made));
    made->persistent = false;
    int status = begin("tern_coll_start", made);
    if (status != TERN_OK) {
        tern__request_give_back(made);
        return status;
    }
    *request = tern__request_number(made);
    return TERN_OK;
}

int tern_coll_start(tern_comm *comm, const tern_coll *call, tern_request *request)
{
    return TERN__CALL_OF_CALLS(coll_start(comm, call, request));
}

static int coll_prepare(tern_comm *comm, const tern_coll *call, tern_request *request)
{
    struct tern__request *made;
    TERN_TRY(make("tern_coll_prepare", comm, call, request, &made));
    made->persistent = true;
    made->state = TERN__REQUEST_IDLE;
    if (!made->is_message) { // its plans are made now, and found at each start
        int status = tern__call_pick(&made->call);
        if (status != TERN_OK) {
            tern__request_give_back(made);
            return status;
        }
        tern__call_drop(&made->call);
    }
    *request = tern__request_number(made);
    return TERN_OK;
}

int tern_coll_prepare(tern_comm *comm, const tern_coll *call, tern_request *request)
{
    return TERN__CALL_OF_CALLS(coll_prepare(comm, call, request));
}

static int request_start(tern_request number)
{
    struct tern__request *request = tern__request_find("tern_request_start", number);
    if (request == NULL) {
        return TERN_ERR_ARG;
    }
    TERN_TRY(tern__comm_lives("tern_request_start", request->comm));
    if (!request->persistent || request->state == TERN__REQUEST_RUNNING) {
        return tern__fail(TERN_ERR_STATE, "tern_request_start: the request %s",
                          request->persistent ? "is running" : "is not persistent");
    }
    TERN_TRY(check("tern_request_start", request));
    return begin("tern_request_start", request);
}

int tern_request_start(tern_request number)
{
    return TERN__CALL_OF_CALLS(request_start(number));
}

// The sentence of a request that has failed, maybe a while ago.
static void repeat_failure(const struct tern__request *request, int status)
{
    if (tern__comm_check(request->comm) == TERN_OK) {
        tern__fail(status, "the call has failed");
    } else if (request->is_message) {
        tern__message_failed(&request->message);
    } else if (request->call.calls->failed_text[0] != '\0') {
        tern__fail(status, "%s", request->call.calls->failed_text);
    }
}

// A request that has ended: its status, and it is idle again or gone.
static int finish(struct tern__request *request, tern_request *number)
{
    int status = status_of(request);
    if (status < 0) {
        repeat_failure(request, status);
    }
    request->state = TERN__REQUEST_IDLE;
    if (!request->persistent) {
        tern__request_give_back(request);
        *number = 0;
    }
    return status;
}

static int check_thread(const char *name, const struct tern__request *request)
{
    const struct tern__work *work = work_of(request);
    return is_done(request) || tern__work_is_mine(work)
               ? TERN_OK
               : tern__fail(TERN_ERR_STATE,
                            "%s: the request was started by another thread, which must also end it",
                            name);
}

// What a request that is not running says: 1 when it counts as ended.
static int look(const char *name, tern_request *number, struct tern__request **request)
{
    if (number == NULL) {
        return tern__fail(TERN_ERR_ARG, "%s: request must not be NULL", name);
    }
    if (*number == 0) {
        return 1;
    }
    *request = tern__request_find(name, *number);
    if (*request == NULL) {
        return TERN_ERR_ARG;
    }
    TERN_TRY(tern__comm_lives(name, (*request)->comm));
    if ((*request)->state != TERN__REQUEST_RUNNING) {
        return 1;
    }
    return check_thread(name, *request);
}

// Moves what can be moved; whether the request has ended. Looks at the peers and at the deadline
// now and then.
static bool advance(struct tern__request *request)
{
    struct tern__work *work = work_of(request);
    tern__work_drive(work, end_of(request));
    if (!is_done(request)) {
        await(request, true);
        int status = tern__work_tested(work, timeout_of(request));
        await(request, false);
        if (status < 0) {
            fail(request, status);
        }
    }
    return is_done(request);
}

static int request_test(tern_request *number)
{
    struct tern__request *request = NULL;
    int looked = look("tern_request_test", number, &request);
    if (looked != 0) {
        return looked;
    }
    if (!advance(request)) {
        return 0;
    }
    int status = finish(request, number);
    return status < 0 ? status : 1;
}

int tern_request_test(tern_request *number)
{
    return TERN__CALL(request_test(number));
}

static int request_wait(tern_request *number)
{
    struct tern__request *request = NULL;
    int looked = look("tern_request_wait", number, &request);
    if (looked != 0) {
        return looked < 0 ? looked : TERN_OK;
    }
    if (request->is_message) {
        tern__message_wait(&request->message);
    } else {
        tern__call_wait(&request->call);
    }
    return finish(request, number); // words it, too
}

int tern_request_wait(tern_request *number)
{
    return TERN__CALL(request_wait(number));
}

// Waiting for one of many: what a thread sleeps on that looks after all of them.
struct any {
    struct tern__work work;
    const tern_request *numbers;
    int count;
};

static struct tern__request *running_at(const struct any *any, int i)
{
    struct tern__request *request =
        any->numbers[i] != 0 ? tern__request_find("tern_request_wait_any", any->numbers[i]) : NULL;
    return request != NULL && request->state == TERN__REQUEST_RUNNING ? request : NULL;
}

// One that waits: a request that failed with its communicator has ended, and is found so later.
static struct tern__request *waiting_at(const struct any *any, int i)
{
    struct tern__request *request = running_at(any, i);
    return request != NULL && !is_done(request) ? request : NULL;
}

static int any_broken(struct tern__work *work, bool deep)
{
    const struct any *any = (const struct any *)(const void *)work;
    for (int i = 0; i < any->count; i++) {
        struct tern__request *request = waiting_at(any, i);
        int status = request != NULL ? tern__work_broken(work_of(request), deep) : TERN_OK;
        if (status < 0) {
            fail(request, status);
            return status;
        }
    }
    return TERN_OK;
}

static int any_timed_out(struct tern__work *work, int64_t waited_ns)
{
    const struct any *any = (const struct any *)(const void *)work;
    for (int i = 0; i < any->count; i++) {
        struct tern__request *request = waiting_at(any, i);
        if (request != NULL && timeout_of(request) == waited_ns) {
            await(request, true);
            int status = work_of(request)->ops->timed_out(work_of(request), waited_ns);
            await(request, false);
            fail(request, status);
            return status;
        }
    }
    return TERN_ERR_TIMEOUT;
}

static void any_awake(struct tern__work *work)
{
    const struct any *any = (const struct any *)(const void *)work;
    for (int i = 0; i < any->count; i++) {
        struct tern__request *request = running_at(any, i);
        if (request != NULL) {
            tern__work_wake(work_of(request));
        }
    }
}

static const struct tern__work_ops any_ops = {
    .broken = any_broken,
    .timed_out = any_timed_out,
    .awake = any_awake,
};

static int request_wait_any(tern_request *numbers, int count, int *index)
{
    if (index == NULL || count < 0 || (numbers == NULL && count > 0)) {
        return tern__fail(TERN_ERR_ARG,
                          "tern_request_wait_any: requests and index must not be NULL, count not "
                          "below 0");
    }
    struct any any = {.work.ops = &any_ops, .numbers = numbers, .count = count};
    for (;;) {
        bool running = false;
        int64_t timeout_ns = TERN_TIMEOUT_NEVER;
        for (int i = 0; i < count; i++) {
            struct tern__request *request = NULL;
            int looked = look("tern_request_wait_any", &numbers[i], &request);
            *index = i;
            if (looked < 0) {
                return looked;
            }
            if (looked == 0) {
                running = true;
                any.work.job = work_of(request)->job;
                timeout_ns = timeout_of(request) < timeout_ns ? timeout_of(request) : timeout_ns;
                if (advance(request)) {
                    return finish(request, &numbers[i]);
                }
            }
        }
        *index = -1;
        if (!running) {
            return TERN_OK;
        }
        tern__work_rest(&any.work, timeout_ns); // what failed has ended
    }
}

int tern_request_wait_any(tern_request *numbers, int count, int *index)
{
    return TERN__CALL_OF_CALLS(request_wait_any(numbers, count, index));
}

static int request_wait_all(tern_request *numbers, int count)
{
    if (count < 0 || (numbers == NULL && count > 0)) {
        return tern__fail(TERN_ERR_ARG,
                          "tern_request_wait_all: requests must not be NULL, count not below 0");
    }
    int first = TERN_OK;
    char text[TERN_ERROR_BYTES] = "";
    for (int i = 0; i < count; i++) {
        int status = tern_request_wait(&numbers[i]);
        if (status < 0 && first == TERN_OK) {
            first = status;
            snprintf(text, sizeof text, "%s", tern_last_error());
        }
    }
    return first == TERN_OK ? TERN_OK : tern__fail(first, "%s", text);
}

int tern_request_wait_all(tern_request *numbers, int count)
{
    return TERN__CALL_OF_CALLS(request_wait_all(numbers, count));
}

static int request_free(tern_request *number)
{
    struct tern__request *request = NULL;
    int looked = look("tern_request_free", number, &request);
    // A communicator outlives its requests; only in the child of a fork it may not live. The
    // parent's request goes on.
    if (request != NULL && !tern__handle_lives(request->comm, TERN__COMM)) {
        *number = 0;
        return TERN_OK;
    }
    if (looked < 0 || *number == 0) {
        return looked < 0 ? looked : TERN_OK;
    }
    if (request->state == TERN__REQUEST_RUNNING) {
        return tern__fail(TERN_ERR_STATE, "tern_request_free: the request is running; wait for it "
                                          "first");
    }
    tern__request_give_back(request);
    *number = 0;
    return TERN_OK;
}

int tern_request_free(tern_request *number)
{
    return TERN__CALL(request_free(number));
}
