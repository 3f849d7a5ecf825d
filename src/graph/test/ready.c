// SPDX-License-Identifier: Apache-2.0
// The queue of ready tasks: first in, first out; with several threads at both ends each task comes
// out once, and those of one thread in its order; the slots are used many times. With what a core
// has of its own: the same order, whichever of the two a task was put into.
#include "support/cmocka.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>

#include "graph/ready.h"
#include "graph/task.h"
#include "support/random.h"

enum { ROOM = 64, LAPS = 1000, THREADS = 3, EACH = 20000 };

static void what_is_put_first_comes_out_first(void **state)
{
    struct tern__task *tasks = aligned_alloc(TERN_CACHE_LINE, ROOM * sizeof *tasks);
    struct tern__ready *ready = tern__ready_make(ROOM, NULL);
    assert_non_null(ready);
    assert_null(tern__ready_take(ready));
    assert_true(tern__ready_looks_empty(ready));
    for (int lap = 0; lap < LAPS; lap++) {
        int count = 1 + lap % ROOM;
        for (int i = 0; i < count; i++) {
            tern__ready_put(ready, &tasks[i]);
        }
        assert_true(tern__ready_any(ready));
        for (int i = 0; i < count; i++) {
            assert_ptr_equal(tern__ready_take(ready), &tasks[i]);
        }
        assert_null(tern__ready_take(ready));
        assert_false(tern__ready_any(ready));
    }
    tern__ready_free(ready);
    free(tasks);
}

static void what_a_core_has_of_its_own_keeps_the_order_too(void **state)
{
    struct tern__task *tasks = aligned_alloc(TERN_CACHE_LINE, ROOM * sizeof *tasks);
    struct tern__ready *ready = tern__ready_make(ROOM, NULL);
    struct tern__ready_own own = {0};
    uint64_t seed = 5;
    int put = 0;
    int taken = 0;
    assert_non_null(ready);
    assert_true(tern__ready_own_make(&own, ready));
    assert_null(tern__ready_own_take(&own, ready));
    for (int step = 0; step < LAPS * ROOM; step++) {
        // By turns rather filled and rather emptied, so that both are sometimes empty and full.
        const bool puts = random_below(&seed, 8) < (step / 512 % 2 == 0 ? 5U : 3U);
        if (puts && put - taken < ROOM) {
            struct tern__task *task = &tasks[put++ % ROOM];
            if (random_below(&seed, 2) == 0) {
                tern__ready_put(ready, task);
            } else {
                tern__ready_own_put(&own, ready, task);
            }
        } else if (!puts && taken < put) {
            assert_ptr_equal(tern__ready_own_take(&own, ready), &tasks[taken++ % ROOM]);
        }
        assert_int_equal(tern__ready_any(ready) || tern__ready_own_any(&own), taken < put);
    }
    free(own.slots);
    tern__ready_free(ready);
    free(tasks);
}

// Who puts never has more than ROOM of its own in flight, as rings and tables see to, and writes a
// row again only when who took it has read it.
struct shared {
    struct tern__ready *ready;
    struct tern__task *tasks; // THREADS * ROOM
    _Atomic bool in_use[THREADS * ROOM];
    _Atomic uint32_t taken[THREADS];
    _Atomic uint32_t wrong, left;
};

struct putter {
    struct shared *shared;
    int index;
    pthread_t thread;
};

static void *put_all(void *arg)
{
    struct putter *putter = arg;
    struct shared *shared = putter->shared;
    for (uint32_t i = 0; i < EACH; i++) {
        const int row = putter->index * ROOM + (int)(i % ROOM);
        struct tern__task *task = &shared->tasks[row];
        while (atomic_load(&shared->in_use[row])) {
            sched_yield();
        }
        atomic_store(&shared->in_use[row], true);
        task->number = i;
        task->ring = (uint8_t)putter->index;
        tern__ready_put(shared->ready, task);
    }
    return NULL;
}

static void *take_all(void *arg)
{
    struct shared *shared = arg;
    uint32_t last[THREADS] = {0};
    while (atomic_load(&shared->left) > 0) {
        struct tern__task *task = tern__ready_take(shared->ready);
        if (task == NULL) {
            sched_yield();
            continue;
        }
        if (task->number + 1 <= last[task->ring]) { // one thread's come in its order, also to one
            atomic_fetch_add(&shared->wrong, 1);
        }
        last[task->ring] = task->number + 1;
        atomic_fetch_add(&shared->taken[task->ring], 1);
        atomic_store(&shared->in_use[task - shared->tasks], false);
        atomic_fetch_sub(&shared->left, 1);
    }
    return NULL;
}

static void each_comes_out_once_and_in_order(void **state)
{
    for (int takers = 1; takers <= THREADS; takers++) {
        struct shared shared = {.ready = tern__ready_make(THREADS * ROOM * 2, NULL),
                                .tasks = aligned_alloc(TERN_CACHE_LINE,
                                                       THREADS * ROOM * sizeof *shared.tasks),
                                .left = THREADS * EACH};
        struct putter putters[THREADS];
        pthread_t threads[THREADS];
        for (int i = 0; i < takers; i++) {
            assert_int_equal(pthread_create(&threads[i], NULL, take_all, &shared), 0);
        }
        for (int i = 0; i < THREADS; i++) {
            putters[i] = (struct putter){.shared = &shared, .index = i};
            assert_int_equal(pthread_create(&putters[i].thread, NULL, put_all, &putters[i]), 0);
        }
        for (int i = 0; i < THREADS; i++) {
            pthread_join(putters[i].thread, NULL);
        }
        for (int i = 0; i < takers; i++) {
            pthread_join(threads[i], NULL);
        }
        assert_int_equal(shared.wrong, 0);
        for (int i = 0; i < THREADS; i++) {
            assert_int_equal(shared.taken[i], EACH);
        }
        tern__ready_free(shared.ready);
        free(shared.tasks);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_put_first_comes_out_first),
        cmocka_unit_test(what_a_core_has_of_its_own_keeps_the_order_too),
        cmocka_unit_test(each_comes_out_once_and_in_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
