// SPDX-License-Identifier: Apache-2.0
// A copy that its owner helps with: every byte is right whoever copies which piece; an owner that
// does not come, or cannot write, costs nothing; what cannot be copied is said by who takes it; a
// process that has taken over the number of a dead one is left alone.
#include "support/cmocka.h"
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "sync/help.h"

enum { BYTES = (5 << 20) + 4321 };

// A job of two ranks; this process stands for both.
struct pair {
    struct tern__job job;
    struct tern__group group;
    struct tern__ctl_comm shared;
    struct tern__help help;
    char *from, *to;
};

static char *pages(void)
{
    void *made = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(made != MAP_FAILED);
    return made;
}

// of: the process whose end is that of both ranks.
static struct pair *pair_make(pid_t of)
{
    struct pair *pair = aligned_alloc(TERN_CACHE_LINE, (sizeof *pair + 63) / 64 * 64);
    assert_non_null(pair);
    memset(pair, 0, sizeof *pair);
    pair->job.ctl = calloc(1, sizeof *pair->job.ctl);
    assert_non_null(pair->job.ctl);
    pair->job.nranks = 2;
    for (int rank = 0; rank < 2; rank++) {
        pair->job.pidfd[rank] = (int)syscall(SYS_pidfd_open, of, 0);
        assert_true(pair->job.pidfd[rank] >= 0);
        pair->job.ctl->ranks[rank].pid = (uint32_t)getpid();
    }
    pair->group = (struct tern__group){.job = &pair->job,
                                       .shared = &pair->shared,
                                       .size = 2,
                                       .members = {0, 1}};
    pair->from = pages();
    pair->to = pages();
    for (size_t i = 0; i < BYTES; i++) {
        pair->from[i] = (char)(i * 31 + (i >> 12));
    }
    return pair;
}

static void pair_free(struct pair *pair)
{
    munmap(pair->from, BYTES);
    munmap(pair->to, BYTES);
    close(pair->job.pidfd[0]);
    close(pair->job.pidfd[1]);
    free(pair->job.ctl);
    free(pair);
}

static void open_it(struct pair *pair, size_t bytes)
{
    tern__help_open(&pair->group, 1, &pair->help, pair->to, (uintptr_t)pair->from, bytes);
}

static int take(struct pair *pair, size_t bytes, struct tern__unread *unread)
{
    return tern__help_read(&pair->group, 1, pair->to, (uintptr_t)pair->from, bytes, &pair->help,
                           unread);
}

static void nobody_needs_to_help(void **state)
{
    struct pair *pair = pair_make(getpid());
    struct tern__unread unread;
    assert_false(tern__help_is_wanted(&pair->help));
    assert_int_equal(take(pair, BYTES - 1, &unread), 1);
    assert_memory_equal(pair->to, pair->from, BYTES - 1);
    assert_int_equal(pair->to[BYTES - 1], 0);
    assert_false(tern__help_is_wanted(&pair->help));
    assert_false(tern__help_give(&pair->group, 0, &pair->help));
    pair_free(pair);
}

static void the_owner_may_do_all_of_it(void **state)
{
    struct pair *pair = pair_make(getpid());
    struct tern__unread unread;
    open_it(pair, BYTES - 1);
    assert_true(tern__help_is_wanted(&pair->help));
    assert_true(tern__help_give(&pair->group, 0, &pair->help));
    assert_memory_equal(pair->to, pair->from, BYTES - 1);
    assert_int_equal(pair->to[BYTES - 1], 0);
    assert_true(tern__help_waits(&pair->help, pair->to) && tern__help_is_over(&pair->help));
    memset(pair->to, 1, BYTES);
    assert_int_equal(take(pair, BYTES - 1, &unread), 1);
    assert_int_equal(pair->to[0], 1); // it has read nothing
    pair_free(pair);
}

static void *give_often(void *arg)
{
    struct pair *pair = arg;
    while (tern__peek(&pair->shared.failed) == TERN__WORKING) {
        tern__help_give(&pair->group, 0, &pair->help);
    }
    return NULL;
}

