// SPDX-License-Identifier: Apache-2.0
// Copies past the caches, where the processor has stores for that.

#include "xport/expose.h"

#include <string.h>

#include "base/order.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

static bool is_maker(const uint32_t words[3], const char *name)
{
    return memcmp(words, name, 12) == 0;
}

bool tern__past_is_quicker(void)
{
    uint32_t words[3] = {0};
#if defined(__x86_64__)
    uint32_t most;
    if (__get_cpuid(0, &most, &words[0], &words[2], &words[1]) == 0) {
        return false;
    }
#endif
    return is_maker(words, "AuthenticAMD") || is_maker(words, "HygonGenuine");
}

#if defined(__SSE2__) && !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__)

#include <emmintrin.h>

static void copy_lines(char *to, const char *from, uint64_t bytes)
{
    for (uint64_t at = 0; at < bytes; at += TERN_CACHE_LINE) {
        const __m128i *source = (const __m128i *)(const void *)(from + at);
        __m128i *line = (__m128i *)(void *)(to + at);
        __m128i a = _mm_loadu_si128(source);
        __m128i b = _mm_loadu_si128(source + 1);
        __m128i c = _mm_loadu_si128(source + 2);
        __m128i d = _mm_loadu_si128(source + 3);
        _mm_stream_si128(line, a);
        _mm_stream_si128(line + 1, b);
        _mm_stream_si128(line + 2, c);
        _mm_stream_si128(line + 3, d);
    }
    _mm_sfence(); // such stores are in no order with those of flags
}

void tern__expose(void *to, const void *from, uint64_t bytes)
{
    if (bytes < TERN__EXPOSE_FROM) {
        memcpy(to, from, bytes);
        return;
    }
    char *begin = to;
    const char *source = from;
    uint64_t head = -(uintptr_t)begin % TERN_CACHE_LINE;
    uint64_t lines = (bytes - head - 1) / TERN_CACHE_LINE * TERN_CACHE_LINE; // not the last one
    memcpy(begin, source, head);
    copy_lines(begin + head, source + head, lines);
    memcpy(begin + head + lines, source + head + lines, bytes - head - lines);
}

#else

void tern__expose(void *to, const void *from, uint64_t bytes)
{
    tern__memcpy(to, from, bytes);
}

#endif
