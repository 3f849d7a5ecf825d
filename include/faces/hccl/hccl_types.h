// SPDX-License-Identifier: Apache-2.0
// Types of HCCL. Names and values are those of HCCL.
#ifndef TERN_FACES_HCCL_HCCL_TYPES_H
#define TERN_FACES_HCCL_HCCL_TYPES_H

#include <stddef.h>
#include <stdint.h>

#define HCCL_ROOT_INFO_BYTES 4108
#define COMM_NAME_MAX_LENGTH 128
#define UDI_MAX_LENGTH 128
#define BUFFER_NAME_MAX_LENGTH 128
#define HCCL_COMM_ALGO_MAX_LENGTH 1600
#define HCCL_COMM_RETRY_ENABLE_MAX_LENGTH 50
#define HCCL_COMM_RETRY_PARAMS_MAX_LENGTH 128

#define HCCL_COMM_CONFIG_INFO_BYTES 24
#define HCCL_COMM_CONFIG_MAGIC_WORD 0xf0f0f0f0U
#define HCCL_COMM_CONFIG_VERSION 11
#define HCCL_COMM_CONFIG_NOT_SET 0xffffffffU
#define HCCL_COMM_BUFFSIZE_CONFIG_NOT_SET HCCL_COMM_CONFIG_NOT_SET
#define HCCL_COMM_DETERMINISTIC_CONFIG_NOT_SET HCCL_COMM_CONFIG_NOT_SET
#define HCCL_COMM_TRAFFIC_CLASS_CONFIG_NOT_SET HCCL_COMM_CONFIG_NOT_SET
#define HCCL_COMM_SERVICE_LEVEL_CONFIG_NOT_SET HCCL_COMM_CONFIG_NOT_SET
#define HCCL_COMM_QOS_CONFIG_NOT_SET HCCL_COMM_CONFIG_NOT_SET
#define HCCL_COMM_EXECTIMEOUT_CONFIG_NOT_SET (-1)
#define HCCL_COMM_DEFAULT_BUFFSIZE 200
#define HCCL_COMM_DEFAULT_DETERMINISTIC 0
#define HCCL_COMM_DEFAULT_OP_EXPANSION_MODE 0
#define HCCL_DEFAULT_SYMMETRIC_MEMORY_STRIDE 16

// Flags of HcclCommSymWinRegister.
#define HCCL_WIN_DEFAULT 0
#define HCCL_WIN_COLL_SYMMETRIC 1

typedef enum HcclResult {
    HCCL_SUCCESS = 0,
    HCCL_E_PARA = 1,
    HCCL_E_PTR = 2,
    HCCL_E_MEMORY = 3,
    HCCL_E_INTERNAL = 4,
    HCCL_E_NOT_SUPPORT = 5,
    HCCL_E_NOT_FOUND = 6,
    HCCL_E_UNAVAIL = 7,
    HCCL_E_SYSCALL = 8,
    HCCL_E_TIMEOUT = 9,
    HCCL_E_OPEN_FILE_FAILURE = 10,
    HCCL_E_TCP_CONNECT = 11,
    HCCL_E_ROCE_CONNECT = 12,
    HCCL_E_TCP_TRANSFER = 13,
    HCCL_E_ROCE_TRANSFER = 14,
    HCCL_E_RUNTIME = 15,
    HCCL_E_DRV = 16,
    HCCL_E_PROFILING = 17,
    HCCL_E_CCE = 18,
    HCCL_E_NETWORK = 19,
    HCCL_E_AGAIN = 20,
    HCCL_E_REMOTE = 21,
    HCCL_E_SUSPENDING = 22,
    HCCL_E_OPRETRY_FAIL = 23,
    HCCL_E_OOM = 24,
    HCCL_E_IN_STATUS = 1041,
    HCCL_E_RESERVED = 1042,
} HcclResult;

typedef enum HcclReduceOp {
    HCCL_REDUCE_SUM = 0,
    HCCL_REDUCE_PROD = 1,
    HCCL_REDUCE_MAX = 2,
    HCCL_REDUCE_MIN = 3,
    HCCL_REDUCE_RESERVED = 255,
} HcclReduceOp;

// 13 is no type. Those above it are moved, as bytes, and not reduced.
typedef enum HcclDataType {
    HCCL_DATA_TYPE_INT8 = 0,
    HCCL_DATA_TYPE_INT16 = 1,
    HCCL_DATA_TYPE_INT32 = 2,
    HCCL_DATA_TYPE_FP16 = 3,
    HCCL_DATA_TYPE_FP32 = 4,
    HCCL_DATA_TYPE_INT64 = 5,
    HCCL_DATA_TYPE_UINT64 = 6,
    HCCL_DATA_TYPE_UINT8 = 7,
    HCCL_DATA_TYPE_UINT16 = 8,
    HCCL_DATA_TYPE_UINT32 = 9,
    HCCL_DATA_TYPE_FP64 = 10,
    HCCL_DATA_TYPE_BFP16 = 11,
    HCCL_DATA_TYPE_INT128 = 12, // a number without a use
    HCCL_DATA_TYPE_HIF8 = 14,
    HCCL_DATA_TYPE_FP8E4M3 = 15,
    HCCL_DATA_TYPE_FP8E5M2 = 16,
    HCCL_DATA_TYPE_FP8E8M0 = 17,
    HCCL_DATA_TYPE_RESERVED = 255,
} HcclDataType;

