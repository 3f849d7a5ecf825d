// SPDX-License-Identifier: Apache-2.0
// What a kernel may ask of the block that runs it: which one it is, and its on-chip memory. A block
// is one call of the kernel, on a thread of its own (tern/stream.h). A thread that runs no block is
// block 0 of 1 and has on-chip memory, too. Any thread.
#ifndef TERN_BLOCK_H
#define TERN_BLOCK_H

#include <stddef.h>
#include <stdint.h>

#include "tern/api.h"

TERN_BEGIN_DECLS

TERN_API int tern_block_index(void);
TERN_API int tern_block_count(void);

// The memories of tern/buffer.def; TERN_BUFFER_UB, …
typedef enum tern_buffer {
#define TERN_BUFFER(NAME, name, a2a3_bytes, a5_bytes) TERN_BUFFER_##NAME,
#include "tern/buffer.def"
#undef TERN_BUFFER
    TERN_BUFFERS,
} tern_buffer;

// Bytes of it on this chip model: TERN_CHIP in the environment, a2a3 (the default) or a5. 0 for
// what is no buffer.
TERN_API size_t tern_buffer_size(tern_buffer buffer);

// The address of `size_bytes` bytes at offset_bytes of the block's own. Its contents are what the
// last block on this thread has left; unlike a window, no other block sees them. TERN_ERR_ARG for a
// range that sticks out, for an offset that is no multiple of 32, and for another word in
// TERN_CHIP; TERN_ERR_MEMORY.
TERN_CALL int tern_buffer_address(tern_buffer buffer, size_t offset_bytes, size_t size_bytes,
                                  void **address);

TERN_END_DECLS

#endif
