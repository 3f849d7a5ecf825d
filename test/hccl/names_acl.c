// SPDX-License-Identifier: Apache-2.0
// ACL as a program sees it, and what names.c has not of HCCL: rank tables, all ranks in a process,
// announced memory.
#include <stdio.h>
#include <string.h>

#include "acl/acl.h"
#include "acl/acl_base.h"
#include "acl/acl_prof.h"
#include "acl/acl_rt.h"
#include "acl/error_codes/rt_error_codes.h"
#include "hccl/hccl.h"
#include "hccl/hccl_comm.h"
#include "names.h"
#include "runtime/rt.h"

IS_OF(size_t, aclDataTypeSize, aclDataType);
IS_OF(float, aclFloat16ToFloat, aclFloat16);
IS_OF(aclFloat16, aclFloatToFloat16, float);
IS_OF(const char *, aclGetRecentErrMsg, void);
IS_OF(aclError, aclrtSetDevice, int32_t);
IS_OF(aclError, aclrtGetDevice, int32_t *);
IS_OF(aclError, aclrtResetDevice, int32_t);
IS_OF(aclError, aclrtResetDeviceForce, int32_t);
IS_OF(aclError, aclrtGetPhyDevIdByLogicDevId, int32_t, int32_t *);
IS_OF(aclError, aclrtGetLogicDevIdByPhyDevId, int32_t, int32_t *);
IS_OF(aclError, aclrtSetDeviceSatMode, aclrtFloatOverflowMode);
IS_OF(aclError, aclrtGetDeviceSatMode, aclrtFloatOverflowMode *);
IS_OF(aclError, aclrtGetDeviceCount, uint32_t *);
IS_OF(aclError, aclrtGetRunMode, aclrtRunMode *);
IS_OF(const char *, aclrtGetSocName, void);
IS_OF(aclError, aclrtGetVersion, int32_t *, int32_t *, int32_t *);
IS_OF(aclError, aclrtDeviceCanAccessPeer, int32_t *, int32_t, int32_t);
IS_OF(aclError, aclrtDeviceEnablePeerAccess, int32_t, uint32_t);
IS_OF(aclError, aclrtDeviceDisablePeerAccess, int32_t);
IS_OF(aclError, aclrtSynchronizeDevice, void);
IS_OF(aclError, aclrtSynchronizeDeviceWithTimeout, int32_t);
IS_OF(aclError, aclrtCreateContext, aclrtContext *, int32_t);
IS_OF(aclError, aclrtDestroyContext, aclrtContext);
IS_OF(aclError, aclrtSetCurrentContext, aclrtContext);
IS_OF(aclError, aclrtGetCurrentContext, aclrtContext *);
IS_OF(aclError, aclrtMalloc, void **, size_t, aclrtMemMallocPolicy);
IS_OF(aclError, aclrtMallocAlign32, void **, size_t, aclrtMemMallocPolicy);
IS_OF(aclError, aclrtMallocCached, void **, size_t, aclrtMemMallocPolicy);
IS_OF(aclError, aclrtFree, void *);
IS_OF(aclError, aclrtMallocHost, void **, size_t);
IS_OF(aclError, aclrtFreeHost, void *);
IS_OF(aclError, aclrtGetMemInfo, aclrtMemAttr, size_t *, size_t *);
IS_OF(aclError, aclrtPointerGetAttributes, const void *, aclrtPtrAttributes *);
IS_OF(aclError, aclrtMemGetAllocationGranularity, aclrtPhysicalMemProp *,
      aclrtMemGranularityOptions, size_t *);
IS_OF(aclError, aclrtReserveMemAddress, void **, size_t, size_t, void *, uint64_t);
IS_OF(aclError, aclrtReleaseMemAddress, void *);
IS_OF(aclError, aclrtMallocPhysical, aclrtDrvMemHandle *, size_t, const aclrtPhysicalMemProp *,
      uint64_t);
