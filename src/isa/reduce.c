// SPDX-License-Identifier: Apache-2.0
// Picks the reduce kernels that this processor can run. Data path, after the first time.

#include "isa/reduce.h"

#include <stdbool.h>

#include "base/f16c.h"

#if defined(__x86_64__)
static const tern__reduce_table *find_table(enum tern__reduce_level level)
{
    switch (level) {
    case TERN__REDUCE_AVX512:
        return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                       __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl")
                   ? &tern__reduce_avx512
                   : NULL;
    case TERN__REDUCE_AVX2:
        return __builtin_cpu_supports("avx2") && tern__has_f16c() ? &tern__reduce_avx2 : NULL;
    case TERN__REDUCE_PORTABLE:
        return &tern__reduce_portable;
    case TERN__REDUCE_LEVELS:
        break;
    }
    return NULL;
}
#else
static const tern__reduce_table *find_table(enum tern__reduce_level level)
{
    return level == TERN__REDUCE_PORTABLE ? &tern__reduce_portable : NULL;
}
#endif

tern__reduce_fn *tern__reduce_at(enum tern__reduce_level level, tern_dtype dtype, tern_reduce_op op)
{
    const tern__reduce_table *table = find_table(level);
    if (table == NULL || (unsigned)dtype >= TERN__REDUCE_DTYPES ||
        (unsigned)op >= TERN__REDUCE_OPS) {
        return NULL;
    }
    tern__reduce_fn *found = (*(*table)[dtype])[op];
    return found != NULL ? found : (*tern__reduce_scalar[dtype])[op];
}

tern__reduce_fn *tern__reduce_find(tern_dtype dtype, tern_reduce_op op)
{
    for (int level = TERN__REDUCE_LEVELS - 1; level >= 0; level--) {
        tern__reduce_fn *found = tern__reduce_at((enum tern__reduce_level)level, dtype, op);
        if (found != NULL) {
            return found;
        }
    }
    return NULL;
}
