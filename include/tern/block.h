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

// For a kernel that has found something wrong: remembers the sentence, and returns `status`, which
// is below 0, for the kernel to return.
TERN_CALL int tern_block_fail(int status, const char *format, ...) TERN_PRINTF(2, 3);

// For a kernel that has found something wrong and goes on: synchronizing with its stream returns
// the status and the sentence of the block's first note, unless the block fails otherwise. Waits of
// other blocks go on. Returns `status`, which is below 0.
TERN_CALL int tern_block_note(int status, const char *format, ...) TERN_PRINTF(2, 3);

// A full fence of memory: what cache operations of the chip become. Wakes who waits
// (tern_tensor_wait) for what this thread has stored before: in memory of this process, and in
// windows by the instructions of tern/isa.h.
TERN_API void tern_fence(void);

// The pipes of a core. What is on one of them happens in order; between two, only a flag or a
// barrier orders. Here all happens at once, so a barrier is a fence and a flag nothing, but in
// checking mode (TERN_ISA_CHECK=1 in the environment): there what a block stores happens when a
// barrier of MTE3 or all pipes, or a flag that MTE3 has set, orders it.
typedef enum tern_pipe {
    TERN_PIPE_S = 0,    // scalars
    TERN_PIPE_V = 1,    // vectors
    TERN_PIPE_M = 2,    // matrices
    TERN_PIPE_MTE1 = 3, // between buffers
    TERN_PIPE_MTE2 = 4, // loads
    TERN_PIPE_MTE3 = 5, // stores
    TERN_PIPE_ALL = 6,
    TERN_PIPE_FIX = 10, // accumulator to memory
} tern_pipe;
TERN_API void tern_pipe_barrier(tern_pipe pipe);
TERN_API void tern_flag_set(tern_pipe from, tern_pipe to, int event); // events 0..7
TERN_API void tern_flag_wait(tern_pipe from, tern_pipe to, int event);

// Returns when all blocks of the kernel have come here; what they wrote before is visible. All of
// them call it, as often. TERN_ERR_TIMEOUT after TERN_TIMEOUT seconds (60); TERN_ERR_KERNEL when
// one failed.
TERN_CALL int tern_block_sync(void);

// The same for the first `blocks` that come (0: all of the kernel's), which count in *arrived, a
// word in a window or in other memory. It has been 0 once, and counts up.
TERN_CALL int tern_block_sync_soft(int32_t *arrived, int blocks);

TERN_END_DECLS

#endif
