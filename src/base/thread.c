// SPDX-License-Identifier: Apache-2.0
#include "base/thread.h"

#include <signal.h>
#include <string.h>

#include "base/error.h"

enum { STACK_BYTES = 2 << 20 };

// Signals are for the program's own threads, but an error of a kernel is told to who asks for it:
// where it is blocked, the process would die without its handler.
static void block_signals(sigset_t *before)
{
    static const int errors[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP, SIGSYS};
    sigset_t set;
    sigfillset(&set);
    for (size_t i = 0; i < sizeof errors / sizeof errors[0]; i++) {
        sigdelset(&set, errors[i]);
    }
    pthread_sigmask(SIG_SETMASK, &set, before);
}

int tern__thread_start(pthread_t *thread, void *(*body)(void *), void *arg)
{
    sigset_t before;
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, STACK_BYTES);
    block_signals(&before);
    int error = pthread_create(thread, &attributes, body, arg);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    if (error != 0) {
        return tern__fail(TERN_ERR_SYSTEM, "cannot start a thread: %s", strerror(error));
    }
    return TERN_OK;
}
