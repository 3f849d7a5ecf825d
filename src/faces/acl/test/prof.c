// SPDX-License-Identifier: Apache-2.0
// Profiles of ACL: what is refused, and that they go well while something records.
#include "support/cmocka.h"
#include <string.h>

#include "acl/acl.h"
#include "acl/acl_prof.h"
#include "base/trace.h"

#define OK(call) assert_int_equal(call, ACL_SUCCESS)
#define SAYS(words) assert_non_null(strstr(aclGetRecentErrMsg(), words))

static void a_profile_is_what_the_launcher_records(void **state)
{
    uint32_t devices[2] = {0, 1};
    const char *path = "profile";
    OK(aclprofInit(path, strlen(path)));
    assert_int_equal(aclprofInit(path, strlen(path)), ACL_ERROR_REPEAT_INITIALIZE);
    aclprofConfig *config = aclprofCreateConfig(devices, 2, ACL_AICORE_PIPE_UTILIZATION, NULL,
                                                ACL_PROF_ACL_API | ACL_PROF_HCCL_TRACE);
    assert_non_null(config);
    assert_int_equal(aclprofStart(config), ACL_ERROR_FEATURE_UNSUPPORTED);
    SAYS("aclprofStart: nothing is recorded here; `tern run --trace FILE`");
    assert_int_equal(aclprofStop(config), ACL_ERROR_FEATURE_UNSUPPORTED);
    assert_true(tern__trace_begin(0));
    OK(aclprofStart(config));
    OK(aclprofStop(config));
    assert_true(tern__trace_stop());
    OK(aclprofDestroyConfig(config));
    assert_int_equal(aclprofDestroyConfig(config), ACL_ERROR_INVALID_PARAM);
    assert_int_equal(aclprofStart(config), ACL_ERROR_INVALID_PARAM);
    assert_int_equal(aclprofStop(NULL), ACL_ERROR_INVALID_PARAM);
    OK(aclprofFinalize());
    assert_int_equal(aclprofFinalize(), ACL_ERROR_UNINITIALIZE);
}

static void wrong_choices_are_refused(void **state)
{
    uint32_t devices[2] = {0, 64};
    assert_int_equal(aclprofInit(NULL, 1), ACL_ERROR_INVALID_PARAM);
    assert_int_equal(aclprofInit("", 0), ACL_ERROR_INVALID_PARAM);
    assert_int_equal(aclprofInit("abc", 9), ACL_ERROR_INVALID_PARAM);
    SAYS("length is 9; it must be that of the path");
    assert_null(aclprofCreateConfig(NULL, 1, ACL_AICORE_NONE, NULL, ACL_PROF_ACL_API));
    SAYS("deviceIdList, with a device or more, must not be NULL");
    assert_null(aclprofCreateConfig(devices, 0, ACL_AICORE_NONE, NULL, ACL_PROF_ACL_API));
    assert_null(aclprofCreateConfig(devices, 2, ACL_AICORE_NONE, NULL, ACL_PROF_ACL_API));
    SAYS("device 64; there are devices 0 to 63");
    assert_null(aclprofCreateConfig(devices, 1, (aclprofAicoreMetrics)6, NULL, ACL_PROF_ACL_API));
    SAYS("aicoreMetrics is 6; there are 0 to 5 and 255");
    assert_null(aclprofCreateConfig(devices, 1, ACL_AICORE_NONE, NULL, 0));
    SAYS("dataTypeConfig chooses nothing");
    assert_null(aclprofCreateConfig(devices, 1, ACL_AICORE_NONE,
                                    (const aclprofAicoreEvents *)(const void *)devices, 1));
    SAYS("aicoreEvents must be NULL");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_profile_is_what_the_launcher_records),
        cmocka_unit_test(wrong_choices_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