IS_OF(aclError, aclrtFreePhysical, aclrtDrvMemHandle);
IS_OF(aclError, aclrtMapMem, void *, size_t, size_t, aclrtDrvMemHandle, uint64_t);
IS_OF(aclError, aclrtUnmapMem, void *);
IS_OF(aclError, aclrtMemFlush, void *, size_t);
IS_OF(aclError, aclrtMemInvalidate, void *, size_t);
IS_OF(aclError, aclrtHostRegister, void *, uint64_t, aclrtHostRegisterType, void **);
IS_OF(aclError, aclrtHostUnregister, void *);
IS_OF(aclError, aclrtMemcpy, void *, size_t, const void *, size_t, aclrtMemcpyKind);
IS_OF(aclError, aclrtMemcpyAsync, void *, size_t, const void *, size_t, aclrtMemcpyKind,
      aclrtStream);
IS_OF(aclError, aclrtMemcpy2d, void *, size_t, const void *, size_t, size_t, size_t,
      aclrtMemcpyKind);
IS_OF(aclError, aclrtMemcpy2dAsync, void *, size_t, const void *, size_t, size_t, size_t,
      aclrtMemcpyKind, aclrtStream);
IS_OF(aclError, aclrtMemset, void *, size_t, int32_t, size_t);
IS_OF(aclError, aclrtMemsetAsync, void *, size_t, int32_t, size_t, aclrtStream);
IS_OF(aclError, aclrtCreateStream, aclrtStream *);
IS_OF(aclError, aclrtCreateStreamWithConfig, aclrtStream *, uint32_t, uint32_t);
IS_OF(aclError, aclrtDestroyStream, aclrtStream);
IS_OF(aclError, aclrtDestroyStreamForce, aclrtStream);
IS_OF(aclError, aclrtStreamQuery, aclrtStream, aclrtStreamStatus *);
IS_OF(aclError, aclrtStreamAbort, aclrtStream);
IS_OF(aclError, aclrtSynchronizeStream, aclrtStream);
IS_OF(aclError, aclrtSynchronizeStreamWithTimeout, aclrtStream, int32_t);
IS_OF(aclError, aclrtCreateEvent, aclrtEvent *);
IS_OF(aclError, aclrtCreateEventWithFlag, aclrtEvent *, uint32_t);
IS_OF(aclError, aclrtCreateEventExWithFlag, aclrtEvent *, uint32_t);
IS_OF(aclError, aclrtDestroyEvent, aclrtEvent);
IS_OF(aclError, aclrtRecordEvent, aclrtEvent, aclrtStream);
IS_OF(aclError, aclrtResetEvent, aclrtEvent, aclrtStream);
IS_OF(aclError, aclrtStreamWaitEvent, aclrtStream, aclrtEvent);
IS_OF(aclError, aclrtQueryEvent, aclrtEvent, aclrtEventStatus *);
IS_OF(aclError, aclrtQueryEventStatus, aclrtEvent, aclrtEventRecordedStatus *);
IS_OF(aclError, aclrtQueryEventWaitStatus, aclrtEvent, aclrtEventWaitStatus *);
IS_OF(aclError, aclrtSetOpWaitTimeout, uint32_t);
IS_OF(aclError, aclrtSetStreamFailureMode, aclrtStream, uint64_t);
IS_OF(aclError, aclrtCtxGetCurrentDefaultStream, aclrtStream *);
IS_OF(aclError, aclrtSynchronizeEvent, aclrtEvent);
IS_OF(aclError, aclrtSynchronizeEventWithTimeout, aclrtEvent, int32_t);
IS_OF(aclError, aclrtEventElapsedTime, float *, aclrtEvent, aclrtEvent);
IS_OF(aclError, aclrtSubscribeReport, uint64_t, aclrtStream);
IS_OF(aclError, aclrtUnSubscribeReport, uint64_t, aclrtStream);
IS_OF(aclError, aclrtProcessReport, int32_t);
IS_OF(aclError, aclrtLaunchCallback, aclrtCallback, void *, aclrtCallbackBlockType, aclrtStream);
IS_OF(aclError, aclrtLaunchHostFunc, aclrtStream, aclrtCallback, void *);
IS_OF(aclError, aclrtPeekAtLastError, aclrtLastErrLevel);
IS_OF(aclError, aclrtGetLastError, aclrtLastErrLevel);
IS_OF(aclError, aclInit, const char *);
IS_OF(aclError, aclFinalize, void);
IS_OF(aclTensor *, aclCreateTensor, const int64_t *, uint64_t, aclDataType, const int64_t *,
      int64_t, aclFormat, const int64_t *, uint64_t, void *);
