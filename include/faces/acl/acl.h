// SPDX-License-Identifier: Apache-2.0
// The part of the ACL host interface that programs for the PTO ISA and for HCCL use, on this
// machine. A device is this process; its memory is memory of the process, and host and device see
// the same. Streams and events are those of tern/stream.h.
//
// Functions return 0, or an error number: then the sentence is in aclGetRecentErrMsg(), and where a
// kernel was refused something also on standard error.
#ifndef TERN_FACES_ACL_ACL_H
#define TERN_FACES_ACL_ACL_H

#include "acl/acl_base.h"
#include "acl/acl_rt.h"

TERN_BEGIN_DECLS

// ACL_ERROR_REPEAT_INITIALIZE when it has been done. configPath is not read.
TERN_API aclError aclInit(const char *configPath);

// ACL_ERROR_UNINITIALIZE without the other.
TERN_API aclError aclFinalize(void);

typedef struct aclTensor aclTensor;
typedef struct aclScalar aclScalar;
typedef struct aclIntArray aclIntArray;

// Declared for sources that name them. They are not here: they return NULL, or
// ACL_ERROR_API_NOT_SUPPORT, and say so.
TERN_API aclTensor *aclCreateTensor(const int64_t *viewDims, uint64_t viewDimsNum,
                                    aclDataType dataType, const int64_t *stride, int64_t offset,
                                    aclFormat format, const int64_t *storageDims,
                                    uint64_t storageDimsNum, void *tensorData);
TERN_API aclError aclDestroyTensor(const aclTensor *tensor);
TERN_API aclScalar *aclCreateScalar(void *value, aclDataType dataType);
TERN_API aclError aclDestroyScalar(const aclScalar *scalar);
TERN_API aclIntArray *aclCreateIntArray(const int64_t *value, uint64_t size);
TERN_API aclError aclDestroyIntArray(const aclIntArray *array);
TERN_API aclDataBuffer *aclCreateDataBuffer(void *data, size_t size);
TERN_API aclError aclDestroyDataBuffer(const aclDataBuffer *dataBuffer);
TERN_API aclTensorDesc *aclCreateTensorDesc(aclDataType dataType, int numDims, const int64_t *dims,
                                            aclFormat format);
TERN_API void aclDestroyTensorDesc(const aclTensorDesc *desc);
TERN_API aclError aclmdlLoadFromFile(const char *modelPath, uint32_t *modelId);
TERN_API aclError aclmdlUnload(uint32_t modelId);

TERN_END_DECLS

#endif
