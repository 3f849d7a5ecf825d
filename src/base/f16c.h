// SPDX-License-Identifier: Apache-2.0
// Whether this processor converts f16 itself.
#ifndef TERN_BASE_F16C_H
#define TERN_BASE_F16C_H

#include <stdbool.h>

#include "base/order.h"

#if defined(__x86_64__)
#include <cpuid.h>

// Not every compiler's __builtin_cpu_supports knows the word "f16c".
static inline bool tern__has_f16c(void)
{
    static _Atomic uint32_t known; // 1: it has not, 2: it has; the instruction below is slow
    if (tern__peek(&known) != 0) {
        return tern__peek(&known) == 2;
    }
    unsigned a;
    unsigned b;
    unsigned c;
    unsigned d;
    bool has = __get_cpuid(1, &a, &b, &c, &d) != 0 && (c & bit_F16C) != 0;
    tern__poke(&known, has ? 2 : 1);
    return has;
}
#else
static inline bool tern__has_f16c(void)
{
    return false;
}
#endif

#endif