IS_OF(aclError, aclDestroyTensor, const aclTensor *);
IS_OF(aclScalar *, aclCreateScalar, void *, aclDataType);
IS_OF(aclError, aclDestroyScalar, const aclScalar *);
IS_OF(aclIntArray *, aclCreateIntArray, const int64_t *, uint64_t);
IS_OF(aclError, aclDestroyIntArray, const aclIntArray *);
IS_OF(aclDataBuffer *, aclCreateDataBuffer, void *, size_t);
IS_OF(aclError, aclDestroyDataBuffer, const aclDataBuffer *);
IS_OF(aclTensorDesc *, aclCreateTensorDesc, aclDataType, int, const int64_t *, aclFormat);
IS_OF(void, aclDestroyTensorDesc, const aclTensorDesc *);
IS_OF(aclError, aclmdlLoadFromFile, const char *, uint32_t *);
IS_OF(aclError, aclmdlUnload, uint32_t);
IS_OF(aclError, aclprofInit, const char *, size_t);
IS_OF(aclError, aclprofFinalize, void);
IS_OF(aclprofConfig *, aclprofCreateConfig, uint32_t *, uint32_t, aclprofAicoreMetrics,
      const aclprofAicoreEvents *, uint64_t);
IS_OF(aclError, aclprofDestroyConfig, const aclprofConfig *);
IS_OF(aclError, aclprofStart, const aclprofConfig *);
IS_OF(aclError, aclprofStop, const aclprofConfig *);
IS_OF(rtError_t, rtSetDevice, int32_t);
IS_OF(rtError_t, rtStreamCreate, rtStream_t *, int32_t);
IS_OF(rtError_t, rtStreamDestroy, rtStream_t);
IS_OF(rtError_t, rtStreamSynchronize, rtStream_t);
IS(HcclCommInitClusterInfo, const char *, uint32_t, HcclComm *);
IS(HcclCommInitClusterInfoConfig, const char *, uint32_t, HcclCommConfig *, HcclComm *);
IS(HcclCommInitAll, uint32_t, int32_t *, HcclComm *);
IS(HcclCommSymWinRegister, HcclComm, void *, uint64_t, HcclCommSymWindow *, uint32_t);
IS(HcclCommSymWinDeregister, HcclCommSymWindow);
IS(HcclCommSymWinGet, HcclComm, void *, size_t, HcclCommSymWindow *, size_t *);
IS(HcclCommSetMemoryRange, HcclComm, void *, size_t, size_t, uint64_t);
IS(HcclCommUnsetMemoryRange, HcclComm, void *);
IS(HcclCommActivateCommMemory, HcclComm, void *, size_t, size_t, void *, uint64_t);
IS(HcclCommDeactivateCommMemory, HcclComm, void *);
IS(HcclCommRegister, HcclComm, void *, uint64_t, void **, uint32_t);
IS(HcclCommDeregister, HcclComm, void *);
IS(HcclCommExchangeMem, HcclComm, void *, uint32_t *, uint32_t);
IS(HcommMemAlloc, void **, size_t);
IS(HcommMemFree, void *);
IS(HcomGetL0TopoTypeEx, const char *, uint32_t *, uint32_t);
IS(HcclAllocComResourceByTiling, HcclComm, void *, void *, void **);

