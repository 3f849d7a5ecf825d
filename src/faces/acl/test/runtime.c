// SPDX-License-Identifier: Apache-2.0
// Devices, contexts, copies, streams, events and callbacks of ACL, in one process.
#include "support/cmocka.h"
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "acl/acl.h"
#include "runtime/rt.h"

#define OK(call) assert_int_equal(call, ACL_SUCCESS)
#define SAYS(words) assert_non_null(strstr(aclGetRecentErrMsg(), words))

static void a_thread_is_on_a_device_or_in_a_context(void **state)
{
    aclrtContext first, second, now;
    int32_t device = -1;
    uint32_t count = 0;
    OK(aclrtGetDeviceCount(&count));
    assert_int_equal(count, 64);
    assert_int_equal(aclrtGetCurrentContext(&now), ACL_ERROR_RT_CONTEXT_NULL);
    assert_int_equal(aclrtSetDevice(64), ACL_ERROR_RT_INVALID_DEVICEID);
    SAYS("device 64; there are devices 0 to 63");
    assert_int_equal(aclrtSetDevice(-1), ACL_ERROR_RT_INVALID_DEVICEID);
    OK(aclrtSetDevice(5));
    OK(aclrtGetCurrentContext(&first));
    OK(aclrtCreateContext(&second, 7));
    OK(aclrtGetDevice(&device));
    assert_int_equal(device, 7);
    OK(aclrtSetCurrentContext(first));
    OK(aclrtGetDevice(&device));
    assert_int_equal(device, 5);
    assert_int_equal(aclrtDestroyContext(first), ACL_ERROR_INVALID_PARAM);
    OK(aclrtDestroyContext(second));
    assert_int_equal(aclrtSetCurrentContext(second), ACL_ERROR_INVALID_PARAM);
    SAYS("aclrtSetCurrentContext: ");
    assert_int_equal(aclrtSetCurrentContext(NULL), ACL_ERROR_INVALID_PARAM);
    OK(aclrtResetDevice(5));
}

static void initialising_twice_is_an_error(void **state)
{
    int32_t can = -1, major, minor, patch;
    aclrtRunMode mode;
    OK(aclInit(NULL));
    assert_int_equal(aclInit(NULL), ACL_ERROR_REPEAT_INITIALIZE);
    assert_int_equal(aclrtPeekAtLastError(ACL_RT_THREAD_LEVEL), ACL_ERROR_REPEAT_INITIALIZE);
    assert_int_equal(aclrtGetLastError(ACL_RT_THREAD_LEVEL), ACL_ERROR_REPEAT_INITIALIZE);
    OK(aclrtPeekAtLastError(ACL_RT_THREAD_LEVEL));
    OK(aclFinalize());
    assert_int_equal(aclFinalize(), ACL_ERROR_UNINITIALIZE);
    OK(aclrtGetRunMode(&mode));
    assert_int_equal(mode, ACL_HOST);
    assert_non_null(aclrtGetSocName());
    OK(aclrtGetVersion(&major, &minor, &patch));
    OK(aclrtDeviceCanAccessPeer(&can, 0, 1));
    assert_int_equal(can, 1);
    OK(aclrtDeviceCanAccessPeer(&can, 3, 3));
    assert_int_equal(can, 0);
    OK(aclrtDeviceEnablePeerAccess(1, 0));
    OK(aclrtDeviceDisablePeerAccess(1));
}

static void types_have_sizes_and_halves_are_rounded(void **state)
{
    assert_int_equal(aclDataTypeSize(ACL_FLOAT), 4);
    assert_int_equal(aclDataTypeSize(ACL_BF16), 2);
    assert_int_equal(aclDataTypeSize(ACL_INT8), 1);
    assert_int_equal(aclDataTypeSize(ACL_COMPLEX128), 16);
    assert_int_equal(aclDataTypeSize(ACL_INT4), 0);
    assert_int_equal(aclDataTypeSize((aclDataType)1000), 0);
    assert_int_equal(aclFloatToFloat16(1.0F), 0x3c00);
    assert_true(aclFloat16ToFloat(aclFloatToFloat16(-2.5F)) == -2.5F);
}