static void both_at_once_copy_each_byte(void **state)
{
    struct pair *pair = pair_make(getpid());
    struct tern__unread unread;
    pthread_t owner;
    uint64_t seed = 7;
    assert_int_equal(pthread_create(&owner, NULL, give_often, pair), 0);
    int helped = 0;
    for (int i = 0; i < 300 || (helped < 50 && i < 100000); i++) {
        seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407U;
        size_t bytes = TERN__HELP_LEAST + seed % (i % 4 == 0 ? BYTES - TERN__HELP_LEAST : 300000);
        int done = 0;
        memset(pair->to, i, BYTES);
        while ((done = take(pair, bytes, &unread)) == 0) {
            assert_true(tern__help_waits(&pair->help, pair->to));
            while (!tern__help_is_over(&pair->help)) {
            }
        }
        assert_int_equal(done, 1);
        helped += tern__peek(&pair->help.given) == TERN__GIVEN_ALL;
        assert_memory_equal(pair->to, pair->from, bytes);
        assert_int_equal(pair->to[bytes], (char)i);
    }
    tern__poke(&pair->shared.failed, TERN__FAILED);
    pthread_join(owner, NULL);
    pair_free(pair);
}

// The owner's own memory, or that which it writes to, ends in the middle.
static void what_cannot_be_written_the_taker_reads(void **state)
{
    struct tern__unread unread;
    for (int whose = 0; whose < 2; whose++) {
        struct pair *pair = pair_make(getpid());
        char *end = (whose == 0 ? pair->from : pair->to) + (4 << 20);
        assert_int_equal(mprotect(end, 4096, PROT_NONE), 0);
        open_it(pair, BYTES);
        assert_true(tern__help_give(&pair->group, 0, &pair->help));
        assert_false(tern__help_is_wanted(&pair->help));
        assert_false(tern__help_give(&pair->group, 0, &pair->help));
        assert_int_equal(take(pair, BYTES, &unread), -1);
        assert_int_equal(unread.error, EFAULT);
        assert_true(unread.from == (uintptr_t)pair->from + (4 << 20));
        assert_int_equal(mprotect(end, 4096, PROT_READ | PROT_WRITE), 0);
        memset(pair->to, 0, BYTES);
        assert_int_equal(take(pair, BYTES, &unread), 1); // the line is as good as new
        assert_memory_equal(pair->to, pair->from, BYTES);
        pair_free(pair);
    }
}

static pid_t dead(void)
{
    pid_t child = fork();
    if (child == 0) {
        _exit(0);
    }
    return child;
}

static void nothing_is_written_under_a_dead_ones_number(void **state)
{
    struct tern__unread unread;
    pid_t child = dead();
    struct pair *pair = pair_make(child);
    assert_int_equal(waitpid(child, NULL, 0), child);
    open_it(pair, BYTES);
    assert_true(tern__help_give(&pair->group, 0, &pair->help));
    for (size_t i = 0; i < BYTES; i++) {
        assert_int_equal(pair->to[i], 0);
    }
    assert_int_equal(take(pair, BYTES, &unread), -1);
    assert_int_equal(unread.error, ESRCH);
    pair_free(pair);
}

// An owner that was stopped after it had claimed a piece, or has died so.
static void who_leaves_waits_for_a_piece_but_not_for_ever(void **state)
{
    enum { ONE_OF_THE_BACK = 1 << 10 };
    for (int dies = 0; dies < 2; dies++) {
        pid_t child = dies ? dead() : 0;
        struct pair *pair = pair_make(dies ? child : getpid());
        struct tern__unread unread;
        assert_true(!dies || waitpid(child, NULL, 0) == child);
        open_it(pair, BYTES);
        tern__flag_add(&pair->help.claims, ONE_OF_THE_BACK);
        assert_int_equal(take(pair, BYTES, &unread), 0);
        int64_t begin_ns = tern__now_ns();
        tern__help_leave(&pair->group, 1, &pair->help, begin_ns + TERN__HELP_LEAVE_NS);
        int64_t took_ns = tern__now_ns() - begin_ns;
        assert_true(dies ? took_ns < 500000000 : took_ns >= 1000000000 && took_ns < 20000000000);
        assert_false(tern__help_is_wanted(&pair->help));
        pair_free(pair);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nobody_needs_to_help),
        cmocka_unit_test(the_owner_may_do_all_of_it),
        cmocka_unit_test(both_at_once_copy_each_byte),
        cmocka_unit_test(what_cannot_be_written_the_taker_reads),
        cmocka_unit_test(nothing_is_written_under_a_dead_ones_number),
        cmocka_unit_test(who_leaves_waits_for_a_piece_but_not_for_ever),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