SAME(ACL_SUCCESS, 0);
SAME(ACL_ERROR_NONE, 0);
SAME(ACL_ERROR_INVALID_PARAM, 100000);
SAME(ACL_ERROR_UNINITIALIZE, 100001);
SAME(ACL_ERROR_REPEAT_INITIALIZE, 100002);
SAME(ACL_ERROR_INVALID_FILE, 100003);
SAME(ACL_ERROR_WRITE_FILE, 100004);
SAME(ACL_ERROR_INVALID_FILE_SIZE, 100005);
SAME(ACL_ERROR_PARSE_FILE, 100006);
SAME(ACL_ERROR_UNSUPPORTED_DATA_TYPE, 100026);
SAME(ACL_ERROR_REPEAT_SUBSCRIBE, 100033);
SAME(ACL_ERROR_STREAM_NOT_SUBSCRIBE, 100034);
SAME(ACL_ERROR_THREAD_NOT_SUBSCRIBE, 100035);
SAME(ACL_ERROR_WAIT_CALLBACK_TIMEOUT, 100036);
SAME(ACL_ERROR_REPEAT_FINALIZE, 100037);
SAME(ACL_ERROR_BAD_ALLOC, 200000);
SAME(ACL_ERROR_API_NOT_SUPPORT, 200001);
SAME(ACL_ERROR_INVALID_DEVICE, 200002);
SAME(ACL_ERROR_MEMORY_ADDRESS_UNALIGNED, 200003);
SAME(ACL_ERROR_RESOURCE_NOT_MATCH, 200004);
SAME(ACL_ERROR_INVALID_RESOURCE_HANDLE, 200005);
SAME(ACL_ERROR_FEATURE_UNSUPPORTED, 200006);
SAME(ACL_ERROR_STORAGE_OVER_LIMIT, 300000);
SAME(ACL_ERROR_INTERNAL_ERROR, 500000);
SAME(ACL_ERROR_FAILURE, 500001);
SAME(ACL_ERROR_RT_PARAM_INVALID, 107000);
SAME(ACL_ERROR_RT_INVALID_DEVICEID, 107001);
SAME(ACL_ERROR_RT_CONTEXT_NULL, 107002);
SAME(ACL_ERROR_RT_STREAM_CONTEXT, 107003);
SAME(ACL_ERROR_RT_EVENT_TIMESTAMP_INVALID, 107006);
SAME(ACL_ERROR_RT_STREAM_SUBSCRIBE, 107011);
SAME(ACL_ERROR_RT_THREAD_SUBSCRIBE, 107012);
SAME(ACL_ERROR_RT_STREAM_NO_CB_REG, 107015);
SAME(ACL_ERROR_RT_INVALID_MEMORY_TYPE, 107016);
SAME(ACL_ERROR_RT_INVALID_HANDLE, 107017);
SAME(ACL_ERROR_RT_WAIT_TIMEOUT, 107019);
SAME(ACL_ERROR_RT_FEATURE_NOT_SUPPORT, 207000);
SAME(ACL_ERROR_RT_MEMORY_ALLOCATION, 207001);
SAME(ACL_ERROR_RT_MEMORY_FREE, 207002);
SAME(ACL_ERROR_RT_NO_DEVICE, 207004);
SAME(ACL_ERROR_RT_INTERNAL_ERROR, 507000);
SAME(ACL_ERROR_RT_STREAM_NOT_COMPLETE, 507004);
SAME(ACL_ERROR_RT_EVENT_NOT_COMPLETE, 507006);
SAME(ACL_ERROR_RT_AICORE_TIMEOUT, 507014);
SAME(ACL_ERROR_RT_AICORE_EXCEPTION, 507015);
SAME(ACL_ERROR_RT_AICPU_TIMEOUT, 507017);
SAME(ACL_ERROR_RT_AICPU_EXCEPTION, 507018);
SAME(ACL_ERROR_RT_STREAM_SYNC_TIMEOUT, 507046);
SAME(ACL_DT_UNDEFINED, -1);
SAME(ACL_FLOAT, 0);
SAME(ACL_FLOAT16, 1);
SAME(ACL_INT8, 2);
SAME(ACL_INT32, 3);
SAME(ACL_UINT8, 4);
SAME(ACL_INT16, 6);
SAME(ACL_UINT16, 7);
SAME(ACL_UINT32, 8);
SAME(ACL_INT64, 9);
SAME(ACL_UINT64, 10);
SAME(ACL_DOUBLE, 11);
SAME(ACL_BOOL, 12);
SAME(ACL_STRING, 13);
SAME(ACL_COMPLEX64, 16);
SAME(ACL_COMPLEX128, 17);
SAME(ACL_BF16, 27);
SAME(ACL_INT4, 29);
SAME(ACL_UINT1, 30);
SAME(ACL_COMPLEX32, 33);
SAME(ACL_FORMAT_UNDEFINED, -1);
SAME(ACL_FORMAT_NCHW, 0);
SAME(ACL_FORMAT_NHWC, 1);
SAME(ACL_FORMAT_ND, 2);
SAME(ACL_FORMAT_NC1HWC0, 3);
SAME(ACL_FORMAT_FRACTAL_Z, 4);
SAME(ACL_FORMAT_NC1HWC0_C04, 12);
SAME(ACL_FORMAT_HWCN, 16);
SAME(ACL_FORMAT_NDHWC, 27);
SAME(ACL_FORMAT_FRACTAL_NZ, 29);
SAME(ACL_FORMAT_NCDHW, 30);
SAME(ACL_FORMAT_NDC1HWC0, 32);
SAME(ACL_FRACTAL_Z_3D, 33);
SAME(ACL_EVENT_SYNC, 1);
SAME(ACL_EVENT_CAPTURE_STREAM_PROGRESS, 2);
SAME(ACL_EVENT_TIME_LINE, 8);
SAME(ACL_STREAM_FAST_LAUNCH, 1);
SAME(ACL_STREAM_FAST_SYNC, 2);
SAME(ACL_RT_OVERFLOW_MODE_SATURATION, 0);
SAME(ACL_RT_OVERFLOW_MODE_INFNAN, 1);
SAME(ACL_RT_OVERFLOW_MODE_UNDEF, 2);
SAME(ACL_EVENT_DEVICE_USE_ONLY, 0x10);
SAME(ACL_EVENT_EXTERNAL, 0x20);
SAME(ACL_STREAM_PERSISTENT, 4);
SAME(ACL_STREAM_HUGE, 8);
SAME(ACL_STREAM_CPU_SCHEDULE, 0x10);
SAME(ACL_STREAM_DEVICE_USE_ONLY, 0x20);
SAME(ACL_MEMCPY_HOST_TO_BUF_TO_DEVICE, 5);
SAME(ACL_MEMCPY_INNER_DEVICE_TO_DEVICE, 6);
SAME(ACL_MEMCPY_INTER_DEVICE_TO_DEVICE, 7);
SAME(ACL_MEM_MALLOC_HUGE1G_ONLY, 6);
SAME(ACL_MEM_MALLOC_HUGE1G_ONLY_P2P, 7);
SAME(ACL_MEM_TYPE_LOW_BAND_WIDTH, 0x100);
SAME(ACL_MEM_TYPE_HIGH_BAND_WIDTH, 0x1000);
SAME(ACL_MEM_HANDLE_TYPE_NONE, 0);
SAME(ACL_MEM_ALLOCATION_TYPE_PINNED, 0);
SAME(ACL_RT_MEM_ALLOC_GRANULARITY_MINIMUM, 0);
SAME(ACL_RT_MEM_ALLOC_GRANULARITY_RECOMMENDED, 1);
SAME(offsetof(aclrtPhysicalMemProp, location), 12);
SAME(sizeof(aclrtPhysicalMemProp), 32);
SAME(ACL_MEM_LOCATION_TYPE_HOST, 0);
SAME(ACL_MEM_LOCATION_TYPE_DEVICE, 1);
SAME(ACL_MEM_LOCATION_TYPE_UNREGISTERED, 2);
SAME(sizeof(aclrtPtrAttributes), 28);
SAME(offsetof(aclrtPtrAttributes, pageSize), 8);
SAME(ACL_DEVICE, 0);
SAME(ACL_HOST, 1);
SAME(ACL_EVENT_STATUS_COMPLETE, 0);
SAME(ACL_EVENT_STATUS_NOT_READY, 1);
SAME(ACL_EVENT_STATUS_RESERVED, 2);
SAME(ACL_EVENT_RECORDED_STATUS_NOT_READY, 0);
SAME(ACL_EVENT_RECORDED_STATUS_COMPLETE, 1);
SAME(ACL_CONTINUE_ON_FAILURE, 0);
SAME(ACL_STOP_ON_FAILURE, 1);
SAME(ACL_EVENT_WAIT_STATUS_COMPLETE, 0);
SAME(ACL_EVENT_WAIT_STATUS_NOT_READY, 1);
SAME(ACL_EVENT_WAIT_STATUS_RESERVED, 0xFFFF);
SAME(ACL_STREAM_STATUS_COMPLETE, 0);
SAME(ACL_STREAM_STATUS_NOT_READY, 1);
SAME(ACL_STREAM_STATUS_RESERVED, 65535);
SAME(ACL_CALLBACK_NO_BLOCK, 0);
SAME(ACL_CALLBACK_BLOCK, 1);
SAME(ACL_MEMCPY_HOST_TO_HOST, 0);
SAME(ACL_MEMCPY_HOST_TO_DEVICE, 1);
SAME(ACL_MEMCPY_DEVICE_TO_HOST, 2);
SAME(ACL_MEMCPY_DEVICE_TO_DEVICE, 3);
SAME(ACL_MEMCPY_DEFAULT, 4);
SAME(ACL_MEM_MALLOC_HUGE_FIRST, 0);
SAME(ACL_MEM_MALLOC_HUGE_ONLY, 1);
SAME(ACL_MEM_MALLOC_NORMAL_ONLY, 2);
SAME(ACL_MEM_MALLOC_HUGE_FIRST_P2P, 3);
SAME(ACL_MEM_MALLOC_HUGE_ONLY_P2P, 4);
SAME(ACL_MEM_MALLOC_NORMAL_ONLY_P2P, 5);
SAME(ACL_DDR_MEM, 0);
SAME(ACL_HBM_MEM, 1);
SAME(ACL_DDR_MEM_HUGE, 2);
SAME(ACL_DDR_MEM_NORMAL, 3);
SAME(ACL_HBM_MEM_HUGE, 4);
SAME(ACL_HBM_MEM_NORMAL, 5);
SAME(ACL_HOST_REGISTER_MAPPED, 0);
SAME(ACL_RT_THREAD_LEVEL, 0);
SAME(ACL_PROF_ACL_API, 0x0001);
SAME(ACL_PROF_TASK_TIME, 0x0002);
SAME(ACL_PROF_AICORE_METRICS, 0x0004);
SAME(ACL_PROF_AICPU, 0x0008);
SAME(ACL_PROF_L2CACHE, 0x0010);
SAME(ACL_PROF_HCCL_TRACE, 0x0020);
SAME(ACL_AICORE_ARITHMETIC_UTILIZATION, 0);
SAME(ACL_AICORE_PIPE_UTILIZATION, 1);
SAME(ACL_AICORE_MEMORY_BANDWIDTH, 2);
SAME(ACL_AICORE_L0B_AND_WIDTH, 3);
SAME(ACL_AICORE_RESOURCE_CONFLICT_RATIO, 4);
SAME(ACL_AICORE_MEMORY_UB, 5);
SAME(ACL_AICORE_NONE, 0xFF);
SAME(HCCL_WIN_DEFAULT, 0);
SAME(HCCL_WIN_COLL_SYMMETRIC, 1);
SAME(HCCL_CMD_INVALID, 0);
SAME(HCCL_CMD_BROADCAST, 1);
SAME(HCCL_CMD_ALLREDUCE, 2);
SAME(HCCL_CMD_REDUCE, 3);
SAME(HCCL_CMD_SEND, 4);
SAME(HCCL_CMD_RECEIVE, 5);
SAME(HCCL_CMD_ALLGATHER, 6);
SAME(HCCL_CMD_REDUCE_SCATTER, 7);
SAME(HCCL_CMD_ALLTOALLV, 8);
SAME(HCCL_CMD_ALLTOALLVC, 9);
SAME(HCCL_CMD_ALLTOALL, 10);
SAME(HCCL_CMD_GATHER, 11);
SAME(HCCL_CMD_SCATTER, 12);
SAME(HCCL_CMD_BATCH_SEND_RECV, 13);
SAME(HCCL_CMD_BATCH_PUT, 14);
SAME(HCCL_CMD_BATCH_GET, 15);
SAME(HCCL_CMD_ALLGATHER_V, 16);
SAME(HCCL_CMD_REDUCE_SCATTER_V, 17);
SAME(HCCL_CMD_BATCH_WRITE, 18);
SAME(HCCL_CMD_HALF_ALLTOALLV, 20);
SAME(HCCL_CMD_ALL, 21);
SAME(HCCL_CMD_FINALIZE, 100);
SAME(HCCL_CMD_INTER_GROUP_SYNC, 101);
SAME(HCCL_CMD_INIT, 102);
SAME(HCCL_REDUCE_RESERVED, 255);
SAME(HCCL_COMM_CONFIG_MAGIC_WORD, 0xf0f0f0f0U);
SAME(HCCL_COMM_CONFIG_NOT_SET, 0xffffffffU);
SAME(COMM_NAME_MAX_LENGTH, 128);
SAME(UDI_MAX_LENGTH, 128);
SAME(sizeof(aclFloat16), 2);
SAME(sizeof(aclError), 4);
SAME(sizeof(aclrtStream), sizeof(void *));
SAME(sizeof(aclDataType), 4);

