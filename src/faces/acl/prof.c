// SPDX-License-Identifier: Apache-2.0
// Profiles of ACL: checked, and left to the launcher, whose trace is of all ranks. Set-up path.

#include "acl/acl_prof.h"

#include <string.h>

#include "base/error.h"
#include "base/handle.h"
#include "base/trace.h"
#include "faces/acl/state.h"

struct aclprofConfig {
    struct tern__handle handle;
};

static _Atomic uint32_t initialised;

aclError aclprofInit(const char *profilerResultPath, size_t length)
{
    const char *call = "aclprofInit";
    if (profilerResultPath == NULL) {
        return tern__acl_no_pointer(call, "profilerResultPath");
    }
    if (length == 0 || strnlen(profilerResultPath, length) != length) {
        return tern__acl_error(tern__fail(TERN_ERR_ARG,
                                          "%s: length is %zu; it must be that of the path", call,
                                          length));
    }
    if (!tern__flag_swap(&initialised, 0, 1)) {
        tern__set_error("%s: it has been called already", call);
        return tern__acl_fail(ACL_ERROR_REPEAT_INITIALIZE);
    }
    return ACL_SUCCESS;
}

aclError aclprofFinalize(void)
{
    if (!tern__flag_swap(&initialised, 1, 0)) {
        tern__set_error("aclprofFinalize: there was no aclprofInit");
        return tern__acl_fail(ACL_ERROR_UNINITIALIZE);
    }
    return ACL_SUCCESS;
}

static aclError check_choice(const char *call, const uint32_t *devices, uint32_t count,
                             aclprofAicoreMetrics metrics, const aclprofAicoreEvents *events,
                             uint64_t mask)
{
    if (devices == NULL || count == 0) {
        return tern__acl_no_pointer(call, "deviceIdList, with a device or more,");
    }
    for (uint32_t i = 0; i < count; i++) {
        aclError error = tern__acl_check_device(call, (int32_t)devices[i]);
        if (error != ACL_SUCCESS) {
            return error;
        }
    }
    if ((unsigned)metrics > ACL_AICORE_MEMORY_UB && metrics != ACL_AICORE_NONE) {
        return tern__acl_error(tern__fail(TERN_ERR_ARG,
                                          "%s: aicoreMetrics is %d; there are 0 to %d and %d", call,
                                          (int)metrics, ACL_AICORE_MEMORY_UB, ACL_AICORE_NONE));
    }
    if (events != NULL || mask == 0) {
        return tern__acl_error(tern__fail(TERN_ERR_ARG, "%s: %s", call,
                                          events != NULL ? "aicoreEvents must be NULL"
                                                         : "dataTypeConfig chooses nothing"));
    }
    return ACL_SUCCESS;
}

aclprofConfig *aclprofCreateConfig(uint32_t *deviceIdList, uint32_t deviceNums,
                                   aclprofAicoreMetrics aicoreMetrics,
                                   const aclprofAicoreEvents *aicoreEvents, uint64_t dataTypeConfig)
{
    const char *call = "aclprofCreateConfig";
    if (check_choice(call, deviceIdList, deviceNums, aicoreMetrics, aicoreEvents, dataTypeConfig) !=
        ACL_SUCCESS) {
        return NULL;
    }
    struct aclprofConfig *made = tern__handle_new(TERN__ACL_PROFILE, sizeof *made);
    if (made == NULL) {
        (void)tern__acl_error(tern__fail(TERN_ERR_MEMORY, "%s: no memory", call));
    }
    return made;
}

aclError aclprofDestroyConfig(const aclprofConfig *profilerConfig)
{
    int status = tern__handle_check("aclprofDestroyConfig", profilerConfig, TERN__ACL_PROFILE);
    if (status == TERN_OK) {
        tern__handle_free((void *)(uintptr_t)profilerConfig, sizeof *profilerConfig);
    }
    return tern__acl_error(status);
}

// The launcher records all or nothing.
static aclError check_records(const char *call, const aclprofConfig *config)
{
    int status = tern__handle_check(call, config, TERN__ACL_PROFILE);
    tern__trace_join(); // where no communicator has been made yet
    if (status == TERN_OK && tern__peek(&tern__trace_on) == 0) {
        tern__set_error("%s: nothing is recorded here; `tern run --trace FILE` or `--timeline "
                        "FILE` starts programs that are",
                        call);
        return tern__acl_fail(ACL_ERROR_FEATURE_UNSUPPORTED);
    }
    return tern__acl_error(status);
}

aclError aclprofStart(const aclprofConfig *profilerConfig)
{
    return check_records("aclprofStart", profilerConfig);
}

aclError aclprofStop(const aclprofConfig *profilerConfig)
{
    return check_records("aclprofStop", profilerConfig);
}
