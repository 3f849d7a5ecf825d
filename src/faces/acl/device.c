// SPDX-License-Identifier: Apache-2.0
// Devices and contexts: numbers that a thread is put on. Set-up path.

#include <stddef.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/handle.h"
#include "base/options.h"
#include "base/order.h"
#include "faces/acl/state.h"
#include "faces/acl/visible.h"
#include "runtime/rt.h"
#include "tern/comm.h"

struct context {
    struct tern__handle handle;
    int32_t device;
};

static _Atomic uint32_t initialised;

// The devices' own; those that programs create are handles.
static struct context own[TERN_RANKS_MAX];

static _Thread_local struct context *current;

static _Atomic uint32_t overflow_modes[TERN_RANKS_MAX]; // of the devices

static bool is_own(const struct context *context)
{
    return context >= own && context < own + TERN_RANKS_MAX;
}

aclError aclInit(const char *configPath)
{
    (void)configPath;
    if (!tern__flag_swap(&initialised, 0, 1)) {
        tern__set_error("aclInit: it has been called already");
        return tern__acl_fail(ACL_ERROR_REPEAT_INITIALIZE);
    }
    return ACL_SUCCESS;
}

aclError aclFinalize(void)
{
    if (!tern__flag_swap(&initialised, 1, 0)) {
        tern__set_error("aclFinalize: there was no aclInit");
        return tern__acl_fail(ACL_ERROR_UNINITIALIZE);
    }
    return ACL_SUCCESS;
}

aclError tern__acl_check_device(const char *call, int32_t device)
{
    struct tern__acl_visible visible;
    if (tern__acl_visible(call, &visible) != TERN_OK) {
        return tern__acl_error(TERN_ERR_ARG);
    }
    if (device < 0 || device >= visible.count) {
        tern__set_error("%s: device %d; there are devices 0 to %d%s", call, device,
                        visible.count - 1,
                        visible.listed ? ", as many as ASCEND_RT_VISIBLE_DEVICES lists" : "");
        return tern__acl_fail(ACL_ERROR_RT_INVALID_DEVICEID);
    }
    return ACL_SUCCESS;
}

int32_t tern__acl_device(void)
{
    if (current == NULL) {
        return 0;
    }
    return is_own(current) ? (int32_t)(current - own) : current->device;
}

aclError aclrtSetDevice(int32_t deviceId)
{
    aclError error = tern__acl_check_device("aclrtSetDevice", deviceId);
    if (error == ACL_SUCCESS) {
        current = &own[deviceId];
    }
    return error;
}

aclError aclrtGetDevice(int32_t *deviceId)
{
    if (deviceId == NULL) {
        return tern__acl_no_pointer("aclrtGetDevice", "deviceId");
    }
    *deviceId = tern__acl_device();
    return ACL_SUCCESS;
}

aclError aclrtResetDevice(int32_t deviceId)
{
    return tern__acl_check_device("aclrtResetDevice", deviceId);
}

aclError aclrtResetDeviceForce(int32_t deviceId)
{
    return tern__acl_check_device("aclrtResetDeviceForce", deviceId);
}

aclError aclrtGetDeviceCount(uint32_t *count)
{
    const char *call = "aclrtGetDeviceCount";
    struct tern__acl_visible visible;
    long ranks = 0;
    if (count == NULL) {
        return tern__acl_no_pointer(call, "count");
    }
    if (tern__acl_visible(call, &visible) != TERN_OK) {
        return tern__acl_error(TERN_ERR_ARG);
    }
    // One for each rank that there is, or may be.
    if (!visible.listed &&
        tern__parse_integer(getenv("TERN_NRANKS"), 1, TERN_RANKS_MAX, &ranks) == 0) {
        visible.count = (int32_t)ranks;
    }
    *count = (uint32_t)visible.count;
    return ACL_SUCCESS;
}

aclError aclrtGetPhyDevIdByLogicDevId(int32_t logicDevId, int32_t *phyDevId)
{
    const char *call = "aclrtGetPhyDevIdByLogicDevId";
    struct tern__acl_visible visible;
    if (phyDevId == NULL) {
        return tern__acl_no_pointer(call, "phyDevId");
    }
    aclError error = tern__acl_check_device(call, logicDevId);
    if (error == ACL_SUCCESS && tern__acl_visible(call, &visible) == TERN_OK) {
        *phyDevId = visible.numbers[logicDevId];
    }
    return error;
}

aclError aclrtGetLogicDevIdByPhyDevId(int32_t phyDevId, int32_t *logicDevId)
{
    const char *call = "aclrtGetLogicDevIdByPhyDevId";
    struct tern__acl_visible visible;
    if (logicDevId == NULL) {
        return tern__acl_no_pointer(call, "logicDevId");
    }
    if (tern__acl_visible(call, &visible) != TERN_OK) {
        return tern__acl_error(TERN_ERR_ARG);
    }
    for (int32_t i = 0; i < visible.count; i++) {
        if (visible.numbers[i] == phyDevId) {
            *logicDevId = i;
            return ACL_SUCCESS;
        }
    }
    tern__set_error("%s: device %d does not exist%s", call, phyDevId,
                    visible.listed ? " among those of ASCEND_RT_VISIBLE_DEVICES" : "");
    return tern__acl_fail(ACL_ERROR_RT_INVALID_DEVICEID);
}

