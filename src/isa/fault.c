// SPDX-License-Identifier: Apache-2.0
#include "isa/fault.h"

#include <pthread.h>

#include "isa/block.h"

// The stack of a thread that has begun; 0: not known.
static _Thread_local struct {
    uintptr_t low;
    size_t bytes, guard_bytes;
} own_stack __attribute__((tls_model("initial-exec")));

static bool stack_is_full(const struct tern__fault *fault)
{
    uintptr_t address = (uintptr_t)fault->info->si_addr;
    return own_stack.low != 0 && fault->number == SIGSEGV && fault->info->si_code > 0 &&
           ((fault->stack_pointer != 0 && fault->stack_pointer < own_stack.low) ||
            (address < own_stack.low && address >= own_stack.low - own_stack.guard_bytes));
}

void tern__kernel_fault_describe(struct tern__fault *fault)
{
    const char *name;
    size_t byte, bytes;
    if (stack_is_full(fault)) {
        tern__fault_add(fault, "its stack of ");
        tern__fault_add_number(fault, own_stack.bytes >> 10);
        tern__fault_add(fault, " KiB is used up");
    } else if (fault->number == SIGSEGV && fault->info->si_code > 0 &&
               tern__block_locate(fault->info->si_addr, &name, &byte, &bytes) && byte >= bytes) {
        tern__fault_add(fault, "it touched byte ");
        tern__fault_add_number(fault, byte);
        tern__fault_add(fault, " of its ");
        tern__fault_add(fault, name);
        tern__fault_add(fault, ", which has ");
        tern__fault_add_number(fault, bytes);
    } else {
        tern__fault_describe(fault);
    }
}

// The name may lie beside the arguments, where a kernel that has gone wrong may have written.
static bool can_be_read(const char *name)
{
    enum { NAME_BYTES_MAX = 128 };
    size_t bytes = 0;
    while (name[bytes] >= ' ' && name[bytes] <= '~' && bytes < NAME_BYTES_MAX) {
        bytes++;
    }
    return bytes > 0 && name[bytes] == '\0';
}

static void name_kernel(struct tern__fault *fault)
{
    const struct tern__block *block = tern__block_here();
    if (block->kernel == NULL) {
        return;
    }
    tern__fault_begin(fault);
    if (can_be_read(block->kernel)) {
        tern__fault_add(fault, "kernel '");
        tern__fault_add(fault, block->kernel);
        tern__fault_add(fault, "'");
    } else {
        tern__fault_add(fault, "a kernel whose name was overwritten");
    }
    tern__fault_add(fault, ", block ");
    tern__fault_add_number(fault, (uint64_t)block->index);
    tern__fault_add(fault, " of ");
    tern__fault_add_number(fault, (uint64_t)block->count);
    tern__fault_add(fault, ": ");
    tern__kernel_fault_describe(fault);
    tern__fault_add(fault, "\n");
}

static void watch(void)
{
    tern__fault_watch(name_kernel);
}

void tern__kernel_thread_begin(struct tern__fault_stack *stack)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, watch);
    stack_t is;
    pthread_attr_t attributes;
    // A sanitizer has its own.
    if (stack == NULL || sigaltstack(NULL, &is) != 0 || (is.ss_flags & SS_DISABLE) == 0 ||
        pthread_getattr_np(pthread_self(), &attributes) != 0) {
        return;
    }
    void *low;
    if (pthread_attr_getstack(&attributes, &low, &own_stack.bytes) == 0 &&
        pthread_attr_getguardsize(&attributes, &own_stack.guard_bytes) == 0) {
        own_stack.low = (uintptr_t)low;
    }
    pthread_attr_destroy(&attributes);
    is = (stack_t){.ss_sp = stack->bytes, .ss_size = sizeof stack->bytes};
    sigaltstack(&is, NULL);
}

void tern__kernel_thread_end(const struct tern__fault_stack *stack)
{
    stack_t is;
    if (sigaltstack(NULL, &is) == 0 && is.ss_sp == stack->bytes) {
        is.ss_flags = SS_DISABLE;
        sigaltstack(&is, NULL);
    }
    own_stack.low = 0;
}
