// SPDX-License-Identifier: Apache-2.0
// The part of the ACL host interface that programs for the PTO ISA use: device memory, streams and
// events, on this machine. A device is this process; its memory is ordinary memory, and host and
// device see the same. Streams and events are those of tern/stream.h.
//
// Functions return 0, or an error number: then the sentence is in tern_last_error(), and where a
// kernel was refused something also on standard error.
#ifndef TERN_FACES_ACL_ACL_H
#define TERN_FACES_ACL_ACL_H

#include <stddef.h>
#include <stdint.h>

#include "tern/api.h"

TERN_BEGIN_DECLS

typedef int aclError;
typedef void *aclrtStream;
typedef void *aclrtEvent;
typedef void *aclrtContext;

#define ACL_SUCCESS 0
#define ACL_ERROR_NONE 0
#define ACL_ERROR_INVALID_PARAM 100000
#define ACL_ERROR_UNINITIALIZE 100001
#define ACL_ERROR_REPEAT_INITIALIZE 100002
#define ACL_ERROR_BAD_ALLOC 200000
#define ACL_ERROR_RT_MEMORY_ALLOCATION 207001
#define ACL_ERROR_INTERNAL_ERROR 500000
#define ACL_ERROR_RT_STREAM_SYNC_TIMEOUT 507046
#define ACL_ERROR_RT_AICORE_EXCEPTION 507015

typedef enum aclrtMemcpyKind {
    ACL_MEMCPY_HOST_TO_HOST = 0,
    ACL_MEMCPY_HOST_TO_DEVICE = 1,
    ACL_MEMCPY_DEVICE_TO_HOST = 2,
    ACL_MEMCPY_DEVICE_TO_DEVICE = 3,
} aclrtMemcpyKind;

typedef enum aclrtMemMallocPolicy {
    ACL_MEM_MALLOC_HUGE_FIRST = 0,
    ACL_MEM_MALLOC_HUGE_ONLY = 1,
    ACL_MEM_MALLOC_NORMAL_ONLY = 2,
} aclrtMemMallocPolicy;

// ACL_ERROR_REPEAT_INITIALIZE when it has been done. configPath is not read.
TERN_API aclError aclInit(const char *configPath);
TERN_API aclError aclFinalize(void);

// Any device: which rank this is, the launcher or the root info says.
TERN_API aclError aclrtSetDevice(int32_t deviceId);
TERN_API aclError aclrtGetDevice(int32_t *deviceId);
TERN_API aclError aclrtResetDevice(int32_t deviceId);
TERN_API aclError aclrtGetDeviceCount(uint32_t *count);
TERN_API aclError aclrtSynchronizeDevice(void);

// Aligned to 512 bytes. The first gives memory of the device, the second of the host; both may be
// used by either. Memory of the device that is allocated while the process has a communicator of
// HCCL is moved by its calls without a copy. An address that was not given, or was freed, is
// refused.
TERN_API aclError aclrtMalloc(void **devPtr, size_t size, aclrtMemMallocPolicy policy);
TERN_API aclError aclrtFree(void *devPtr);
TERN_API aclError aclrtMallocHost(void **hostPtr, size_t size);
TERN_API aclError aclrtFreeHost(void *hostPtr);

// destMax (maxCount): bytes there are; more is refused. The asynchronous forms are in the stream's
// order.
TERN_API aclError aclrtMemcpy(void *dst, size_t destMax, const void *src, size_t count,
                              aclrtMemcpyKind kind);
TERN_API aclError aclrtMemset(void *devPtr, size_t maxCount, int32_t value, size_t count);
TERN_API aclError aclrtMemcpyAsync(void *dst, size_t destMax, const void *src, size_t count,
                                   aclrtMemcpyKind kind, aclrtStream stream);
TERN_API aclError aclrtMemsetAsync(void *devPtr, size_t maxCount, int32_t value, size_t count,
                                   aclrtStream stream);

TERN_API aclError aclrtCreateStream(aclrtStream *stream);
TERN_API aclError aclrtDestroyStream(aclrtStream stream);

// 0, or why a kernel of the stream failed since the last call.
TERN_API aclError aclrtSynchronizeStream(aclrtStream stream);
TERN_API aclError aclrtSynchronizeStreamWithTimeout(aclrtStream stream, int32_t timeoutMs);

TERN_API aclError aclrtCreateEvent(aclrtEvent *event);
TERN_API aclError aclrtDestroyEvent(aclrtEvent event);
TERN_API aclError aclrtRecordEvent(aclrtEvent event, aclrtStream stream);
TERN_API aclError aclrtStreamWaitEvent(aclrtStream stream, aclrtEvent event);
TERN_API aclError aclrtSynchronizeEvent(aclrtEvent event);
TERN_API aclError aclrtEventElapsedTime(float *ms, aclrtEvent startEvent, aclrtEvent endEvent);

// The sentence of this thread's last error.
TERN_API const char *aclGetRecentErrMsg(void);

// Declared, for sources that name them; tensors are not handed over this way.
typedef struct aclTensor aclTensor;
typedef enum aclDataType { ACL_DT_UNDEFINED = -1, ACL_FLOAT = 0, ACL_FLOAT16 = 1 } aclDataType;
typedef enum aclFormat {
    ACL_FORMAT_UNDEFINED = -1,
    ACL_FORMAT_NCHW = 0,
    ACL_FORMAT_ND = 2
} aclFormat;
aclTensor *aclCreateTensor(const int64_t *viewDims, uint64_t viewDimsNum, aclDataType dataType,
                           const int64_t *stride, int64_t offset, aclFormat format,
                           const int64_t *storageDims, uint64_t storageDimsNum, void *tensorData);
aclError aclDestroyTensor(const aclTensor *tensor);

TERN_END_DECLS

#endif
