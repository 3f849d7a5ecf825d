// SPDX-License-Identifier: Apache-2.0
// Threads of a chip.
#ifndef TERN_STREAM_THREAD_H
#define TERN_STREAM_THREAD_H

#include <pthread.h>

// Starts a thread of a chip: signals of the process are not for it.
int tern__thread_start(pthread_t *thread, void *(*body)(void *), void *arg);

#endif
