// SPDX-License-Identifier: Apache-2.0

#include "sync/spread.h"

#include <errno.h>
#include <sched.h>

static int nth_of(const cpu_set_t *mask, int n)
{
    int cpu = 0;
    while (!CPU_ISSET((size_t)cpu, mask) || n-- > 0) {
        cpu++;
    }
    return cpu;
}

// Moves the thread, which may run on all of the mask as before.
static void move_to(int cpu, const cpu_set_t *mask)
{
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET((size_t)cpu, &one);
    if (sched_setaffinity(0, sizeof one, &one) == 0) {
        sched_setaffinity(0, sizeof *mask, mask);
    }
}

void tern__spread(int index, int count)
{
    int before = errno;
    cpu_set_t mask;
    if (sched_getaffinity(0, sizeof mask, &mask) == 0 && CPU_COUNT(&mask) > 1 &&
        count >= CPU_COUNT(&mask)) {
        move_to(nth_of(&mask, index % CPU_COUNT(&mask)), &mask);
    }
    errno = before;
}

void tern__spread_to(int cpu)
{
    int before = errno;
    cpu_set_t mask;
    if (sched_getaffinity(0, sizeof mask, &mask) == 0 && CPU_ISSET((size_t)cpu, &mask)) {
        move_to(cpu, &mask);
    }
    errno = before;
}
