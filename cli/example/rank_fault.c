// SPDX-License-Identifier: Apache-2.0
// A rank that dies of a bad address, of a division by zero or of abort() says where, as its last
// line: most often it is a kernel that takes an argument for what it is not.

#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

#include "example/rank.h"

static int own_rank; // for the handler

// What the signal says, in few words.
static void describe(const siginfo_t *info, char *text, size_t room)
{
    if (info->si_code <= 0) { // abort(), or from another process
        snprintf(text, room, "%s", info->si_signo == SIGABRT ? "abort()" : "a signal from outside");
    } else if (info->si_signo == SIGFPE) {
        snprintf(text, room, "a division by zero or an overflow");
    } else if (info->si_signo == SIGILL) {
        snprintf(text, room, "an instruction that the processor does not have");
    } else if (info->si_code == SI_KERNEL) { // not one of the 2^47 addresses that there are
        snprintf(text, room, "a pointer that is no address");
    } else {
        snprintf(text, room, "no memory to use at address 0x%jx", (uintmax_t)info->si_addr);
    }
}

// The name lies beside the task's arguments, where a kernel that has gone wrong may have written.
static const char *place(const char *kernel, char *text, size_t room)
{
    enum { NAME_MAX_BYTES = 64 };
    size_t bytes = 0;
    while (kernel != NULL && bytes < NAME_MAX_BYTES && kernel[bytes] != '\0') {
        if (kernel[bytes] < ' ' || kernel[bytes] > '~') {
            bytes = 0;
            break;
        }
        bytes++;
    }
    if (bytes > 0) {
        snprintf(text, room, "kernel '%.*s', block %d", (int)bytes, kernel, tern_kernel_block());
    } else {
        snprintf(text, room, "%s",
                 kernel != NULL ? "a kernel whose task was overwritten" : "no kernel");
    }
    return text;
}

static void tell_fault(int number, siginfo_t *info, void *context)
{
    (void)context;
    char what[80], where[96], line[256];
    describe(info, what, sizeof what);
    int length = snprintf(line, sizeof line, "[rank %d] in %s: %s\n", own_rank,
                          place(tern_kernel_name(), where, sizeof where), what);
    size_t bytes = length < (int)sizeof line ? (size_t)length : sizeof line - 1;
    ssize_t written = write(STDOUT_FILENO, line, bytes);
    (void)written; // the rank ends in any case
    signal(number, SIG_DFL);
    if (info->si_code <= 0) {
        raise(number); // else the faulting instruction comes again
    }
}

void rank_tell_faults(const struct rank_job *job)
{
    own_rank = job->rank;
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) // whose reports say more
    static const int signals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
    struct sigaction action = {.sa_sigaction = tell_fault, .sa_flags = SA_SIGINFO | SA_NODEFER};
    for (size_t i = 0; i < sizeof signals / sizeof signals[0]; i++) {
        sigaction(signals[i], &action, NULL);
    }
#else
    (void)tell_fault;
#endif
}
