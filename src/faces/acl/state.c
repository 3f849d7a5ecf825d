// SPDX-License-Identifier: Apache-2.0
// Errors of ACL, what its types of data are, and who may wait. Set-up path.

#include "faces/acl/state.h"

#include "base/error.h"
#include "base/half.h"
#include "isa/block.h"
#include "tern/stream.h"

static _Thread_local aclError last;
static _Thread_local bool in_callback;

aclError tern__acl_fail(aclError error)
{
    if (error != ACL_SUCCESS) {
        last = error;
    }
    return error;
}

aclError tern__acl_error(int status)
{
    switch (status) {
    case TERN_OK:
        return ACL_SUCCESS;
    case TERN_ERR_ARG:
        return tern__acl_fail(ACL_ERROR_INVALID_PARAM);
    case TERN_ERR_MEMORY:
        return tern__acl_fail(ACL_ERROR_BAD_ALLOC);
    case TERN_ERR_TIMEOUT:
        return tern__acl_fail(ACL_ERROR_RT_STREAM_SYNC_TIMEOUT);
    default:
        return tern__acl_fail(ACL_ERROR_INTERNAL_ERROR);
    }
}

aclError tern__acl_no_pointer(const char *call, const char *what)
{
    return tern__acl_error(tern__fail(TERN_ERR_ARG, "%s: %s must not be NULL", call, what));
}

int64_t tern__acl_timeout(int32_t timeout_ms)
{
    return timeout_ms < 0 ? TERN_TIMEOUT_DEFAULT : INT64_C(1000000) * timeout_ms;
}

int tern__acl_may_wait(void)
{
    const char *kernel = tern__block_here()->kernel;
    if (kernel != NULL) {
        return tern__fail(TERN_ERR_STATE,
                          "kernel '%.100s' may not wait for streams: its own waits for it", kernel);
    }
    if (in_callback) {
        return tern__fail(TERN_ERR_STATE,
                          "a callback may not wait for streams: its own waits for it");
    }
    return TERN_OK;
}

void tern__acl_in_callback(bool in)
{
    in_callback = in;
}

aclError aclrtPeekAtLastError(aclrtLastErrLevel level)
{
    (void)level;
    return last;
}

aclError aclrtGetLastError(aclrtLastErrLevel level)
{
    aclError error = aclrtPeekAtLastError(level);
    last = ACL_SUCCESS;
    return error;
}

const char *aclGetRecentErrMsg(void)
{
    return tern_last_error();
}

size_t aclDataTypeSize(aclDataType dataType)
{
    switch (dataType) {
    case ACL_INT8:
    case ACL_UINT8:
    case ACL_BOOL:
        return 1;
    case ACL_FLOAT16:
    case ACL_BF16:
    case ACL_INT16:
    case ACL_UINT16:
        return 2;
    case ACL_FLOAT:
    case ACL_INT32:
    case ACL_UINT32:
    case ACL_COMPLEX32:
        return 4;
    case ACL_INT64:
    case ACL_UINT64:
    case ACL_DOUBLE:
    case ACL_COMPLEX64:
        return 8;
    case ACL_COMPLEX128:
        return 16;
    default:
        return 0;
    }
}

float aclFloat16ToFloat(aclFloat16 value)
{
    return tern__f16_to_f32(value);
}

aclFloat16 aclFloatToFloat16(float value)
{
    return tern__f32_to_f16(value);
}