static void copies_keep_to_their_blocks(void **state)
{
    char *block = NULL;
    char rows[4 * 8];
    aclrtStream stream;
    OK(aclrtCreateStreamWithConfig(&stream, 0, ACL_STREAM_FAST_LAUNCH));
    OK(aclrtMalloc((void **)&block, 64, ACL_MEM_MALLOC_HUGE_FIRST));
    OK(aclrtMemset(block, 64, 1, 64));
    assert_int_equal(aclrtMemset(block, 65, 1, 65), ACL_ERROR_INVALID_PARAM);
    SAYS("1 beyond the end of its block of 64");
    assert_int_equal(aclrtMemset(block, 10, 1, 11), ACL_ERROR_INVALID_PARAM);
    assert_int_equal(aclrtMemcpy(rows, 32, block + 33, 32, ACL_MEMCPY_DEVICE_TO_HOST),
                     ACL_ERROR_INVALID_PARAM);
    assert_int_equal(aclrtMemcpy(rows, 32, NULL, 1, ACL_MEMCPY_DEVICE_TO_HOST),
                     ACL_ERROR_INVALID_PARAM);
    SAYS("src must not be NULL");
    OK(aclrtMemcpy(NULL, 0, NULL, 0, ACL_MEMCPY_DEVICE_TO_HOST));
    for (int i = 0; i < 32; i++) {
        rows[i] = (char)i;
    }
    OK(aclrtMemcpy2dAsync(block, 16, rows, 8, 8, 4, ACL_MEMCPY_HOST_TO_DEVICE, stream));
    OK(aclrtMemsetAsync(block + 60, 4, 9, 4, stream));
    OK(aclrtMemcpyAsync(block + 59, 1, rows, 1, ACL_MEMCPY_HOST_TO_DEVICE, stream));
    OK(aclrtSynchronizeStream(stream));
    assert_int_equal(block[16 * 3 + 7], 31);
    assert_int_equal(block[16 * 3 + 8], 1);
    assert_int_equal(block[59], 0);
    assert_int_equal(block[63], 9);
    OK(aclrtMemcpyAsync(rows + 1, 31, rows, 31, ACL_MEMCPY_DEVICE_TO_DEVICE, stream));
    OK(aclrtSynchronizeStream(stream));
    for (int i = 1; i < 32; i++) { // what overlaps is copied as it was
        assert_int_equal(rows[i], i - 1);
    }
    memset(rows, 0, sizeof rows);
    OK(aclrtMemcpy2d(rows, 8, block, 16, 8, 4, ACL_MEMCPY_DEVICE_TO_HOST));
    assert_int_equal(rows[31], 31);
    assert_int_equal(aclrtMemcpy2d(block, 16, rows, 8, 17, 2, ACL_MEMCPY_DEFAULT),
                     ACL_ERROR_INVALID_PARAM);
    assert_int_equal(aclrtMemcpy2d(block, SIZE_MAX / 2, rows, 8, 8, 4, ACL_MEMCPY_DEFAULT),
                     ACL_ERROR_INVALID_PARAM);
    OK(aclrtFree(block));
    OK(aclrtDestroyStream(stream));
}

static void memory_of_the_host_is_seen_by_the_device(void **state)
{
    size_t free_bytes = 0, total = 0;
    int word = 0;
    void *seen = NULL;
    OK(aclrtGetMemInfo(ACL_HBM_MEM, &free_bytes, &total));
    assert_true(free_bytes > 0 && free_bytes <= total);
    OK(aclrtHostRegister(&word, sizeof word, ACL_HOST_REGISTER_MAPPED, &seen));
    assert_ptr_equal(seen, &word);
    OK(aclrtMemFlush(&word, sizeof word));
    OK(aclrtMemInvalidate(&word, sizeof word));
    OK(aclrtHostUnregister(&word));
    assert_int_equal(aclrtHostRegister(NULL, 4, ACL_HOST_REGISTER_MAPPED, &seen),
                     ACL_ERROR_INVALID_PARAM);
}

static void hold(void *gate)
{
    while (!__atomic_load_n((bool *)gate, __ATOMIC_ACQUIRE)) {
    }
}

