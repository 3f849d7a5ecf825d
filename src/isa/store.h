// SPDX-License-Identifier: Apache-2.0
// How a row is stored, so that who waits for its first element can read the rest.
#ifndef TERN_ISA_STORE_H
#define TERN_ISA_STORE_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/order.h"

// Not whole lines.
__attribute__((noinline, unused)) static void
tern__store_unaligned(char *to, const char *from, size_t bytes, size_t element_bytes)
{
    size_t word = element_bytes > sizeof(uint32_t) ? element_bytes : sizeof(uint32_t);
    if (((uintptr_t)to & (word - 1)) != 0 || bytes < word) { // a power of 2
        memcpy(to, from, bytes);                             // no word that anybody could wait for
        return;
    }
    size_t line = TERN_CACHE_LINE - (uintptr_t)to % TERN_CACHE_LINE;
    size_t first = bytes < line ? bytes : line;
    memcpy(to + first, from + first, bytes - first);
    memcpy(to + word, from + word, first - word);
    tern__publish_bytes(to, from, word); // partner: who waits for the row
}

// The first element, or word, last, and all of the first line after the others.
static inline void tern__store_bytes(char *to, const char *from, size_t bytes, size_t element_bytes)
{
    if ((uintptr_t)to % TERN_CACHE_LINE != 0 || bytes < TERN_CACHE_LINE) {
        tern__store_unaligned(to, from, bytes, element_bytes);
        return;
    }
    memcpy(to + TERN_CACHE_LINE, from + TERN_CACHE_LINE, bytes - TERN_CACHE_LINE);
    memcpy(to + sizeof(uint64_t), from + sizeof(uint64_t), TERN_CACHE_LINE - sizeof(uint64_t));
    tern__publish_bytes(to, from, sizeof(uint64_t)); // partner: who waits for the row
}

#endif
