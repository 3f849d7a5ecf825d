// SPDX-License-Identifier: Apache-2.0
// The runtime of ACL: devices, contexts, streams, events, memory, callbacks.
#ifndef TERN_FACES_ACL_ACL_RT_H
#define TERN_FACES_ACL_ACL_RT_H

#include "acl/acl_base.h"

TERN_BEGIN_DECLS

#define ACL_CONTINUE_ON_FAILURE 0x00000000U
#define ACL_STOP_ON_FAILURE 0x00000001U

#define ACL_EVENT_SYNC 0x00000001U
#define ACL_EVENT_CAPTURE_STREAM_PROGRESS 0x00000002U
#define ACL_EVENT_TIME_LINE 0x00000008U
#define ACL_EVENT_DEVICE_USE_ONLY 0x00000010U
#define ACL_EVENT_EXTERNAL 0x00000020U
#define ACL_STREAM_FAST_LAUNCH 0x00000001U
#define ACL_STREAM_FAST_SYNC 0x00000002U
#define ACL_STREAM_PERSISTENT 0x00000004U
#define ACL_STREAM_HUGE 0x00000008U
#define ACL_STREAM_CPU_SCHEDULE 0x00000010U
#define ACL_STREAM_DEVICE_USE_ONLY 0x00000020U

typedef enum aclrtRunMode { ACL_DEVICE = 0, ACL_HOST = 1 } aclrtRunMode;

typedef enum aclrtFloatOverflowMode {
    ACL_RT_OVERFLOW_MODE_SATURATION = 0,
    ACL_RT_OVERFLOW_MODE_INFNAN = 1,
    ACL_RT_OVERFLOW_MODE_UNDEF = 2,
} aclrtFloatOverflowMode;

typedef enum aclrtEventStatus {
    ACL_EVENT_STATUS_COMPLETE = 0,
    ACL_EVENT_STATUS_NOT_READY = 1,
    ACL_EVENT_STATUS_RESERVED = 2,
} aclrtEventStatus;

typedef enum aclrtEventRecordedStatus {
    ACL_EVENT_RECORDED_STATUS_NOT_READY = 0,
    ACL_EVENT_RECORDED_STATUS_COMPLETE = 1,
} aclrtEventRecordedStatus;

typedef enum aclrtStreamStatus {
    ACL_STREAM_STATUS_COMPLETE = 0,
    ACL_STREAM_STATUS_NOT_READY = 1,
    ACL_STREAM_STATUS_RESERVED = 0xFFFF,
} aclrtStreamStatus;

typedef enum aclrtEventWaitStatus {
    ACL_EVENT_WAIT_STATUS_COMPLETE = 0,
    ACL_EVENT_WAIT_STATUS_NOT_READY = 1,
    ACL_EVENT_WAIT_STATUS_RESERVED = 0xFFFF,
} aclrtEventWaitStatus;

typedef enum aclrtCallbackBlockType {
    ACL_CALLBACK_NO_BLOCK = 0,
    ACL_CALLBACK_BLOCK = 1,
} aclrtCallbackBlockType;

typedef enum aclrtMemcpyKind {
    ACL_MEMCPY_HOST_TO_HOST = 0,
    ACL_MEMCPY_HOST_TO_DEVICE = 1,
    ACL_MEMCPY_DEVICE_TO_HOST = 2,
    ACL_MEMCPY_DEVICE_TO_DEVICE = 3,
    ACL_MEMCPY_DEFAULT = 4,
    ACL_MEMCPY_HOST_TO_BUF_TO_DEVICE = 5,
    ACL_MEMCPY_INNER_DEVICE_TO_DEVICE = 6,
    ACL_MEMCPY_INTER_DEVICE_TO_DEVICE = 7,
} aclrtMemcpyKind;

typedef enum aclrtMemMallocPolicy {
    ACL_MEM_MALLOC_HUGE_FIRST = 0,
    ACL_MEM_MALLOC_HUGE_ONLY = 1,
    ACL_MEM_MALLOC_NORMAL_ONLY = 2,
    ACL_MEM_MALLOC_HUGE_FIRST_P2P = 3,
    ACL_MEM_MALLOC_HUGE_ONLY_P2P = 4,
    ACL_MEM_MALLOC_NORMAL_ONLY_P2P = 5,
    ACL_MEM_MALLOC_HUGE1G_ONLY = 6,
    ACL_MEM_MALLOC_HUGE1G_ONLY_P2P = 7,
    ACL_MEM_TYPE_LOW_BAND_WIDTH = 0x0100,
    ACL_MEM_TYPE_HIGH_BAND_WIDTH = 0x1000,
} aclrtMemMallocPolicy;

