// SPDX-License-Identifier: Apache-2.0
// A life is seen while the thread that began it runs, and no longer; and a control memory that
// another thread lets go of leaves that one's list of robust mutexes whole.
#include "support/cmocka.h"
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sync/alive.h"
#include "sync/reach.h"

#if defined(__SANITIZE_THREAD__)
#define SEEN false // there are none then
#else
#define SEEN true
#endif

static int ctl_fd;

static struct tern__ctl *map_ctl(void)
{
    void *base =
        mmap(NULL, sizeof(struct tern__ctl), PROT_READ | PROT_WRITE, MAP_SHARED, ctl_fd, 0);
    assert_true(base != MAP_FAILED);
    return base;
}

static int make_ctl(void **state)
{
    ctl_fd = memfd_create("ctl", MFD_CLOEXEC);
    return ctl_fd < 0 ? -1 : ftruncate(ctl_fd, sizeof(struct tern__ctl));
}

static int drop_ctl(void **state)
{
    return close(ctl_fd);
}

// A process that is rank 1, and says so by a byte; it ends when `end` says so, or never.
struct child {
    pid_t pid;
    int said[2], end[2];
};

static void start(struct child *child, void (*live)(struct tern__job *, struct child *))
{
    assert_int_equal(pipe(child->said), 0);
    assert_int_equal(pipe(child->end), 0);
    child->pid = fork();
    assert_true(child->pid >= 0);
    if (child->pid == 0) {
        close(child->end[1]); // so that the end of the test is seen, too
        struct tern__job job = {.ctl = map_ctl(), .rank = 1, .nranks = 2};
        live(&job, child);
        _exit(0);
    }
    close(child->said[1]);
    char byte;
    assert_int_equal(read(child->said[0], &byte, 1), 1);
}

static void finish(struct child *child)
{
    close(child->end[1]);
    close(child->end[0]);
    close(child->said[0]);
}

static void say(const struct child *child)
{
    if (write(child->said[1], "", 1) != 1) {
        _exit(1);
    }
}

static void wait_for_end(const struct child *child)
{
    char byte;
    (void)!read(child->end[0], &byte, 1);
}

static void just_live(struct tern__job *job, struct child *child)
{
    tern__life_begin(job);
    say(child);
    wait_for_end(child);
}

static void a_life_is_seen_until_the_process_is_killed(void **state)
{
    struct child child;
    struct tern__ctl *ctl = map_ctl();
    assert_false(tern__life_is_seen(ctl, 1));
    start(&child, just_live);
    assert_int_equal(tern__life_is_seen(ctl, 1), SEEN);
    assert_false(tern__life_is_seen(ctl, 0));
    kill(child.pid, SIGKILL);
    assert_int_equal(waitpid(child.pid, NULL, 0), child.pid);
    assert_false(tern__life_is_seen(ctl, 1));
    finish(&child);
    munmap(ctl, sizeof *ctl);
}

static void leave(struct tern__job *job, struct child *child)
{
    tern__life_begin(job);
    tern__life_end(job);
    say(child);
    wait_for_end(child);
}

static void who_has_left_is_not_seen(void **state)
{
    struct child child;
    struct tern__ctl *ctl = map_ctl();
    start(&child, leave);
    assert_false(tern__life_is_seen(ctl, 1));
    finish(&child);
    assert_int_equal(waitpid(child.pid, NULL, 0), child.pid);
    munmap(ctl, sizeof *ctl);
}

static void *begin(void *job)
{
    tern__life_begin(job);
    return NULL;
}

static void end_the_thread(struct tern__job *job, struct child *child)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, begin, job) != 0 || pthread_join(thread, NULL) != 0) {
        _exit(1);
    }
    say(child);
    wait_for_end(child);
}

// Then the kernel is asked, and knows that the process lives.
static void a_thread_that_ends_alone_is_no_longer_seen(void **state)
{
    struct child child;
    struct tern__ctl *ctl = map_ctl();
    start(&child, end_the_thread);
    assert_false(tern__life_is_seen(ctl, 1));
    assert_int_equal(waitpid(child.pid, NULL, WNOHANG), 0);
    finish(&child);
    assert_int_equal(waitpid(child.pid, NULL, 0), child.pid);
    munmap(ctl, sizeof *ctl);
}

// Of a thread that has begun a life, which another one ends: its list is walked, and added to.
struct two {
    struct tern__job job;
    pthread_barrier_t meet;
};