static void add(void *sum)
{
    ++*(int *)sum;
}

int main(void)
{
    aclrtStream stream = NULL;
    void *memory = NULL;
    int sum = 0;
    if (aclInit(NULL) != ACL_SUCCESS || aclrtSetDevice(0) != ACL_SUCCESS ||
        aclrtCreateStream(&stream) != ACL_SUCCESS ||
        aclrtMalloc(&memory, sizeof sum, ACL_MEM_MALLOC_HUGE_FIRST) != ACL_SUCCESS ||
        aclrtMemsetAsync(memory, sizeof sum, 0, sizeof sum, stream) != ACL_SUCCESS ||
        aclrtLaunchHostFunc(stream, add, memory) != ACL_SUCCESS ||
        aclrtSynchronizeStream(stream) != ACL_SUCCESS ||
        aclrtMemcpy(&sum, sizeof sum, memory, sizeof sum, ACL_MEMCPY_DEVICE_TO_HOST) !=
            ACL_SUCCESS ||
        aclrtFree(memory) != ACL_SUCCESS || aclrtDestroyStream(stream) != ACL_SUCCESS ||
        aclFinalize() != ACL_SUCCESS || sum != 1) {
        fprintf(stderr, "it does not work: %s\n", aclGetRecentErrMsg());
        return 1;
    }
    printf("%s\n", HcclGetErrorString(HCCL_SUCCESS));
    return 0;
}
