// SPDX-License-Identifier: Apache-2.0
// Threads of the library: of chips, servers, and of what comes from other machines.
#ifndef TERN_BASE_THREAD_H
#define TERN_BASE_THREAD_H

#include <pthread.h>

// Starts one: signals of the process are not for it.
int tern__thread_start(pthread_t *thread, void *(*body)(void *), void *arg);

#endif
