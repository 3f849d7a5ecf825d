// SPDX-License-Identifier: Apache-2.0
// Memory of regions that is on another machine, where no load and no store reaches it.
#ifndef TERN_GRAPH_FAR_H
#define TERN_GRAPH_FAR_H

#include "graph/chip.h"
#include "tern/window.h"

// Where an address leads, as put and get want it.
struct tern__far_place {
    tern_window *window;
    int rank;
    size_t offset_bytes;
};

// Whether it is in the part of a rank on another machine.
bool tern__graph_is_far(const tern_chip *chip, const void *address, struct tern__far_place *place);

#endif
