// SPDX-License-Identifier: Apache-2.0
// What memory an address is in, for who remembers it.
#ifndef TERN_COMM_AROUND_H
#define TERN_COMM_AROUND_H

#include <stdbool.h>
#include <stdint.h>

#include "tern/window.h"

// The window that an address is in, with the parts of all ranks; or, with `window` NULL, what lies
// between two windows. It is right while tern__registry_changes is `changes`.
struct tern__surroundings {
    uintptr_t begin, end;
    tern_window *window;
    uint32_t changes;
};

extern _Atomic uint32_t tern__registry_changes;

// False: a window comes or goes at this moment, or this is the child of a fork of a process that
// had some.
bool tern__registry_around(const void *address, struct tern__surroundings *around);

#endif
