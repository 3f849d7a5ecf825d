// SPDX-License-Identifier: Apache-2.0
#include "stream/thread.h"

#include <signal.h>
#include <string.h>

#include "base/error.h"

enum { STACK_BYTES = 2 << 20 };

int tern__thread_start(pthread_t *thread, void *(*body)(void *), void *arg)
{
    sigset_t all;
    sigset_t before;
    pthread_attr_t attributes;
    sigfillset(&all);
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, STACK_BYTES);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int error = pthread_create(thread, &attributes, body, arg);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    if (error != 0) {
        return tern__fail(TERN_ERR_SYSTEM, "cannot start a thread: %s", strerror(error));
    }
    return TERN_OK;
}
