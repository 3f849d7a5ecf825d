// SPDX-License-Identifier: Apache-2.0
// ACL over tern's streams. Set-up path.

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/order.h"
#include "faces/acl/state.h"
#include "runtime/rt.h"
#include "tern/stream.h"

static _Atomic uint32_t initialised;

aclError tern__acl_error(int status)
{
    switch (status) {
    case TERN_OK:
        return ACL_SUCCESS;
    case TERN_ERR_ARG:
        return ACL_ERROR_INVALID_PARAM;
    case TERN_ERR_MEMORY:
        return ACL_ERROR_BAD_ALLOC;
    case TERN_ERR_TIMEOUT:
        return ACL_ERROR_RT_STREAM_SYNC_TIMEOUT;
    default:
        return ACL_ERROR_INTERNAL_ERROR;
    }
}

aclError tern__acl_no_pointer(const char *call, const char *what)
{
    return tern__acl_error(tern__fail(TERN_ERR_ARG, "%s: %s must not be NULL", call, what));
}

aclError aclInit(const char *configPath)
{
    (void)configPath;
    return tern__flag_swap(&initialised, 0, 1) ? ACL_SUCCESS : ACL_ERROR_REPEAT_INITIALIZE;
}

aclError aclFinalize(void)
{
    return tern__flag_swap(&initialised, 1, 0) ? ACL_SUCCESS : ACL_ERROR_UNINITIALIZE;
}

static _Thread_local int32_t device;

aclError aclrtSetDevice(int32_t deviceId)
{
    device = deviceId;
    return ACL_SUCCESS;
}

int32_t tern__acl_device(void)
{
    return device;
}

aclError aclrtGetDevice(int32_t *deviceId)
{
    if (deviceId == NULL) {
        return tern__acl_error(
            tern__fail(TERN_ERR_ARG, "aclrtGetDevice: deviceId must not be NULL"));
    }
    *deviceId = device;
    return ACL_SUCCESS;
}

aclError aclrtResetDevice(int32_t deviceId)
{
    (void)deviceId;
    return ACL_SUCCESS;
}

aclError aclrtGetDeviceCount(uint32_t *count)
{
    if (count == NULL) {
        return tern__acl_error(
            tern__fail(TERN_ERR_ARG, "aclrtGetDeviceCount: count must not be NULL"));
    }
    *count = TERN_RANKS_MAX; // one for each rank that there may be
    return ACL_SUCCESS;
}

// A copy, or with from == NULL a filling.
struct transfer {
    void *to;
    const void *from;
    size_t count;
    int32_t value;
};

static int run_transfer(void *args)
{
    const struct transfer *transfer = args;
    if (transfer->from != NULL) {
        memcpy(transfer->to, transfer->from, transfer->count);
    } else {
        memset(transfer->to, transfer->value, transfer->count);
    }
    return TERN_OK;
}

static int check_transfer(const char *call, const struct transfer *transfer, size_t most)
{
    if (transfer->count > most || (transfer->to == NULL && transfer->count > 0)) {
        return tern__fail(TERN_ERR_ARG, "%s: %zu bytes to %p, which has %zu", call, transfer->count,
                          transfer->to, most);
    }
    return TERN_OK;
}

static aclError transfer_now(const char *call, struct transfer transfer, size_t most)
{
    int status = check_transfer(call, &transfer, most);
    if (status == TERN_OK && transfer.count > 0) {
        run_transfer(&transfer);
    }
    return tern__acl_error(status);
}

static aclError transfer_later(const char *call, struct transfer transfer, size_t most,
                               aclrtStream stream)
{
    if (stream == NULL) {
        return transfer_now(call, transfer, most);
    }
    int status = check_transfer(call, &transfer, most);
    if (status == TERN_OK && transfer.count > 0) {
        status = tern_stream_launch(stream, &(tern_stream_kernel){.kernel = run_transfer,
                                                                  .name = call,
                                                                  .blocks = 1,
                                                                  .args = &transfer,
                                                                  .args_bytes = sizeof transfer});
    }
    return tern__acl_error(status);
}

static aclError refuse_null(const char *call)
{
    return tern__acl_error(tern__fail(TERN_ERR_ARG, "%s: src must not be NULL", call));
}

