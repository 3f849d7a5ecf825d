// SPDX-License-Identifier: Apache-2.0
// Of ranks on a processor with two more than another one, one moves there.
#include "support/cmocka.h"
#include <poll.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "sync/balance.h"

enum { RANKS = 6, TRIES = 1000 }; // the kernel, too, moves threads

static struct tern__ctl *ctl;
static struct tern__job job;

static int begin(void **state)
{
    ctl = aligned_alloc(4096, (sizeof *ctl + 4095) / 4096 * 4096);
    assert_non_null(ctl);
    memset(ctl, 0, sizeof *ctl);
    ctl->nranks = RANKS;
    job = (struct tern__job){.ctl = ctl, .nranks = RANKS, .rank = 1};
    return 0;
}

static int end(void **state)
{
    free(ctl);
    return 0;
}

// Ranks are on these processors (-1: nobody knows), and may run on the first `cpus`.
static void place(const int *places, int cpus)
{
    for (int rank = 0; rank < RANKS; rank++) {
        struct tern__ctl_rank *slot = &ctl->ranks[rank];
        tern__poke(&slot->state, TERN__RANK_ACTIVE);
        tern__poke(&slot->cpu, (uint32_t)(places[rank] + 1));
        for (int cpu = 0; cpu < cpus; cpu++) {
            slot->cpus[cpu / 64] |= UINT64_C(1) << cpu % 64;
        }
    }
}

static void check_stays(int at)
{
    int cpu = -1;
    assert_false(tern__balance_is_better(&job, at, &cpu));
    assert_int_equal(cpu, -1);
}

static void check_goes(int at, int to)
{
    int cpu = -1;
    assert_true(tern__balance_is_better(&job, at, &cpu));
    assert_int_equal(cpu, to);
}

static void two_more_are_too_many(void **state)
{
    place((int[]){0, 0, 0, 1, 1, -1}, 2);
    check_stays(0); // 3 and 2
    check_stays(1);
    place((int[]){0, 0, 0, 0, 1, -1}, 2);
    check_goes(0, 1);
    place((int[]){0, 0, 0, 0, 1, 1}, 2);
    check_goes(0, 1);
    check_stays(1); // it would be there by now
    place((int[]){2, 2, 2, 0, 0, 1}, 3);
    check_goes(2, 1); // to the one with the fewest
    place((int[]){7, 7, -1, -1, -1, -1}, 8);
    check_goes(7, 0);
}

static void only_processors_of_its_own_count(void **state)
{
    place((int[]){0, 0, 0, 0, 1, 1}, 1);
    check_stays(0);
    place((int[]){70, 70, 70, 70, 70, 70}, 71);
    check_goes(70, 0);
    memset(ctl->ranks[job.rank].cpus, 0, sizeof ctl->ranks[job.rank].cpus);
    ctl->ranks[job.rank].cpus[1] = 1 << 6 | 1 << 5;
    check_goes(70, 69);
}

static void who_has_gone_is_nowhere(void **state)
{
    place((int[]){0, 0, 0, 1, -1, -1}, 2);
    check_goes(0, 1);
    tern__poke(&ctl->ranks[2].state, TERN__RANK_LEFT);
    check_stays(0);
}

static void a_thread_moves_and_keeps_its_processors(void **state)
{
    cpu_set_t before;
    cpu_set_t after;
    assert_int_equal(sched_getaffinity(0, sizeof before, &before), 0);
    if (CPU_COUNT(&before) < 2) {
        skip();
    }
    bool moved = false;
    for (int i = 0; i < TRIES && !moved; i++) {
        int here = sched_getcpu();
        place((int[]){here, here, here, here, here, here}, 0);
        for (int cpu = 0; cpu < TERN__CPU_WORDS * 64; cpu++) {
            ctl->ranks[job.rank].cpus[cpu / 64] |= (uint64_t)CPU_ISSET((size_t)cpu, &before)
                                                   << cpu % 64;
        }
        for (int look = 0; look < 3; look++) { // before the first one was none, or long ago
            tern__balance_now(&job);
        }
        int there = sched_getcpu();
        moved = there != here && tern__peek(&ctl->ranks[job.rank].cpu) == (uint32_t)there + 1;
        poll(NULL, 0, 1); // moves are rare
    }
    assert_true(moved);
    assert_int_equal(sched_getaffinity(0, sizeof after, &after), 0);
    assert_true(CPU_EQUAL(&before, &after));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(two_more_are_too_many, begin, end),
        cmocka_unit_test_setup_teardown(only_processors_of_its_own_count, begin, end),
        cmocka_unit_test_setup_teardown(who_has_gone_is_nowhere, begin, end),
        cmocka_unit_test_setup_teardown(a_thread_moves_and_keeps_its_processors, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
