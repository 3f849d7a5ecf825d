// SPDX-License-Identifier: Apache-2.0
// Types of HCCL. Names and values are those of HCCL.
#ifndef TERN_FACES_HCCL_HCCL_TYPES_H
#define TERN_FACES_HCCL_HCCL_TYPES_H

#include <stdint.h>

#define HCCL_ROOT_INFO_BYTES 4108
#define COMM_NAME_MAX_LENGTH 128

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
    HCCL_E_RUNTIME = 15,
    HCCL_E_NETWORK = 19,
    HCCL_E_AGAIN = 20,
    HCCL_E_REMOTE = 21,
} HcclResult;

typedef void *HcclComm;

// What the root makes and all ranks are given: 4108 bytes, to be copied as they are.
typedef struct HcclRootInfo {
    char internal[HCCL_ROOT_INFO_BYTES];
} HcclRootInfo;

#endif