typedef enum aclrtMemAttr {
    ACL_DDR_MEM = 0,
    ACL_HBM_MEM = 1,
    ACL_DDR_MEM_HUGE = 2,
    ACL_DDR_MEM_NORMAL = 3,
    ACL_HBM_MEM_HUGE = 4,
    ACL_HBM_MEM_NORMAL = 5,
} aclrtMemAttr;

typedef enum aclrtMemLocationType {
    ACL_MEM_LOCATION_TYPE_HOST = 0,
    ACL_MEM_LOCATION_TYPE_DEVICE = 1,
    ACL_MEM_LOCATION_TYPE_UNREGISTERED = 2,
} aclrtMemLocationType;

typedef struct aclrtMemLocation {
    uint32_t id; // of the device
    aclrtMemLocationType type;
} aclrtMemLocation;

typedef struct aclrtPtrAttributes {
    aclrtMemLocation location;
    uint32_t pageSize; // bytes
    uint32_t rsv[4];
} aclrtPtrAttributes;

typedef void *aclrtDrvMemHandle;

typedef enum aclrtMemHandleType { ACL_MEM_HANDLE_TYPE_NONE = 0 } aclrtMemHandleType;
typedef enum aclrtMemAllocationType { ACL_MEM_ALLOCATION_TYPE_PINNED = 0 } aclrtMemAllocationType;

typedef struct aclrtPhysicalMemProp {
    aclrtMemHandleType handleType;
    aclrtMemAllocationType allocationType;
    aclrtMemAttr memAttr; // not used
    aclrtMemLocation location;
    uint64_t reserve;
} aclrtPhysicalMemProp;

typedef enum aclrtMemGranularityOptions {
    ACL_RT_MEM_ALLOC_GRANULARITY_MINIMUM = 0,
    ACL_RT_MEM_ALLOC_GRANULARITY_RECOMMENDED = 1,
} aclrtMemGranularityOptions;

typedef enum aclrtHostRegisterType { ACL_HOST_REGISTER_MAPPED = 0 } aclrtHostRegisterType;
typedef enum aclrtLastErrLevel { ACL_RT_THREAD_LEVEL = 0 } aclrtLastErrLevel;

typedef void (*aclrtCallback)(void *userData);

// Devices have numbers 0 to 63: one for each rank that there may be. Which rank this is, the
// launcher, the root info or the rank table says. Set gives the thread the device's own context.
// Reset, which may come as often as Set or not, changes nothing; nor does its Force.
//
// The count is that of the ranks in a rank of `tern run`, else 64. Where ASCEND_RT_VISIBLE_DEVICES
// lists devices ("0,1", "2-5,7") there are as many, with numbers from 0.
TERN_API aclError aclrtSetDevice(int32_t deviceId);
TERN_API aclError aclrtGetDevice(int32_t *deviceId);
TERN_API aclError aclrtResetDevice(int32_t deviceId);
TERN_API aclError aclrtResetDeviceForce(int32_t deviceId);
TERN_API aclError aclrtGetDeviceCount(uint32_t *count);

// The number in ASCEND_RT_VISIBLE_DEVICES, and back; without a list the same number.
TERN_API aclError aclrtGetPhyDevIdByLogicDevId(int32_t logicDevId, int32_t *phyDevId);
TERN_API aclError aclrtGetLogicDevIdByPhyDevId(int32_t phyDevId, int32_t *logicDevId);

// Remembered for the thread's device, without an effect: SATURATION at first. UNDEF is refused.
TERN_API aclError aclrtSetDeviceSatMode(aclrtFloatOverflowMode mode);
TERN_API aclError aclrtGetDeviceSatMode(aclrtFloatOverflowMode *mode);
TERN_API aclError aclrtGetRunMode(aclrtRunMode *runMode);
TERN_API const char *aclrtGetSocName(void);
TERN_API aclError aclrtGetVersion(int32_t *majorVersion, int32_t *minorVersion,
                                  int32_t *patchVersion);
TERN_API aclError aclrtDeviceCanAccessPeer(int32_t *canAccessPeer, int32_t deviceId,
                                           int32_t peerDeviceId);
TERN_API aclError aclrtDeviceEnablePeerAccess(int32_t peerDeviceId, uint32_t flags);
TERN_API aclError aclrtDeviceDisablePeerAccess(int32_t peerDeviceId);

// All streams of the process. A kernel, or a callback, that calls it waits for itself, and is
// refused.
TERN_API aclError aclrtSynchronizeDevice(void);
TERN_API aclError aclrtSynchronizeDeviceWithTimeout(int32_t timeoutMs);