aclError aclrtMemcpy(void *dst, size_t destMax, const void *src, size_t count, aclrtMemcpyKind kind)
{
    (void)kind;
    if (src == NULL && count > 0) {
        return refuse_null("aclrtMemcpy");
    }
    return transfer_now("aclrtMemcpy", (struct transfer){dst, src, count, 0}, destMax);
}

aclError aclrtMemset(void *devPtr, size_t maxCount, int32_t value, size_t count)
{
    return transfer_now("aclrtMemset", (struct transfer){devPtr, NULL, count, value}, maxCount);
}

aclError aclrtMemcpyAsync(void *dst, size_t destMax, const void *src, size_t count,
                          aclrtMemcpyKind kind, aclrtStream stream)
{
    (void)kind;
    if (src == NULL && count > 0) {
        return refuse_null("aclrtMemcpyAsync");
    }
    return transfer_later("aclrtMemcpyAsync", (struct transfer){dst, src, count, 0}, destMax,
                          stream);
}

aclError aclrtMemsetAsync(void *devPtr, size_t maxCount, int32_t value, size_t count,
                          aclrtStream stream)
{
    return transfer_later("aclrtMemsetAsync", (struct transfer){devPtr, NULL, count, value},
                          maxCount, stream);
}

aclError aclrtCreateStream(aclrtStream *stream)
{
    tern_stream *made = NULL;
    int status = tern_stream_create(stream != NULL ? &made : NULL);
    if (status == TERN_OK && stream != NULL) {
        *stream = made;
    }
    return tern__acl_error(status);
}

// A failure of kernels is told; the default stream is in order with its caller.
static aclError tell(const char *call, int status)
{
    if (status == TERN_OK) {
        return ACL_SUCCESS;
    }
    fprintf(stderr, "%s: %s\n", call, tern_last_error());
    return status == TERN_ERR_TIMEOUT ? ACL_ERROR_RT_STREAM_SYNC_TIMEOUT
                                      : ACL_ERROR_RT_AICORE_EXCEPTION;
}

aclError aclrtDestroyStream(aclrtStream stream)
{
    return tell("aclrtDestroyStream", tern_stream_destroy(stream));
}

aclError aclrtSynchronizeStream(aclrtStream stream)
{
    return stream == NULL
               ? ACL_SUCCESS
               : tell("aclrtSynchronizeStream", tern_stream_sync(stream, TERN_TIMEOUT_DEFAULT));
}

aclError aclrtSynchronizeStreamWithTimeout(aclrtStream stream, int32_t timeoutMs)
{
    int64_t timeout_ns = timeoutMs < 0 ? TERN_TIMEOUT_DEFAULT : INT64_C(1000000) * timeoutMs;
    return stream == NULL
               ? ACL_SUCCESS
               : tell("aclrtSynchronizeStreamWithTimeout", tern_stream_sync(stream, timeout_ns));
}

aclError aclrtSynchronizeDevice(void)
{
    return tell("aclrtSynchronizeDevice", tern_stream_sync_all(TERN_TIMEOUT_DEFAULT));
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
    tern_stream *own = NULL;
    int status = tern_stream_create(&own);
    if (status == TERN_OK) {
        status = tern_event_record(event, own);
        int ended = tern_stream_destroy(own);
        status = status != TERN_OK ? status : ended;
    }
    return tern__acl_error(status);
}

aclError aclrtStreamWaitEvent(aclrtStream stream, aclrtEvent event)
{
    // What is appended to the default stream later begins when its caller goes on.
    return tern__acl_error(stream != NULL ? tern_stream_wait_event(stream, event)
                                          : tern_event_sync(event, TERN_TIMEOUT_DEFAULT));
}

aclError aclrtSynchronizeEvent(aclrtEvent event)
{
    return tern__acl_error(tern_event_sync(event, TERN_TIMEOUT_DEFAULT));
}

aclError aclrtEventElapsedTime(float *ms, aclrtEvent startEvent, aclrtEvent endEvent)
{
    int64_t elapsed_ns = 0;
    int status = tern_event_elapsed(startEvent, endEvent, &elapsed_ns);
    if (status == TERN_OK && ms != NULL) {
        *ms = (float)((double)elapsed_ns * 1e-6);
    }
    return tern__acl_error(status);
}

const char *aclGetRecentErrMsg(void)
{
    return tern_last_error();
}

rtError_t rtSetDevice(int32_t dev)
{
    return aclrtSetDevice(dev);
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
