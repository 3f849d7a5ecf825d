// SPDX-License-Identifier: Apache-2.0
// Calls of ACL that are declared and not here: each says so when it is called.

#include "base/error.h"
#include "base/log.h"
#include "faces/acl/state.h"

static aclError absent(const char *call)
{
    tern__set_error("%s: tern does not have this call", call);
    tern__log(TERN__LOG_ERROR, "%s: tern does not have this call", call);
    return tern__acl_fail(ACL_ERROR_API_NOT_SUPPORT);
}

static void *absent_pointer(const char *call)
{
    (void)absent(call);
    return NULL;
}

aclError aclrtStreamAbort(aclrtStream stream)
{
    (void)stream;
    return absent("aclrtStreamAbort");
}

aclTensor *aclCreateTensor(const int64_t *viewDims, uint64_t viewDimsNum, aclDataType dataType,
                           const int64_t *stride, int64_t offset, aclFormat format,
                           const int64_t *storageDims, uint64_t storageDimsNum, void *tensorData)
{
    (void)viewDims;
    (void)viewDimsNum;
    (void)dataType;
    (void)stride;
    (void)offset;
    (void)format;
    (void)storageDims;
    (void)storageDimsNum;
    (void)tensorData;
    return absent_pointer("aclCreateTensor");
}

aclError aclDestroyTensor(const aclTensor *tensor)
{
    (void)tensor;
    return absent("aclDestroyTensor");
}

aclScalar *aclCreateScalar(void *value, aclDataType dataType)
{
    (void)value;
    (void)dataType;
    return absent_pointer("aclCreateScalar");
}

aclError aclDestroyScalar(const aclScalar *scalar)
{
    (void)scalar;
    return absent("aclDestroyScalar");
}

aclIntArray *aclCreateIntArray(const int64_t *value, uint64_t size)
{
    (void)value;
    (void)size;
    return absent_pointer("aclCreateIntArray");
}

aclError aclDestroyIntArray(const aclIntArray *array)
{
    (void)array;
    return absent("aclDestroyIntArray");
}

aclDataBuffer *aclCreateDataBuffer(void *data, size_t size)
{
    (void)data;
    (void)size;
    return absent_pointer("aclCreateDataBuffer");
}

aclError aclDestroyDataBuffer(const aclDataBuffer *dataBuffer)
{
    (void)dataBuffer;
    return absent("aclDestroyDataBuffer");
}

aclTensorDesc *aclCreateTensorDesc(aclDataType dataType, int numDims, const int64_t *dims,
                                   aclFormat format)
{
    (void)dataType;
    (void)numDims;
    (void)dims;
    (void)format;
    return absent_pointer("aclCreateTensorDesc");
}

void aclDestroyTensorDesc(const aclTensorDesc *desc)
{
    (void)desc;
    (void)absent("aclDestroyTensorDesc");
}

aclError aclmdlLoadFromFile(const char *modelPath, uint32_t *modelId)
{
    (void)modelPath;
    (void)modelId;
    return absent("aclmdlLoadFromFile");
}

aclError aclmdlUnload(uint32_t modelId)
{
    (void)modelId;
    return absent("aclmdlUnload");
}
