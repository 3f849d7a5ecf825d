// SPDX-License-Identifier: Apache-2.0
// ctest-threads: none
// What the tests themselves say of a rank that hangs: how it hangs, and where.
#include "support/cmocka.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/ranks.h"

static atomic_bool forever = true;

static int hang(int rank, const struct ranks *ranks, void *arg)
{
    while (rank == 1 && forever) {
        pause();
    }
    while (rank == 2 && forever) { // no system call ends it
    }
    return 0;
}

// Standard error of what is between, in a file that has no name.
static FILE *catch (int *before)
{
    FILE *file = tmpfile();
    assert_non_null(file);
    fflush(stderr);
    *before = dup(STDERR_FILENO);
    dup2(fileno(file), STDERR_FILENO);
    return file;
}

static void let_go(FILE *file, int before, char *text, size_t size)
{
    fflush(stderr);
    dup2(before, STDERR_FILENO);
    close(before);
    rewind(file);
    text[fread(text, 1, size - 1, file)] = '\0';
    fclose(file);
}

static int count_of(const char *text, const char *words)
{
    int count = 0;
    for (const char *at = text; (at = strstr(at, words)) != NULL; at++) {
        count++;
    }
    return count;
}

static void a_rank_that_hangs_says_where(void **state)
{
    struct ranks ranks;
    char text[16384];
    int before;
    FILE *file = catch (&before);
    ranks_begin(&ranks, 3, hang, NULL);
    siginfo_t end;
    waitid(P_PID, (id_t)ranks.pids[0], &end, WEXITED | WNOWAIT); // however long that takes
    bool all = ranks_wait(&ranks, 0.2);
    bool clean = ranks_end(&ranks);
    let_go(file, before, text, sizeof text);
    assert_false(all);
    assert_true(clean);
    assert_int_equal(ranks.statuses[0], 0);
    assert_int_equal(ranks.statuses[1], SIGKILL);
    assert_int_equal(ranks.statuses[2], SIGKILL);
    const char *sleeper = strstr(text, "rank 1 of 3 did not end");
    const char *runner = strstr(text, "rank 2 of 3 did not end");
    if (sleeper == NULL || runner == NULL || strstr(text, "rank 0 of 3") != NULL ||
        count_of(text, "state S, ") != 1 || count_of(runner, "state R, ") != 1 ||
        count_of(sleeper, "test_sync_hang(") < 4) { // hang and main of both
        fail_msg("it says: %s", text);
    }
}

// A signal to process 0 would be one to everybody in the group: to all tests that run.
static int know(int rank, const struct ranks *ranks, void *arg)
{
    CHECK(ranks->pids[rank] == getpid());
    for (int other = 0; other < ranks->count; other++) {
        CHECK(other > rank ? kill(ranks->pids[other], 0) < 0 && errno == ESRCH
                           : ranks->pids[other] > 1);
    }
    return 0;
}

static void a_rank_signals_nobody_that_it_does_not_know(void **state)
{
    assert_true(ranks_run(3, know, NULL, 20));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_rank_that_hangs_says_where),
        cmocka_unit_test(a_rank_signals_nobody_that_it_does_not_know),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
