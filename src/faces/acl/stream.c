// SPDX-License-Identifier: Apache-2.0
// Streams and events of ACL are those of tern. The default stream, NULL, is in order with its
// caller: what is appended to it has ended when the call returns. Set-up path.

#include "tern/stream.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/error.h"
#include "faces/acl/state.h"
#include "runtime/rt.h"
#include "stream/more.h"

aclError aclrtCreateStream(aclrtStream *stream)
{
    tern_stream *made = NULL;
    int status = tern_stream_create(stream != NULL ? &made : NULL);
    if (status == TERN_OK && stream != NULL) {
        *stream = made;
    }
    return tern__acl_error(status);
}

aclError aclrtCreateStreamWithConfig(aclrtStream *stream, uint32_t priority, uint32_t flag)
{
    (void)priority;
    (void)flag;
    return aclrtCreateStream(stream);
}

aclError aclrtSetStreamFailureMode(aclrtStream stream, uint64_t mode)
{
    const char *call = "aclrtSetStreamFailureMode";
    if (stream == NULL) {
        return tern__acl_no_pointer(call, "stream");
    }
    if (mode != ACL_CONTINUE_ON_FAILURE && mode != ACL_STOP_ON_FAILURE) {
        return tern__acl_error(tern__fail(TERN_ERR_ARG,
                                          "%s: mode is %" PRIu64 "; it is "
                                          "ACL_CONTINUE_ON_FAILURE (0) or ACL_STOP_ON_FAILURE (1)",
                                          call, mode));
    }
    return tern__acl_error(tern__stream_go_on(stream, mode == ACL_CONTINUE_ON_FAILURE));
}

aclError aclrtCtxGetCurrentDefaultStream(aclrtStream *stream)
{
    aclrtContext context;
    if (stream == NULL) {
        return tern__acl_no_pointer("aclrtCtxGetCurrentDefaultStream", "stream");
    }
    aclError error = aclrtGetCurrentContext(&context);
    if (error == ACL_SUCCESS) {
        *stream = NULL;
    }
    return error;
}

// A failure of kernels is told: programs look at the number only.
static aclError tell(const char *call, int status)
{
    if (status == TERN_OK) {
        return ACL_SUCCESS;
    }
    fprintf(stderr, "%s: %s\n", call, tern_last_error());
    return tern__acl_fail(status == TERN_ERR_TIMEOUT ? ACL_ERROR_RT_STREAM_SYNC_TIMEOUT
                                                     : ACL_ERROR_RT_AICORE_EXCEPTION);
}

// The same of what tern_event_sync has returned.
static aclError tell_event(const char *call, aclrtEvent event, int status)
{
    bool failed = status != TERN_OK && status != TERN_ERR_TIMEOUT &&
                  tern__event_failure(call, event) == status;
    return failed ? tell(call, status) : tern__acl_error(status);
}

static aclError destroy_stream(const char *call, aclrtStream stream)
{
    int status = stream != NULL ? tern__acl_may_wait() : TERN_OK;
    return tell(call, status == TERN_OK ? tern_stream_destroy(stream) : status);
}

aclError aclrtDestroyStream(aclrtStream stream)
{
    return destroy_stream("aclrtDestroyStream", stream);
}

aclError aclrtDestroyStreamForce(aclrtStream stream)
{
    return destroy_stream("aclrtDestroyStreamForce", stream);
}

aclError aclrtStreamQuery(aclrtStream stream, aclrtStreamStatus *status)
{
    if (status == NULL) {
        return tern__acl_no_pointer("aclrtStreamQuery", "status");
    }
    int ended = stream == NULL ? 1 : tern_stream_test(stream);
    if (ended < 0) {
        return tern__acl_error(ended);
    }
    int failure = stream == NULL || ended == 0 ? TERN_OK : tern__stream_failure(stream);
    if (failure != TERN_OK) {
        return tern__acl_fail(ACL_ERROR_RT_AICORE_EXCEPTION);
    }
    *status = ended != 0 ? ACL_STREAM_STATUS_COMPLETE : ACL_STREAM_STATUS_NOT_READY;
    return ACL_SUCCESS;
}

static aclError synchronize(const char *call, aclrtStream stream, int32_t timeout_ms)
{
    int status = stream != NULL ? tern__acl_may_wait() : TERN_OK;
    if (status == TERN_OK && stream != NULL) {
        status = tern_stream_sync(stream, tern__acl_timeout(timeout_ms));
    }
    return tell(call, status);
}

aclError aclrtSynchronizeStream(aclrtStream stream)
{
    return synchronize("aclrtSynchronizeStream", stream, -1);
}

aclError aclrtSynchronizeStreamWithTimeout(aclrtStream stream, int32_t timeoutMs)
{
    return synchronize("aclrtSynchronizeStreamWithTimeout", stream, timeoutMs);
}

static aclError synchronize_all(const char *call, int32_t timeout_ms)
{
    int status = tern__acl_may_wait();
    return tell(call,
                status == TERN_OK ? tern_stream_sync_all(tern__acl_timeout(timeout_ms)) : status);
}

aclError aclrtSynchronizeDevice(void)
{
    return synchronize_all("aclrtSynchronizeDevice", -1);
}

aclError aclrtSynchronizeDeviceWithTimeout(int32_t timeoutMs)
{
    return synchronize_all("aclrtSynchronizeDeviceWithTimeout", timeoutMs);
}

aclError aclrtCreateEvent(aclrtEvent *event)
{
    tern_event *made = NULL;
    int status = tern_event_create(event != NULL ? &made : NULL);
    if (status == TERN_OK && event != NULL) {
        *event = made;
    }
    return tern__acl_error(status);
}

