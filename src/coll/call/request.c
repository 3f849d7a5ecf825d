// SPDX-License-Identifier: Apache-2.0
// Requests: calls that are begun here and ended there.

#include <stdio.h>

#include "base/public.h"
#include "base/error.h"
#include "base/trace.h"
#include "coll/call/request.h"

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
        status = tern__call_select(&request->call);
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
    TERN_TRY(tern__request_take(name, comm, made));
    (*made)->asked = *call;
    (*made)->keeps = false;
    return TERN_OK;
}

static int coll_start(tern_comm *comm, const tern_coll *call, tern_request *request)
{
    struct tern__request *made;
    TERN_TRY(make("tern_coll_start", comm, call, request, &made));
    made->persistent = false;
    tern__turn_take(&comm->turn);
    int status = check("tern_coll_start", made);
    status = status == TERN_OK ? begin("tern_coll_start", made) : status;
    tern__turn_leave(&comm->turn);
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
    tern__turn_take(&comm->turn);
    int status = check("tern_coll_prepare", made);
    if (status == TERN_OK && !made->is_message) { // its plans are made now, and found at each start
        status = tern__call_select(&made->call);
        if (status == TERN_OK) {
            tern__call_drop(&made->call);
        }
    }
    tern__turn_leave(&comm->turn);
    if (status != TERN_OK) {
        tern__request_give_back(made);
        return status;
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
    tern__turn_take(&request->comm->turn);
    int status = check("tern_request_start", request);
    status = status == TERN_OK ? begin("tern_request_start", request) : status;
    tern__turn_leave(&request->comm->turn);
    return status;
}

int tern_request_start(tern_request number)
{
    return TERN__CALL_OF_CALLS(request_start(number));
}

// The sentence of a request that has failed, maybe a while ago.
static void repeat_failure(const struct tern__request *request, int status)
{
    if (!request->is_message) {
        tern__call_repeat(&request->call);
    } else if (tern__comm_check(request->comm) == TERN_OK) {
        tern__fail(status, "the call has failed");
    } else {
        tern__message_failed(&request->message);
    }
}

int tern__request_finish(struct tern__request *request, tern_request *number)
{
    int status = tern__request_status(request);
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

int tern__request_look(const char *name, tern_request *number, struct tern__request **request)
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
    return (*request)->state != TERN__REQUEST_RUNNING;
}

void tern__request_fail(struct tern__request *request, int status)
{
    if (request->is_message) {
        tern__endpoint_fail(request->message.endpoint, status);
    } else {
        struct tern__calls *calls = request->call.calls;
        tern__calls_fail(calls,
                         calls->oldest != NULL ? tern__call_failed(calls->oldest, status) : status);
    }
}

// Moves what can be moved; whether the request has ended. Looks at the peers and at the deadline
// now and then. Where another thread has the turn, that one moves it.
static bool advance(struct tern__request *request)
{
    struct tern__work *work = tern__request_work(request);
    if (tern__turn_try(work->turn)) {
        while (!tern__request_is_done(request) && work->ops->advance(work)) {
        }
        if (!tern__request_is_done(request)) {
            int status = tern__work_tested(work, tern__request_what(request),
                                           tern__request_timeout(request));
            if (status < 0) {
                tern__request_fail(request, status);
            }
        }
        tern__turn_leave(work->turn);
    }
    tern__work_drive(work, tern__request_done(request));
    return tern__request_is_done(request);
}

static int request_test(tern_request *number)
{
    struct tern__request *request = NULL;
    int looked = tern__request_look("tern_request_test", number, &request);
    if (looked != 0) {
        return looked;
    }
    if (!advance(request)) {
        return 0;
    }
    int status = tern__request_finish(request, number);
    return status < 0 ? status : 1;
}

int tern_request_test(tern_request *number)
{
    return TERN__CALL(request_test(number));
}

static int request_wait(tern_request *number)
{
    struct tern__request *request = NULL;
    int looked = tern__request_look("tern_request_wait", number, &request);
    if (looked != 0) {
        return looked < 0 ? looked : TERN_OK;
    }
    if (request->is_message) {
        tern__message_wait(&request->message);
    } else {
        tern__call_wait(&request->call);
    }
    return tern__request_finish(request, number); // words it, too
}

int tern_request_wait(tern_request *number)
{
    return TERN__CALL(request_wait(number));
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
    int looked = tern__request_look("tern_request_free", number, &request);
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
