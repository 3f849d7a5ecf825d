// SPDX-License-Identifier: Apache-2.0
// The scheduler slice: a wait that gives up the processor shortens it, for its thread alone, and
// only where the thread has an ordinary one.
#include "support/cmocka.h"
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "sync/slice.h"
#include "sync/wait.h"
#include "tern/status.h"

#define SHORT_NS 100000
#define LONG_NS 10000000

static uint64_t slice_ns(void)
{
    struct tern__sched_attr attr = {0};
    assert_int_equal(syscall(SYS_sched_getattr, 0, &attr, sizeof attr, 0), 0);
    return attr.runtime_ns;
}

static void set_policy(uint32_t policy, uint64_t slice)
{
    struct tern__sched_attr attr = {0}; // whoever runs this may have made it nice
    assert_int_equal(syscall(SYS_sched_getattr, 0, &attr, sizeof attr, 0), 0);
    attr.policy = policy;
    attr.runtime_ns = slice;
    assert_int_equal(syscall(SYS_sched_setattr, 0, &attr, 0), 0);
}

static void need_slices(void)
{
    if (slice_ns() == 0) {
        print_message("skipped: this kernel has no slices of single threads (Linux 6.12 has)\n");
        skip();
    }
}

// Runs in a thread of its own: a slice that was shortened stays so.
static void in_a_thread(void *(*body)(void *))
{
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, body, NULL), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
}

static bool holds_at_once(void *arg)
{
    return true;
}

static bool never_holds(void *arg)
{
    return false;
}

static int wait_for(bool (*holds)(void *arg))
{
    struct tern__bell bell = {0};
    struct tern__ladder ladder = tern__ladder_for(1, 1);
    struct tern__wait wait = {.bell = &bell, .ladder = &ladder, .holds = holds};
    return tern__wait(&wait);
}

static void *wait_twice(void *arg)
{
    set_policy(SCHED_OTHER, LONG_NS);
    assert_int_equal(wait_for(holds_at_once), TERN_OK);
    assert_int_equal(slice_ns(), LONG_NS); // it has not given up the processor
    assert_int_equal(wait_for(never_holds), TERN_ERR_TIMEOUT);
    assert_int_equal(slice_ns(), SHORT_NS);
    return NULL;
}

static void a_wait_that_yields_shortens_the_slice(void **state)
{
    need_slices();
    uint64_t before = slice_ns();
    in_a_thread(wait_twice);
    assert_int_equal(slice_ns(), before); // of this thread
}

static void *shorten_once(void *arg)
{
    set_policy(SCHED_OTHER, LONG_NS);
    errno = EBUSY;
    tern__slice_shorten();
    assert_int_equal(errno, EBUSY);
    assert_int_equal(slice_ns(), SHORT_NS);
    set_policy(SCHED_OTHER, LONG_NS); // as a program may that knows better
    tern__slice_shorten();
    assert_int_equal(slice_ns(), LONG_NS);
    return NULL;
}

static void it_is_shortened_once(void **state)
{
    need_slices();
    in_a_thread(shorten_once);
}

static void *shorten_batch(void *arg)
{
    set_policy(SCHED_BATCH, LONG_NS);
    tern__slice_shorten();
    assert_int_equal(slice_ns(), LONG_NS);
    return NULL;
}

static void other_policies_keep_theirs(void **state)
{
    need_slices();
    in_a_thread(shorten_batch);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_wait_that_yields_shortens_the_slice),
        cmocka_unit_test(it_is_shortened_once),
        cmocka_unit_test(other_policies_keep_theirs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