// A context is a device that a thread may be put on. Current: of the calling thread.
TERN_API aclError aclrtCreateContext(aclrtContext *context, int32_t deviceId);
TERN_API aclError aclrtDestroyContext(aclrtContext context);
TERN_API aclError aclrtSetCurrentContext(aclrtContext context);
TERN_API aclError aclrtGetCurrentContext(aclrtContext *context);

// Aligned to 512 bytes. Malloc gives memory of the device, MallocHost of the host; both may be used
// by either. Memory of the device that is allocated while the process has a communicator of HCCL is
// moved by its calls without a copy. An address that was not given, or was freed, is refused.
TERN_API aclError aclrtMalloc(void **devPtr, size_t size, aclrtMemMallocPolicy policy);
TERN_API aclError aclrtMallocAlign32(void **devPtr, size_t size, aclrtMemMallocPolicy policy);
TERN_API aclError aclrtMallocCached(void **devPtr, size_t size, aclrtMemMallocPolicy policy);
TERN_API aclError aclrtFree(void *devPtr);
TERN_API aclError aclrtMallocHost(void **hostPtr, size_t size);
TERN_API aclError aclrtFreeHost(void *hostPtr);

// What the machine has, whatever attr: bytes that can be had now, and with those in use.
TERN_API aclError aclrtGetMemInfo(aclrtMemAttr attr, size_t *free, size_t *total);

// Where memory at this address was given: by aclrtMalloc or aclrtMapMem (the device is the
// calling thread's), by aclrtMallocHost, or by none: UNREGISTERED, also after aclrtHostRegister.
TERN_API aclError aclrtPointerGetAttributes(const void *ptr, aclrtPtrAttributes *attributes);

// Addresses, memory, and the one mapped at the other. Sizes are multiples of the granularity, which
// is 2 MiB. A mapping lies within reserved addresses, and is unmapped as a whole. Memory may be
// mapped several times, is all zero at first, and is gone when it has been freed and no mapping is
// left. alignment, offset, and flags of memory and mappings are 0; expectPtr is NULL.
TERN_API aclError aclrtMemGetAllocationGranularity(aclrtPhysicalMemProp *prop,
                                                   aclrtMemGranularityOptions option,
                                                   size_t *granularity);
TERN_API aclError aclrtReserveMemAddress(void **virPtr, size_t size, size_t alignment,
                                         void *expectPtr, uint64_t flags);
TERN_API aclError aclrtReleaseMemAddress(void *virPtr);
TERN_API aclError aclrtMallocPhysical(aclrtDrvMemHandle *handle, size_t size,
                                      const aclrtPhysicalMemProp *prop, uint64_t flags);
TERN_API aclError aclrtFreePhysical(aclrtDrvMemHandle handle);
TERN_API aclError aclrtMapMem(void *virPtr, size_t size, size_t offset, aclrtDrvMemHandle handle,
                              uint64_t flags);
TERN_API aclError aclrtUnmapMem(void *virPtr);

// Memory is coherent here: nothing is done.
TERN_API aclError aclrtMemFlush(void *devPtr, size_t size);
TERN_API aclError aclrtMemInvalidate(void *devPtr, size_t size);

// The device sees memory of the host at its own address.
TERN_API aclError aclrtHostRegister(void *ptr, uint64_t size, aclrtHostRegisterType type,
                                    void **devPtr);
TERN_API aclError aclrtHostUnregister(void *ptr);

// destMax (maxCount): bytes there are; more is refused, also where a block of aclrtMalloc is
// shorter. The asynchronous forms are in the stream's order; NULL: at once. Memcpy2d copies
// `height` rows of `width` bytes, which begin dpitch and spitch bytes apart.
TERN_API aclError aclrtMemcpy(void *dst, size_t destMax, const void *src, size_t count,
                              aclrtMemcpyKind kind);
TERN_API aclError aclrtMemcpyAsync(void *dst, size_t destMax, const void *src, size_t count,
                                   aclrtMemcpyKind kind, aclrtStream stream);
TERN_API aclError aclrtMemcpy2d(void *dst, size_t dpitch, const void *src, size_t spitch,
                                size_t width, size_t height, aclrtMemcpyKind kind);
TERN_API aclError aclrtMemcpy2dAsync(void *dst, size_t dpitch, const void *src, size_t spitch,
                                     size_t width, size_t height, aclrtMemcpyKind kind,
                                     aclrtStream stream);
TERN_API aclError aclrtMemset(void *devPtr, size_t maxCount, int32_t value, size_t count);
TERN_API aclError aclrtMemsetAsync(void *devPtr, size_t maxCount, int32_t value, size_t count,
                                   aclrtStream stream);

