// SPDX-License-Identifier: Apache-2.0
// Profiles, as far as programs of ACL ask for them. What tern records is chosen where the program
// is started, `tern run --trace FILE` or `--timeline FILE`: there aclprofStart and aclprofStop
// succeed, and what lies between them is in the file with all that lies around it.
#ifndef TERN_FACES_ACL_ACL_PROF_H
#define TERN_FACES_ACL_ACL_PROF_H

#include "acl/acl_base.h"

TERN_BEGIN_DECLS

#define ACL_PROF_ACL_API 0x0001ULL
#define ACL_PROF_TASK_TIME 0x0002ULL
#define ACL_PROF_AICORE_METRICS 0x0004ULL
#define ACL_PROF_AICPU 0x0008ULL
#define ACL_PROF_L2CACHE 0x0010ULL
#define ACL_PROF_HCCL_TRACE 0x0020ULL

typedef enum aclprofAicoreMetrics {
    ACL_AICORE_ARITHMETIC_UTILIZATION = 0,
    ACL_AICORE_PIPE_UTILIZATION = 1,
    ACL_AICORE_MEMORY_BANDWIDTH = 2,
    ACL_AICORE_L0B_AND_WIDTH = 3,
    ACL_AICORE_RESOURCE_CONFLICT_RATIO = 4,
    ACL_AICORE_MEMORY_UB = 5,
    ACL_AICORE_NONE = 0xFF,
} aclprofAicoreMetrics;

typedef struct aclprofConfig aclprofConfig;
typedef struct aclprofAicoreEvents aclprofAicoreEvents;

// The folder of the profile, and the length of its name. Nothing is written there.
TERN_API aclError aclprofInit(const char *profilerResultPath, size_t length);
TERN_API aclError aclprofFinalize(void);

// NULL on error. Devices that there are, at least one; no events; something in the mask, any bits.
TERN_API aclprofConfig *aclprofCreateConfig(uint32_t *deviceIdList, uint32_t deviceNums,
                                            aclprofAicoreMetrics aicoreMetrics,
                                            const aclprofAicoreEvents *aicoreEvents,
                                            uint64_t dataTypeConfig);
TERN_API aclError aclprofDestroyConfig(const aclprofConfig *profilerConfig);

// ACL_ERROR_FEATURE_UNSUPPORTED where nothing is recorded.
TERN_API aclError aclprofStart(const aclprofConfig *profilerConfig);
TERN_API aclError aclprofStop(const aclprofConfig *profilerConfig);

TERN_END_DECLS

#endif
