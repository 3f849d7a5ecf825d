// SPDX-License-Identifier: Apache-2.0
// Whether the program wants the wait of this thread to end (tern/interrupt.h). Asked by
// tern__ladder_climb when a sleeper looks after its peers.
#ifndef TERN_SYNC_INTERRUPT_H
#define TERN_SYNC_INTERRUPT_H

#include <stdbool.h>

#include "tern/interrupt.h"

bool tern__interrupt_wanted(void);

// True while a sleeper that was told to end asks `broken`: whose communicator it is fails it.
extern _Thread_local bool tern__interrupt_now;

#endif
