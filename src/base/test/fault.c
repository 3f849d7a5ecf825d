// SPDX-License-Identifier: Apache-2.0
// ctest-threads: none
// Handlers of faults, and a program's own among them: each is called once, in whichever order they
// come and go.
#include "support/cmocka.h"

#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fault.h"

enum { CALLED_OFTEN = 9 };

static struct sigaction old;
static int calls;
static int *said; // shared with the child

static void say(struct tern__fault *fault)
{
    (void)fault;
    ++*said;
}

// As such handlers are written: theirs, then whoever was there before.
static void chains(int number, siginfo_t *info, void *context)
{
    if (++calls > 1) {
        _exit(CALLED_OFTEN);
    }
    if ((old.sa_flags & SA_SIGINFO) != 0) {
        old.sa_sigaction(number, info, context);
    } else {
        signal(number, SIG_DFL); // the instruction is run again
    }
}

static void install(void)
{
    struct sigaction action = {.sa_sigaction = chains, .sa_flags = SA_SIGINFO};
    sigaction(SIGSEGV, &action, &old);
}

// Each letter: (w)atch, (u)nwatch, (i)nstall a handler, (d)efault, a (f)ault. `says`: how often a
// fault is told.
static void steps(const char *letters, int wanted, int says)
{
    *said = 0;
    pid_t child = fork();
    if (child == 0) {
        signal(SIGSEGV, SIG_DFL); // not that of cmocka
        for (const char *at = letters; *at != '\0'; at++) {
            switch (*at) {
            case 'w':
                tern__fault_watch(say);
                break;
            case 'u':
                tern__fault_unwatch(say);
                break;
            case 'i':
                install();
                break;
            case 'd':
                signal(SIGSEGV, SIG_DFL);
                break;
            default:
                *(volatile char *)(uintptr_t)8 = 1;
            }
        }
        struct sigaction now;
        sigaction(SIGSEGV, NULL, &now);
        _exit((now.sa_flags & SA_SIGINFO) != 0 ? 2 : 3); // there is a handler, or none
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    if (status != wanted || *said != says) {
        fail_msg("'%s': wait status %#x, not %#x, said %d times", letters, status, wanted, *said);
    }
}

static void handlers_are_called_once(void **state)
{
    (void)state;
    steps("wf", SIGSEGV, 1);
    steps("if", SIGSEGV, 0);
    steps("wif", SIGSEGV, 1);
    steps("iwf", SIGSEGV, 1);
    steps("wiuf", SIGSEGV, 0);
    steps("wiuwf", SIGSEGV, 1);
    steps("wiuwuwuwf", SIGSEGV, 1);
    steps("wiuwuf", SIGSEGV, 0);
}

static void handlers_go_again(void **state)
{
    (void)state;
    steps("w", 2 << 8, 0);
    steps("wu", 3 << 8, 0);
    steps("wuw", 2 << 8, 0);
    steps("iwu", 2 << 8, 0);  // the program's
    steps("wiud", 3 << 8, 0); // the program has taken all away
    steps("wiudw", 2 << 8, 0);
    steps("wiudwu", 3 << 8, 0);
}

int main(void)
{
    said = mmap(NULL, sizeof *said, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(handlers_are_called_once),
        cmocka_unit_test(handlers_go_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
