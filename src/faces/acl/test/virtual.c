// SPDX-License-Identifier: Apache-2.0
// Virtual memory of ACL: what is mapped where, in which order it may go, and what is refused.
#include "support/cmocka.h"
#include <string.h>

#include "acl/acl.h"

#define OK(call) assert_int_equal(call, ACL_SUCCESS)
#define WRONG(call) assert_int_equal(call, ACL_ERROR_INVALID_PARAM)
#define SAYS(words) assert_non_null(strstr(aclGetRecentErrMsg(), words))

static const size_t piece = (size_t)2 << 20;
static const aclrtPhysicalMemProp of_device = {.location = {.type = ACL_MEM_LOCATION_TYPE_DEVICE}};

static aclrtMemLocationType where(const void *address)
{
    aclrtPtrAttributes attributes;
    OK(aclrtPointerGetAttributes(address, &attributes));
    return attributes.location.type;
}

static void memory_is_mapped_at_addresses(void **state)
{
    char *base = NULL;
    aclrtDrvMemHandle one, two;
    aclrtPhysicalMemProp prop = of_device;
    size_t granularity = 0;
    OK(aclrtMemGetAllocationGranularity(&prop, ACL_RT_MEM_ALLOC_GRANULARITY_MINIMUM, &granularity));
    assert_int_equal(granularity, piece);
    OK(aclrtReserveMemAddress((void **)&base, 4 * piece, 0, NULL, 0));
    assert_int_equal((uintptr_t)base % piece, 0);
    assert_int_equal(where(base), ACL_MEM_LOCATION_TYPE_UNREGISTERED);
    OK(aclrtMallocPhysical(&one, piece, &of_device, 0));
    OK(aclrtMallocPhysical(&two, 2 * piece, &of_device, 0));
    OK(aclrtMapMem(base, piece, 0, one, 0));
    OK(aclrtMapMem(base + piece, 2 * piece, 0, two, 0));
    OK(aclrtMapMem(base + 3 * piece, piece, 0, one, 0)); // the same memory again
    assert_int_equal(where(base + piece), ACL_MEM_LOCATION_TYPE_DEVICE);
    OK(aclrtMemset(base + piece / 2, 2 * piece, 7, 2 * piece)); // across mappings
    assert_int_equal(base[0], 0);
    assert_int_equal(base[3 * piece + piece / 2], 7);
    base[3 * piece] = 9;
    assert_int_equal(base[0], 9);
    WRONG(aclrtReleaseMemAddress(base));
    SAYS("aclrtUnmapMem comes first");
    OK(aclrtFreePhysical(one));
    assert_int_equal(base[0], 9); // as long as it is mapped
    WRONG(aclrtFreePhysical(one));
    SAYS("is no handle of aclrtMallocPhysical, or was freed");
    OK(aclrtUnmapMem(base));
    OK(aclrtUnmapMem(base + piece));
    assert_int_equal(where(base + piece), ACL_MEM_LOCATION_TYPE_UNREGISTERED);
    OK(aclrtMapMem(base, 2 * piece, 0, two, 0)); // elsewhere, and it is what it was
    assert_int_equal(base[0], 7);
    OK(aclrtUnmapMem(base));
    OK(aclrtUnmapMem(base + 3 * piece));
    OK(aclrtFreePhysical(two));
    OK(aclrtReleaseMemAddress(base));
    WRONG(aclrtReleaseMemAddress(base));
    SAYS("no addresses of aclrtReserveMemAddress begin at");
}

// Each alone would fit.
static void what_is_promised_counts(void **state)
{
    enum { MOST = 8 };
    aclrtDrvMemHandle handles[MOST];
    size_t free_bytes, total;
    int count = 0;
    OK(aclrtGetMemInfo(ACL_HBM_MEM, &free_bytes, &total));
    size_t bytes = free_bytes / 4 / piece * piece;
    while (count < MOST &&
           aclrtMallocPhysical(&handles[count], bytes, &of_device, 0) == ACL_SUCCESS) {
        count++;
    }
    assert_in_range(count, 1, MOST - 1);
    SAYS("aclrtMallocPhysical: no memory for ");
    while (count > 0) {
        OK(aclrtFreePhysical(handles[--count]));
    }
}