static void streams_and_events_say_whether_they_have_ended(void **state)
{
    aclrtStream stream;
    aclrtEvent event;
    aclrtStreamStatus ended;
    aclrtEventStatus happened;
    aclrtEventRecordedStatus recorded;
    bool gate = false;
    float ms = -1;
    OK(aclrtCreateStream(&stream));
    OK(aclrtCreateEventWithFlag(&event, ACL_EVENT_TIME_LINE));
    OK(aclrtLaunchHostFunc(stream, hold, &gate));
    OK(aclrtRecordEvent(event, stream));
    OK(aclrtStreamQuery(stream, &ended));
    assert_int_equal(ended, ACL_STREAM_STATUS_NOT_READY);
    OK(aclrtQueryEvent(event, &happened));
    assert_int_equal(happened, ACL_EVENT_STATUS_NOT_READY);
    OK(aclrtQueryEventStatus(event, &recorded));
    assert_int_equal(recorded, ACL_EVENT_RECORDED_STATUS_NOT_READY);
    assert_int_equal(aclrtSynchronizeStreamWithTimeout(stream, 1),
                     ACL_ERROR_RT_STREAM_SYNC_TIMEOUT);
    assert_int_not_equal(aclrtSynchronizeEventWithTimeout(event, 1), ACL_SUCCESS);
    __atomic_store_n(&gate, true, __ATOMIC_RELEASE);
    OK(aclrtSynchronizeEvent(event));
    OK(aclrtSynchronizeDevice());
    OK(aclrtStreamQuery(stream, &ended));
    assert_int_equal(ended, ACL_STREAM_STATUS_COMPLETE);
    OK(aclrtQueryEventStatus(event, &recorded));
    assert_int_equal(recorded, ACL_EVENT_RECORDED_STATUS_COMPLETE);
    OK(aclrtEventElapsedTime(&ms, event, event));
    assert_true(ms == 0);
    OK(aclrtResetEvent(event, stream));
    OK(aclrtStreamWaitEvent(stream, event));
    OK(aclrtDestroyEvent(event));
    OK(aclrtDestroyStream(stream));
    assert_int_equal(aclrtStreamQuery(stream, &ended), ACL_ERROR_INVALID_PARAM);
    assert_int_equal(aclrtQueryEvent(event, &happened), ACL_ERROR_INVALID_PARAM);
}

struct order {
    bool gate;
    bool seen; // whether it was open
};

static void look_at_gate(void *arg)
{
    struct order *order = arg;
    order->seen = __atomic_load_n(&order->gate, __ATOMIC_ACQUIRE);
}

static void a_stream_waits_for_an_event_of_another(void **state)
{
    struct order order = {0};
    aclrtStream first, second;
    aclrtEvent event;
    OK(aclrtCreateStream(&first));
    OK(aclrtCreateStream(&second));
    OK(aclrtCreateEvent(&event));
    OK(aclrtLaunchHostFunc(first, hold, &order.gate));
    OK(aclrtRecordEvent(event, first));
    OK(aclrtStreamWaitEvent(second, event));
    OK(aclrtLaunchHostFunc(second, look_at_gate, &order));
    assert_int_equal(aclrtSynchronizeStreamWithTimeout(second, 20),
                     ACL_ERROR_RT_STREAM_SYNC_TIMEOUT);
    __atomic_store_n(&order.gate, true, __ATOMIC_RELEASE);
    OK(aclrtSynchronizeStream(second));
    assert_true(order.seen);
    OK(aclrtDestroyEvent(event));
    OK(aclrtDestroyStream(second));
    OK(aclrtDestroyStream(first));
}

static void wait_for_all(void *error)
{
    *(aclError *)error = aclrtSynchronizeDevice();
}

static void a_kernel_may_not_wait_for_all_streams(void **state)
{
    aclrtStream stream;
    aclError error = ACL_SUCCESS;
    OK(aclrtCreateStream(&stream));
    OK(aclrtLaunchHostFunc(stream, wait_for_all, &error));
    OK(aclrtSynchronizeStream(stream));
    assert_int_not_equal(error, ACL_SUCCESS);
    OK(aclrtDestroyStream(stream));
}

struct reports {
    _Atomic int count;
    _Atomic bool stop;
    pthread_t here;
    aclError inside;
};

static void report(void *arg)
{
    struct reports *reports = arg;
    reports->here = pthread_self();
    reports->inside = aclrtSynchronizeDevice();
    reports->count++;
}

static void *process(void *arg)
{
    struct reports *reports = arg;
    while (!reports->stop) {
        (void)aclrtProcessReport(5);
    }
    return NULL;
}

