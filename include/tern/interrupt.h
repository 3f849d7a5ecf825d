// SPDX-License-Identifier: Apache-2.0
// Ending a wait early, for runtimes of other languages, which handle signals between calls only: a
// wait of C would keep Ctrl-C from their programs.
#ifndef TERN_INTERRUPT_H
#define TERN_INTERRUPT_H

#include "tern/api.h"
#include "tern/status.h"

TERN_BEGIN_DECLS

// Whether the wait shall go on: 0, or anything else to end it.
typedef int tern_interrupt_ask(void);

// Sets what the waits of this process's main thread ask, every 0.1 s once they sleep, and returns
// what was set before; NULL: nothing (the default). To end a wait is as if its deadline had passed
// at that moment, with TERN_ERR_INTERRUPTED instead of TERN_ERR_TIMEOUT: the communicator fails for
// all of its ranks, with a sentence that says which one was interrupted; a wait for a signal with a
// deadline of its own only ends itself. Waits that are no communicator's do not end. Stays set in
// the child of a fork(). Any thread.
TERN_API tern_interrupt_ask *tern_interrupt_set(tern_interrupt_ask *ask);

TERN_END_DECLS

#endif
