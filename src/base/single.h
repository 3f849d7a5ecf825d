// SPDX-License-Identifier: Apache-2.0
// Whether the process has one thread now: then nobody else looks at what its threads share.
#ifndef TERN_BASE_SINGLE_H
#define TERN_BASE_SINGLE_H

#include <stdbool.h>

#if defined(__has_include) && __has_include(<sys/single_threaded.h>)
#include <sys/single_threaded.h>
static inline bool tern__single_threaded(void)
{
    return __libc_single_threaded != 0;
}
#else
static inline bool tern__single_threaded(void)
{
    return false;
}
#endif

#endif