aclError aclrtSetDeviceSatMode(aclrtFloatOverflowMode mode)
{
    const char *call = "aclrtSetDeviceSatMode";
    if ((unsigned)mode >= (unsigned)ACL_RT_OVERFLOW_MODE_UNDEF) {
        return tern__acl_error(
            tern__fail(TERN_ERR_ARG,
                       "%s: mode is %d; it is ACL_RT_OVERFLOW_MODE_SATURATION (0) "
                       "or ACL_RT_OVERFLOW_MODE_INFNAN (1)",
                       call, (int)mode));
    }
    tern__flag_store(&overflow_modes[tern__acl_device()], (uint32_t)mode);
    return ACL_SUCCESS;
}

aclError aclrtGetDeviceSatMode(aclrtFloatOverflowMode *mode)
{
    if (mode == NULL) {
        return tern__acl_no_pointer("aclrtGetDeviceSatMode", "mode");
    }
    uint32_t word = tern__flag_load(&overflow_modes[tern__acl_device()]);
    *mode = (aclrtFloatOverflowMode)word;
    return ACL_SUCCESS;
}

aclError aclrtGetRunMode(aclrtRunMode *runMode)
{
    if (runMode == NULL) {
        return tern__acl_no_pointer("aclrtGetRunMode", "runMode");
    }
    *runMode = ACL_HOST;
    return ACL_SUCCESS;
}

const char *aclrtGetSocName(void)
{
    return "tern";
}

aclError aclrtGetVersion(int32_t *majorVersion, int32_t *minorVersion, int32_t *patchVersion)
{
    if (majorVersion == NULL || minorVersion == NULL || patchVersion == NULL) {
        return tern__acl_no_pointer("aclrtGetVersion", "a version");
    }
    *majorVersion = 1; // of ACL's interface
    *minorVersion = 0;
    *patchVersion = 0;
    return ACL_SUCCESS;
}

aclError aclrtDeviceCanAccessPeer(int32_t *canAccessPeer, int32_t deviceId, int32_t peerDeviceId)
{
    const char *call = "aclrtDeviceCanAccessPeer";
    if (canAccessPeer == NULL) {
        return tern__acl_no_pointer(call, "canAccessPeer");
    }
    aclError error = tern__acl_check_device(call, deviceId);
    error = error == ACL_SUCCESS ? tern__acl_check_device(call, peerDeviceId) : error;
    if (error == ACL_SUCCESS) {
        *canAccessPeer = deviceId != peerDeviceId;
    }
    return error;
}

aclError aclrtDeviceEnablePeerAccess(int32_t peerDeviceId, uint32_t flags)
{
    (void)flags;
    return tern__acl_check_device("aclrtDeviceEnablePeerAccess", peerDeviceId);
}

aclError aclrtDeviceDisablePeerAccess(int32_t peerDeviceId)
{
    return tern__acl_check_device("aclrtDeviceDisablePeerAccess", peerDeviceId);
}

aclError aclrtCreateContext(aclrtContext *context, int32_t deviceId)
{
    const char *call = "aclrtCreateContext";
    if (context == NULL) {
        return tern__acl_no_pointer(call, "context");
    }
    aclError error = tern__acl_check_device(call, deviceId);
    if (error != ACL_SUCCESS) {
        return error;
    }
    struct context *made = tern__handle_new(TERN__ACL_CONTEXT, sizeof *made);
    if (made == NULL) {
        return tern__acl_error(tern__fail(TERN_ERR_MEMORY, "%s: no memory", call));
    }
    made->device = deviceId;
    *context = made;
    current = made; // as a thread that creates one goes on in it
    return ACL_SUCCESS;
}

static int check_context(const char *call, const struct context *context)
{
    return is_own(context) ? TERN_OK : tern__handle_check(call, context, TERN__ACL_CONTEXT);
}

aclError aclrtDestroyContext(aclrtContext context)
{
    const char *call = "aclrtDestroyContext";
    int status = check_context(call, context);
    if (status == TERN_OK && is_own(context)) {
        status = tern__fail(TERN_ERR_ARG, "%s: this is the device's own, of aclrtSetDevice", call);
    }
    if (status == TERN_OK) {
        current = current == context ? NULL : current;
        tern__handle_free(context, sizeof(struct context));
    }
    return tern__acl_error(status);
}

aclError aclrtSetCurrentContext(aclrtContext context)
{
    int status = check_context("aclrtSetCurrentContext", context);
    if (status == TERN_OK) {
        current = context;
    }
    return tern__acl_error(status);
}

aclError aclrtGetCurrentContext(aclrtContext *context)
{
    const char *call = "aclrtGetCurrentContext";
    if (context == NULL) {
        return tern__acl_no_pointer(call, "context");
    }
    if (current == NULL) {
        tern__set_error("%s: this thread has none: aclrtSetDevice or aclrtCreateContext give one",
                        call);
        return tern__acl_fail(ACL_ERROR_RT_CONTEXT_NULL);
    }
    *context = current;
    return ACL_SUCCESS;
}

rtError_t rtSetDevice(int32_t dev)
{
    return aclrtSetDevice(dev);
}
