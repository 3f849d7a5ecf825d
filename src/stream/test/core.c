// SPDX-License-Identifier: Apache-2.0
// Cores without a chip: what a call finds and says, calls in a row, the end of idle cores.
#include "support/cmocka.h"

#include <string.h>

#include "base/clock.h"
#include "stream/core.h"
#include "sync/wait.h"
#include "tern/status.h"

enum { CALLS = 2000 };

static bool is_idle(void *arg)
{
    return !tern__core_busy(arg);
}

// Gives a call and waits until the kernel has returned.
static void run_call(struct tern__core *core, const struct tern__kernel_call *call, uint32_t run)
{
    struct tern__ladder ladder = tern__cores_ladder(core->all);
    struct tern__wait wait = {.bell = tern__cores_bell(core->all),
                              .ladder = &ladder,
                              .timeout_ns = 60 * TERN_NS_PER_SECOND,
                              .holds = is_idle,
                              .arg = core};
    tern__core_give(core, call, run);
    assert_int_equal(tern__wait(&wait), TERN_OK);
}

// args: where to write; and what comes before the run and the core.
static void say_where(int64_t *args)
{
    int64_t *seen = (int64_t *)(intptr_t)args[0];
    seen[0] = args[1];
    seen[1] = tern_kernel_run();
    seen[2] = tern_kernel_core();
    args[1] = -1; // a copy: the next call finds what was given
}

static void a_call_knows_its_arguments_run_and_core(void **state)
{
    struct tern__cores cores;
    int64_t seen[3];
    const int64_t args[2] = {(int64_t)(intptr_t)seen, 42};
    const struct tern__kernel_call call = {.kernel = say_where,
                                           .args = args,
                                           .name = "where",
                                           .args_count = 2};
    assert_int_equal(tern__cores_start(&cores, NULL, 1, 3), TERN_OK);
    assert_int_equal(tern__cores_count(&cores), 4);
    for (int i = 0; i < 4; i++) {
        struct tern__core *core = &cores.list[i];
        assert_int_equal(core->kind, i == 0 ? TERN_CORE_AIC : TERN_CORE_AIV);
        for (uint32_t run = 5; run < 7; run++) {
            run_call(core, &call, run);
            assert_false(core->failed);
            assert_int_equal(seen[0], 42);
            assert_int_equal(seen[1], run);
            assert_int_equal(seen[2], i == 0 ? 0 : i - 1);
        }
    }
    tern__cores_stop(&cores);
    assert_int_equal(tern_kernel_run(), 0); // outside a kernel
    assert_int_equal(tern_kernel_core(), 0);
}

static void fail_twice(int64_t *args)
{
    tern_kernel_fail("tile %d is empty", 7);
    tern_kernel_fail("and this is lost");
}

static void the_first_failure_of_a_call_is_kept(void **state)
{
    struct tern__cores cores;
    const struct tern__kernel_call bad = {.kernel = fail_twice, .name = "bad"};
    int64_t seen[3];
    const int64_t args[2] = {(int64_t)(intptr_t)seen, 0};
    const struct tern__kernel_call good = {.kernel = say_where,
                                           .args = args,
                                           .name = "good",
                                           .args_count = 2};
    assert_int_equal(tern__cores_start(&cores, NULL, 0, 1), TERN_OK);
    run_call(&cores.list[0], &bad, 0);
    assert_true(cores.list[0].failed);
    assert_string_equal(cores.list[0].failure, "tile 7 is empty");
    run_call(&cores.list[0], &good, 0);
    assert_false(cores.list[0].failed);
    tern__cores_stop(&cores);
}

// Not atomic: the mailbox orders the calls, of one core and of one after the other.
static void add_one(int64_t *args)
{
    ++*(int64_t *)(intptr_t)args[0];
}

static void calls_come_one_after_the_other(void **state)
{
    struct tern__cores cores;
    int64_t sum = 0;
    const int64_t args[1] = {(int64_t)(intptr_t)&sum};
    const struct tern__kernel_call call = {.kernel = add_one,
                                           .args = args,
                                           .name = "add",
                                           .args_count = 1};
    assert_int_equal(tern__cores_start(&cores, NULL, 0, 3), TERN_OK);
    for (int i = 0; i < CALLS; i++) {
        run_call(&cores.list[i % 3], &call, 0);
    }
    assert_int_equal(sum, CALLS);
    tern__cores_stop(&cores);
}

static void the_name_of_a_core_has_its_kind(void **state)
{
    struct tern__cores cores;
    char text[24];
    assert_int_equal(tern__cores_start(&cores, NULL, 1, 2), TERN_OK);
    tern__core_text(&cores.list[0], text, sizeof text);
    assert_string_equal(text, "AIC 0");
    tern__core_text(&cores.list[2], text, sizeof text);
    assert_string_equal(text, "AIV 1");
    tern__cores_stop(&cores);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_call_knows_its_arguments_run_and_core),
        cmocka_unit_test(the_first_failure_of_a_call_is_kept),
        cmocka_unit_test(calls_come_one_after_the_other),
        cmocka_unit_test(the_name_of_a_core_has_its_kind),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
