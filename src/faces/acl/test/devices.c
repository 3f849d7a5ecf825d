// SPDX-License-Identifier: Apache-2.0
// Which devices there are: all, as many as ranks, or those that the environment lists.
#include "support/cmocka.h"
#include <stdlib.h>
#include <string.h>

#include "hccl/hccl.h"

#define OK(call) assert_int_equal(call, ACL_SUCCESS)
#define SAYS(words) assert_non_null(strstr(aclGetRecentErrMsg(), words))

static uint32_t count(const char *list)
{
    uint32_t devices = 0;
    assert_int_equal(setenv("ASCEND_RT_VISIBLE_DEVICES", list, 1), 0);
    OK(aclrtGetDeviceCount(&devices));
    return devices;
}

static void a_list_makes_devices_visible(void **state)
{
    int32_t number = -1;
    HcclComm comms[2];
    int32_t devices[2] = {0, 2};
    assert_int_equal(count("0"), 1);
    assert_int_equal(count("2-5"), 4);
    assert_int_equal(count("63,0-3,7-7"), 6);
    assert_int_equal(count("0-63"), 64);
    assert_int_equal(count(""), 64); // as if it were not set
    assert_int_equal(count("5,3"), 2);
    OK(aclrtSetDevice(1));
    assert_int_equal(aclrtSetDevice(2), ACL_ERROR_RT_INVALID_DEVICEID);
    SAYS("device 2; there are devices 0 to 1, as many as ASCEND_RT_VISIBLE_DEVICES lists");
    OK(aclrtGetPhyDevIdByLogicDevId(0, &number));
    assert_int_equal(number, 5);
    OK(aclrtGetLogicDevIdByPhyDevId(3, &number));
    assert_int_equal(number, 1);
    assert_int_equal(aclrtGetLogicDevIdByPhyDevId(1, &number), ACL_ERROR_RT_INVALID_DEVICEID);
    SAYS("device 1 does not exist among those of ASCEND_RT_VISIBLE_DEVICES");
    assert_int_equal(HcclCommInitAll(2, devices, comms), HCCL_E_PARA);
    SAYS("devices[1] is 2, which does not exist; there are devices 0 to 1");
    assert_int_equal(unsetenv("ASCEND_RT_VISIBLE_DEVICES"), 0);
    OK(aclrtGetPhyDevIdByLogicDevId(63, &number));
    assert_int_equal(number, 63);
    OK(aclrtGetLogicDevIdByPhyDevId(9, &number));
    assert_int_equal(number, 9);
    assert_int_equal(aclrtGetLogicDevIdByPhyDevId(64, &number), ACL_ERROR_RT_INVALID_DEVICEID);
    assert_int_equal(aclrtGetPhyDevIdByLogicDevId(64, &number), ACL_ERROR_RT_INVALID_DEVICEID);
    assert_int_equal(aclrtGetPhyDevIdByLogicDevId(0, NULL), ACL_ERROR_INVALID_PARAM);
    assert_int_equal(aclrtGetLogicDevIdByPhyDevId(0, NULL), ACL_ERROR_INVALID_PARAM);
}

static void a_list_that_is_none_is_refused(void **state)
{
    static const char *const wrong[] = {
        "all", ",",    "0,",      "0,,1", "-1",    "1-",    "64",
        "3-2", "0 ,1", "0-70000", "0,0",  "1,0-2", "0-1-2", "00000000000000000000000000000001"};
    uint32_t devices = 0;
    int32_t number[1] = {0};
    HcclComm comm;
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        assert_int_equal(setenv("ASCEND_RT_VISIBLE_DEVICES", wrong[i], 1), 0);
        assert_int_equal(aclrtGetDeviceCount(&devices), ACL_ERROR_INVALID_PARAM);
        SAYS(wrong[i]);
        SAYS("it must list devices from 0 to 63, each once, such as 0,1 or 2-5");
        assert_int_equal(aclrtSetDevice(0), ACL_ERROR_INVALID_PARAM);
        assert_int_equal(aclrtGetLogicDevIdByPhyDevId(0, number), ACL_ERROR_INVALID_PARAM);
        assert_int_equal(HcclCommInitAll(1, number, &comm), HCCL_E_PARA);
    }
    assert_int_equal(unsetenv("ASCEND_RT_VISIBLE_DEVICES"), 0);
}

static void there_are_as_many_as_ranks(void **state)
{
    uint32_t devices = 0;
    assert_int_equal(setenv("TERN_NRANKS", "3", 1), 0); // as tern run does
    OK(aclrtGetDeviceCount(&devices));
    assert_int_equal(devices, 3);
    OK(aclrtSetDevice(63)); // the numbers are there all the same
    assert_int_equal(count("1,2"), 2);
    assert_int_equal(unsetenv("ASCEND_RT_VISIBLE_DEVICES"), 0);
    assert_int_equal(unsetenv("TERN_NRANKS"), 0);
    OK(aclrtGetDeviceCount(&devices));
    assert_int_equal(devices, 64);
    assert_int_equal(aclrtGetDeviceCount(NULL), ACL_ERROR_INVALID_PARAM);
}

static void a_device_remembers_its_overflow_mode(void **state)
{
    aclrtFloatOverflowMode mode = ACL_RT_OVERFLOW_MODE_UNDEF;
    OK(aclrtSetDevice(1));
    OK(aclrtGetDeviceSatMode(&mode));
    assert_int_equal(mode, ACL_RT_OVERFLOW_MODE_SATURATION);
    OK(aclrtSetDeviceSatMode(ACL_RT_OVERFLOW_MODE_INFNAN));
    OK(aclrtSetDevice(2));
    OK(aclrtGetDeviceSatMode(&mode));
    assert_int_equal(mode, ACL_RT_OVERFLOW_MODE_SATURATION);
    OK(aclrtSetDevice(1));
    OK(aclrtGetDeviceSatMode(&mode));
    assert_int_equal(mode, ACL_RT_OVERFLOW_MODE_INFNAN);
    assert_int_equal(aclrtSetDeviceSatMode(ACL_RT_OVERFLOW_MODE_UNDEF), ACL_ERROR_INVALID_PARAM);
    SAYS("mode is 2; it is ACL_RT_OVERFLOW_MODE_SATURATION (0)");
    assert_int_equal(aclrtGetDeviceSatMode(NULL), ACL_ERROR_INVALID_PARAM);
    OK(aclrtResetDeviceForce(1));
    assert_int_equal(aclrtResetDeviceForce(64), ACL_ERROR_RT_INVALID_DEVICEID);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_list_makes_devices_visible),
        cmocka_unit_test(a_list_that_is_none_is_refused),
        cmocka_unit_test(there_are_as_many_as_ranks),
        cmocka_unit_test(a_device_remembers_its_overflow_mode),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
