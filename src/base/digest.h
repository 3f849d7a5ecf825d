// SPDX-License-Identifier: Apache-2.0
// A digest of bytes that ranks compare instead of the bytes: FNV-1a (Fowler, Noll, Vo).
#ifndef TERN_BASE_DIGEST_H
#define TERN_BASE_DIGEST_H

#include <stddef.h>
#include <stdint.h>

#define TERN__DIGEST_EMPTY UINT64_C(0xcbf29ce484222325)

// The digest of what `digest` is of, followed by these bytes.
static inline uint64_t tern__digest_add(uint64_t digest, const void *bytes, size_t count)
{
    const unsigned char *at = bytes;
    for (size_t i = 0; i < count; i++) {
        digest = (digest ^ at[i]) * UINT64_C(0x100000001b3);
    }
    return digest;
}

#endif
