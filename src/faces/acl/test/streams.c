// SPDX-License-Identifier: Apache-2.0
// What follows a failure in a stream of ACL, and waits for events: who has passed them, and for how
// long they may last.
#include "support/cmocka.h"
#include <sched.h>
#include <stdbool.h>
#include <string.h>

#include "acl/acl.h"
#include "base/error.h"
#include "stream/more.h"

#define OK(call) assert_int_equal(call, ACL_SUCCESS)
#define SAYS(words) assert_non_null(strstr(aclGetRecentErrMsg(), words))

static int go_wrong(void *args)
{
    return tern__fail(TERN_ERR_STATE, "the block of %d", *(const int *)args);
}

static int count(void *args)
{
    ++**(int **)args;
    return TERN_OK;
}

static void launch(aclrtStream stream, tern_block_kernel kernel, const void *args, size_t bytes)
{
    const tern_stream_kernel what = {.kernel = kernel,
                                     .blocks = 1,
                                     .args = args,
                                     .args_bytes = bytes};
    assert_int_equal(tern_stream_launch(stream, &what), TERN_OK);
}

static void add(void *sum)
{
    ++*(int *)sum;
}

static void a_stream_stops_or_goes_on_behind_a_failure(void **state)
{
    aclrtStream stream;
    int ran = 0, *to = &ran;
    const int first = 1, second = 2;
    OK(aclrtCreateStream(&stream));
    assert_int_equal(aclrtSetStreamFailureMode(stream, 2), ACL_ERROR_INVALID_PARAM);
    SAYS("mode is 2; it is ACL_CONTINUE_ON_FAILURE (0) or ACL_STOP_ON_FAILURE (1)");
    assert_int_equal(aclrtSetStreamFailureMode(NULL, ACL_STOP_ON_FAILURE), ACL_ERROR_INVALID_PARAM);
    SAYS("stream must not be NULL");
    for (int round = 0; round < 3; round++) { // as it was made, then each mode
        bool goes_on = round == 1;
        ran = 0;
        if (round > 0) {
            OK(aclrtSetStreamFailureMode(stream,
                                         goes_on ? ACL_CONTINUE_ON_FAILURE : ACL_STOP_ON_FAILURE));
        }
        launch(stream, go_wrong, &first, sizeof first);
        launch(stream, count, &to, sizeof to);
        launch(stream, go_wrong, &second, sizeof second);
        OK(aclrtLaunchHostFunc(stream, add, &ran));
        assert_int_equal(aclrtSynchronizeStream(stream), ACL_ERROR_RT_AICORE_EXCEPTION);
        SAYS("the block of 1");
        assert_int_equal(ran, goes_on ? 2 : 0);
        OK(aclrtLaunchHostFunc(stream, add, &ran)); // the failure has been told
        OK(aclrtSynchronizeStream(stream));
        assert_int_equal(ran, goes_on ? 3 : 1);
    }
    OK(aclrtDestroyStream(stream));
    assert_int_equal(aclrtSetStreamFailureMode(stream, ACL_STOP_ON_FAILURE),
                     ACL_ERROR_INVALID_PARAM);
}

// What an event of a stream that has failed means to who asks it, and to a stream that waits for
// it.
static void a_failure_is_told_by_events(void **state)
{
    aclrtStream first, second;
    aclrtEvent event;
    aclrtEventStatus event_status;
    aclrtEventRecordedStatus recorded;
    aclrtStreamStatus stream_status;
    int ran = 0;
    const int number = 4;
    OK(aclrtCreateStream(&first));
    OK(aclrtCreateStream(&second));
    OK(aclrtCreateEvent(&event));
    launch(first, go_wrong, &number, sizeof number);
    OK(aclrtRecordEvent(event, first));
    OK(aclrtStreamWaitEvent(second, event));
    OK(aclrtLaunchHostFunc(second, add, &ran));
    assert_int_equal(aclrtSynchronizeEvent(event), ACL_ERROR_RT_AICORE_EXCEPTION);
    SAYS("the block of 4");
    assert_int_equal(aclrtQueryEvent(event, &event_status), ACL_ERROR_RT_AICORE_EXCEPTION);
    assert_int_equal(aclrtQueryEventStatus(event, &recorded), ACL_ERROR_RT_AICORE_EXCEPTION);
    assert_int_equal(aclrtStreamQuery(first, &stream_status), ACL_ERROR_RT_AICORE_EXCEPTION);
    assert_int_equal(aclrtSynchronizeStream(second), ACL_ERROR_RT_AICORE_EXCEPTION);
    SAYS("of the stream of an event: ");
    SAYS("the block of 4");
    assert_int_equal(ran, 0);
    assert_int_equal(aclrtSynchronizeStream(first), ACL_ERROR_RT_AICORE_EXCEPTION);
    OK(aclrtStreamQuery(first, &stream_status)); // it has been told
    assert_int_equal(aclrtSynchronizeEvent(event), ACL_ERROR_RT_AICORE_EXCEPTION); // it means that
    OK(aclrtRecordEvent(event, first));
    OK(aclrtSynchronizeEvent(event));
    OK(aclrtQueryEvent(event, &event_status));
    OK(aclrtStreamWaitEvent(second, event));
    OK(aclrtLaunchHostFunc(second, add, &ran));
    OK(aclrtSynchronizeStream(second));
    assert_int_equal(ran, 1);
    OK(aclrtDestroyEvent(event));
    OK(aclrtDestroyStream(first));
    OK(aclrtDestroyStream(second));
}

