// SPDX-License-Identifier: Apache-2.0
// Reading another process's memory: whole, or up to where it ends; and never that of a process that
// has taken over the number of a dead one.
#include "support/cmocka.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "sync/reach.h"

enum { BYTES = 2 * TERN__REACH_PIECE + 12345 }; // several system calls, the last one short

// A job of two ranks in which this process stands for rank 1.
struct pair {
    struct tern__job job;
    struct tern__group group;
};

static int pidfd_of(pid_t pid)
{
    return (int)syscall(SYS_pidfd_open, pid, 0);
}

static struct pair *pair_with(int pidfd)
{
    struct pair *pair = calloc(1, sizeof *pair);
    assert_non_null(pair);
    pair->job.ctl = calloc(1, sizeof *pair->job.ctl);
    assert_non_null(pair->job.ctl);
    assert_true(pidfd >= 0);
    pair->job.nranks = 2;
    pair->job.pidfd[1] = pidfd;
    pair->job.ctl->ranks[1].pid = (uint32_t)getpid();
    pair->group = (struct tern__group){.job = &pair->job, .size = 2, .members = {0, 1}};
    return pair;
}

static void pair_free(struct pair *pair)
{
    close(pair->job.pidfd[1]);
    free(pair->job.ctl);
    free(pair);
}

static char *pages(void)
{
    void *made =
        mmap(NULL, 2 * (size_t)BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(made != MAP_FAILED);
    return made;
}

static void each_piece_lands_where_it_belongs(void **state)
{
    struct pair *pair = pair_with(pidfd_of(getpid()));
    struct tern__unread unread;
    char *from = pages();
    char *to = pages();
    for (size_t i = 0; i < BYTES; i++) {
        from[i] = (char)(i * 31 + (i >> 12) + (i >> 20) * 7); // each piece is another one
    }
    assert_true(tern__reach_read(&pair->group, 1, to, (uintptr_t)from, BYTES, &unread));
    assert_memory_equal(to, from, BYTES);
    assert_int_equal(to[BYTES], 0);
    munmap(from, 2 * (size_t)BYTES);
    munmap(to, 2 * (size_t)BYTES);
    pair_free(pair);
}

// Of more than two ranks those who read the same addresses take turns.
static void of_many_each_byte_lands_where_it_belongs_too(void **state)
{
    static const size_t sizes[] = {(48 << 10) - 1, 48 << 10,       70001,   1 << 20,
                                   (1 << 20) + 5,  (3 << 20) + 77, 4 << 20, (4 << 20) + 1};
    struct pair *pair = pair_with(pidfd_of(getpid()));
    struct tern__unread unread;
    char *from = pages();
    char *to = pages();
    pair->group.size = 3;
    for (size_t i = 0; i < BYTES; i++) {
        from[i] = (char)(i * 31 + (i >> 12) + (i >> 20) * 7);
    }
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        memset(to, 0, sizes[i] + 1);
        assert_true(tern__reach_read(&pair->group, 1, to, (uintptr_t)from + i, sizes[i], &unread));
        assert_memory_equal(to, from + i, sizes[i]);
        assert_int_equal(to[sizes[i]], 0);
        memset(to, 0, sizes[i] + 1);
        assert_true(tern__reach_write(&pair->group, 1, (uintptr_t)to, from + i, sizes[i]));
        assert_memory_equal(to, from + i, sizes[i]);
        assert_int_equal(to[sizes[i]], 0);
    }
    munmap(from, 2 * (size_t)BYTES);
    munmap(to, 2 * (size_t)BYTES);
    pair_free(pair);
}

static void who_comes_behind_another_waits_by_the_clock(void **state)
{
    struct pair *pair = pair_with(pidfd_of(getpid()));
    struct tern__unread unread;
    char *from = pages();
    char *to = pages();
    _Atomic uint64_t *held =
        &pair->job.ctl->ranks[1].held_until[((uintptr_t)from >> 21) % TERN__HELD_AREAS];
    pair->group.size = 3;
    memset(from, 7, 1 << 20);
    memset(to, 1, 1 << 20);
    int64_t until_ns = tern__now_ns() + 150000;
    *held = (uint64_t)until_ns;
    assert_true(tern__reach_read(&pair->group, 1, to, (uintptr_t)from, 256 << 10, &unread));
    assert_true(tern__now_ns() >= until_ns);
    assert_true(*held > (uint64_t)until_ns); // who comes now waits for this one
    int64_t far_ns = tern__now_ns() + 3600 * TERN_NS_PER_SECOND;
    *held = (uint64_t)far_ns; // of no clock of ours
    assert_true(tern__reach_read(&pair->group, 1, to, (uintptr_t)from, 256 << 10, &unread));
    assert_true(tern__now_ns() < far_ns && *held < (uint64_t)far_ns);
    pair->group.size = 2; // nobody else reads there
    *held = 0;
    assert_true(tern__reach_read(&pair->group, 1, to, (uintptr_t)from, 256 << 10, &unread));
    assert_true(*held == 0);
    munmap(from, 2 * (size_t)BYTES);
    munmap(to, 2 * (size_t)BYTES);
    pair_free(pair);
}

static void it_says_where_the_memory_ends(void **state)
{
    struct pair *pair = pair_with(pidfd_of(getpid()));
    struct tern__unread unread;
    size_t end = TERN__REACH_PIECE + 8192; // within the second piece
    char *from = pages();
    char *to = pages();
    memset(from, 7, BYTES);
    assert_int_equal(mprotect(from + end, BYTES, PROT_NONE), 0);
    assert_false(tern__reach_read(&pair->group, 1, to, (uintptr_t)from, BYTES, &unread));
    assert_int_equal(unread.rank, 1);
    assert_int_equal(unread.error, EFAULT);
    assert_true(unread.from == (uintptr_t)from + end);
    assert_memory_equal(to, from, end);
    munmap(from, 2 * (size_t)BYTES);
    munmap(to, 2 * (size_t)BYTES);
    pair_free(pair);
}

// The number is that of a process that lives, as it is when the kernel has given it out again.
static void what_another_process_has_under_a_dead_ones_number_does_not_count(void **state)
{
    struct tern__unread unread;
    int from = 1;
    int to = 0;
    pid_t child = fork();
    if (child == 0) {
        _exit(0);
    }
    struct pair *pair = pair_with(pidfd_of(child));
    assert_int_equal(waitpid(child, NULL, 0), child);
    assert_false(
        tern__reach_read(&pair->group, 1, (char *)&to, (uintptr_t)&from, sizeof from, &unread));
    assert_int_equal(unread.rank, 1);
    assert_int_equal(unread.error, ESRCH);
    pair_free(pair);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_piece_lands_where_it_belongs),
        cmocka_unit_test(of_many_each_byte_lands_where_it_belongs_too),
        cmocka_unit_test(who_comes_behind_another_waits_by_the_clock),
        cmocka_unit_test(it_says_where_the_memory_ends),
        cmocka_unit_test(what_another_process_has_under_a_dead_ones_number_does_not_count),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