static void *begin_and_go_on(void *arg)
{
    struct two *two = arg;
    static pthread_mutex_t other;
    pthread_mutexattr_t robust;
    pthread_mutexattr_init(&robust);
    pthread_mutexattr_setrobust(&robust, PTHREAD_MUTEX_ROBUST);
    pthread_mutex_init(&other, &robust);
    tern__life_begin(&two->job);
    pthread_barrier_wait(&two->meet); // it has begun
    pthread_barrier_wait(&two->meet); // it has been ended
    for (int i = 0; i < 3; i++) {
        pthread_mutex_lock(&other);
        pthread_mutex_unlock(&other);
    }
    return two;
}

static void another_thread_may_end_it(void **state)
{
    struct two two = {.job = {.ctl = map_ctl(), .rank = 63, .nranks = 64}};
    struct tern__ctl *ctl = two.job.ctl;
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    pthread_t thread;
    void *went_on;
    assert_int_equal(pthread_barrier_init(&two.meet, NULL, 2), 0);
    assert_int_equal(pthread_create(&thread, NULL, begin_and_go_on, &two), 0);
    pthread_barrier_wait(&two.meet);
    assert_int_equal(tern__life_is_seen(ctl, 63), SEEN);
    tern__life_end(&two.job);
    assert_null(two.job.ctl);
    pthread_barrier_wait(&two.meet);
    assert_int_equal(pthread_join(thread, &went_on), 0);
    assert_ptr_equal(went_on, &two);
    pthread_barrier_destroy(&two.meet);
    unsigned char seen[2];
    assert_int_equal(mincore(ctl, page, seen), -1); // nothing else is left of it
    void *kept = (void *)((uintptr_t)&ctl->ranks[63].life & ~(page - 1));
    assert_int_equal(mincore(kept, page, seen), SEEN ? 0 : -1);
    munmap(kept, page);
}

static void the_child_of_a_fork_is_another_process(void **state)
{
    struct tern__job job = {.ctl = map_ctl(), .rank = 5, .nranks = 64};
    struct tern__ctl *ctl = job.ctl;
    tern__life_begin(&job);
    pid_t child = fork();
    if (child == 0) {
        tern__life_end(&job); // lets go of its own copy alone
        uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
        void *life = (void *)((uintptr_t)&ctl->ranks[5].life & ~(page - 1));
        unsigned char seen[2];
        _exit(mincore(ctl, page, seen) != 0 && mincore(life, page, seen) != 0 ? 0 : 1);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_int_equal(tern__life_is_seen(job.ctl, 5), SEEN);
    tern__life_end(&job);
}

// What is read counts as long as the life is seen, though the kernel, asked, would say otherwise.
static void who_is_seen_is_not_asked_about(void **state)
{
    struct tern__unread unread;
    struct tern__job job = {.ctl = map_ctl(), .rank = 1, .nranks = 2, .pidfd = {-1, -1}};
    struct tern__group group = {.job = &job, .size = 2, .members = {0, 1}};
    pid_t ended = fork();
    if (ended == 0) {
        _exit(0);
    }
    assert_int_equal(waitpid(ended, NULL, 0), ended);
    int dead[2];
    assert_int_equal(pipe(dead), 0);
    close(dead[1]);
    job.pidfd[1] = dead[0]; // at its end, as the descriptor of a process that has ended
    assert_false(tern__reach_counts(&group, 1, 0, &unread));
    tern__life_begin(&job);
    assert_int_equal(tern__reach_counts(&group, 1, 0, &unread), SEEN);
    tern__life_end(&job);
    close(dead[0]);
}

int main(void)
{
    alarm(60);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_life_is_seen_until_the_process_is_killed, make_ctl,
                                        drop_ctl),
        cmocka_unit_test_setup_teardown(who_has_left_is_not_seen, make_ctl, drop_ctl),
        cmocka_unit_test_setup_teardown(a_thread_that_ends_alone_is_no_longer_seen, make_ctl,
                                        drop_ctl),
        cmocka_unit_test_setup_teardown(another_thread_may_end_it, make_ctl, drop_ctl),
        cmocka_unit_test_setup_teardown(the_child_of_a_fork_is_another_process, make_ctl, drop_ctl),
        cmocka_unit_test_setup_teardown(who_is_seen_is_not_asked_about, make_ctl, drop_ctl),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
