// SPDX-License-Identifier: Apache-2.0
// Regions whose memory a chip cannot load from, because it is on another machine: for the time of a
// task they have a copy here, which is got before and put back afterwards, no byte more than the
// region has.
#ifndef TERN_NODE_STAGE_H
#define TERN_NODE_STAGE_H

#include <stdbool.h>

#include "comm/window.h"
#include "tern/submit.h"

struct tern__staged {
    tern_region region; // its address: an offset in the window, all parts one behind the other
    char *memory;       // NULL: it has no copy
    bool is_written;
};

// For tests: as if every other rank were on another machine.
extern bool tern__stage_all;

// The region's address, an offset in the window, becomes that of this process, or of a copy.
int tern__stage_begin(tern_window *window, tern_region *region, tern_access access,
                      struct tern__staged *staged);

// What the task has written goes where it belongs.
int tern__stage_put(tern_window *window, const struct tern__staged *staged);

void tern__stage_end(struct tern__staged *staged);

#endif