static void hold(void *gate)
{
    while (!__atomic_load_n((bool *)gate, __ATOMIC_ACQUIRE)) {
        sched_yield();
    }
}

static aclrtEventWaitStatus waits(aclrtEvent event)
{
    aclrtEventWaitStatus status = ACL_EVENT_WAIT_STATUS_RESERVED;
    OK(aclrtQueryEventWaitStatus(event, &status));
    return status;
}

static void an_event_says_whether_its_waits_have_passed(void **state)
{
    aclrtStream first, second;
    aclrtEvent event, other;
    bool gate = false, other_gate = false;
    OK(aclrtCreateStream(&first));
    OK(aclrtCreateStream(&second));
    OK(aclrtCreateEvent(&event));
    OK(aclrtCreateEvent(&other));
    assert_int_equal(waits(event), ACL_EVENT_WAIT_STATUS_COMPLETE);
    OK(aclrtLaunchHostFunc(first, hold, &gate));
    OK(aclrtRecordEvent(event, first));
    assert_int_equal(waits(event), ACL_EVENT_WAIT_STATUS_COMPLETE); // nobody waits
    OK(aclrtLaunchHostFunc(second, hold, &other_gate));
    OK(aclrtRecordEvent(other, second));
    OK(aclrtStreamWaitEvent(second, event));
    assert_int_equal(waits(event), ACL_EVENT_WAIT_STATUS_NOT_READY);
    assert_int_equal(waits(other), ACL_EVENT_WAIT_STATUS_COMPLETE);
    __atomic_store_n(&gate, true, __ATOMIC_RELEASE);
    OK(aclrtSynchronizeEvent(event)); // it has happened, and the stream is not there yet
    assert_int_equal(waits(event), ACL_EVENT_WAIT_STATUS_NOT_READY);
    OK(aclrtRecordEvent(event, first)); // a later one: the wait is for the earlier one
    assert_int_equal(waits(event), ACL_EVENT_WAIT_STATUS_NOT_READY);
    __atomic_store_n(&other_gate, true, __ATOMIC_RELEASE);
    OK(aclrtSynchronizeStream(second));
    assert_int_equal(waits(event), ACL_EVENT_WAIT_STATUS_COMPLETE);
    assert_int_equal(aclrtQueryEventWaitStatus(event, NULL), ACL_ERROR_INVALID_PARAM);
    OK(aclrtDestroyEvent(event));
    OK(aclrtDestroyEvent(other));
    aclrtEventWaitStatus status;
    assert_int_equal(aclrtQueryEventWaitStatus(event, &status), ACL_ERROR_INVALID_PARAM);
    OK(aclrtDestroyStream(second));
    OK(aclrtDestroyStream(first));
}

static void waits_for_events_have_a_limit(void **state)
{
    aclrtStream first, second, none = &first;
    aclrtEvent event;
    bool gate = false;
    OK(aclrtSetDevice(0));
    OK(aclrtCtxGetCurrentDefaultStream(&none));
    assert_null(none);
    OK(aclrtCreateStream(&first));
    OK(aclrtCreateStream(&second));
    OK(aclrtCreateEvent(&event));
    OK(aclrtLaunchHostFunc(first, hold, &gate));
    OK(aclrtRecordEvent(event, first));
    OK(aclrtStreamWaitEvent(second, event));
    OK(aclrtSetOpWaitTimeout(1));
    assert_int_equal(aclrtSynchronizeStream(second), ACL_ERROR_RT_STREAM_SYNC_TIMEOUT);
    SAYS("the stream has waited 1 s for an event that has not happened");
    assert_int_equal(aclrtStreamWaitEvent(NULL, event), ACL_ERROR_RT_STREAM_SYNC_TIMEOUT);
    SAYS("the event has not happened after 1 s");
    assert_int_equal(aclrtSynchronizeStreamWithTimeout(second, 1),
                     ACL_ERROR_RT_STREAM_SYNC_TIMEOUT);
    SAYS("0.001 s");
    OK(aclrtSetOpWaitTimeout(0));
    assert_true(tern__stream_event_limit() == TERN_TIMEOUT_NEVER);
    __atomic_store_n(&gate, true, __ATOMIC_RELEASE);
    OK(aclrtSynchronizeStream(second));
    OK(aclrtDestroyEvent(event));
    OK(aclrtDestroyStream(second));
    OK(aclrtDestroyStream(first));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_stream_stops_or_goes_on_behind_a_failure),
        cmocka_unit_test(a_failure_is_told_by_events),
        cmocka_unit_test(an_event_says_whether_its_waits_have_passed),
        cmocka_unit_test(waits_for_events_have_a_limit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