static void what_cannot_be_is_refused(void **state)
{
    char *base = NULL;
    aclrtDrvMemHandle handle;
    size_t free_bytes, total;
    aclrtPhysicalMemProp prop = of_device;
    WRONG(aclrtReserveMemAddress(NULL, piece, 0, NULL, 0));
    WRONG(aclrtReserveMemAddress((void **)&base, piece + 1, 0, NULL, 0));
    SAYS("2097153 bytes; it must be a multiple of 2097152");
    WRONG(aclrtReserveMemAddress((void **)&base, 0, 0, NULL, 0));
    WRONG(aclrtReserveMemAddress((void **)&base, piece, 4096, NULL, 0));
    SAYS("alignment is 4096");
    WRONG(aclrtMallocPhysical(NULL, piece, &prop, 0));
    WRONG(aclrtMallocPhysical(&handle, piece, NULL, 0));
    WRONG(aclrtMallocPhysical(&handle, 100, &prop, 0));
    WRONG(aclrtMallocPhysical(&handle, piece, &prop, 1));
    SAYS("flags are 0x1; they must be 0");
    prop.location.id = 64;
    assert_int_equal(aclrtMallocPhysical(&handle, piece, &prop, 0), ACL_ERROR_RT_INVALID_DEVICEID);
    prop.location.id = 0;
    prop.handleType = (aclrtMemHandleType)1;
    WRONG(aclrtMallocPhysical(&handle, piece, &prop, 0));
    SAYS("handleType 1, allocationType 0");
    OK(aclrtGetMemInfo(ACL_HBM_MEM, &free_bytes, &total));
    assert_int_equal(aclrtMallocPhysical(&handle, (total + total / 8) / piece * piece, &of_device,
                                         0),
                     ACL_ERROR_RT_MEMORY_ALLOCATION);
    SAYS("aclrtMallocPhysical: no memory for ");
    size_t granularity;
    WRONG(
        aclrtMemGetAllocationGranularity(NULL, ACL_RT_MEM_ALLOC_GRANULARITY_MINIMUM, &granularity));
    prop = of_device;
    WRONG(aclrtMemGetAllocationGranularity(&prop, (aclrtMemGranularityOptions)2, &granularity));
    WRONG(aclrtMemGetAllocationGranularity(&prop, ACL_RT_MEM_ALLOC_GRANULARITY_RECOMMENDED, NULL));

    OK(aclrtReserveMemAddress((void **)&base, 2 * piece, 0, NULL, 0));
    OK(aclrtMallocPhysical(&handle, 2 * piece, &of_device, 0));
    WRONG(aclrtMapMem(base, 4 * piece, 0, handle, 0));
    SAYS("8388608 bytes of memory that has 4194304");
    WRONG(aclrtMapMem(base + piece, 2 * piece, 0, handle, 0));
    SAYS("are not within addresses of aclrtReserveMemAddress");
    WRONG(aclrtMapMem(base + 4096, piece, 0, handle, 0));
    WRONG(aclrtMapMem(base, piece, piece, handle, 0));
    SAYS("it must be at a multiple of 2097152, and both 0");
    WRONG(aclrtMapMem(base, piece, 0, &base, 0));
    SAYS("is no handle of aclrtMallocPhysical");
    WRONG(aclrtMemset(base, 8, 1, 8));
    SAYS("is 8 bytes at ");
    SAYS(", and nothing is mapped 0 behind it");
    OK(aclrtMapMem(base, piece, 0, handle, 0));
    OK(aclrtMemset(base + piece - 8, 8, 1, 8));
    char from[16] = "to the other one";
    WRONG(aclrtMemcpy(base + piece - 8, 16, from, 16, ACL_MEMCPY_HOST_TO_DEVICE));
    SAYS("dst is 16 bytes at ");
    SAYS(", and nothing is mapped 8 behind it");
    assert_int_equal(base[piece - 1], 1);
    WRONG(aclrtMemcpy(from, 16, base + piece - 8, 16, ACL_MEMCPY_DEVICE_TO_HOST));
    SAYS("src is 16 bytes at ");
    WRONG(aclrtMapMem(base, 2 * piece, 0, handle, 0));
    SAYS("have memory already");
    WRONG(aclrtUnmapMem(base + piece));
    SAYS("no memory of aclrtMapMem begins at");
    OK(aclrtUnmapMem(base));
    WRONG(aclrtUnmapMem(base));
    OK(aclrtFreePhysical(handle));
    OK(aclrtReleaseMemAddress(base));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memory_is_mapped_at_addresses),
        cmocka_unit_test(what_is_promised_counts),
        cmocka_unit_test(what_cannot_be_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
