// SPDX-License-Identifier: Apache-2.0
// The windows of this process by address and by number. Looking does not lock.
#ifndef TERN_COMM_REGISTRY_H
#define TERN_COMM_REGISTRY_H

#include <stdbool.h>

#include "sync/job.h"
#include "tern/window.h"

#define TERN__WINDOWS_MAX 1024

int tern__registry_add(tern_window *window); // TERN_ERR_LIMIT beyond TERN__WINDOWS_MAX
void tern__registry_remove(tern_window *window);

// tern_window_find without a sentence when the address is in no window.
bool tern__registry_find(const void *address, tern_window **window);

// Where rank 0's part begins of the window with this number of the communicator in this slot of a
// job; NULL: this process has destroyed it. Data path: no allocation, no lock.
char *tern__registry_base(const struct tern__job *job, int comm_slot, uint32_t number);

// In the child of a fork: this process has no windows. But where those of its parent are is kept:
// whether an address is in one that the child has not let go of.
void tern__registry_forget(void);
void tern__registry_let_go(const tern_window *window);
bool tern__registry_is_inherited(const void *address);

#endif
