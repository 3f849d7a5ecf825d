// SPDX-License-Identifier: Apache-2.0
// The block that a thread runs: its number and its on-chip memory.
#ifndef TERN_ISA_BLOCK_H
#define TERN_ISA_BLOCK_H

#include <stdbool.h>

#include "base/order.h"
#include "sync/bell.h"
#include "tern/block.h"

struct tern__cluster;

// Where the blocks of a kernel meet.
struct tern__block_meeting {
    _Atomic uint32_t arrived; // counts up
    struct tern__bell bell;
};

struct tern__block {
    int index, count;
    const char *kernel;     // NULL: the thread runs no block
    _Atomic uint32_t waits; // sleeps until there is a signal
    struct tern__block_meeting *meeting;
    struct tern__cluster *cluster; // of a block of a mixed task; else NULL
    int lane;                      // there: 0 the AIC, 1 and 2 the AIV
    int noted;    // status of the first note; TERN_OK: none
    char *note;   // its sentence, of malloc; NULL: none, or there was no memory
    char *memory; // all buffers, one after the other; mapped when first asked for
};

// TERN_ERR_ARG for a word in TERN_CHIP that there is not.
int tern__block_options(void);

// The calling thread's. A handler of signals may ask.
struct tern__block *tern__block_here(void);

// The calling thread's block has ended, with this status. Returns it if it is an error, else that
// of its first note, and the sentence is the thread's. Forgets the note.
int tern__block_end(int status);

// Whether an address is in its on-chip memory.
bool tern__block_has(const void *address);

// The same, with the buffer and the byte of it: above its size, if it is in the room between two
// that nobody may touch. A handler of signals may ask, of a thread that runs a block.
bool tern__block_locate(const void *address, const char **buffer, size_t *byte, size_t *bytes);

#endif