// Priority and flag are not used. Query: whether all that was appended has ended. Abort is not
// here: what runs cannot be ended from outside.
TERN_API aclError aclrtCreateStream(aclrtStream *stream);
TERN_API aclError aclrtCreateStreamWithConfig(aclrtStream *stream, uint32_t priority,
                                              uint32_t flag);
TERN_API aclError aclrtDestroyStream(aclrtStream stream);
TERN_API aclError aclrtDestroyStreamForce(aclrtStream stream);
TERN_API aclError aclrtStreamQuery(aclrtStream stream, aclrtStreamStatus *status);
TERN_API aclError aclrtStreamAbort(aclrtStream stream);

// Whether what follows a failure in the stream is run (ACL_CONTINUE_ON_FAILURE) or not, until the
// failure has been told by aclrtSynchronizeStream (ACL_STOP_ON_FAILURE, as a stream is made).
TERN_API aclError aclrtSetStreamFailureMode(aclrtStream stream, uint64_t mode);

// NULL: the default stream, which is in order with its caller.
TERN_API aclError aclrtCtxGetCurrentDefaultStream(aclrtStream *stream);

// 0, or why a kernel of the stream failed since the last call. timeoutMs below 0: as long as
// tern_stream_sync.
TERN_API aclError aclrtSynchronizeStream(aclrtStream stream);
TERN_API aclError aclrtSynchronizeStreamWithTimeout(aclrtStream stream, int32_t timeoutMs);

// Flags are not used: every event has its time. Reset does nothing: an event that is recorded again
// means the later point anyway.
TERN_API aclError aclrtCreateEvent(aclrtEvent *event);
TERN_API aclError aclrtCreateEventWithFlag(aclrtEvent *event, uint32_t flag);
TERN_API aclError aclrtCreateEventExWithFlag(aclrtEvent *event, uint32_t flag);
TERN_API aclError aclrtDestroyEvent(aclrtEvent event);
TERN_API aclError aclrtRecordEvent(aclrtEvent event, aclrtStream stream);
TERN_API aclError aclrtResetEvent(aclrtEvent event, aclrtStream stream);
TERN_API aclError aclrtStreamWaitEvent(aclrtStream stream, aclrtEvent event);
TERN_API aclError aclrtQueryEvent(aclrtEvent event, aclrtEventStatus *status);
TERN_API aclError aclrtQueryEventStatus(aclrtEvent event, aclrtEventRecordedStatus *status);

// COMPLETE when streams have passed every aclrtStreamWaitEvent for the event.
TERN_API aclError aclrtQueryEventWaitStatus(aclrtEvent event, aclrtEventWaitStatus *status);

// Seconds that a stream may wait for an event, 0: no end; then waits for the stream that have no
// time of their own return ACL_ERROR_RT_STREAM_SYNC_TIMEOUT. For all streams of the process.
TERN_API aclError aclrtSetOpWaitTimeout(uint32_t timeout);

TERN_API aclError aclrtSynchronizeEvent(aclrtEvent event);
TERN_API aclError aclrtSynchronizeEventWithTimeout(aclrtEvent event, int32_t timeoutMs);
TERN_API aclError aclrtEventElapsedTime(float *ms, aclrtEvent startEvent, aclrtEvent endEvent);

// Callbacks run in the stream's order, on the thread that subscribed for the stream, inside
// aclrtProcessReport, which waits for one for so long (below 0: as long as tern_stream_sync;
// ACL_ERROR_WAIT_CALLBACK_TIMEOUT). What follows a callback in the stream waits for it, unless
// blockType is ACL_CALLBACK_NO_BLOCK. threadId: of pthread_self.
TERN_API aclError aclrtSubscribeReport(uint64_t threadId, aclrtStream stream);
TERN_API aclError aclrtUnSubscribeReport(uint64_t threadId, aclrtStream stream);
TERN_API aclError aclrtProcessReport(int32_t timeoutMs);
TERN_API aclError aclrtLaunchCallback(aclrtCallback fn, void *userData,
                                      aclrtCallbackBlockType blockType, aclrtStream stream);

// In the stream's order too, on a thread of the stream: nobody subscribes.
TERN_API aclError aclrtLaunchHostFunc(aclrtStream stream, aclrtCallback fn, void *userData);

// The number of this thread's last error; Get also forgets it.
TERN_API aclError aclrtPeekAtLastError(aclrtLastErrLevel level);
TERN_API aclError aclrtGetLastError(aclrtLastErrLevel level);

TERN_END_DECLS

#endif
