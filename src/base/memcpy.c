// SPDX-License-Identifier: Apache-2.0
// memcpy, part by part.

#include "base/memcpy.h"

void tern__memcpy_parts(void *to, const void *from, size_t bytes)
{
    for (size_t at = 0; at < bytes; at += TERN__MEMCPY_PART) {
        size_t rest = bytes - at;
        size_t part = rest < TERN__MEMCPY_PART ? rest : TERN__MEMCPY_PART;
        __asm__("" : "+r"(part)); // as in tern__memcpy
        memcpy((char *)to + at, (const char *)from + at, part);
    }
}
