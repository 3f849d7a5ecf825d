// SPDX-License-Identifier: Apache-2.0
// Reductions with a caller's function: sources in their order to m destinations, as isa/reduce.h
// has it. The function is called for blocks of whole elements that lie in the cache; its
// accumulator and its source are aligned to a cache line, or as the source is when that is a
// multiple of the element.
#ifndef TERN_ISA_REDUCE_FUNCTION_H
#define TERN_ISA_REDUCE_FUNCTION_H

#include <stddef.h>

#include "tern/op.h"

// element_bytes: 1..TERN__REDUCE_FUNCTION_MAX, of the dtype. Pointers need no alignment. A
// destination may be one of the sources; any other overlap is the caller's mistake. Data path: no
// allocation, lock, system call or log but the function's.
void tern__reduce_function(tern_reduce_function *function, void *arg, size_t element_bytes,
                           char *const *destinations, int destinations_count,
                           const char *const *sources, int sources_count, size_t count);

#define TERN__REDUCE_FUNCTION_MAX 4096

#endif
