// SPDX-License-Identifier: Apache-2.0
// A kernel that breaks the process is named first: "tern: rank 1: kernel 'add', block 0 of 2: no
// memory to use at address 0x10".
#ifndef TERN_ISA_FAULT_H
#define TERN_ISA_FAULT_H

#include "base/fault.h"

// Where a handler runs when the thread's own stack is used up. It lies on that stack, in the frame
// of the thread's main function.
struct tern__fault_stack {
    _Alignas(64) char bytes[32 << 10];
};

// The calling thread is to run kernels or orchestrations until its end. stack: NULL for a thread
// of the program.
void tern__kernel_thread_begin(struct tern__fault_stack *stack);
void tern__kernel_thread_end(const struct tern__fault_stack *stack);

// What the thread did, as tern__fault_describe, but knows stacks and on-chip memory too.
void tern__kernel_fault_describe(struct tern__fault *fault);

#endif
