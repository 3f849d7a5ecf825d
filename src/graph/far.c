// SPDX-License-Identifier: Apache-2.0
// Whose memory a region has (far.h).

#include "graph/far.h"

#include "comm/registry.h"
#include "comm/window.h"

bool tern__graph_is_far(const tern_chip *chip, const void *address, struct tern__far_place *place)
{
    tern_window *window;
    if (chip->comm == NULL || chip->comm->group.job->machines == NULL ||
        !tern__registry_find(address, &window)) {
        return false;
    }
    const size_t at = (size_t)((const char *)address - window->base);
    *place = (struct tern__far_place){.window = window,
                                      .rank = (int)(at / window->size_bytes),
                                      .offset_bytes = at % window->size_bytes};
    return !tern__window_is_mapped(window, place->rank);
}