static void callbacks_run_on_the_thread_that_subscribed(void **state)
{
    struct reports reports = {0};
    aclrtStream stream;
    pthread_t thread;
    OK(aclrtCreateStream(&stream));
    assert_int_equal(aclrtLaunchCallback(report, &reports, ACL_CALLBACK_BLOCK, stream),
                     ACL_ERROR_RT_STREAM_NO_CB_REG);
    assert_int_equal(aclrtProcessReport(1), ACL_ERROR_THREAD_NOT_SUBSCRIBE);
    assert_int_equal(pthread_create(&thread, NULL, process, &reports), 0);
    OK(aclrtSubscribeReport((uint64_t)thread, stream));
    assert_int_equal(aclrtSubscribeReport((uint64_t)thread, stream), ACL_ERROR_REPEAT_SUBSCRIBE);
    for (int i = 1; i <= 20; i++) {
        OK(aclrtLaunchCallback(report, &reports, ACL_CALLBACK_BLOCK, stream));
        OK(aclrtSynchronizeStream(stream));
        assert_int_equal(reports.count, i);
        assert_true(pthread_equal(reports.here, thread));
        assert_int_not_equal(reports.inside, ACL_SUCCESS);
    }
    OK(aclrtLaunchCallback(report, &reports, ACL_CALLBACK_NO_BLOCK, stream));
    OK(aclrtSynchronizeStream(stream));
    while (reports.count < 21) {
    }
    reports.stop = true;
    pthread_join(thread, NULL);
    OK(aclrtUnSubscribeReport((uint64_t)thread, stream));
    assert_int_equal(aclrtUnSubscribeReport((uint64_t)thread, stream),
                     ACL_ERROR_STREAM_NOT_SUBSCRIBE);
    OK(aclrtDestroyStream(stream));
}

static void a_callback_that_nobody_runs_is_told(void **state)
{
    struct reports reports = {0};
    aclrtStream stream;
    uint64_t self = (uint64_t)pthread_self();
    OK(aclrtCreateStream(&stream));
    OK(aclrtSubscribeReport(self, stream));
    OK(aclrtLaunchCallback(report, &reports, ACL_CALLBACK_BLOCK, stream));
    assert_int_equal(aclrtSynchronizeStreamWithTimeout(stream, 20),
                     ACL_ERROR_RT_STREAM_SYNC_TIMEOUT);
    OK(aclrtUnSubscribeReport(self, stream));
    assert_int_not_equal(aclrtSynchronizeStream(stream), ACL_SUCCESS);
    SAYS("its thread unsubscribed before the callback ran");
    OK(aclrtSubscribeReport(self, stream));
    assert_int_equal(aclrtProcessReport(1), ACL_ERROR_WAIT_CALLBACK_TIMEOUT);
    OK(aclrtUnSubscribeReport(self, stream));
    OK(aclrtDestroyStream(stream));
    assert_int_equal(aclrtSubscribeReport(self, stream), ACL_ERROR_INVALID_PARAM);
    SAYS("this stream has been destroyed");
    assert_int_equal(reports.count, 0);
}

static void what_is_declared_and_not_there_says_so(void **state)
{
    int64_t dims[1] = {4};
    assert_null(aclCreateTensor(dims, 1, ACL_FLOAT, dims, 0, ACL_FORMAT_ND, dims, 1, dims));
    SAYS("aclCreateTensor: tern does not have this call");
    assert_int_equal(aclDestroyTensor(NULL), ACL_ERROR_API_NOT_SUPPORT);
    assert_int_equal(aclrtStreamAbort(NULL), ACL_ERROR_API_NOT_SUPPORT);
    assert_null(aclCreateScalar(dims, ACL_INT64));
    assert_null(aclCreateIntArray(dims, 1));
    assert_int_equal(aclDestroyIntArray(NULL), ACL_ERROR_API_NOT_SUPPORT);
    assert_int_equal(aclmdlUnload(1), ACL_ERROR_API_NOT_SUPPORT);
}

static void the_runtime_calls_are_those_of_acl(void **state)
{
    rtStream_t stream;
    OK(rtSetDevice(1));
    OK(rtStreamCreate(&stream, 0));
    OK(rtStreamSynchronize(stream));
    OK(rtStreamDestroy(stream));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_thread_is_on_a_device_or_in_a_context),
        cmocka_unit_test(initialising_twice_is_an_error),
        cmocka_unit_test(types_have_sizes_and_halves_are_rounded),
        cmocka_unit_test(copies_keep_to_their_blocks),
        cmocka_unit_test(memory_of_the_host_is_seen_by_the_device),
        cmocka_unit_test(streams_and_events_say_whether_they_have_ended),
        cmocka_unit_test(a_stream_waits_for_an_event_of_another),
        cmocka_unit_test(a_kernel_may_not_wait_for_all_streams),
        cmocka_unit_test(callbacks_run_on_the_thread_that_subscribed),
        cmocka_unit_test(a_callback_that_nobody_runs_is_told),
        cmocka_unit_test(what_is_declared_and_not_there_says_so),
        cmocka_unit_test(the_runtime_calls_are_those_of_acl),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
