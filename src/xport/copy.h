// SPDX-License-Identifier: Apache-2.0
// Long copies, by the quickest of three ways (xport/quickest.h).
#ifndef TERN_XPORT_COPY_H
#define TERN_XPORT_COPY_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/memcpy.h"
#include "xport/quickest.h"

enum tern__copy_way {
    TERN__COPY_WHOLE, // one memcpy
    // memcpy of parts that fit the second-level cache: for those glibc takes `rep movsb` where the
    // processor has a good one, which need not read the lines that it writes
    TERN__COPY_PARTS,
    TERN__COPY_PAST, // past the caches (xport/expose.h)
    TERN__COPY_WAYS
};

#define TERN__COPY_PART ((size_t)256 << 10)

// Copies of so many bytes and more are long.
#define TERN__COPY_LONG ((size_t)2 << 20)

// What reads and writes so many bytes, all together, may go past the caches: there who reads the
// result finds it in memory either way.
#define TERN__PAST_FROM (UINT64_C(16) << 20)

// What is known of them in this process.
extern struct tern__quickest tern__copy_known[TERN__QUICKEST_CLASSES];

void tern__copy_by(enum tern__copy_way way, char *to, const char *from, size_t bytes);

// Of any length; meant for TERN__COPY_LONG bytes and more. Data path.
void tern__copy_long(void *to, const void *from, size_t bytes);

static inline void tern__copy(void *to, const void *from, size_t bytes)
{
    if (bytes < TERN__COPY_LONG) {
        tern__memcpy(to, from, bytes);
    } else {
        tern__copy_long(to, from, bytes);
    }
}

#endif