aclError aclrtCreateEventWithFlag(aclrtEvent *event, uint32_t flag)
{
    (void)flag;
    return aclrtCreateEvent(event);
}

aclError aclrtCreateEventExWithFlag(aclrtEvent *event, uint32_t flag)
{
    (void)flag;
    return aclrtCreateEvent(event);
}

aclError aclrtDestroyEvent(aclrtEvent event)
{
    return tern__acl_error(tern_event_destroy(event));
}

aclError aclrtRecordEvent(aclrtEvent event, aclrtStream stream)
{
    if (stream != NULL) {
        return tern__acl_error(tern_event_record(event, stream));
    }
    // All that was appended to the default stream has ended.
    tern_stream *empty = NULL;
    int status = tern_stream_create(&empty);
    if (status == TERN_OK) {
        status = tern_event_record(event, empty);
        int ended = tern_stream_destroy(empty);
        status = status != TERN_OK ? status : ended;
    }
    return tern__acl_error(status);
}

aclError aclrtResetEvent(aclrtEvent event, aclrtStream stream)
{
    // A record is a point of its own (stream/device.h): the next one is what later waits mean.
    int happened = tern_event_test(event);
    (void)stream;
    return tern__acl_error(happened < 0 ? happened : TERN_OK);
}

aclError aclrtStreamWaitEvent(aclrtStream stream, aclrtEvent event)
{
    // What is appended to the default stream later begins when its caller goes on.
    int64_t limit_ns = tern__stream_event_limit();
    if (stream != NULL) {
        return tern__acl_error(tern_stream_wait_event(stream, event));
    }
    return tell_event("aclrtStreamWaitEvent", event,
                      tern_event_sync(event, limit_ns != 0 ? limit_ns : TERN_TIMEOUT_DEFAULT));
}

// Whether it has happened; or an error, also that of what was before it.
static aclError has_happened(const char *call, aclrtEvent event, bool *happened)
{
    int status = tern_event_test(event);
    *happened = status == 1;
    return status < 0 ? tern__acl_error(status)
           : status == 1 && tern__event_failure(call, event) != TERN_OK
               ? tern__acl_fail(ACL_ERROR_RT_AICORE_EXCEPTION)
               : ACL_SUCCESS;
}

aclError aclrtQueryEvent(aclrtEvent event, aclrtEventStatus *status)
{
    if (status == NULL) {
        return tern__acl_no_pointer("aclrtQueryEvent", "status");
    }
    bool happened;
    aclError error = has_happened("aclrtQueryEvent", event, &happened);
    if (error == ACL_SUCCESS) {
        *status = happened ? ACL_EVENT_STATUS_COMPLETE : ACL_EVENT_STATUS_NOT_READY;
    }
    return error;
}

aclError aclrtQueryEventStatus(aclrtEvent event, aclrtEventRecordedStatus *status)
{
    if (status == NULL) {
        return tern__acl_no_pointer("aclrtQueryEventStatus", "status");
    }
    bool happened;
    aclError error = has_happened("aclrtQueryEventStatus", event, &happened);
    if (error == ACL_SUCCESS) {
        *status =
            happened ? ACL_EVENT_RECORDED_STATUS_COMPLETE : ACL_EVENT_RECORDED_STATUS_NOT_READY;
    }
    return error;
}

aclError aclrtQueryEventWaitStatus(aclrtEvent event, aclrtEventWaitStatus *status)
{
    if (status == NULL) {
        return tern__acl_no_pointer("aclrtQueryEventWaitStatus", "status");
    }
    int waits = tern__event_is_waited_for(event);
    if (waits < 0) {
        return tern__acl_error(waits);
    }
    *status = waits != 0 ? ACL_EVENT_WAIT_STATUS_NOT_READY : ACL_EVENT_WAIT_STATUS_COMPLETE;
    return ACL_SUCCESS;
}

aclError aclrtSetOpWaitTimeout(uint32_t timeout)
{
    tern__stream_limit_events(timeout == 0 ? TERN_TIMEOUT_NEVER : INT64_C(1000000000) * timeout);
    return ACL_SUCCESS;
}

static aclError synchronize_event(const char *call, aclrtEvent event, int32_t timeout_ms)
{
    int status = tern__acl_may_wait();
    return status == TERN_OK
               ? tell_event(call, event, tern_event_sync(event, tern__acl_timeout(timeout_ms)))
               : tern__acl_error(status);
}

aclError aclrtSynchronizeEvent(aclrtEvent event)
{
    return synchronize_event("aclrtSynchronizeEvent", event, -1);
}

aclError aclrtSynchronizeEventWithTimeout(aclrtEvent event, int32_t timeoutMs)
{
    return synchronize_event("aclrtSynchronizeEventWithTimeout", event, timeoutMs);
}

aclError aclrtEventElapsedTime(float *ms, aclrtEvent startEvent, aclrtEvent endEvent)
{
    int64_t elapsed_ns = 0;
    if (ms == NULL) {
        return tern__acl_no_pointer("aclrtEventElapsedTime", "ms");
    }
    int status = tern_event_elapsed(startEvent, endEvent, &elapsed_ns);
    if (status == TERN_OK) {
        *ms = (float)((double)elapsed_ns * 1e-6);
    }
    return tern__acl_error(status);
}

rtError_t rtStreamCreate(rtStream_t *stream, int32_t priority)
{
    (void)priority;
    return aclrtCreateStream(stream);
}

rtError_t rtStreamDestroy(rtStream_t stream)
{
    return aclrtDestroyStream(stream);
}

rtError_t rtStreamSynchronize(rtStream_t stream)
{
    return aclrtSynchronizeStream(stream);
}
