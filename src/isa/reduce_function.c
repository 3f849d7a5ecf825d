// SPDX-License-Identifier: Apache-2.0
// Blocks of the accumulator, and of sources that are not aligned, on the stack.

#include "isa/reduce_function.h"

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/memcpy.h"

enum { BLOCK_BYTES = TERN__REDUCE_FUNCTION_MAX };

static bool is_aligned(const char *address, size_t to)
{
    return (uintptr_t)address % to == 0;
}

void tern__reduce_function(tern_reduce_function *function, void *arg, size_t element_bytes,
                           char *const *destinations, int destinations_count,
                           const char *const *sources, int sources_count, size_t count)
{
    _Alignas(64) char accumulator[BLOCK_BYTES];
    _Alignas(64) char straight[BLOCK_BYTES];
    assert(element_bytes > 0 && element_bytes <= BLOCK_BYTES);
    size_t block = BLOCK_BYTES / element_bytes;
    for (size_t at = 0; at < count; at += block) {
        size_t part = count - at < block ? count - at : block;
        size_t offset = at * element_bytes;
        size_t bytes = part * element_bytes;
        tern__memcpy(accumulator, sources[0] + offset, bytes);
        for (int s = 1; s < sources_count; s++) {
            const char *source = sources[s] + offset;
            if (!is_aligned(source, element_bytes)) {
                tern__memcpy(straight, source, bytes);
                source = straight;
            }
            function(accumulator, source, part, arg);
        }
        for (int d = 0; d < destinations_count; d++) {
            tern__memcpy(destinations[d] + offset, accumulator, bytes);
        }
    }
}