typedef enum HcclCMDType {
    HCCL_CMD_INVALID = 0,
    HCCL_CMD_BROADCAST = 1,
    HCCL_CMD_ALLREDUCE = 2,
    HCCL_CMD_REDUCE = 3,
    HCCL_CMD_SEND = 4,
    HCCL_CMD_RECEIVE = 5,
    HCCL_CMD_ALLGATHER = 6,
    HCCL_CMD_REDUCE_SCATTER = 7,
    HCCL_CMD_ALLTOALLV = 8,
    HCCL_CMD_ALLTOALLVC = 9,
    HCCL_CMD_ALLTOALL = 10,
    HCCL_CMD_GATHER = 11,
    HCCL_CMD_SCATTER = 12,
    HCCL_CMD_BATCH_SEND_RECV = 13,
    HCCL_CMD_BATCH_PUT = 14,
    HCCL_CMD_BATCH_GET = 15,
    HCCL_CMD_ALLGATHER_V = 16,
    HCCL_CMD_REDUCE_SCATTER_V = 17,
    HCCL_CMD_BATCH_WRITE = 18,
    HCCL_CMD_HALF_ALLTOALLV = 20,
    HCCL_CMD_ALL = 21,
    HCCL_CMD_FINALIZE = 100,
    HCCL_CMD_INTER_GROUP_SYNC = 101,
    HCCL_CMD_INIT = 102,
    HCCL_CMD_BARRIER = 103,
} HcclCMDType;

typedef enum HcclSendRecvType {
    HCCL_SEND = 0,
    HCCL_RECV = 1,
    HCCL_SEND_RECV_RESERVED = 2,
} HcclSendRecvType;

// The one thing that HcclSetConfig sets, for all communicators of the process.
typedef enum HcclConfig { HCCL_DETERMINISTIC = 0, HCCL_CONFIG_RESERVED = 1 } HcclConfig;

typedef enum HcclCommStatus {
    HCCL_COMM_STATUS_READY = 0,
    HCCL_COMM_STATUS_SUSPENDING = 1,
    HCCL_COMM_STATUS_INVALID = 254,
    HCCL_COMM_STATUS_RESERVED = 255,
} HcclCommStatus;

typedef void *HcclComm;
typedef void *HcclCommSymWindow;

typedef union HcclConfigValue {
    int32_t value;
} HcclConfigValue;

// Of HcclBatchSendRecv: a message to or from a rank.
typedef struct HcclSendRecvItem {
    HcclSendRecvType sendRecvType;
    void *buf;
    uint64_t count; // elements
    HcclDataType dataType;
    uint32_t remoteRank;
} HcclSendRecvItem;

// How a communicator is to be; HcclCommConfigInit before anything is set. The reserved bytes hold
// {size_t size; uint32_t magic, version; uint64_t reserved}. A program may have been built with
// another version of this struct: versions only append.
typedef struct HcclCommConfig {
    char reserved[HCCL_COMM_CONFIG_INFO_BYTES];
    uint32_t hcclBufferSize;                 // MiB; also of HcclAllocComResourceByTiling
    uint32_t hcclDeterministic;              // 0, 1, 2: results are the same bits with each
    char hcclCommName[COMM_NAME_MAX_LENGTH]; // "": the library makes one
    char hcclUdi[UDI_MAX_LENGTH];            // not used
    uint32_t hcclOpExpansionMode;            // 0 to 3, no meaning here
    uint32_t hcclRdmaTrafficClass;           // no meaning here
    uint32_t hcclRdmaServiceLevel;           // no meaning here
    // Until here version 5. The numbers are those of the versions that begin there.
    uint32_t hcclWorldRankID; // 6; from here on no meaning but where it is said
    uint64_t hcclJobID;
    uint8_t aclGraphZeroCopyEnable; // 7
    int32_t hcclExecTimeOut;        // 8; seconds: the deadline of calls
    char hcclAlgo[HCCL_COMM_ALGO_MAX_LENGTH];
    char hcclRetryEnable[HCCL_COMM_RETRY_ENABLE_MAX_LENGTH];
    char hcclRetryParams[HCCL_COMM_RETRY_PARAMS_MAX_LENGTH];
    char hcclBufferName[BUFFER_NAME_MAX_LENGTH]; // 9
    uint32_t hcclQos;                            // 10
    uint64_t hcclSymWinMaxMemSizePerRank;
} HcclCommConfig;

// HcclGetCommConfigCapability: the first number that stands for nothing.
typedef enum HcclCommConfigCapability {
    HCCL_COMM_CONFIG_BUFFER_SIZE = 0,
    HCCL_COMM_CONFIG_DETERMINISTIC = 1,
    HCCL_COMM_CONFIG_COMM_NAME = 2,
    HCCL_COMM_CONFIG_OP_EXPANSION_MODE = 3,
    HCCL_COMM_CONFIG_SUPPORT_INIT_BY_ENV = 4,
    HCCL_COMM_CONFIG_WORLD_RANKID = 5,
    HCCL_COMM_CONFIG_JOBID = 6,
    HCCL_COMM_CONFIG_ACLGRAPH_ZEROCOPY_ENABLE = 7,
    HCCL_COMM_CONFIG_EXEC_TIMEOUT = 8,
    HCCL_COMM_CONFIG_ALGO = 9,
    HCCL_COMM_CONFIG_RETRY = 10,
    HCCL_COMM_CONFIG_BUFFER_NAME = 11,
    HCCL_COMM_CONFIG_RESERVED = 12,
} HcclCommConfigCapability;

// What the root makes and all ranks are given: 4108 bytes, to be copied as they are.
typedef struct HcclRootInfo {
    char internal[HCCL_ROOT_INFO_BYTES];
} HcclRootInfo;

#endif
