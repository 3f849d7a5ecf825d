// SPDX-License-Identifier: Apache-2.0
// Spreading moves a thread, and leaves it the processors it had.
#include "support/cmocka.h"
#include <errno.h>
#include <sched.h>

#include "sync/spread.h"

#define TRIES 1000 // the kernel may move it between the spreading and the look

static cpu_set_t mask_now(void)
{
    cpu_set_t mask;
    assert_int_equal(sched_getaffinity(0, sizeof mask, &mask), 0);
    return mask;
}

static int nth_cpu(const cpu_set_t *mask, int n)
{
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        if (CPU_ISSET((size_t)cpu, mask) && n-- == 0) {
            return cpu;
        }
    }
    fail();
    return -1;
}

static void check_comes_to(int index, int count, int cpu)
{
    for (int i = 0; i < TRIES; i++) {
        tern__spread(index, count);
        if (sched_getcpu() == cpu) {
            return;
        }
    }
    fail_msg("thread %d of %d never ran on processor %d", index, count, cpu);
}

static void threads_go_to_the_processors_in_turn(void **state)
{
    cpu_set_t mask = mask_now();
    int cpus = CPU_COUNT(&mask);
    for (int index = 0; index < 2 * cpus; index++) {
        check_comes_to(index, 2 * cpus, nth_cpu(&mask, index % cpus));
    }
    errno = EBUSY;
    tern__spread(1, cpus);
    assert_int_equal(errno, EBUSY);
}

static void it_may_run_where_it_could_before(void **state)
{
    cpu_set_t before = mask_now();
    tern__spread(0, CPU_SETSIZE);
    cpu_set_t after = mask_now();
    assert_true(CPU_EQUAL(&before, &after));
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET((size_t)nth_cpu(&before, 0), &one);
    assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
    tern__spread(1, CPU_SETSIZE); // bound to one
    after = mask_now();
    assert_true(CPU_EQUAL(&one, &after));
    assert_int_equal(sched_setaffinity(0, sizeof before, &before), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(threads_go_to_the_processors_in_turn),
        cmocka_unit_test(it_may_run_where_it_could_before),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
