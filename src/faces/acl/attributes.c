// SPDX-License-Identifier: Apache-2.0
// What ACL says of memory: how much there is, and whose an address is; and calls that have nothing
// to do, since host and device see the same. Set-up path.

#include <inttypes.h>
#include <unistd.h>

#include "base/cgroup.h"
#include "base/error.h"
#include "faces/acl/memory.h"
#include "faces/acl/state.h"
#include "faces/acl/virtual.h"

aclError aclrtGetMemInfo(aclrtMemAttr attr, size_t *free_bytes, size_t *total)
{
    (void)attr;
    if (free_bytes == NULL || total == NULL) {
        return tern__acl_no_pointer("aclrtGetMemInfo", free_bytes == NULL ? "free" : "total");
    }
    long pages = sysconf(_SC_PHYS_PAGES);
    long page = sysconf(_SC_PAGESIZE);
    size_t there = pages > 0 && page > 0 ? (size_t)pages * (size_t)page : 0;
    size_t available = (size_t)tern__memory_available();
    *free_bytes = available < there ? available : there;
    *total = there;
    return ACL_SUCCESS;
}

static aclError check_range(const char *call, const void *memory)
{
    return memory != NULL ? ACL_SUCCESS : tern__acl_no_pointer(call, "the address");
}

aclError aclrtMemFlush(void *devPtr, size_t size)
{
    (void)size;
    return check_range("aclrtMemFlush", devPtr);
}

aclError aclrtMemInvalidate(void *devPtr, size_t size)
{
    (void)size;
    return check_range("aclrtMemInvalidate", devPtr);
}

aclError aclrtHostRegister(void *ptr, uint64_t size, aclrtHostRegisterType type, void **devPtr)
{
    const char *call = "aclrtHostRegister";
    if (ptr == NULL || devPtr == NULL || size == 0 || type != ACL_HOST_REGISTER_MAPPED) {
        return tern__acl_error(tern__fail(TERN_ERR_ARG,
                                          "%s: %" PRIu64 " bytes at %p to %p as type %d; there is "
                                          "ACL_HOST_REGISTER_MAPPED",
                                          call, size, ptr, (void *)devPtr, (int)type));
    }
    *devPtr = ptr;
    return ACL_SUCCESS;
}

aclError aclrtHostUnregister(void *ptr)
{
    return check_range("aclrtHostUnregister", ptr);
}

aclError aclrtPointerGetAttributes(const void *ptr, aclrtPtrAttributes *attributes)
{
    const char *call = "aclrtPointerGetAttributes";
    if (ptr == NULL || attributes == NULL) {
        return tern__acl_no_pointer(call, ptr == NULL ? "ptr" : "attributes");
    }
    bool of_device = false;
    bool known = tern__acl_memory_is_known(ptr, &of_device);
    if (!known) {
        known = of_device = tern__acl_is_mapped(ptr);
    }
    *attributes =
        (aclrtPtrAttributes){.location = {.id =
                                              known && of_device ? (uint32_t)tern__acl_device() : 0,
                                          .type = !known      ? ACL_MEM_LOCATION_TYPE_UNREGISTERED
                                                  : of_device ? ACL_MEM_LOCATION_TYPE_DEVICE
                                                              : ACL_MEM_LOCATION_TYPE_HOST},
                             .pageSize = (uint32_t)sysconf(_SC_PAGESIZE)};
    return ACL_SUCCESS;
}
