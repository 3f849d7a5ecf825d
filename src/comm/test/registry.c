// SPDX-License-Identifier: Apache-2.0
// A window by its number: right for windows of several communicators, without a lock, and while
// other windows come and go.
#include "support/cmocka.h"
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#include "comm/registry.h"
#include "comm/window.h"
#include "support/look.h"
#include "support/ranks.h"

// How many locks a thread has taken. Sanitizers have a pthread_mutex_lock of their own.
static _Thread_local int locks;

#if !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__)
__attribute__((visibility("default"))) int pthread_mutex_lock(pthread_mutex_t *mutex)
{
    int (*lock)(pthread_mutex_t *);
    *(void **)&lock = dlsym(RTLD_NEXT, "pthread_mutex_lock");
    locks++;
    return lock(mutex);
}
#endif

static bool is_found(const tern_window *window)
{
    const struct tern__group *group = &window->comm->group;
    return tern__registry_base(group->job, group->slot, window->number) == window->base;
}

static int look_up(tern_comm *comm, void *arg)
{
    tern_comm *part;
    tern_window *windows[4];
    CHECK(tern_comm_split(comm, 0, 0, &part) == TERN_OK);
    for (int i = 0; i < 4; i++) {
        CHECK(tern_window_create(i % 2 == 0 ? comm : part, 64, NULL, &windows[i]) == TERN_OK);
    }
    locks = 0;
    for (int i = 0; i < 4; i++) {
        CHECK(is_found(windows[i]));
    }
    CHECK(locks == 0);
    const struct tern__group *group = &part->group;
    uint32_t number = windows[3]->number;
    CHECK(tern__registry_base(group->job, group->slot + 1, number) == NULL);
    CHECK(tern__registry_base(NULL, group->slot, number) == NULL);
    CHECK(tern_window_destroy(windows[3]) == TERN_OK);
    CHECK(tern__registry_base(group->job, group->slot, number) == NULL);
    for (int i = 0; i < 3; i++) {
        CHECK(is_found(windows[i]));
        CHECK(tern_window_destroy(windows[i]) == TERN_OK);
    }
    CHECK(tern_comm_destroy(part) == TERN_OK);
    return 0;
}

static void number_finds_its_window_without_a_lock(void **state)
{
    assert_true(ranks_run_comm(1, look_up, NULL, 20));
    assert_true(ranks_run_comm(3, look_up, NULL, 20));
}

struct finder {
    const tern_window *window;
    _Atomic int stop;
    _Atomic int wrong;
};

static void *find_always(void *arg)
{
    struct finder *finder = arg;
    while (!finder->stop) {
        finder->wrong += !is_found(finder->window);
    }
    return NULL;
}

// The window's place in the table is behind that of those that come and go.
static int find_while_others_change(tern_comm *comm, void *arg)
{
    tern_window *first;
    tern_window *looked_for;
    pthread_t threads[2];
    CHECK(tern_window_create(comm, 100, NULL, &first) == TERN_OK);
    CHECK(tern_window_create(comm, 100, NULL, &looked_for) == TERN_OK);
    CHECK(tern_window_destroy(first) == TERN_OK);
    struct finder finder = {.window = looked_for};
    for (int i = 0; i < 2; i++) {
        CHECK(pthread_create(&threads[i], NULL, find_always, &finder) == 0);
    }
    for (int i = 0; i < 2000; i++) {
        tern_window *window;
        CHECK(tern_window_create(comm, 100, NULL, &window) == TERN_OK);
        CHECK(is_found(window));
        CHECK(tern_window_destroy(window) == TERN_OK);
    }
    finder.stop = 1;
    for (int i = 0; i < 2; i++) {
        pthread_join(threads[i], NULL);
    }
    CHECK(finder.wrong == 0);
    CHECK(tern_window_destroy(looked_for) == TERN_OK);
    return 0;
}

static void number_finds_its_window_while_others_come_and_go(void **state)
{
    assert_true(ranks_run_comm(1, find_while_others_change, NULL, 60));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(number_finds_its_window_without_a_lock),
        cmocka_unit_test(number_finds_its_window_while_others_come_and_go),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
