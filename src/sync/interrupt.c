// SPDX-License-Identifier: Apache-2.0
// What waits of the main thread ask. The kernel hands a signal that is sent to the process to its
// main thread if that lets it through, and runtimes run their handlers there.

#include "sync/interrupt.h"

#include <stdatomic.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

_Thread_local bool tern__interrupt_now;

static _Atomic(tern_interrupt_ask *) asked;

tern_interrupt_ask *tern_interrupt_set(tern_interrupt_ask *ask)
{
    return atomic_exchange(&asked, ask);
}

bool tern__interrupt_wanted(void)
{
    tern_interrupt_ask *ask = atomic_load(&asked);
    return ask != NULL && syscall(SYS_gettid) == getpid() && ask() != 0;
}
