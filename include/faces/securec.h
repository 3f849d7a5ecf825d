// SPDX-License-Identifier: Apache-2.0
// The two functions of the bounds-checking C library that hosts of kernels use. 0, or an errno:
// then nothing is written but, by strncpy_s, the end of an empty string.
#ifndef TERN_FACES_SECUREC_H
#define TERN_FACES_SECUREC_H

#include <errno.h>
#include <stddef.h>
#include <string.h>

#ifndef EOK
#define EOK 0
#endif
typedef int errno_t;

static inline errno_t memset_s(void *dest, size_t destMax, int c, size_t count)
{
    if (dest == NULL || count > destMax) {
        return dest == NULL ? EINVAL : ERANGE;
    }
    memset(dest, c, count);
    return EOK;
}

static inline errno_t strncpy_s(char *dest, size_t destMax, const char *src, size_t count)
{
    if (dest == NULL || src == NULL || destMax == 0) {
        return EINVAL;
    }
    const char *end = (const char *)memchr(src, '\0', count);
    size_t length = end != NULL ? (size_t)(end - src) : count;
    if (length >= destMax) {
        dest[0] = '\0';
        return ERANGE;
    }
    memcpy(dest, src, length);
    dest[length] = '\0';
    return EOK;
}

#endif
