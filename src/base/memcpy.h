// SPDX-License-Identifier: Apache-2.0
// memcpy that is as quick wherever the bytes lie. For about 2 KiB to some 100 KiB glibc takes
// `rep movsb` where the processor says that it has a quick one. That of AMD's Zen 3 is not when the
// destination lies 1 to 31 bytes behind the source, counted modulo a page: 1.5 to 3 GB/s in place
// of 30 to 50 (of Zen 4 glibc's bug 30994 says so). Long memory of malloc begins 16 bytes behind a
// page, windows and slots begin with one: what a program takes out of a slot would be copied so.
// glibc does not take it for TERN__MEMCPY_PART bytes.
#ifndef TERN_BASE_MEMCPY_H
#define TERN_BASE_MEMCPY_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define TERN__MEMCPY_PART ((size_t)2 << 10)

// Part by part.
void tern__memcpy_parts(void *to, const void *from, size_t bytes);

// As memcpy. Data path.
static inline void tern__memcpy(void *to, const void *from, size_t bytes)
{
    if (!__builtin_constant_p(bytes)) {
        __asm__("" : "+r"(bytes)); // gcc, where it knows the most, would make a `rep movsq`
    }
    if (bytes > TERN__MEMCPY_PART && ((uintptr_t)to - (uintptr_t)from) % 4096 - 1 < 31) {
        tern__memcpy_parts(to, from, bytes);
    } else {
        memcpy(to, from, bytes);
    }
}

// As memmove: what lies apart is copied.
static inline void tern__memmove(void *to, const void *from, size_t bytes)
{
    if ((uintptr_t)to - (uintptr_t)from >= bytes && (uintptr_t)from - (uintptr_t)to >= bytes) {
        tern__memcpy(to, from, bytes);
    } else {
        memmove(to, from, bytes);
    }
}

#endif
